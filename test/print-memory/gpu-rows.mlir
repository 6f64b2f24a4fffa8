// RUN: slimhlo-opt %s --slimhlo-print-memory="plain=true top=0" --split-input-file -o /dev/null 2>&1 | FileCheck %s

// XLA for an H100 makes one kernel of a softmax of rows of 16,384, and several of one of longer rows.
// CHECK: time {{.*}} us, 1 launches
// CHECK: time {{.*}} us, 5 launches
func.func public @main(%x: tensor<1024x16384xf32>) -> tensor<1024x16384xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %most = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<1024x16384xf32>, tensor<f32>) -> tensor<1024xf32>
  %there = stablehlo.broadcast_in_dim %most, dims = [0] : (tensor<1024xf32>) -> tensor<1024x16384xf32>
  %less = stablehlo.subtract %x, %there : tensor<1024x16384xf32>
  %e = stablehlo.exponential %less : tensor<1024x16384xf32>
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1024x16384xf32>, tensor<f32>) -> tensor<1024xf32>
  %sums = stablehlo.broadcast_in_dim %sum, dims = [0] : (tensor<1024xf32>) -> tensor<1024x16384xf32>
  %share = stablehlo.divide %e, %sums : tensor<1024x16384xf32>
  return %share : tensor<1024x16384xf32>
}

// -----

func.func public @main(%x: tensor<512x32768xf32>) -> tensor<512x32768xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %most = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<512x32768xf32>, tensor<f32>) -> tensor<512xf32>
  %there = stablehlo.broadcast_in_dim %most, dims = [0] : (tensor<512xf32>) -> tensor<512x32768xf32>
  %less = stablehlo.subtract %x, %there : tensor<512x32768xf32>
  %e = stablehlo.exponential %less : tensor<512x32768xf32>
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<512x32768xf32>, tensor<f32>) -> tensor<512xf32>
  %sums = stablehlo.broadcast_in_dim %sum, dims = [0] : (tensor<512xf32>) -> tensor<512x32768xf32>
  %share = stablehlo.divide %e, %sums : tensor<512x32768xf32>
  return %share : tensor<512x32768xf32>
}
