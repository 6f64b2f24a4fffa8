// RUN: slimhlo-opt %s --slimhlo-coalesce-pads | FileCheck %s

// What a pad means for the shards of its operand is not for this pass to say.
// CHECK: module attributes {mhlo.num_partitions = 2 : i32}
module attributes {mhlo.num_partitions = 2 : i32} {
  func.func @main(%x: tensor<4xf32>) -> tensor<9xf32> {
    // CHECK: stablehlo.concatenate
    %0 = stablehlo.constant dense<0.0> : tensor<3xf32>
    %1 = stablehlo.constant dense<0.0> : tensor<2xf32>
    %2 = stablehlo.concatenate %0, %x, %1, dim = 0 : (tensor<3xf32>, tensor<4xf32>, tensor<2xf32>) -> tensor<9xf32>
    return %2 : tensor<9xf32>
  }
}
