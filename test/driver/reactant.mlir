// What Reactant puts beside @main, and its attributes: read, kept, and no hindrance.

// RUN: slimhlo-opt %s --slimhlo-optimize | FileCheck %s
// RUN: slimhlo-opt %s --emit-bytecode -o %t.mlirbc
// RUN: slimhlo-opt %t.mlirbc --slimhlo-optimize | FileCheck %s

// CHECK: module @reactant_step attributes {enzymexla.note = "x", mhlo.num_partitions = 4 : i64, mhlo.num_replicas = 1 : i64}
module @reactant_step attributes {mhlo.num_partitions = 4 : i64, mhlo.num_replicas = 1 : i64, enzymexla.note = "x"} {
  // CHECK-NEXT: llvm.module_flags [#llvm.mlir.module_flag<error, "wchar_size", 4 : i32>]
  llvm.module_flags [#llvm.mlir.module_flag<error, "wchar_size", 4 : i32>]
  // CHECK-NEXT: llvm.mlir.global external @table(0 : i64)
  llvm.mlir.global external @table(0 : i64) {addr_space = 0 : i32, alignment = 8 : i64} : i64
  // CHECK-NEXT: llvm.func @callback(%{{.*}}: !llvm.ptr, %{{.*}}: i64) -> i64 attributes {enzymexla.memory_effects = ["read"]}
  llvm.func @callback(%a: !llvm.ptr, %b: i64) -> i64 attributes {enzymexla.memory_effects = ["read"]} {
    %0 = llvm.mlir.addressof @table : !llvm.ptr
    %1 = llvm.load %0 : !llvm.ptr -> i64
    llvm.return %1 : i64
  }
  // CHECK: llvm.func @malloc(i64) -> !llvm.ptr
  llvm.func @malloc(i64) -> !llvm.ptr
  // CHECK: func.func @main(%[[A:.*]]: tensor<16x16xf64> {enzymexla.memory_effects = ["read", "write"], tf.aliasing_output = 0 : i32}) -> tensor<16x16xf64> attributes {enzymexla.memory_effects = ["read"]}
  func.func @main(%a: tensor<16x16xf64> {enzymexla.memory_effects = ["read", "write"], tf.aliasing_output = 0 : i32}) -> tensor<16x16xf64> attributes {enzymexla.memory_effects = ["read"]} {
    %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<16x16xf64>) -> tensor<16x16xf64>
    %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<16x16xf64>) -> tensor<16x16xf64>
    // CHECK-NEXT: %[[S:.*]] = stablehlo.add %[[A]], %[[A]] {enzymexla.guaranteed_symmetric = true}
    %2 = stablehlo.add %1, %1 {enzymexla.guaranteed_symmetric = true} : tensor<16x16xf64>
    // CHECK-NEXT: return %[[S]]
    return %2 : tensor<16x16xf64>
  }
}
