// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops of the `sdy` dialect. What they check beyond these definitions is dialect/src/sdy.

#ifndef SLIMHLO_SDY_OPS_TD
#define SLIMHLO_SDY_OPS_TD

include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "slimhlo/RustOp.td"
include "slimhlo/sdy/SdyAttrs.td"
include "slimhlo/sdy/SdyDialect.td"
include "slimhlo/sdy/SdyEnums.td"

class Sdy_Op<string mnemonic, list<Trait> traits = []> : RustOp<Sdy_Dialect, mnemonic, traits>;

def Sdy_MeshOp : Sdy_Op<"mesh", [HasParent<"::mlir::ModuleOp">, Symbol]> {
  let summary = "A named mesh";
  let description = [{
    Gives a mesh a name by which shardings refer to it.

    Example:
    ```mlir
    sdy.mesh @mesh = <["x"=2, "y"=4]>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Sdy_Mesh:$mesh);
  let assemblyFormat = "$sym_name `=` $mesh attr-dict";
}

//===----------------------------------------------------------------------===//
// What users say about the sharding of a value
//===----------------------------------------------------------------------===//

// Without uses it still says how its operand is sharded, and with uses how those are: neither removing it nor merging
// two of them is the same program to propagation. Hence no declared effects.
def Sdy_ShardingConstraintOp : Sdy_Op<"sharding_constraint", [SameOperandsAndResultType]> {
  let summary = "Asks for a sharding of a value";
  let description = [{
    The identity, with a sharding for those who use its result; if nobody does, for its operand.

    Example:
    ```mlir
    %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {?} ]> : tensor<8x8xf32>
    ```
  }];
  let arguments = (ins Arg<AnyType, "value to shard">:$input, Sdy_TensorSharding:$sharding);
  let results = (outs Res<AnyType, "the same value, sharded">:$result);
  let assemblyFormat = "$input $sharding attr-dict `:` type($result)";
}

def Sdy_ReshardOp : Sdy_Op<"reshard", [Pure, SameOperandsAndResultType]> {
  let summary = "Takes a value to another sharding";
  let description = [{
    The identity, at the cost of the communication that the change of sharding needs. A partitioner makes collectives
    of it.

    Example:
    ```mlir
    %1 = sdy.reshard %0 <@mesh, [{"x"}, {} ]> : tensor<8x8xf32>
    ```
  }];
  let arguments = (ins Arg<AnyType, "value to reshard">:$input, Sdy_TensorSharding:$sharding);
  let results = (outs Res<AnyType, "the same value in its new sharding">:$result);
  let assemblyFormat = "$input $sharding attr-dict `:` type($result)";
}

// It has no result: its effect is all there is to it.
def Sdy_ShardingGroupOp : Sdy_Op<"sharding_group"> {
  let summary = "Asks for the same sharding in a group of values";
  let description = [{
    Puts a tensor into the group of this number. All tensors of a group end up sharded alike.

    Example:
    ```mlir
    sdy.sharding_group %0 group_id=21 : tensor<8x8xf32>
    ```
  }];
  let arguments = (ins Arg<AnyRankedTensor, "member of the group">:$input, I64Attr:$group_id);
  let assemblyFormat = "$input `group_id` `` `=` `` $group_id attr-dict `:` type($input)";
}

def Sdy_PropagationBarrierOp : Sdy_Op<"propagation_barrier", [Pure, SameOperandsAndResultType]> {
  let summary = "Lets shardings through in one direction at most";
  let description = [{
    The identity. Shardings flow from operand to result if `FORWARD`, from result to operand if `BACKWARD`, and not at
    all if `NONE`; `BOTH` would make the op pointless and is an error.

    Example:
    ```mlir
    %1 = sdy.propagation_barrier %0 allowed_direction=BACKWARD : tensor<8x8xf32>
    ```
  }];
  let arguments = (ins
    Arg<AnyRankedTensor, "value to pass on">:$input, Sdy_PropagationDirection:$allowed_direction);
  let results = (outs Res<AnyRankedTensor, "the same value">:$result);
  let assemblyFormat = "$input `allowed_direction` `` `=` `` $allowed_direction attr-dict `:` type($result)";
}

//===----------------------------------------------------------------------===//
// What propagation leaves for itself
//===----------------------------------------------------------------------===//

// Not ConstantLike: folding must not bring back together what was copied to be sharded differently.
def Sdy_ConstantOp : Sdy_Op<"constant", [Pure, AllTypesMatch<["value", "output"]>]> {
  let summary = "A constant of its own for each use";
  let description = [{
    Gives the tensor that its attribute holds. Unlike other constants these are not merged by folding, so that each
    use can have its own sharding.

    Example:
    ```mlir
    %0 = sdy.constant dense<[1.0, 2.0]> : tensor<2xf32>
    ```
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Res<AnyStaticShapeTensor, "tensor of the attribute's type">:$output);
  let assemblyFormat = "attr-dict $value";
}

// The op that owns the edge may have no other use of that result: an edge must stay even if nobody reads it.
def Sdy_DataFlowEdgeOp : Sdy_Op<"data_flow_edge", [SameOperandsAndResultType]> {
  let summary = "A bridge for shardings through an op with regions";
  let description = [{
    The identity on a result of an op such as a loop, whose operand, result, block argument and yielded value at the
    same place must all be sharded alike. Holds the sharding of them all while propagation runs.

    Example:
    ```mlir
    %1 = sdy.data_flow_edge %0 sharding=<@mesh, [{"x"} ]> : tensor<8xf32>
    ```
  }];
  let arguments = (ins
    Arg<AnyShaped, "owner of the edge">:$input, OptionalAttr<Sdy_TensorSharding>:$sharding);
  let results = (outs Res<AnyShaped, "the same value">:$result);
  let assemblyFormat = "$input (`sharding` `` `=` `` $sharding^)? attr-dict `:` type($result)";
}

def Sdy_FuncDataFlowEdgeOp : Sdy_Op<"func_data_flow_edge", [SameOperandsAndResultType]> {
  let summary = "A bridge for shardings between a function and its callers";
  let description = [{
    The identity on an argument of a function, where it ties the caller's operand to the users of the argument, or on a
    result of a call, where it ties the returned value to the users of that result.

    Example:
    ```mlir
    %1 = sdy.func_data_flow_edge %0 : tensor<8xf32>
    ```
  }];
  let arguments = (ins Arg<AnyShaped, "owner of the edge">:$operand);
  let results = (outs Res<AnyShaped, "the same value">:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

def Sdy_ReturnOp : Sdy_Op<"return", [Pure, ReturnLike, Terminator]> {
  let summary = "Gives the results of a region";
  let description = [{
    Ends the body of `manual_computation` and `named_computation`.

    Example:
    ```mlir
    sdy.return %0, %1 : tensor<8xf32>, tensor<f32>
    ```
  }];
  let arguments = (ins Arg<Variadic<AnyType>, "values to return">:$results);
  let assemblyFormat = "attr-dict ($results^ `:` type($results))?";
}

class Sdy_RegionOp<string mnemonic>
    : Sdy_Op<mnemonic, [IsolatedFromAbove, RecursiveMemoryEffects, SingleBlock]>;

def Sdy_ManualComputationOp : Sdy_RegionOp<"manual_computation"> {
  let summary = "A computation written for one device";
  let description = [{
    The body sees what one device holds: along `manual_axes` tensors are cut as `in_shardings` and `out_shardings` say,
    and communication is explicit. Along all other axes the body is a global program still, and propagation goes on in it.

    Example:
    ```mlir
    %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"x"}, {?} ]>] out_shardings=[<@mesh, [{"x"}, {?} ]>] manual_axes={"x"} (%arg1: tensor<4x8xf32>) {
      %2 = stablehlo.add %arg1, %arg1 : tensor<4x8xf32>
      sdy.return %2 : tensor<4x8xf32>
    } : (tensor<8x8xf32>) -> tensor<8x8xf32>
    ```
  }];
  let arguments = (ins
    Arg<Variadic<AnyType>, "global values the body takes its arguments from">:$tensors,
    Sdy_TensorShardingPerValue:$in_shardings,
    Sdy_TensorShardingPerValue:$out_shardings,
    Sdy_ManualAxes:$manual_axes);
  let results = (outs Res<Variadic<AnyType>, "global values made of what devices return">:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $tensors `)`
    `in_shardings` `` `=` `` custom<Shardings>($in_shardings)
    `out_shardings` `` `=` `` custom<Shardings>($out_shardings)
    `manual_axes` `` `=` `` $manual_axes
    custom<Body>($body) attr-dict `:` functional-type(operands, results)
  }];
}

def Sdy_NamedComputationOp : Sdy_RegionOp<"named_computation"> {
  let summary = "A computation with a name";
  let description = [{
    What a call becomes when its callee is copied into it. Shardings flow in and out as if the body stood in the place of
    the op.

    Example:
    ```mlir
    %1 = sdy.named_computation<"foo">(%0) in_shardings=[<@mesh, [{"x"} ]>] (%arg1: tensor<8xf32>) {
      sdy.return %arg1 : tensor<8xf32>
    } : (tensor<8xf32>) -> tensor<8xf32>
    ```
  }];
  let arguments = (ins
    StrAttr:$name,
    Arg<Variadic<AnyType>, "values the body takes its arguments from">:$operands,
    OptionalAttr<Sdy_TensorShardingPerValue>:$in_shardings,
    OptionalAttr<Sdy_TensorShardingPerValue>:$out_shardings);
  let results = (outs Res<Variadic<AnyType>, "values the body returns">:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `<` $name `>` `` `(` $operands `)`
    (`in_shardings` `` `=` `` custom<Shardings>($in_shardings)^)?
    (`out_shardings` `` `=` `` custom<Shardings>($out_shardings)^)?
    custom<Body>($body) attr-dict `:` functional-type(operands, results)
  }];
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

// A collective synchronises devices; none of them declares to be free of effects, so that passes that know nothing of
// that leave it in its place.
class Sdy_CollectiveOp<string mnemonic> : Sdy_Op<mnemonic, [SameOperandsAndResultType]> {
  let results = (outs Res<AnyShaped, "the same value in its new sharding">:$result);
}

def Sdy_AllGatherOp : Sdy_CollectiveOp<"all_gather"> {
  let summary = "Puts chunks together along axes";
  let description = [{
    Takes `gathering_axes` off the end of what shards each dimension.

    Example:
    ```mlir
    %1 = sdy.all_gather [{"b", "c"}, {}, {"d"} ] %0 out_sharding=<@mesh, [{"a"}, {}, {} ]> : tensor<8x8x8xf32>
    ```
  }];
  let arguments = (ins
    Arg<AnyShaped, "sharded value">:$tensor,
    Sdy_ListOfAxisRefLists:$gathering_axes,
    Sdy_TensorSharding:$out_sharding);
  let assemblyFormat = "$gathering_axes $tensor `out_sharding` `` `=` `` $out_sharding attr-dict `:` type($result)";
}

def Sdy_AllSliceOp : Sdy_CollectiveOp<"all_slice"> {
  let summary = "Cuts chunks along axes";
  let description = [{
    Appends `slicing_axes` to what shards each dimension: every device keeps its own chunk. Undoes an all-gather.

    Example:
    ```mlir
    %1 = sdy.all_slice [{"b", "c"}, {}, {"d"} ] %0 out_sharding=<@mesh, [{"a", "b", "c"}, {}, {"d"} ]> : tensor<8x8x8xf32>
    ```
  }];
  let arguments = (ins
    Arg<AnyShaped, "value to slice">:$tensor,
    Sdy_ListOfAxisRefLists:$slicing_axes,
    Sdy_TensorSharding:$out_sharding);
  let assemblyFormat = "$slicing_axes $tensor `out_sharding` `` `=` `` $out_sharding attr-dict `:` type($result)";
}

def Sdy_AllToAllOp : Sdy_CollectiveOp<"all_to_all"> {
  let summary = "Moves axes from one dimension to another";
  let description = [{
    For each entry, takes its axes off the end of what shards the source dimension and appends them to what shards the
    target dimension.

    Example:
    ```mlir
    %1 = sdy.all_to_all [{"b"}: 0->2, {"c"}: 1->3] %0 out_sharding=<@mesh, [{"a"}, {}, {"b"}, {"c"} ]> : tensor<8x8x4x4xf32>
    ```
  }];
  let arguments = (ins
    Arg<AnyShaped, "sharded value">:$tensor,
    Sdy_AllToAllParamList:$params,
    Sdy_TensorSharding:$out_sharding);
  let assemblyFormat = "$params $tensor `out_sharding` `` `=` `` $out_sharding attr-dict `:` type($result)";
}

def Sdy_CollectivePermuteOp : Sdy_CollectiveOp<"collective_permute"> {
  let summary = "Sends every chunk to another device";
  let description = [{
    Replaces the axes that shard each dimension by others of the same total size, so that chunks keep their size and only
    change places.

    Example:
    ```mlir
    %1 = sdy.collective_permute %0 out_sharding=<@mesh, [{"c":(1)2, "b"}, {"a"} ]> : tensor<8x8xf32>
    ```
  }];
  let arguments = (ins Arg<AnyShaped, "sharded value">:$tensor, Sdy_TensorSharding:$out_sharding);
  let assemblyFormat = "$tensor `out_sharding` `` `=` `` $out_sharding attr-dict `:` type($result)";
}

def Sdy_AllReduceOp : Sdy_CollectiveOp<"all_reduce"> {
  let summary = "Sums over devices along axes";
  let description = [{
    Adds up what the devices along `reduction_axes` hold; all of them get the sum.

    Example:
    ```mlir
    %1 = sdy.all_reduce {"a", "b"} %0 out_sharding=<@mesh, [{"c"}, {} ]> : tensor<8x8xf32>
    ```
  }];
  let arguments = (ins
    Arg<AnyShaped, "summands">:$tensor,
    Sdy_AxisRefList:$reduction_axes,
    Sdy_TensorSharding:$out_sharding);
  let assemblyFormat = "$reduction_axes $tensor `out_sharding` `` `=` `` $out_sharding attr-dict `:` type($result)";
}

def Sdy_ReduceScatterOp : Sdy_CollectiveOp<"reduce_scatter"> {
  let summary = "Sums over devices along axes and leaves each its chunk";
  let description = [{
    An all-reduce along all of `reduce_scatter_axes`, then an all-slice along them.

    Example:
    ```mlir
    %1 = sdy.reduce_scatter [{"b"}, {} ] %0 out_sharding=<@mesh, [{"a", "b"}, {} ]> : tensor<8x8xf32>
    ```
  }];
  let arguments = (ins
    Arg<AnyShaped, "summands">:$tensor,
    Sdy_ListOfAxisRefLists:$reduce_scatter_axes,
    Sdy_TensorSharding:$out_sharding);
  let assemblyFormat = [{
    $reduce_scatter_axes $tensor `out_sharding` `` `=` `` $out_sharding attr-dict `:` type($result)
  }];
}

def Sdy_ShardedToUnreducedOp : Sdy_CollectiveOp<"sharded_to_unreduced"> {
  let summary = "Turns chunks into summands";
  let description = [{
    Takes `axes` off the end of what shards each dimension and makes them unreduced: each device pads its chunk with
    zeros. An all-reduce along them afterwards is an all-gather.

    Example:
    ```mlir
    %1 = sdy.sharded_to_unreduced [{"b"}, {} ] %0 out_sharding=<@mesh, [{"a"}, {} ], unreduced={"b"}> : tensor<8x8xf32>
    ```
  }];
  let arguments = (ins
    Arg<AnyShaped, "sharded value">:$tensor,
    Sdy_ListOfAxisRefLists:$axes,
    Sdy_TensorSharding:$out_sharding);
  let assemblyFormat = "$axes $tensor `out_sharding` `` `=` `` $out_sharding attr-dict `:` type($result)";
}

def Sdy_ReplicatedToUnreducedOp : Sdy_CollectiveOp<"replicated_to_unreduced"> {
  let summary = "Turns copies into summands";
  let description = [{
    Makes `axes`, along which the value is replicated, unreduced: one device along them keeps it, the others hold zeros.
    An all-reduce along them undoes it.

    Example:
    ```mlir
    %1 = sdy.replicated_to_unreduced {"a", "b"} %0 out_sharding=<@mesh, [{"c"}, {} ], unreduced={"a", "b"}> : tensor<8x8xf32>
    ```
  }];
  let arguments = (ins
    Arg<AnyShaped, "replicated value">:$tensor,
    Sdy_AxisRefList:$axes,
    Sdy_TensorSharding:$out_sharding);
  let assemblyFormat = "$axes $tensor `out_sharding` `` `=` `` $out_sharding attr-dict `:` type($result)";
}

#endif // SLIMHLO_SDY_OPS_TD
