// What is stored is computed once, however often it is read; so is what is computed on the way to it. XLA for an H100 takes two kernels and
// stores the hyperbolic tangent, not the exponential (`referee.py --target h100`).
// RUN: slimhlo-opt %s --slimhlo-print-memory="target=h100 plain=true top=0" -o /dev/null 2>&1 | FileCheck %s

// CHECK: temporaries 16777216
// CHECK: 2 launches
func.func public @main(%a: tensor<4096x1024xf32>, %b: tensor<4096x1024x16xf32>) -> tensor<4096x1024x16xf32> {
  %e = stablehlo.exponential %a : tensor<4096x1024xf32>
  %t = stablehlo.tanh %e : tensor<4096x1024xf32>
  %w = stablehlo.broadcast_in_dim %t, dims = [0, 1] : (tensor<4096x1024xf32>) -> tensor<4096x1024x16xf32>
  %r = stablehlo.multiply %w, %b : tensor<4096x1024x16xf32>
  return %r : tensor<4096x1024x16xf32>
}
