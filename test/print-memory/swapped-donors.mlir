// RUN: slimhlo-opt %s --slimhlo-print-memory="target=xla-cpu top=0 plain=true" 2>&1 >/dev/null | FileCheck %s

// Two donated arrays change places: both results wait until neither is read any more.
// CHECK: temporaries 8388608{{$}}
func.func @main(%x: tensor<1024x1024xf32> {tf.aliasing_output = 1 : i32}, %y: tensor<1024x1024xf32> {tf.aliasing_output = 0 : i32}) -> (tensor<1024x1024xf32>, tensor<1024x1024xf32>) {
  %0 = stablehlo.sine %x : tensor<1024x1024xf32>
  %1 = stablehlo.cosine %y : tensor<1024x1024xf32>
  return %0, %1 : tensor<1024x1024xf32>, tensor<1024x1024xf32>
}
