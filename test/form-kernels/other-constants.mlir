// RUN: slimhlo-opt %s --slimhlo-form-kernels | FileCheck %s

// Constants of other dialects are constants, and what only says how values are laid out over devices is nothing on one.

sdy.mesh @mesh = <["x"=1]>

// CHECK-LABEL: func.func @main
// CHECK-NEXT: call @add_0(%arg0)
// CHECK-NEXT: return
// CHECK: func.func private @add_0
// CHECK-DAG: stablehlo.constant dense<[1.000000e+00, 2.000000e+00]>
// CHECK-DAG: stablehlo.constant dense<3.000000e+00>
// CHECK-DAG: stablehlo.constant dense<4.000000e+00>
// CHECK-NOT: sdy.
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = sdy.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = arith.constant dense<3.0> : tensor<2xf32>
  %c = "chlo.constant"() <{value = dense<4.0> : tensor<2xf32>}> : () -> tensor<2xf32>
  %0 = sdy.reshard %x <@mesh, [{"x"}]> : tensor<2xf32>
  %1 = stablehlo.add %0, %a : tensor<2xf32>
  %2 = stablehlo.add %1, %b : tensor<2xf32>
  %3 = stablehlo.add %2, %c : tensor<2xf32>
  return %3 : tensor<2xf32>
}
