// A factor's size has 32 bits, in Shardy's text.
// RUN: not slimhlo-opt %s 2>&1 | FileCheck %s
// CHECK: factor-errors.mlir:[[# @LINE + 3]]:{{.*}}size 2147483648 of factor 'i' is more than 2147483647

func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.custom_call @f(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=2147483648}>} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
