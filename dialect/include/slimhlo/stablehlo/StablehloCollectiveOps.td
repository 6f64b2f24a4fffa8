// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops that several processes run together or that reach outside the program, and the tokens that order them. Except for
// the tokens none of them says what its effects are: they are neither dropped nor merged nor moved.

#ifndef SLIMHLO_STABLEHLO_COLLECTIVEOPS_TD
#define SLIMHLO_STABLEHLO_COLLECTIVEOPS_TD

include "slimhlo/stablehlo/StablehloBase.td"

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

def StableHLO_AllGatherOp : StableHLO_Op<"all_gather", [RustSymbolUser]> {
  let summary = "concatenate over processes";
  let description = [{
    The operands of all processes of a group, one after the other along `all_gather_dim`.

    Example:
    ```mlir
    %r = "stablehlo.all_gather"(%x) <{
      all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
      replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids
    }> : (tensor<2x2xi64>) -> tensor<2x4xi64>
    ```
  }];
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs, StableHLO_NonNegativeI64:$all_gather_dim,
                       StableHLO_ReplicaGroups:$replica_groups,
                       OptionalAttr<StableHLO_ChannelHandle>:$channel_handle, UnitAttr:$use_global_device_ids);
  let results = (outs Variadic<StableHLO_Tensor>:$result);
}

def StableHLO_AllReduceOp : StableHLO_Op<"all_reduce", [RustInferTypes, RustSymbolUser, StableHLO_ReturnTerminator]> {
  let summary = "combine over processes";
  let description = [{
    The operands of all processes of a group, combined element by element by `computation`.

    Example:
    ```mlir
    %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<i64>, %b: tensor<i64>):
      %s = stablehlo.add %a, %b : tensor<i64>
      stablehlo.return %s : tensor<i64>
    }) : (tensor<4xi64>) -> tensor<4xi64>
    ```
  }];
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs, StableHLO_ReplicaGroups:$replica_groups,
                       OptionalAttr<StableHLO_ChannelHandle>:$channel_handle, UnitAttr:$use_global_device_ids);
  let regions = (region SizedRegion<1>:$computation);
  let results = (outs Variadic<StableHLO_Tensor>:$result);
}

def StableHLO_AllToAllOp : StableHLO_Op<"all_to_all", [RustInferTypes, RustSymbolUser]> {
  let summary = "exchange parts between processes";
  let description = [{
    The operand is split into `split_count` parts along `split_dimension`, part i is sent to the i-th process of the
    group, and what is received is concatenated along `concat_dimension`.

    Example:
    ```mlir
    %r = "stablehlo.all_to_all"(%x) <{
      concat_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64,
      split_dimension = 1 : i64
    }> : (tensor<2x4xi64>) -> tensor<4x2xi64>
    ```
  }];
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs, StableHLO_NonNegativeI64:$split_dimension,
                       StableHLO_NonNegativeI64:$concat_dimension, StableHLO_PositiveI64:$split_count,
                       StableHLO_ReplicaGroups:$replica_groups,
                       OptionalAttr<StableHLO_ChannelHandle>:$channel_handle);
  let results = (outs Variadic<StableHLO_Tensor>:$result);
}

def StableHLO_CollectiveBroadcastOp : StableHLO_Op<"collective_broadcast", [RustInferTypes, RustSymbolUser]> {
  let summary = "one process's value in all";
  let description = [{
    The operand of the first process of each group; zeros in processes of no group.

    Example:
    ```mlir
    %r = "stablehlo.collective_broadcast"(%x) <{replica_groups = dense<[[2, 1]]> : tensor<1x2xi64>}>
        : (tensor<1x2xi64>) -> tensor<1x2xi64>
    ```
  }];
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_ReplicaGroups:$replica_groups,
                       OptionalAttr<StableHLO_ChannelHandle>:$channel_handle);
  let results = (outs StableHLO_Tensor:$result);
}

def StableHLO_CollectivePermuteOp : StableHLO_Op<"collective_permute", [RustInferTypes]> {
  let summary = "send along pairs of processes";
  let description = [{
    For each pair in `source_target_pairs` the operand of the source becomes the result of the target; zeros in processes
    that are no target.

    Example:
    ```mlir
    %r = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>}>
        : (tensor<4x2xf32>) -> tensor<4x2xf32>
    ```
  }];
  let arguments = (ins StableHLO_Tensor:$operand, I64ElementsAttr:$source_target_pairs,
                       OptionalAttr<StableHLO_ChannelHandle>:$channel_handle);
  let results = (outs StableHLO_Tensor:$result);
}

def StableHLO_CrossReplicaSumOp : StableHLO_Op<"cross-replica-sum", [RustInferTypes]> {
  let summary = "sum over replicas";
  let description = [{
    The sum of the operands of all replicas of a group. Written by older producers only; it is an `all_reduce`.

    Example:
    ```mlir
    %r = "stablehlo.cross-replica-sum"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}>
        : (tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins StableHLO_Tensor:$operand, I64ElementsAttr:$replica_groups);
  let results = (outs StableHLO_Tensor:$result);
}

def StableHLO_ReduceScatterOp : StableHLO_Op<"reduce_scatter", [RustSymbolUser]> {
  let summary = "combine over processes and keep a part";
  let description = [{
    The operands of all processes of a group combined by `computation`, of which each process keeps its part along
    `scatter_dimension`.

    Example:
    ```mlir
    %r = "stablehlo.reduce_scatter"(%x) <{
      replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 1 : i64
    }> ({
    ^bb0(%a: tensor<i64>, %b: tensor<i64>):
      %s = stablehlo.add %a, %b : tensor<i64>
      stablehlo.return %s : tensor<i64>
    }) : (tensor<2x4xi64>) -> tensor<2x2xi64>
    ```
  }];
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_NonNegativeI64:$scatter_dimension,
                       StableHLO_ReplicaGroups:$replica_groups,
                       OptionalAttr<StableHLO_ChannelHandle>:$channel_handle, UnitAttr:$use_global_device_ids);
  let regions = (region SizedRegion<1>:$computation);
  let results = (outs StableHLO_Tensor:$result);
}

def StableHLO_PartitionIdOp : StableHLO_Op<"partition_id", [Pure, RustInferTypes]> {
  let summary = "number of this partition";
  let description = [{
    Which partition of the program this process runs.

    Example: `%r = stablehlo.partition_id : tensor<ui32>`
  }];
  let results = (outs StableHLO_UInt32Tensor:$result);
  let assemblyFormat = "attr-dict `:` type(results)";
}

def StableHLO_ReplicaIdOp : StableHLO_Op<"replica_id", [Pure, RustInferTypes]> {
  let summary = "number of this replica";
  let description = [{
    Which replica of the program this process runs.

    Example: `%r = stablehlo.replica_id : tensor<ui32>`
  }];
  let results = (outs StableHLO_UInt32Tensor:$result);
  let assemblyFormat = "attr-dict `:` type(results)";
}

//===----------------------------------------------------------------------===//
// Asynchronous operations
//===----------------------------------------------------------------------===//

def StableHLO_AsyncStartOp : StableHLO_Op<"async_start", [RustInferTypes, IsolatedFromAbove, StableHLO_ReturnTerminator]> {
  let summary = "begin a collective or a slice";
  let description = [{
    Begins what `body` does with the inputs and returns at once; `async_done` waits for it.

    Example:
    ```mlir
    %f = "stablehlo.async_start"(%x) ({
    ^bb0(%a: tensor<2x2xi64>):
      %g = "stablehlo.all_gather"(%a) <{
        all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>
      }> : (tensor<2x2xi64>) -> tensor<2x4xi64>
      stablehlo.return %g : tensor<2x4xi64>
    }) : (tensor<2x2xi64>) -> !stablehlo.future<tensor<2x4xi64>>
    ```
  }];
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs StableHLO_Future:$result);
}

def StableHLO_AsyncDoneOp : StableHLO_Op<"async_done", [RustInferTypes]> {
  let summary = "wait for what was begun";
  let description = [{
    Waits for what an `async_start` began and gives its result.

    Example: `%r = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<2x4xi64>>) -> tensor<2x4xi64>`
  }];
  let arguments = (ins StableHLO_Future:$operand);
  let results = (outs StableHLO_Tensor:$result);
}

//===----------------------------------------------------------------------===//
// Tokens and transfers
//===----------------------------------------------------------------------===//

def StableHLO_AfterAllOp : StableHLO_Op<"after_all", [Pure, RustInferTypes]> {
  let summary = "after all of several effects";
  let description = [{
    A token that comes after all operands.

    Example: `%t = stablehlo.after_all %a, %b : !stablehlo.token`
  }];
  let arguments = (ins Variadic<StableHLO_Token>:$inputs);
  let results = (outs StableHLO_Token:$result);
  let assemblyFormat = "$inputs attr-dict `:` custom<TokenTypes>(ref($inputs), type($inputs), type($result))";
}

def StableHLO_CreateTokenOp : StableHLO_Op<"create_token", [Pure, RustInferTypes]> {
  let summary = "a token after nothing";
  let description = [{
    A token that comes after nothing. Written by older producers only; it is an `after_all` of no operands.

    Example: `%t = stablehlo.create_token : !stablehlo.token`
  }];
  let results = (outs StableHLO_Token:$output);
  let assemblyFormat = "attr-dict `:` type(results)";
}

def StableHLO_InfeedOp : StableHLO_Op<"infeed"> {
  let summary = "take from the infeed";
  let description = [{
    Tensors that the host has put into the infeed, and a token that comes after taking them.

    Example:
    ```mlir
    %r:2 = "stablehlo.infeed"(%token) <{infeed_config = "", layout = [[0, 1]]}>
        : (!stablehlo.token) -> (tensor<2x2xi64>, !stablehlo.token)
    ```
  }];
  let arguments = (ins StableHLO_Token:$token, DefaultValuedStrAttr<StrAttr, "">:$infeed_config,
                       OptionalAttr<ArrayAttr>:$layout);
  let results = (outs Variadic<StableHLO_StaticTensorOrToken>:$result);
}

def StableHLO_OutfeedOp : StableHLO_Op<"outfeed", [RustInferTypes]> {
  let summary = "put into the outfeed";
  let description = [{
    Puts tensors into the outfeed for the host and returns a token that comes after that.

    Example:
    ```mlir
    %t = "stablehlo.outfeed"(%x, %token) <{outfeed_config = ""}>
        : (tensor<2x2xi64>, !stablehlo.token) -> !stablehlo.token
    ```
  }];
  let arguments = (ins Variadic<StableHLO_TensorOrPerAxis>:$inputs, StableHLO_Token:$token,
                       DefaultValuedStrAttr<StrAttr, "">:$outfeed_config);
  let results = (outs StableHLO_Token:$result);
}

def StableHLO_SendOp : StableHLO_Op<"send", [RustInferTypes]> {
  let summary = "send to a channel";
  let description = [{
    Sends tensors over a channel, to the host if `is_host_transfer`, and returns a token that comes after that.

    Example:
    ```mlir
    %t = "stablehlo.send"(%x, %token) <{
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true
    }> : (tensor<2x2xi64>, !stablehlo.token) -> !stablehlo.token
    ```
  }];
  let arguments = (ins Variadic<StableHLO_TensorOrPerAxis>:$inputs, StableHLO_Token:$token,
                       StableHLO_ChannelHandle:$channel_handle,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$is_host_transfer,
                       OptionalAttr<I64ElementsAttr>:$source_target_pairs);
  let results = (outs StableHLO_Token:$result);
}

def StableHLO_RecvOp : StableHLO_Op<"recv"> {
  let summary = "receive from a channel";
  let description = [{
    Tensors received over a channel, from the host if `is_host_transfer`, and a token that comes after that.

    Example:
    ```mlir
    %r:2 = "stablehlo.recv"(%token) <{
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 3>, is_host_transfer = true
    }> : (!stablehlo.token) -> (tensor<2x2xi64>, !stablehlo.token)
    ```
  }];
  let arguments = (ins StableHLO_Token:$token, StableHLO_ChannelHandle:$channel_handle,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$is_host_transfer,
                       OptionalAttr<I64ElementsAttr>:$source_target_pairs);
  let results = (outs Variadic<StableHLO_StaticTensorOrToken>:$result);
}

#endif // SLIMHLO_STABLEHLO_COLLECTIVEOPS_TD
