// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=64" --canonicalize | FileCheck %s

// One logit of each row, with rows counted by the indices: rows are paired with the indices.
// CHECK-LABEL: func @pick
// CHECK-NOT: stablehlo.concatenate
// CHECK: "stablehlo.gather"(%arg0, %{{.*}}) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>
// CHECK: {{^ *}}return
func.func @pick(%x: tensor<16x64xf32>, %at: tensor<16xi32>) -> tensor<16xf32> {
  %rows = stablehlo.iota dim = 0 : tensor<16x1xi32>
  %columns = stablehlo.reshape %at : (tensor<16xi32>) -> tensor<16x1xi32>
  %both = stablehlo.concatenate %rows, %columns, dim = 1 : (tensor<16x1xi32>, tensor<16x1xi32>) -> tensor<16x2xi32>
  %r = "stablehlo.gather"(%x, %both) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<16x64xf32>, tensor<16x2xi32>) -> tensor<16xf32>
  return %r : tensor<16xf32>
}

// The second column counts, from the third column of the matrix on.
// CHECK-LABEL: func @pick_in_columns
// CHECK: stablehlo.slice %arg0 [0:64, 2:10]
// CHECK: operand_batching_dims = [1], start_indices_batching_dims = [0], start_index_map = [0]
// CHECK: {{^ *}}return
func.func @pick_in_columns(%x: tensor<64x16xf32>, %at: tensor<8x1xi32>) -> tensor<8xf32> {
  %two = stablehlo.constant dense<2> : tensor<8xi32>
  %count = stablehlo.iota dim = 0 : tensor<8xi32>
  %further = stablehlo.add %count, %two : tensor<8xi32>
  %columns = stablehlo.broadcast_in_dim %further, dims = [0] : (tensor<8xi32>) -> tensor<8x1xi32>
  %both = stablehlo.concatenate %at, %columns, dim = 1 : (tensor<8x1xi32>, tensor<8x1xi32>) -> tensor<8x2xi32>
  %r = "stablehlo.gather"(%x, %both) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<64x16xf32>, tensor<8x2xi32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// The last rows are beyond the matrix: a gather takes the last one again.
// CHECK-LABEL: func @too_far
// CHECK: stablehlo.concatenate
// CHECK: {{^ *}}return
func.func @too_far(%x: tensor<16x64xf32>, %at: tensor<16x1xi32>) -> tensor<16xf32> {
  %two = stablehlo.constant dense<2> : tensor<16x1xi32>
  %count = stablehlo.iota dim = 0 : tensor<16x1xi32>
  %rows = stablehlo.add %count, %two : tensor<16x1xi32>
  %both = stablehlo.concatenate %rows, %at, dim = 1 : (tensor<16x1xi32>, tensor<16x1xi32>) -> tensor<16x2xi32>
  %r = "stablehlo.gather"(%x, %both) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<16x64xf32>, tensor<16x2xi32>) -> tensor<16xf32>
  return %r : tensor<16xf32>
}

// In between, the count wraps around.
// CHECK-LABEL: func @wraps
// CHECK: stablehlo.concatenate
// CHECK: {{^ *}}return
func.func @wraps(%x: tensor<200x64xf32>, %at: tensor<200x1xi32>) -> tensor<200xf32> {
  %count = stablehlo.iota dim = 0 : tensor<200x1xi8>
  %rows = stablehlo.convert %count : (tensor<200x1xi8>) -> tensor<200x1xi32>
  %both = stablehlo.concatenate %rows, %at, dim = 1 : (tensor<200x1xi32>, tensor<200x1xi32>) -> tensor<200x2xi32>
  %r = "stablehlo.gather"(%x, %both) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<200x64xf32>, tensor<200x2xi32>) -> tensor<200xf32>
  return %r : tensor<200xf32>
}

// Its gradient is a comparison; rows that have no index keep what is there.
// CHECK-LABEL: func @some_rows
// CHECK-NOT: stablehlo.scatter
// CHECK: stablehlo.pad {{.*}} low = [4], high = [2]
// CHECK: stablehlo.compare EQ
// CHECK: stablehlo.select
// CHECK: {{^ *}}return
func.func @some_rows(%at: tensor<10x1xi32>, %x: tensor<10xf32>) -> tensor<16x64xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<16x64xf32>
  %four = stablehlo.constant dense<4> : tensor<10x1xi32>
  %count = stablehlo.iota dim = 0 : tensor<10x1xi32>
  %rows = stablehlo.add %count, %four : tensor<10x1xi32>
  %both = stablehlo.concatenate %rows, %at, dim = 1 : (tensor<10x1xi32>, tensor<10x1xi32>) -> tensor<10x2xi32>
  %r = "stablehlo.scatter"(%zeros, %both, %x) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<16x64xf32>, tensor<10x2xi32>, tensor<10xf32>) -> tensor<16x64xf32>
  return %r : tensor<16x64xf32>
}

// Neither column counts: two updates may meet.
// CHECK-LABEL: func @anywhere
// CHECK: stablehlo.scatter
// CHECK: {{^ *}}return
func.func @anywhere(%both: tensor<10x2xi32>, %x: tensor<10xf32>) -> tensor<16x64xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<16x64xf32>
  %r = "stablehlo.scatter"(%zeros, %both, %x) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<16x64xf32>, tensor<10x2xi32>, tensor<10xf32>) -> tensor<16x64xf32>
  return %r : tensor<16x64xf32>
}
