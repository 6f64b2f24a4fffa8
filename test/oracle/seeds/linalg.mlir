// StableHLO ops that contract, convolve, reduce, sort and factorize.
func.func @dot(%v: tensor<4xf32>, %m: tensor<3x4xf32>, %n: tensor<4x5xf32>) -> tensor<3x5xf32> {
  %0 = stablehlo.dot %m, %n, precision = [DEFAULT, HIGH] : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %1 = stablehlo.dot %v, %v : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  %2 = stablehlo.dot %m, %v : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3xf32>
  %3 = stablehlo.dot %v, %n : (tensor<4xf32>, tensor<4x5xf32>) -> tensor<5xf32>
  return %0 : tensor<3x5xf32>
}
// -----
func.func @dot_general(%x: tensor<2x3x4xbf16>, %y: tensor<2x4x5xbf16>, %q: tensor<?x4xf32>) -> tensor<2x3x5xf32> {
  %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, HIGHEST] : (tensor<2x3x4xbf16>, tensor<2x4x5xbf16>) -> tensor<2x3x5xf32>
  %1 = stablehlo.dot_general %x, %y, contracting_dims = [2] x [1] : (tensor<2x3x4xbf16>, tensor<2x4x5xbf16>) -> tensor<2x3x2x5xbf16>
  %2 = stablehlo.dot_general %q, %q, contracting_dims = [1] x [1] : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x?xf32>
  return %0 : tensor<2x3x5xf32>
}
// -----
func.func @dot_algorithm(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %1 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3, allow_imprecise_accumulation = false> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
// -----
func.func @einsum(%x: tensor<3x4xf32>, %y: tensor<4x5xf32>) -> tensor<3x5xf32> {
  %0 = stablehlo.einsum %x, %y, config = "ab,bc->ac" : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %1 = stablehlo.unary_einsum %x, config = "ab->a" : (tensor<3x4xf32>) -> tensor<3xf32>
  return %0 : tensor<3x5xf32>
}
// -----
func.func @convolution(%x: tensor<1x8x8x32x207xf32>, %k: tensor<3x3x32x207x16xf32>) -> tensor<1x1x8x8x16xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 1, 0, 2, f]x[0, 1, 2, i, o]->[2, b, 0, 1, f], window = {stride = [1, 1, 1], pad = [[1, 1], [1, 1], [0, 0]], lhs_dilate = [1, 1, 1], rhs_dilate = [1, 1, 1], reverse = [false, false, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision HIGH>]} : (tensor<1x8x8x32x207xf32>, tensor<3x3x32x207x16xf32>) -> tensor<1x1x8x8x16xf32>
  return %0 : tensor<1x1x8x8x16xf32>
}
// -----
func.func @grouped_convolutions(%x: tensor<4x9x8xf32>, %k: tensor<3x4x6xf32>, %f: tensor<3x8x6xf32>) -> tensor<4x5x6xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2], pad = [[1, 1]], rhs_dilate = [1]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<4x9x8xf32>, tensor<3x4x6xf32>) -> tensor<4x5x6xf32>
  %1 = stablehlo.convolution(%x, %f) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {lhs_dilate = [2]} {batch_group_count = 2 : i64, feature_group_count = 1 : i64} : (tensor<4x9x8xf32>, tensor<3x8x6xf32>) -> tensor<2x15x6xf32>
  return %0 : tensor<4x5x6xf32>
}
// -----
func.func @dynamic_conv(%x: tensor<4x9x8xf32>, %k: tensor<3x8x6xf32>, %p: tensor<1x2xi64>) -> tensor<4x?x6xf32> {
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64, window_strides = array<i64: 1>, lhs_dilation = array<i64: 1>, rhs_dilation = array<i64: 1>, window_reversal = array<i1: false>}> : (tensor<4x9x8xf32>, tensor<3x8x6xf32>, tensor<1x2xi64>) -> tensor<4x?x6xf32>
  return %0 : tensor<4x?x6xf32>
}
// -----
func.func @reduce(%x: tensor<4x5xf32>, %i: tensor<4x5xi32>, %z: tensor<f32>, %n: tensor<i32>) -> tensor<5xf32> {
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4x5xf32>, tensor<f32>) -> tensor<5xf32>
  %1:2 = stablehlo.reduce(%x init: %z), (%i init: %n) across dimensions = [0, 1] : (tensor<4x5xf32>, tensor<4x5xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
   reducer(%a: tensor<f32>, %c: tensor<f32>) (%b: tensor<i32>, %d: tensor<i32>) {
    %m = stablehlo.maximum %a, %c : tensor<f32>
    %k = stablehlo.add %b, %d : tensor<i32>
    stablehlo.return %m, %k : tensor<f32>, tensor<i32>
  }
  return %0 : tensor<5xf32>
}
// -----
func.func @reduce_window(%x: tensor<6x8xf32>, %z: tensor<f32>) -> tensor<3x7xf32> {
  %0 = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 2, 1>, base_dilations = array<i64: 1, 1>, window_dilations = array<i64: 1, 1>, padding = dense<[[0, 0], [1, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<6x8xf32>, tensor<f32>) -> tensor<3x7xf32>
  %2 = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 1, 8>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<6x8xf32>, tensor<f32>) -> tensor<6x1xf32>
  return %0 : tensor<3x7xf32>
}
// -----
func.func @select_and_scatter(%x: tensor<10x24xf32>, %s: tensor<5x12xf32>, %z: tensor<f32>) -> tensor<10x24xf32> {
  %0 = "stablehlo.select_and_scatter"(%x, %s, %z) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>, padding = dense<0> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare GE, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<10x24xf32>, tensor<5x12xf32>, tensor<f32>) -> tensor<10x24xf32>
  return %0 : tensor<10x24xf32>
}
// -----
func.func @sort(%k: tensor<16x16xi32>, %v: tensor<16x16xf32>) -> tensor<16x16xi32> {
  %0:2 = "stablehlo.sort"(%k, %v) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<f32>):
    %1 = stablehlo.compare GT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<16x16xi32>, tensor<16x16xf32>) -> (tensor<16x16xi32>, tensor<16x16xf32>)
  return %0#0 : tensor<16x16xi32>
}
// -----
func.func @batch_norm(%x: tensor<2x3x4xf32>, %s: tensor<3xf32>) -> tensor<2x3x4xf32> {
  %0 = "stablehlo.batch_norm_inference"(%x, %s, %s, %s, %s) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  %1:3 = "stablehlo.batch_norm_training"(%x, %s, %s) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  %2:3 = "stablehlo.batch_norm_grad"(%x, %s, %s, %s, %x) <{epsilon = 0.000000e+00 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  return %0 : tensor<2x3x4xf32>
}
// -----
func.func @cholesky(%x: tensor<2x3x3xf32>) -> tensor<2x3x3xf32> {
  %0 = stablehlo.cholesky %x, lower = true : tensor<2x3x3xf32>
  %1 = stablehlo.cholesky %x : tensor<2x3x3xf32>
  return %0 : tensor<2x3x3xf32>
}
// -----
func.func @triangular_solve(%a: tensor<2x3x3xf32>, %b: tensor<2x3x5xf32>, %c: tensor<2x5x3xf32>) -> tensor<2x3x5xf32> {
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<2x3x3xf32>, tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  %1 = "stablehlo.triangular_solve"(%a, %c) <{left_side = false, lower = false, unit_diagonal = true, transpose_a = #stablehlo<transpose ADJOINT>}> : (tensor<2x3x3xf32>, tensor<2x5x3xf32>) -> tensor<2x5x3xf32>
  return %0 : tensor<2x3x5xf32>
}
// -----
func.func @fft(%c: tensor<3x9xcomplex<f32>>, %r: tensor<3x9xf32>, %h: tensor<3x5xcomplex<f32>>) -> tensor<3x9xcomplex<f32>> {
  %0 = stablehlo.fft %c, type = FFT, length = [9] : (tensor<3x9xcomplex<f32>>) -> tensor<3x9xcomplex<f32>>
  %1 = stablehlo.fft %c, type = IFFT, length = [3, 9] : (tensor<3x9xcomplex<f32>>) -> tensor<3x9xcomplex<f32>>
  %2 = stablehlo.fft %r, type = RFFT, length = [9] : (tensor<3x9xf32>) -> tensor<3x5xcomplex<f32>>
  %3 = stablehlo.fft %h, type = IRFFT, length = [9] : (tensor<3x5xcomplex<f32>>) -> tensor<3x9xf32>
  return %0 : tensor<3x9xcomplex<f32>>
}
// -----
func.func @rng(%a: tensor<f32>, %b: tensor<f32>, %shape: tensor<2xi64>, %i: tensor<i32>) -> tensor<3x4xf32> {
  %0 = stablehlo.rng %a, %b, %shape, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<3x4xf32>
  %1 = stablehlo.rng %i, %i, %shape, distribution = UNIFORM : (tensor<i32>, tensor<i32>, tensor<2xi64>) -> tensor<?x4xi32>
  return %0 : tensor<3x4xf32>
}
// -----
func.func @rng_bit_generator(%s: tensor<2xui64>, %t: tensor<3xui64>) -> tensor<8xui32> {
  %0, %1 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui32>)
  %2, %3 = stablehlo.rng_bit_generator %t, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<2x3xf32>)
  %4, %5 = stablehlo.rng_bit_generator %s, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xi8>)
  return %1 : tensor<8xui32>
}
