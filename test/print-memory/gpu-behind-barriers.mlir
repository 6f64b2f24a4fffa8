// What is computed behind a barrier is not what was computed before it: the 64 MiB of the first sum need not wait for the second while products
// of as many bytes take their turns. XLA for an H100 takes 128.0 MiB of temporaries for it.
// RUN: slimhlo-opt %s --slimhlo-print-memory="target=h100 plain=true top=0" -o /dev/null 2>&1 | FileCheck %s
// CHECK: temporaries 134217728

func.func public @main(%d: tensor<4096x4096xf32>, %e: tensor<4096x4096xf32>, %w: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
  %a = stablehlo.add %d, %e : tensor<4096x4096xf32>
  %y1 = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %y2 = stablehlo.dot_general %y1, %w, contracting_dims = [1] x [0] : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %y3 = stablehlo.dot_general %y2, %y1, contracting_dims = [1] x [0] : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %y4 = stablehlo.dot_general %y3, %w, contracting_dims = [1] x [0] : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %held:2 = stablehlo.optimization_barrier %d, %y4 : tensor<4096x4096xf32>, tensor<4096x4096xf32>
  %again = stablehlo.add %held#0, %e : tensor<4096x4096xf32>
  %result = stablehlo.dot_general %again, %held#1, contracting_dims = [1] x [0] : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  return %result : tensor<4096x4096xf32>
}
