// RUN: slimhlo-opt %s --cse --slimhlo-stream="target=xla-cpu chunk-bytes=65536" | FileCheck %s

// The gradients of sums of squares of the largest of each row, and of each row and each column, of the scores x y^T, as JAX gives them: who
// is the largest equals the largest bit by bit. Sums in another order have other bits.

// What a chunk of rows has to be compared with is found in it.
// CHECK-LABEL: func.func @rows(
// CHECK-NOT: stablehlo.dot_general
// CHECK: stablehlo.while
// CHECK: %[[SCORES:.*]] = stablehlo.dot_general
// CHECK: stablehlo.reduce(%[[SCORES]]
// CHECK: stablehlo.compare EQ, %[[SCORES]]
func.func @rows(%arg0: tensor<512x32xf32>, %arg1: tensor<512x32xf32>) -> (tensor<512x32xf32>, tensor<512x32xf32>) {
  %0 = stablehlo.transpose %arg1, dims = [1, 0] : (tensor<512x32xf32>) -> tensor<32x512xf32>
  %1 = stablehlo.dot_general %arg0, %0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<512x32xf32>, tensor<32x512xf32>) -> tensor<512x512xf32>
  %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %2 = stablehlo.reduce(%1 init: %cst) applies stablehlo.maximum across dimensions = [1] : (tensor<512x512xf32>, tensor<f32>) -> tensor<512xf32>
  %3 = stablehlo.reshape %2 : (tensor<512xf32>) -> tensor<512x1xf32>
  %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<512x1xf32>) -> tensor<512x512xf32>
  %5 = stablehlo.compare EQ, %1, %4, FLOAT : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xi1>
  %6 = stablehlo.convert %5 : (tensor<512x512xi1>) -> tensor<512x512xf32>
  %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %7 = stablehlo.reduce(%6 init: %cst_0) applies stablehlo.add across dimensions = [1] : (tensor<512x512xf32>, tensor<f32>) -> tensor<512xf32>
  %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
  %8 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<512xf32>
  %9 = stablehlo.multiply %8, %2 : tensor<512xf32>
  %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
  %10 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<512xf32>
  %11 = stablehlo.multiply %10, %9 : tensor<512xf32>
  %12 = stablehlo.divide %11, %7 : tensor<512xf32>
  %13 = stablehlo.broadcast_in_dim %12, dims = [0] : (tensor<512xf32>) -> tensor<512x512xf32>
  %14 = stablehlo.multiply %13, %6 : tensor<512x512xf32>
  %15 = stablehlo.dot_general %14, %arg0, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<512x512xf32>, tensor<512x32xf32>) -> tensor<512x32xf32>
  %16 = stablehlo.transpose %15, dims = [1, 0] : (tensor<512x32xf32>) -> tensor<32x512xf32>
  %17 = stablehlo.dot_general %14, %0, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<512x512xf32>, tensor<32x512xf32>) -> tensor<512x32xf32>
  %18 = stablehlo.transpose %16, dims = [1, 0] : (tensor<32x512xf32>) -> tensor<512x32xf32>
  return %17, %18 : tensor<512x32xf32>, tensor<512x32xf32>
}

// The largest of a column is known only after all rows, and then the scores would have to be there, or be computed once more.
// CHECK-LABEL: func.func @rows_and_columns(
// CHECK: %[[SCORES:[0-9]+]] = stablehlo.dot_general %arg0, %{{[0-9]+}}, contracting_dims = [1] x [0]
// CHECK-NOT: contracting_dims = [1] x [0]
// CHECK: stablehlo.compare EQ, %[[SCORES]]
// CHECK-NOT: contracting_dims = [1] x [0]
func.func @rows_and_columns(%arg0: tensor<512x32xf32>, %arg1: tensor<512x32xf32>) -> (tensor<512x32xf32>, tensor<512x32xf32>) {
  %0 = stablehlo.transpose %arg1, dims = [1, 0] : (tensor<512x32xf32>) -> tensor<32x512xf32>
  %1 = stablehlo.dot_general %arg0, %0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<512x32xf32>, tensor<32x512xf32>) -> tensor<512x512xf32>
  %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %2 = stablehlo.reduce(%1 init: %cst) applies stablehlo.maximum across dimensions = [1] : (tensor<512x512xf32>, tensor<f32>) -> tensor<512xf32>
  %3 = stablehlo.reshape %2 : (tensor<512xf32>) -> tensor<512x1xf32>
  %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<512x1xf32>) -> tensor<512x512xf32>
  %5 = stablehlo.compare EQ, %1, %4, FLOAT : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xi1>
  %6 = stablehlo.convert %5 : (tensor<512x512xi1>) -> tensor<512x512xf32>
  %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %7 = stablehlo.reduce(%6 init: %cst_0) applies stablehlo.add across dimensions = [1] : (tensor<512x512xf32>, tensor<f32>) -> tensor<512xf32>
  %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
  %8 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<512xf32>
  %9 = stablehlo.multiply %8, %2 : tensor<512xf32>
  %10 = stablehlo.transpose %arg1, dims = [1, 0] : (tensor<512x32xf32>) -> tensor<32x512xf32>
  %11 = stablehlo.dot_general %arg0, %10, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<512x32xf32>, tensor<32x512xf32>) -> tensor<512x512xf32>
  %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %12 = stablehlo.reduce(%11 init: %cst_2) applies stablehlo.maximum across dimensions = [0] : (tensor<512x512xf32>, tensor<f32>) -> tensor<512xf32>
  %13 = stablehlo.reshape %12 : (tensor<512xf32>) -> tensor<1x512xf32>
  %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1] : (tensor<1x512xf32>) -> tensor<512x512xf32>
  %15 = stablehlo.compare EQ, %11, %14, FLOAT : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xi1>
  %16 = stablehlo.convert %15 : (tensor<512x512xi1>) -> tensor<512x512xf32>
  %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %17 = stablehlo.reduce(%16 init: %cst_3) applies stablehlo.add across dimensions = [0] : (tensor<512x512xf32>, tensor<f32>) -> tensor<512xf32>
  %cst_4 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
  %18 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<512xf32>
  %19 = stablehlo.multiply %18, %12 : tensor<512xf32>
  %cst_5 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
  %20 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<512xf32>
  %21 = stablehlo.multiply %20, %19 : tensor<512xf32>
  %22 = stablehlo.divide %21, %17 : tensor<512xf32>
  %23 = stablehlo.broadcast_in_dim %22, dims = [1] : (tensor<512xf32>) -> tensor<512x512xf32>
  %24 = stablehlo.multiply %23, %16 : tensor<512x512xf32>
  %25 = stablehlo.dot_general %24, %arg0, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<512x512xf32>, tensor<512x32xf32>) -> tensor<512x32xf32>
  %26 = stablehlo.transpose %25, dims = [1, 0] : (tensor<512x32xf32>) -> tensor<32x512xf32>
  %27 = stablehlo.dot_general %24, %10, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<512x512xf32>, tensor<32x512xf32>) -> tensor<512x32xf32>
  %28 = stablehlo.transpose %26, dims = [1, 0] : (tensor<32x512xf32>) -> tensor<512x32xf32>
  %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
  %29 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<512xf32>
  %30 = stablehlo.multiply %29, %9 : tensor<512xf32>
  %31 = stablehlo.divide %30, %7 : tensor<512xf32>
  %32 = stablehlo.broadcast_in_dim %31, dims = [0] : (tensor<512xf32>) -> tensor<512x512xf32>
  %33 = stablehlo.multiply %32, %6 : tensor<512x512xf32>
  %34 = stablehlo.dot_general %33, %arg0, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<512x512xf32>, tensor<512x32xf32>) -> tensor<512x32xf32>
  %35 = stablehlo.transpose %34, dims = [1, 0] : (tensor<512x32xf32>) -> tensor<32x512xf32>
  %36 = stablehlo.dot_general %33, %0, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<512x512xf32>, tensor<32x512xf32>) -> tensor<512x32xf32>
  %37 = stablehlo.add %27, %36 : tensor<512x32xf32>
  %38 = stablehlo.transpose %35, dims = [1, 0] : (tensor<32x512xf32>) -> tensor<512x32xf32>
  %39 = stablehlo.add %28, %38 : tensor<512x32xf32>
  return %37, %39 : tensor<512x32xf32>, tensor<512x32xf32>
}
