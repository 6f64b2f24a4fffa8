// Kernels index arrays element by element, which sparse ones are not stored as.
// RUN: not slimhlo-opt %s --slimhlo-form-kernels 2>&1 | FileCheck %s
// CHECK: cannot be compiled: argument 0: tensor<8x8xf32, #sparse_tensor.encoding<{{.*}}>> is sparse, and kernels are made of dense tensors alone
#csr = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>
func.func @main(%a: tensor<8x8xf32, #csr>, %b: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.negate %b : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
