// RUN: slimhlo-opt %s --slimhlo-in-turn="target=h100 share=3" | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-in-turn="target=xla-cpu share=3" | FileCheck %s --check-prefix=CPU

// XLA for CPU drops barriers before it looks for what is computed twice.
// CPU-NOT: stablehlo.optimization_barrier

// Where a loop runs when the function needs most, its body's results take turns. The counter, which is no result of that kind, stays as it is.
// CHECK-LABEL: func.func @steps
// CHECK: stablehlo.while(
// CHECK: do {
// CHECK: stablehlo.tanh
// CHECK: %[[FIRST:[0-9]+]] = stablehlo.add %{{.*}} : tensor<1024x1024xf32>
// CHECK: %[[H:[0-9]+]]:4 = stablehlo.optimization_barrier
// CHECK-SAME: %[[FIRST]] :
// CHECK: stablehlo.cosine
// CHECK: %[[SECOND:[0-9]+]] = stablehlo.add %{{.*}} : tensor<1024x1024xf32>
// CHECK: stablehlo.return %{{[^,]*}}, %[[H]]#3, %[[SECOND]] :
func.func @steps(%u: tensor<1024x1024xf32>, %w: tensor<1024x1024xf32>, %v: tensor<1024x1024xf32>) -> (tensor<1024x1024xf32>, tensor<1024x1024xf32>) {
  %first = stablehlo.constant dense<0> : tensor<i32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %loop:3 = stablehlo.while(%i = %first, %a = %u, %b = %w) : tensor<i32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>
  cond {
    %turns = stablehlo.constant dense<100> : tensor<i32>
    %more = stablehlo.compare LT, %i, %turns : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %face = stablehlo.multiply %a, %v : tensor<1024x1024xf32>
    %q = stablehlo.divide %a, %face : tensor<1024x1024xf32>
    %c = stablehlo.tanh %q : tensor<1024x1024xf32>
    %r = stablehlo.divide %b, %face : tensor<1024x1024xf32>
    %d = stablehlo.cosine %r : tensor<1024x1024xf32>
    %north = stablehlo.slice %c [0:1022, 1:1023] : (tensor<1024x1024xf32>) -> tensor<1022x1022xf32>
    %south = stablehlo.slice %c [2:1024, 1:1023] : (tensor<1024x1024xf32>) -> tensor<1022x1022xf32>
    %du = stablehlo.subtract %north, %south : tensor<1022x1022xf32>
    %dup = stablehlo.pad %du, %zero, low = [1, 1], high = [1, 1], interior = [0, 0] : (tensor<1022x1022xf32>, tensor<f32>) -> tensor<1024x1024xf32>
    %un = stablehlo.add %a, %dup : tensor<1024x1024xf32>
    %east = stablehlo.slice %d [1:1023, 0:1022] : (tensor<1024x1024xf32>) -> tensor<1022x1022xf32>
    %west = stablehlo.slice %d [1:1023, 2:1024] : (tensor<1024x1024xf32>) -> tensor<1022x1022xf32>
    %dw = stablehlo.subtract %east, %west : tensor<1022x1022xf32>
    %dwp = stablehlo.pad %dw, %zero, low = [1, 1], high = [1, 1], interior = [0, 0] : (tensor<1022x1022xf32>, tensor<f32>) -> tensor<1024x1024xf32>
    %wn = stablehlo.add %b, %dwp : tensor<1024x1024xf32>
    stablehlo.return %next, %un, %wn : tensor<i32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>
  }
  return %loop#1, %loop#2 : tensor<1024x1024xf32>, tensor<1024x1024xf32>
}
