// RUN: slimhlo-opt %s --slimhlo-emit-gpu --split-input-file | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-emit-gpu=deterministic --split-input-file | FileCheck %s --check-prefix=ORDER

// Sums are memory's own.
// CHECK-LABEL: gpu.func @add
// CHECK: arith.cmpi ule
// CHECK: llvm.atomicrmw fadd
// CHECK: gpu.return
// In order, a thread goes through all updates.
// ORDER-LABEL: gpu.func @add
// ORDER-NOT: llvm.atomicrmw
// ORDER: arith.addf
// ORDER: gpu.return
func.func private @add(%x: tensor<100xf32>, %i: tensor<50x1xi32>, %u: tensor<50xf32>) -> tensor<100xf32> attributes {slimhlo.kernel = "scatter", slimhlo.in_place = array<i64: 0>} {
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<100xf32>, tensor<50x1xi32>, tensor<50xf32>) -> tensor<100xf32>
  return %r : tensor<100xf32>
}

// -----

// What memory has no op for is tried until nobody was faster.
// CHECK-LABEL: gpu.func @multiply
// CHECK: scf.while
// CHECK: arith.mulf
// CHECK: llvm.cmpxchg
// CHECK: gpu.return
func.func private @multiply(%x: tensor<100xf32>, %i: tensor<50x1xi32>, %u: tensor<50xf32>) -> tensor<100xf32> attributes {slimhlo.kernel = "scatter", slimhlo.in_place = array<i64: 0>} {
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.multiply %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<100xf32>, tensor<50x1xi32>, tensor<50xf32>) -> tensor<100xf32>
  return %r : tensor<100xf32>
}

// -----

// Unique indices need no atomics.
// CHECK-LABEL: gpu.func @unique
// CHECK-NOT: llvm.atomicrmw
// CHECK-NOT: llvm.cmpxchg
// CHECK: gpu.return
func.func private @unique(%x: tensor<100xf32>, %i: tensor<50x1xi32>, %u: tensor<50xf32>) -> tensor<100xf32> attributes {slimhlo.kernel = "scatter", slimhlo.in_place = array<i64: 0>} {
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<100xf32>, tensor<50x1xi32>, tensor<50xf32>) -> tensor<100xf32>
  return %r : tensor<100xf32>
}

// -----

// An operand that is not updated in place is copied first.
// CHECK-LABEL: gpu.func @copied(
// CHECK: llvm.load
// CHECK: llvm.store
// CHECK: gpu.return
// CHECK-LABEL: gpu.func @copied.1
// CHECK: llvm.atomicrmw add
// CHECK: gpu.return
func.func private @copied(%x: tensor<100xi32>, %i: tensor<50x1xi32>, %u: tensor<50xi32>) -> tensor<100xi32> attributes {slimhlo.kernel = "scatter"} {
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<100xi32>, tensor<50x1xi32>, tensor<50xi32>) -> tensor<100xi32>
  return %r : tensor<100xi32>
}
