// What artifacts have no form of is named.
// UNSUPPORTED: plugin
// RUN: not slimhlo-opt %s --emit-portable-artifact 2>&1 | FileCheck %s
// CHECK: 'func.func' op has a value of type tensor<8x8xf32, #sparse_tensor.encoding<{{.*}}>>, which StableHLO 1.17.0 lacks
func.func @main(%a: tensor<8x8xf32, #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>>) {
  return
}
