// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=4194304" | FileCheck %s

// What takes much work is there before the update in place begins: back ends divide work among cores only outside of that.
// CHECK-LABEL: func @much
// CHECK: %[[ROWS:[^ ]*]] = chlo.erf_inv
// CHECK: %[[HELD:[^ ]*]] = "stablehlo.if"
// CHECK-NEXT: stablehlo.optimization_barrier %[[ROWS]]
// CHECK: stablehlo.dynamic_update_slice %{{[^ ,]*}}, %[[HELD]],
func.func @much(%key: tensor<f32>) -> tensor<4194304xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %five = stablehlo.constant dense<5> : tensor<i32>
  %places = stablehlo.iota dim = 0 : tensor<4194304xf32>
  %keys = stablehlo.broadcast_in_dim %key, dims = [] : (tensor<f32>) -> tensor<4194304xf32>
  %0:3 = stablehlo.while(%i = %zero, %x = %places, %y = %keys) : tensor<i32>, tensor<4194304xf32>, tensor<4194304xf32>
  cond {
    %more = stablehlo.compare LT, %i, %five, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %sum = stablehlo.add %x, %y : tensor<4194304xf32>
    %mixed = stablehlo.multiply %sum, %y : tensor<4194304xf32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %sum, %mixed : tensor<i32>, tensor<4194304xf32>, tensor<4194304xf32>
  }
  %r = chlo.erf_inv %0#2 : tensor<4194304xf32> -> tensor<4194304xf32>
  return %r : tensor<4194304xf32>
}

// CHECK-LABEL: func @little
// CHECK: %[[ROWS:[^ ]*]] = stablehlo.exponential
// CHECK-NOT: stablehlo.if
// CHECK: stablehlo.dynamic_update_slice %{{[^ ,]*}}, %[[ROWS]],
func.func @little(%key: tensor<f32>) -> tensor<4194304xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %five = stablehlo.constant dense<5> : tensor<i32>
  %places = stablehlo.iota dim = 0 : tensor<4194304xf32>
  %keys = stablehlo.broadcast_in_dim %key, dims = [] : (tensor<f32>) -> tensor<4194304xf32>
  %0:3 = stablehlo.while(%i = %zero, %x = %places, %y = %keys) : tensor<i32>, tensor<4194304xf32>, tensor<4194304xf32>
  cond {
    %more = stablehlo.compare LT, %i, %five, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %sum = stablehlo.add %x, %y : tensor<4194304xf32>
    %mixed = stablehlo.multiply %sum, %y : tensor<4194304xf32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %sum, %mixed : tensor<i32>, tensor<4194304xf32>, tensor<4194304xf32>
  }
  %r = stablehlo.exponential %0#2 : tensor<4194304xf32>
  return %r : tensor<4194304xf32>
}
