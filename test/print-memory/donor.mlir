// RUN: slimhlo-opt %s --slimhlo-print-memory="target=xla-cpu top=0 plain=true" 2>&1 >/dev/null | FileCheck %s

// A donor goes to the result of its size.
// CHECK: memory: peak 4194308 = arguments 4194304 + results 4194308 - aliased 4194304 + temporaries 0
func.func @main(%x: tensor<1024x1024xf32> {jax.buffer_donor = true}) -> (tensor<f32>, tensor<1024x1024xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.sine %x : tensor<1024x1024xf32>
  return %zero, %0 : tensor<f32>, tensor<1024x1024xf32>
}
