// Slices of what is joined are made of the parts that they take: the whole of it is never there. XLA for an H100 (`referee.py --target h100`): 4.00 MiB,
// 18.4 us, 7 kernels.
// RUN: slimhlo-opt %s --slimhlo-print-memory="target=h100 plain=true top=0 by-priority=true" -o /dev/null 2>&1 | FileCheck %s
// CHECK: temporaries 4198392{{$}}
// CHECK: time 18.4 us, 7 launches
func.func public @main(%x: tensor<1024x1024xf32>, %y: tensor<1024x1024xf32>, %w: tensor<1024x1024xf32>) -> (tensor<1020x1024xf32>, tensor<1020x1024xf32>, tensor<f32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.cosine %x : tensor<1024x1024xf32>
  %b = stablehlo.cosine %y : tensor<1024x1024xf32>
  %j = stablehlo.concatenate %a, %b, %w, dim = 0 : (tensor<1024x1024xf32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<3072x1024xf32>
  %s = stablehlo.slice %j [2:1022, 0:1024] : (tensor<3072x1024xf32>) -> tensor<1020x1024xf32>
  %t = stablehlo.slice %j [2050:3070, 0:1024] : (tensor<3072x1024xf32>) -> tensor<1020x1024xf32>
  %p = stablehlo.multiply %s, %s : tensor<1020x1024xf32>
  %q = stablehlo.tanh %t : tensor<1020x1024xf32>
  %u = stablehlo.slice %j [1:1023, 0:1024] : (tensor<3072x1024xf32>) -> tensor<1022x1024xf32>
  %r = stablehlo.reduce(%u init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<1022x1024xf32>, tensor<f32>) -> tensor<f32>
  %v = stablehlo.slice %j [1025:2047, 0:1024] : (tensor<3072x1024xf32>) -> tensor<1022x1024xf32>
  %z = stablehlo.reduce(%v init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<1022x1024xf32>, tensor<f32>) -> tensor<f32>
  return %p, %q, %r, %z : tensor<1020x1024xf32>, tensor<1020x1024xf32>, tensor<f32>, tensor<f32>
}
