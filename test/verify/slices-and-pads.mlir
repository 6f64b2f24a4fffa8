// RUN: slimhlo-opt %s --split-input-file --verify-diagnostics

func.func @valid(%x: tensor<4x8xf32>, %u: tensor<2x8xf32>, %i: tensor<i32>, %v: tensor<f32>) {
  %0 = stablehlo.slice %x [1:4:2, 8:8] : (tensor<4x8xf32>) -> tensor<2x0xf32>
  %1 = stablehlo.dynamic_slice %x, %i, %i, sizes = [4, 1] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x1xf32>
  %2 = stablehlo.dynamic_update_slice %x, %u, %i, %i : (tensor<4x8xf32>, tensor<2x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
  %3 = stablehlo.pad %x, %v, low = [1, -2], high = [-1, 0], interior = [2, 0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<10x6xf32>
  return
}

// A slice of static limits is static even where the operand is not.
func.func @dynamic(%x: tensor<?xf32>) -> tensor<2xf32> {
  %0 = stablehlo.slice %x [1:3] : (tensor<?xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @pad(%x: tensor<2x4xf32>, %v: tensor<f32>) {
  // expected-error@+2 {{padding low[1] = -9 exceeds dimension 1 of size 4}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.pad"(%x, %v) <{edge_padding_low = array<i64: 0, -9>, edge_padding_high = array<i64: 0, 0>, interior_padding = array<i64: 0, 0>}> : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x?xf32>
  return
}

// -----

func.func @pad_both_ends(%x: tensor<4xf32>, %v: tensor<f32>) {
  // expected-error@+2 {{padding low[0] = -3, high[0] = -2 and interior[0] = 0 make size 4 of dimension 0 negative: -1}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.pad"(%x, %v) <{edge_padding_low = array<i64: -3>, edge_padding_high = array<i64: -2>, interior_padding = array<i64: 0>}> : (tensor<4xf32>, tensor<f32>) -> tensor<0xf32>
  return
}

// -----

func.func @pad_bound(%x: tensor<?xf32, #stablehlo.bounds<3>>, %v: tensor<f32>) {
  // expected-error@+2 {{padding high[0] = -4 exceeds dimension 0 of bound 3}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.pad"(%x, %v) <{edge_padding_low = array<i64: 0>, edge_padding_high = array<i64: -4>, interior_padding = array<i64: 0>}> : (tensor<?xf32, #stablehlo.bounds<3>>, tensor<f32>) -> tensor<?xf32>
  return
}

// -----

func.func @pad_interior(%x: tensor<4xf32>, %v: tensor<f32>) {
  // expected-error@+2 {{interior_padding[0] = -1 is negative}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.pad"(%x, %v) <{edge_padding_low = array<i64: 0>, edge_padding_high = array<i64: 0>, interior_padding = array<i64: -1>}> : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @pad_rank(%x: tensor<4xf32>, %v: tensor<f32>) {
  // expected-error@+2 {{edge_padding_high has 2 entries, but the operand has rank 1}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.pad"(%x, %v) <{edge_padding_low = array<i64: 0>, edge_padding_high = array<i64: 0, 0>, interior_padding = array<i64: 0>}> : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @slice_limit(%x: tensor<4xf32>) {
  // expected-error@+2 {{limit_indices[0] = 5 exceeds dimension 0 of size 4}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.slice"(%x) <{start_indices = array<i64: 0>, limit_indices = array<i64: 5>, strides = array<i64: 1>}> : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @slice_start(%x: tensor<4xf32>) {
  // expected-error@+2 {{start_indices[0] = 3 exceeds limit_indices[0] = 2}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.slice"(%x) <{start_indices = array<i64: 3>, limit_indices = array<i64: 2>, strides = array<i64: 1>}> : (tensor<4xf32>) -> tensor<0xf32>
  return
}

// -----

func.func @slice_stride(%x: tensor<4xf32>) {
  // expected-error@+2 {{strides[0] = 0 is not positive}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.slice"(%x) <{start_indices = array<i64: 0>, limit_indices = array<i64: 2>, strides = array<i64: 0>}> : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @slice_result(%x: tensor<4xf32>) {
  // expected-error@+2 {{inferred type(s) 'tensor<2xf32>' are incompatible with return type(s) of operation 'tensor<1xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.slice"(%x) <{start_indices = array<i64: 0>, limit_indices = array<i64: 4>, strides = array<i64: 3>}> : (tensor<4xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @slice_size(%x: tensor<4xf32>, %i: tensor<i32>) {
  // expected-error@+2 {{slice_sizes[0] = 5 exceeds dimension 0 of size 4}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.dynamic_slice"(%x, %i) <{slice_sizes = array<i64: 5>}> : (tensor<4xf32>, tensor<i32>) -> tensor<5xf32>
  return
}

// -----

func.func @start_count(%x: tensor<4x4xf32>, %i: tensor<i32>) {
  // expected-error@+2 {{there are 1 start indices, but operand has rank 2}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.dynamic_slice"(%x, %i) <{slice_sizes = array<i64: 1, 1>}> : (tensor<4x4xf32>, tensor<i32>) -> tensor<1x1xf32>
  return
}

// -----

func.func @start_types(%x: tensor<4x4xf32>, %i: tensor<i32>, %j: tensor<i64>) {
  // expected-error@+2 {{start index operand #2 has element type i64, but operand #1 has i32}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.dynamic_slice"(%x, %i, %j) <{slice_sizes = array<i64: 1, 1>}> : (tensor<4x4xf32>, tensor<i32>, tensor<i64>) -> tensor<1x1xf32>
  return
}

// -----

func.func @update_size(%x: tensor<4xf32>, %u: tensor<5xf32>, %i: tensor<i32>) {
  // expected-error@+2 {{update size 5 exceeds dimension 0 of size 4}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.dynamic_update_slice"(%x, %u, %i) : (tensor<4xf32>, tensor<5xf32>, tensor<i32>) -> tensor<4xf32>
  return
}

// -----

func.func @update_rank(%x: tensor<4xf32>, %u: tensor<f32>, %i: tensor<i32>) {
  // expected-error@+2 {{update has rank 0, but operand has rank 1}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.dynamic_update_slice"(%x, %u, %i) : (tensor<4xf32>, tensor<f32>, tensor<i32>) -> tensor<4xf32>
  return
}
