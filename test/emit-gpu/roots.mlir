// RUN: slimhlo-opt %s --slimhlo-emit-gpu --split-input-file | FileCheck %s

// Sorts of short lines: chunks in registers, then merges in the memory of a block, the last of which writes the result.
// CHECK-LABEL: gpu.func @sort(
// CHECK: memref.store
// CHECK: gpu.barrier
// CHECK: scf.while
// CHECK: gpu.barrier
// CHECK: scf.while
// CHECK: gpu.return
// CHECK-NOT: gpu.func @sort.1
func.func private @sort(%x: tensor<3x16xi32>) -> tensor<3x16xi32> attributes {slimhlo.kernel = "sort"} {
  %r = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<3x16xi32>) -> tensor<3x16xi32>
  return %r : tensor<3x16xi32>
}

// -----

// Products of matrices: tiles in workgroup memory in blocks of 256 threads, small squares in others. What the next turn computes is loaded, if there
// is a next one, before what is there is computed, if there is something, and then stored.
// CHECK-LABEL: gpu.func @dot(
// CHECK-SAME: workgroup(%{{[a-z0-9]+}} : memref<1088xf32, #gpu.address_space<workgroup>>, %{{[a-z0-9]+}} : memref<1088xf32, #gpu.address_space<workgroup>>)
// CHECK-SAME: known_grid_size = array<i32: 1024, 1, 1>
// CHECK: scf.if
// CHECK: scf.for
// CHECK: scf.for
// CHECK: scf.if
// CHECK: llvm.load
// CHECK: } else {
// CHECK: scf.if
// CHECK-NOT: memref.store
// CHECK: memref.load
// CHECK: fastmath<contract>
// CHECK: gpu.barrier
// CHECK: } else {
// CHECK: scf.if
// CHECK: memref.store
// CHECK: gpu.barrier
// CHECK: } else {
// CHECK-NOT: gpu.barrier
// CHECK: gpu.return
func.func private @dot(%x: tensor<2048x64xbf16>, %y: tensor<64x2048xbf16>) -> tensor<2048x2048xbf16> attributes {slimhlo.kernel = "dot"} {
  %r = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2048x64xbf16>, tensor<64x2048xbf16>) -> tensor<2048x2048xbf16>
  return %r : tensor<2048x2048xbf16>
}

// -----

// Few results: small tiles, which are more. Four groups of threads have a quarter each of what is contracted, and their sums are added up in
// workgroup memory.
// CHECK-LABEL: gpu.func @small(
// CHECK-SAME: workgroup(%[[LEFT:[a-z0-9]+]] : memref<2304xf32, #gpu.address_space<workgroup>>, %[[RIGHT:[a-z0-9]+]] : memref<2304xf32, #gpu.address_space<workgroup>>)
// CHECK-SAME: known_grid_size = array<i32: 16, 1, 1>
// CHECK: fastmath<contract>
// CHECK: memref.store {{.*}}, %[[LEFT]]
// CHECK: } else {
// CHECK: memref.store {{.*}}, %[[RIGHT]]
// CHECK: gpu.barrier
// CHECK-COUNT-2: memref.load %[[LEFT]]
// CHECK: memref.load %[[RIGHT]]
// CHECK: memref.load %[[RIGHT]]
// CHECK: arith.addf
// CHECK: gpu.barrier
// CHECK: llvm.store
// CHECK-NOT: gpu.func @small.1
func.func private @small(%x: tensor<128x64xf32>, %y: tensor<64x128xf32>) -> tensor<128x128xf32> attributes {slimhlo.kernel = "dot"} {
  %r = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<128x64xf32>, tensor<64x128xf32>) -> tensor<128x128xf32>
  return %r : tensor<128x128xf32>
}

// -----

// A gradient of weights: what is contracted is cut into 69 parts of 4 tiles, whose sums are added up in a second launch: 66 would be enough for two
// blocks per multiprocessor, but of 15 stages each there are some more. What follows is there, too.
// CHECK-LABEL: gpu.func @parts(
// CHECK-SAME: known_grid_size = array<i32: 276, 1, 1>
// CHECK-NOT: math.exp
// CHECK: gpu.return
// CHECK-LABEL: gpu.func @parts.1
// CHECK: math.exp
// CHECK: gpu.return
func.func private @parts(%x: tensor<65536x64xf32>, %y: tensor<65536x64xf32>) -> tensor<64x64xf32> attributes {slimhlo.kernel = "dot", slimhlo.scratch = array<i64: 1130496>} {
  %r = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<65536x64xf32>, tensor<65536x64xf32>) -> tensor<64x64xf32>
  %e = stablehlo.exponential %r : tensor<64x64xf32>
  return %e : tensor<64x64xf32>
}

// -----

// Without scratch memory it stays whole.
// CHECK-LABEL: gpu.func @whole(
// CHECK-SAME: known_grid_size = array<i32: 4, 1, 1>
// CHECK-NOT: gpu.func @whole.1
func.func private @whole(%x: tensor<65536x64xf32>, %y: tensor<65536x64xf32>) -> tensor<64x64xf32> attributes {slimhlo.kernel = "dot"} {
  %r = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<65536x64xf32>, tensor<65536x64xf32>) -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}

// -----

// Few rows: each element of the matrix is read once, for four sums.
// CHECK-LABEL: gpu.func @few(
// CHECK: scf.while
// CHECK: scf.for {{.*}} -> (f32, f32, f32, f32)
// CHECK: gpu.return
// CHECK-LABEL: gpu.func @few.1
func.func private @few(%x: tensor<4x4096xf32>, %y: tensor<4096x4096xf32>) -> tensor<4x4096xf32> attributes {slimhlo.kernel = "dot", slimhlo.scratch = array<i64: 524288>} {
  %r = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<4x4096xf32>, tensor<4096x4096xf32>) -> tensor<4x4096xf32>
  return %r : tensor<4x4096xf32>
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

// Of a long row, by all threads of blocks that each have a chunk: what chunks come to, what comes before each, and the chunks from there.
// CHECK-LABEL: gpu.func @long(
// CHECK-SAME: known_grid_size = array<i32: 512, 1, 1>
// CHECK-LABEL: gpu.func @long.1
// CHECK-SAME: known_grid_size = array<i32: 1, 1, 1>
// CHECK: gpu.shuffle{{.*}}down
// CHECK-LABEL: gpu.func @long.2
// CHECK-SAME: known_grid_size = array<i32: 512, 1, 1>
// CHECK: llvm.load {{.*}}alignment = 16 : i64
// CHECK: gpu.shuffle{{.*}}down
// CHECK: gpu.barrier
func.func private @long(%x: tensor<1048576xf32>) -> tensor<1048576xf32> attributes {slimhlo.kernel = "reduce_window", slimhlo.scratch = array<i64: 2048>} {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 1048576>, padding = dense<[[1048575, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<1048576xf32>, tensor<f32>) -> tensor<1048576xf32>
  return %r : tensor<1048576xf32>
}

// -----

// A transform of 16 elements: factors 8 and 2, in the memory of a block. The first factor needs no roots of unity but those of its own.
// CHECK-LABEL: gpu.func @fft(
// CHECK: gpu.barrier
// CHECK-NOT: math.cos
// CHECK: gpu.barrier
// CHECK: math.cos
// CHECK: gpu.barrier
// CHECK: gpu.return
// CHECK-NOT: gpu.func @fft.1
func.func private @fft(%x: tensor<4x16xcomplex<f32>>) -> tensor<4x16xcomplex<f32>> attributes {slimhlo.kernel = "fft"} {
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

// -----

// Long lines go through scratch memory, a launch for each step: one for chunks of 4, and 12 that double them.
// CHECK-LABEL: gpu.func @long_sort(
// CHECK-LABEL: gpu.func @long_sort.12
// CHECK-NOT: gpu.func @long_sort.13
func.func private @long_sort(%x: tensor<16384xi32>) -> tensor<16384xi32> attributes {slimhlo.kernel = "sort", slimhlo.scratch = array<i64: 65536>} {
  %r = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<16384xi32>) -> tensor<16384xi32>
  return %r : tensor<16384xi32>
}

// -----

// A long line of several elements: places are sorted, and the result is written by them at the end. Nobody needs the sorted keys.
// CHECK-LABEL: gpu.func @places(
// CHECK-LABEL: gpu.func @places.13
// CHECK-NOT: scf.while
// CHECK: gpu.return
// CHECK-NOT: gpu.func @places.14
func.func private @places(%x: tensor<16384xi32>, %y: tensor<16384xf32>) -> tensor<16384xf32> attributes {slimhlo.kernel = "sort", slimhlo.scratch = array<i64: 65536>} {
  %r:2 = "stablehlo.sort"(%x, %y) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %p: tensor<f32>, %q: tensor<f32>):
    %c = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<16384xi32>, tensor<16384xf32>) -> (tensor<16384xi32>, tensor<16384xf32>)
  return %r#1 : tensor<16384xf32>
}

// -----

// What follows a product is done by the thread that has its sum, and written where the slice is.
// CHECK-LABEL: gpu.func @product(
// CHECK: math.tanh
// CHECK: llvm.store
// CHECK: gpu.return
// CHECK-NOT: gpu.func @product.1
func.func private @product(%x: tensor<64x32xf32>, %y: tensor<32x64xf32>, %t: tensor<256x64xf32>, %i: tensor<i32>) -> tensor<256x64xf32> attributes {slimhlo.kernel = "dot", slimhlo.in_place = array<i64: 2>} {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<64x32xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
  %1 = stablehlo.tanh %0 : tensor<64x64xf32>
  %2 = stablehlo.dynamic_update_slice %t, %1, %i, %zero : (tensor<256x64xf32>, tensor<64x64xf32>, tensor<i32>, tensor<i32>) -> tensor<256x64xf32>
  return %2 : tensor<256x64xf32>
}
