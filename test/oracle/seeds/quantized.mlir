// Quantized element types: per tensor and per axis, where the rules tell them apart.
func.func @convert(%x: tensor<4xf32>, %w: tensor<3x4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.uniform_quantize %x : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>
  %1 = stablehlo.uniform_quantize %0 : (tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>) -> tensor<4x!quant.uniform<u8:f32, 2.500000e-01:7>>
  %3 = stablehlo.uniform_quantize %w : (tensor<3x4xf32>) -> tensor<3x4x!quant.uniform<i8:f32:0, {1.000000e-01, 2.000000e-01:1, 3.000000e-01}>>
  %4 = stablehlo.uniform_dequantize %3 : (tensor<3x4x!quant.uniform<i8:f32:0, {1.000000e-01, 2.000000e-01:1, 3.000000e-01}>>) -> tensor<3x4xf32>
  %5 = stablehlo.uniform_dequantize %0 : (tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>) -> tensor<4xf32>
  return %5 : tensor<4xf32>
}
// -----
func.func @elementwise(%q: tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>) -> tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>> {
  %0 = stablehlo.add %q, %q : tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>
  %1 = stablehlo.multiply %q, %q : tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>
  %2 = stablehlo.tanh %q : tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>
  %3 = stablehlo.abs %q : tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>
  %4 = stablehlo.maximum %q, %q : tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>
  %5 = stablehlo.negate %q : tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>
  %6 = stablehlo.compare LT, %q, %q : (tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>, tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>) -> tensor<4xi1>
  %7 = stablehlo.select %6, %q, %q : tensor<4xi1>, tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>
  %8 = stablehlo.clamp %q, %q, %q : tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>
  %9 = stablehlo.bitcast_convert %q : (tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>) -> tensor<4xi8>
  %10 = stablehlo.constant() <{value = dense<1> : tensor<4xi8>}> : () -> tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>
  return %0 : tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>
}
// -----
func.func @elementwise_scales(%q: tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>, %r: tensor<4x!quant.uniform<i8:f32, 2.500000e-01>>, %c: tensor<3x4x!quant.uniform<i8:f32:0, {1.000000e-01, 2.000000e-01:1, 3.000000e-01}>>) -> tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>> {
  %0 = "stablehlo.add"(%q, %r) : (tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>, tensor<4x!quant.uniform<i8:f32, 2.500000e-01>>) -> tensor<4x!quant.uniform<i8:f32, 1.000000e+00:-1>>
  %1 = "stablehlo.add"(%c, %c) : (tensor<3x4x!quant.uniform<i8:f32:0, {1.000000e-01, 2.000000e-01:1, 3.000000e-01}>>, tensor<3x4x!quant.uniform<i8:f32:0, {1.000000e-01, 2.000000e-01:1, 3.000000e-01}>>) -> tensor<3x4x!quant.uniform<i8:f32:0, {1.000000e-01, 2.000000e-01:1, 3.000000e-01}>>
  return %q : tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>
}
// -----
func.func @shapes(%q: tensor<2x3x!quant.uniform<i8:f32, 5.000000e-01:3>>, %v: tensor<!quant.uniform<i8:f32, 5.000000e-01:3>>, %c: tensor<3x4x!quant.uniform<i8:f32:0, {1.000000e-01, 2.000000e-01:1, 3.000000e-01}>>, %i: tensor<i32>) -> tensor<3x2x!quant.uniform<i8:f32, 5.000000e-01:3>> {
  %0 = stablehlo.transpose %q, dims = [1, 0] : (tensor<2x3x!quant.uniform<i8:f32, 5.000000e-01:3>>) -> tensor<3x2x!quant.uniform<i8:f32, 5.000000e-01:3>>
  %1 = stablehlo.transpose %c, dims = [1, 0] : (tensor<3x4x!quant.uniform<i8:f32:0, {1.000000e-01, 2.000000e-01:1, 3.000000e-01}>>) -> tensor<4x3x!quant.uniform<i8:f32:1, {1.000000e-01, 2.000000e-01:1, 3.000000e-01}>>
  %2 = stablehlo.reshape %q : (tensor<2x3x!quant.uniform<i8:f32, 5.000000e-01:3>>) -> tensor<6x!quant.uniform<i8:f32, 5.000000e-01:3>>
  %3 = stablehlo.reshape %c : (tensor<3x4x!quant.uniform<i8:f32:0, {1.000000e-01, 2.000000e-01:1, 3.000000e-01}>>) -> tensor<3x2x2x!quant.uniform<i8:f32:0, {1.000000e-01, 2.000000e-01:1, 3.000000e-01}>>
  %4 = stablehlo.slice %q [0:1, 0:3] : (tensor<2x3x!quant.uniform<i8:f32, 5.000000e-01:3>>) -> tensor<1x3x!quant.uniform<i8:f32, 5.000000e-01:3>>
  %5 = stablehlo.pad %q, %v, low = [1, 0], high = [0, 0], interior = [0, 0] : (tensor<2x3x!quant.uniform<i8:f32, 5.000000e-01:3>>, tensor<!quant.uniform<i8:f32, 5.000000e-01:3>>) -> tensor<3x3x!quant.uniform<i8:f32, 5.000000e-01:3>>
  %6 = stablehlo.concatenate %q, %q, dim = 0 : (tensor<2x3x!quant.uniform<i8:f32, 5.000000e-01:3>>, tensor<2x3x!quant.uniform<i8:f32, 5.000000e-01:3>>) -> tensor<4x3x!quant.uniform<i8:f32, 5.000000e-01:3>>
  %7 = stablehlo.broadcast_in_dim %q, dims = [0, 1] : (tensor<2x3x!quant.uniform<i8:f32, 5.000000e-01:3>>) -> tensor<2x3x4x!quant.uniform<i8:f32, 5.000000e-01:3>>
  %8 = stablehlo.broadcast_in_dim %c, dims = [1, 2] : (tensor<3x4x!quant.uniform<i8:f32:0, {1.000000e-01, 2.000000e-01:1, 3.000000e-01}>>) -> tensor<5x3x4x!quant.uniform<i8:f32:1, {1.000000e-01, 2.000000e-01:1, 3.000000e-01}>>
  %9 = stablehlo.reverse %q, dims = [1] : tensor<2x3x!quant.uniform<i8:f32, 5.000000e-01:3>>
  %10 = stablehlo.dynamic_slice %q, %i, %i, sizes = [1, 3] : (tensor<2x3x!quant.uniform<i8:f32, 5.000000e-01:3>>, tensor<i32>, tensor<i32>) -> tensor<1x3x!quant.uniform<i8:f32, 5.000000e-01:3>>
  %11 = stablehlo.dynamic_update_slice %q, %4, %i, %i : (tensor<2x3x!quant.uniform<i8:f32, 5.000000e-01:3>>, tensor<1x3x!quant.uniform<i8:f32, 5.000000e-01:3>>, tensor<i32>, tensor<i32>) -> tensor<2x3x!quant.uniform<i8:f32, 5.000000e-01:3>>
  return %0 : tensor<3x2x!quant.uniform<i8:f32, 5.000000e-01:3>>
}
// -----
func.func @dot_general(%x: tensor<2x3x!quant.uniform<i8:f32, 5.000000e-01:3>>, %w: tensor<3x4x!quant.uniform<i8:f32, 2.500000e-01>>, %c: tensor<3x4x!quant.uniform<i8<-127:127>:f32:1, {1.000000e-01, 2.000000e-01, 3.000000e-01, 4.000000e-01}>>, %f: tensor<2x3xf32>) -> tensor<2x4x!quant.uniform<i32:f32, 1.250000e-01>> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x3x!quant.uniform<i8:f32, 5.000000e-01:3>>, tensor<3x4x!quant.uniform<i8:f32, 2.500000e-01>>) -> tensor<2x4x!quant.uniform<i32:f32, 1.250000e-01>>
  %1 = stablehlo.dot_general %x, %c, contracting_dims = [1] x [0] : (tensor<2x3x!quant.uniform<i8:f32, 5.000000e-01:3>>, tensor<3x4x!quant.uniform<i8<-127:127>:f32:1, {1.000000e-01, 2.000000e-01, 3.000000e-01, 4.000000e-01}>>) -> tensor<2x4x!quant.uniform<i32:f32:1, {5.000000e-02, 1.000000e-01, 1.500000e-01, 2.000000e-01}>>
  %2 = stablehlo.dot_general %f, %w, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4x!quant.uniform<i8:f32, 2.500000e-01>>) -> tensor<2x4xf32>
  %3 = stablehlo.dot %x, %w : (tensor<2x3x!quant.uniform<i8:f32, 5.000000e-01:3>>, tensor<3x4x!quant.uniform<i8:f32, 2.500000e-01>>) -> tensor<2x4x!quant.uniform<i32:f32, 1.250000e-01>>
  return %0 : tensor<2x4x!quant.uniform<i32:f32, 1.250000e-01>>
}
// -----
func.func @convolution(%x: tensor<1x8x8x4x!quant.uniform<i8:f32, 5.000000e-01>>, %w: tensor<3x3x4x2x!quant.uniform<i8:f32, 2.500000e-01>>, %c: tensor<3x3x4x2x!quant.uniform<i8<-127:127>:f32:3, {1.000000e-01, 2.000000e-01}>>) -> tensor<1x6x6x2x!quant.uniform<i32:f32, 1.250000e-01>> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x4x!quant.uniform<i8:f32, 5.000000e-01>>, tensor<3x3x4x2x!quant.uniform<i8:f32, 2.500000e-01>>) -> tensor<1x6x6x2x!quant.uniform<i32:f32, 1.250000e-01>>
  %1 = stablehlo.convolution(%x, %c) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x4x!quant.uniform<i8:f32, 5.000000e-01>>, tensor<3x3x4x2x!quant.uniform<i8<-127:127>:f32:3, {1.000000e-01, 2.000000e-01}>>) -> tensor<1x6x6x2x!quant.uniform<i32:f32:3, {5.000000e-02, 1.000000e-01}>>
  return %0 : tensor<1x6x6x2x!quant.uniform<i32:f32, 1.250000e-01>>
}
// -----
func.func @reduce(%x: tensor<4x5x!quant.uniform<i8:f32, 5.000000e-01>>, %z: tensor<!quant.uniform<i8:f32, 5.000000e-01>>) -> tensor<5x!quant.uniform<i8:f32, 5.000000e-01>> {
  %0 = "stablehlo.reduce"(%x, %z) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<!quant.uniform<i8:f32, 5.000000e-01>>, %b: tensor<!quant.uniform<i8:f32, 5.000000e-01>>):
    %1 = stablehlo.add %a, %b : tensor<!quant.uniform<i8:f32, 5.000000e-01>>
    stablehlo.return %1 : tensor<!quant.uniform<i8:f32, 5.000000e-01>>
  }) : (tensor<4x5x!quant.uniform<i8:f32, 5.000000e-01>>, tensor<!quant.uniform<i8:f32, 5.000000e-01>>) -> tensor<5x!quant.uniform<i8:f32, 5.000000e-01>>
  return %0 : tensor<5x!quant.uniform<i8:f32, 5.000000e-01>>
}
