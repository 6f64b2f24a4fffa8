// RUN: slimhlo-opt %s --slimhlo-form-kernels | FileCheck %s

// Calls share a kernel where their ops, types and attributes are the same.

// CHECK-LABEL: func.func @main
// CHECK-DAG: call @sine_0(%arg0)
// CHECK-DAG: call @sine_0(%arg1)
// CHECK: func.func private @sine_0
// CHECK-NOT: func.func
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.sine %x : tensor<4xf32>
  %1 = stablehlo.sine %y : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
