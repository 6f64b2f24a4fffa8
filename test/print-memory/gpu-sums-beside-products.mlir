// What two products read is stored, and summed up in the same kernel, though it is the only one of its readers that could be joined with it.
// XLA for an H100 has five kernels: products, one in two parts and their sum, input_multiply_reduce_fusion, and the second stage of the sum of rows.
// RUN: slimhlo-opt %s --slimhlo-print-memory="target=h100 plain=true top=0 kernels=9" -o /dev/null 2>&1 | FileCheck %s
// CHECK: , 5 launches

func.func public @main(%x: tensor<8192x1024xf32>, %y: tensor<8192x1024xf32>, %w: tensor<1024x1024xf32>) -> (tensor<8192x1024xf32>, tensor<1024x1024xf32>, tensor<1024xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %t = stablehlo.tanh %y : tensor<8192x1024xf32>
  %z = stablehlo.multiply %x, %t : tensor<8192x1024xf32>
  %a = stablehlo.dot_general %z, %w, contracting_dims = [1] x [0] : (tensor<8192x1024xf32>, tensor<1024x1024xf32>) -> tensor<8192x1024xf32>
  %b = stablehlo.dot_general %z, %x, contracting_dims = [0] x [0] : (tensor<8192x1024xf32>, tensor<8192x1024xf32>) -> tensor<1024x1024xf32>
  %c = stablehlo.reduce(%z init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8192x1024xf32>, tensor<f32>) -> tensor<1024xf32>
  return %a, %b, %c : tensor<8192x1024xf32>, tensor<1024x1024xf32>, tensor<1024xf32>
}
