// Dimension numbers, groups, windows and quantization of convolutions.
// RUN: slimhlo-opt %s --split-input-file --verify-diagnostics

func.func @grouped(%a: tensor<1x8x8x6xf32>, %b: tensor<3x3x2x9xf32>) {
  %r = "stablehlo.convolution"(%a, %b) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 3 : i64}> : (tensor<1x8x8x6xf32>, tensor<3x3x2x9xf32>) -> tensor<1x6x6x9xf32>
  return
}

// -----

func.func @windowed(%a: tensor<1x8x8x6xf32>, %b: tensor<3x3x2x9xf32>) {
  %r = "stablehlo.convolution"(%a, %b) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 3 : i64, padding = dense<[[1, 0], [0, 0]]> : tensor<2x2xi64>, window_strides = array<i64: 2, 2>}> : (tensor<1x8x8x6xf32>, tensor<3x3x2x9xf32>) -> tensor<1x4x3x9xf32>
  return
}

// -----

func.func @batch_grouped(%a: tensor<4x8x8x2xf32>, %b: tensor<3x3x2x8xf32>) {
  %r = "stablehlo.convolution"(%a, %b) <{batch_group_count = 2 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<4x8x8x2xf32>, tensor<3x3x2x8xf32>) -> tensor<2x6x6x8xf32>
  return
}

// -----

func.func @result(%a: tensor<1x8x8x6xf32>, %b: tensor<3x3x2x9xf32>) {
  // expected-error@+1 {{result has shape [1x6x7x9], but the operands make that [1x6x6x9]}}
  %r = "stablehlo.convolution"(%a, %b) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 3 : i64}> : (tensor<1x8x8x6xf32>, tensor<3x3x2x9xf32>) -> tensor<1x6x7x9xf32>
  return
}

// -----

func.func @groups_of_features(%a: tensor<1x8x8x6xf32>, %b: tensor<3x3x2x9xf32>) {
  // expected-error@+1 {{the kernel has 2 input features, but the input has 6 in 2 groups}}
  %r = "stablehlo.convolution"(%a, %b) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 2 : i64}> : (tensor<1x8x8x6xf32>, tensor<3x3x2x9xf32>) -> tensor<1x6x6x9xf32>
  return
}

// -----

func.func @output_features(%a: tensor<1x8x8x6xf32>, %b: tensor<3x3x2x8xf32>) {
  // expected-error@+1 {{the kernel output feature dimension has size 8, not a multiple of feature_group_count = 3}}
  %r = "stablehlo.convolution"(%a, %b) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 3 : i64}> : (tensor<1x8x8x6xf32>, tensor<3x3x2x8xf32>) -> tensor<1x6x6x9xf32>
  return
}

// -----

func.func @both_groups(%a: tensor<1x8x8x6xf32>, %b: tensor<3x3x2x9xf32>) {
  // expected-error@+1 {{feature_group_count = 3 and batch_group_count = 2 are both more than 1}}
  %r = "stablehlo.convolution"(%a, %b) <{batch_group_count = 2 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 3 : i64}> : (tensor<1x8x8x6xf32>, tensor<3x3x2x9xf32>) -> tensor<1x6x6x9xf32>
  return
}

// -----

func.func @ranks(%a: tensor<1x8x8x6xf32>, %b: tensor<3x3x2xf32>) {
  // expected-error@+1 {{lhs has rank 4, but rhs has rank 3}}
  %r = "stablehlo.convolution"(%a, %b) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 3 : i64}> : (tensor<1x8x8x6xf32>, tensor<3x3x2xf32>) -> tensor<1x6x6x9xf32>
  return
}

// -----

func.func @spatial_dimensions(%a: tensor<1x8x8x6xf32>, %b: tensor<3x3x2x9xf32>) {
  // expected-error@+1 {{dimension_numbers has 1 input spatial dimensions, but the operands have rank 4}}
  %r = "stablehlo.convolution"(%a, %b) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 3 : i64}> : (tensor<1x8x8x6xf32>, tensor<3x3x2x9xf32>) -> tensor<1x6x6x9xf32>
  return
}

// -----

func.func @elements(%a: tensor<1x8x8x6xf32>, %b: tensor<3x3x2x9xf64>) {
  // expected-error@+1 {{lhs has element type f32, but rhs has f64}}
  %r = "stablehlo.convolution"(%a, %b) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 3 : i64}> : (tensor<1x8x8x6xf32>, tensor<3x3x2x9xf64>) -> tensor<1x6x6x9xf32>
  return
}

// -----

func.func @stride(%a: tensor<1x8x8x6xf32>, %b: tensor<3x3x2x9xf32>) {
  // expected-error@+1 {{window_strides[1] = 0 is not positive}}
  %r = "stablehlo.convolution"(%a, %b) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 3 : i64, window_strides = array<i64: 1, 0>}> : (tensor<1x8x8x6xf32>, tensor<3x3x2x9xf32>) -> tensor<1x6x6x9xf32>
  return
}

// -----

func.func @strides(%a: tensor<1x8x8x6xf32>, %b: tensor<3x3x2x9xf32>) {
  // expected-error@+1 {{window_strides has 1 entries, but the window has 2 dimensions}}
  %r = "stablehlo.convolution"(%a, %b) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 3 : i64, window_strides = array<i64: 1>}> : (tensor<1x8x8x6xf32>, tensor<3x3x2x9xf32>) -> tensor<1x6x6x9xf32>
  return
}

// -----

func.func @padding(%a: tensor<1x8x8x6xf32>, %b: tensor<3x3x2x9xf32>) {
  // expected-error@+1 {{padding has 3 rows, but the window has 2 dimensions}}
  %r = "stablehlo.convolution"(%a, %b) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 3 : i64, padding = dense<0> : tensor<3x2xi64>}> : (tensor<1x8x8x6xf32>, tensor<3x3x2x9xf32>) -> tensor<1x6x6x9xf32>
  return
}

// -----

func.func @quantized_dimension(%a: tensor<1x8x8x6xf32>, %b: tensor<3x3x2x9x!quant.uniform<i8:f32:2, {1.0, 1.0}>>) {
  // expected-error@+1 {{rhs is quantized along dimension 2, but its output feature dimension is 3}}
  %r = "stablehlo.convolution"(%a, %b) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 3 : i64}> : (tensor<1x8x8x6xf32>, tensor<3x3x2x9x!quant.uniform<i8:f32:2, {1.0, 1.0}>>) -> tensor<1x6x6x9xf32>
  return
}

// -----

func.func @padding_at_run_time(%a: tensor<1x8x8x6xf32>, %b: tensor<3x3x2x9xf32>, %c: tensor<2x2xi64>) {
  %r = "stablehlo.dynamic_conv"(%a, %b, %c) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 3 : i64}> : (tensor<1x8x8x6xf32>, tensor<3x3x2x9xf32>, tensor<2x2xi64>) -> tensor<1x?x?x9xf32>
  return
}

// -----

func.func @padding_of_three(%a: tensor<1x8x8x6xf32>, %b: tensor<3x3x2x9xf32>, %c: tensor<3x2xi64>) {
  // expected-error@+1 {{padding has shape [3x2], but there are 2 spatial dimensions to pad on two sides}}
  %r = "stablehlo.dynamic_conv"(%a, %b, %c) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 3 : i64}> : (tensor<1x8x8x6xf32>, tensor<3x3x2x9xf32>, tensor<3x2xi64>) -> tensor<1x6x6x9xf32>
  return
}

// -----

func.func @dynamic_strides(%a: tensor<1x8x8x6xf32>, %b: tensor<3x3x2x9xf32>, %c: tensor<2x2xi64>) {
  // expected-error@+1 {{window_strides has 3 entries, but the window has 2 dimensions}}
  %r = "stablehlo.dynamic_conv"(%a, %b, %c) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 3 : i64, window_strides = array<i64: 1, 1, 1>}> : (tensor<1x8x8x6xf32>, tensor<3x3x2x9xf32>, tensor<2x2xi64>) -> tensor<1x?x?x9xf32>
  return
}

// -----

func.func @dynamic_stride_of_zero(%a: tensor<1x8x8x6xf32>, %b: tensor<3x3x2x9xf32>, %c: tensor<2x2xi64>) {
  // expected-error@+1 {{window_strides[0] = 0 is not positive}}
  %r = "stablehlo.dynamic_conv"(%a, %b, %c) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 3 : i64, window_strides = array<i64: 0, 1>}> : (tensor<1x8x8x6xf32>, tensor<3x3x2x9xf32>, tensor<2x2xi64>) -> tensor<1x?x?x9xf32>
  return
}

// -----

func.func @dynamic_base_dilation(%a: tensor<1x8x8x6xf32>, %b: tensor<3x3x2x9xf32>, %c: tensor<2x2xi64>) {
  // expected-error@+1 {{lhs_dilation[1] = -1 is not positive}}
  %r = "stablehlo.dynamic_conv"(%a, %b, %c) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 3 : i64, lhs_dilation = array<i64: 1, -1>}> : (tensor<1x8x8x6xf32>, tensor<3x3x2x9xf32>, tensor<2x2xi64>) -> tensor<1x?x?x9xf32>
  return
}

// -----

func.func @dynamic_window_dilation(%a: tensor<1x8x8x6xf32>, %b: tensor<3x3x2x9xf32>, %c: tensor<2x2xi64>) {
  // expected-error@+1 {{rhs_dilation has 1 entries, but the window has 2 dimensions}}
  %r = "stablehlo.dynamic_conv"(%a, %b, %c) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 3 : i64, rhs_dilation = array<i64: 2>}> : (tensor<1x8x8x6xf32>, tensor<3x3x2x9xf32>, tensor<2x2xi64>) -> tensor<1x?x?x9xf32>
  return
}

// -----

func.func @dynamic_reversal(%a: tensor<1x8x8x6xf32>, %b: tensor<3x3x2x9xf32>, %c: tensor<2x2xi64>) {
  // expected-error@+1 {{window_reversal has 1 entries, but the window has 2 dimensions}}
  %r = "stablehlo.dynamic_conv"(%a, %b, %c) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 3 : i64, window_reversal = array<i1: true>}> : (tensor<1x8x8x6xf32>, tensor<3x3x2x9xf32>, tensor<2x2xi64>) -> tensor<1x?x?x9xf32>
  return
}

// -----

func.func @dynamic_empty_window(%a: tensor<1x8x8x6xf32>, %b: tensor<0x3x2x9xf32>, %c: tensor<2x2xi64>) {
  // expected-error@+1 {{the window has size 0 in dimension 0, not a positive one}}
  %r = "stablehlo.dynamic_conv"(%a, %b, %c) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 3 : i64}> : (tensor<1x8x8x6xf32>, tensor<0x3x2x9xf32>, tensor<2x2xi64>) -> tensor<1x?x?x9xf32>
  return
}
