// RUN: slimhlo-opt %s --slimhlo-to-kernels --split-input-file | FileCheck %s

// Of an exponential and its products with numbers, the last one to read it writes over it: in one kernel all three would have to be kept.

// CHECK-LABEL: func.func @main
// CHECK-SAME: slimhlo.arena = 0
// CHECK: call @exponential_0({{.*}} {slimhlo.buffers = ["result0"]}
// CHECK: call @dot_general_0({{.*}} {slimhlo.buffers = ["result2"]}
// CHECK: call @multiply_0({{.*}} {slimhlo.buffers = ["result0", "result1"]}
func.func @main(%x: tensor<2048x2048xf32>) -> (tensor<2048x2048xf32>, tensor<2048x2048xf32>, tensor<2048x2048xf32>) {
  %two = stablehlo.constant dense<2.0> : tensor<2048x2048xf32>
  %three = stablehlo.constant dense<3.0> : tensor<2048x2048xf32>
  %0 = stablehlo.exponential %x : tensor<2048x2048xf32>
  %1 = stablehlo.multiply %0, %two : tensor<2048x2048xf32>
  %2 = stablehlo.multiply %0, %three : tensor<2048x2048xf32>
  %3 = stablehlo.dot_general %0, %0, contracting_dims = [1] x [0] : (tensor<2048x2048xf32>, tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
  return %1, %2, %3 : tensor<2048x2048xf32>, tensor<2048x2048xf32>, tensor<2048x2048xf32>
}

// -----

// Zeros that are written to come just before they are: the second ones where the first were.

// CHECK-LABEL: func.func @main
// CHECK: call @scatter_0({{.*}} {slimhlo.buffers = ["arena+0"]}
// CHECK-NEXT: call @reduce_0
// CHECK-NEXT: call @constant_0() {slimhlo.buffers = ["arena+0"]}
// CHECK-NEXT: call @scatter_1({{.*}} {slimhlo.buffers = ["arena+0"]}
func.func @main(%i: tensor<4096x1xi32>, %x: tensor<4096x64xf32>) -> (tensor<f32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %z = stablehlo.constant dense<0.0> : tensor<1000x64xf32>
  %0 = "stablehlo.scatter"(%z, %i, %x) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<1000x64xf32>, tensor<4096x1xi32>, tensor<4096x64xf32>) -> tensor<1000x64xf32>
  %y = stablehlo.negate %x : tensor<4096x64xf32>
  %1 = "stablehlo.scatter"(%z, %i, %y) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<1000x64xf32>, tensor<4096x1xi32>, tensor<4096x64xf32>) -> tensor<1000x64xf32>
  %2 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<1000x64xf32>, tensor<f32>) -> tensor<f32>
  %3 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<1000x64xf32>, tensor<f32>) -> tensor<f32>
  return %2, %3 : tensor<f32>, tensor<f32>
}
