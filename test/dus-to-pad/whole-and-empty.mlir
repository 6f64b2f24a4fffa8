// RUN: slimhlo-opt %s --slimhlo-dus-to-pad | FileCheck %s

// An update as large as the operand is the result, wherever it was to start and whatever was there.
// CHECK-LABEL: func @whole
// CHECK-SAME: (%{{.*}}: tensor<4xf32>, %[[X:.*]]: tensor<4xf32>, %{{.*}}: tensor<i32>)
func.func @whole(%a: tensor<4xf32>, %x: tensor<4xf32>, %at: tensor<i32>) -> tensor<4xf32> {
  // CHECK-NEXT: return %[[X]]
  %r = stablehlo.dynamic_update_slice %a, %x, %at : (tensor<4xf32>, tensor<4xf32>, tensor<i32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func @rank_zero
// CHECK-SAME: (%{{.*}}: tensor<f32>, %[[X:.*]]: tensor<f32>)
func.func @rank_zero(%a: tensor<f32>, %x: tensor<f32>) -> tensor<f32> {
  // CHECK-NEXT: return %[[X]]
  %r = stablehlo.dynamic_update_slice %a, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}

// CHECK-LABEL: func @empty
// CHECK-SAME: (%[[A:.*]]: tensor<4x4xf32>, %{{.*}}: tensor<0x4xf32>)
func.func @empty(%a: tensor<4x4xf32>, %x: tensor<0x4xf32>) -> tensor<4x4xf32> {
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  // CHECK-NEXT: return %[[A]]
  %r = stablehlo.dynamic_update_slice %a, %x, %c1, %c1 : (tensor<4x4xf32>, tensor<0x4xf32>, tensor<i32>, tensor<i32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// A dimension that the update fills starts at 0, so its start may be unknown.
// CHECK-LABEL: func @filled_dimension
func.func @filled_dimension(%x: tensor<2x4xf32>, %at: tensor<i32>) -> tensor<4x4xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<4x4xf32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  // CHECK: stablehlo.pad {{.*}}, low = [1, 0], high = [1, 0]
  %r = stablehlo.dynamic_update_slice %zeros, %x, %c1, %at : (tensor<4x4xf32>, tensor<2x4xf32>, tensor<i32>, tensor<i32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}
