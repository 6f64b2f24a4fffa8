// RUN: slimhlo-opt %s --split-input-file --verify-diagnostics

func.func @valid(%x: tensor<2x3xf32>, %y: tensor<1xf32>, %d: tensor<?x3xf32, #stablehlo.bounds<8, ?>>) {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = stablehlo.reshape %x : (tensor<2x3xf32>) -> tensor<1x6x1xf32>
  %2 = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<1xf32>) -> tensor<4x5xf32>
  %3 = stablehlo.reverse %x, dims = [0, 1] : tensor<2x3xf32>
  %4 = stablehlo.concatenate %x, %x, dim = 1 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>
  %5 = stablehlo.transpose %d, dims = [1, 0] : (tensor<?x3xf32, #stablehlo.bounds<8, ?>>) -> tensor<3x?xf32, #stablehlo.bounds<?, 8>>
  %6 = stablehlo.iota dim = 1 : tensor<0x4xi32>
  return
}

func.func @a_wide_element_is_several_narrow_ones(%x: tensor<4xf32>, %y: tensor<4x2xi4>) {
  %0 = stablehlo.bitcast_convert %x : (tensor<4xf32>) -> tensor<4x2xbf16>
  %1 = stablehlo.bitcast_convert %y : (tensor<4x2xi4>) -> tensor<4xui8>
  return
}

// The stored integers of a quantized constant.
func.func @stored() -> tensor<2x!quant.uniform<i8:f32, 0.5>> {
  %0 = "stablehlo.constant"() <{value = dense<1> : tensor<2xi8>}> : () -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  return %0 : tensor<2x!quant.uniform<i8:f32, 0.5>>
}

// Bounds of several operands: the smallest counts, along the joined dimension their sum.
func.func @bounds(%x: tensor<?x2xf32, #stablehlo.bounds<5, ?>>, %y: tensor<?x?xf32, #stablehlo.bounds<4, 3>>) {
  %0 = stablehlo.concatenate %x, %y, dim = 1 : (tensor<?x2xf32, #stablehlo.bounds<5, ?>>, tensor<?x?xf32, #stablehlo.bounds<4, 3>>) -> tensor<4x5xf32>
  return
}

// -----

func.func @transpose(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{permutation[1] = 1 comes twice}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.transpose"(%x) <{permutation = array<i64: 1, 1>}> : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @transpose_axis(%x: tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 1.0}>>) {
  // expected-error@+1 {{result is quantized along dimension 0, but operand along 0, which goes elsewhere}}
  %0 = "stablehlo.transpose"(%x) <{permutation = array<i64: 1, 0>}> : (tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 1.0}>>) -> tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 1.0}>>
  return
}

// -----

func.func @reshape(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{result tensor<7xf32> has 7 elements, but operand tensor<2x3xf32> has 6}}
  %0 = "stablehlo.reshape"(%x) : (tensor<2x3xf32>) -> tensor<7xf32>
  return
}

// -----

func.func @reshape_scale(%x: tensor<2x!quant.uniform<i8:f32, 0.5>>) {
  // expected-error@+1 {{result is quantized as !quant.uniform<i8:f32, 2.500000e-01>, but operand as !quant.uniform<i8:f32, 5.000000e-01>}}
  %0 = "stablehlo.reshape"(%x) : (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x1x!quant.uniform<i8:f32, 0.25>>
  return
}

// -----

func.func @broadcast_of_other_size(%x: tensor<3xf32>) {
  // expected-error@+1 {{operand size 3 in dimension 0 is neither 1 nor result size 2 in dimension 0}}
  %0 = "stablehlo.broadcast_in_dim"(%x) <{broadcast_dimensions = array<i64: 0>}> : (tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @broadcast_dimension(%x: tensor<3xf32>) {
  // expected-error@+1 {{broadcast_dimensions[0] = 2 is not a dimension of rank 2}}
  %0 = "stablehlo.broadcast_in_dim"(%x) <{broadcast_dimensions = array<i64: 2>}> : (tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @broadcast_size(%x: tensor<3xf32>) {
  // expected-error@+2 {{broadcast_sizes[0] = -2 is negative}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.broadcast"(%x) <{broadcast_sizes = array<i64: -2>}> : (tensor<3xf32>) -> tensor<?x3xf32>
  return
}

// -----

func.func @reverse(%x: tensor<3xf32>) {
  // expected-error@+1 {{dimensions[1] = 0 comes twice}}
  %0 = "stablehlo.reverse"(%x) <{dimensions = array<i64: 0, 0>}> : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @concatenate(%x: tensor<2x3xf32>, %y: tensor<3x3xf32>) {
  // expected-error@+2 {{operand #1 does not fit those before in dimension 0: size 2 differs from size 3}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.concatenate"(%x, %y) <{dimension = 1 : i64}> : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @concatenate_size(%x: tensor<2xf32>) {
  // expected-error@+2 {{inferred type(s) 'tensor<4xf32>' are incompatible with return type(s) of operation 'tensor<5xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.concatenate"(%x, %x) <{dimension = 0 : i64}> : (tensor<2xf32>, tensor<2xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @concatenate_overflow(%x: tensor<9223372036854775807xf32>, %y: tensor<1xf32>) {
  // expected-error@+2 {{sizes along dimension 0 add up to more than 64 bits hold}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.concatenate"(%x, %y) <{dimension = 0 : i64}> : (tensor<9223372036854775807xf32>, tensor<1xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @iota() {
  // expected-error@+1 {{iota_dimension = 1 is not a dimension of rank 1}}
  %0 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<4xi32>
  return
}

// -----

func.func @constant() {
  // expected-error@+2 {{inferred type(s) 'tensor<2xi8>' are incompatible with return type(s) of operation 'tensor<3xi8>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.constant"() <{value = dense<1> : tensor<2xi8>}> : () -> tensor<3xi8>
  return
}

// -----

// Elements that are no stored integers.
func.func @quantized_constant() {
  // expected-error@+2 {{value must hold what quantized elements are stored as, but is of tensor<2x!quant.uniform<i8:f32, 5.000000e-01>>}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.constant"() <{value = dense<"0x0100"> : tensor<2x!quant.uniform<i8:f32, 0.5>>}> : () -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

func.func @bitcast_width(%x: tensor<4xf32>) {
  // expected-error@+1 {{3 elements of 16 bits do not make up one of 32 bits}}
  %0 = "stablehlo.bitcast_convert"(%x) : (tensor<4xf32>) -> tensor<4x3xi16>
  return
}

// -----

func.func @bitcast_rank(%x: tensor<4xf32>) {
  // expected-error@+1 {{tensor<4xi16> must have one dimension more than tensor<4xf32>, as its elements are narrower}}
  %0 = "stablehlo.bitcast_convert"(%x) : (tensor<4xf32>) -> tensor<4xi16>
  return
}

// -----

func.func @bitcast_complex(%x: tensor<4xcomplex<f32>>) {
  // expected-error@+1 {{either both or neither of operand tensor<4xcomplex<f32>> and result tensor<4xi64> must be complex}}
  %0 = "stablehlo.bitcast_convert"(%x) : (tensor<4xcomplex<f32>>) -> tensor<4xi64>
  return
}

// -----

func.func @get_dimension_size(%x: tensor<4xf32>) {
  // expected-error@+2 {{dimension = 1 is not a dimension of rank 1}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.get_dimension_size"(%x) <{dimension = 1 : i64}> : (tensor<4xf32>) -> tensor<i32>
  return
}

// -----

func.func @set_dimension_size(%x: tensor<4xf32>, %n: tensor<i32>) {
  // expected-error@+2 {{inferred type(s) 'tensor<?xf32, #stablehlo.bounds<4>>' are incompatible with return type(s) of operation 'tensor<5xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.set_dimension_size"(%x, %n) <{dimension = 0 : i64}> : (tensor<4xf32>, tensor<i32>) -> tensor<5xf32>
  return
}
