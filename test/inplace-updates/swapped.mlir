// RUN: slimhlo-opt %s --slimhlo-inplace-updates="target=xla-cpu min-bytes=1 chunk-bytes=1KiB" | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-inplace-updates="target=xla-cpu min-bytes=1 chunk-bytes=1KiB" --slimhlo-inplace-updates="target=xla-cpu min-bytes=1 chunk-bytes=1KiB" | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-inplace-updates="min-bytes=1 chunk-bytes=1KiB" | FileCheck %s --check-prefix=GPU

// Each is computed of the other in the same place, and no slab would have to be stored on the way: the barrier keeps both as
// they were until both are read. One of the two is carried by a loop, and comes from an argument that stays as it is.
// GPUs keep what goes through a barrier apart until kernels are made: no branch, for which they would ask their hosts.
// GPU-LABEL: func @swapped
// GPU-NOT: stablehlo.if
// GPU: %[[XS:.*]] = stablehlo.dynamic_slice
// GPU: %[[YS:.*]] = stablehlo.dynamic_slice
// GPU: %[[BOTH:.*]]:2 = stablehlo.optimization_barrier %[[XS]], %[[YS]]
// GPU: stablehlo.subtract %[[BOTH]]#0, %[[BOTH]]#1
// GPU-NOT: stablehlo.if
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
