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

// -----

// Many updates of a small target: into a block's copies, and from those one update for each element that was changed.
// CHECK-LABEL: gpu.func @histogram
// CHECK-SAME: workgroup({{.*}} : memref<320xi32, #gpu.address_space<workgroup>>)
// CHECK: memref.store
// CHECK: gpu.barrier
// CHECK: llvm.inttoptr {{.*}} : i64 to !llvm.ptr<3>
// CHECK: llvm.atomicrmw add {{.*}} syncscope("block") monotonic : !llvm.ptr<3>, i32
// CHECK: gpu.barrier
// CHECK: memref.load
// CHECK: arith.cmpi ne
// CHECK: llvm.atomicrmw add {{.*}} syncscope("device") monotonic {{.*}}!llvm.ptr<1>
// CHECK: gpu.return
func.func private @histogram(%x: tensor<10xi32>, %i: tensor<100000x1xi32>, %u: tensor<100000xi32>) -> tensor<10xi32> attributes {slimhlo.kernel = "scatter", slimhlo.in_place = array<i64: 0>} {
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<10xi32>, tensor<100000x1xi32>, tensor<100000xi32>) -> tensor<10xi32>
  return %r : tensor<10xi32>
}

// -----

// Sums of narrow floats are kept in f32 until the end. Rows are in different places: one copy. In order, there are none.
// CHECK-LABEL: gpu.func @rows
// CHECK-SAME: memref<2048xf32, #gpu.address_space<workgroup>>
// CHECK: llvm.atomicrmw fadd {{.*}} !llvm.ptr<3>, f32
// CHECK: arith.truncf {{.*}} : f32 to bf16
// CHECK: llvm.atomicrmw fadd {{.*}} !llvm.ptr<1>, bf16
// CHECK: gpu.return
// ORDER-LABEL: gpu.func @rows
// ORDER-NOT: workgroup
// ORDER-NOT: llvm.atomicrmw
// ORDER: gpu.return
func.func private @rows(%x: tensor<16x128xbf16>, %i: tensor<5000x1xi32>, %u: tensor<5000x128xbf16>) -> tensor<16x128xbf16> attributes {slimhlo.kernel = "scatter", slimhlo.in_place = array<i64: 0>} {
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
    %s = stablehlo.add %a, %b : tensor<bf16>
    stablehlo.return %s : tensor<bf16>
  }) : (tensor<16x128xbf16>, tensor<5000x1xi32>, tensor<5000x128xbf16>) -> tensor<16x128xbf16>
  return %r : tensor<16x128xbf16>
}

// -----

// The largest floats are found among integers of the same order; those need no loop of swaps in the copies.
// CHECK-LABEL: gpu.func @largest
// CHECK: arith.cmpf uno
// CHECK: arith.select
// CHECK: llvm.atomicrmw umax {{.*}} !llvm.ptr<3>, i32
// CHECK: arith.maximumf
// CHECK: llvm.cmpxchg {{.*}} !llvm.ptr<1>
// CHECK: gpu.return
func.func private @largest(%x: tensor<10xf32>, %i: tensor<100000x1xi32>, %u: tensor<100000xf32>) -> tensor<10xf32> attributes {slimhlo.kernel = "scatter", slimhlo.in_place = array<i64: 0>} {
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<10xf32>, tensor<100000x1xi32>, tensor<100000xf32>) -> tensor<10xf32>
  return %r : tensor<10xf32>
}

// -----

// Not a target that workgroup memory has no room for,
// CHECK-LABEL: gpu.func @large
// CHECK-NOT: workgroup
// CHECK: gpu.return
func.func private @large(%x: tensor<10000xi32>, %i: tensor<1000000x1xi32>, %u: tensor<1000000xi32>) -> tensor<10000xi32> attributes {slimhlo.kernel = "scatter", slimhlo.in_place = array<i64: 0>} {
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<10000xi32>, tensor<1000000x1xi32>, tensor<1000000xi32>) -> tensor<10000xi32>
  return %r : tensor<10000xi32>
}

// -----

// nor few updates,
// CHECK-LABEL: gpu.func @few
// CHECK-NOT: workgroup
// CHECK: gpu.return
func.func private @few(%x: tensor<1000xi32>, %i: tensor<100000x1xi32>, %u: tensor<100000xi32>) -> tensor<1000xi32> attributes {slimhlo.kernel = "scatter", slimhlo.in_place = array<i64: 0>} {
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<1000xi32>, tensor<100000x1xi32>, tensor<100000xi32>) -> tensor<1000xi32>
  return %r : tensor<1000xi32>
}

// -----

// nor what takes the place of what was there.
// CHECK-LABEL: gpu.func @set
// CHECK-NOT: workgroup
// CHECK: gpu.return
func.func private @set(%x: tensor<10xi32>, %i: tensor<100000x1xi32>, %u: tensor<100000xi32>) -> tensor<10xi32> attributes {slimhlo.kernel = "scatter", slimhlo.in_place = array<i64: 0>} {
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    stablehlo.return %b : tensor<i32>
  }) : (tensor<10xi32>, tensor<100000x1xi32>, tensor<100000xi32>) -> tensor<10xi32>
  return %r : tensor<10xi32>
}

// -----

// Of many updates, a thread takes so many that their indices are loaded 16 bytes at a time; all loads come before functions, and
// what makes up no such run is left to the last block.
// CHECK-LABEL: gpu.func @many
// CHECK: {alignment = 16 : i64} : !llvm.ptr<1> -> i32
// CHECK-NOT: math.sin
// CHECK: {alignment = 16 : i64} : !llvm.ptr<1> -> f32
// CHECK-NOT: math.sin
// CHECK: {alignment = 8 : i64} : !llvm.ptr<1> -> f32
// CHECK-NOT: math.sin
// CHECK: {alignment = 4 : i64} : !llvm.ptr<1> -> f32
// CHECK-NEXT: math.sin
// CHECK-NEXT: math.sin
// CHECK-NEXT: math.sin
// CHECK-NEXT: math.sin
// CHECK: llvm.atomicrmw fadd
// CHECK: llvm.atomicrmw fadd
// CHECK: llvm.atomicrmw fadd
// CHECK: llvm.atomicrmw fadd
// CHECK-NOT: llvm.atomicrmw
// CHECK: scf.for
// CHECK: llvm.atomicrmw fadd
// CHECK-NOT: llvm.atomicrmw
// CHECK: gpu.return
// ORDER-LABEL: gpu.func @many
func.func private @many(%x: tensor<70000xf32>, %i: tensor<2000003x1xi32>, %u: tensor<2000003xf32>) -> tensor<70000xf32> attributes {slimhlo.kernel = "scatter", slimhlo.in_place = array<i64: 0>} {
  %s = stablehlo.sine %u : tensor<2000003xf32>
  %r = "stablehlo.scatter"(%x, %i, %s) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %t = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %t : tensor<f32>
  }) : (tensor<70000xf32>, tensor<2000003x1xi32>, tensor<2000003xf32>) -> tensor<70000xf32>
  return %r : tensor<70000xf32>
}

// -----

// Rows are better next to each other: one element of the window per thread. Of four of them, a block's threads apart, indices and
// updates are loaded before the first one is applied; what is left over comes one by one.
// CHECK-LABEL: gpu.func @windows
// CHECK: scf.while
// CHECK: scf.condition
// CHECK-NOT: llvm.atomicrmw
// CHECK-COUNT-8: llvm.load
// CHECK-NOT: llvm.load
// CHECK-COUNT-4: llvm.atomicrmw fadd
// CHECK: scf.for
// CHECK: llvm.atomicrmw fadd
// CHECK-NOT: llvm.atomicrmw
// CHECK: gpu.return
// ORDER-LABEL: gpu.func @windows
func.func private @windows(%x: tensor<70000x8xf32>, %i: tensor<1000000x1xi32>, %u: tensor<1000000x8xf32>) -> tensor<70000x8xf32> attributes {slimhlo.kernel = "scatter", slimhlo.in_place = array<i64: 0>} {
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %t = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %t : tensor<f32>
  }) : (tensor<70000x8xf32>, tensor<1000000x1xi32>, tensor<1000000x8xf32>) -> tensor<70000x8xf32>
  return %r : tensor<70000x8xf32>
}

// -----

// With fewer of them there would be too few threads.
// CHECK-LABEL: gpu.func @few_windows
// CHECK-NOT: scf.while
// CHECK: llvm.atomicrmw fadd
// CHECK-NOT: llvm.atomicrmw
// CHECK: gpu.return
// ORDER-LABEL: gpu.func @few_windows
func.func private @few_windows(%x: tensor<70000x8xf32>, %i: tensor<100000x1xi32>, %u: tensor<100000x8xf32>) -> tensor<70000x8xf32> attributes {slimhlo.kernel = "scatter", slimhlo.in_place = array<i64: 0>} {
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %t = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %t : tensor<f32>
  }) : (tensor<70000x8xf32>, tensor<100000x1xi32>, tensor<100000x8xf32>) -> tensor<70000x8xf32>
  return %r : tensor<70000x8xf32>
}
