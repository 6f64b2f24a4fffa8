// Over a batch that is cut each turn would have to exchange its sum.
// RUN: slimhlo-opt %s --slimhlo-early-sums | FileCheck %s

module attributes {mhlo.num_partitions = 4 : i32} {
  // CHECK-LABEL: func.func @main
  // CHECK: stablehlo.while({{.*}}) : tensor<i32>, tensor<8x4xf32>
  // CHECK: stablehlo.reduce
  func.func @main(%n: tensor<i32>, %x: tensor<8x4xf32>) -> tensor<4xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c1 = stablehlo.constant dense<1> : tensor<i32>
    %w:2 = stablehlo.while(%i = %c0, %a = %x) : tensor<i32>, tensor<8x4xf32>
    cond {
      %l = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %l : tensor<i1>
    } do {
      %j = stablehlo.add %i, %c1 : tensor<i32>
      %s = stablehlo.add %a, %x : tensor<8x4xf32>
      stablehlo.return %j, %s : tensor<i32>, tensor<8x4xf32>
    }
    %r = stablehlo.reduce(%w#1 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
    return %r : tensor<4xf32>
  }
}
