// RUN: slimhlo-opt %s --slimhlo-inplace-updates="min-bytes=1 chunk-bytes=1KiB" | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-inplace-updates="min-bytes=1 chunk-bytes=1KiB" --slimhlo-inplace-updates="min-bytes=1 chunk-bytes=1KiB" | FileCheck %s
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

// Each is computed of the other in the same place, and no slab would have to be stored on the way: the barrier keeps both as
// they were until both are read. One of the two is carried by a loop, and comes from an argument that stays as it is.
// CHECK-LABEL: func @swapped
// CHECK: stablehlo.while
// CHECK: stablehlo.while(%[[J:[^ ,]*]] = %{{[^ ,]*}}, %[[X:[^ ,]*]] = %{{[^ ,]*}}, %[[Y:[^ ,]*]] = %{{[^ ,]*}})
// CHECK: %[[BOTH:.*]]:2 = "stablehlo.if"
// CHECK: %[[XS:.*]] = stablehlo.dynamic_slice %[[X]], %[[J]],
// CHECK: %[[YS:.*]] = stablehlo.dynamic_slice %[[Y]], %[[J]],
// CHECK: stablehlo.optimization_barrier %[[XS]], %[[YS]]
// CHECK: %[[D:.*]] = stablehlo.subtract %[[BOTH]]#0, %[[BOTH]]#1
// CHECK: %[[E:.*]] = stablehlo.subtract %[[BOTH]]#1, %[[BOTH]]#0
// CHECK: stablehlo.dynamic_update_slice %[[X]], %[[D]], %[[J]],
// CHECK: stablehlo.dynamic_update_slice %[[Y]], %[[E]], %[[J]],
func.func @swapped(%u: tensor<32x16xf64> {tf.aliasing_output = 0 : i32}, %v: tensor<32x16xf64>) -> (tensor<32x16xf64>, tensor<32x16xf64>) {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %0:3 = stablehlo.while(%i = %zero, %x = %u, %y = %v) : tensor<i64>, tensor<32x16xf64>, tensor<32x16xf64>
  cond {
    %more = stablehlo.compare LT, %i, %one, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %d = stablehlo.subtract %x, %y : tensor<32x16xf64>
    %e = stablehlo.subtract %y, %x : tensor<32x16xf64>
    %next = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %next, %d, %e : tensor<i64>, tensor<32x16xf64>, tensor<32x16xf64>
  }
  return %0#1, %0#2 : tensor<32x16xf64>, tensor<32x16xf64>
}
