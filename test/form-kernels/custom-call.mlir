// RUN: slimhlo-opt %s --slimhlo-form-kernels --split-input-file | FileCheck %s

// Custom calls whose meaning is known are ops.

// CHECK-LABEL: func.func @main
// CHECK: call @erf_0(%arg0)
// CHECK: func.func private @erf_0
// CHECK: chlo.erf
// CHECK-NOT: custom_call
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.custom_call @Sharding(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = stablehlo.custom_call @mhlo.erf(%0) {mhlo.attributes = {}, mhlo.version = 1 : i64} : (tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK: call @triangular_solve_0
// CHECK: stablehlo.triangular_solve
// CHECK-SAME: left_side = false, lower = false, transpose_a = #stablehlo<transpose ADJOINT>, unit_diagonal = true
// CHECK-NOT: custom_call
func.func @main(%a: tensor<4x4xf32>, %b: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = stablehlo.custom_call @lapack_strsm_ffi(%a, %b) {
      mhlo.backend_config = {diag = 85 : ui8, side = 82 : ui8, trans_x = 67 : ui8, uplo = 85 : ui8}} :
      (tensor<4x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK: call @cholesky_0
// CHECK: func.func private @cholesky_0
// CHECK: func.func private @reduce_0
// CHECK: stablehlo.real
// CHECK-NOT: custom_call
func.func @main(%a: tensor<2x4x4xcomplex<f32>>) -> (tensor<2x4x4xcomplex<f32>>, tensor<2xi32>) {
  %0:2 = stablehlo.custom_call @cusolver_potrf_ffi(%a) {mhlo.backend_config = {lower = true}} :
      (tensor<2x4x4xcomplex<f32>>) -> (tensor<2x4x4xcomplex<f32>>, tensor<2xi32>)
  return %0#0, %0#1 : tensor<2x4x4xcomplex<f32>>, tensor<2xi32>
}

// -----

// The comparator that is called is the sort's.

// CHECK-LABEL: func.func @main
// CHECK: call @sort_0
// CHECK: func.func private @sort_0
// CHECK: stablehlo.compare LT, {{.*}}tensor<f32>
// CHECK-NOT: custom_call
func.func private @less(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<i1> {
  %0 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %0 : tensor<i1>
}
func.func @main(%x: tensor<3x32xf32>) -> (tensor<3x4xf32>, tensor<3x4xi32>) {
  %0 = stablehlo.iota dim = 1 : tensor<3x32xi32>
  %none = stablehlo.constant dense<0x7F800000> : tensor<f32>
  %nowhere = stablehlo.constant dense<-1> : tensor<i32>
  %1:2 = stablehlo.custom_call @ApproxTopK(%x, %0, %none, %nowhere) {called_computations = [@less],
      mhlo.backend_config = {aggregate_to_topk = true, recall_target = 0.9 : f32, reduction_dim = 1 : i64, top_k = 4 : i64}} :
      (tensor<3x32xf32>, tensor<3x32xi32>, tensor<f32>, tensor<i32>) -> (tensor<3x4xf32>, tensor<3x4xi32>)
  return %1#0, %1#1 : tensor<3x4xf32>, tensor<3x4xi32>
}
