// RUN: not slimhlo-opt %s --slimhlo-form-kernels 2>&1 | FileCheck %s

// CHECK: error: 'func.func' op cannot be compiled: argument 0: the shape of tensor<?xf32> is known only when it runs
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = stablehlo.sine %x : tensor<?xf32>
  return %0 : tensor<?xf32>
}
