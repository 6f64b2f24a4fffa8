// RUN: not slimhlo-opt %s --slimhlo-form-kernels --split-input-file 2>&1 | FileCheck %s

// What is no decomposition of such operands is nobody's: factors of another number, integers, reflectors that are too long.

// CHECK: error: 'stablehlo.custom_call' op cannot become a GPU kernel: the code of the custom call "cusolver_geqrf_ffi" is not in the module
func.func @main(%a: tensor<5x3xf32>) -> (tensor<5x3xf32>, tensor<4xf32>) {
  %0:2 = stablehlo.custom_call @cusolver_geqrf_ffi(%a) : (tensor<5x3xf32>) -> (tensor<5x3xf32>, tensor<4xf32>)
  return %0#0, %0#1 : tensor<5x3xf32>, tensor<4xf32>
}

// -----

// CHECK: error: 'stablehlo.custom_call' op cannot become a GPU kernel: the code of the custom call "cusolver_getrf_ffi" is not in the module
func.func @main(%a: tensor<4x4xi32>) -> (tensor<4x4xi32>, tensor<4xi32>, tensor<i32>) {
  %0:3 = stablehlo.custom_call @cusolver_getrf_ffi(%a) : (tensor<4x4xi32>) -> (tensor<4x4xi32>, tensor<4xi32>, tensor<i32>)
  return %0#0, %0#1, %0#2 : tensor<4x4xi32>, tensor<4xi32>, tensor<i32>
}

// -----

// CHECK: error: 'stablehlo.custom_call' op cannot become a GPU kernel: the code of the custom call "cusolver_ormqr_ffi" is not in the module
func.func @main(%a: tensor<5x3xf32>, %t: tensor<3xf32>, %c: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = stablehlo.custom_call @cusolver_ormqr_ffi(%a, %t, %c) {mhlo.backend_config = {left = false, transpose = true}} :
      (tensor<5x3xf32>, tensor<3xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----

// CHECK: error: 'stablehlo.custom_call' op cannot become a GPU kernel: the code of the custom call "cusolver_syevd_ffi" is not in the module
func.func @main(%a: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>, tensor<i32>) {
  %0:3 = stablehlo.custom_call @cusolver_syevd_ffi(%a) : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>, tensor<i32>)
  return %0#0, %0#1, %0#2 : tensor<4x4xf32>, tensor<4xf32>, tensor<i32>
}
