// RUN: slimhlo-opt %s --slimhlo-print-memory="target=xla-cpu top=0 plain=true" 2>&1 >/dev/null | FileCheck %s

// A loop's state is in place, in the result's memory; what it only hands through is the argument itself.
// CHECK: memory: peak 12582916 = arguments 8388608 + results 4194304 - aliased 0 + temporaries 4{{$}}
func.func @main(%x: tensor<1024x1024xf32>, %w: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:3 = stablehlo.while(%i = %zero, %y = %x, %v = %w) : tensor<i32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>
  cond {
    %ten = stablehlo.constant dense<10> : tensor<i32>
    %c = stablehlo.compare LT, %i, %ten : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %z = stablehlo.add %y, %v : tensor<1024x1024xf32>
    stablehlo.return %j, %z, %v : tensor<i32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>
  }
  return %0#1 : tensor<1024x1024xf32>
}
