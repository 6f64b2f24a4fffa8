// RUN: slimhlo-opt %s --slimhlo-print-memory="target=xla-cpu top=0 plain=true" 2>&1 >/dev/null | FileCheck %s

// Sizes that are not known, tokens, tuples and ops of nobody count as far as they can.
// CHECK: memory: peak {{[0-9]+}} = arguments
func.func @main(%x: tensor<?x4xf32>, %t: !stablehlo.token) -> (tensor<?x4xf32>, !stablehlo.token) {
  %0 = stablehlo.add %x, %x : tensor<?x4xf32>
  %1 = stablehlo.custom_call @foreign(%0) {has_side_effect = true} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %2 = stablehlo.tuple %1, %t : tuple<tensor<?x4xf32>, !stablehlo.token>
  %3 = stablehlo.get_tuple_element %2[0] : (tuple<tensor<?x4xf32>, !stablehlo.token>) -> tensor<?x4xf32>
  return %3, %t : tensor<?x4xf32>, !stablehlo.token
}
