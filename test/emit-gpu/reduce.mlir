// RUN: slimhlo-opt %s --slimhlo-emit-gpu --split-input-file | FileCheck %s

// Rows that are long: a block each, whose threads combine what they have by shuffles, then through workgroup memory.
// CHECK-LABEL: gpu.func @rows
// CHECK-SAME: workgroup(%{{[a-z0-9]+}} : memref<32xi32, #gpu.address_space<workgroup>>)
// CHECK-SAME: known_grid_size = array<i32: 64, 1, 1>
// CHECK: llvm.load
// CHECK: arith.addf
// CHECK: gpu.shuffle{{.*}}down
// CHECK: memref.store
// CHECK: gpu.barrier
// CHECK: memref.load
// CHECK: llvm.store
// CHECK-NOT: llvm.store
// CHECK: gpu.return
// CHECK-NOT: gpu.func @rows.1
func.func private @rows(%x: tensor<64x4096xf32>) -> tensor<64xf32> attributes {slimhlo.kernel = "reduce"} {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x4096xf32>, tensor<f32>) -> tensor<64xf32>
  return %r : tensor<64xf32>
}

// -----

// Columns: eight threads of a block each, which combine what they have by workgroup memory.
// CHECK-LABEL: gpu.func @columns
// CHECK-SAME: workgroup(%{{[a-z0-9]+}} : memref<256xi32, #gpu.address_space<workgroup>>)
// CHECK-SAME: known_grid_size = array<i32: 128, 1, 1>
// CHECK-NOT: gpu.shuffle
// CHECK: gpu.barrier
// CHECK: gpu.return
func.func private @columns(%x: tensor<64x4096xf32>) -> tensor<4096xf32> attributes {slimhlo.kernel = "reduce"} {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %zero) applies stablehlo.maximum across dimensions = [0] : (tensor<64x4096xf32>, tensor<f32>) -> tensor<4096xf32>
  return %r : tensor<4096xf32>
}

// -----

// As many as threads of the device: a thread each, nothing shared.
// CHECK-LABEL: gpu.func @many_columns
// CHECK-NOT: gpu.shuffle
// CHECK-NOT: gpu.barrier
// CHECK: gpu.return
func.func private @many_columns(%x: tensor<64x300000xf32>) -> tensor<300000xf32> attributes {slimhlo.kernel = "reduce"} {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %zero) applies stablehlo.maximum across dimensions = [0] : (tensor<64x300000xf32>, tensor<f32>) -> tensor<300000xf32>
  return %r : tensor<300000xf32>
}

// -----

// One result of many elements: chunks, by way of scratch memory, in two launches. What follows is computed in the second.
// CHECK-LABEL: gpu.func @whole(
// CHECK: llvm.store %{{[a-z0-9]+}}, %{{[a-z0-9]+}} {alignment = 4 : i64} : f32, !llvm.ptr<1>
// CHECK: gpu.return
// CHECK-LABEL: gpu.func @whole.1
// CHECK: math.exp
// CHECK: llvm.store
// CHECK: gpu.return
func.func private @whole(%x: tensor<1000000xf32>) -> tensor<f32> attributes {slimhlo.kernel = "reduce", slimhlo.scratch = array<i64: 488>} {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<1000000xf32>, tensor<f32>) -> tensor<f32>
  %e = stablehlo.exponential %r : tensor<f32>
  return %e : tensor<f32>
}

// -----

// A sum in bf16 is kept in f32.
// CHECK-LABEL: gpu.func @narrow
// CHECK: scf.for
// CHECK: arith.addf %{{[a-z0-9]+}}, %{{[a-z0-9]+}} : f32
// CHECK: gpu.return
func.func private @narrow(%x: tensor<8x4096xbf16>) -> tensor<4096xbf16> attributes {slimhlo.kernel = "reduce"} {
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %r = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x4096xbf16>, tensor<bf16>) -> tensor<4096xbf16>
  return %r : tensor<4096xbf16>
}

// -----

// Aligned rows are read several neighbours at a time,
// CHECK-LABEL: gpu.func @neighbours
// CHECK: llvm.load {{.*}}alignment = 16 : i64
// CHECK: llvm.load {{.*}}alignment = 2 : i64
// CHECK: gpu.return
func.func private @neighbours(%x: tensor<100x4096xbf16>) -> tensor<100xbf16> attributes {slimhlo.kernel = "reduce"} {
  %z = stablehlo.constant dense<0.0> : tensor<bf16>
  %r = stablehlo.reduce(%x init: %z) applies stablehlo.maximum across dimensions = [1] : (tensor<100x4096xbf16>, tensor<bf16>) -> tensor<100xbf16>
  return %r : tensor<100xbf16>
}

// -----

// others one by one.
// CHECK-LABEL: gpu.func @odd
// CHECK-NOT: alignment = 16
// CHECK: gpu.return
func.func private @odd(%x: tensor<100x4097xf32>) -> tensor<100xf32> attributes {slimhlo.kernel = "reduce"} {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %z) applies stablehlo.maximum across dimensions = [1] : (tensor<100x4097xf32>, tensor<f32>) -> tensor<100xf32>
  return %r : tensor<100xf32>
}

// -----

// What several elements need is loaded before functions of the first of them.
// CHECK-LABEL: gpu.func @sines
// CHECK: scf.while
// CHECK: scf.condition
// CHECK-NOT: math.sin
// CHECK: llvm.load
// CHECK: llvm.load
// CHECK: llvm.load
// CHECK: llvm.load
// CHECK: llvm.load
// CHECK: llvm.load
// CHECK: llvm.load
// CHECK: llvm.load
// CHECK-NOT: llvm.load
// CHECK: scf.yield
func.func private @sines(%x: tensor<4096x4096xf32>) -> tensor<4096xf32> attributes {slimhlo.kernel = "reduce"} {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.sine %x : tensor<4096x4096xf32>
  %r = stablehlo.reduce(%s init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4096x4096xf32>, tensor<f32>) -> tensor<4096xf32>
  return %r : tensor<4096xf32>
}
