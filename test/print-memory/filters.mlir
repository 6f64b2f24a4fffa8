// Three layers' filters are copied once each, for the layer, for the gradient of what it read and for the update: 27 MiB beside what is between layers.
// XLA for an H100 says 27.8 MiB of temporaries for this step, which JAX wrote.
// RUN: slimhlo-opt %s --slimhlo-print-memory="target=h100 plain=true top=0" -o /dev/null 2>&1 | FileCheck %s
// CHECK: temporaries 29097984

module @jit_step {
  func.func public @main(%arg0: tensor<3x3x512x512xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<3x3x512x512xf32> {tf.aliasing_output = 1 : i32}, %arg2: tensor<3x3x512x512xf32> {tf.aliasing_output = 2 : i32}, %arg3: tensor<2x8x8x512xf32>) -> (tensor<3x3x512x512xf32> {jax.result_info = "result[0]"}, tensor<3x3x512x512xf32> {jax.result_info = "result[1]"}, tensor<3x3x512x512xf32> {jax.result_info = "result[2]"}) {
    %0 = stablehlo.convolution(%arg3, %arg0) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<2x8x8x512xf32>, tensor<3x3x512x512xf32>) -> tensor<2x8x8x512xf32>
    %1 = stablehlo.tanh %0 : tensor<2x8x8x512xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x8x8x512xf32>
    %3 = stablehlo.subtract %2, %1 : tensor<2x8x8x512xf32>
    %4 = stablehlo.convolution(%1, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<2x8x8x512xf32>, tensor<3x3x512x512xf32>) -> tensor<2x8x8x512xf32>
    %5 = stablehlo.tanh %4 : tensor<2x8x8x512xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x8x8x512xf32>
    %7 = stablehlo.subtract %6, %5 : tensor<2x8x8x512xf32>
    %8 = stablehlo.convolution(%5, %arg2) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<2x8x8x512xf32>, tensor<3x3x512x512xf32>) -> tensor<2x8x8x512xf32>
    %9 = stablehlo.tanh %8 : tensor<2x8x8x512xf32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x8x8x512xf32>
    %11 = stablehlo.subtract %10, %9 : tensor<2x8x8x512xf32>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x8x8x512xf32>
    %13 = stablehlo.multiply %12, %11 : tensor<2x8x8x512xf32>
    %14 = stablehlo.multiply %13, %9 : tensor<2x8x8x512xf32>
    %15 = stablehlo.add %13, %14 : tensor<2x8x8x512xf32>
    %16 = stablehlo.convolution(%5, %15) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<2x8x8x512xf32>, tensor<2x8x8x512xf32>) -> tensor<3x3x512x512xf32>
    %17 = stablehlo.reverse %arg2, dims = [0, 1] : tensor<3x3x512x512xf32>
    %18 = stablehlo.convolution(%15, %17) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<2x8x8x512xf32>, tensor<3x3x512x512xf32>) -> tensor<2x8x8x512xf32>
    %19 = stablehlo.multiply %18, %7 : tensor<2x8x8x512xf32>
    %20 = stablehlo.multiply %19, %5 : tensor<2x8x8x512xf32>
    %21 = stablehlo.add %19, %20 : tensor<2x8x8x512xf32>
    %22 = stablehlo.convolution(%1, %21) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<2x8x8x512xf32>, tensor<2x8x8x512xf32>) -> tensor<3x3x512x512xf32>
    %23 = stablehlo.reverse %arg1, dims = [0, 1] : tensor<3x3x512x512xf32>
    %24 = stablehlo.convolution(%21, %23) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<2x8x8x512xf32>, tensor<3x3x512x512xf32>) -> tensor<2x8x8x512xf32>
    %25 = stablehlo.multiply %24, %3 : tensor<2x8x8x512xf32>
    %26 = stablehlo.multiply %25, %1 : tensor<2x8x8x512xf32>
    %27 = stablehlo.add %25, %26 : tensor<2x8x8x512xf32>
    %28 = stablehlo.convolution(%arg3, %27) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<2x8x8x512xf32>, tensor<2x8x8x512xf32>) -> tensor<3x3x512x512xf32>
    %cst_3 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %29 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<3x3x512x512xf32>
    %30 = stablehlo.multiply %29, %28 : tensor<3x3x512x512xf32>
    %31 = stablehlo.subtract %arg0, %30 : tensor<3x3x512x512xf32>
    %cst_4 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %32 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<3x3x512x512xf32>
    %33 = stablehlo.multiply %32, %22 : tensor<3x3x512x512xf32>
    %34 = stablehlo.subtract %arg1, %33 : tensor<3x3x512x512xf32>
    %cst_5 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %35 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<3x3x512x512xf32>
    %36 = stablehlo.multiply %35, %16 : tensor<3x3x512x512xf32>
    %37 = stablehlo.subtract %arg2, %36 : tensor<3x3x512x512xf32>
    return %31, %34, %37 : tensor<3x3x512x512xf32>, tensor<3x3x512x512xf32>, tensor<3x3x512x512xf32>
  }
}
