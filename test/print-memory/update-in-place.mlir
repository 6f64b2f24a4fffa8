// RUN: slimhlo-opt %s --slimhlo-print-memory="target=xla-cpu top=0 plain=true" 2>&1 >/dev/null | FileCheck %s

// A donated array is updated in place.
// CHECK: memory: peak 4194820 = arguments 4194820 + results 4194304 - aliased 4194304 + temporaries 0
func.func @main(%x: tensor<1024x1024xf32> {tf.aliasing_output = 0 : i32}, %u: tensor<8x16xf32>, %i: tensor<i32>) -> tensor<1024x1024xf32> {
  %0 = stablehlo.dynamic_update_slice %x, %u, %i, %i : (tensor<1024x1024xf32>, tensor<8x16xf32>, tensor<i32>, tensor<i32>) -> tensor<1024x1024xf32>
  return %0 : tensor<1024x1024xf32>
}
