// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=262144" | FileCheck %s

// The gradients of jnp.sum(attention(q, k, v) ** 2). What is attended to is no larger than what it is made of, but were it there before
// the loop, its scores would be computed twice: all three gradients come out of one loop with the six products of the program.
// CHECK-LABEL: func.func @gradient
// CHECK-NOT: stablehlo.dot_general
// CHECK: stablehlo.while
// CHECK: cond
// CHECK-COUNT-6: stablehlo.dot_general
// CHECK-NOT: stablehlo.dot_general
// CHECK-NOT: stablehlo.while
func.func @gradient(%arg0: tensor<512x32xf32>, %arg1: tensor<512x32xf32>, %arg2: tensor<512x32xf32>) -> (tensor<512x32xf32>, tensor<512x32xf32>, tensor<512x32xf32>) {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<512x32xf32>, tensor<512x32xf32>) -> tensor<512x512xf32>
  %cst = stablehlo.constant dense<5.65685415> : tensor<f32>
  %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
  %2 = stablehlo.divide %0, %1 : tensor<512x512xf32>
  %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %3 = stablehlo.reduce(%2 init: %cst_0) applies stablehlo.maximum across dimensions = [1] : (tensor<512x512xf32>, tensor<f32>) -> tensor<512xf32>
  %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %4 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<512xf32>
  %5 = stablehlo.maximum %4, %3 : tensor<512xf32>
  %6 = stablehlo.broadcast_in_dim %5, dims = [0] : (tensor<512xf32>) -> tensor<512x1xf32>
  %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1] : (tensor<512x1xf32>) -> tensor<512x512xf32>
  %8 = stablehlo.subtract %2, %7 : tensor<512x512xf32>
  %9 = stablehlo.exponential %8 : tensor<512x512xf32>
  %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %10 = stablehlo.reduce(%9 init: %cst_2) applies stablehlo.add across dimensions = [1] : (tensor<512x512xf32>, tensor<f32>) -> tensor<512xf32>
  %11 = stablehlo.broadcast_in_dim %10, dims = [0] : (tensor<512xf32>) -> tensor<512x1xf32>
  %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1] : (tensor<512x1xf32>) -> tensor<512x512xf32>
  %13 = stablehlo.divide %9, %12 : tensor<512x512xf32>
  %14 = stablehlo.multiply %11, %11 : tensor<512x1xf32>
  %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
  %15 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<512x1xf32>
  %16 = stablehlo.divide %15, %14 : tensor<512x1xf32>
  %17 = stablehlo.dot_general %13, %arg2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<512x512xf32>, tensor<512x32xf32>) -> tensor<512x32xf32>
  %cst_4 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
  %18 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<512x32xf32>
  %19 = stablehlo.multiply %18, %17 : tensor<512x32xf32>
  %cst_5 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
  %20 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<512x32xf32>
  %21 = stablehlo.multiply %20, %19 : tensor<512x32xf32>
  %22 = stablehlo.dot_general %21, %13, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<512x32xf32>, tensor<512x512xf32>) -> tensor<32x512xf32>
  %23 = stablehlo.transpose %22, dims = [1, 0] : (tensor<32x512xf32>) -> tensor<512x32xf32>
  %24 = stablehlo.dot_general %21, %arg2, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<512x32xf32>, tensor<512x32xf32>) -> tensor<512x512xf32>
  %25 = stablehlo.broadcast_in_dim %16, dims = [0, 1] : (tensor<512x1xf32>) -> tensor<512x512xf32>
  %26 = stablehlo.multiply %24, %25 : tensor<512x512xf32>
  %27 = stablehlo.multiply %26, %9 : tensor<512x512xf32>
  %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %28 = stablehlo.reduce(%27 init: %cst_6) applies stablehlo.add across dimensions = [1] : (tensor<512x512xf32>, tensor<f32>) -> tensor<512xf32>
  %29 = stablehlo.reshape %28 : (tensor<512xf32>) -> tensor<512x1xf32>
  %30 = stablehlo.negate %29 : tensor<512x1xf32>
  %31 = stablehlo.broadcast_in_dim %11, dims = [0, 1] : (tensor<512x1xf32>) -> tensor<512x512xf32>
  %32 = stablehlo.divide %24, %31 : tensor<512x512xf32>
  %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %33 = stablehlo.reduce(%30 init: %cst_7) applies stablehlo.add across dimensions = [1] : (tensor<512x1xf32>, tensor<f32>) -> tensor<512xf32>
  %34 = stablehlo.broadcast_in_dim %33, dims = [0] : (tensor<512xf32>) -> tensor<512x512xf32>
  %35 = stablehlo.add %32, %34 : tensor<512x512xf32>
  %36 = stablehlo.multiply %35, %9 : tensor<512x512xf32>
  %cst_8 = stablehlo.constant dense<5.65685415> : tensor<f32>
  %37 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
  %38 = stablehlo.divide %36, %37 : tensor<512x512xf32>
  %39 = stablehlo.dot_general %38, %arg0, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<512x512xf32>, tensor<512x32xf32>) -> tensor<512x32xf32>
  %40 = stablehlo.dot_general %38, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<512x512xf32>, tensor<512x32xf32>) -> tensor<512x32xf32>
  return %40, %39, %23 : tensor<512x32xf32>, tensor<512x32xf32>, tensor<512x32xf32>
}
