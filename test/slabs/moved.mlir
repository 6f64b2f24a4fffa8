// RUN: slimhlo-opt %s --slimhlo-slabs="target=xla-cpu min-bytes=1 slab-bytes=64" | FileCheck %s

// A leapfrog scheme: what was the field now becomes the one before, slab by slab, too. All rows of both are read before either is overwritten.
// CHECK-LABEL: func @donated
// CHECK-SAME: %[[P:[a-z0-9]*]]: tensor<64x4xf32> {{.*}}, %[[U:[a-z0-9]*]]: tensor<64x4xf32>
// CHECK: %[[LOOP:[^:]*]]:4 = stablehlo.while(%[[I:[^ ]*]] = %{{[^ ,]*}}, %[[NOW:[^ ]*]] = %[[U]], %[[BEFORE:[^ ]*]] = %[[P]], %{{[^ ]*}} = %{{[^ ,]*}})
// CHECK: do {
// CHECK: %[[READ:[^:]*]]:2 = "stablehlo.if"
// CHECK-DAG: stablehlo.dynamic_slice %[[BEFORE]], %[[I]]
// CHECK-DAG: stablehlo.dynamic_slice %[[NOW]], %[[I]]
// CHECK: stablehlo.optimization_barrier
// CHECK-NOT: stablehlo.dynamic_slice
// CHECK: stablehlo.dynamic_update_slice %[[NOW]], %{{[^ ,]*}}, %[[I]]
// CHECK: stablehlo.dynamic_update_slice %[[BEFORE]], %{{[^ ,]*}}, %[[I]]
func.func @donated(%p: tensor<64x4xf32> {tf.aliasing_output = 0 : i32}, %u: tensor<64x4xf32> {tf.aliasing_output = 1 : i32}) -> (tensor<64x4xf32>, tensor<64x4xf32>) {
  %f = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.slice %u [1:64, 0:4] : (tensor<64x4xf32>) -> tensor<63x4xf32>
  %east = stablehlo.pad %a, %f, low = [0, 0], high = [1, 0], interior = [0, 0] : (tensor<63x4xf32>, tensor<f32>) -> tensor<64x4xf32>
  %after = stablehlo.subtract %east, %p : tensor<64x4xf32>
  return %u, %after : tensor<64x4xf32>, tensor<64x4xf32>
}

// Nothing reads the field before: there is nothing to hold of it.
// CHECK-LABEL: func @unread
// CHECK-SAME: %[[P:[a-z0-9]*]]: tensor<64x4xf32> {{.*}}, %[[U:[a-z0-9]*]]: tensor<64x4xf32>
// CHECK: stablehlo.while(%{{[^ ]*}} = %{{[^ ,]*}}, %[[NOW:[^ ]*]] = %[[U]], %[[BEFORE:[^ ]*]] = %[[P]], %{{[^ ]*}} = %{{[^ ,]*}})
// CHECK: do {
// CHECK-NOT: stablehlo.dynamic_slice %[[BEFORE]]
// CHECK: stablehlo.dynamic_update_slice %[[BEFORE]]
func.func @unread(%p: tensor<64x4xf32> {tf.aliasing_output = 0 : i32}, %u: tensor<64x4xf32> {tf.aliasing_output = 1 : i32}) -> (tensor<64x4xf32>, tensor<64x4xf32>) {
  %f = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.slice %u [1:64, 0:4] : (tensor<64x4xf32>) -> tensor<63x4xf32>
  %east = stablehlo.pad %a, %f, low = [0, 0], high = [1, 0], interior = [0, 0] : (tensor<63x4xf32>, tensor<f32>) -> tensor<64x4xf32>
  return %u, %east : tensor<64x4xf32>, tensor<64x4xf32>
}

// Both fields are only exchanged, or one is given back twice: nothing is computed of neighbours.
// CHECK-LABEL: func @exchanged
// CHECK-NEXT: return %{{.*}}1, %{{.*}}0
func.func @exchanged(%p: tensor<64x4xf32> {tf.aliasing_output = 0 : i32}, %u: tensor<64x4xf32> {tf.aliasing_output = 1 : i32}) -> (tensor<64x4xf32>, tensor<64x4xf32>) {
  return %u, %p : tensor<64x4xf32>, tensor<64x4xf32>
}

// CHECK-LABEL: func @twice
// CHECK-NEXT: return
func.func @twice(%p: tensor<64x4xf32> {tf.aliasing_output = 0 : i32}, %u: tensor<64x4xf32>) -> (tensor<64x4xf32>, tensor<64x4xf32>) {
  return %u, %u : tensor<64x4xf32>, tensor<64x4xf32>
}
