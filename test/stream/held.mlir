// RUN: slimhlo-opt %s --slimhlo-stream="target=h100 chunk-bytes=8MiB" | FileCheck %s

// The two sums of pairs (forces of all particles on each other) read a logarithm, which XLA for a GPU stores rather than computing it twice: it is worth a loop, in
// which each sum gets its chunk.
// CHECK-LABEL: func.func @forces
// CHECK: stablehlo.while
// CHECK: %[[L:.*]] = stablehlo.log %{{.*}} : tensor<6000x[[N:[0-9]+]]xf32>
// CHECK-DAG: stablehlo.reduce(%{{.*}} init: %{{.*}}) applies stablehlo.add across dimensions = [0] : (tensor<6000x[[N]]xf32>, tensor<f32>) -> tensor<[[N]]xf32>
// CHECK-DAG: stablehlo.reduce(%{{.*}} init: %{{.*}}) applies stablehlo.add across dimensions = [1] : (tensor<6000x[[N]]xf32>, tensor<f32>) -> tensor<6000xf32>
func.func @forces(%x: tensor<6000xf32>) -> tensor<6000xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<6000xf32>) -> tensor<6000x6000xf32>
  %c = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<6000xf32>) -> tensor<6000x6000xf32>
  %d = stablehlo.subtract %r, %c : tensor<6000x6000xf32>
  %q = stablehlo.multiply %d, %d : tensor<6000x6000xf32>
  %l = stablehlo.log %q : tensor<6000x6000xf32>
  %n = stablehlo.negate %l : tensor<6000x6000xf32>
  %rows = stablehlo.reduce(%l init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<6000x6000xf32>, tensor<f32>) -> tensor<6000xf32>
  %columns = stablehlo.reduce(%n init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<6000x6000xf32>, tensor<f32>) -> tensor<6000xf32>
  %f = stablehlo.add %rows, %columns : tensor<6000xf32>
  return %f : tensor<6000xf32>
}

// A square is computed for each: nothing is stored, and nothing is done.
// CHECK-LABEL: func.func @cheap
// CHECK-NOT: stablehlo.while
func.func @cheap(%x: tensor<6000xf32>) -> tensor<6000xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<6000xf32>) -> tensor<6000x6000xf32>
  %c = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<6000xf32>) -> tensor<6000x6000xf32>
  %d = stablehlo.subtract %r, %c : tensor<6000x6000xf32>
  %l = stablehlo.multiply %d, %d : tensor<6000x6000xf32>
  %n = stablehlo.negate %l : tensor<6000x6000xf32>
  %rows = stablehlo.reduce(%l init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<6000x6000xf32>, tensor<f32>) -> tensor<6000xf32>
  %columns = stablehlo.reduce(%n init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<6000x6000xf32>, tensor<f32>) -> tensor<6000xf32>
  %f = stablehlo.add %rows, %columns : tensor<6000xf32>
  return %f : tensor<6000xf32>
}
