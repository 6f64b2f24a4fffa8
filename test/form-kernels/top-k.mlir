// RUN: slimhlo-opt %s --slimhlo-form-kernels | FileCheck %s

// The largest elements come of a sort.

// CHECK-LABEL: func.func @main
// CHECK: %[[S:[0-9]+]]:2 = call @sort_0(%arg0)
// CHECK: call @slice
// CHECK: func.func private @sort_0
// CHECK: is_stable = true
// CHECK: stablehlo.compare GT, {{.*}} TOTALORDER
func.func @main(%x: tensor<3x8xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>) {
  %0, %1 = chlo.top_k(%x, k = 2) : tensor<3x8xf32> -> (tensor<3x2xf32>, tensor<3x2xi32>)
  return %0, %1 : tensor<3x2xf32>, tensor<3x2xi32>
}
