// RUN: slimhlo-opt %s --slimhlo-own-splats="least-bytes=1" | FileCheck %s

// Zeros that rows are added to, and that a sum reads.
// CHECK-LABEL: func.func @rows
// CHECK: %[[HELD:.*]] = stablehlo.optimization_barrier %{{.*}} : tensor<f32>
// CHECK: %[[OWN:.*]] = stablehlo.broadcast_in_dim %[[HELD]], dims = []
// CHECK: "stablehlo.scatter"(%[[OWN]],
// CHECK: stablehlo.add %{{.*}}, %cst
func.func @rows(%at: tensor<10x1xi32>, %rows: tensor<10x4xf32>, %x: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %zeros = stablehlo.constant dense<0.0> : tensor<8x4xf32>
  %r = "stablehlo.scatter"(%zeros, %at, %rows) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x4xf32>, tensor<10x1xi32>, tensor<10x4xf32>) -> tensor<8x4xf32>
  %y = stablehlo.add %x, %zeros : tensor<8x4xf32>
  return %r, %y : tensor<8x4xf32>, tensor<8x4xf32>
}

// Ones are no zeros.
// CHECK-LABEL: func.func @others
// CHECK-NOT: optimization_barrier
func.func @others(%at: tensor<10x1xi32>, %rows: tensor<10x4xf32>, %x: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %zeros = stablehlo.constant dense<0.0> : tensor<8x4xf32>
  %ones = stablehlo.constant dense<1.0> : tensor<8x4xf32>
  %r = "stablehlo.scatter"(%zeros, %at, %rows) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x4xf32>, tensor<10x1xi32>, tensor<10x4xf32>) -> tensor<8x4xf32>
  %y = stablehlo.add %x, %ones : tensor<8x4xf32>
  return %r, %y : tensor<8x4xf32>, tensor<8x4xf32>
}
