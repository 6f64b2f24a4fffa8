// RUN: slimhlo-opt %s --slimhlo-emit-gpu --split-input-file --verify-diagnostics | FileCheck %s

// Only the elements of the update are met, and stored where its clamped start says.
// CHECK-LABEL: gpu.func @update
// CHECK-SAME: (%[[X:[a-z0-9]+]]: !llvm.ptr<1> {llvm.align = 16 : i64}, %[[U:[a-z0-9]+]]: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias}, %[[I:[a-z0-9]+]]: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias}, %[[R:[a-z0-9]+]]: !llvm.ptr<1> {llvm.align = 16 : i64})
// CHECK: llvm.load %[[I]]
// CHECK: arith.minsi
// CHECK: scf.for %{{[a-z0-9]+}} = %{{[0-9]+}} to %c4_i32
// CHECK: llvm.getelementptr %[[U]]
// CHECK: llvm.getelementptr %[[R]]
// CHECK: llvm.store
// CHECK-NOT: llvm.store
// CHECK: gpu.return
func.func private @update(%x: tensor<100xf32>, %u: tensor<4xf32>, %i: tensor<i32>) -> tensor<100xf32> attributes {slimhlo.kernel = "update", slimhlo.in_place = array<i64: 0>} {
  %r = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<100xf32>, tensor<4xf32>, tensor<i32>) -> tensor<100xf32>
  return %r : tensor<100xf32>
}

// -----

func.func private @elsewhere(%x: tensor<100xf32>, %u: tensor<4xf32>, %i: tensor<i32>) -> tensor<100xf32> attributes {slimhlo.kernel = "update"} {
  // expected-error @+1 {{is not in place}}
  %r = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<100xf32>, tensor<4xf32>, tensor<i32>) -> tensor<100xf32>
  return %r : tensor<100xf32>
}
