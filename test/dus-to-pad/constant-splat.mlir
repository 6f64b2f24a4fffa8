// RUN: slimhlo-opt %s --slimhlo-dus-to-pad | FileCheck %s

// CHECK-LABEL: func @middle
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
func.func @middle(%x: tensor<4xf32>) -> tensor<10xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<10xf32>
  %at = stablehlo.constant dense<3> : tensor<i32>
  // CHECK: %[[ZERO:.*]] = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  // CHECK-NEXT: %[[PAD:.*]] = stablehlo.pad %[[X]], %[[ZERO]], low = [3], high = [3], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<10xf32>
  // CHECK-NEXT: return %[[PAD]]
  %r = stablehlo.dynamic_update_slice %zeros, %x, %at : (tensor<10xf32>, tensor<4xf32>, tensor<i32>) -> tensor<10xf32>
  return %r : tensor<10xf32>
}

// Each dimension by itself; the padding value need not be zero.
// CHECK-LABEL: func @two_dimensions
func.func @two_dimensions(%x: tensor<2x8xf64>) -> tensor<6x8xf64> {
  %sevens = stablehlo.constant dense<7.0> : tensor<6x8xf64>
  %c1 = stablehlo.constant dense<1> : tensor<i64>
  %c0 = stablehlo.constant dense<0> : tensor<i64>
  // CHECK: %[[SEVEN:.*]] = stablehlo.constant dense<7.000000e+00> : tensor<f64>
  // CHECK: stablehlo.pad %{{.*}}, %[[SEVEN]], low = [1, 0], high = [3, 0], interior = [0, 0]
  %r = stablehlo.dynamic_update_slice %sevens, %x, %c1, %c0 : (tensor<6x8xf64>, tensor<2x8xf64>, tensor<i64>, tensor<i64>) -> tensor<6x8xf64>
  return %r : tensor<6x8xf64>
}
