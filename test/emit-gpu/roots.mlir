// RUN: slimhlo-opt %s --slimhlo-emit-gpu --split-input-file | FileCheck %s

// Sorts: chunks in registers, then merges, the last of which writes the result.
// CHECK-LABEL: gpu.func @sort(
// CHECK: gpu.return
// CHECK-LABEL: gpu.func @sort.1
// CHECK: scf.while
// CHECK: gpu.return
// CHECK-LABEL: gpu.func @sort.2
// CHECK: gpu.return
// CHECK-NOT: gpu.func @sort.3
func.func private @sort(%x: tensor<3x16xi32>) -> tensor<3x16xi32> attributes {slimhlo.kernel = "sort", slimhlo.scratch = array<i64: 192>} {
  %r = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<3x16xi32>) -> tensor<3x16xi32>
  return %r : tensor<3x16xi32>
}

// -----

// Products of matrices: tiles in workgroup memory in blocks of 256 threads, small squares in others.
// CHECK-LABEL: gpu.func @dot
// CHECK-SAME: workgroup(%{{[a-z0-9]+}} : memref<1088xf32, #gpu.address_space<workgroup>>, %{{[a-z0-9]+}} : memref<1088xf32, #gpu.address_space<workgroup>>)
// CHECK: scf.if
// CHECK: gpu.barrier
// CHECK: fastmath<contract>
// CHECK: gpu.barrier
// CHECK: } else {
// CHECK-NOT: gpu.barrier
// CHECK: gpu.return
func.func private @dot(%x: tensor<128x64xbf16>, %y: tensor<64x128xbf16>) -> tensor<128x128xbf16> attributes {slimhlo.kernel = "dot"} {
  %r = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<128x64xbf16>, tensor<64x128xbf16>) -> tensor<128x128xbf16>
  return %r : tensor<128x128xbf16>
}

// -----

// A cumulative sum is one pass, not a window for each result.
// CHECK-LABEL: gpu.func @cumulative
// CHECK: scf.for
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: gpu.return
func.func private @cumulative(%x: tensor<100x8xf32>) -> tensor<100x8xf32> attributes {slimhlo.kernel = "reduce_window"} {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 100, 1>, padding = dense<[[99, 0], [0, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<100x8xf32>, tensor<f32>) -> tensor<100x8xf32>
  return %r : tensor<100x8xf32>
}

// -----

// A transform of 16 elements: factors 8 and 2, a launch each.
// CHECK-LABEL: gpu.func @fft(
// CHECK: math.cos
// CHECK: gpu.return
// CHECK-LABEL: gpu.func @fft.1
// CHECK: gpu.return
// CHECK-NOT: gpu.func @fft.2
func.func private @fft(%x: tensor<4x16xcomplex<f32>>) -> tensor<4x16xcomplex<f32>> attributes {slimhlo.kernel = "fft", slimhlo.scratch = array<i64: 512>} {
  %r = stablehlo.fft %x, type = FFT, length = [16] : (tensor<4x16xcomplex<f32>>) -> tensor<4x16xcomplex<f32>>
  return %r : tensor<4x16xcomplex<f32>>
}

// -----

// CHECK-LABEL: gpu.func @cholesky
// CHECK: math.sqrt
// CHECK: gpu.barrier
// CHECK: gpu.return
func.func private @cholesky(%x: tensor<2x8x8xf32>) -> tensor<2x8x8xf32> attributes {slimhlo.kernel = "cholesky"} {
  %r = stablehlo.cholesky %x, lower = true : tensor<2x8x8xf32>
  return %r : tensor<2x8x8xf32>
}

// -----

// Ten rounds, each of two wide products; four elements of a block.
// CHECK-LABEL: gpu.func @random
// CHECK-COUNT-20: arith.muli %{{[a-z0-9]+}}, %{{[a-z0-9_]+}} : i64
// CHECK: gpu.return
func.func private @random(%x: tensor<2xui64>) -> (tensor<2xui64>, tensor<64xui32>) attributes {slimhlo.kernel = "rng"} {
  %s, %r = stablehlo.rng_bit_generator %x, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<64xui32>)
  return %s, %r : tensor<2xui64>, tensor<64xui32>
}
