// Between what is StableHLO and what is not artifacts have casts. An op of sdy whose operand has to be sharded is not valid behind one; jaxlib
// writes no such artifact, and reads none.
// UNSUPPORTED: plugin
// RUN: not slimhlo-opt %s --emit-portable-artifact 2>&1 | FileCheck %s
// CHECK: 'sdy.all_gather' op needs an operand with a sharding to start from, but it has none
// CHECK: 'sdy.all_gather' op asks what made its operand, which in a portable artifact is a cast

sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<4xf32> {
  %0 = sdy.all_gather [{"x"}] %a out_sharding=<@mesh, [{}]> : tensor<4xf32>
  return %0 : tensor<4xf32>
}
