// RUN: slimhlo-opt %s --slimhlo-in-turn="target=h100 share=3" --split-input-file | FileCheck %s

// XLA for GPUs computes both quotients, and all that is stored of them, in one kernel: each is there for as long as both are needed. The second is
// begun when the first result is there, from the fields, with a product and quotient of its own.
// CHECK-LABEL: func.func @tendencies(%arg0: tensor<1024x1024xf32>, %arg1: tensor<1024x1024xf32>, %arg2: tensor<1024x1024xf32>)
// CHECK: %[[FACE:.*]] = stablehlo.multiply %arg0, %arg1
// CHECK: stablehlo.divide %arg0, %[[FACE]]
// CHECK: stablehlo.tanh
// CHECK: %[[FIRST:.*]] = stablehlo.subtract
// CHECK: %[[H:.*]]:4 = stablehlo.optimization_barrier %arg2, %arg1, %arg0, %[[FIRST]] :
// CHECK: %[[AGAIN:.*]] = stablehlo.multiply %[[H]]#2, %[[H]]#1
// CHECK: stablehlo.divide %[[H]]#0, %[[AGAIN]]
// CHECK: stablehlo.cosine
// CHECK: %[[SECOND:.*]] = stablehlo.subtract
// CHECK: return %[[H]]#3, %[[SECOND]]
func.func @tendencies(%u: tensor<1024x1024xf32>, %v: tensor<1024x1024xf32>, %w: tensor<1024x1024xf32>) -> (tensor<1022x1022xf32>, tensor<1022x1022xf32>) {
  %face = stablehlo.multiply %u, %v : tensor<1024x1024xf32>
  %q = stablehlo.divide %u, %face : tensor<1024x1024xf32>
  %a = stablehlo.tanh %q : tensor<1024x1024xf32>
  %r = stablehlo.divide %w, %face : tensor<1024x1024xf32>
  %b = stablehlo.cosine %r : tensor<1024x1024xf32>
  %north = stablehlo.slice %a [0:1022, 1:1023] : (tensor<1024x1024xf32>) -> tensor<1022x1022xf32>
  %south = stablehlo.slice %a [2:1024, 1:1023] : (tensor<1024x1024xf32>) -> tensor<1022x1022xf32>
  %du = stablehlo.subtract %north, %south : tensor<1022x1022xf32>
  %east = stablehlo.slice %b [1:1023, 0:1022] : (tensor<1024x1024xf32>) -> tensor<1022x1022xf32>
  %west = stablehlo.slice %b [1:1023, 2:1024] : (tensor<1024x1024xf32>) -> tensor<1022x1022xf32>
  %dw = stablehlo.subtract %east, %west : tensor<1022x1022xf32>
  return %du, %dw : tensor<1022x1022xf32>, tensor<1022x1022xf32>
}

// -----

// Sums that both need are kept for the second, not done again.
// CHECK-LABEL: func.func @sums
// CHECK: %[[S:.*]] = stablehlo.reduce
// CHECK: %[[FIRST:.*]] = stablehlo.subtract
// CHECK: %[[H:.*]]:3 = stablehlo.optimization_barrier %arg2, %[[S]], %[[FIRST]] :
// CHECK-NOT: stablehlo.reduce
// CHECK: stablehlo.broadcast_in_dim %[[H]]#1
// CHECK: return
func.func @sums(%u: tensor<1024x1024xf32>, %v: tensor<1024x1024xf32>, %w: tensor<1024x1024xf32>) -> (tensor<1022x1022xf32>, tensor<1022x1022xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%v init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024xf32>
  %face = stablehlo.broadcast_in_dim %sum, dims = [0] : (tensor<1024xf32>) -> tensor<1024x1024xf32>
  %q = stablehlo.divide %u, %face : tensor<1024x1024xf32>
  %a = stablehlo.tanh %q : tensor<1024x1024xf32>
  %r = stablehlo.divide %w, %face : tensor<1024x1024xf32>
  %b = stablehlo.cosine %r : tensor<1024x1024xf32>
  %north = stablehlo.slice %a [0:1022, 1:1023] : (tensor<1024x1024xf32>) -> tensor<1022x1022xf32>
  %south = stablehlo.slice %a [2:1024, 1:1023] : (tensor<1024x1024xf32>) -> tensor<1022x1022xf32>
  %du = stablehlo.subtract %north, %south : tensor<1022x1022xf32>
  %east = stablehlo.slice %b [1:1023, 0:1022] : (tensor<1024x1024xf32>) -> tensor<1022x1022xf32>
  %west = stablehlo.slice %b [1:1023, 2:1024] : (tensor<1024x1024xf32>) -> tensor<1022x1022xf32>
  %dw = stablehlo.subtract %east, %west : tensor<1022x1022xf32>
  return %du, %dw : tensor<1022x1022xf32>, tensor<1022x1022xf32>
}

// -----

// Each result needs what the other one needs: there is nothing to take turns.
// CHECK-LABEL: func.func @one
// CHECK-NOT: stablehlo.optimization_barrier
// CHECK: return
func.func @one(%u: tensor<1024x1024xf32>, %w: tensor<1024x1024xf32>) -> (tensor<1022x1022xf32>, tensor<1022x1022xf32>) {
  %q = stablehlo.divide %u, %w : tensor<1024x1024xf32>
  %a = stablehlo.tanh %q : tensor<1024x1024xf32>
  %b = stablehlo.cosine %q : tensor<1024x1024xf32>
  %north = stablehlo.slice %a [0:1022, 1:1023] : (tensor<1024x1024xf32>) -> tensor<1022x1022xf32>
  %west = stablehlo.slice %b [1:1023, 2:1024] : (tensor<1024x1024xf32>) -> tensor<1022x1022xf32>
  %du = stablehlo.subtract %north, %west : tensor<1022x1022xf32>
  %south = stablehlo.slice %a [2:1024, 1:1023] : (tensor<1024x1024xf32>) -> tensor<1022x1022xf32>
  %east = stablehlo.slice %b [1:1023, 0:1022] : (tensor<1024x1024xf32>) -> tensor<1022x1022xf32>
  %dw = stablehlo.subtract %east, %south : tensor<1022x1022xf32>
  return %du, %dw : tensor<1022x1022xf32>, tensor<1022x1022xf32>
}
