// RUN: slimhlo-opt %s --slimhlo-scatter-to-update | FileCheck %s
// CHECK-NOT: dynamic_update_slice

#columns = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [1]>

// A scatter skips this window; an update would clamp it.
// CHECK-LABEL: func @out_of_bounds
func.func @out_of_bounds(%x: tensor<4x32xf32>, %u: tensor<4x8xf32>) -> tensor<4x32xf32> {
  %at = stablehlo.constant dense<25> : tensor<1xi32>
  %r = "stablehlo.scatter"(%x, %at, %u) <{scatter_dimension_numbers = #columns}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    stablehlo.return %new : tensor<f32>
  }) : (tensor<4x32xf32>, tensor<1xi32>, tensor<4x8xf32>) -> tensor<4x32xf32>
  return %r : tensor<4x32xf32>
}

// CHECK-LABEL: func @negative
func.func @negative(%x: tensor<4x32xf32>, %u: tensor<4x8xf32>) -> tensor<4x32xf32> {
  %at = stablehlo.constant dense<-1> : tensor<1xi32>
  %r = "stablehlo.scatter"(%x, %at, %u) <{scatter_dimension_numbers = #columns}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    stablehlo.return %new : tensor<f32>
  }) : (tensor<4x32xf32>, tensor<1xi32>, tensor<4x8xf32>) -> tensor<4x32xf32>
  return %r : tensor<4x32xf32>
}

// CHECK-LABEL: func @not_constant
func.func @not_constant(%x: tensor<4x32xf32>, %at: tensor<1xi32>, %u: tensor<4x8xf32>) -> tensor<4x32xf32> {
  %r = "stablehlo.scatter"(%x, %at, %u) <{scatter_dimension_numbers = #columns}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    stablehlo.return %new : tensor<f32>
  }) : (tensor<4x32xf32>, tensor<1xi32>, tensor<4x8xf32>) -> tensor<4x32xf32>
  return %r : tensor<4x32xf32>
}

// CHECK-LABEL: func @adds
func.func @adds(%x: tensor<4x32xf32>, %u: tensor<4x8xf32>) -> tensor<4x32xf32> {
  %at = stablehlo.constant dense<8> : tensor<1xi32>
  %r = "stablehlo.scatter"(%x, %at, %u) <{scatter_dimension_numbers = #columns}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    %sum = stablehlo.add %old, %new : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  }) : (tensor<4x32xf32>, tensor<1xi32>, tensor<4x8xf32>) -> tensor<4x32xf32>
  return %r : tensor<4x32xf32>
}

// CHECK-LABEL: func @keeps_old
func.func @keeps_old(%x: tensor<4x32xf32>, %u: tensor<4x8xf32>) -> tensor<4x32xf32> {
  %at = stablehlo.constant dense<8> : tensor<1xi32>
  %r = "stablehlo.scatter"(%x, %at, %u) <{scatter_dimension_numbers = #columns}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    stablehlo.return %old : tensor<f32>
  }) : (tensor<4x32xf32>, tensor<1xi32>, tensor<4x8xf32>) -> tensor<4x32xf32>
  return %r : tensor<4x32xf32>
}

// CHECK-LABEL: func @two_windows
func.func @two_windows(%x: tensor<32xf32>, %u: tensor<2x8xf32>) -> tensor<32xf32> {
  %at = stablehlo.constant dense<[[0], [16]]> : tensor<2x1xi32>
  %r = "stablehlo.scatter"(%x, %at, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    stablehlo.return %new : tensor<f32>
  }) : (tensor<32xf32>, tensor<2x1xi32>, tensor<2x8xf32>) -> tensor<32xf32>
  return %r : tensor<32xf32>
}
