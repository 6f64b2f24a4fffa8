// A sum of columns has a block of threads for some of them each. XLA for an H100 computes it where what is summed up is made if its blocks read all that this
// is made of in the time of both (@wide: input_multiply_reduce_fusion), and else by itself (@narrow: loop_multiply_fusion and input_reduce_fusion).
// RUN: slimhlo-opt %s --split-input-file --slimhlo-print-memory="target=h100 plain=true top=0" -o /dev/null 2>&1 | FileCheck %s
// CHECK: , 1 launches
// CHECK: , 2 launches
// CHECK: , 1 launches

func.func public @wide(%x: tensor<16x196x3072xf32>, %y: tensor<16x196x3072xf32>) -> (tensor<16x196x3072xf32>, tensor<3072xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %z = stablehlo.multiply %x, %y : tensor<16x196x3072xf32>
  %s = stablehlo.reduce(%z init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x196x3072xf32>, tensor<f32>) -> tensor<3072xf32>
  return %z, %s : tensor<16x196x3072xf32>, tensor<3072xf32>
}

// -----

func.func public @narrow(%x: tensor<16x196x768xf32>, %y: tensor<16x196x768xf32>) -> (tensor<16x196x768xf32>, tensor<768xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %z = stablehlo.multiply %x, %y : tensor<16x196x768xf32>
  %s = stablehlo.reduce(%z init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x196x768xf32>, tensor<f32>) -> tensor<768xf32>
  return %z, %s : tensor<16x196x768xf32>, tensor<768xf32>
}

// -----

// What is made of one array is read no longer by few blocks than what is summed up would be.
func.func public @one_array(%x: tensor<16x196x768xf32>) -> (tensor<16x196x768xf32>, tensor<768xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %z = stablehlo.negate %x : tensor<16x196x768xf32>
  %s = stablehlo.reduce(%z init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x196x768xf32>, tensor<f32>) -> tensor<768xf32>
  return %z, %s : tensor<16x196x768xf32>, tensor<768xf32>
}
