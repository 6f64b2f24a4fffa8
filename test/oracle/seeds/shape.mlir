// StableHLO ops that move elements: broadcasts, slices, pads, transposes, concatenations, iotas, reshapes.
func.func @broadcast(%x: tensor<3xf32>, %s: tensor<f32>) -> tensor<2x4x3xf32> {
  %0 = stablehlo.broadcast %x, sizes = [2, 4] : (tensor<3xf32>) -> tensor<2x4x3xf32>
  %1 = stablehlo.broadcast %s, sizes = [5] : (tensor<f32>) -> tensor<5xf32>
  return %0 : tensor<2x4x3xf32>
}
// -----
func.func @broadcast_in_dim(%x: tensor<1x3xf32>, %s: tensor<f32>) -> tensor<4x3xf32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<1x3xf32>) -> tensor<4x3xf32>
  %1 = stablehlo.broadcast_in_dim %x, dims = [2, 0] : (tensor<1x3xf32>) -> tensor<3x4x5xf32>
  %2 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}
// -----
func.func @dynamic_broadcast_in_dim(%x: tensor<1x3xf32>, %d: tensor<?x?xf32>, %shape: tensor<2xi64>, %shape3: tensor<3xindex>) -> tensor<?x3xf32> {
  %0 = stablehlo.dynamic_broadcast_in_dim %x, %shape, dims = [0, 1] : (tensor<1x3xf32>, tensor<2xi64>) -> tensor<?x3xf32>
  %1 = "stablehlo.dynamic_broadcast_in_dim"(%d, %shape3) <{broadcast_dimensions = array<i64: 1, 2>, known_expanding_dimensions = array<i64: 0>, known_nonexpanding_dimensions = array<i64: 1>}> : (tensor<?x?xf32>, tensor<3xindex>) -> tensor<?x?x?xf32>
  return %0 : tensor<?x3xf32>
}
// -----
func.func @concatenate(%x: tensor<2x3xf32>, %y: tensor<4x3xf32>, %d: tensor<?x3xf32>) -> tensor<6x3xf32> {
  %0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<6x3xf32>
  %1 = stablehlo.concatenate %x, %x, %x, dim = 1 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x9xf32>
  %2 = stablehlo.concatenate %x, %d, dim = 0 : (tensor<2x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
  %3 = stablehlo.concatenate %x, dim = 0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<6x3xf32>
}
// -----
func.func @slice(%x: tensor<8x9xf32>, %d: tensor<?x9xf32>) -> tensor<3x3xf32> {
  %0 = stablehlo.slice %x [1:4, 0:9:3] : (tensor<8x9xf32>) -> tensor<3x3xf32>
  %1 = stablehlo.slice %x [8:8, 2:5] : (tensor<8x9xf32>) -> tensor<0x3xf32>
  %2 = stablehlo.slice %d [2:6, 0:9] : (tensor<?x9xf32>) -> tensor<4x9xf32>
  return %0 : tensor<3x3xf32>
}
// -----
func.func @dynamic_slice(%x: tensor<8x9xf32>, %i: tensor<i32>, %j: tensor<i32>, %u: tensor<ui8>, %s: tensor<f32>) -> tensor<2x9xf32> {
  %0 = stablehlo.dynamic_slice %x, %i, %j, sizes = [2, 9] : (tensor<8x9xf32>, tensor<i32>, tensor<i32>) -> tensor<2x9xf32>
  %1 = stablehlo.dynamic_slice %x, %u, %u, sizes = [0, 1] : (tensor<8x9xf32>, tensor<ui8>, tensor<ui8>) -> tensor<0x1xf32>
  %2 = "stablehlo.dynamic_slice"(%s) <{slice_sizes = array<i64>}> : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<2x9xf32>
}
// -----
func.func @dynamic_update_slice(%x: tensor<8x9xf32>, %y: tensor<2x3xf32>, %i: tensor<i64>, %s: tensor<f32>) -> tensor<8x9xf32> {
  %0 = stablehlo.dynamic_update_slice %x, %y, %i, %i : (tensor<8x9xf32>, tensor<2x3xf32>, tensor<i64>, tensor<i64>) -> tensor<8x9xf32>
  %1 = "stablehlo.dynamic_update_slice"(%s, %s) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<8x9xf32>
}
// -----
func.func @real_dynamic_slice(%x: tensor<8x9xf32>, %i: tensor<2xi64>) -> tensor<?x?xf32> {
  %0 = stablehlo.real_dynamic_slice %x, %i, %i, %i : (tensor<8x9xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}
// -----
func.func @pad(%x: tensor<2x3xf32>, %v: tensor<f32>, %s: tensor<f32>, %d: tensor<?x3xf32>) -> tensor<5x9xf32> {
  %0 = stablehlo.pad %x, %v, low = [0, 1], high = [2, 1], interior = [1, 2] : (tensor<2x3xf32>, tensor<f32>) -> tensor<5x9xf32>
  %1 = stablehlo.pad %x, %v, low = [-1, 0], high = [0, -2], interior = [0, 0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<1x1xf32>
  %2 = stablehlo.pad %s, %v, low = [], high = [], interior = [] : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %3 = stablehlo.pad %d, %v, low = [1, 1], high = [0, 0], interior = [0, 0] : (tensor<?x3xf32>, tensor<f32>) -> tensor<?x4xf32>
  return %0 : tensor<5x9xf32>
}
// -----
func.func @dynamic_pad(%x: tensor<2x3xf32>, %v: tensor<f32>, %p: tensor<2xi64>) -> tensor<?x?xf32> {
  %0 = stablehlo.dynamic_pad %x, %v, %p, %p, %p : (tensor<2x3xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}
// -----
func.func @transpose(%x: tensor<2x3x4xf32>, %s: tensor<f32>) -> tensor<4x2x3xf32> {
  %0 = stablehlo.transpose %x, dims = [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %1 = stablehlo.transpose %s, dims = [] : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<4x2x3xf32>
}
// -----
func.func @reverse(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.reverse %x, dims = [0, 1] : tensor<2x3xf32>
  %1 = stablehlo.reverse %x, dims = [] : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
// -----
func.func @reshape(%x: tensor<2x6xf32>, %d: tensor<?x6xf32>) -> tensor<3x4xf32> {
  %0 = stablehlo.reshape %x : (tensor<2x6xf32>) -> tensor<3x4xf32>
  %1 = stablehlo.reshape %d : (tensor<?x6xf32>) -> tensor<12xf32>
  return %0 : tensor<3x4xf32>
}
// -----
func.func @dynamic_reshape(%x: tensor<?xf32>, %shape: tensor<2xi32>, %index: tensor<2xindex>) -> tensor<?x?xf32> {
  %0 = stablehlo.dynamic_reshape %x, %shape : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  %1 = stablehlo.dynamic_reshape %x, %index : (tensor<?xf32>, tensor<2xindex>) -> tensor<2x?xf32>
  return %0 : tensor<?x?xf32>
}
// -----
func.func @iota(%shape: tensor<2xi64>) -> tensor<4x5xi32> {
  %0 = stablehlo.iota dim = 1 : tensor<4x5xi32>
  %1 = stablehlo.iota dim = 0 : tensor<3xcomplex<f64>>
  %2 = stablehlo.dynamic_iota %shape, dim = 0 : (tensor<2xi64>) -> tensor<?x5xf32>
  return %0 : tensor<4x5xi32>
}
// -----
func.func @dimension_size(%x: tensor<4x?xf32>, %n: tensor<i32>) -> tensor<i32> {
  %0 = stablehlo.get_dimension_size %x, dim = 1 : (tensor<4x?xf32>) -> tensor<i32>
  %1 = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<4x?xf32>, tensor<i32>) -> tensor<?x?xf32, #stablehlo.bounds<4, ?>>
  return %0 : tensor<i32>
}
// -----
func.func @set_static_dimension_size(%x: tensor<4x2xf32>, %n: tensor<i32>) -> tensor<4x?xf32, #stablehlo.bounds<?, 2>> {
  %0 = stablehlo.set_dimension_size %x, %n, dim = 1 : (tensor<4x2xf32>, tensor<i32>) -> tensor<4x?xf32, #stablehlo.bounds<?, 2>>
  return %0 : tensor<4x?xf32, #stablehlo.bounds<?, 2>>
}
// -----
func.func @gather(%x: tensor<3x4x2xf32>, %i: tensor<2x3x2xi64>) -> tensor<2x3x2x2xf32> {
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2, 3], collapsed_slice_dims = [0], start_index_map = [1, 0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 2, 2>}> : (tensor<3x4x2xf32>, tensor<2x3x2xi64>) -> tensor<2x3x2x2xf32>
  return %0 : tensor<2x3x2x2xf32>
}
// -----
func.func @batched_gather(%x: tensor<2x3x4x2xi32>, %i: tensor<2x2x3x2xi64>) -> tensor<2x2x3x2x2xi32> {
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [3, 4], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [1], start_index_map = [2, 1], index_vector_dim = 3>, slice_sizes = array<i64: 1, 1, 2, 2>}> : (tensor<2x3x4x2xi32>, tensor<2x2x3x2xi64>) -> tensor<2x2x3x2x2xi32>
  return %0 : tensor<2x2x3x2x2xi32>
}
// -----
func.func @dynamic_gather(%x: tensor<3x4x2xf32>, %i: tensor<2x3x2xi64>, %sizes: tensor<3xi64>) -> tensor<2x3x?x?xf32> {
  %0 = "stablehlo.dynamic_gather"(%x, %i, %sizes) <{dimension_numbers = #stablehlo.gather<offset_dims = [2, 3], collapsed_slice_dims = [0], start_index_map = [1, 0], index_vector_dim = 2>, indices_are_sorted = true}> : (tensor<3x4x2xf32>, tensor<2x3x2xi64>, tensor<3xi64>) -> tensor<2x3x?x?xf32>
  return %0 : tensor<2x3x?x?xf32>
}
// -----
func.func @torch_index_select(%x: tensor<5x1x5xi32>, %i: tensor<2xi32>) -> tensor<2x1x5xi32> {
  %0 = "stablehlo.torch_index_select"(%x, %i) <{dim = 0 : i64, batch_dims = 0 : i64}> : (tensor<5x1x5xi32>, tensor<2xi32>) -> tensor<2x1x5xi32>
  return %0 : tensor<2x1x5xi32>
}
// -----
func.func @scatter(%x: tensor<3x4x2xi64>, %i: tensor<2x3x2xi64>, %u: tensor<2x3x2x2xi64>) -> tensor<3x4x2xi64> {
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2, 3], inserted_window_dims = [0], scatter_dims_to_operand_dims = [1, 0], index_vector_dim = 2>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %1 = stablehlo.add %a, %b : tensor<i64>
    stablehlo.return %1 : tensor<i64>
  }) : (tensor<3x4x2xi64>, tensor<2x3x2xi64>, tensor<2x3x2x2xi64>) -> tensor<3x4x2xi64>
  return %0 : tensor<3x4x2xi64>
}
// -----
func.func @batched_scatter_of_two(%x: tensor<2x3x4xf32>, %y: tensor<2x3x4xi32>, %i: tensor<2x5x1xi32>, %u: tensor<2x5x4xf32>, %v: tensor<2x5x4xi32>) -> tensor<2x3x4xf32> {
  %0:2 = "stablehlo.scatter"(%x, %y, %i, %u, %v) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>, unique_indices = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<i32>):
    stablehlo.return %c, %d : tensor<f32>, tensor<i32>
  }) : (tensor<2x3x4xf32>, tensor<2x3x4xi32>, tensor<2x5x1xi32>, tensor<2x5x4xf32>, tensor<2x5x4xi32>) -> (tensor<2x3x4xf32>, tensor<2x3x4xi32>)
  return %0#0 : tensor<2x3x4xf32>
}
// -----
func.func @tuples(%x: tensor<2xf32>, %t: !stablehlo.token) -> tensor<2xf32> {
  %0 = stablehlo.tuple %x, %t : tuple<tensor<2xf32>, !stablehlo.token>
  %1 = stablehlo.get_tuple_element %0[0] : (tuple<tensor<2xf32>, !stablehlo.token>) -> tensor<2xf32>
  %2 = stablehlo.tuple %0, %x : tuple<tuple<tensor<2xf32>, !stablehlo.token>, tensor<2xf32>>
  return %1 : tensor<2xf32>
}
