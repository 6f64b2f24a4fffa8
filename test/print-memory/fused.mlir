// RUN: slimhlo-opt %s --slimhlo-print-memory="target=xla-cpu top=0 plain=true" 2>&1 >/dev/null | FileCheck %s

// Arithmetic on the way to the result is computed on the fly.
// CHECK: memory: peak 8388608 = arguments 4194304 + results 4194304 - aliased 0 + temporaries 0
func.func @main(%x: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %0 = stablehlo.sine %x : tensor<1024x1024xf32>
  %1 = stablehlo.add %0, %x : tensor<1024x1024xf32>
  %2 = stablehlo.cosine %1 : tensor<1024x1024xf32>
  return %2 : tensor<1024x1024xf32>
}
