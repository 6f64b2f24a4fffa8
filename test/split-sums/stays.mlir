// RUN: slimhlo-opt %s --slimhlo-split-sums --split-input-file | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-split-sums="target=xla-cpu" --split-input-file | FileCheck %s

// CHECK-NOT: optimization_barrier
// CHECK-NOT: slimhlo.split_sums

// Rows, which a warp each adds up.
func.func @rows(%x: tensor<4096x3072xf32>) -> tensor<4096xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4096x3072xf32>, tensor<f32>) -> tensor<4096xf32>
  return %sum : tensor<4096xf32>
}

// -----

// So many columns that there are blocks enough.
func.func @wide(%x: tensor<3136x32768xf32>) -> tensor<32768xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<3136x32768xf32>, tensor<f32>) -> tensor<32768xf32>
  return %sum : tensor<32768xf32>
}

// -----

// So many rows that XLA divides them itself.
func.func @long(%x: tensor<128x196x768xf32>) -> tensor<768xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<128x196x768xf32>, tensor<f32>) -> tensor<768xf32>
  return %sum : tensor<768xf32>
}

// -----

// So few rows that it takes no longer than to start a kernel.
func.func @short(%x: tensor<2x64x768xf32>) -> tensor<768xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x64x768xf32>, tensor<f32>) -> tensor<768xf32>
  return %sum : tensor<768xf32>
}

// -----

// 3137 is a prime: no parts are even.
func.func @prime(%x: tensor<3137x768xf32>) -> tensor<768xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<3137x768xf32>, tensor<f32>) -> tensor<768xf32>
  return %sum : tensor<768xf32>
}

// -----

// Dimensions that are not side by side.
func.func @apart(%x: tensor<56x768x56xf32>) -> tensor<768xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 2] : (tensor<56x768x56xf32>, tensor<f32>) -> tensor<768xf32>
  return %sum : tensor<768xf32>
}

// -----

// Two at once, and what is annotated.
func.func @two(%x: tensor<3136x768xf32>, %y: tensor<3136x768xi32>) -> (tensor<768xf32>, tensor<768xi32>, tensor<768xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %first = stablehlo.constant dense<0> : tensor<i32>
  %sum:2 = stablehlo.reduce(%x init: %zero), (%y init: %first) across dimensions = [0] : (tensor<3136x768xf32>, tensor<3136x768xi32>, tensor<f32>, tensor<i32>) -> (tensor<768xf32>, tensor<768xi32>)
   reducer(%a: tensor<f32>, %c: tensor<f32>) (%b: tensor<i32>, %d: tensor<i32>) {
    %f = stablehlo.add %a, %c : tensor<f32>
    %g = stablehlo.add %b, %d : tensor<i32>
    stablehlo.return %f, %g : tensor<f32>, tensor<i32>
  }
  %own = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] {mhlo.frontend_attributes = {mine = "1"}} : (tensor<3136x768xf32>, tensor<f32>) -> tensor<768xf32>
  return %sum#0, %sum#1, %own : tensor<768xf32>, tensor<768xi32>, tensor<768xf32>
}

// -----

// How rows are cut among devices is for the partitioner to say.
module attributes {mhlo.num_partitions = 2 : i32} {
  func.func @main(%x: tensor<3136x768xf32>) -> tensor<768xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<3136x768xf32>, tensor<f32>) -> tensor<768xf32>
    return %sum : tensor<768xf32>
  }
}
