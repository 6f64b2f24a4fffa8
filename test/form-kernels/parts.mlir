// RUN: slimhlo-opt %s --slimhlo-form-kernels --split-input-file | FileCheck %s

// A product of 128 tiles, which are fewer than an H100's multiprocessors, is cut into three parts of what is contracted: their sums are
// in scratch memory.

// CHECK: func.func private @dot_general_0
// CHECK-SAME: slimhlo.scratch = array<i64: 1572864>
func.func @main(%x: tensor<256x2048xf32>, %y: tensor<2048x512xf32>) -> tensor<256x512xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<256x2048xf32>, tensor<2048x512xf32>) -> tensor<256x512xf32>
  return %0 : tensor<256x512xf32>
}

// -----

// With twice as many tiles none waits for another, and sums of parts would take half of what is read.

// CHECK: func.func private @dot_general_0
// CHECK-NOT: slimhlo.scratch
func.func @main(%x: tensor<512x2048xf32>, %y: tensor<2048x512xf32>) -> tensor<512x512xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<512x2048xf32>, tensor<2048x512xf32>) -> tensor<512x512xf32>
  return %0 : tensor<512x512xf32>
}

// -----

// There is too little to read for more blocks.

// CHECK: func.func private @dot_general_0
// CHECK-NOT: slimhlo.scratch
func.func @main(%x: tensor<256x512xf32>, %y: tensor<512x512xf32>) -> tensor<256x512xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<256x512xf32>, tensor<512x512xf32>) -> tensor<256x512xf32>
  return %0 : tensor<256x512xf32>
}
