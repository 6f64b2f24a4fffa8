// The gradient of what was concatenated is taken apart: a third is read at once, the others wait behind a barrier. They wait by themselves.
// RUN: slimhlo-opt %s --slimhlo-early-slices | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: %[[D:.*]] = stablehlo.dot_general
// CHECK: stablehlo.slice %[[D]] [0:8, 8:12]
// CHECK: %[[E:.*]] = stablehlo.slice %[[D]] [0:8, 0:4]
// CHECK-NEXT: %[[S:.*]] = stablehlo.slice %[[D]] [0:8, 4:8]
// CHECK-NEXT: %[[LATER:.*]]:3 = stablehlo.optimization_barrier %arg0, %[[E]], %[[S]]
// CHECK-NOT: stablehlo.slice
// CHECK: stablehlo.sine %[[LATER]]#2
// CHECK: stablehlo.cosine %[[LATER]]#1
// CHECK: stablehlo.tanh %[[LATER]]#1
// CHECK: return
func.func @main(%dy: tensor<8x4xf32>, %w: tensor<4x12xf32>)
    -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) {
  %d = stablehlo.dot_general %dy, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x12xf32>) -> tensor<8x12xf32>
  %r = stablehlo.slice %d [0:8, 8:12] : (tensor<8x12xf32>) -> tensor<8x4xf32>
  %later:2 = stablehlo.optimization_barrier %dy, %d : tensor<8x4xf32>, tensor<8x12xf32>
  %s0 = stablehlo.slice %later#1 [0:8, 4:8] : (tensor<8x12xf32>) -> tensor<8x4xf32>
  %s = stablehlo.sine %s0 : tensor<8x4xf32>
  %e0 = stablehlo.slice %later#1 [0:8, 0:4] : (tensor<8x12xf32>) -> tensor<8x4xf32>
  %e = stablehlo.cosine %e0 : tensor<8x4xf32>
  %f0 = stablehlo.slice %later#1 [0:8, 0:4] : (tensor<8x12xf32>) -> tensor<8x4xf32>
  %f = stablehlo.tanh %f0 : tensor<8x4xf32>
  return %r, %later#0, %s, %e, %f : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
}
