// Attributes and ops of Reactant's own dialect, which is not known here, go through all forms, and what is around them is optimized.

// RUN: slimhlo-opt %s --allow-unregistered-dialect --slimhlo-optimize | FileCheck %s
// RUN: slimhlo-opt %s --allow-unregistered-dialect --emit-bytecode -o %t.mlirbc
// RUN: slimhlo-opt %t.mlirbc --allow-unregistered-dialect --slimhlo-optimize | FileCheck %s
// Without the flag what to do is said.
// RUN: not slimhlo-opt %s 2>&1 | FileCheck %s --check-prefix=FLAG
// FLAG: error: #"enzymexla"<"guaranteed GUARANTEED"> : 'none' attribute created with unregistered dialect. If this is intended, please call allowUnregisteredDialects() on the MLIRContext, or use -allow-unregistered-dialect

// CHECK: module @reactant_f attributes {mhlo.num_partitions = 1 : i64, mhlo.num_replicas = 1 : i64}
module @reactant_f attributes {mhlo.num_partitions = 1 : i64, mhlo.num_replicas = 1 : i64} {
  // CHECK-NEXT: llvm.module_flags [#llvm.mlir.module_flag<warning, "Dwarf Version", 4 : i32>, #llvm.mlir.module_flag<error, "PIC Level", 2 : i32>]
  llvm.module_flags [#llvm.mlir.module_flag<warning, "Dwarf Version", 4 : i32>, #llvm.mlir.module_flag<error, "PIC Level", 2 : i32>]
  // CHECK-NEXT: llvm.mlir.global private unnamed_addr constant @text("text\00") {addr_space = 0 : i32, dso_local}
  llvm.mlir.global private unnamed_addr constant @text("text\00") {addr_space = 0 : i32, dso_local}
  // CHECK: func.func @main(%[[A:.*]]: tensor<4xf32> {enzymexla.memory_effects = []}, %{{.*}}: tensor<i64>)
  func.func @main(%a: tensor<4xf32> {enzymexla.memory_effects = []}, %i: tensor<i64>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = stablehlo.reverse %a, dims = [0] : tensor<4xf32>
    %1 = stablehlo.reverse %0, dims = [0] : tensor<4xf32>
    // CHECK-NEXT: %[[S:.*]] = stablehlo.sine %[[A]] {enzymexla.finite = [#enzymexla<guaranteed GUARANTEED>]} : tensor<4xf32>
    %2 = stablehlo.sine %1 {enzymexla.finite = [#enzymexla<guaranteed GUARANTEED>]} : tensor<4xf32>
    // CHECK-NEXT: %[[K:.*]] = "enzymexla.kernel_call"(%[[A]]) <{fn = @kernel}> : (tensor<4xf32>) -> tensor<4xf32>
    %3 = "enzymexla.kernel_call"(%a) <{fn = @kernel}> : (tensor<4xf32>) -> tensor<4xf32>
    // CHECK-NEXT: return %[[S]], %[[K]]
    return %2, %3 : tensor<4xf32>, tensor<4xf32>
  }
}
