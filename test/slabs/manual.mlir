// RUN: slimhlo-opt %s --slimhlo-slabs="target=xla-cpu slab-bytes=256 min-bytes=256" --split-input-file | FileCheck %s

// Shards of a donated argument, and of the result that takes its place: slabs of the step overwrite them.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func @shards
  // CHECK: sdy.manual_computation
  // CHECK-SAME: (%[[X:[a-z0-9]+]]: tensor<32x16xf32>) {
  // CHECK: stablehlo.while(%{{[^,]*}}, %{{[a-zA-Z0-9_]+}} = %[[X]],
  // CHECK: sdy.return
  func.func @shards(%x: tensor<32x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>, tf.aliasing_output = 0 : i32}) -> (tensor<32x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{}, {"x"}]>] out_shardings=[<@mesh, [{}, {"x"}]>] manual_axes={"x"} (%own: tensor<32x16xf32>) {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %a = stablehlo.slice %own [2:32, 0:16] : (tensor<32x16xf32>) -> tensor<30x16xf32>
      %b = stablehlo.slice %own [0:30, 0:16] : (tensor<32x16xf32>) -> tensor<30x16xf32>
      %c = stablehlo.subtract %a, %b : tensor<30x16xf32>
      %d = stablehlo.pad %c, %zero, low = [1, 0], high = [1, 0], interior = [0, 0] : (tensor<30x16xf32>, tensor<f32>) -> tensor<32x16xf32>
      %e = stablehlo.add %own, %d : tensor<32x16xf32>
      sdy.return %e : tensor<32x16xf32>
    } : (tensor<32x32xf32>) -> tensor<32x32xf32>
    return %0 : tensor<32x32xf32>
  }
}
