// RUN: slimhlo-opt %s --slimhlo-print-memory="target=xla-cpu top=0 plain=true" 2>&1 >/dev/null | FileCheck %s

// Booleans take a byte, complex numbers two floats.
// CHECK: arguments 9437184 + results 2097152 -
func.func @main(%p: tensor<1024x1024xi1>, %z: tensor<1024x1024xcomplex<f32>>) -> tensor<1024x1024xbf16> {
  %0 = stablehlo.real %z : (tensor<1024x1024xcomplex<f32>>) -> tensor<1024x1024xf32>
  %1 = stablehlo.convert %0 : (tensor<1024x1024xf32>) -> tensor<1024x1024xbf16>
  %2 = stablehlo.select %p, %1, %1 : tensor<1024x1024xi1>, tensor<1024x1024xbf16>
  return %2 : tensor<1024x1024xbf16>
}
