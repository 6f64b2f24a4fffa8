// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-gpu chunk-bytes=64MiB" --split-input-file | FileCheck %s

// A gradient of 128 by 128 over 1,000,000 rows falls into 128 parts under XLA for an H100, whose rows begin where 16 bytes do: chunks of a
// multiple of 512 rows need no pads: 62,464 where 62,500 would leave nothing over. What is left over is little.
// CHECK-LABEL: func.func public @rows(
// CHECK: stablehlo.while
// CHECK: stablehlo.dot_general {{.*}} : (tensor<62464x128xf32>, tensor<62464x128xf32>) -> tensor<128x128xf32>
// CHECK: stablehlo.dot_general {{.*}} : (tensor<576x128xf32>, tensor<576x128xf32>) -> tensor<128x128xf32>
func.func public @rows(%x: tensor<1000000x128xf32>, %y: tensor<1000000x128xf32>) -> tensor<128x128xf32> {
  %s = stablehlo.sine %x : tensor<1000000x128xf32>
  %c = stablehlo.cosine %y : tensor<1000000x128xf32>
  %d = stablehlo.dot_general %s, %c, contracting_dims = [0] x [0] : (tensor<1000000x128xf32>, tensor<1000000x128xf32>) -> tensor<128x128xf32>
  return %d : tensor<128x128xf32>
}

// -----

// A product of as many results as busy the chip is not taken apart: any chunk is as good as another.
// CHECK-LABEL: func.func public @whole(
// CHECK: stablehlo.while
// CHECK: stablehlo.dot_general {{.*}} : (tensor<3750x2048xf32>, tensor<3750x2048xf32>) -> tensor<2048x2048xf32>
// CHECK-NOT: stablehlo.dot_general
func.func public @whole(%x: tensor<30000x2048xf32>, %y: tensor<30000x2048xf32>) -> tensor<2048x2048xf32> {
  %s = stablehlo.sine %x : tensor<30000x2048xf32>
  %c = stablehlo.cosine %y : tensor<30000x2048xf32>
  %d = stablehlo.dot_general %s, %c, contracting_dims = [0] x [0] : (tensor<30000x2048xf32>, tensor<30000x2048xf32>) -> tensor<2048x2048xf32>
  return %d : tensor<2048x2048xf32>
}
