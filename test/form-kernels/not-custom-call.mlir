// RUN: not slimhlo-opt %s --slimhlo-form-kernels 2>&1 | FileCheck %s

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: error: 'stablehlo.custom_call' op cannot become a GPU kernel: the code of the custom call "mine" is not in the module
  %0 = stablehlo.custom_call @mine(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
