// RUN: slimhlo-opt %s --split-input-file --slimhlo-stream=target=xla-cpu | FileCheck %s

#rows = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>

// A turn copies its part of the updates: what it copies is read again from a cache.
// CHECK-LABEL: func @cached
// CHECK: stablehlo.dynamic_slice {{.*}} -> tensor<16384x3xf32>
func.func @cached(%at: tensor<2097152xi32>, %updates: tensor<2097152x3xf32>) -> tensor<146x3xf32> {
  %zero = stablehlo.constant dense<0> : tensor<2097152xi32>
  %words = stablehlo.constant dense<146> : tensor<2097152xi32>
  %none = stablehlo.constant dense<0.0> : tensor<146x3xf32>
  %below = stablehlo.compare LT, %at, %zero, SIGNED : (tensor<2097152xi32>, tensor<2097152xi32>) -> tensor<2097152xi1>
  %from_end = stablehlo.add %at, %words : tensor<2097152xi32>
  %row = stablehlo.select %below, %from_end, %at : tensor<2097152xi1>, tensor<2097152xi32>
  %index = stablehlo.reshape %row : (tensor<2097152xi32>) -> tensor<2097152x1xi32>
  %r = "stablehlo.scatter"(%none, %index, %updates) <{scatter_dimension_numbers = #rows}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<146x3xf32>, tensor<2097152x1xi32>, tensor<2097152x3xf32>) -> tensor<146x3xf32>
  return %r : tensor<146x3xf32>
}

// -----

#rows = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>

// Where chunks are as large as they are to be anywhere, they stay so.
// CHECK-LABEL: func @large
// CHECK: stablehlo.dynamic_slice {{.*}} -> tensor<262144x3xf32>
func.func @large(%at: tensor<16777216xi32>, %updates: tensor<16777216x3xf32>) -> tensor<146x3xf32> {
  %zero = stablehlo.constant dense<0> : tensor<16777216xi32>
  %words = stablehlo.constant dense<146> : tensor<16777216xi32>
  %none = stablehlo.constant dense<0.0> : tensor<146x3xf32>
  %below = stablehlo.compare LT, %at, %zero, SIGNED : (tensor<16777216xi32>, tensor<16777216xi32>) -> tensor<16777216xi1>
  %from_end = stablehlo.add %at, %words : tensor<16777216xi32>
  %row = stablehlo.select %below, %from_end, %at : tensor<16777216xi1>, tensor<16777216xi32>
  %index = stablehlo.reshape %row : (tensor<16777216xi32>) -> tensor<16777216x1xi32>
  %r = "stablehlo.scatter"(%none, %index, %updates) <{scatter_dimension_numbers = #rows}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<146x3xf32>, tensor<16777216x1xi32>, tensor<16777216x3xf32>) -> tensor<146x3xf32>
  return %r : tensor<146x3xf32>
}
