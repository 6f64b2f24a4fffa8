// RUN: slimhlo-opt %s --slimhlo-print-memory="target=xla-cpu top=0 plain=true" 2>&1 >/dev/null | FileCheck %s

// A reduction takes the arithmetic that feeds it along.
// CHECK: temporaries 0{{$}}
func.func @main(%x: tensor<512x1024xf32>) -> tensor<512xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.exponential %x : tensor<512x1024xf32>
  %1 = stablehlo.multiply %0, %x : tensor<512x1024xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<512x1024xf32>, tensor<f32>) -> tensor<512xf32>
  return %2 : tensor<512xf32>
}
