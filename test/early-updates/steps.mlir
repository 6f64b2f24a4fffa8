// RUN: slimhlo-opt %s --slimhlo-early-updates="target=h100" --split-input-file | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-early-updates="target=xla-cpu" --split-input-file | FileCheck %s --check-prefix=CPU

// XLA for CPU drops barriers.
// CPU-NOT: optimization_barrier

// Three layers without activations to speak of: what a layer's gradient updates is there before the next one's. The last product has none after it.
// CHECK-LABEL: func.func public @main
// CHECK: %[[DW3:[0-9]+]] = stablehlo.dot_general %{{.*}}, contracting_dims = [0] x [0]
// CHECK: %[[D2:[0-9]+]] = stablehlo.dot_general %{{.*}}, %arg3, contracting_dims = [1] x [1]
// CHECK: %[[S3:[0-9]+]] = stablehlo.multiply %[[DW3]]
// CHECK: %[[U3:[0-9]+]] = stablehlo.subtract %arg3, %[[S3]]
// CHECK: %[[HELD3:[0-9]+]]:2 = stablehlo.optimization_barrier %[[D2]], %[[U3]]
// CHECK: %[[DW2:[0-9]+]] = stablehlo.dot_general %{{.*}}, %[[HELD3]]#0, contracting_dims = [0] x [0]
// CHECK: %[[D1:[0-9]+]] = stablehlo.dot_general %[[HELD3]]#0, %arg2, contracting_dims = [1] x [1]
// CHECK: %[[U2:[0-9]+]] = stablehlo.subtract %arg2
// CHECK: %[[HELD2:[0-9]+]]:2 = stablehlo.optimization_barrier %[[D1]], %[[U2]]
// CHECK: stablehlo.dot_general %{{.*}}, %[[HELD2]]#0, contracting_dims = [0] x [0]
// CHECK-NOT: optimization_barrier
// CHECK: %[[U1:[0-9]+]] = stablehlo.subtract %arg1
// CHECK: return %[[U1]], %[[HELD2]]#1, %[[HELD3]]#1
func.func public @main(%x: tensor<64x2048xf32>, %w1: tensor<2048x2048xf32> {tf.aliasing_output = 0 : i32}, %w2: tensor<2048x2048xf32> {tf.aliasing_output = 1 : i32}, %w3: tensor<2048x2048xf32> {tf.aliasing_output = 2 : i32}) -> (tensor<2048x2048xf32>, tensor<2048x2048xf32>, tensor<2048x2048xf32>) {
  %rate = stablehlo.constant dense<0.1> : tensor<2048x2048xf32>
  %h1 = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<64x2048xf32>, tensor<2048x2048xf32>) -> tensor<64x2048xf32>
  %h2 = stablehlo.dot_general %h1, %w2, contracting_dims = [1] x [0] : (tensor<64x2048xf32>, tensor<2048x2048xf32>) -> tensor<64x2048xf32>
  %h3 = stablehlo.dot_general %h2, %w3, contracting_dims = [1] x [0] : (tensor<64x2048xf32>, tensor<2048x2048xf32>) -> tensor<64x2048xf32>
  %d3 = stablehlo.sine %h3 : tensor<64x2048xf32>
  %dw3 = stablehlo.dot_general %h2, %d3, contracting_dims = [0] x [0] : (tensor<64x2048xf32>, tensor<64x2048xf32>) -> tensor<2048x2048xf32>
  %d2 = stablehlo.dot_general %d3, %w3, contracting_dims = [1] x [1] : (tensor<64x2048xf32>, tensor<2048x2048xf32>) -> tensor<64x2048xf32>
  %dw2 = stablehlo.dot_general %h1, %d2, contracting_dims = [0] x [0] : (tensor<64x2048xf32>, tensor<64x2048xf32>) -> tensor<2048x2048xf32>
  %d1 = stablehlo.dot_general %d2, %w2, contracting_dims = [1] x [1] : (tensor<64x2048xf32>, tensor<2048x2048xf32>) -> tensor<64x2048xf32>
  %dw1 = stablehlo.dot_general %x, %d1, contracting_dims = [0] x [0] : (tensor<64x2048xf32>, tensor<64x2048xf32>) -> tensor<2048x2048xf32>
  %s1 = stablehlo.multiply %dw1, %rate : tensor<2048x2048xf32>
  %s2 = stablehlo.multiply %dw2, %rate : tensor<2048x2048xf32>
  %s3 = stablehlo.multiply %dw3, %rate : tensor<2048x2048xf32>
  %u1 = stablehlo.subtract %w1, %s1 : tensor<2048x2048xf32>
  %u2 = stablehlo.subtract %w2, %s2 : tensor<2048x2048xf32>
  %u3 = stablehlo.subtract %w3, %s3 : tensor<2048x2048xf32>
  return %u1, %u2, %u3 : tensor<2048x2048xf32>, tensor<2048x2048xf32>, tensor<2048x2048xf32>
}

// -----

// What all gradients are clipped by is there no earlier.
// CHECK-LABEL: func.func public @clipped
// CHECK-NOT: optimization_barrier
func.func public @clipped(%x: tensor<64x2048xf32>, %w1: tensor<2048x2048xf32>, %w2: tensor<2048x2048xf32>) -> (tensor<2048x2048xf32>, tensor<2048x2048xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %h1 = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<64x2048xf32>, tensor<2048x2048xf32>) -> tensor<64x2048xf32>
  %h2 = stablehlo.dot_general %h1, %w2, contracting_dims = [1] x [0] : (tensor<64x2048xf32>, tensor<2048x2048xf32>) -> tensor<64x2048xf32>
  %dw2 = stablehlo.dot_general %h1, %h2, contracting_dims = [0] x [0] : (tensor<64x2048xf32>, tensor<64x2048xf32>) -> tensor<2048x2048xf32>
  %d1 = stablehlo.dot_general %h2, %w2, contracting_dims = [1] x [1] : (tensor<64x2048xf32>, tensor<2048x2048xf32>) -> tensor<64x2048xf32>
  %dw1 = stablehlo.dot_general %x, %d1, contracting_dims = [0] x [0] : (tensor<64x2048xf32>, tensor<64x2048xf32>) -> tensor<2048x2048xf32>
  %n1 = stablehlo.reduce(%dw1 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<2048x2048xf32>, tensor<f32>) -> tensor<f32>
  %n2 = stablehlo.reduce(%dw2 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<2048x2048xf32>, tensor<f32>) -> tensor<f32>
  %n = stablehlo.add %n1, %n2 : tensor<f32>
  %ns = stablehlo.broadcast_in_dim %n, dims = [] : (tensor<f32>) -> tensor<2048x2048xf32>
  %c1 = stablehlo.divide %dw1, %ns : tensor<2048x2048xf32>
  %c2 = stablehlo.divide %dw2, %ns : tensor<2048x2048xf32>
  %u1 = stablehlo.subtract %w1, %c1 : tensor<2048x2048xf32>
  %u2 = stablehlo.subtract %w2, %c2 : tensor<2048x2048xf32>
  return %u1, %u2 : tensor<2048x2048xf32>, tensor<2048x2048xf32>
}

// -----

// All updates share what they are multiplied with, which is made of an argument: it comes before the first of them, once.
// CHECK-LABEL: func.func public @shared
// CHECK: %[[RATE:[0-9]+]] = stablehlo.broadcast_in_dim %arg4
// CHECK: %[[S3:[0-9]+]] = stablehlo.multiply %{{.*}}, %[[RATE]]
// CHECK: stablehlo.subtract %arg3, %[[S3]]
// CHECK: optimization_barrier
// CHECK: %[[S2:[0-9]+]] = stablehlo.multiply %{{.*}}, %[[RATE]]
// CHECK: stablehlo.subtract %arg2, %[[S2]]
// CHECK: optimization_barrier
// CHECK-NOT: broadcast_in_dim
// CHECK: return
func.func public @shared(%x: tensor<64x2048xf32>, %w1: tensor<2048x2048xf32>, %w2: tensor<2048x2048xf32>, %w3: tensor<2048x2048xf32>, %rate: tensor<f32>) -> (tensor<2048x2048xf32>, tensor<2048x2048xf32>, tensor<2048x2048xf32>) {
  %h1 = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<64x2048xf32>, tensor<2048x2048xf32>) -> tensor<64x2048xf32>
  %h2 = stablehlo.dot_general %h1, %w2, contracting_dims = [1] x [0] : (tensor<64x2048xf32>, tensor<2048x2048xf32>) -> tensor<64x2048xf32>
  %h3 = stablehlo.dot_general %h2, %w3, contracting_dims = [1] x [0] : (tensor<64x2048xf32>, tensor<2048x2048xf32>) -> tensor<64x2048xf32>
  %d3 = stablehlo.sine %h3 : tensor<64x2048xf32>
  %dw3 = stablehlo.dot_general %h2, %d3, contracting_dims = [0] x [0] : (tensor<64x2048xf32>, tensor<64x2048xf32>) -> tensor<2048x2048xf32>
  %d2 = stablehlo.dot_general %d3, %w3, contracting_dims = [1] x [1] : (tensor<64x2048xf32>, tensor<2048x2048xf32>) -> tensor<64x2048xf32>
  %dw2 = stablehlo.dot_general %h1, %d2, contracting_dims = [0] x [0] : (tensor<64x2048xf32>, tensor<64x2048xf32>) -> tensor<2048x2048xf32>
  %d1 = stablehlo.dot_general %d2, %w2, contracting_dims = [1] x [1] : (tensor<64x2048xf32>, tensor<2048x2048xf32>) -> tensor<64x2048xf32>
  %dw1 = stablehlo.dot_general %x, %d1, contracting_dims = [0] x [0] : (tensor<64x2048xf32>, tensor<64x2048xf32>) -> tensor<2048x2048xf32>
  %rates = stablehlo.broadcast_in_dim %rate, dims = [] : (tensor<f32>) -> tensor<2048x2048xf32>
  %s1 = stablehlo.multiply %dw1, %rates : tensor<2048x2048xf32>
  %s2 = stablehlo.multiply %dw2, %rates : tensor<2048x2048xf32>
  %s3 = stablehlo.multiply %dw3, %rates : tensor<2048x2048xf32>
  %u1 = stablehlo.subtract %w1, %s1 : tensor<2048x2048xf32>
  %u2 = stablehlo.subtract %w2, %s2 : tensor<2048x2048xf32>
  %u3 = stablehlo.subtract %w3, %s3 : tensor<2048x2048xf32>
  return %u1, %u2, %u3 : tensor<2048x2048xf32>, tensor<2048x2048xf32>, tensor<2048x2048xf32>
}

// -----

// A parameter that the last product reads once more is not updated before that.
// CHECK-LABEL: func.func public @read_later
// CHECK-NOT: optimization_barrier
func.func public @read_later(%x: tensor<64x2048xf32>, %w: tensor<2048x2048xf32>) -> (tensor<2048x2048xf32>, tensor<64x2048xf32>) {
  %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x2048xf32>, tensor<2048x2048xf32>) -> tensor<64x2048xf32>
  %dw = stablehlo.dot_general %x, %h, contracting_dims = [0] x [0] : (tensor<64x2048xf32>, tensor<64x2048xf32>) -> tensor<2048x2048xf32>
  %dx = stablehlo.dot_general %h, %w, contracting_dims = [1] x [1] : (tensor<64x2048xf32>, tensor<2048x2048xf32>) -> tensor<64x2048xf32>
  %u = stablehlo.subtract %w, %dw : tensor<2048x2048xf32>
  return %u, %dx : tensor<2048x2048xf32>, tensor<64x2048xf32>
}
