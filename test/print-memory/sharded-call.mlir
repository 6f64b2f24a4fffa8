// RUN: slimhlo-opt %s --slimhlo-print-memory="target=xla-cpu top=0 plain=true" 2>&1 >/dev/null | FileCheck %s

// Callees are given parts. A pad along a dimension that is cut is put together from pieces as large as the result.
// CHECK: memory: peak 12{{[0-9]+}} = arguments 4194304 + results 4194304 - aliased 0 + temporaries 4198400
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func @main(%x: tensor<2048x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<2048x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
    %0 = stablehlo.slice %x [0:2048, 2047:2048] : (tensor<2048x2048xf32>) -> tensor<2048x1xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {"y"}]> : tensor<2048x1xf32>
    %2 = call @widen(%1) : (tensor<2048x1xf32>) -> tensor<2048x2048xf32>
    return %2 : tensor<2048x2048xf32>
  }
  func.func private @widen(%x: tensor<2048x1xf32>) -> tensor<2048x2048xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.pad %x, %zero, low = [0, 0], high = [0, 2047], interior = [0, 0] : (tensor<2048x1xf32>, tensor<f32>) -> tensor<2048x2048xf32>
    return %0 : tensor<2048x2048xf32>
  }
}
