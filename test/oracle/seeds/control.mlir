// StableHLO ops with control flow, tokens, calls and collectives.
func.func @if(%p: tensor<i1>, %x: tensor<3xf32>) -> tensor<3xf32> {
  %0:2 = "stablehlo.if"(%p) ({
    %1 = stablehlo.negate %x : tensor<3xf32>
    stablehlo.return %1, %p : tensor<3xf32>, tensor<i1>
  }, {
    stablehlo.return %x, %p : tensor<3xf32>, tensor<i1>
  }) : (tensor<i1>) -> (tensor<3xf32>, tensor<i1>)
  return %0#0 : tensor<3xf32>
}
// -----
func.func @case(%i: tensor<i32>, %x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = "stablehlo.case"(%i) ({
    stablehlo.return %x : tensor<3xf32>
  }, {
    %1 = stablehlo.abs %x : tensor<3xf32>
    stablehlo.return %1 : tensor<3xf32>
  }, {
    stablehlo.return %x : tensor<3xf32>
  }) : (tensor<i32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
// -----
func.func @while(%i: tensor<i64>, %x: tensor<3xf32>) -> tensor<3xf32> {
  %n = stablehlo.constant dense<10> : tensor<i64>
  %0:2 = stablehlo.while(%k = %i, %y = %x) : tensor<i64>, tensor<3xf32>
  cond {
    %1 = stablehlo.compare LT, %k, %n, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i64>
    %1 = stablehlo.add %k, %one : tensor<i64>
    %2 = stablehlo.add %y, %x : tensor<3xf32>
    stablehlo.return %1, %2 : tensor<i64>, tensor<3xf32>
  }
  return %0#1 : tensor<3xf32>
}
// -----
func.func @barrier(%x: tensor<3xf32>, %t: !stablehlo.token) -> tensor<3xf32> {
  %0:2 = stablehlo.optimization_barrier %x, %t : tensor<3xf32>, !stablehlo.token
  "stablehlo.optimization_barrier"() : () -> ()
  return %0#0 : tensor<3xf32>
}
// -----
func.func @tokens(%x: tensor<3xi32>, %t: !stablehlo.token) -> !stablehlo.token {
  %0 = stablehlo.create_token : !stablehlo.token
  %1 = stablehlo.after_all %0, %t : !stablehlo.token
  %2 = stablehlo.after_all : !stablehlo.token
  %3 = "stablehlo.send"(%x, %1) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 2>, is_host_transfer = true}> : (tensor<3xi32>, !stablehlo.token) -> !stablehlo.token
  %4:2 = "stablehlo.recv"(%3) <{channel_handle = #stablehlo.channel_handle<handle = 6, type = 3>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<3xi32>, !stablehlo.token)
  %5 = "stablehlo.send"(%x, %4#1) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>}> : (tensor<3xi32>, !stablehlo.token) -> !stablehlo.token
  %6:3 = "stablehlo.infeed"(%5) <{infeed_config = "", layout = [[0], [0, 1]]}> : (!stablehlo.token) -> (tensor<3xi32>, tensor<3x3xi1>, !stablehlo.token)
  %7 = "stablehlo.outfeed"(%x, %6#2) <{outfeed_config = "x"}> : (tensor<3xi32>, !stablehlo.token) -> !stablehlo.token
  return %7 : !stablehlo.token
}
// -----
func.func @recv_pairs(%t: !stablehlo.token) -> tensor<2xf32> {
  %0:2 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  return %0#0 : tensor<2xf32>
}
// -----
func.func @ids() -> tensor<ui32> {
  %0 = stablehlo.partition_id : tensor<ui32>
  %1 = stablehlo.replica_id : tensor<ui32>
  return %0 : tensor<ui32>
}
// -----
func.func private @decomposed(%x: tensor<3xf32>) -> tensor<3xf32> {
  return %x : tensor<3xf32>
}
func.func @composite(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.composite "my.op" %x {composite_attributes = {n = 1 : i32, s = "a"}, decomposition = @decomposed, version = 3 : i32} : (tensor<3xf32>) -> tensor<3xf32>
  %1 = stablehlo.composite "my.op" %0 {decomposition = @decomposed} : (tensor<3xf32>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}
// -----
func.func private @callee(%x: tensor<3xf32>) -> tensor<3xf32> {
  return %x : tensor<3xf32>
}
func.func @custom_call(%x: tensor<3xf32>, %m: tensor<2x3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.custom_call @target(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %1 = stablehlo.custom_call @target(%x, %m) {api_version = 4 : i32, backend_config = {a = 1 : i64, b = "c"}, has_side_effect = true, operand_layouts = [dense<0> : tensor<1xindex>, dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<0> : tensor<1xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<3xf32>
  %2 = stablehlo.custom_call @target(%x) {backend_config = "opaque", called_computations = [@callee], mhlo.sharding = "{replicated}"} : (tensor<3xf32>) -> tensor<3xf32>
  %3:2 = stablehlo.custom_call @two(%m) {api_version = 2 : i32, operand_layouts = [dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<> : tensor<0xindex>]} : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<f32>)
  %4 = stablehlo.custom_call @tuple(%x) {output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [1], operand_index = 0, operand_tuple_indices = []>]} : (tensor<3xf32>) -> tuple<tensor<f32>, tensor<3xf32>>
  return %0 : tensor<3xf32>
}
// -----
func.func @all_gather(%x: tensor<8x2xf32>, %y: tensor<8x4xi32>) -> tensor<8x8xf32> {
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 2, 4, 6], [1, 3, 5, 7]]> : tensor<2x4xi64>, use_global_device_ids}> : (tensor<8x2xf32>) -> tensor<8x8xf32>
  %1:2 = "stablehlo.all_gather"(%x, %y) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8x2xf32>, tensor<8x4xi32>) -> (tensor<16x2xf32>, tensor<16x4xi32>)
  return %0 : tensor<8x8xf32>
}
// -----
func.func @all_reduce(%x: tensor<10xf32>) -> tensor<10xf32> {
  %0 = "stablehlo.all_reduce"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>, replica_groups = dense<[[0, 2, 4, 6], [1, 3, 5, 7]]> : tensor<2x4xi64>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<10xf32>) -> tensor<10xf32>
  %2 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1], [2, -1]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<10xf32>) -> tensor<10xf32>
  return %0 : tensor<10xf32>
}
// -----
func.func @all_to_all(%x: tensor<4x16xf32>) -> tensor<16x4xf32> {
  %0 = "stablehlo.all_to_all"(%x) <{concat_dimension = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, split_count = 4 : i64, split_dimension = 1 : i64}> : (tensor<4x16xf32>) -> tensor<16x4xf32>
  %1:2 = "stablehlo.all_to_all"(%x, %x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, concat_dimension = 1 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, split_count = 2 : i64, split_dimension = 1 : i64}> : (tensor<4x16xf32>, tensor<4x16xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>)
  return %0 : tensor<16x4xf32>
}
// -----
func.func @reduce_scatter(%x: tensor<4x16xf32>) -> tensor<4x4xf32> {
  %0 = "stablehlo.reduce_scatter"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, scatter_dimension = 1 : i64, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4x16xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
// -----
func.func @permute_and_broadcast(%x: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %0 = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 0>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %1 = "stablehlo.collective_broadcast"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 0>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %2 = "stablehlo.cross-replica-sum"(%x) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<16x8xf32>) -> tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}
// -----
func.func @async(%x: tensor<8x2xf32>) -> tensor<8x8xf32> {
  %0 = "stablehlo.async_start"(%x) ({
  ^bb0(%a: tensor<8x2xf32>):
    %1 = "stablehlo.all_gather"(%a) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<8x2xf32>) -> tensor<8x8xf32>
    stablehlo.return %1 : tensor<8x8xf32>
  }) : (tensor<8x2xf32>) -> !stablehlo.future<tensor<8x8xf32>>
  %2 = "stablehlo.async_done"(%0) : (!stablehlo.future<tensor<8x8xf32>>) -> tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}
