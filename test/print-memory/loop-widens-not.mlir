// RUN: slimhlo-opt %s --slimhlo-print-memory="target=xla-cpu top=0 plain=true" 2>&1 >/dev/null | FileCheck %s

// A barrier on something that changes keeps the conversion of the weights in the loop, slice by slice.
// CHECK: temporaries 4198408{{$}}
func.func @main(%w: tensor<8x1024x1024xbf16>, %x: tensor<1024xf32>) -> tensor<1024xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:3 = stablehlo.while(%i = %zero, %y = %x, %v = %w) : tensor<i32>, tensor<1024xf32>, tensor<8x1024x1024xbf16>
  cond {
    %eight = stablehlo.constant dense<8> : tensor<i32>
    %c = stablehlo.compare LT, %i, %eight : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %b:2 = stablehlo.optimization_barrier %v, %i : tensor<8x1024x1024xbf16>, tensor<i32>
    %s = stablehlo.dynamic_slice %b#0, %b#1, %zero, %zero, sizes = [1, 1024, 1024] : (tensor<8x1024x1024xbf16>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x1024x1024xbf16>
    %r = stablehlo.reshape %s : (tensor<1x1024x1024xbf16>) -> tensor<1024x1024xbf16>
    %f = stablehlo.convert %r : (tensor<1024x1024xbf16>) -> tensor<1024x1024xf32>
    %p = stablehlo.dot_general %f, %y, contracting_dims = [1] x [0] : (tensor<1024x1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %p, %v : tensor<i32>, tensor<1024xf32>, tensor<8x1024x1024xbf16>
  }
  return %0#1 : tensor<1024xf32>
}
