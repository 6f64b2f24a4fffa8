// A gradient that goes back along a stream: each layer adds what it made and sums it up with something. Computed again for each of these sums, all that
// came before would be read for each; XLA for an H100 (`referee.py --target h100`) stores it.
// RUN: slimhlo-opt %s --slimhlo-print-memory="target=h100 plain=true top=0" -o /dev/null 2>&1 | FileCheck %s

// 48.00 MiB; none if nothing were stored.
// CHECK: temporaries 50331648

func.func @main(%g: tensor<16384x768xf32>, %a0: tensor<16384x768xf32>, %b0: tensor<16384x768xf32>, %a1: tensor<16384x768xf32>, %b1: tensor<16384x768xf32>, %a2: tensor<16384x768xf32>, %b2: tensor<16384x768xf32>, %a3: tensor<16384x768xf32>, %b3: tensor<16384x768xf32>, %a4: tensor<16384x768xf32>, %b4: tensor<16384x768xf32>, %a5: tensor<16384x768xf32>, %b5: tensor<16384x768xf32>) -> (tensor<16384xf32>, tensor<16384xf32>, tensor<16384xf32>, tensor<16384xf32>, tensor<16384xf32>, tensor<16384xf32>, tensor<16384x768xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s0 = stablehlo.multiply %g, %a0 : tensor<16384x768xf32>
  %d0 = stablehlo.add %s0, %b0 : tensor<16384x768xf32>
  %p0 = stablehlo.multiply %d0, %a0 : tensor<16384x768xf32>
  %r0 = stablehlo.reduce(%p0 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<16384x768xf32>, tensor<f32>) -> tensor<16384xf32>
  %s1 = stablehlo.multiply %d0, %a1 : tensor<16384x768xf32>
  %d1 = stablehlo.add %s1, %b1 : tensor<16384x768xf32>
  %p1 = stablehlo.multiply %d1, %a1 : tensor<16384x768xf32>
  %r1 = stablehlo.reduce(%p1 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<16384x768xf32>, tensor<f32>) -> tensor<16384xf32>
  %s2 = stablehlo.multiply %d1, %a2 : tensor<16384x768xf32>
  %d2 = stablehlo.add %s2, %b2 : tensor<16384x768xf32>
  %p2 = stablehlo.multiply %d2, %a2 : tensor<16384x768xf32>
  %r2 = stablehlo.reduce(%p2 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<16384x768xf32>, tensor<f32>) -> tensor<16384xf32>
  %s3 = stablehlo.multiply %d2, %a3 : tensor<16384x768xf32>
  %d3 = stablehlo.add %s3, %b3 : tensor<16384x768xf32>
  %p3 = stablehlo.multiply %d3, %a3 : tensor<16384x768xf32>
  %r3 = stablehlo.reduce(%p3 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<16384x768xf32>, tensor<f32>) -> tensor<16384xf32>
  %s4 = stablehlo.multiply %d3, %a4 : tensor<16384x768xf32>
  %d4 = stablehlo.add %s4, %b4 : tensor<16384x768xf32>
  %p4 = stablehlo.multiply %d4, %a4 : tensor<16384x768xf32>
  %r4 = stablehlo.reduce(%p4 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<16384x768xf32>, tensor<f32>) -> tensor<16384xf32>
  %s5 = stablehlo.multiply %d4, %a5 : tensor<16384x768xf32>
  %d5 = stablehlo.add %s5, %b5 : tensor<16384x768xf32>
  %p5 = stablehlo.multiply %d5, %a5 : tensor<16384x768xf32>
  %r5 = stablehlo.reduce(%p5 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<16384x768xf32>, tensor<f32>) -> tensor<16384xf32>
  %e = stablehlo.sine %d5 : tensor<16384x768xf32>
  return %r0, %r1, %r2, %r3, %r4, %r5, %e : tensor<16384xf32>, tensor<16384xf32>, tensor<16384xf32>, tensor<16384xf32>, tensor<16384xf32>, tensor<16384xf32>, tensor<16384x768xf32>
}
