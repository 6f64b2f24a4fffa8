// Gradients of weights that nothing waits for would be put off, and what is computed again for them kept until then: a part of what comes after the peak
// begins behind all products of the part before.
// RUN: slimhlo-opt %s --slimhlo-rematerialize="target=h100 windows=2" --split-input-file | FileCheck %s

// CHECK: optimization_barrier
// CHECK: %[[W:[0-9]+]] = stablehlo.dot_general %{{.*}}, contracting_dims = [0] x [0]
// CHECK: %[[B:[0-9]+]] = stablehlo.dot_general
// CHECK: %[[HELD:[0-9]+]]:3 = stablehlo.optimization_barrier %arg2, %[[B]], %[[W]] :
// CHECK: stablehlo.dot_general %{{.*}}, %[[HELD]]#1, contracting_dims = [1] x [0]
// CHECK: stablehlo.add %{{.*}}, %[[HELD]]#2
func.func @main(%x: tensor<4096x64xf32>, %y: tensor<64x1024xf32>, %x1: tensor<1024x64xf32>, %x2: tensor<1024x64xf32>) -> (tensor<1024x64xf32>, tensor<1024x64xf32>, tensor<1024xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %k1 = stablehlo.sine %x1 : tensor<1024x64xf32>
  %s1 = stablehlo.dot_general %x1, %k1, contracting_dims = [1] x [1] : (tensor<1024x64xf32>, tensor<1024x64xf32>) -> tensor<1024x1024xf32>
  %e1 = stablehlo.exponential %s1 : tensor<1024x1024xf32>
  %r1 = stablehlo.reduce(%e1 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024xf32>
  %k2 = stablehlo.sine %x2 : tensor<1024x64xf32>
  %s2 = stablehlo.dot_general %x2, %k2, contracting_dims = [1] x [1] : (tensor<1024x64xf32>, tensor<1024x64xf32>) -> tensor<1024x1024xf32>
  %e2 = stablehlo.exponential %s2 : tensor<1024x1024xf32>
  %r2 = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024xf32>
  %sum = stablehlo.add %r1, %r2 : tensor<1024xf32>
  // The peak: 16 MiB that only the next op needs.
  %each = stablehlo.broadcast_in_dim %sum, dims = [1] : (tensor<1024xf32>) -> tensor<64x1024xf32>
  %after = stablehlo.add %y, %each : tensor<64x1024xf32>
  %large = stablehlo.dot_general %x, %after, contracting_dims = [1] x [0] : (tensor<4096x64xf32>, tensor<64x1024xf32>) -> tensor<4096x1024xf32>
  %small = stablehlo.dot_general %large, %y, contracting_dims = [1] x [1] : (tensor<4096x1024xf32>, tensor<64x1024xf32>) -> tensor<4096x64xf32>
  %token = stablehlo.dot_general %small, %x, contracting_dims = [0] x [0] : (tensor<4096x64xf32>, tensor<4096x64xf32>) -> tensor<64x64xf32>
  %v = stablehlo.dot_general %x2, %token, contracting_dims = [1] x [0] : (tensor<1024x64xf32>, tensor<64x64xf32>) -> tensor<1024x64xf32>
  // Of the first part: a gradient of weights, and what the second goes on with.
  %w = stablehlo.dot_general %e2, %v, contracting_dims = [0] x [0] : (tensor<1024x1024xf32>, tensor<1024x64xf32>) -> tensor<1024x64xf32>
  %b = stablehlo.dot_general %e2, %v, contracting_dims = [1] x [0] : (tensor<1024x1024xf32>, tensor<1024x64xf32>) -> tensor<1024x64xf32>
  %c = stablehlo.dot_general %e1, %b, contracting_dims = [1] x [0] : (tensor<1024x1024xf32>, tensor<1024x64xf32>) -> tensor<1024x64xf32>
  %u = stablehlo.add %x2, %w : tensor<1024x64xf32>
  return %u, %c, %sum : tensor<1024x64xf32>, tensor<1024x64xf32>, tensor<1024xf32>
}

// -----

// So does what is returned: the gradient itself, or what it is added up in.
// CHECK-LABEL: func.func @returned
// CHECK: optimization_barrier
// CHECK: %[[W:[0-9]+]] = stablehlo.dot_general %{{.*}}, contracting_dims = [0] x [0]
// CHECK: %[[U:[0-9]+]] = stablehlo.add %{{.*}}, %[[W]]
// CHECK: %[[HELD:[0-9]+]]:3 = stablehlo.optimization_barrier %arg2, %{{[0-9]+}}, %[[U]] :
// CHECK: return %[[HELD]]#2
func.func @returned(%x: tensor<4096x64xf32>, %y: tensor<64x1024xf32>, %x1: tensor<1024x64xf32>, %x2: tensor<1024x64xf32>) -> (tensor<1024x64xf32>, tensor<1024x64xf32>, tensor<1024xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %k1 = stablehlo.sine %x1 : tensor<1024x64xf32>
  %s1 = stablehlo.dot_general %x1, %k1, contracting_dims = [1] x [1] : (tensor<1024x64xf32>, tensor<1024x64xf32>) -> tensor<1024x1024xf32>
  %e1 = stablehlo.exponential %s1 : tensor<1024x1024xf32>
  %r1 = stablehlo.reduce(%e1 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024xf32>
  %k2 = stablehlo.sine %x2 : tensor<1024x64xf32>
  %s2 = stablehlo.dot_general %x2, %k2, contracting_dims = [1] x [1] : (tensor<1024x64xf32>, tensor<1024x64xf32>) -> tensor<1024x1024xf32>
  %e2 = stablehlo.exponential %s2 : tensor<1024x1024xf32>
  %r2 = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024xf32>
  %sum = stablehlo.add %r1, %r2 : tensor<1024xf32>
  // The peak: 16 MiB that only the next op needs.
  %each = stablehlo.broadcast_in_dim %sum, dims = [1] : (tensor<1024xf32>) -> tensor<64x1024xf32>
  %after = stablehlo.add %y, %each : tensor<64x1024xf32>
  %large = stablehlo.dot_general %x, %after, contracting_dims = [1] x [0] : (tensor<4096x64xf32>, tensor<64x1024xf32>) -> tensor<4096x1024xf32>
  %small = stablehlo.dot_general %large, %y, contracting_dims = [1] x [1] : (tensor<4096x1024xf32>, tensor<64x1024xf32>) -> tensor<4096x64xf32>
  %token = stablehlo.dot_general %small, %x, contracting_dims = [0] x [0] : (tensor<4096x64xf32>, tensor<4096x64xf32>) -> tensor<64x64xf32>
  %v = stablehlo.dot_general %x2, %token, contracting_dims = [1] x [0] : (tensor<1024x64xf32>, tensor<64x64xf32>) -> tensor<1024x64xf32>
  %w = stablehlo.dot_general %e2, %v, contracting_dims = [0] x [0] : (tensor<1024x1024xf32>, tensor<1024x64xf32>) -> tensor<1024x64xf32>
  %u = stablehlo.add %x2, %w : tensor<1024x64xf32>
  %b = stablehlo.dot_general %e2, %v, contracting_dims = [1] x [0] : (tensor<1024x1024xf32>, tensor<1024x64xf32>) -> tensor<1024x64xf32>
  %c = stablehlo.dot_general %e1, %b, contracting_dims = [1] x [0] : (tensor<1024x1024xf32>, tensor<1024x64xf32>) -> tensor<1024x64xf32>
  return %u, %c, %sum : tensor<1024x64xf32>, tensor<1024x64xf32>, tensor<1024xf32>
}

// -----

// So does what is handed to other devices, though the exchange itself may wait: exchanges are put together, and put off.
// CHECK-LABEL: func.func @exchanged
// CHECK: optimization_barrier
// CHECK: %[[W:[0-9]+]] = stablehlo.dot_general %{{.*}}, contracting_dims = [0] x [0]
// CHECK: "stablehlo.all_reduce"(%[[W]])
// CHECK: %[[HELD:[0-9]+]]:3 = stablehlo.optimization_barrier %arg2, %{{[0-9]+}}, %[[W]] :
func.func @exchanged(%x: tensor<4096x64xf32>, %y: tensor<64x1024xf32>, %x1: tensor<1024x64xf32>, %x2: tensor<1024x64xf32>) -> (tensor<1024x64xf32>, tensor<1024x64xf32>, tensor<1024xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %k1 = stablehlo.sine %x1 : tensor<1024x64xf32>
  %s1 = stablehlo.dot_general %x1, %k1, contracting_dims = [1] x [1] : (tensor<1024x64xf32>, tensor<1024x64xf32>) -> tensor<1024x1024xf32>
  %e1 = stablehlo.exponential %s1 : tensor<1024x1024xf32>
  %r1 = stablehlo.reduce(%e1 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024xf32>
  %k2 = stablehlo.sine %x2 : tensor<1024x64xf32>
  %s2 = stablehlo.dot_general %x2, %k2, contracting_dims = [1] x [1] : (tensor<1024x64xf32>, tensor<1024x64xf32>) -> tensor<1024x1024xf32>
  %e2 = stablehlo.exponential %s2 : tensor<1024x1024xf32>
  %r2 = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024xf32>
  %sum = stablehlo.add %r1, %r2 : tensor<1024xf32>
  // The peak: 16 MiB that only the next op needs.
  %each = stablehlo.broadcast_in_dim %sum, dims = [1] : (tensor<1024xf32>) -> tensor<64x1024xf32>
  %after = stablehlo.add %y, %each : tensor<64x1024xf32>
  %large = stablehlo.dot_general %x, %after, contracting_dims = [1] x [0] : (tensor<4096x64xf32>, tensor<64x1024xf32>) -> tensor<4096x1024xf32>
  %small = stablehlo.dot_general %large, %y, contracting_dims = [1] x [1] : (tensor<4096x1024xf32>, tensor<64x1024xf32>) -> tensor<4096x64xf32>
  %token = stablehlo.dot_general %small, %x, contracting_dims = [0] x [0] : (tensor<4096x64xf32>, tensor<4096x64xf32>) -> tensor<64x64xf32>
  %v = stablehlo.dot_general %x2, %token, contracting_dims = [1] x [0] : (tensor<1024x64xf32>, tensor<64x64xf32>) -> tensor<1024x64xf32>
  %w = stablehlo.dot_general %e2, %v, contracting_dims = [0] x [0] : (tensor<1024x1024xf32>, tensor<1024x64xf32>) -> tensor<1024x64xf32>
  %sum_of_all = "stablehlo.all_reduce"(%w) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
  ^bb0(%left: tensor<f32>, %right: tensor<f32>):
    %both = stablehlo.add %left, %right : tensor<f32>
    stablehlo.return %both : tensor<f32>
  }) : (tensor<1024x64xf32>) -> tensor<1024x64xf32>
  %b = stablehlo.dot_general %e2, %v, contracting_dims = [1] x [0] : (tensor<1024x1024xf32>, tensor<1024x64xf32>) -> tensor<1024x64xf32>
  %c = stablehlo.dot_general %e1, %b, contracting_dims = [1] x [0] : (tensor<1024x1024xf32>, tensor<1024x64xf32>) -> tensor<1024x64xf32>
  %u = stablehlo.add %x2, %sum_of_all : tensor<1024x64xf32>
  return %u, %c, %sum : tensor<1024x64xf32>, tensor<1024x64xf32>, tensor<1024xf32>
}
