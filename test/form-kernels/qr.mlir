// RUN: slimhlo-opt %s --slimhlo-form-kernels --slimhlo-plan-buffers=check=true --split-input-file | FileCheck %s

// QR and LU decompositions are loops over columns, which change the matrix where it is.

// CHECK-LABEL: func.func @main
// CHECK-NOT: copy
// CHECK: stablehlo.while
// CHECK-SAME: slimhlo.turns = 3
// CHECK: stablehlo.while
// CHECK-SAME: slimhlo.turns = 3
// CHECK-NOT: custom_call
func.func @main(%a: tensor<2x5x3xf32> {tf.aliasing_output = 0 : i32}) -> tensor<2x5x3xf32> {
  %0:2 = stablehlo.custom_call @cusolver_geqrf_ffi(%a) : (tensor<2x5x3xf32>) -> (tensor<2x5x3xf32>, tensor<2x3xf32>)
  %1 = stablehlo.custom_call @cusolver_orgqr_ffi(%0#0, %0#1) : (tensor<2x5x3xf32>, tensor<2x3xf32>) -> tensor<2x5x3xf32>
  return %1 : tensor<2x5x3xf32>
}

// -----

// Of complex numbers, and with more columns than rows.

// CHECK-LABEL: func.func @main
// CHECK: stablehlo.while
// CHECK-SAME: slimhlo.turns = 3
// CHECK-NOT: custom_call
func.func @main(%a: tensor<3x5xcomplex<f64>>) -> (tensor<3x5xcomplex<f64>>, tensor<3xcomplex<f64>>) {
  %0:2 = stablehlo.custom_call @lapack_zgeqrf_ffi(%a) : (tensor<3x5xcomplex<f64>>) -> (tensor<3x5xcomplex<f64>>, tensor<3xcomplex<f64>>)
  return %0#0, %0#1 : tensor<3x5xcomplex<f64>>, tensor<3xcomplex<f64>>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK: stablehlo.while
// CHECK-SAME: slimhlo.turns = 3
// CHECK-NOT: custom_call
func.func @main(%a: tensor<5x3xf32>, %t: tensor<3xf32>, %c: tensor<2x5xf32>) -> tensor<2x5xf32> {
  %0 = stablehlo.custom_call @cusolver_ormqr_ffi(%a, %t, %c) {mhlo.backend_config = {left = false, transpose = true}} :
      (tensor<5x3xf32>, tensor<3xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
  return %0 : tensor<2x5xf32>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK-NOT: copy
// CHECK: stablehlo.while
// CHECK-SAME: slimhlo.turns = 4
// CHECK: stablehlo.while
// CHECK-SAME: slimhlo.turns = 4
// CHECK-NOT: custom_call
func.func @main(%a: tensor<4x4xf32> {tf.aliasing_output = 0 : i32}) -> (tensor<4x4xf32>, tensor<4xi32>, tensor<i32>) {
  %0:3 = stablehlo.custom_call @cusolver_getrf_ffi(%a) : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4xi32>, tensor<i32>)
  %one = stablehlo.constant dense<1> : tensor<4xi32>
  %1 = stablehlo.subtract %0#1, %one : tensor<4xi32>
  %2 = stablehlo.custom_call @cu_lu_pivots_to_permutation(%1) : (tensor<4xi32>) -> tensor<4xi32>
  return %0#0, %2, %0#2 : tensor<4x4xf32>, tensor<4xi32>, tensor<i32>
}

// -----

// Nothing to decompose.

// CHECK-LABEL: func.func @main
// CHECK-NOT: stablehlo.while
// CHECK-NOT: custom_call
func.func @main(%a: tensor<0x3xf32>) -> (tensor<0x3xf32>, tensor<0xf32>) {
  %0:2 = stablehlo.custom_call @cusolver_geqrf_ffi(%a) : (tensor<0x3xf32>) -> (tensor<0x3xf32>, tensor<0xf32>)
  return %0#0, %0#1 : tensor<0x3xf32>, tensor<0xf32>
}
