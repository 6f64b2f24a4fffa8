// RUN: slimhlo-opt %s --slimhlo-dus-to-pad --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

// Shardings, frontend attributes and the location move to the pad.
sdy.mesh @mesh = <["x"=2]>

// CHECK-LABEL: func.func @moved
func.func @moved(%x: tensor<4xf32>) -> tensor<10xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<10xf32>
  %at = stablehlo.constant dense<3> : tensor<i32>
  // CHECK: stablehlo.pad
  // CHECK-SAME: mhlo.frontend_attributes = {_who = "user"}
  // CHECK-SAME: sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>
  // CHECK-SAME: loc("update"("model.py":12:3))
  %r = stablehlo.dynamic_update_slice %zeros, %x, %at {mhlo.frontend_attributes = {_who = "user"}, sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : (tensor<10xf32>, tensor<4xf32>, tensor<i32>) -> tensor<10xf32> loc("update"("model.py":12:3))
  return %r : tensor<10xf32>
}

// The result would be the update itself, which has no place for the sharding.
// CHECK-LABEL: func.func @nothing_to_carry_it
func.func @nothing_to_carry_it(%a: tensor<4xf32>, %x: tensor<4xf32>, %at: tensor<i32>) -> tensor<4xf32> {
  // CHECK: stablehlo.dynamic_update_slice
  // CHECK-SAME: mhlo.sharding = "{replicated}"
  %r = stablehlo.dynamic_update_slice %a, %x, %at {mhlo.sharding = "{replicated}"} : (tensor<4xf32>, tensor<4xf32>, tensor<i32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// Updates that disagree about their sharding are not merged.
// CHECK-LABEL: func.func @disagree
func.func @disagree(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<10xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<10xf32>
  %c2 = stablehlo.constant dense<2> : tensor<i32>
  %c4 = stablehlo.constant dense<4> : tensor<i32>
  // CHECK-NOT: concatenate
  // CHECK: stablehlo.pad {{.*}}mhlo.sharding = "{replicated}"
  // CHECK: stablehlo.dynamic_update_slice
  %0 = stablehlo.dynamic_update_slice %zeros, %x, %c2 {mhlo.sharding = "{replicated}"} : (tensor<10xf32>, tensor<2xf32>, tensor<i32>) -> tensor<10xf32>
  %1 = stablehlo.dynamic_update_slice %0, %y, %c4 : (tensor<10xf32>, tensor<2xf32>, tensor<i32>) -> tensor<10xf32>
  return %1 : tensor<10xf32>
}
