// RUN: slimhlo-opt %s --slimhlo-emit-gpu | FileCheck %s

// Neighbouring elements that make up 16 bytes, loads of what is not written as invariant ones; all are computed, then all stored.
// CHECK: gpu.module @kernels
// CHECK-LABEL: gpu.func @add
// CHECK-SAME: %[[X:[a-z0-9]+]]: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias}
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>, known_grid_size = array<i32: 977, 1, 1>
// CHECK: gpu.block_id
// CHECK: scf.for
// CHECK: llvm.load %{{[0-9]+}} invariant {alignment = 16 : i64} : !llvm.ptr<1> -> f32
// CHECK: llvm.load
// CHECK: arith.addf
// CHECK: llvm.store %{{[0-9]+}}, %{{[0-9]+}} {alignment = 16 : i64}
// CHECK-NEXT: llvm.getelementptr %{{[0-9]+}}[1]
// CHECK-NEXT: llvm.store %{{[0-9]+}}, %{{[0-9]+}} {alignment = 4 : i64}
// CHECK: gpu.return
func.func private @add(%x: tensor<1000000xf32>, %y: tensor<1000000xf32>) -> tensor<1000000xf32> attributes {slimhlo.kernel = "map"} {
  %r = stablehlo.add %x, %y : tensor<1000000xf32>
  return %r : tensor<1000000xf32>
}

// A buffer that a result shares is not invariant, and aliases.
// CHECK-LABEL: gpu.func @shared
// CHECK-SAME: (%{{[a-z0-9]+}}: !llvm.ptr<1> {llvm.align = 16 : i64}, %{{[a-z0-9]+}}: !llvm.ptr<1> {llvm.align = 16 : i64})
// CHECK-NOT: invariant
// CHECK: llvm.load
// CHECK-NOT: invariant
// CHECK: gpu.return
func.func private @shared(%x: tensor<8xf32>) -> tensor<8xf32> attributes {slimhlo.kernel = "map", slimhlo.may_share = array<i64: 0>} {
  %r = stablehlo.negate %x : tensor<8xf32>
  return %r : tensor<8xf32>
}

// More elements than 32 bits count.
// CHECK-LABEL: gpu.func @large
// CHECK: scf.for %{{[a-z0-9]+}} = %{{[0-9]+}} to %{{[a-z0-9_]+}} step %{{[0-9]+}}{{.*}}: i64
func.func private @large(%x: tensor<8589934592xi8>) -> tensor<8589934592xi8> attributes {slimhlo.kernel = "map"} {
  %r = stablehlo.not %x : tensor<8589934592xi8>
  return %r : tensor<8589934592xi8>
}

// Nothing to do.
// CHECK-LABEL: gpu.func @empty
// CHECK-NEXT: gpu.return
func.func private @empty(%x: tensor<0x4xf32>) -> tensor<0x4xf32> attributes {slimhlo.kernel = "map"} {
  %r = stablehlo.negate %x : tensor<0x4xf32>
  return %r : tensor<0x4xf32>
}

// What is met again by another way is not computed again.
// CHECK-LABEL: gpu.func @diamond
// CHECK-COUNT-1: math.exp
// CHECK-NOT: math.exp
// CHECK: gpu.return
func.func private @diamond(%x: tensor<f32>) -> tensor<f32> attributes {slimhlo.kernel = "map"} {
  %a = stablehlo.exponential %x : tensor<f32>
  %b = stablehlo.add %a, %a : tensor<f32>
  %c = stablehlo.multiply %a, %b : tensor<f32>
  return %c : tensor<f32>
}
