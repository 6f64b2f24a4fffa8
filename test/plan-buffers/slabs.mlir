// RUN: slimhlo-opt %s --split-input-file --slimhlo-to-kernels | FileCheck %s

// Steps of donated fields run a slab at a time, in slabs of the size whose bytes times seconds are least.

// A row is 32 MiB: slabs of four, of more than the second cache holds, save launches that take longer than their memory is worth.
// CHECK-LABEL: func.func @large_rows
// CHECK: stablehlo.while
// CHECK: slimhlo.turns = 20 : i64
func.func @large_rows(%u: tensor<80x2048x4096xf32> {tf.aliasing_output = 0 : i32}, %v: tensor<80x2048x4096xf32> {tf.aliasing_output = 1 : i32}) -> (tensor<80x2048x4096xf32>, tensor<80x2048x4096xf32>) {
  %a = stablehlo.reverse %v, dims = [1] : tensor<80x2048x4096xf32>
  %nu = stablehlo.subtract %u, %a : tensor<80x2048x4096xf32>
  %b = stablehlo.reverse %u, dims = [1] : tensor<80x2048x4096xf32>
  %nv = stablehlo.add %v, %b : tensor<80x2048x4096xf32>
  return %nu, %nv : tensor<80x2048x4096xf32>, tensor<80x2048x4096xf32>
}

// -----

// Of small fields no slab that is much smaller than the field takes less.
// CHECK-LABEL: func.func @small
// CHECK-NOT: slimhlo.turns
func.func @small(%u: tensor<80x16x16xf32> {tf.aliasing_output = 0 : i32}, %v: tensor<80x16x16xf32> {tf.aliasing_output = 1 : i32}) -> (tensor<80x16x16xf32>, tensor<80x16x16xf32>) {
  %a = stablehlo.reverse %v, dims = [1] : tensor<80x16x16xf32>
  %nu = stablehlo.subtract %u, %a : tensor<80x16x16xf32>
  %b = stablehlo.reverse %u, dims = [1] : tensor<80x16x16xf32>
  %nv = stablehlo.add %v, %b : tensor<80x16x16xf32>
  return %nu, %nv : tensor<80x16x16xf32>, tensor<80x16x16xf32>
}
