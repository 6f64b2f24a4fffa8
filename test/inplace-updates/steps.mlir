// RUN: slimhlo-opt %s --slimhlo-inplace-updates="target=xla-cpu min-bytes=1 chunk-bytes=1KiB" | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-inplace-updates="target=xla-cpu min-bytes=1 chunk-bytes=1KiB" --slimhlo-inplace-updates="target=xla-cpu min-bytes=1 chunk-bytes=1KiB" | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-inplace-updates | FileCheck %s --check-prefix=SMALL

// SMALL-NOT: stablehlo.while

// Two fields that need each other's neighbours: 8 of 32 levels at a time would be 1 KiB, of which there must be 16.
// CHECK-LABEL: func @two_fields
// CHECK: %[[LOOP:.*]]:3 = stablehlo.while(%[[I:[^ ,]*]] = %{{[^ ,]*}}, %[[UI:[^ ,]*]] = %arg0, %[[VI:[^ ,]*]] = %arg1)
// CHECK: do {
// CHECK: %[[SLABS:.*]]:2 = "stablehlo.if"
// CHECK: stablehlo.dynamic_slice %[[UI]], %[[I]], %{{.*}}, sizes = [2, 16]
// CHECK: stablehlo.dynamic_slice %[[VI]], %[[I]], %{{.*}}, sizes = [2, 16]
// CHECK: stablehlo.optimization_barrier
// CHECK: %[[NU:.*]] = stablehlo.subtract %[[SLABS]]#0,
// CHECK: stablehlo.reverse %[[SLABS]]#0, dims = [1] : tensor<2x16xf32>
// CHECK: %[[UN:.*]] = stablehlo.dynamic_update_slice %[[UI]], %[[NU]], %[[I]],
// CHECK: %[[VN:.*]] = stablehlo.dynamic_update_slice %[[VI]], %{{[^ ,]*}}, %[[I]],
// CHECK: stablehlo.return %{{[^ ,]*}}, %[[UN]], %[[VN]]
// CHECK: return %[[LOOP]]#1, %[[LOOP]]#2
func.func @two_fields(%u: tensor<32x16xf32> {tf.aliasing_output = 0 : i32}, %v: tensor<32x16xf32> {tf.aliasing_output = 1 : i32}) -> (tensor<32x16xf32>, tensor<32x16xf32>) {
  %a = stablehlo.reverse %v, dims = [1] : tensor<32x16xf32>
  %nu = stablehlo.subtract %u, %a : tensor<32x16xf32>
  %b = stablehlo.reverse %u, dims = [1] : tensor<32x16xf32>
  %nv = stablehlo.add %v, %b : tensor<32x16xf32>
  return %nu, %nv : tensor<32x16xf32>, tensor<32x16xf32>
}

// One field needs no order but that of its own read and write. What is not overwritten is sliced.
// CHECK-LABEL: func @one_field
// CHECK: stablehlo.while
// CHECK: do {
// CHECK-NOT: stablehlo.if
// CHECK: stablehlo.dynamic_slice %{{.*}}, sizes = [2, 16] : (tensor<32x16xf32>
// CHECK: stablehlo.dynamic_update_slice
func.func @one_field(%u: tensor<32x16xf32> {tf.aliasing_output = 0 : i32}, %f: tensor<32x16xf32>) -> tensor<32x16xf32> {
  %a = stablehlo.reverse %u, dims = [1] : tensor<32x16xf32>
  %b = stablehlo.multiply %a, %f : tensor<32x16xf32>
  %nu = stablehlo.subtract %u, %b : tensor<32x16xf32>
  return %nu : tensor<32x16xf32>
}
