// RUN: slimhlo-opt %s --slimhlo-print-memory="target=xla-cpu top=0 plain=true" 2>&1 >/dev/null | FileCheck %s

// The second update reads what the first has overwritten: a copy is needed, and the slice.
// CHECK: temporaries 4227072{{$}}
func.func @main(%x: tensor<1024x1024xf32> {tf.aliasing_output = 0 : i32}) -> tensor<1024x1024xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %last = stablehlo.constant dense<1016> : tensor<i32>
  %0 = stablehlo.slice %x [0:1024, 1008:1016] : (tensor<1024x1024xf32>) -> tensor<1024x8xf32>
  %1 = stablehlo.dynamic_update_slice %x, %0, %zero, %zero : (tensor<1024x1024xf32>, tensor<1024x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1024x1024xf32>
  %2 = stablehlo.slice %x [0:1024, 8:16] : (tensor<1024x1024xf32>) -> tensor<1024x8xf32>
  %3 = stablehlo.dynamic_update_slice %1, %2, %zero, %last : (tensor<1024x1024xf32>, tensor<1024x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1024x1024xf32>
  return %3 : tensor<1024x1024xf32>
}
