// RUN: slimhlo-opt %s --slimhlo-recompute-residuals --canonicalize --cse | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-recompute-residuals --canonicalize --cse | slimhlo-opt --slimhlo-recompute-residuals | FileCheck %s

// Two stacks follow from a third.
// CHECK-LABEL: func.func @arithmetic
func.func @arithmetic(%x0: tensor<4xf32>, %g0: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %c6 = stablehlo.constant dense<6> : tensor<i32>
  %zeros = stablehlo.constant dense<0.0> : tensor<6x4xf32>
  // CHECK: %[[FORWARD:.*]]:3 = stablehlo.while(%{{[^ ]*}} = %{{[^ ,]*}}, %[[X:[^ ]*]] = %{{[^ ,]*}}, %[[XS:[^ ]*]] = %{{[^ ,]*}})
  // CHECK: do {
  // CHECK: %[[SLOT:.*]] = stablehlo.reshape %[[X]] : (tensor<4xf32>) -> tensor<1x4xf32>
  // CHECK: stablehlo.dynamic_update_slice %[[XS]], %[[SLOT]]
  %0:5 = stablehlo.while(%i = %c0, %x = %x0, %xs = %zeros, %as = %zeros, %bs = %zeros) : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>
  cond {
    %more = stablehlo.compare LT, %i, %c6, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %a = stablehlo.tanh %x : tensor<4xf32>
    %b = stablehlo.multiply %a, %x : tensor<4xf32>
    %x1 = stablehlo.reshape %x : (tensor<4xf32>) -> tensor<1x4xf32>
    %xs1 = stablehlo.dynamic_update_slice %xs, %x1, %i, %c0 : (tensor<6x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<6x4xf32>
    %a1 = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<4xf32>) -> tensor<1x4xf32>
    %as1 = stablehlo.dynamic_update_slice %as, %a1, %i, %c0 : (tensor<6x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<6x4xf32>
    %b1 = stablehlo.reshape %b : (tensor<4xf32>) -> tensor<1x4xf32>
    %bs1 = stablehlo.dynamic_update_slice %bs, %b1, %i, %c0 : (tensor<6x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<6x4xf32>
    %next = stablehlo.add %b, %x : tensor<4xf32>
    %i1 = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %i1, %next, %xs1, %as1, %bs1 : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>
  }
  // CHECK: stablehlo.while(%[[READ:[^ ]*]] = %[[FORWARD]]#2, %{{[^ ]*}} = %{{[^ ,]*}}, %{{[^ ]*}} = %{{[^ ,]*}})
  // CHECK: do {
  // CHECK: %[[SLOT:.*]] = stablehlo.dynamic_slice %[[READ]],
  // CHECK: %[[AGAIN:.*]] = stablehlo.reshape %[[SLOT]] : (tensor<1x4xf32>) -> tensor<4xf32>
  // CHECK: %[[A:.*]] = stablehlo.tanh %[[AGAIN]]
  // CHECK: stablehlo.multiply %[[A]], %[[AGAIN]]
  %1:5 = stablehlo.while(%xs = %0#2, %as = %0#3, %bs = %0#4, %i = %c0, %g = %g0) : tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<i32>, tensor<4xf32>
  cond {
    %more = stablehlo.compare LT, %i, %c6, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %left = stablehlo.subtract %c6, %i : tensor<i32>
    %at = stablehlo.subtract %left, %c1 : tensor<i32>
    %x1 = stablehlo.dynamic_slice %xs, %at, %c0, sizes = [1, 4] : (tensor<6x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %a1 = stablehlo.dynamic_slice %as, %at, %c0, sizes = [1, 4] : (tensor<6x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %b1 = stablehlo.dynamic_slice %bs, %at, %c0, sizes = [1, 4] : (tensor<6x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %x = stablehlo.reshape %x1 : (tensor<1x4xf32>) -> tensor<4xf32>
    %a = stablehlo.reshape %a1 : (tensor<1x4xf32>) -> tensor<4xf32>
    %b = stablehlo.reshape %b1 : (tensor<1x4xf32>) -> tensor<4xf32>
    %ab = stablehlo.multiply %a, %b : tensor<4xf32>
    %h = stablehlo.multiply %g, %ab : tensor<4xf32>
    %next = stablehlo.add %h, %x : tensor<4xf32>
    %i1 = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %xs, %as, %bs, %i1, %next : tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<i32>, tensor<4xf32>
  }
  return %0#1, %1#4 : tensor<4xf32>, tensor<4xf32>
}
