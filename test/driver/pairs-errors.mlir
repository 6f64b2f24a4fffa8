// A pair is one complex number; MLIR's parser takes it for elements of other types, too, and then holds less than the type says.
// UNSUPPORTED: plugin
// RUN: not slimhlo-opt %s 2>&1 | FileCheck %s
// CHECK: pairs-errors.mlir:7:32: error: elements of tensor<1000000xf32> are not complex, and so are no pairs

func.func @main() -> tensor<1000000xf32> {
  %0 = stablehlo.constant dense<(1.0, 2.0)> : tensor<1000000xf32>
  return %0 : tensor<1000000xf32>
}
