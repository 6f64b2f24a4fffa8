// RUN: slimhlo-opt %s --split-input-file --verify-diagnostics

func.func @valid(%x: tensor<4xf32>, %v: tensor<f32>, %shape: tensor<2xi64>, %p: tensor<1xi64>) {
  %0 = stablehlo.dynamic_broadcast_in_dim %x, %shape, dims = [1] : (tensor<4xf32>, tensor<2xi64>) -> tensor<?x4xf32>
  %1 = stablehlo.dynamic_reshape %x, %shape : (tensor<4xf32>, tensor<2xi64>) -> tensor<?x2xf32>
  %2 = stablehlo.dynamic_iota %shape, dim = 1 : (tensor<2xi64>) -> tensor<?x?xi32>
  %3 = stablehlo.dynamic_pad %x, %v, %p, %p, %p : (tensor<4xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
  %4 = stablehlo.real_dynamic_slice %x, %p, %p, %p : (tensor<4xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
  return
}

// -----

func.func @constant_shape(%x: tensor<4xf32>) {
  %shape = stablehlo.constant dense<[3, 4]> : tensor<2xi64>
  // expected-error@+1 {{operand #1 asks for size 3 in dimension 0, but result has 2 there}}
  %0 = "stablehlo.dynamic_broadcast_in_dim"(%x, %shape) <{broadcast_dimensions = array<i64: 1>}> : (tensor<4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  return
}

// -----

func.func @constant_shape_exceeds_bound(%x: tensor<4xf32>) {
  %shape = stablehlo.constant dense<[3, 4]> : tensor<2xi64>
  // expected-error@+1 {{operand #1 asks for size 3 in dimension 0, but result has ? (at most 2) there}}
  %0 = "stablehlo.dynamic_broadcast_in_dim"(%x, %shape) <{broadcast_dimensions = array<i64: 1>}> : (tensor<4xf32>, tensor<2xi64>) -> tensor<?x4xf32, #stablehlo.bounds<2, ?>>
  return
}

// -----

func.func @hinted_twice(%x: tensor<4xf32>, %shape: tensor<2xi64>) {
  // expected-error@+1 {{known_nonexpanding_dimensions[0] = 0 already has a hint}}
  %0 = "stablehlo.dynamic_broadcast_in_dim"(%x, %shape) <{broadcast_dimensions = array<i64: 1>, known_expanding_dimensions = array<i64: 0>, known_nonexpanding_dimensions = array<i64: 0>}> : (tensor<4xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  return
}

// -----

func.func @reshape_rank(%x: tensor<4xf32>, %shape: tensor<3xi64>) {
  // expected-error@+1 {{output_shape has shape [3], but result has rank 2}}
  %0 = "stablehlo.dynamic_reshape"(%x, %shape) : (tensor<4xf32>, tensor<3xi64>) -> tensor<?x?xf32>
  return
}

// -----

func.func @reshape_count(%x: tensor<4xf32>) {
  %shape = stablehlo.constant dense<[3, 2]> : tensor<2xi64>
  // expected-error@+1 {{output_shape asks for 6 elements, but operand has 4}}
  %0 = "stablehlo.dynamic_reshape"(%x, %shape) : (tensor<4xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  return
}

// -----

func.func @iota_shape() {
  %shape = stablehlo.constant dense<-1> : tensor<1xi64>
  // expected-error@+1 {{operand #0 asks for size -1 in dimension 0}}
  %0 = "stablehlo.dynamic_iota"(%shape) <{iota_dimension = 0 : i64}> : (tensor<1xi64>) -> tensor<?xi32>
  return
}

// -----

func.func @pad_size(%x: tensor<4xf32>, %v: tensor<f32>) {
  %low = stablehlo.constant dense<1> : tensor<1xi64>
  %none = stablehlo.constant dense<0> : tensor<1xi64>
  // expected-error@+1 {{dimension 0 of size 4 is padded to 5, but result has size 4}}
  %0 = "stablehlo.dynamic_pad"(%x, %v, %low, %none, %none) : (tensor<4xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @slice_types(%x: tensor<4xf32>, %p: tensor<1xi64>, %q: tensor<1xi32>) {
  // expected-error@+1 {{operand #2 has type tensor<1xi32>, but operand #1 has tensor<1xi64>}}
  %0 = "stablehlo.real_dynamic_slice"(%x, %p, %q, %p) : (tensor<4xf32>, tensor<1xi64>, tensor<1xi32>, tensor<1xi64>) -> tensor<?xf32>
  return
}

// -----

func.func @slice_rank(%x: tensor<4xf32>, %p: tensor<2xi64>) {
  // expected-error@+1 {{start_indices have shape [2], but operand has rank 1}}
  %0 = "stablehlo.real_dynamic_slice"(%x, %p, %p, %p) : (tensor<4xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?xf32>
  return
}
