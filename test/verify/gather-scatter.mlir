// Dimension numbers and sizes of gather, dynamic_gather and scatter.
// RUN: slimhlo-opt %s --split-input-file --verify-diagnostics

func.func @gather(%a: tensor<3x2x4x7xf32>, %b: tensor<5x2x3x2xi64>) {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [2, 3], collapsed_slice_dims = [0], operand_batching_dims = [1], start_indices_batching_dims = [1], start_index_map = [0, 2], index_vector_dim = 3>, slice_sizes = array<i64: 1, 1, 2, 6>}> : (tensor<3x2x4x7xf32>, tensor<5x2x3x2xi64>) -> tensor<5x2x2x6x3xf32>
  return
}

// -----

func.func @dynamic(%a: tensor<?x?x?x?xf32>, %b: tensor<?x?x?x?xi64>) {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [2, 3], collapsed_slice_dims = [0], operand_batching_dims = [1], start_indices_batching_dims = [1], start_index_map = [0, 2], index_vector_dim = 3>, slice_sizes = array<i64: 1, 1, 2, 6>}> : (tensor<?x?x?x?xf32>, tensor<?x?x?x?xi64>) -> tensor<?x2x2x6x?xf32>
  return
}

// -----

func.func @offset_dims_out_of_range(%a: tensor<3x2x4x7xf32>, %b: tensor<5x2x3x2xi64>) {
  // expected-error@+2 {{offset_dims[1] = 7 is not a dimension of the result, which has rank 5}}
  // expected-error@+1 {{failed to infer returned types}}
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [2, 7], collapsed_slice_dims = [0], operand_batching_dims = [1], start_indices_batching_dims = [1], start_index_map = [0, 2], index_vector_dim = 3>, slice_sizes = array<i64: 1, 1, 2, 6>}> : (tensor<3x2x4x7xf32>, tensor<5x2x3x2xi64>) -> tensor<5x2x2x6x3xf32>
  return
}

// -----

func.func @offset_dims_not_sorted(%a: tensor<3x2x4x7xf32>, %b: tensor<5x2x3x2xi64>) {
  // expected-error@+2 {{offset_dims must be in order, but offset_dims[0] = 3 exceeds offset_dims[1] = 2}}
  // expected-error@+1 {{failed to infer returned types}}
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [3, 2], collapsed_slice_dims = [0], operand_batching_dims = [1], start_indices_batching_dims = [1], start_index_map = [0, 2], index_vector_dim = 3>, slice_sizes = array<i64: 1, 1, 2, 6>}> : (tensor<3x2x4x7xf32>, tensor<5x2x3x2xi64>) -> tensor<5x2x2x6x3xf32>
  return
}

// -----

func.func @too_few_offset_dims(%a: tensor<3x2x4x7xf32>, %b: tensor<5x2x3x2xi64>) {
  // expected-error@+2 {{offset_dims, collapsed_slice_dims, operand_batching_dims have 3 entries together, but operand has rank 4}}
  // expected-error@+1 {{failed to infer returned types}}
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], operand_batching_dims = [1], start_indices_batching_dims = [1], start_index_map = [0, 2], index_vector_dim = 3>, slice_sizes = array<i64: 1, 1, 2, 6>}> : (tensor<3x2x4x7xf32>, tensor<5x2x3x2xi64>) -> tensor<5x2x2x6x3xf32>
  return
}

// -----

func.func @collapsed_and_batching(%a: tensor<3x2x4x7xf32>, %b: tensor<5x2x3x2xi64>) {
  // expected-error@+2 {{collapsed_slice_dims[0] and operand_batching_dims[0] are both 1}}
  // expected-error@+1 {{failed to infer returned types}}
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [2, 3], collapsed_slice_dims = [1], operand_batching_dims = [1], start_indices_batching_dims = [1], start_index_map = [0, 2], index_vector_dim = 3>, slice_sizes = array<i64: 1, 1, 2, 6>}> : (tensor<3x2x4x7xf32>, tensor<5x2x3x2xi64>) -> tensor<5x2x2x6x3xf32>
  return
}

// -----

func.func @batching_sizes_differ(%a: tensor<3x2x4x7xf32>, %b: tensor<5x2x3x2xi64>) {
  // expected-error@+2 {{operand_batching_dims[0] = 1 has size 2, but start_indices_batching_dims[0] = 0 has size 5}}
  // expected-error@+1 {{failed to infer returned types}}
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [2, 3], collapsed_slice_dims = [0], operand_batching_dims = [1], start_indices_batching_dims = [0], start_index_map = [0, 2], index_vector_dim = 3>, slice_sizes = array<i64: 1, 1, 2, 6>}> : (tensor<3x2x4x7xf32>, tensor<5x2x3x2xi64>) -> tensor<5x2x2x6x3xf32>
  return
}

// -----

func.func @batching_along_index(%a: tensor<3x2x4x7xf32>, %b: tensor<5x2x3x2xi64>) {
  // expected-error@+2 {{start_indices_batching_dims[0] = 3 is the index_vector_dim}}
  // expected-error@+1 {{failed to infer returned types}}
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [2, 3], collapsed_slice_dims = [0], operand_batching_dims = [1], start_indices_batching_dims = [3], start_index_map = [0, 2], index_vector_dim = 3>, slice_sizes = array<i64: 1, 1, 2, 6>}> : (tensor<3x2x4x7xf32>, tensor<5x2x3x2xi64>) -> tensor<5x2x2x6x3xf32>
  return
}

// -----

func.func @index_map_too_short(%a: tensor<3x2x4x7xf32>, %b: tensor<5x2x3x2xi64>) {
  // expected-error@+2 {{start_index_map has 1 entries, but an index of start_indices has 2 numbers}}
  // expected-error@+1 {{failed to infer returned types}}
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [2, 3], collapsed_slice_dims = [0], operand_batching_dims = [1], start_indices_batching_dims = [1], start_index_map = [0], index_vector_dim = 3>, slice_sizes = array<i64: 1, 1, 2, 6>}> : (tensor<3x2x4x7xf32>, tensor<5x2x3x2xi64>) -> tensor<5x2x2x6x3xf32>
  return
}

// -----

func.func @index_vector_dim(%a: tensor<3x2x4x7xf32>, %b: tensor<5x2x3x2xi64>) {
  // expected-error@+2 {{index_vector_dim = 5 is not in [0, 4]}}
  // expected-error@+1 {{failed to infer returned types}}
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [2, 3], collapsed_slice_dims = [0], operand_batching_dims = [1], start_indices_batching_dims = [1], start_index_map = [0, 2], index_vector_dim = 5>, slice_sizes = array<i64: 1, 1, 2, 6>}> : (tensor<3x2x4x7xf32>, tensor<5x2x3x2xi64>) -> tensor<5x2x2x6x3xf32>
  return
}

// -----

func.func @slice_too_large(%a: tensor<3x2x4x7xf32>, %b: tensor<5x2x3x2xi64>) {
  // expected-error@+2 {{slice_sizes[3] = 8 does not fit into dimension 3 of operand, which has size 7}}
  // expected-error@+1 {{failed to infer returned types}}
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [2, 3], collapsed_slice_dims = [0], operand_batching_dims = [1], start_indices_batching_dims = [1], start_index_map = [0, 2], index_vector_dim = 3>, slice_sizes = array<i64: 1, 1, 2, 8>}> : (tensor<3x2x4x7xf32>, tensor<5x2x3x2xi64>) -> tensor<5x2x2x6x3xf32>
  return
}

// -----

func.func @collapsed_slice_too_thick(%a: tensor<3x2x4x7xf32>, %b: tensor<5x2x3x2xi64>) {
  // expected-error@+2 {{slice_sizes[0] = 2 exceeds 1, but collapsed_slice_dims has dimension 0}}
  // expected-error@+1 {{failed to infer returned types}}
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [2, 3], collapsed_slice_dims = [0], operand_batching_dims = [1], start_indices_batching_dims = [1], start_index_map = [0, 2], index_vector_dim = 3>, slice_sizes = array<i64: 2, 1, 2, 6>}> : (tensor<3x2x4x7xf32>, tensor<5x2x3x2xi64>) -> tensor<5x2x2x6x3xf32>
  return
}

// -----

func.func @result(%a: tensor<3x2x4x7xf32>, %b: tensor<5x2x3x2xi64>) {
  // expected-error@+2 {{inferred type(s) 'tensor<5x2x2x6x3xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [2, 3], collapsed_slice_dims = [0], operand_batching_dims = [1], start_indices_batching_dims = [1], start_index_map = [0, 2], index_vector_dim = 3>, slice_sizes = array<i64: 1, 1, 2, 6>}> : (tensor<3x2x4x7xf32>, tensor<5x2x3x2xi64>) -> tensor<5x2x2x7x3xf32>
  return
}

// -----

func.func @element(%a: tensor<3x2x4x7xf32>, %b: tensor<5x2x3x2xi64>) {
  // expected-error@+1 {{f64}}
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [2, 3], collapsed_slice_dims = [0], operand_batching_dims = [1], start_indices_batching_dims = [1], start_index_map = [0, 2], index_vector_dim = 3>, slice_sizes = array<i64: 1, 1, 2, 6>}> : (tensor<3x2x4x7xf32>, tensor<5x2x3x2xi64>) -> tensor<5x2x2x6x3xf64>
  return
}

// -----

func.func @sizes_at_run_time(%a: tensor<9xf32>, %b: tensor<4x1xi64>, %c: tensor<1xi64>) {
  %r = "stablehlo.dynamic_gather"(%a, %b, %c) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>}> : (tensor<9xf32>, tensor<4x1xi64>, tensor<1xi64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @constant_sizes(%a: tensor<9xf32>, %b: tensor<4x1xi64>) {
  %c = stablehlo.constant dense<10> : tensor<1xi64>
  // expected-error@+2 {{slice_sizes[0] = 10 does not fit into dimension 0 of operand, which has size 9}}
  // expected-error@+1 {{failed to infer returned types}}
  %r = "stablehlo.dynamic_gather"(%a, %b, %c) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>}> : (tensor<9xf32>, tensor<4x1xi64>, tensor<1xi64>) -> tensor<4x10xf32>
  return
}

// -----

func.func @scatter(%a: tensor<3x2x4x7xf32>, %b: tensor<5x2x3x2xi64>, %c: tensor<5x2x2x6x3xf32>) {
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2, 3], inserted_window_dims = [0], input_batching_dims = [1], scatter_indices_batching_dims = [1], scatter_dims_to_operand_dims = [0, 2], index_vector_dim = 3>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %y0 = "stablehlo.add"(%x0, %x1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %y0 : tensor<f32>
  }) : (tensor<3x2x4x7xf32>, tensor<5x2x3x2xi64>, tensor<5x2x2x6x3xf32>) -> tensor<3x2x4x7xf32>
  return
}

// -----

func.func @window_too_large(%a: tensor<3x2x4x7xf32>, %b: tensor<5x2x3x2xi64>, %c: tensor<5x2x5x6x3xf32>) {
  // expected-error@+1 {{dimension 2 of the updates has size 5, more than the 4 of dimension 2 of the inputs}}
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2, 3], inserted_window_dims = [0], input_batching_dims = [1], scatter_indices_batching_dims = [1], scatter_dims_to_operand_dims = [0, 2], index_vector_dim = 3>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %y0 = "stablehlo.add"(%x0, %x1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %y0 : tensor<f32>
  }) : (tensor<3x2x4x7xf32>, tensor<5x2x3x2xi64>, tensor<5x2x5x6x3xf32>) -> tensor<3x2x4x7xf32>
  return
}

// -----

func.func @updates_too_many(%a: tensor<3x2x4x7xf32>, %b: tensor<5x2x3x2xi64>, %c: tensor<5x2x2x6x4xf32>) {
  // expected-error@+1 {{dimension 4 of the updates has size 4, but scatter_indices ask for 3}}
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2, 3], inserted_window_dims = [0], input_batching_dims = [1], scatter_indices_batching_dims = [1], scatter_dims_to_operand_dims = [0, 2], index_vector_dim = 3>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %y0 = "stablehlo.add"(%x0, %x1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %y0 : tensor<f32>
  }) : (tensor<3x2x4x7xf32>, tensor<5x2x3x2xi64>, tensor<5x2x2x6x4xf32>) -> tensor<3x2x4x7xf32>
  return
}

// -----

func.func @updates_rank(%a: tensor<3x2x4x7xf32>, %b: tensor<5x2x3x2xi64>, %c: tensor<5x2x2x6xf32>) {
  // expected-error@+1 {{the updates have rank 4, but scatter_indices and update_window_dims make that 5}}
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2, 3], inserted_window_dims = [0], input_batching_dims = [1], scatter_indices_batching_dims = [1], scatter_dims_to_operand_dims = [0, 2], index_vector_dim = 3>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %y0 = "stablehlo.add"(%x0, %x1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %y0 : tensor<f32>
  }) : (tensor<3x2x4x7xf32>, tensor<5x2x3x2xi64>, tensor<5x2x2x6xf32>) -> tensor<3x2x4x7xf32>
  return
}

// -----

func.func @update_window_dims(%a: tensor<3x2x4x7xf32>, %b: tensor<5x2x3x2xi64>, %c: tensor<5x2x2x6x3xf32>) {
  // expected-error@+1 {{update_window_dims[0] and update_window_dims[1] are both 2}}
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2, 2], inserted_window_dims = [0], input_batching_dims = [1], scatter_indices_batching_dims = [1], scatter_dims_to_operand_dims = [0, 2], index_vector_dim = 3>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %y0 = "stablehlo.add"(%x0, %x1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %y0 : tensor<f32>
  }) : (tensor<3x2x4x7xf32>, tensor<5x2x3x2xi64>, tensor<5x2x2x6x3xf32>) -> tensor<3x2x4x7xf32>
  return
}

// -----

func.func @narrowed(%a: tensor<3x2x4x7xi32>, %b: tensor<5x2x3x2xi64>, %c: tensor<5x2x2x6x3xi32>) {
  // expected-error@+1 {{result #0 of the body has element type i16, which the initial value's i32 cannot be promoted to}}
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2, 3], inserted_window_dims = [0], input_batching_dims = [1], scatter_indices_batching_dims = [1], scatter_dims_to_operand_dims = [0, 2], index_vector_dim = 3>}> ({
  ^bb0(%x0: tensor<i16>, %x1: tensor<i16>):
    %y0 = "stablehlo.add"(%x0, %x1) : (tensor<i16>, tensor<i16>) -> tensor<i16>
    stablehlo.return %y0 : tensor<i16>
  }) : (tensor<3x2x4x7xi32>, tensor<5x2x3x2xi64>, tensor<5x2x2x6x3xi32>) -> tensor<3x2x4x7xi16>
  return
}
