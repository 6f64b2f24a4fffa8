// What vmap makes of a convolutional network for each member of a population: groups of features, which slices of the members have fewer of; and its
// gradient, whose filters come of convolutions with groups of a batch's (as JAX writes both).
// RUN: slimhlo-opt %s --slimhlo-simplify --slimhlo-batch-slices="target=h100 chunk-bytes=32MiB" | FileCheck %s

// CHECK-LABEL: func.func @losses
// CHECK: stablehlo.while
// CHECK: stablehlo.convolution({{.*}}feature_group_count = 1 : i64{{.*}} : (tensor<32x32x32x3xf32>, tensor<3x3x3x64xf32>) -> tensor<32x32x32x64xf32>
// CHECK: stablehlo.convolution({{.*}}feature_group_count = 4 : i64{{.*}} : (tensor<32x32x32x64xf32>, tensor<3x3x16x64xf32>) -> tensor<32x32x32x64xf32>
func.func @losses(%arg0: tensor<64x3x3x3x16xf32>, %arg1: tensor<64x3x3x16x16xf32>, %arg2: tensor<32x32x32x3xf32>) -> (tensor<64xf32>) {
  %0 = stablehlo.transpose %arg0, dims = [1, 2, 3, 0, 4] : (tensor<64x3x3x3x16xf32>) -> tensor<3x3x3x64x16xf32>
  %1 = stablehlo.reshape %0 : (tensor<3x3x3x64x16xf32>) -> tensor<3x3x3x1024xf32>
  %2 = stablehlo.convolution(%arg2, %1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<32x32x32x3xf32>, tensor<3x3x3x1024xf32>) -> tensor<32x32x32x1024xf32>
  %3 = stablehlo.reshape %2 : (tensor<32x32x32x1024xf32>) -> tensor<32x32x32x64x16xf32>
  %4 = stablehlo.tanh %3 : tensor<32x32x32x64x16xf32>
  %5 = stablehlo.reshape %4 : (tensor<32x32x32x64x16xf32>) -> tensor<32x32x32x1024xf32>
  %6 = stablehlo.transpose %arg1, dims = [1, 2, 3, 0, 4] : (tensor<64x3x3x16x16xf32>) -> tensor<3x3x16x64x16xf32>
  %7 = stablehlo.reshape %6 : (tensor<3x3x16x64x16xf32>) -> tensor<3x3x16x1024xf32>
  %8 = stablehlo.convolution(%5, %7) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 64 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<32x32x32x1024xf32>, tensor<3x3x16x1024xf32>) -> tensor<32x32x32x1024xf32>
  %9 = stablehlo.reshape %8 : (tensor<32x32x32x1024xf32>) -> tensor<32x32x32x64x16xf32>
  %10 = stablehlo.tanh %9 : tensor<32x32x32x64x16xf32>
  %11 = stablehlo.multiply %10, %10 : tensor<32x32x32x64x16xf32>
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %12 = stablehlo.reduce(%11 init: %cst) applies stablehlo.add across dimensions = [0, 1, 2, 4] : (tensor<32x32x32x64x16xf32>, tensor<f32>) -> tensor<64xf32>
  return %12 : tensor<64xf32>
}

// CHECK-LABEL: func.func @gradients
// CHECK: stablehlo.while
// CHECK: stablehlo.convolution({{.*}}feature_group_count = 1 : i64{{.*}} : (tensor<32x32x32x3xf32>, tensor<3x3x3x32xf32>) -> tensor<32x32x32x32xf32>
// CHECK: stablehlo.convolution({{.*}}feature_group_count = 2 : i64{{.*}} : (tensor<32x32x32x32xf32>, tensor<3x3x16x32xf32>) -> tensor<32x32x32x32xf32>
// CHECK: stablehlo.convolution({{.*}}feature_group_count = 2 : i64{{.*}} : (tensor<64x32x32x16xf32>, tensor<32x32x32x32xf32>) -> tensor<3x3x16x32xf32>
// CHECK: stablehlo.convolution({{.*}}feature_group_count = 2 : i64{{.*}} : (tensor<32x32x32x32xf32>, tensor<3x3x32x16xf32>) -> tensor<32x32x32x32xf32>
// CHECK: stablehlo.convolution({{.*}}feature_group_count = 1 : i64{{.*}} : (tensor<32x32x32x3xf32>, tensor<32x32x32x32xf32>) -> tensor<3x3x3x32xf32>
func.func @gradients(%arg0: tensor<64x3x3x3x16xf32>, %arg1: tensor<64x3x3x16x16xf32>, %arg2: tensor<32x32x32x3xf32>) -> (tensor<64x3x3x3x16xf32>, tensor<64x3x3x16x16xf32>) {
  %0 = stablehlo.transpose %arg0, dims = [1, 2, 3, 0, 4] : (tensor<64x3x3x3x16xf32>) -> tensor<3x3x3x64x16xf32>
  %1 = stablehlo.reshape %0 : (tensor<3x3x3x64x16xf32>) -> tensor<3x3x3x1024xf32>
  %2 = stablehlo.convolution(%arg2, %1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<32x32x32x3xf32>, tensor<3x3x3x1024xf32>) -> tensor<32x32x32x1024xf32>
  %3 = stablehlo.reshape %2 : (tensor<32x32x32x1024xf32>) -> tensor<32x32x32x64x16xf32>
  %4 = stablehlo.tanh %3 : tensor<32x32x32x64x16xf32>
  %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
  %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<32x32x32x64x16xf32>
  %6 = stablehlo.subtract %5, %4 : tensor<32x32x32x64x16xf32>
  %7 = stablehlo.reshape %4 : (tensor<32x32x32x64x16xf32>) -> tensor<32x32x32x1024xf32>
  %8 = stablehlo.transpose %arg1, dims = [1, 2, 3, 0, 4] : (tensor<64x3x3x16x16xf32>) -> tensor<3x3x16x64x16xf32>
  %9 = stablehlo.reshape %8 : (tensor<3x3x16x64x16xf32>) -> tensor<3x3x16x1024xf32>
  %10 = stablehlo.convolution(%7, %9) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 64 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<32x32x32x1024xf32>, tensor<3x3x16x1024xf32>) -> tensor<32x32x32x1024xf32>
  %11 = stablehlo.reshape %10 : (tensor<32x32x32x1024xf32>) -> tensor<32x32x32x64x16xf32>
  %12 = stablehlo.tanh %11 : tensor<32x32x32x64x16xf32>
  %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
  %13 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<32x32x32x64x16xf32>
  %14 = stablehlo.subtract %13, %12 : tensor<32x32x32x64x16xf32>
  %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
  %15 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<32x32x32x64x16xf32>
  %16 = stablehlo.multiply %15, %12 : tensor<32x32x32x64x16xf32>
  %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
  %17 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<32x32x32x16xf32>
  %18 = stablehlo.broadcast_in_dim %17, dims = [1, 2, 3, 4] : (tensor<32x32x32x16xf32>) -> tensor<1x32x32x32x16xf32>
  %19 = stablehlo.transpose %16, dims = [3, 0, 1, 2, 4] : (tensor<32x32x32x64x16xf32>) -> tensor<64x32x32x32x16xf32>
  %20 = stablehlo.broadcast_in_dim %18, dims = [0, 1, 2, 3, 4] : (tensor<1x32x32x32x16xf32>) -> tensor<64x32x32x32x16xf32>
  %21 = stablehlo.multiply %20, %19 : tensor<64x32x32x32x16xf32>
  %22 = stablehlo.transpose %14, dims = [3, 0, 1, 2, 4] : (tensor<32x32x32x64x16xf32>) -> tensor<64x32x32x32x16xf32>
  %23 = stablehlo.multiply %21, %22 : tensor<64x32x32x32x16xf32>
  %24 = stablehlo.transpose %12, dims = [3, 0, 1, 2, 4] : (tensor<32x32x32x64x16xf32>) -> tensor<64x32x32x32x16xf32>
  %25 = stablehlo.multiply %23, %24 : tensor<64x32x32x32x16xf32>
  %26 = stablehlo.add %23, %25 : tensor<64x32x32x32x16xf32>
  %27 = stablehlo.transpose %4, dims = [3, 0, 1, 2, 4] : (tensor<32x32x32x64x16xf32>) -> tensor<64x32x32x32x16xf32>
  %28 = stablehlo.reshape %27 : (tensor<64x32x32x32x16xf32>) -> tensor<2048x32x32x16xf32>
  %29 = stablehlo.transpose %26, dims = [1, 2, 3, 0, 4] : (tensor<64x32x32x32x16xf32>) -> tensor<32x32x32x64x16xf32>
  %30 = stablehlo.reshape %29 : (tensor<32x32x32x64x16xf32>) -> tensor<32x32x32x1024xf32>
  %31 = stablehlo.convolution(%28, %30) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 64 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<2048x32x32x16xf32>, tensor<32x32x32x1024xf32>) -> tensor<3x3x16x1024xf32>
  %32 = stablehlo.reshape %31 : (tensor<3x3x16x1024xf32>) -> tensor<3x3x16x64x16xf32>
  %33 = stablehlo.reverse %arg1, dims = [1, 2] : tensor<64x3x3x16x16xf32>
  %34 = stablehlo.transpose %26, dims = [1, 2, 3, 0, 4] : (tensor<64x32x32x32x16xf32>) -> tensor<32x32x32x64x16xf32>
  %35 = stablehlo.reshape %34 : (tensor<32x32x32x64x16xf32>) -> tensor<32x32x32x1024xf32>
  %36 = stablehlo.transpose %33, dims = [1, 2, 0, 3, 4] : (tensor<64x3x3x16x16xf32>) -> tensor<3x3x64x16x16xf32>
  %37 = stablehlo.reshape %36 : (tensor<3x3x64x16x16xf32>) -> tensor<3x3x1024x16xf32>
  %38 = stablehlo.convolution(%35, %37) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 64 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<32x32x32x1024xf32>, tensor<3x3x1024x16xf32>) -> tensor<32x32x32x1024xf32>
  %39 = stablehlo.reshape %38 : (tensor<32x32x32x1024xf32>) -> tensor<32x32x32x64x16xf32>
  %40 = stablehlo.multiply %39, %6 : tensor<32x32x32x64x16xf32>
  %41 = stablehlo.multiply %40, %4 : tensor<32x32x32x64x16xf32>
  %42 = stablehlo.add %40, %41 : tensor<32x32x32x64x16xf32>
  %43 = stablehlo.reshape %42 : (tensor<32x32x32x64x16xf32>) -> tensor<32x32x32x1024xf32>
  %44 = stablehlo.convolution(%arg2, %43) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<32x32x32x3xf32>, tensor<32x32x32x1024xf32>) -> tensor<3x3x3x1024xf32>
  %45 = stablehlo.reshape %44 : (tensor<3x3x3x1024xf32>) -> tensor<3x3x3x64x16xf32>
  %46 = stablehlo.transpose %45, dims = [3, 0, 1, 2, 4] : (tensor<3x3x3x64x16xf32>) -> tensor<64x3x3x3x16xf32>
  %47 = stablehlo.transpose %32, dims = [3, 0, 1, 2, 4] : (tensor<3x3x16x64x16xf32>) -> tensor<64x3x3x16x16xf32>
  return %46, %47 : tensor<64x3x3x3x16xf32>, tensor<64x3x3x16x16xf32>
}
