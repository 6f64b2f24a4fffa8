// RUN: slimhlo-opt %s --slimhlo-simplify | FileCheck %s

// CHECK-LABEL: func @beside_the_update
func.func @beside_the_update(%x: tensor<10xf32>, %u: tensor<2xf32>) -> tensor<3xf32> {
  // CHECK-NEXT: %[[R:.*]] = stablehlo.slice %arg0 [0:3]
  // CHECK-NEXT: return %[[R]]
  %c = stablehlo.constant dense<4> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %x, %u, %c : (tensor<10xf32>, tensor<2xf32>, tensor<i32>) -> tensor<10xf32>
  %1 = stablehlo.slice %0 [0:3] : (tensor<10xf32>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}

// The start is clamped to 8.
// CHECK-LABEL: func @within_the_update
func.func @within_the_update(%x: tensor<10xf32>, %u: tensor<2xf32>) -> tensor<1xf32> {
  // CHECK-NEXT: %[[R:.*]] = stablehlo.slice %arg1 [1:2]
  // CHECK-NEXT: return %[[R]]
  %c = stablehlo.constant dense<40> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %x, %u, %c : (tensor<10xf32>, tensor<2xf32>, tensor<i32>) -> tensor<10xf32>
  %1 = stablehlo.slice %0 [9:10] : (tensor<10xf32>) -> tensor<1xf32>
  return %1 : tensor<1xf32>
}

// To read the array as it was would stop the update from happening in place.
// CHECK-LABEL: func @the_update_stays
func.func @the_update_stays(%x: tensor<10xf32> {jax.buffer_donor = true}, %u: tensor<2xf32>) -> (tensor<10xf32>, tensor<3xf32>) {
  // CHECK: %[[U:.*]] = stablehlo.dynamic_update_slice
  // CHECK-NEXT: stablehlo.slice %[[U]] [0:3]
  %c = stablehlo.constant dense<4> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %x, %u, %c : (tensor<10xf32>, tensor<2xf32>, tensor<i32>) -> tensor<10xf32>
  %1 = stablehlo.slice %0 [0:3] : (tensor<10xf32>) -> tensor<3xf32>
  return %0, %1 : tensor<10xf32>, tensor<3xf32>
}

// CHECK-LABEL: func @constant_starts
func.func @constant_starts(%x: tensor<10x4xf32>, %i: tensor<i32>) -> tensor<3x4xf32> {
  // CHECK-NEXT: %[[R:.*]] = stablehlo.slice %arg0 [7:10, 0:4]
  // CHECK-NEXT: return %[[R]]
  %c = stablehlo.constant dense<9> : tensor<i32>
  %0 = stablehlo.dynamic_slice %x, %c, %i, sizes = [3, 4] : (tensor<10x4xf32>, tensor<i32>, tensor<i32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// The op clamps to 0 .. 7 itself.
// CHECK-LABEL: func @clamped_twice
func.func @clamped_twice(%x: tensor<10xf32>, %i: tensor<i32>) -> tensor<3xf32> {
  // CHECK-NEXT: %[[R:.*]] = stablehlo.dynamic_slice %arg0, %arg1, sizes = [3]
  // CHECK-NEXT: return %[[R]]
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c9 = stablehlo.constant dense<9> : tensor<i32>
  %at = stablehlo.clamp %c0, %i, %c9 : tensor<i32>
  %0 = stablehlo.dynamic_slice %x, %at, sizes = [3] : (tensor<10xf32>, tensor<i32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// Clamped more tightly than by the op.
// CHECK-LABEL: func @clamped_tighter
func.func @clamped_tighter(%x: tensor<10xf32>, %i: tensor<i32>) -> tensor<3xf32> {
  // CHECK: stablehlo.clamp
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c6 = stablehlo.constant dense<6> : tensor<i32>
  %at = stablehlo.clamp %c0, %i, %c6 : tensor<i32>
  %0 = stablehlo.dynamic_slice %x, %at, sizes = [3] : (tensor<10xf32>, tensor<i32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// CHECK-LABEL: func @constant_gather
func.func @constant_gather(%x: tensor<10x4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[A:.*]] = stablehlo.slice %arg0 [9:10, 0:4]
  // CHECK-NEXT: %[[R:.*]] = stablehlo.reshape %[[A]]
  // CHECK-NEXT: return %[[R]]
  %c = stablehlo.constant dense<12> : tensor<1xi32>
  %0 = "stablehlo.gather"(%x, %c) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 0>, slice_sizes = array<i64: 1, 4>}> : (tensor<10x4xf32>, tensor<1xi32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
