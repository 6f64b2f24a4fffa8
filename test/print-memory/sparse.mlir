// A tensor that is not stored element by element takes as much as nobody knows: no figure is better than a wrong one. In a tuple likewise.
// RUN: slimhlo-opt %s --split-input-file --slimhlo-print-memory 2>&1 | FileCheck %s

#csr = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>
// CHECK: memory: not modelled: how many bytes a tensor<8x8xf32, #sparse_tensor.encoding<{{.*}}>> takes is not known, because it is sparse ({{.*}}sparse.mlir:6)
func.func @main(%a: tensor<8x8xf32, #csr>, %b: tensor<8x8xf32>) -> tensor<8x8xf32> {
  return %b : tensor<8x8xf32>
}

// -----

#csr = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>
// CHECK: memory: not modelled: how many bytes a tuple<tensor<0x8xf32, #sparse_tensor.encoding<{{.*}}>>, tensor<4xf32>> takes is not known, because it is sparse ({{.*}}sparse.mlir:15)
func.func @main() -> tensor<4xf32> {
  %0 = stablehlo.custom_call @make() : () -> tuple<tensor<0x8xf32, #csr>, tensor<4xf32>>
  %1 = stablehlo.get_tuple_element %0[1] : (tuple<tensor<0x8xf32, #csr>, tensor<4xf32>>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
