// RUN: slimhlo-opt %s --slimhlo-form-kernels | FileCheck %s

// Results of as many elements that read the same come of one kernel; one may be made of the other.

// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[R:[0-9]+]]:2 = call @subtract_0(%arg0, %arg1)
// CHECK-NEXT: return %[[R]]#0, %[[R]]#1
func.func @main(%m: tensor<64xf32>, %g: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %0 = stablehlo.add %m, %g : tensor<64xf32>
  %1 = stablehlo.sine %0 : tensor<64xf32>
  %2 = stablehlo.subtract %1, %g : tensor<64xf32>
  return %0, %2 : tensor<64xf32>, tensor<64xf32>
}

// CHECK: func.func private @subtract_0
// CHECK-SAME: slimhlo.kernel = "map"
// CHECK-SAME: slimhlo.pointwise = array<i64: 0, 1>
