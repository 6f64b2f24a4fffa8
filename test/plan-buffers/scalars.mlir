// RUN: slimhlo-opt %s --slimhlo-form-kernels=apart=true --slimhlo-plan-buffers=check=true | FileCheck %s

// What has less than 256 bytes begins at a multiple of 16: numbers that loops carry do not take many times their size.

// CHECK-LABEL: func.func @main
// CHECK-SAME: slimhlo.arena = 48
func.func @main(%n: tensor<i32>, %x: tensor<f32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:3 = stablehlo.while(%i = %zero, %a = %x, %b = %x) : tensor<i32>, tensor<f32>, tensor<f32>
  cond {
    %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2 = stablehlo.sine %a : tensor<f32>
    %3 = stablehlo.add %b, %a : tensor<f32>
    stablehlo.return %1, %2, %3 : tensor<i32>, tensor<f32>, tensor<f32>
  }
  return %0#2 : tensor<f32>
}
