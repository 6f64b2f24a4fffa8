// RUN: not slimhlo-opt %s --slimhlo-plan-buffers 2>&1 | FileCheck %s

// CHECK: error: 'stablehlo.sine' op is not what slimhlo-form-kernels leaves; run that first
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.sine %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
