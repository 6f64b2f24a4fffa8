// RUN: slimhlo-opt %s --cse | FileCheck %s

// A call without side effects goes if nobody needs it, and is made once where it was made twice.
// CHECK-LABEL: func @pure
// CHECK-COUNT-1: stablehlo.custom_call @g
// CHECK-NOT: stablehlo.custom_call
func.func @pure(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.custom_call @unused(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.custom_call @g(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = stablehlo.custom_call @g(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %1, %2 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func @side_effect
// CHECK-COUNT-3: stablehlo.custom_call
func.func @side_effect(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.custom_call @unused(%x) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.custom_call @g(%x) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = stablehlo.custom_call @g(%x) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
  return %1, %2 : tensor<4xf32>, tensor<4xf32>
}
