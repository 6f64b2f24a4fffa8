// RUN: slimhlo-opt %s --slimhlo-simplify --split-input-file | FileCheck %s

// A table that JAX transposes for its product with hidden states.
// CHECK-LABEL: func @transposed_table
func.func @transposed_table(%x: tensor<3x4xf32>, %w: tensor<5x4xf32>) -> tensor<3x5xf32> {
  // CHECK-NEXT: %[[R:.*]] = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [1], precision = [DEFAULT, HIGHEST] : (tensor<3x4xf32>, tensor<5x4xf32>) -> tensor<3x5xf32>
  // CHECK-NEXT: return %[[R]]
  %0 = stablehlo.transpose %w, dims = [1, 0] : (tensor<5x4xf32>) -> tensor<4x5xf32>
  %1 = stablehlo.dot_general %x, %0, contracting_dims = [1] x [0], precision = [DEFAULT, HIGHEST] : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return %1 : tensor<3x5xf32>
}

// -----

// Both operands; what is batched over stays where it is.
// CHECK-LABEL: func @both
func.func @both(%x: tensor<2x4x3xf32>, %w: tensor<2x5x4xf32>) -> tensor<2x3x5xf32> {
  // CHECK-NEXT: %[[R:.*]] = stablehlo.dot_general %arg0, %arg1, batching_dims = [0] x [0], contracting_dims = [1] x [2]
  // CHECK-NEXT: return %[[R]]
  %0 = stablehlo.transpose %x, dims = [0, 2, 1] : (tensor<2x4x3xf32>) -> tensor<2x3x4xf32>
  %1 = stablehlo.transpose %w, dims = [0, 2, 1] : (tensor<2x5x4xf32>) -> tensor<2x4x5xf32>
  %2 = stablehlo.dot_general %0, %1, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  return %2 : tensor<2x3x5xf32>
}

// -----

// A value of the program's own, of which all that read the transpose can do without it.
// CHECK-LABEL: func @all_users
func.func @all_users(%x: tensor<3x4xf32>, %w: tensor<5x4xf32>) -> (tensor<3x5xf32>, tensor<4x4xf32>) {
  // CHECK-NOT: stablehlo.transpose
  %0 = stablehlo.negate %w : tensor<5x4xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<5x4xf32>) -> tensor<4x5xf32>
  %2 = stablehlo.dot_general %x, %1, contracting_dims = [1] x [0] : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %3 = stablehlo.dot_general %1, %1, contracting_dims = [1] x [1] : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x4xf32>
  return %2, %3 : tensor<3x5xf32>, tensor<4x4xf32>
}

// -----

// The transpose is there for another reason: to keep what it is of as well would take more.
// CHECK-LABEL: func @needed
func.func @needed(%x: tensor<3x4xf32>, %w: tensor<5x4xf32>) -> (tensor<3x5xf32>, tensor<4x5xf32>) {
  // CHECK: %[[T:.*]] = stablehlo.transpose
  // CHECK: stablehlo.dot_general %arg0, %[[T]], contracting_dims = [1] x [0]
  %0 = stablehlo.negate %w : tensor<5x4xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<5x4xf32>) -> tensor<4x5xf32>
  %2 = stablehlo.dot_general %x, %1, contracting_dims = [1] x [0] : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return %2, %1 : tensor<3x5xf32>, tensor<4x5xf32>
}

// -----

// The result would come in another order.
// CHECK-LABEL: func @reordered
func.func @reordered(%x: tensor<3x4xf32>, %w: tensor<5x6x4xf32>) -> tensor<3x6x5xf32> {
  // CHECK: stablehlo.transpose
  %0 = stablehlo.transpose %w, dims = [2, 1, 0] : (tensor<5x6x4xf32>) -> tensor<4x6x5xf32>
  %1 = stablehlo.dot_general %x, %0, contracting_dims = [1] x [0] : (tensor<3x4xf32>, tensor<4x6x5xf32>) -> tensor<3x6x5xf32>
  return %1 : tensor<3x6x5xf32>
}

// -----

// Heads that were moved to the front would have to be moved there once more.
// CHECK-LABEL: func @heads
func.func @heads(%x: tensor<7x2x4xf32>, %w: tensor<2x5x4xf32>) -> tensor<2x7x5xf32> {
  // CHECK: stablehlo.transpose
  %0 = stablehlo.transpose %x, dims = [1, 0, 2] : (tensor<7x2x4xf32>) -> tensor<2x7x4xf32>
  %1 = stablehlo.dot_general %0, %w, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x7x4xf32>, tensor<2x5x4xf32>) -> tensor<2x7x5xf32>
  return %1 : tensor<2x7x5xf32>
}

// -----

// In a program for several partitions: `%w` is not cut, by its argument's word, but its transpose may be, as `%x` is, and with it what the
// second dot makes.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func @cut_by_another_user
  func.func @cut_by_another_user(%x: tensor<6x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %w: tensor<5x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) -> (tensor<6x5xf32>, tensor<6x4xf32>) {
    // CHECK: %[[T:.*]] = stablehlo.transpose %arg1
    // CHECK: stablehlo.dot_general %arg0, %[[T]]
    // CHECK: stablehlo.dot_general %{{.*}}, %[[T]]
    %0 = stablehlo.transpose %w, dims = [1, 0] : (tensor<5x4xf32>) -> tensor<4x5xf32>
    %1 = stablehlo.dot_general %x, %0, contracting_dims = [1] x [0] : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
    %2 = stablehlo.sine %1 : tensor<6x5xf32>
    %3 = stablehlo.dot_general %2, %0, contracting_dims = [1] x [1] : (tensor<6x5xf32>, tensor<4x5xf32>) -> tensor<6x4xf32>
    return %1, %3 : tensor<6x5xf32>, tensor<6x4xf32>
  }

  // Nothing but its dot could hand on how it is cut.
  // CHECK-LABEL: func @one_user
  func.func @one_user(%x: tensor<6x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %w: tensor<5x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) -> tensor<6x5xf32> {
    // CHECK-NOT: stablehlo.transpose
    %0 = stablehlo.transpose %w, dims = [1, 0] : (tensor<5x4xf32>) -> tensor<4x5xf32>
    %1 = stablehlo.dot_general %x, %0, contracting_dims = [1] x [0] : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
    return %1 : tensor<6x5xf32>
  }
}

// -----

// A mask of attention's heads, as flax writes it: nothing is contracted, and what the dot puts in front goes back.
// CHECK-LABEL: func @head_mask
func.func @head_mask(%mask: tensor<3xbf16>, %p: tensor<2x3x4x4xbf16>) -> tensor<2x3x4x4xbf16> {
  // CHECK-NEXT: %[[M:.*]] = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<3xbf16>) -> tensor<2x3x4x4xbf16>
  // CHECK-NEXT: %[[R:.*]] = stablehlo.multiply %[[M]], %arg1 : tensor<2x3x4x4xbf16>
  // CHECK-NEXT: return %[[R]]
  %0 = stablehlo.dot_general %mask, %p, batching_dims = [0] x [1], contracting_dims = [] x [], precision = [DEFAULT, DEFAULT] : (tensor<3xbf16>, tensor<2x3x4x4xbf16>) -> tensor<3x2x4x4xbf16>
  %1 = stablehlo.transpose %0, dims = [1, 0, 2, 3] : (tensor<3x2x4x4xbf16>) -> tensor<2x3x4x4xbf16>
  return %1 : tensor<2x3x4x4xbf16>
}

// -----

// An outer product, widened.
// CHECK-LABEL: func @outer
func.func @outer(%x: tensor<2x3xbf16>, %y: tensor<2x4xbf16>) -> tensor<2x3x4xf32> {
  // CHECK: %[[X:.*]] = stablehlo.convert %arg0
  // CHECK: %[[XB:.*]] = stablehlo.broadcast_in_dim %[[X]], dims = [0, 1] : (tensor<2x3xf32>) -> tensor<2x3x4xf32>
  // CHECK: %[[Y:.*]] = stablehlo.convert %arg1
  // CHECK: %[[YB:.*]] = stablehlo.broadcast_in_dim %[[Y]], dims = [0, 2] : (tensor<2x4xf32>) -> tensor<2x3x4xf32>
  // CHECK: stablehlo.multiply %[[XB]], %[[YB]] : tensor<2x3x4xf32>
  %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [] x [] : (tensor<2x3xbf16>, tensor<2x4xbf16>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// -----

// The algorithm says that operands are rounded first.
// CHECK-LABEL: func @rounded
func.func @rounded(%x: tensor<3xf32>, %y: tensor<4xf32>) -> tensor<3x4xf32> {
  // CHECK: stablehlo.dot_general
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [] x [], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<3xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// -----

// The first operand's dimensions would have to change places.
// CHECK-LABEL: func @turned
func.func @turned(%x: tensor<3x2xf32>, %y: tensor<2x4xf32>) -> tensor<2x3x4xf32> {
  // CHECK: stablehlo.dot_general
  %0 = stablehlo.dot_general %x, %y, batching_dims = [1] x [0], contracting_dims = [] x [] : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}
