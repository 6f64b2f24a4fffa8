// RUN: slimhlo-opt %s --slimhlo-print-memory="target=xla-gpu top=0 plain=true" 2>&1 >/dev/null | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-print-memory="target=xla-cpu top=0 plain=true" 2>&1 >/dev/null | FileCheck %s --check-prefix=CPU

// Scores and weights are stored, 16 MiB each, and exponentials are not: a softmax is one kernel, which does not write over what it
// reads. Besides, 8 KiB for a sum per row and one maximum. XLA for CPU hands all of it to a library.
// CHECK: temporaries 335{{[0-9]+}}{{$}}
// CPU: temporaries 0{{$}}
func.func @main(%q: tensor<2048x64xf32>, %k: tensor<64x2048xf32>, %v: tensor<2048x64xf32>) -> tensor<2048x64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %scores = stablehlo.dot_general %q, %k, contracting_dims = [1] x [0] : (tensor<2048x64xf32>, tensor<64x2048xf32>) -> tensor<2048x2048xf32>
  %max = stablehlo.reduce(%scores init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<2048x2048xf32>, tensor<f32>) -> tensor<2048xf32>
  %maxes = stablehlo.broadcast_in_dim %max, dims = [0] : (tensor<2048xf32>) -> tensor<2048x2048xf32>
  %less = stablehlo.subtract %scores, %maxes : tensor<2048x2048xf32>
  %e = stablehlo.exponential %less : tensor<2048x2048xf32>
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2048x2048xf32>, tensor<f32>) -> tensor<2048xf32>
  %sums = stablehlo.broadcast_in_dim %sum, dims = [0] : (tensor<2048xf32>) -> tensor<2048x2048xf32>
  %w = stablehlo.divide %e, %sums : tensor<2048x2048xf32>
  %r = stablehlo.dot_general %w, %v, contracting_dims = [1] x [0] : (tensor<2048x2048xf32>, tensor<2048x64xf32>) -> tensor<2048x64xf32>
  return %r : tensor<2048x64xf32>
}
