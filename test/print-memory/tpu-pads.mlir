// RUN: slimhlo-opt %s --split-input-file --slimhlo-print-memory="target=v5p plain=true top=0" -o /dev/null 2>&1 | FileCheck %s

// XLA for a v5p pads what is in memory: 64 MiB of squares are stored.
// What is small lies in vector memory there, of which the model knows nothing.
// CHECK: temporaries 67108864
func.func public @main(%a: tensor<2048x4096xf32>, %b: tensor<2048x4096xf32>) -> tensor<8192x4096xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %both = stablehlo.concatenate %a, %b, dim = 0 : (tensor<2048x4096xf32>, tensor<2048x4096xf32>) -> tensor<4096x4096xf32>
  %squares = stablehlo.multiply %both, %both : tensor<4096x4096xf32>
  %padded = stablehlo.pad %squares, %zero, low = [0, 0], high = [4096, 0], interior = [0, 0] : (tensor<4096x4096xf32>, tensor<f32>) -> tensor<8192x4096xf32>
  return %padded : tensor<8192x4096xf32>
}

// -----

// A product takes a concatenation along.
// CHECK: temporaries 0
// CHECK: 1 launches
func.func public @main(%a: tensor<1024x128xf32>, %b: tensor<1024x128xf32>, %w: tensor<256x128xf32>) -> tensor<1024x128xf32> {
  %both = stablehlo.concatenate %a, %b, dim = 1 : (tensor<1024x128xf32>, tensor<1024x128xf32>) -> tensor<1024x256xf32>
  %product = stablehlo.dot_general %both, %w, contracting_dims = [1] x [0] : (tensor<1024x256xf32>, tensor<256x128xf32>) -> tensor<1024x128xf32>
  return %product : tensor<1024x128xf32>
}
