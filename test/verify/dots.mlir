// Shapes, precision and quantization of dot and dot_general.
// RUN: slimhlo-opt %s --split-input-file --verify-diagnostics

func.func @dot_of_vector_and_matrix(%a: tensor<3xf32>, %b: tensor<3x4xf32>) {
  %r = "stablehlo.dot"(%a, %b) : (tensor<3xf32>, tensor<3x4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @dot_sizes_differ(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>) {
  // expected-error@+1 {{lhs ends in a dimension of size 3, but rhs starts with 4}}
  %r = "stablehlo.dot"(%a, %b) : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @dot_rank(%a: tensor<f32>, %b: tensor<4x5xf32>) {
  // expected-error@+1 {{lhs has rank 0, not 1 or 2}}
  %r = "stablehlo.dot"(%a, %b) : (tensor<f32>, tensor<4x5xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @dot_result(%a: tensor<2x3xf32>, %b: tensor<3x5xf32>) {
  // expected-error@+1 {{result has shape [2x6], but the operands make that [2x5]}}
  %r = "stablehlo.dot"(%a, %b) : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @dot_general(%a: tensor<2x3x4xf32>, %b: tensor<2x4x5xf32>) {
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  return
}

// -----

func.func @dot_general_dynamic(%a: tensor<?x3x?xf32>, %b: tensor<2x4x5xf32>) {
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<?x3x?xf32>, tensor<2x4x5xf32>) -> tensor<?x3x5xf32>
  return
}

// -----

func.func @batching_sizes_differ(%a: tensor<3x3x4xf32>, %b: tensor<2x4x5xf32>) {
  // expected-error@+1 {{batching dimension 0 of lhs does not fit 0 of rhs: size 3 differs from size 2}}
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<3x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  return
}

// -----

func.func @batching_size_exceeds_bound(%a: tensor<?x3x4xf32, #stablehlo.bounds<1, ?, ?>>, %b: tensor<2x4x5xf32>) {
  // expected-error@+1 {{size 2 exceeds bound 1}}
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<?x3x4xf32, #stablehlo.bounds<1, ?, ?>>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  return
}

// -----

func.func @contracting_sizes_differ(%a: tensor<2x3x7xf32>, %b: tensor<2x4x5xf32>) {
  // expected-error@+1 {{contracting dimension 2 of lhs has size 7, but its pair 1 of rhs has 4}}
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<2x3x7xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  return
}

// -----

func.func @dimension_twice(%a: tensor<2x3x4xf32>, %b: tensor<2x4x5xf32>) {
  // expected-error@+1 {{lhs_batching_dimensions[0] and lhs_contracting_dimensions[0] are both 0}}
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [1]>}> : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  return
}

// -----

func.func @dimension_out_of_range(%a: tensor<2x3x4xf32>, %b: tensor<2x4x5xf32>) {
  // expected-error@+1 {{rhs_contracting_dimensions[0] = 3 is not a dimension of rhs, which has rank 3}}
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [3]>}> : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  return
}

// -----

func.func @unpaired(%a: tensor<2x3x4xf32>, %b: tensor<2x4x5xf32>) {
  // expected-error@+1 {{lhs_contracting_dimensions has 0 entries, but rhs_contracting_dimensions has 1}}
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], rhs_contracting_dimensions = [1]>}> : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  return
}

// -----

func.func @too_many_precisions(%a: tensor<2x3x4xf32>, %b: tensor<2x4x5xf32>) {
  // expected-error@+1 {{precision_config has 3 entries}}
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision HIGH>, #stablehlo<precision HIGH>]}> : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  return
}

// -----

func.func @precision_and_algorithm(%a: tensor<2x3x4xf32>, %b: tensor<2x4x5xf32>) {
  // expected-error@+1 {{precision_config must be DEFAULT where there is an algorithm}}
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision HIGH>], algorithm = #stablehlo.dot_algorithm<lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>}> : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  return
}

// -----

func.func @all_quantized(%a: tensor<2x3x4x!quant.uniform<i8:f32, 0.5>>, %b: tensor<2x4x5x!quant.uniform<i8:f32, 0.5>>) {
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<2x3x4x!quant.uniform<i8:f32, 0.5>>, tensor<2x4x5x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x3x5x!quant.uniform<i32:f32, 0.25>>
  return
}

// -----

func.func @weights_quantized(%a: tensor<2x3x4xf32>, %b: tensor<2x4x5x!quant.uniform<i8:f32, 0.5>>) {
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<2x3x4xf32>, tensor<2x4x5x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x3x5xf32>
  return
}

// -----

func.func @mixed(%a: tensor<2x3x4x!quant.uniform<i8:f32, 0.5>>, %b: tensor<2x4x5xf32>) {
  // expected-error@+1 {{mix quantized and other numbers}}
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<2x3x4x!quant.uniform<i8:f32, 0.5>>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  return
}

// -----

func.func @storage_differs(%a: tensor<2x3x4x!quant.uniform<i8:f32, 0.5>>, %b: tensor<2x4x5x!quant.uniform<i16:f32, 0.5>>) {
  // expected-error@+1 {{lhs is stored as i8, but rhs as i16}}
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<2x3x4x!quant.uniform<i8:f32, 0.5>>, tensor<2x4x5x!quant.uniform<i16:f32, 0.5>>) -> tensor<2x3x5x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

func.func @zero_point(%a: tensor<2x3x4xf32>, %b: tensor<2x4x5x!quant.uniform<i8:f32, 0.5:7>>) {
  // expected-error@+1 {{zero point #0 of rhs is 7, not 0}}
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<2x3x4xf32>, tensor<2x4x5x!quant.uniform<i8:f32, 0.5:7>>) -> tensor<2x3x5xf32>
  return
}

// -----

func.func @scaled_along_contraction(%a: tensor<2x3x4xf32>, %b: tensor<2x4x5x!quant.uniform<i8:f32:1, {1.0, 1.0, 1.0, 1.0}>>) {
  // expected-error@+1 {{rhs is quantized along dimension 1, which is contracted}}
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<2x3x4xf32>, tensor<2x4x5x!quant.uniform<i8:f32:1, {1.0, 1.0, 1.0, 1.0}>>) -> tensor<2x3x5xf32>
  return
}
