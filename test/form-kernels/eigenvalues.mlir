// RUN: slimhlo-opt %s --slimhlo-form-kernels --slimhlo-plan-buffers=check=true --split-input-file | FileCheck %s

// Eigenvalues are a loop of sweeps, as many as it takes, of steps that count: of seven columns and one of zeros each meets each in seven.

// CHECK-LABEL: func.func @main
// CHECK: stablehlo.while
// CHECK-NOT: slimhlo.turns
// CHECK: cond {
// CHECK: stablehlo.while
// CHECK-SAME: slimhlo.turns = 7
// CHECK-NOT: custom_call
func.func @main(%a: tensor<2x7x7xf32>) -> (tensor<2x7x7xf32>, tensor<2x7xf32>, tensor<2xi32>) {
  %0:3 = stablehlo.custom_call @cusolver_syevd_ffi(%a) {mhlo.backend_config = {algorithm = 0 : ui8, lower = true}} :
      (tensor<2x7x7xf32>) -> (tensor<2x7x7xf32>, tensor<2x7xf32>, tensor<2xi32>)
  return %0#0, %0#1, %0#2 : tensor<2x7x7xf32>, tensor<2x7xf32>, tensor<2xi32>
}

// -----

// Of complex numbers, by the name that it has on CPUs.

// CHECK-LABEL: func.func @main
// CHECK: stablehlo.while
// CHECK: slimhlo.turns = 3
// CHECK-NOT: custom_call
func.func @main(%a: tensor<4x4xcomplex<f64>>) -> (tensor<4x4xcomplex<f64>>, tensor<4xf64>, tensor<i32>) {
  %0:3 = stablehlo.custom_call @lapack_zheevd_ffi(%a) {mhlo.backend_config = {mode = 86 : ui8, uplo = 85 : ui8}} :
      (tensor<4x4xcomplex<f64>>) -> (tensor<4x4xcomplex<f64>>, tensor<4xf64>, tensor<i32>)
  return %0#0, %0#1, %0#2 : tensor<4x4xcomplex<f64>>, tensor<4xf64>, tensor<i32>
}

// -----

// Singular values turn the columns of whatever side is shorter; the vectors of the other side are those of a QR decomposition, with all that
// there is room for.

// CHECK-LABEL: func.func @main
// CHECK: stablehlo.while
// CHECK: slimhlo.turns = 3
// CHECK: slimhlo.turns = 3
// CHECK: slimhlo.turns = 3
// CHECK-NOT: custom_call
func.func @main(%a: tensor<3x6xf32>) -> (tensor<3xf32>, tensor<3x3xf32>, tensor<6x6xf32>) {
  %0:5 = stablehlo.custom_call @cusolver_gesvdj_ffi(%a) {mhlo.backend_config = {compute_uv = true, full_matrices = true}} :
      (tensor<3x6xf32>) -> (tensor<3x6xf32>, tensor<3xf32>, tensor<3x3xf32>, tensor<6x6xf32>, tensor<i32>)
  return %0#1, %0#2, %0#3 : tensor<3xf32>, tensor<3x3xf32>, tensor<6x6xf32>
}

// -----

// Values alone need no decomposition.

// CHECK-LABEL: func.func @main
// CHECK: stablehlo.while
// CHECK: slimhlo.turns = 3
// CHECK-NOT: slimhlo.turns
// CHECK-NOT: custom_call
func.func @main(%a: tensor<6x3xf32>) -> tensor<3xf32> {
  %0:5 = stablehlo.custom_call @lapack_sgesdd_ffi(%a) {mhlo.backend_config = {mode = 78 : ui8}} :
      (tensor<6x3xf32>) -> (tensor<6x3xf32>, tensor<3xf32>, tensor<6x6xf32>, tensor<3x3xf32>, tensor<i32>)
  return %0#1 : tensor<3xf32>
}
