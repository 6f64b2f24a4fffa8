// RUN: slimhlo-opt %s --slimhlo-narrow-updates="least-bytes=1" | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-narrow-updates="least-bytes=1" | slimhlo-opt --slimhlo-narrow-updates="least-bytes=1" | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-narrow-updates | FileCheck %s --check-prefix=SMALL

// SMALL-NOT: stablehlo.if

// Both updates are made of what they update.
// CHECK-LABEL: func.func @periodic
func.func @periodic(%field: tensor<12x4xbf16>) -> tensor<12x4xbf16> {
  %c0 = stablehlo.constant dense<0> : tensor<i64>
  %c10 = stablehlo.constant dense<10> : tensor<i64>
  // CHECK: %[[HALO:.*]] = stablehlo.slice %arg0 [8:10, 0:4]
  %0 = stablehlo.slice %field [8:10, 0:4] : (tensor<12x4xbf16>) -> tensor<2x4xbf16>
  // CHECK: %[[ELEMENT:.*]] = stablehlo.slice %arg0 [0:1, 0:1]
  // CHECK: %[[SCALAR:.*]] = stablehlo.reshape %[[ELEMENT]]
  // CHECK: %[[BITS:.*]] = stablehlo.bitcast_convert %[[SCALAR]] : (tensor<bf16>) -> tensor<i16>
  // CHECK: %[[C:.*]] = stablehlo.constant dense<1> : tensor<i16>
  // CHECK: %[[ONE:.*]] = stablehlo.clamp %[[C]], %[[BITS]], %[[C]] : tensor<i16>
  // CHECK: %[[TRUE:.*]] = stablehlo.convert %[[ONE]] : (tensor<i16>) -> tensor<i1>
  // CHECK: %[[HELD:.*]] = "stablehlo.if"(%[[TRUE]])
  // CHECK: %[[BARRIER:.*]] = stablehlo.optimization_barrier %[[HALO]]
  // CHECK: stablehlo.return %[[BARRIER]]
  // CHECK: %[[FIRST:.*]] = stablehlo.dynamic_update_slice %arg0, %[[HELD]]
  %1 = stablehlo.dynamic_update_slice %field, %0, %c0, %c0 : (tensor<12x4xbf16>, tensor<2x4xbf16>, tensor<i64>, tensor<i64>) -> tensor<12x4xbf16>
  %2 = stablehlo.slice %1 [2:4, 0:4] : (tensor<12x4xbf16>) -> tensor<2x4xbf16>
  %3 = stablehlo.negate %2 : tensor<2x4xbf16>
  // CHECK: "stablehlo.if"
  // CHECK: stablehlo.dynamic_update_slice %[[FIRST]]
  // CHECK-NOT: stablehlo.if
  %4 = stablehlo.dynamic_update_slice %1, %3, %c10, %c0 : (tensor<12x4xbf16>, tensor<2x4xbf16>, tensor<i64>, tensor<i64>) -> tensor<12x4xbf16>
  return %4 : tensor<12x4xbf16>
}

// One update of an array that is given away.
// CHECK-LABEL: func.func @donated
func.func @donated(%field: tensor<12x4xf8E5M2> {tf.aliasing_output = 0 : i32}) -> tensor<12x4xf8E5M2> {
  // CHECK: stablehlo.clamp {{.*}} : tensor<i8>
  // CHECK: "stablehlo.if"
  %c0 = stablehlo.constant dense<0> : tensor<i64>
  %0 = stablehlo.slice %field [8:10, 0:4] : (tensor<12x4xf8E5M2>) -> tensor<2x4xf8E5M2>
  %1 = stablehlo.dynamic_update_slice %field, %0, %c0, %c0 : (tensor<12x4xf8E5M2>, tensor<2x4xf8E5M2>, tensor<i64>, tensor<i64>) -> tensor<12x4xf8E5M2>
  return %1 : tensor<12x4xf8E5M2>
}

// One that is kept is copied anyway.
// CHECK-LABEL: func.func @kept
func.func @kept(%field: tensor<12x4xbf16>) -> tensor<12x4xbf16> {
  // CHECK-NOT: stablehlo.if
  %c0 = stablehlo.constant dense<0> : tensor<i64>
  %0 = stablehlo.slice %field [8:10, 0:4] : (tensor<12x4xbf16>) -> tensor<2x4xbf16>
  %1 = stablehlo.dynamic_update_slice %field, %0, %c0, %c0 : (tensor<12x4xbf16>, tensor<2x4xbf16>, tensor<i64>, tensor<i64>) -> tensor<12x4xbf16>
  return %1 : tensor<12x4xbf16>
}

// What is written is there already, or is computed from what is.
// CHECK-LABEL: func.func @given
func.func @given(%field: tensor<12x4xbf16> {jax.buffer_donor = true}, %halo: tensor<2x4xbf16>) -> tensor<12x4xbf16> {
  // CHECK-NOT: stablehlo.if
  %c0 = stablehlo.constant dense<0> : tensor<i64>
  %c10 = stablehlo.constant dense<10> : tensor<i64>
  %0 = stablehlo.dynamic_update_slice %field, %halo, %c0, %c0 : (tensor<12x4xbf16>, tensor<2x4xbf16>, tensor<i64>, tensor<i64>) -> tensor<12x4xbf16>
  %1 = stablehlo.negate %halo : tensor<2x4xbf16>
  %2 = stablehlo.dynamic_update_slice %0, %1, %c10, %c0 : (tensor<12x4xbf16>, tensor<2x4xbf16>, tensor<i64>, tensor<i64>) -> tensor<12x4xbf16>
  return %2 : tensor<12x4xbf16>
}

// These are moved as they are.
// CHECK-LABEL: func.func @others
func.func @others(%field: tensor<12x4xf16> {tf.aliasing_output = 0 : i32}, %wide: tensor<12x4xf32> {tf.aliasing_output = 1 : i32}) -> (tensor<12x4xf16>, tensor<12x4xf32>) {
  // CHECK-NOT: stablehlo.if
  %c0 = stablehlo.constant dense<0> : tensor<i64>
  %0 = stablehlo.slice %field [8:10, 0:4] : (tensor<12x4xf16>) -> tensor<2x4xf16>
  %1 = stablehlo.dynamic_update_slice %field, %0, %c0, %c0 : (tensor<12x4xf16>, tensor<2x4xf16>, tensor<i64>, tensor<i64>) -> tensor<12x4xf16>
  %2 = stablehlo.slice %wide [8:10, 0:4] : (tensor<12x4xf32>) -> tensor<2x4xf32>
  %3 = stablehlo.dynamic_update_slice %wide, %2, %c0, %c0 : (tensor<12x4xf32>, tensor<2x4xf32>, tensor<i64>, tensor<i64>) -> tensor<12x4xf32>
  return %1, %3 : tensor<12x4xf16>, tensor<12x4xf32>
}
