// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=65536" --split-input-file | FileCheck %s

// A batch of one: what the loop adds up is carried as the matrix that back ends make of the product.
// CHECK-LABEL: func.func @batch
// CHECK: %[[LOOP:.*]]:4 = stablehlo.while({{.*}}) : tensor<i64>, tensor<64x32xf32>,
// CHECK: %[[MATRIX:.*]] = stablehlo.reshape %{{.*}} : (tensor<1x64x32xf32>) -> tensor<64x32xf32>
// CHECK-NEXT: %[[SUM:.*]] = stablehlo.add %{{.*}}, %[[MATRIX]] : tensor<64x32xf32>
// CHECK: stablehlo.return %{{[0-9]+}}, %[[SUM]],
// CHECK: %[[RESULT:.*]] = stablehlo.reshape %[[LOOP]]#1 : (tensor<64x32xf32>) -> tensor<1x64x32xf32>
// CHECK: return %[[RESULT]]
func.func @batch(%x: tensor<1x32768x64xf32>, %y: tensor<1x32768x32xf32>) -> tensor<1x64x32xf32> {
  %0 = stablehlo.cosine %x : tensor<1x32768x64xf32>
  %2 = stablehlo.dot_general %0, %y, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<1x32768x64xf32>, tensor<1x32768x32xf32>) -> tensor<1x64x32xf32>
  return %2 : tensor<1x64x32xf32>
}

// -----

// One of several stays as it is.
// CHECK-LABEL: func.func @batches
// CHECK: stablehlo.while({{.*}}) : tensor<i64>, tensor<2x64x32xf32>,
func.func @batches(%x: tensor<2x32768x64xf32>, %y: tensor<2x32768x32xf32>) -> tensor<2x64x32xf32> {
  %0 = stablehlo.cosine %x : tensor<2x32768x64xf32>
  %2 = stablehlo.dot_general %0, %y, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<2x32768x64xf32>, tensor<2x32768x32xf32>) -> tensor<2x64x32xf32>
  return %2 : tensor<2x64x32xf32>
}
