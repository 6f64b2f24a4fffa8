// RUN: slimhlo-opt %s --slimhlo-print-memory="target=xla-cpu top=0 plain=true" 2>&1 >/dev/null | FileCheck %s

// Tokens, tuples and ops of nobody count as far as they can.
// CHECK: memory: peak {{[0-9]+}} = arguments
func.func @main(%x: tensor<8x4xf32>, %t: !stablehlo.token) -> (tensor<8x4xf32>, !stablehlo.token) {
  %0 = stablehlo.add %x, %x : tensor<8x4xf32>
  %1 = stablehlo.custom_call @foreign(%0) {has_side_effect = true} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = stablehlo.tuple %1, %t : tuple<tensor<8x4xf32>, !stablehlo.token>
  %3 = stablehlo.get_tuple_element %2[0] : (tuple<tensor<8x4xf32>, !stablehlo.token>) -> tensor<8x4xf32>
  return %3, %t : tensor<8x4xf32>, !stablehlo.token
}
