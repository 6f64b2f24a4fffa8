// RUN: slimhlo-opt %s --pass-pipeline="builtin.module(func.func(slimhlo-late-splats{least-bytes=1}))" | FileCheck %s

// One element of a sharded value would have to be sent to all devices.
// CHECK-LABEL: func.func @main
// CHECK-NOT: stablehlo.clamp
module attributes {mhlo.num_partitions = 4 : i32} {
  func.func @main(%x: tensor<4x4xf32>, %at: tensor<4x1xi32>) -> tensor<9x4xf32> {
    %zeros = stablehlo.constant dense<0.0> : tensor<9x4xf32>
    %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = stablehlo.dot_general %0, %x, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = stablehlo.dot_general %1, %x, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = "stablehlo.scatter"(%zeros, %at, %2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %sum = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %sum : tensor<f32>
    }) : (tensor<9x4xf32>, tensor<4x1xi32>, tensor<4x4xf32>) -> tensor<9x4xf32>
    return %3 : tensor<9x4xf32>
  }
}
