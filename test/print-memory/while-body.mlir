// RUN: slimhlo-opt %s --slimhlo-print-memory="target=xla-cpu top=0 plain=true" 2>&1 >/dev/null | FileCheck %s

// A body that needs its state after the next one is known keeps both: the product, 4 MiB.
// CHECK: temporaries 4194308{{$}}
func.func @main(%x: tensor<1024x1024xf32>, %w: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<1024x1024xf32>
  cond {
    %ten = stablehlo.constant dense<10> : tensor<i32>
    %c = stablehlo.compare LT, %i, %ten : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %p = stablehlo.dot_general %y, %w, contracting_dims = [1] x [0] : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %z = stablehlo.add %y, %p : tensor<1024x1024xf32>
    stablehlo.return %j, %z : tensor<i32>, tensor<1024x1024xf32>
  }
  return %0#1 : tensor<1024x1024xf32>
}
