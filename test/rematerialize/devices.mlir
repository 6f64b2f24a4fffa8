// In a program for several devices a value counts as what one of them has of it.
// RUN: slimhlo-opt %s --slimhlo-rematerialize="target=h100 windows=1" --split-input-file | FileCheck %s

// Scores that four devices share are computed again, from a quarter of what they are made of. What was multiplied before is held as well.
// CHECK-LABEL: func.func @main
// CHECK: %[[SCORES:.*]] = stablehlo.dot_general %{{.*}} -> tensor<8x1024x1024xf32>
// CHECK: %[[TOKEN:.*]] = stablehlo.dot_general %{{.*}} -> tensor<64x64xf32>
// CHECK: %[[LAST:.*]] = stablehlo.dot_general %[[X1:.*]], %[[TOKEN]]
// CHECK: %[[HELD:.*]]:2 = stablehlo.optimization_barrier %[[X1]], %[[LAST]]
// CHECK: stablehlo.dot_general %[[HELD]]#0, %{{.*}} -> tensor<8x1024x1024xf32>
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @main(%x: tensor<16384x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %y: tensor<64x1024xf32>, %x1: tensor<8x1024x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}) -> (tensor<8x1024x64xf32>, tensor<8x1024xf32>) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %k = stablehlo.sine %x1 : tensor<8x1024x64xf32>
    %scores = stablehlo.dot_general %x1, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<8x1024x64xf32>, tensor<8x1024x64xf32>) -> tensor<8x1024x1024xf32>
    %e = stablehlo.exponential %scores : tensor<8x1024x1024xf32>
    %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<8x1024x1024xf32>, tensor<f32>) -> tensor<8x1024xf32>
    %all = stablehlo.reduce(%sum init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x1024xf32>, tensor<f32>) -> tensor<1024xf32>
    // The peak: 16 MiB for each device that only the next op needs.
    %each = stablehlo.broadcast_in_dim %all, dims = [1] : (tensor<1024xf32>) -> tensor<64x1024xf32>
    %after = stablehlo.add %y, %each : tensor<64x1024xf32>
    %large = stablehlo.dot_general %x, %after, contracting_dims = [1] x [0] : (tensor<16384x64xf32>, tensor<64x1024xf32>) -> tensor<16384x1024xf32>
    %small = stablehlo.dot_general %large, %y, contracting_dims = [1] x [1] : (tensor<16384x1024xf32>, tensor<64x1024xf32>) -> tensor<16384x64xf32>
    %token = stablehlo.dot_general %small, %x, contracting_dims = [0] x [0] : (tensor<16384x64xf32>, tensor<16384x64xf32>) -> tensor<64x64xf32>
    %v = stablehlo.dot_general %x1, %token, contracting_dims = [2] x [0] : (tensor<8x1024x64xf32>, tensor<64x64xf32>) -> tensor<8x1024x64xf32>
    %b = stablehlo.dot_general %e, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<8x1024x1024xf32>, tensor<8x1024x64xf32>) -> tensor<8x1024x64xf32>
    return %b, %sum : tensor<8x1024x64xf32>, tensor<8x1024xf32>
  }
}

// -----

// What is returned is there anyway.
// CHECK-LABEL: func.func @main
// CHECK-NOT: optimization_barrier
// CHECK: return
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @main(%x: tensor<16384x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %y: tensor<64x1024xf32>, %x1: tensor<8x1024x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}) -> (tensor<8x1024x64xf32>, tensor<8x1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %k = stablehlo.sine %x1 : tensor<8x1024x64xf32>
    %scores = stablehlo.dot_general %x1, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<8x1024x64xf32>, tensor<8x1024x64xf32>) -> tensor<8x1024x1024xf32>
    %e = stablehlo.exponential %scores : tensor<8x1024x1024xf32>
    %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [0, 2] : (tensor<8x1024x1024xf32>, tensor<f32>) -> tensor<1024xf32>
    %each = stablehlo.broadcast_in_dim %sum, dims = [1] : (tensor<1024xf32>) -> tensor<64x1024xf32>
    %after = stablehlo.add %y, %each : tensor<64x1024xf32>
    %large = stablehlo.dot_general %x, %after, contracting_dims = [1] x [0] : (tensor<16384x64xf32>, tensor<64x1024xf32>) -> tensor<16384x1024xf32>
    %small = stablehlo.dot_general %large, %y, contracting_dims = [1] x [1] : (tensor<16384x1024xf32>, tensor<64x1024xf32>) -> tensor<16384x64xf32>
    %token = stablehlo.dot_general %small, %x, contracting_dims = [0] x [0] : (tensor<16384x64xf32>, tensor<16384x64xf32>) -> tensor<64x64xf32>
    %v = stablehlo.dot_general %x1, %token, contracting_dims = [2] x [0] : (tensor<8x1024x64xf32>, tensor<64x64xf32>) -> tensor<8x1024x64xf32>
    %b = stablehlo.dot_general %e, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<8x1024x1024xf32>, tensor<8x1024x64xf32>) -> tensor<8x1024x64xf32>
    return %b, %e : tensor<8x1024x64xf32>, tensor<8x1024x1024xf32>
  }
}
