// RUN: slimhlo-opt %s --split-input-file --slimhlo-print-memory="target=v5p plain=true top=0" -o /dev/null 2>&1 | FileCheck %s

// XLA for a v5p: the kernel of a product makes the extremes of its rows, too: 2 kernels, 75.3 us. (By XLA the differences take the
// place of the scores.)
// CHECK: temporaries 67117056
// CHECK: 2 launches
func.func public @main(%q: tensor<2048x128xf32>, %k: tensor<8192x128xf32>) -> tensor<2048x8192xf32> {
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %scores = stablehlo.dot_general %q, %k, contracting_dims = [1] x [1] : (tensor<2048x128xf32>, tensor<8192x128xf32>) -> tensor<2048x8192xf32>
  %most = stablehlo.reduce(%scores init: %least) applies stablehlo.maximum across dimensions = [1] : (tensor<2048x8192xf32>, tensor<f32>) -> tensor<2048xf32>
  %each = stablehlo.broadcast_in_dim %most, dims = [0] : (tensor<2048xf32>) -> tensor<2048x8192xf32>
  %r = stablehlo.subtract %scores, %each : tensor<2048x8192xf32>
  return %r : tensor<2048x8192xf32>
}

// -----

// Sums of the same elements along either dimension are one kernel, which computes each element once: 1 kernel, nothing stored.
// CHECK: temporaries 0
// CHECK: 1 launches
func.func public @main(%a: tensor<8192x1xf32>, %b: tensor<1x8192xf32>) -> (tensor<8192xf32>, tensor<8192xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %left = stablehlo.broadcast_in_dim %a, dims = [0, 1] : (tensor<8192x1xf32>) -> tensor<8192x8192xf32>
  %right = stablehlo.broadcast_in_dim %b, dims = [0, 1] : (tensor<1x8192xf32>) -> tensor<8192x8192xf32>
  %sum = stablehlo.add %left, %right : tensor<8192x8192xf32>
  %each = stablehlo.exponential %sum : tensor<8192x8192xf32>
  %rows = stablehlo.reduce(%each init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8192x8192xf32>, tensor<f32>) -> tensor<8192xf32>
  %columns = stablehlo.reduce(%each init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8192x8192xf32>, tensor<f32>) -> tensor<8192xf32>
  return %rows, %columns : tensor<8192xf32>, tensor<8192xf32>
}
