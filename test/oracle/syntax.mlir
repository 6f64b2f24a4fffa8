// Spellings that nobody's printer writes, or seldom: for syntax.py, which asks jaxlib what is valid and changes them token by token.
// -----
func.func @elementwise(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.add %a, %b : tensor<2x3xf32>
  %1 = stablehlo.add %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = stablehlo.subtract %0, %1 {mhlo.frontend_attributes = {a = "b"}} : tensor<2x3xf32>
  %3 = stablehlo.abs %2 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %4 = stablehlo.negate %3 {x.y = 1 : i8} : tensor<2x3xf32>
  %5 = "stablehlo.tanh"(%4) {result_accuracy = #stablehlo.result_accuracy<ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %5 : tensor<2x3xf32>
}
// -----
func.func @accuracy(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.exponential %a {result_accuracy = #stablehlo.result_accuracy<atol = 1.0e-5, rtol = 0.0, ulps = 1, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<2xf32>
  %1 = stablehlo.exponential_minus_one %0 {result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : tensor<2xf32>
  %2 = stablehlo.log %1 {result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<DEFAULT>>} : tensor<2xf32>
  return %2 : tensor<2xf32>
}
// -----
func.func @accuracy(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.log_plus_one %a {result_accuracy = #stablehlo.result_accuracy<ulps = 5, mode = <TOLERANCE>>} : tensor<2xf32>
  return %0 : tensor<2xf32>
}
// -----
func.func @accuracy(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.logistic %a {result_accuracy = #stablehlo.result_accuracy<mode = TOLERANCE, atol = 1.5>} : tensor<2xf32>
  return %0 : tensor<2xf32>
}
// -----
func.func @accuracy(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.rsqrt %a {result_accuracy = #stablehlo.result_accuracy<>} : tensor<2xf32>
  return %0 : tensor<2xf32>
}
// -----
func.func @accuracy(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.sqrt %a {result_accuracy = #stablehlo.result_accuracy<atol = -1.5, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<2xf32>
  return %0 : tensor<2xf32>
}
// -----
func.func @accuracy(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.cbrt %a {result_accuracy = #stablehlo.result_accuracy<atol = 2.0, rtol = 1.0, ulps = 1, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<2xf32>
  return %0 : tensor<2xf32>
}
// -----
func.func @accuracy(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.sine %a {result_accuracy = #stablehlo.result_accuracy<atol = 2.0, rtol = 1.0, ulps = 1, mode = #stablehlo.result_accuracy_mode<DEFAULT>>} : tensor<2xf32>
  return %0 : tensor<2xf32>
}
// -----
func.func @accuracy(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.cosine %a {result_accuracy = #stablehlo.result_accuracy<ulps = -1, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<2xf32>
  return %0 : tensor<2xf32>
}
// -----
func.func @accuracy(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.tan %a {result_accuracy = #stablehlo.result_accuracy<atol = 2.0, rtol = 1.0, ulps = 1, mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : tensor<2xf32>
  return %0 : tensor<2xf32>
}
// -----
func.func @accuracy_2(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.cbrt %a : tensor<2xf32>
  %1 = stablehlo.cosine %0 : tensor<2xf32>
  %2 = stablehlo.sine %1 : tensor<2xf32>
  %3 = stablehlo.tan %2 : tensor<2xf32>
  return %3 : tensor<2xf32>
}
// -----
func.func @complex(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.complex %a, %b : tensor<2xcomplex<f32>>
  %1 = stablehlo.complex %a, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xcomplex<f32>>
  %2 = stablehlo.real %0 : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %3 = stablehlo.imag %1 : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %4 = stablehlo.abs %1 : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %5 = stablehlo.constant dense<(1.0, -2.5e3)> : tensor<2xcomplex<f32>>
  %6 = stablehlo.constant dense<[(1.0, 0.0), (0x7FC00000, 0xFF800000)]> : tensor<2xcomplex<f32>>
  %7 = stablehlo.constant dense<"0x0000803F000000400000404000008040"> : tensor<2xcomplex<f32>>
  return %4 : tensor<2xf32>
}
// -----
func.func @constants() -> tensor<2xf32> {
  %0 = stablehlo.constant dense<[1.0, 2.5]> : tensor<2xf32>
  %c = stablehlo.constant dense<"0x0000803F00000040"> : tensor<2xf32>
  %1 = stablehlo.constant dense<0x7FC00001> : tensor<2xf32>
  %2 = stablehlo.constant dense<[]> : tensor<0xf32>
  %3 = stablehlo.constant dense<> : tensor<0x4xi8>
  %4 = stablehlo.constant dense<true> : tensor<3xi1>
  %5 = stablehlo.constant dense<[true, false, 1]> : tensor<3xi1>
  %6 = stablehlo.constant dense<[-8, 7]> : tensor<2xi4>
  %7 = stablehlo.constant dense<[0, 15]> : tensor<2xui4>
  %8 = stablehlo.constant dense<"0xFFFE"> : tensor<2xi8>
  %9 = stablehlo.constant {a.b = 1} dense<1> : tensor<i64>
  %10 = "stablehlo.constant"() {value = dense<1> : tensor<i64>} : () -> tensor<i64>
  %11 = "stablehlo.constant"() <{value = dense<1.0> : tensor<2xbf16>}> : () -> tensor<2xbf16>
  %12 = stablehlo.constant() {value = dense<3> : tensor<2xi16>} : () -> tensor<2xi16>
  %13 = stablehlo.constant() <{value = dense<3> : tensor<2xi16>}> : () -> tensor<2xi16>
  %14 = stablehlo.constant sparse<[[0]], [3.0]> : tensor<2xf32>
  %15 = stablehlo.constant dense_resource<blob> : tensor<2xf32>
  %16 = stablehlo.constant dense<0xFF> : tensor<2xi8>
  %18 = stablehlo.constant dense<18446744073709551615> : tensor<2xui64>
  %19 = stablehlo.constant dense<[[1.0], [2.0]]> : tensor<2x1xf8E4M3FN>
  %20 = stablehlo.constant dense<1.5> : tensor<4xf4E2M1FN>
  %21 = stablehlo.constant dense<0x38> : tensor<4xf8E5M2>
  return %0 : tensor<2xf32>
}
{-#
  dialect_resources: {
    builtin: {
      blob: "0x040000000000803F00000040"
    }
  }
#-}
// -----
func.func @sub_byte(%a: tensor<4xi2>, %b: tensor<4xui2>, %c: tensor<4xf6E2M3FN>, %d: tensor<4xf6E3M2FN>, %e: tensor<4xf8E8M0FNU>, %f: tensor<4xf8E3M4>) -> tensor<4xf32> {
  %0 = stablehlo.constant dense<[0, 1, -2, -1]> : tensor<4xi2>
  %1 = stablehlo.add %a, %0 : tensor<4xi2>
  %2 = stablehlo.convert %b : (tensor<4xui2>) -> tensor<4xf32>
  %3 = stablehlo.convert %c : (tensor<4xf6E2M3FN>) -> tensor<4xf32>
  %4 = stablehlo.convert %d : (tensor<4xf6E3M2FN>) -> tensor<4xf8E8M0FNU>
  %5 = stablehlo.constant dense<2.0> : tensor<4xf8E8M0FNU>
  %6 = stablehlo.multiply %f, %f : tensor<4xf8E3M4>
  %7 = stablehlo.bitcast_convert %e : (tensor<4xf8E8M0FNU>) -> tensor<4x4xi2>
  %8 = stablehlo.constant dense<"0x01020300"> : tensor<4xi2>
  return %3 : tensor<4xf32>
}
// -----
func.func @compare(%a: tensor<3xf32>, %b: tensor<3xi32>) -> tensor<3xi1> {
  %0 = stablehlo.compare EQ, %a, %a : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %1 = stablehlo.compare LT, %a, %a, TOTALORDER : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %2 = stablehlo.compare GE, %b, %b, SIGNED {a.b} : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
  %3 = "stablehlo.compare"(%b, %b) {comparison_direction = #stablehlo<comparison_direction GT>, compare_type = #stablehlo<comparison_type SIGNED>} : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
  %4 = stablehlo.compare NE, %b, %b, NOTYPE : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
  return %0 : tensor<3xi1>
}
// -----
func.func @select(%p: tensor<3xi1>, %s: tensor<i1>, %a: tensor<3xf32>, %q: tensor<?xf32>) -> tensor<3xf32> {
  %0 = stablehlo.select %p, %a, %a : tensor<3xi1>, tensor<3xf32>
  %1 = stablehlo.select %s, %a, %a : tensor<i1>, tensor<3xf32>
  %2 = stablehlo.select %p, %a, %a : (tensor<3xi1>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %3 = stablehlo.select %s, %a, %q : (tensor<i1>, tensor<3xf32>, tensor<?xf32>) -> tensor<?xf32>
  %4 = stablehlo.clamp %a, %a, %a : tensor<3xf32>
  %5 = stablehlo.clamp %a, %a, %a : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %6 = stablehlo.reduce_precision %a, format = e5m10 : tensor<3xf32>
  %7 = stablehlo.reduce_precision %a, format = e8m7 {a.b = "c"} : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
// -----
func.func @shapes(%a: tensor<2x3xf32>, %z: tensor<f32>) -> tensor<3x2xf32> {
  %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = stablehlo.reshape %a : (tensor<2x3xf32>) -> tensor<6xf32>
  %2 = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
  %3 = stablehlo.broadcast_in_dim %a, dims = [0, 1] {broadcast.x = 1 : i32} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %4 = stablehlo.broadcast %a, sizes = [4, 5] : (tensor<2x3xf32>) -> tensor<4x5x2x3xf32>
  %5 = stablehlo.reverse %a, dims = [0] : tensor<2x3xf32>
  %6 = stablehlo.concatenate %a, %a, %a, dim = 0 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<6x3xf32>
  %7 = stablehlo.concatenate %a, dim = 1 {a.b} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %8 = stablehlo.slice %a [0:2, 0:3:2] : (tensor<2x3xf32>) -> tensor<2x2xf32>
  %9 = stablehlo.slice %z [] : (tensor<f32>) -> tensor<f32>
  %10 = stablehlo.pad %a, %z, low = [0, -1], high = [1, 0], interior = [0, 2] : (tensor<2x3xf32>, tensor<f32>) -> tensor<3x6xf32>
  %11 = stablehlo.iota dim = 0 : tensor<4xi32>
  %12 = stablehlo.get_dimension_size %a, dim = 1 : (tensor<2x3xf32>) -> tensor<i32>
  %13 = stablehlo.iota dim = 1 {a.b = [1, "c"]} : tensor<4x4xcomplex<f32>>
  return %0 : tensor<3x2xf32>
}
// -----
func.func @slices(%a: tensor<4x8xf32>, %u: tensor<2x2xf32>, %i: tensor<i32>, %z: tensor<f32>) -> tensor<2x2xf32> {
  %0 = stablehlo.dynamic_slice %a, %i, %i, sizes = [2, 2] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<2x2xf32>
  %1 = stablehlo.dynamic_slice %z, sizes = [] : (tensor<f32>) -> tensor<f32>
  %2 = stablehlo.dynamic_update_slice %a, %u, %i, %i : (tensor<4x8xf32>, tensor<2x2xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
  %3 = stablehlo.dynamic_update_slice %z, %z : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %4 = "stablehlo.gather"(%a, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], start_index_map = [0]>, slice_sizes = array<i64: 1, 8>} : (tensor<4x8xf32>, tensor<i32>) -> tensor<1x8xf32>
  %5 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<start_index_map = [0], collapsed_slice_dims = [0], offset_dims = [0], index_vector_dim = 0>, slice_sizes = array<i64: 1, 8>, indices_are_sorted = true}> : (tensor<4x8xf32>, tensor<i32>) -> tensor<8xf32>
  return %0 : tensor<2x2xf32>
}
// -----
func.func @dots(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>, %c: tensor<5x2x3xf32>, %d: tensor<5x3x4xf32>) -> tensor<2x4xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %1 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], precision = [HIGH, HIGHEST] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %2 = stablehlo.dot_general %c, %d, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> tensor<5x2x4xf32>
  %3 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %4 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 6, allow_imprecise_accumulation = false> {a.b} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %5 = stablehlo.dot %a, %b, precision = [HIGH, DEFAULT] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %6 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<rhs_contracting_dimensions = [0], lhs_contracting_dimensions = [1]>, precision_config = []}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %7 = stablehlo.dot_general %a, %b, contracting_dims = [] x [] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x3x3x4xf32>
  %8 = "stablehlo.einsum"(%a, %b) <{einsum_config = "ab,bc->ac"}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %9 = "stablehlo.unary_einsum"(%a) <{einsum_config = "ab->a"}> : (tensor<2x3xf32>) -> tensor<2xf32>
  return %0 : tensor<2x4xf32>
}
// -----
func.func @convolution(%x: tensor<1x8x8x4xf32>, %w: tensor<3x3x4x2xf32>) -> tensor<1x6x6x2xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision HIGHEST>]} : (tensor<1x8x8x4xf32>, tensor<3x3x4x2xf32>) -> tensor<1x6x6x2xf32>
  %1 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {reverse = [1, 0], stride = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x2xf32>) -> tensor<1x6x6x2xf32>
  %2 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x2xf32>) -> tensor<1x6x6x2xf32>
  %3 = "stablehlo.convolution"(%x, %w) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, padding = dense<0> : tensor<2x2xi64>, rhs_dilation = array<i64: 1, 1>}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x2xf32>) -> tensor<1x6x6x2xf32>
  %4 = "stablehlo.convolution"(%x, %w) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x2xf32>) -> tensor<1x6x6x2xf32>
  return %0 : tensor<1x6x6x2xf32>
}
// -----
func.func @unknown_dims(%x: tensor<1x8x?x4xf32>, %w: tensor<3x3x4x2xf32>) -> tensor<1x6x?x2xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, ?, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x?x4xf32>, tensor<3x3x4x2xf32>) -> tensor<1x6x?x2xf32>
  return %0 : tensor<1x6x?x2xf32>
}
// -----
func.func @reduces(%x: tensor<4x5xf32>, %i: tensor<4x5xi32>, %z: tensor<f32>, %j: tensor<i32>) -> tensor<5xf32> {
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4x5xf32>, tensor<f32>) -> tensor<5xf32>
  %1 = stablehlo.reduce(%x init: %z) applies stablehlo.maximum across dimensions = [0, 1] {a.b = 2 : i32} : (tensor<4x5xf32>, tensor<f32>) -> tensor<f32>
  %2 = stablehlo.reduce(%x init: %z) across dimensions = [1] : (tensor<4x5xf32>, tensor<f32>) -> tensor<4xf32>
    reducer(%a: tensor<f32>, %b: tensor<f32>)  {
    %k = stablehlo.multiply %b, %a : tensor<f32>
    stablehlo.return %k : tensor<f32>
  }
  %3:2 = stablehlo.reduce(%x init: %z), (%i init: %j) across dimensions = [1] : (tensor<4x5xf32>, tensor<4x5xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
    reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<i32>, %d: tensor<i32>)  {
    stablehlo.return %b, %c : tensor<f32>, tensor<i32>
  }
  %4 = stablehlo.reduce(%x init: %z) across dimensions = [] : (tensor<4x5xf32>, tensor<f32>) -> tensor<4x5xf32>
    reducer(%a: tensor<f32> loc("here"), %b: tensor<f32> loc(unknown))  {
    stablehlo.return %a : tensor<f32> loc("there":1:2)
  } loc(fused["a", "b"])
  %5 = stablehlo.reduce(%x init: %z) applies stablehlo.minimum across dimensions = [0] : (tensor<4x5xf32>, tensor<f32>) -> tensor<5xf32> loc("named"("file":3:4))
  return %0 : tensor<5xf32>
}
// -----
func.func @whiles(%i: tensor<i32>, %x: tensor<3xf32>, %p: tensor<i1>) -> tensor<3xf32> {
  %0:2 = stablehlo.while(%a = %i, %b = %x) : tensor<i32>, tensor<3xf32>
  cond {
    %1 = stablehlo.compare LT, %a, %a : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    stablehlo.return %a, %b : tensor<i32>, tensor<3xf32>
  }
  %2:2 = stablehlo.while(%a = %i, %b = %x) : tensor<i32>, tensor<3xf32> attributes {mhlo.frontend_attributes = {k = "v"}}
  cond {
    stablehlo.return %p : tensor<i1>
  } do {
    stablehlo.return %a, %b : tensor<i32>, tensor<3xf32>
  }
  stablehlo.while() cond {
    stablehlo.return %p : tensor<i1>
  } do {
    stablehlo.return
  }
  %3 = stablehlo.while(%a = %x) : tensor<3xf32> cond { stablehlo.return %p : tensor<i1> } do { stablehlo.return %a : tensor<3xf32> } loc(callsite("f" at "g"))
  return %0#1 : tensor<3xf32>
}
// -----
func.func @branches(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = "stablehlo.if"(%p) ({ stablehlo.return %x : tensor<3xf32> }, { %1 = stablehlo.negate %x : tensor<3xf32> stablehlo.return %1 : tensor<3xf32> }) {a.b = 1} : (tensor<i1>) -> tensor<3xf32>
  %2 = "stablehlo.case"(%i) ({ stablehlo.return %x : tensor<3xf32> }) : (tensor<i32>) -> tensor<3xf32>
  "stablehlo.if"(%p) ({ stablehlo.return }, { "stablehlo.return"() : () -> () }) : (tensor<i1>) -> ()
  %3:2 = "stablehlo.case"(%i) ({ ^bb0: stablehlo.return %x, %p : tensor<3xf32>, tensor<i1> }, { stablehlo.return %x, %p : tensor<3xf32>, tensor<i1> }) : (tensor<i32>) -> (tensor<3xf32>, tensor<i1>)
  return %0 : tensor<3xf32>
}
// -----
func.func @tuples(%x: tensor<3xf32>, %t: !stablehlo.token) -> tensor<3xf32> {
  %0 = stablehlo.tuple %x, %t : tuple<tensor<3xf32>, !stablehlo.token>
  %1 = stablehlo.get_tuple_element %0[0] : (tuple<tensor<3xf32>, !stablehlo.token>) -> tensor<3xf32>
  %2 = stablehlo.get_tuple_element %0[1] {a.b} : (tuple<tensor<3xf32>, !stablehlo.token>) -> !stablehlo.token
  %4 = stablehlo.tuple %0, %x : tuple<tuple<tensor<3xf32>, !stablehlo.token>, tensor<3xf32>>
  %5 = stablehlo.optimization_barrier %x : tensor<3xf32>
  %6:2 = stablehlo.optimization_barrier %x, %t {a.b = 1} : tensor<3xf32>, !stablehlo.token
  stablehlo.optimization_barrier ()
  %7:2 = stablehlo.optimization_barrier %x, %x : (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  %8 = stablehlo.after_all %t, %t : !stablehlo.token
  %10 = stablehlo.after_all : !stablehlo.token
  %11 = "stablehlo.after_all"() : () -> !stablehlo.token
  return %1 : tensor<3xf32>
}
// -----
func.func private @callee(%x: tensor<3xf32>) -> tensor<3xf32> {
  return %x : tensor<3xf32>
}
func.func @custom_calls(%x: tensor<3xf32>, %m: tensor<2x3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.custom_call @target(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %1 = stablehlo.custom_call @"a b.c"() : () -> tensor<3xf32>
  stablehlo.custom_call @nothing() {has_side_effect = true} : () -> ()
  %2 = stablehlo.custom_call @target(%x, %m) {api_version = 4 : i32, backend_config = {a = 1 : i64, b = dense<1.0> : tensor<2xf32>, c = array<i32: 1, 2>, d = [1, "x"], e}, has_side_effect = false} : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<3xf32>
  %3 = stablehlo.custom_call @target(%x) {backend_config = "\00\01\FFx\22", api_version = 1 : i32, called_computations = [@callee, @callee]} : (tensor<3xf32>) -> tensor<3xf32>
  %4 = stablehlo.custom_call @target(%m) {operand_layouts = [dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<0> : tensor<1xindex>], api_version = 3 : i32} : (tensor<2x3xf32>) -> tensor<3xf32>
  %5 = stablehlo.custom_call @target(%x) {output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : (tensor<3xf32>) -> tensor<3xf32>
  %6 = "stablehlo.custom_call"(%x) <{call_target_name = "x y", api_version = 2 : i32}> {mhlo.sharding = "{replicated}", mhlo.frontend_attributes = {x = "y"}} : (tensor<3xf32>) -> tensor<3xf32>
  %7:2 = stablehlo.custom_call @target(%x) {custom_call_schedule = 0} : (tensor<3xf32>) -> (tensor<3xf32>, tuple<tensor<3xf32>>)
  return %0 : tensor<3xf32>
}
// -----
func.func private @decomposed(%x: tensor<3xf32>) -> tensor<3xf32> {
  return %x : tensor<3xf32>
}
func.func @composites(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.composite "my.op" %x {decomposition = @decomposed} : (tensor<3xf32>) -> tensor<3xf32>
  %1 = stablehlo.composite "my.op" %x {composite_attributes = {n = 1 : i32, s = "a", t = dense<1> : tensor<2xi8>}, decomposition = @decomposed, version = 1 : i32} : (tensor<3xf32>) -> tensor<3xf32>
  %2 = "stablehlo.composite"(%x) <{name = "my.other", decomposition = @decomposed, version = 0 : i32}> : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
// -----
func.func @dynamic(%x: tensor<?x3xf32>, %s: tensor<2xi32>, %one: tensor<1xi32>, %i: tensor<2xi64>, %z: tensor<f32>, %n: tensor<i32>) -> tensor<?x?xf32> {
  %0 = stablehlo.dynamic_reshape %x, %s : (tensor<?x3xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  %1 = stablehlo.dynamic_broadcast_in_dim %x, %s, dims = [0, 1] : (tensor<?x3xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  %2 = "stablehlo.dynamic_broadcast_in_dim"(%x, %s) <{broadcast_dimensions = array<i64: 0, 1>, known_expanding_dimensions = array<i64: 0>, known_nonexpanding_dimensions = array<i64: 1>}> : (tensor<?x3xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  %3 = stablehlo.dynamic_iota %s, dim = 0 : (tensor<2xi32>) -> tensor<?x?xf32>
  %4 = stablehlo.dynamic_pad %x, %z, %i, %i, %i : (tensor<?x3xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  %5 = stablehlo.real_dynamic_slice %x, %i, %i, %i : (tensor<?x3xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  %6 = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<?x3xf32>, tensor<i32>) -> tensor<?x3xf32>
  %7 = "stablehlo.dynamic_gather"(%x, %i, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], start_index_map = [0, 1]>, indices_are_sorted = false} : (tensor<?x3xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}
// -----
func.func @bounds(%x: tensor<?x3xf32, #stablehlo.bounds<4, ?>>, %y: tensor<?x?xf32, #stablehlo.type_extensions<bounds = [4, 5]>>) -> tensor<?x3xf32, #stablehlo.bounds<4, ?>> {
  %0 = stablehlo.add %x, %x : tensor<?x3xf32, #stablehlo.bounds<4, ?>>
  %1 = stablehlo.abs %y : tensor<?x?xf32, #stablehlo.type_extensions<bounds = [4, 5]>>
  %2 = stablehlo.abs %y : tensor<?x?xf32, #stablehlo.bounds<4, 5>>
  return %0 : tensor<?x3xf32, #stablehlo.bounds<4, ?>>
}
// -----
func.func @quantized(%a: tensor<2x4x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<2x4x!quant.uniform<i8:f32, 0.5:3>> {
  %0 = stablehlo.add %a, %a : tensor<2x4x!quant.uniform<i8:f32, 0.5:3>>
  return %0 : tensor<2x4x!quant.uniform<i8:f32, 0.5:3>>
}
// -----
func.func @quantized(%b: tensor<2x4x!quant.uniform<u8<1:254>:f32:0, {0.1, 2.0e-1:10}>>) -> tensor<2x4x!quant.uniform<u8<1:254>:f32:0, {0.1, 2.0e-1:10}>> {
  %0 = stablehlo.reshape %b : (tensor<2x4x!quant.uniform<u8<1:254>:f32:0, {0.1, 2.0e-1:10}>>) -> tensor<2x4x!quant.uniform<u8<1:254>:f32:0, {0.1, 2.0e-1:10}>>
  return %0 : tensor<2x4x!quant.uniform<u8<1:254>:f32:0, {0.1, 2.0e-1:10}>>
}
// -----
func.func @quantized(%b: tensor<2x4x!quant.uniform<i8:f32:{0:1, 1:2}, {{1.0:1, 2.0}, {3.0, 4.0}}>>) -> tensor<2x4x!quant.uniform<i8:f32:{0:1, 1:2}, {{1.0:1, 2.0}, {3.0, 4.0}}>> {
  %0 = stablehlo.reshape %b : (tensor<2x4x!quant.uniform<i8:f32:{0:1, 1:2}, {{1.0:1, 2.0}, {3.0, 4.0}}>>) -> tensor<2x4x!quant.uniform<i8:f32:{0:1, 1:2}, {{1.0:1, 2.0}, {3.0, 4.0}}>>
  return %0 : tensor<2x4x!quant.uniform<i8:f32:{0:1, 1:2}, {{1.0:1, 2.0}, {3.0, 4.0}}>>
}
// -----
func.func @quantized(%b: tensor<2x4x!quant.any<i8:f32>>) -> tensor<2x4x!quant.any<i8:f32>> {
  %0 = stablehlo.reshape %b : (tensor<2x4x!quant.any<i8:f32>>) -> tensor<2x4x!quant.any<i8:f32>>
  return %0 : tensor<2x4x!quant.any<i8:f32>>
}
// -----
func.func @quantized(%b: tensor<2x4x!quant.calibrated<f32<-1.0:1.0>>>) -> tensor<2x4x!quant.calibrated<f32<-1.0:1.0>>> {
  %0 = stablehlo.reshape %b : (tensor<2x4x!quant.calibrated<f32<-1.0:1.0>>>) -> tensor<2x4x!quant.calibrated<f32<-1.0:1.0>>>
  return %0 : tensor<2x4x!quant.calibrated<f32<-1.0:1.0>>>
}
// -----
func.func @quantized(%b: tensor<2x4x!quant.uniform<i4:bf16, 1.0e-3:-8>>) -> tensor<2x4x!quant.uniform<i4:bf16, 1.0e-3:-8>> {
  %0 = stablehlo.reshape %b : (tensor<2x4x!quant.uniform<i4:bf16, 1.0e-3:-8>>) -> tensor<2x4x!quant.uniform<i4:bf16, 1.0e-3:-8>>
  return %0 : tensor<2x4x!quant.uniform<i4:bf16, 1.0e-3:-8>>
}
// -----
func.func @quantized(%b: tensor<2x4x!quant.uniform<i8:f32, 0.0>>) -> tensor<2x4x!quant.uniform<i8:f32, 0.0>> {
  %0 = stablehlo.reshape %b : (tensor<2x4x!quant.uniform<i8:f32, 0.0>>) -> tensor<2x4x!quant.uniform<i8:f32, 0.0>>
  return %0 : tensor<2x4x!quant.uniform<i8:f32, 0.0>>
}
// -----
func.func @quantized(%b: tensor<2x4x!quant.uniform<i8:f32, -1.0>>) -> tensor<2x4x!quant.uniform<i8:f32, -1.0>> {
  %0 = stablehlo.reshape %b : (tensor<2x4x!quant.uniform<i8:f32, -1.0>>) -> tensor<2x4x!quant.uniform<i8:f32, -1.0>>
  return %0 : tensor<2x4x!quant.uniform<i8:f32, -1.0>>
}
// -----
func.func @quantized(%b: tensor<2x4x!quant.uniform<i8:f32:5, {1.0, 2.0}>>) -> tensor<2x4x!quant.uniform<i8:f32:5, {1.0, 2.0}>> {
  %0 = stablehlo.reshape %b : (tensor<2x4x!quant.uniform<i8:f32:5, {1.0, 2.0}>>) -> tensor<2x4x!quant.uniform<i8:f32:5, {1.0, 2.0}>>
  return %0 : tensor<2x4x!quant.uniform<i8:f32:5, {1.0, 2.0}>>
}
// -----
func.func @quantized(%b: tensor<2x4x!quant.uniform<i8:f32:1, {1.0, 2.0}>>) -> tensor<2x4x!quant.uniform<i8:f32:1, {1.0, 2.0}>> {
  %0 = stablehlo.reshape %b : (tensor<2x4x!quant.uniform<i8:f32:1, {1.0, 2.0}>>) -> tensor<2x4x!quant.uniform<i8:f32:1, {1.0, 2.0}>>
  return %0 : tensor<2x4x!quant.uniform<i8:f32:1, {1.0, 2.0}>>
}
// -----
func.func @quantized(%b: tensor<2x4x!quant.uniform<ui8:f32, 1.0>>) -> tensor<2x4x!quant.uniform<ui8:f32, 1.0>> {
  %0 = stablehlo.reshape %b : (tensor<2x4x!quant.uniform<ui8:f32, 1.0>>) -> tensor<2x4x!quant.uniform<ui8:f32, 1.0>>
  return %0 : tensor<2x4x!quant.uniform<ui8:f32, 1.0>>
}
// -----
func.func @quantized(%b: tensor<2x4x!quant.uniform<i8:f32, 1.0:128>>) -> tensor<2x4x!quant.uniform<i8:f32, 1.0:128>> {
  %0 = stablehlo.reshape %b : (tensor<2x4x!quant.uniform<i8:f32, 1.0:128>>) -> tensor<2x4x!quant.uniform<i8:f32, 1.0:128>>
  return %0 : tensor<2x4x!quant.uniform<i8:f32, 1.0:128>>
}
// -----
func.func @quantized(%b: tensor<2x4x!quant.uniform<i8:f32, 1>>) -> tensor<2x4x!quant.uniform<i8:f32, 1>> {
  %0 = stablehlo.reshape %b : (tensor<2x4x!quant.uniform<i8:f32, 1>>) -> tensor<2x4x!quant.uniform<i8:f32, 1>>
  return %0 : tensor<2x4x!quant.uniform<i8:f32, 1>>
}
// -----
func.func @quantized(%b: tensor<2x4x!quant.uniform<f8E4M3FN:f32, 1.0>>) -> tensor<2x4x!quant.uniform<f8E4M3FN:f32, 1.0>> {
  %0 = stablehlo.reshape %b : (tensor<2x4x!quant.uniform<f8E4M3FN:f32, 1.0>>) -> tensor<2x4x!quant.uniform<f8E4M3FN:f32, 1.0>>
  return %0 : tensor<2x4x!quant.uniform<f8E4M3FN:f32, 1.0>>
}
// -----
func.func @quantized(%b: tensor<2x4x!quant.uniform<i32:f32, 1.0:200>>) -> tensor<2x4x!quant.uniform<i32:f32, 1.0:200>> {
  %0 = stablehlo.reshape %b : (tensor<2x4x!quant.uniform<i32:f32, 1.0:200>>) -> tensor<2x4x!quant.uniform<i32:f32, 1.0:200>>
  return %0 : tensor<2x4x!quant.uniform<i32:f32, 1.0:200>>
}
// -----
func.func @quantized(%b: tensor<2x4x!quant.uniform<i8:tensor<f32>, 1.0>>) -> tensor<2x4x!quant.uniform<i8:tensor<f32>, 1.0>> {
  %0 = stablehlo.reshape %b : (tensor<2x4x!quant.uniform<i8:tensor<f32>, 1.0>>) -> tensor<2x4x!quant.uniform<i8:tensor<f32>, 1.0>>
  return %0 : tensor<2x4x!quant.uniform<i8:tensor<f32>, 1.0>>
}
// -----
func.func @quantized(%b: tensor<2x4x!quant.uniform<i8, 1.0>>) -> tensor<2x4x!quant.uniform<i8, 1.0>> {
  %0 = stablehlo.reshape %b : (tensor<2x4x!quant.uniform<i8, 1.0>>) -> tensor<2x4x!quant.uniform<i8, 1.0>>
  return %0 : tensor<2x4x!quant.uniform<i8, 1.0>>
}
// -----
func.func @quantized(%b: tensor<2x4x!quant.uniform<i8<-300:7>:f32, 1.0>>) -> tensor<2x4x!quant.uniform<i8<-300:7>:f32, 1.0>> {
  %0 = stablehlo.reshape %b : (tensor<2x4x!quant.uniform<i8<-300:7>:f32, 1.0>>) -> tensor<2x4x!quant.uniform<i8<-300:7>:f32, 1.0>>
  return %0 : tensor<2x4x!quant.uniform<i8<-300:7>:f32, 1.0>>
}
// -----
func.func @quantized(%b: tensor<2x4x!quant.uniform<i33:f32, 1.0>>) -> tensor<2x4x!quant.uniform<i33:f32, 1.0>> {
  %0 = stablehlo.reshape %b : (tensor<2x4x!quant.uniform<i33:f32, 1.0>>) -> tensor<2x4x!quant.uniform<i33:f32, 1.0>>
  return %0 : tensor<2x4x!quant.uniform<i33:f32, 1.0>>
}
// -----
func.func @quantized(%b: tensor<2x4x!quant.uniform<i8:f32, 0x3F800000:1>>) -> tensor<2x4x!quant.uniform<i8:f32, 0x3F800000:1>> {
  %0 = stablehlo.reshape %b : (tensor<2x4x!quant.uniform<i8:f32, 0x3F800000:1>>) -> tensor<2x4x!quant.uniform<i8:f32, 0x3F800000:1>>
  return %0 : tensor<2x4x!quant.uniform<i8:f32, 0x3F800000:1>>
}
// -----
func.func @messages(%x: tensor<3xf32>, %t: !stablehlo.token) -> !stablehlo.token {
  %0 = "stablehlo.send"(%x, %t) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 2>, is_host_transfer = true} : (tensor<3xf32>, !stablehlo.token) -> !stablehlo.token
  %1:2 = "stablehlo.recv"(%0) {channel_handle = #stablehlo.channel_handle<type = 3, handle = 5>, is_host_transfer = true} : (!stablehlo.token) -> (tensor<3xf32>, !stablehlo.token)
  %2:2 = "stablehlo.infeed"(%1#1) {infeed_config = "x", layout = [[0]]} : (!stablehlo.token) -> (tensor<3xf32>, !stablehlo.token)
  %3 = "stablehlo.outfeed"(%x, %2#1) {outfeed_config = ""} : (tensor<3xf32>, !stablehlo.token) -> !stablehlo.token
  %4 = stablehlo.create_token : !stablehlo.token
  %5 = stablehlo.create_token {a.b} : !stablehlo.token
  return %3 : !stablehlo.token
}
// -----
func.func @collectives(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %0 = "stablehlo.all_reduce"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) {replica_groups = dense<[[0, 1], [2, -1]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>} : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %2 = "stablehlo.all_to_all"(%x) {split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %3 = "stablehlo.collective_permute"(%x) {source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %4 = "stablehlo.collective_broadcast"(%x) {replica_groups = dense<> : tensor<0x0xi64>} : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %5 = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>, use_global_device_ids} : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %6 = stablehlo.partition_id : tensor<ui32>
  %7 = stablehlo.replica_id {a.b} : tensor<ui32>
  return %0 : tensor<4x16xf32>
}
// -----
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @replica_groups(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %0 = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>} : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}
// -----
func.func @regions(%x: tensor<4x5xf32>, %i: tensor<2x1xi32>, %u: tensor<2x5xf32>, %z: tensor<f32>, %s: tensor<2x2xi32>) -> tensor<4x5xf32> {
  %0 = "stablehlo.scatter"(%x, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<2x1xi32>, tensor<2x5xf32>) -> tensor<4x5xf32>
  %1 = "stablehlo.reduce_window"(%x, %z) <{padding = dense<[[1, 0], [0, 1]]> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %2 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<f32>) -> tensor<4x5xf32>
  %3 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %4 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %4 : tensor<i1>
  }) : (tensor<4x5xf32>) -> tensor<4x5xf32>
  %5 = "stablehlo.map"(%x) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%a: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<4x5xf32>) -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}
// -----
func.func @linalg(%a: tensor<4x4xf32>, %b: tensor<4x3xf32>, %z: tensor<f32>, %n: tensor<2xi64>, %s: tensor<2xui64>) -> tensor<4x4xf32> {
  %0 = stablehlo.cholesky %a, lower = true : tensor<4x4xf32>
  %1 = stablehlo.cholesky %a : tensor<4x4xf32>
  %2 = stablehlo.cholesky %a, lower = false {a.b} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %4 = stablehlo.fft %a, type =  RFFT, length = [4] : (tensor<4x4xf32>) -> tensor<4x3xcomplex<f32>>
  %5 = stablehlo.rng %z, %z, %n, distribution =  UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<?x?xf32>
  %6, %7 = stablehlo.rng_bit_generator %s, algorithm =  THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4x4xui32>)
  %8, %9 = "stablehlo.rng_bit_generator"(%s) {rng_algorithm = #stablehlo<rng_algorithm PHILOX>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4x4xui32>)
  return %0 : tensor<4x4xf32>
}
// -----
func.func @batch_norm(%x: tensor<2x3xf32>, %s: tensor<3xf32>) -> tensor<2x3xf32> {
  %0:3 = "stablehlo.batch_norm_training"(%x, %s, %s) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  %1 = "stablehlo.batch_norm_inference"(%x, %s, %s, %s, %s) {epsilon = 0x3A83126F : f32, feature_index = 1 : i64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}
// -----
func.func @futures(%x: tensor<8x2xf32>) -> tensor<8x8xf32> {
  %0 = "stablehlo.async_start"(%x) ({
  ^bb0(%a: tensor<8x2xf32>):
    %1 = "stablehlo.all_gather"(%a) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<8x2xf32>) -> tensor<8x8xf32>
    stablehlo.return %1 : tensor<8x8xf32>
  }) : (tensor<8x2xf32>) -> !stablehlo.future<tensor<8x8xf32>>
  %2 = "stablehlo.async_done"(%0) : (!stablehlo.future<tensor<8x8xf32>>) -> tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}
// -----
func.func private @other(%f: !stablehlo.future<tensor<4xf32>, tensor<2xi32>>) attributes {llvm.linkage = #llvm.linkage<private>}
// -----
module @named attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i64, jax.uses_shape_polymorphism = false, a.b = [1, 2.0, "c", @d, f32, unit, #stablehlo<precision HIGH>]} {
  func.func public @main(%a: tensor<2xf32> {mhlo.sharding = "{replicated}", jax.buffer_donor = true, tf.aliasing_output = 0 : i32} loc("a")) -> (tensor<2xf32> {jax.result_info = "[0]"}) attributes {no_inline} {
    %0 = func.call @f(%a) {x.y} : (tensor<2xf32>) -> tensor<2xf32>
    %1 = call @f(%0) : (tensor<2xf32>) -> tensor<2xf32> loc(#here)
    return %1 : tensor<2xf32>
  }
  func.func private @f(tensor<2xf32>) -> tensor<2xf32>
}
#file = loc("f.py":1:2 to :3)
#here = loc(callsite("g"(#file) at fused<"pass">[unknown, "h.py":4:5 to 6:7]))
// -----
#alias = #stablehlo.channel_handle<handle = 1, type = 0>
!t = tensor<4x16xf32>
module {
  func.func @aliases(%x: !t) -> !t {
    %0 = "stablehlo.collective_permute"(%x) {source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #alias} : (!t) -> !t
    return %0 : !t
  }
}
// -----
func.func @chlo(%a: tensor<3xf32>, %b: tensor<3xf32>, %s: tensor<f32>, %d: tensor<?xf32>) -> tensor<3xf32> {
  %0 = chlo.broadcast_add %a, %b : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %1 = chlo.broadcast_add %a, %s {broadcast_dimensions = array<i64>} : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %2 = chlo.acos %a : tensor<3xf32> -> tensor<3xf32>
  %3 = chlo.erf_inv %a : tensor<3xf32> -> tensor<3xf32>
  %4 = chlo.is_inf %a : tensor<3xf32> -> tensor<3xi1>
  %5 = chlo.broadcast_compare %a, %b {comparison_direction = #chlo<comparison_direction EQ>} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %6 = chlo.broadcast_compare %a, %b {comparison_direction = #chlo<comparison_direction LT>, compare_type = #chlo<comparison_type TOTALORDER>} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %values, %indices = chlo.top_k(%a, k = 2) : tensor<3xf32> -> (tensor<2xf32>, tensor<2xi32>)
  %7 = chlo.constant dense<1.0> : tensor<f32>
  %8 = "chlo.constant_like"(%d) {value = 1.0 : f32} : (tensor<?xf32>) -> tensor<?xf32>
  %9 = "chlo.constant_like"(%a) <{value = 2.0 : f32}> : (tensor<3xf32>) -> tensor<3xf32>
  %10 = chlo.next_after %a, %b : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  %11 = chlo.zeta %a, %b : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  %12 = chlo.square %a : tensor<3xf32> -> tensor<3xf32>
  %13 = chlo.tan %a {a.b} : tensor<3xf32> -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
// -----
func.func @ragged(%lhs: tensor<2x11x5xf32>, %rhs: tensor<3x2x5x7xf32>, %groups: tensor<3xi64>) -> tensor<2x11x7xf32> {
  %0 = "chlo.ragged_dot"(%lhs, %rhs, %groups) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [1], rhs_group_dimensions = [0]>, precision_config = [#chlo<precision DEFAULT>, #chlo<precision DEFAULT>]} : (tensor<2x11x5xf32>, tensor<3x2x5x7xf32>, tensor<3xi64>) -> tensor<2x11x7xf32>
  return %0 : tensor<2x11x7xf32>
}
// -----
sdy.mesh @mesh = <["x"=2, "y"=4]>
sdy.mesh @ids = <["x"=2, "y"=2], device_ids=[3, 2, 1, 0]>
sdy.mesh @maximal = <[], device_ids=[5]>
sdy.mesh @none = <[]>
func.func @sdy(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %b: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}p1, {?}], replicated={"y":(1)2}>}) -> (tensor<8x16xf32> {sdy.sharding = #sdy.sharding<mesh<["z"=2]>, [{}, {"z"}]>}) {
  %0 = sdy.sharding_constraint %a <@mesh, [{}, {"y":(2)2}]> : tensor<8x16xf32>
  %1 = sdy.reshard %0 <@mesh, [{"x"}, {}], replicated={"y"}> : tensor<8x16xf32>
  %2 = sdy.propagation_barrier %1 allowed_direction=BACKWARD : tensor<8x16xf32>
  %3 = sdy.all_gather [{}, {"y"}] %a out_sharding=<@mesh, [{"x"}, {}]> : tensor<8x16xf32>
  %4 = sdy.all_slice [{}, {"y"}] %3 out_sharding=<@mesh, [{"x"}, {"y"}]> : tensor<8x16xf32>
  %5 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%c: tensor<4x16xf32>) {
    sdy.return %c : tensor<4x16xf32>
  } : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %6 = stablehlo.add %a, %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {?}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [i, j])->([i, j]) {i=8, j=16}>} : tensor<8x16xf32>
  return %6 : tensor<8x16xf32>
}
// -----
func.func @one_token(%t: !stablehlo.token) {
  %9 = stablehlo.after_all %t : (!stablehlo.token) -> !stablehlo.token
  return
}
// -----
func.func @negative() {
  %17 = stablehlo.constant dense<-1> : tensor<2xui8>
  return
}
// -----
func.func @integer_for_float() {
  %0 = stablehlo.constant dense<[1.0, 2]> : tensor<2xf32>
  return
}
// -----
func.func @empty_tuple() {
  %0 = stablehlo.tuple : tuple<>
  return
}
// -----
func.func @mulhi(%a: tensor<3xi32>) -> tensor<3xi32> {
  %0 = chlo.mulhi %a, %a : tensor<3xi32>, tensor<3xi32> -> tensor<3xi32>
  return %0 : tensor<3xi32>
}
