// RUN: slimhlo-opt %s --slimhlo-batch-slices=chunk-bytes=4MiB --split-input-file | FileCheck %s

// What everything waits for is the largest of the whole batch: it is not there before the loop ends, and what is made of it cannot be in it.
// CHECK-LABEL: func.func @whole
// CHECK-NOT: stablehlo.while
// CHECK: return
func.func @whole(%x: tensor<1024x64xf32>, %w: tensor<64x4096xf32>) -> tensor<64x4096xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1024x64xf32>, tensor<64x4096xf32>) -> tensor<1024x4096xf32>
  %most = stablehlo.reduce(%h init: %low) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<1024x4096xf32>, tensor<f32>) -> tensor<f32>
  %all = stablehlo.broadcast_in_dim %most, dims = [] : (tensor<f32>) -> tensor<1024x4096xf32>
  %d = stablehlo.subtract %h, %all : tensor<1024x4096xf32>
  %dw = stablehlo.dot_general %x, %d, contracting_dims = [0] x [0] : (tensor<1024x64xf32>, tensor<1024x4096xf32>) -> tensor<64x4096xf32>
  return %dw : tensor<64x4096xf32>
}

// -----

// The number of samples that count is known before the loop.
// CHECK-LABEL: func.func @weighted
// CHECK: %[[COUNT:.*]] = stablehlo.reduce(%arg2
// CHECK: stablehlo.while
func.func @weighted(%x: tensor<1024x64xf32>, %w: tensor<64x4096xf32>, %mask: tensor<1024xf32>) -> tensor<64x4096xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %count = stablehlo.reduce(%mask init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<1024xf32>, tensor<f32>) -> tensor<f32>
  %counts = stablehlo.broadcast_in_dim %count, dims = [] : (tensor<f32>) -> tensor<1024x4096xf32>
  %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1024x64xf32>, tensor<64x4096xf32>) -> tensor<1024x4096xf32>
  %a = stablehlo.tanh %h : tensor<1024x4096xf32>
  %d = stablehlo.divide %a, %counts : tensor<1024x4096xf32>
  %dw = stablehlo.dot_general %x, %d, contracting_dims = [0] x [0] : (tensor<1024x64xf32>, tensor<1024x4096xf32>) -> tensor<64x4096xf32>
  return %dw : tensor<64x4096xf32>
}

// -----

// What users put behind a barrier stays.
// CHECK-LABEL: func.func @barred
// CHECK-NOT: stablehlo.while
// CHECK: optimization_barrier
func.func @barred(%x: tensor<1024x64xf32>, %w: tensor<64x4096xf32>) -> tensor<64x4096xf32> {
  %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1024x64xf32>, tensor<64x4096xf32>) -> tensor<1024x4096xf32>
  %held = stablehlo.optimization_barrier %h : tensor<1024x4096xf32>
  %dw = stablehlo.dot_general %x, %held, contracting_dims = [0] x [0] : (tensor<1024x64xf32>, tensor<1024x4096xf32>) -> tensor<64x4096xf32>
  return %dw : tensor<64x4096xf32>
}

// -----

// Where partitioners cut the batch, slices would be some devices'.
module attributes {mhlo.num_partitions = 4 : i32} {
  // CHECK-LABEL: func.func @partitions
  // CHECK-NOT: stablehlo.while
  // CHECK: return
  func.func @partitions(%x: tensor<1024x64xf32>, %w: tensor<64x4096xf32>) -> tensor<64x4096xf32> {
    %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1024x64xf32>, tensor<64x4096xf32>) -> tensor<1024x4096xf32>
    %a = stablehlo.tanh %h : tensor<1024x4096xf32>
    %dw = stablehlo.dot_general %x, %a, contracting_dims = [0] x [0] : (tensor<1024x64xf32>, tensor<1024x4096xf32>) -> tensor<64x4096xf32>
    return %dw : tensor<64x4096xf32>
  }
}

// -----

// What is made of bytes for little, and wanted after the loop, does not leave it: it is made again.
// CHECK-LABEL: func.func @made_again
// CHECK: %[[LOOP:.*]]:4 = stablehlo.while(%{{.*}}) : tensor<i64>, tensor<f32>, tensor<1024x64xui8>, tensor<64x4096xf32>
// CHECK: %[[FLOATS:.*]] = stablehlo.convert %arg0 : (tensor<1024x64xui8>) -> tensor<1024x64xf32>
// CHECK: %[[AGAIN:.*]] = stablehlo.multiply %[[FLOATS]],
// CHECK: stablehlo.multiply %[[AGAIN]], %{{.*}} : tensor<1024x64xf32>
func.func @made_again(%bytes: tensor<1024x64xui8>, %w: tensor<64x4096xf32>) -> tensor<1024x64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %scale = stablehlo.constant dense<2.550000e+02> : tensor<1024x64xf32>
  %given = stablehlo.convert %bytes : (tensor<1024x64xui8>) -> tensor<1024x64xf32>
  %x = stablehlo.multiply %given, %scale : tensor<1024x64xf32>
  %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1024x64xf32>, tensor<64x4096xf32>) -> tensor<1024x4096xf32>
  %a = stablehlo.tanh %h : tensor<1024x4096xf32>
  %sum = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<1024x4096xf32>, tensor<f32>) -> tensor<f32>
  %all = stablehlo.broadcast_in_dim %sum, dims = [] : (tensor<f32>) -> tensor<1024x64xf32>
  %m = stablehlo.multiply %x, %all : tensor<1024x64xf32>
  return %m : tensor<1024x64xf32>
}

// -----

// What takes an elementary function leaves it.
// CHECK-LABEL: func.func @leaves
// CHECK: stablehlo.while(%{{.*}}) : tensor<i64>, tensor<1024x64xf32>, tensor<f32>, tensor<1024x64xui8>, tensor<64x4096xf32>
// CHECK-NOT: stablehlo.convert %arg0
func.func @leaves(%bytes: tensor<1024x64xui8>, %w: tensor<64x4096xf32>) -> tensor<1024x64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %given = stablehlo.convert %bytes : (tensor<1024x64xui8>) -> tensor<1024x64xf32>
  %x = stablehlo.sine %given : tensor<1024x64xf32>
  %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1024x64xf32>, tensor<64x4096xf32>) -> tensor<1024x4096xf32>
  %a = stablehlo.tanh %h : tensor<1024x4096xf32>
  %sum = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<1024x4096xf32>, tensor<f32>) -> tensor<f32>
  %all = stablehlo.broadcast_in_dim %sum, dims = [] : (tensor<f32>) -> tensor<1024x64xf32>
  %m = stablehlo.multiply %x, %all : tensor<1024x64xf32>
  return %m : tensor<1024x64xf32>
}
