// RUN: slimhlo-opt %s --slimhlo-scatter-to-update | FileCheck %s

#columns = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [1]>

// A scatter skips this window; an update would clamp it.
// CHECK-LABEL: func @out_of_bounds
// CHECK-NOT: dynamic_update_slice
// CHECK: "stablehlo.scatter"
// CHECK-NOT: dynamic_update_slice
func.func @out_of_bounds(%x: tensor<4x32xf32>, %u: tensor<4x8xf32>) -> tensor<4x32xf32> {
  %at = stablehlo.constant dense<25> : tensor<1xi32>
  %r = "stablehlo.scatter"(%x, %at, %u) <{scatter_dimension_numbers = #columns}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    stablehlo.return %new : tensor<f32>
  }) : (tensor<4x32xf32>, tensor<1xi32>, tensor<4x8xf32>) -> tensor<4x32xf32>
  return %r : tensor<4x32xf32>
}

// CHECK-LABEL: func @negative
// CHECK-NOT: dynamic_update_slice
// CHECK: "stablehlo.scatter"
// CHECK-NOT: dynamic_update_slice
func.func @negative(%x: tensor<4x32xf32>, %u: tensor<4x8xf32>) -> tensor<4x32xf32> {
  %at = stablehlo.constant dense<-1> : tensor<1xi32>
  %r = "stablehlo.scatter"(%x, %at, %u) <{scatter_dimension_numbers = #columns}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    stablehlo.return %new : tensor<f32>
  }) : (tensor<4x32xf32>, tensor<1xi32>, tensor<4x8xf32>) -> tensor<4x32xf32>
  return %r : tensor<4x32xf32>
}

// CHECK-LABEL: func @not_constant
// CHECK-NOT: dynamic_update_slice
// CHECK: "stablehlo.scatter"
// CHECK-NOT: dynamic_update_slice
func.func @not_constant(%x: tensor<4x32xf32>, %at: tensor<1xi32>, %u: tensor<4x8xf32>) -> tensor<4x32xf32> {
  %r = "stablehlo.scatter"(%x, %at, %u) <{scatter_dimension_numbers = #columns}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    stablehlo.return %new : tensor<f32>
  }) : (tensor<4x32xf32>, tensor<1xi32>, tensor<4x8xf32>) -> tensor<4x32xf32>
  return %r : tensor<4x32xf32>
}

// The body does more than one thing.
// CHECK-LABEL: func @adds_twice
// CHECK-NOT: dynamic_update_slice
// CHECK: "stablehlo.scatter"
// CHECK-NOT: dynamic_update_slice
func.func @adds_twice(%x: tensor<4x32xf32>, %u: tensor<4x8xf32>) -> tensor<4x32xf32> {
  %at = stablehlo.constant dense<8> : tensor<1xi32>
  %r = "stablehlo.scatter"(%x, %at, %u) <{scatter_dimension_numbers = #columns}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    %sum = stablehlo.add %old, %new : tensor<f32>
    %more = stablehlo.add %sum, %new : tensor<f32>
    stablehlo.return %more : tensor<f32>
  }) : (tensor<4x32xf32>, tensor<1xi32>, tensor<4x8xf32>) -> tensor<4x32xf32>
  return %r : tensor<4x32xf32>
}

// What is there does not matter to this body.
// CHECK-LABEL: func @doubles
// CHECK-NOT: dynamic_update_slice
// CHECK: "stablehlo.scatter"
// CHECK-NOT: dynamic_update_slice
func.func @doubles(%x: tensor<4x32xf32>, %u: tensor<4x8xf32>) -> tensor<4x32xf32> {
  %at = stablehlo.constant dense<8> : tensor<1xi32>
  %r = "stablehlo.scatter"(%x, %at, %u) <{scatter_dimension_numbers = #columns}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    %sum = stablehlo.add %new, %new : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  }) : (tensor<4x32xf32>, tensor<1xi32>, tensor<4x8xf32>) -> tensor<4x32xf32>
  return %r : tensor<4x32xf32>
}

// A mark on the op has nowhere to go.
// CHECK-LABEL: func @marked
// CHECK-NOT: dynamic_update_slice
// CHECK: "stablehlo.scatter"
// CHECK-NOT: dynamic_update_slice
func.func @marked(%x: tensor<4x32xf32>, %u: tensor<4x8xf32>) -> tensor<4x32xf32> {
  %at = stablehlo.constant dense<8> : tensor<1xi32>
  %r = "stablehlo.scatter"(%x, %at, %u) <{scatter_dimension_numbers = #columns}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    %sum = stablehlo.add %old, %new {my.mark} : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  }) : (tensor<4x32xf32>, tensor<1xi32>, tensor<4x8xf32>) -> tensor<4x32xf32>
  return %r : tensor<4x32xf32>
}

// CHECK-LABEL: func @keeps_old
// CHECK-NOT: dynamic_update_slice
// CHECK: "stablehlo.scatter"
// CHECK-NOT: dynamic_update_slice
func.func @keeps_old(%x: tensor<4x32xf32>, %u: tensor<4x8xf32>) -> tensor<4x32xf32> {
  %at = stablehlo.constant dense<8> : tensor<1xi32>
  %r = "stablehlo.scatter"(%x, %at, %u) <{scatter_dimension_numbers = #columns}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    stablehlo.return %old : tensor<f32>
  }) : (tensor<4x32xf32>, tensor<1xi32>, tensor<4x8xf32>) -> tensor<4x32xf32>
  return %r : tensor<4x32xf32>
}

// CHECK-LABEL: func @two_windows
// CHECK-NOT: dynamic_update_slice
// CHECK: "stablehlo.scatter"
// CHECK-NOT: dynamic_update_slice
func.func @two_windows(%x: tensor<32xf32>, %u: tensor<2x8xf32>) -> tensor<32xf32> {
  %at = stablehlo.constant dense<[[0], [16]]> : tensor<2x1xi32>
  %r = "stablehlo.scatter"(%x, %at, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    stablehlo.return %new : tensor<f32>
  }) : (tensor<32xf32>, tensor<2x1xi32>, tensor<2x8xf32>) -> tensor<32xf32>
  return %r : tensor<32xf32>
}
