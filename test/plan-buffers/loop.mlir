// RUN: slimhlo-opt %s --slimhlo-form-kernels --slimhlo-plan-buffers=check=true | FileCheck %s

// The state of a loop stays where it is: each next value is written over the last. What it counts is the schedule's.

// CHECK-LABEL: func.func @main
// CHECK: call @copy_0(%arg0) {slimhlo.buffers = ["result0"]}
// CHECK: stablehlo.while
// CHECK-SAME: slimhlo.buffers = ["counter0", "result0"]
// CHECK: call @add_{{[0-9]}}({{.*}}) {slimhlo.buffers = ["counter0"]}
// CHECK: call @add_{{[0-9]}}({{.*}}) {slimhlo.buffers = ["result0"]}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %ten = stablehlo.constant dense<10> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<4xf32>
  cond {
    %1 = stablehlo.compare LT, %i, %ten, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2 = stablehlo.add %s, %s : tensor<4xf32>
    stablehlo.return %1, %2 : tensor<i32>, tensor<4xf32>
  }
  return %0#1 : tensor<4xf32>
}
