// Shardy ops and attributes.
sdy.mesh @mesh = <["x"=2, "y"=4]>
sdy.mesh @ids = <["a"=2, "b"=2], device_ids=[3, 1, 2, 0]>
sdy.mesh @one = <[], device_ids=[5]>
sdy.mesh @empty = <[]>
func.func @constraints(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y", ?}p1]>}, %b: tensor<8x16xf32>) -> (tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {?}], replicated={"x"}>}) {
  %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {"y":(1)2}]> : tensor<8x16xf32>
  %1 = sdy.reshard %0 <@mesh, [{"x", "y"}, {}]> : tensor<8x16xf32>
  %2 = stablehlo.add %1, %b {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {?}], replicated={"y":(2)2}>]>} : tensor<8x16xf32>
  %3 = sdy.propagation_barrier %2 allowed_direction=FORWARD : tensor<8x16xf32>
  %4 = sdy.propagation_barrier %3 allowed_direction=NONE : tensor<8x16xf32>
  sdy.sharding_group %4 group_id=21 : tensor<8x16xf32>
  return %4 : tensor<8x16xf32>
}
// -----
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @manual(%a: tensor<8x16xf32>, %b: tensor<16x32xf32>) -> tensor<8x32xf32> {
  %0 = sdy.manual_computation(%a, %b) in_shardings=[<@mesh, [{"x"}, {"y"}]>, <@mesh, [{"y"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}], replicated={"y"}>] manual_axes={"x", "y"} (%c: tensor<4x4xf32>, %d: tensor<4x32xf32>) {
    %1 = stablehlo.dot %c, %d : (tensor<4x4xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
    sdy.return %1 : tensor<4x32xf32>
  } : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}
// -----
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @named(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %0 = sdy.named_computation<"f">(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{}, {"y"}]>] (%b: tensor<8x16xf32>) {
    sdy.return %b : tensor<8x16xf32>
  } : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %1 = sdy.named_computation<"g">(%0) (%b: tensor<8x16xf32>) {
    sdy.return %b : tensor<8x16xf32>
  } : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}
// -----
sdy.mesh @mesh = <["x"=2, "y"=4, "z"=2]>
func.func @collectives(%a: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {"z"}]>}, %b: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %0 = sdy.all_gather [{"y"}, {}] %a out_sharding=<@mesh, [{"x"}, {"z"}]> : tensor<16x8xf32>
  %1 = sdy.all_slice [{}, {"y"}] %0 out_sharding=<@mesh, [{"x"}, {"z", "y"}]> : tensor<16x8xf32>
  %2 = sdy.all_to_all [{"y"}: 1->0] %1 out_sharding=<@mesh, [{"x", "y"}, {"z"}]> : tensor<16x8xf32>
  %3 = sdy.collective_permute %2 out_sharding=<@mesh, [{"y", "x"}, {"z"}]> : tensor<16x8xf32>
  return %3 : tensor<16x8xf32>
}
// -----
sdy.mesh @mesh = <["x"=2, "y"=4, "z"=2]>
func.func @reductions(%a: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}], unreduced={"y"}> : tensor<16x8xf32>
  %1 = sdy.all_reduce {"y"} %0 out_sharding=<@mesh, [{"x"}, {}]> : tensor<16x8xf32>
  %2 = sdy.replicated_to_unreduced {"z"} %1 out_sharding=<@mesh, [{"x"}, {}], unreduced={"z"}> : tensor<16x8xf32>
  %3 = sdy.reduce_scatter [{}, {"z"}] %2 out_sharding=<@mesh, [{"x"}, {"z"}]> : tensor<16x8xf32>
  %4 = sdy.sharded_to_unreduced [{"x"}, {}] %3 out_sharding=<@mesh, [{}, {"z"}], unreduced={"x"}> : tensor<16x8xf32>
  return %4 : tensor<16x8xf32>
}
// -----
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @edges(%a: tensor<8x16xf32>, %b: tensor<8x16xf32>, %c: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %0 = sdy.data_flow_edge %a sharding=<@mesh, [{"x"}, {?}]> : tensor<8x16xf32>
  %1 = sdy.data_flow_edge %b : tensor<8x16xf32>
  %2 = sdy.func_data_flow_edge %c : tensor<8x16xf32>
  %3 = sdy.constant dense<1.0> : tensor<8x16xf32>
  return %2 : tensor<8x16xf32>
}
// -----
func.func @rules(%a: tensor<4x8xf32>, %b: tensor<8x6xf32>) -> tensor<4x6xf32> {
  %0 = stablehlo.custom_call @matmul(%a, %b) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=4, j=6, k=8} reduction={k}, custom>} : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %1 = stablehlo.custom_call @split(%0) {sdy.sharding_rule = #sdy.op_sharding_rule<([ij, k])->([i, jk]) {i=2, j=2, k=6} need_replication={j}, custom>} : (tensor<4x6xf32>) -> tensor<2x12xf32>
  %2 = stablehlo.custom_call @inline(%0) {sdy.sharding = #sdy.sharding_per_value<[<mesh<["x"=2]>, [{"x"}, {}]>]>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
