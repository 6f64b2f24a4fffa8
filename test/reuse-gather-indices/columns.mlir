// RUN: slimhlo-opt %s --slimhlo-reuse-gather-indices | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-reuse-gather-indices --slimhlo-reuse-gather-indices | FileCheck %s

// The columns of one array, each corrected by the size of its dimension, are that array, corrected by a row of sizes.
// CHECK-LABEL: func @corrected
// CHECK-SAME: %[[TABLE:[^ :]*]]: tensor<40x50xf32>, %[[IN:[^ :]*]]: tensor<9x2xi16>
// CHECK: %[[NEGATIVE:.*]] = stablehlo.compare LT, %[[IN]], %{{.*}}, SIGNED : (tensor<9x2xi16>, tensor<9x2xi16>) -> tensor<9x2xi1>
// CHECK: %[[SIZES:.*]] = stablehlo.constant dense<[40, 50]> : tensor<2xi16>
// CHECK: %[[ROWS:.*]] = stablehlo.broadcast_in_dim %[[SIZES]], dims = [1] : (tensor<2xi16>) -> tensor<9x2xi16>
// CHECK: %[[SUM:.*]] = stablehlo.add %[[IN]], %[[ROWS]]
// CHECK: %[[AT:.*]] = stablehlo.select %[[NEGATIVE]], %[[SUM]], %[[IN]]
// CHECK-NOT: concatenate
// CHECK: "stablehlo.gather"(%[[TABLE]], %[[AT]])
// CHECK-SAME: (tensor<40x50xf32>, tensor<9x2xi16>) -> tensor<9xf32>
func.func @corrected(%table: tensor<40x50xf32>, %indices: tensor<9x2xi16>) -> tensor<9xf32> {
  %zero = stablehlo.constant dense<0> : tensor<9x1xi16>
  %40 = stablehlo.constant dense<40> : tensor<9x1xi16>
  %50 = stablehlo.constant dense<50> : tensor<9x1xi16>
  %0 = stablehlo.slice %indices [0:9, 0:1] : (tensor<9x2xi16>) -> tensor<9x1xi16>
  %1 = stablehlo.slice %indices [0:9, 1:2] : (tensor<9x2xi16>) -> tensor<9x1xi16>
  %n0 = stablehlo.compare LT, %0, %zero, SIGNED : (tensor<9x1xi16>, tensor<9x1xi16>) -> tensor<9x1xi1>
  %s0 = stablehlo.add %0, %40 : tensor<9x1xi16>
  %f0 = stablehlo.select %n0, %s0, %0 : tensor<9x1xi1>, tensor<9x1xi16>
  %n1 = stablehlo.compare GE, %1, %zero, SIGNED : (tensor<9x1xi16>, tensor<9x1xi16>) -> tensor<9x1xi1>
  %s1 = stablehlo.add %50, %1 : tensor<9x1xi16>
  %f1 = stablehlo.select %n1, %1, %s1 : tensor<9x1xi1>, tensor<9x1xi16>
  %w0 = stablehlo.convert %f0 : (tensor<9x1xi16>) -> tensor<9x1xi32>
  %w1 = stablehlo.convert %f1 : (tensor<9x1xi16>) -> tensor<9x1xi32>
  %at = stablehlo.concatenate %w0, %w1, dim = 1 : (tensor<9x1xi32>, tensor<9x1xi32>) -> tensor<9x2xi32>
  %r = "stablehlo.gather"(%table, %at) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<40x50xf32>, tensor<9x2xi32>) -> tensor<9xf32>
  return %r : tensor<9xf32>
}

// Nothing is done to unsigned numbers: the array itself, with the unit dimension the gather has.
// CHECK-LABEL: func @untouched
// CHECK-SAME: %{{[^ :]*}}: tensor<40x50xf32>, %[[IN:[^ :]*]]: tensor<9x2xui8>
// CHECK-NEXT: %[[AT:.*]] = stablehlo.reshape %[[IN]] : (tensor<9x2xui8>) -> tensor<9x1x2xui8>
// CHECK-NEXT: "stablehlo.gather"(%{{[^ ,]*}}, %[[AT]])
func.func @untouched(%table: tensor<40x50xf32>, %indices: tensor<9x2xui8>) -> tensor<9x1xf32> {
  %0 = stablehlo.slice %indices [0:9, 0:1] : (tensor<9x2xui8>) -> tensor<9x1xui8>
  %1 = stablehlo.slice %indices [0:9, 1:2] : (tensor<9x2xui8>) -> tensor<9x1xui8>
  %w0 = stablehlo.convert %0 : (tensor<9x1xui8>) -> tensor<9x1xi32>
  %w1 = stablehlo.convert %1 : (tensor<9x1xui8>) -> tensor<9x1xi32>
  %b0 = stablehlo.broadcast_in_dim %w0, dims = [0, 1] : (tensor<9x1xi32>) -> tensor<9x1x1xi32>
  %b1 = stablehlo.broadcast_in_dim %w1, dims = [0, 1] : (tensor<9x1xi32>) -> tensor<9x1x1xi32>
  %at = stablehlo.concatenate %b0, %b1, dim = 2 : (tensor<9x1x1xi32>, tensor<9x1x1xi32>) -> tensor<9x1x2xi32>
  %r = "stablehlo.gather"(%table, %at) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<40x50xf32>, tensor<9x1x2xi32>) -> tensor<9x1xf32>
  return %r : tensor<9x1xf32>
}

// Every other column of a wider array is a slice of it.
// CHECK-LABEL: func @every_other
// CHECK-SAME: %{{[^ :]*}}: tensor<40x50xf32>, %[[IN:[^ :]*]]: tensor<9x5xi32>
// CHECK-NEXT: %[[AT:.*]] = stablehlo.slice %[[IN]] [0:9, 1:4:2] : (tensor<9x5xi32>) -> tensor<9x2xi32>
// CHECK-NEXT: "stablehlo.gather"(%{{[^ ,]*}}, %[[AT]])
func.func @every_other(%table: tensor<40x50xf32>, %indices: tensor<9x5xi32>) -> tensor<9xf32> {
  %0 = stablehlo.slice %indices [0:9, 1:2] : (tensor<9x5xi32>) -> tensor<9x1xi32>
  %1 = stablehlo.slice %indices [0:9, 3:4] : (tensor<9x5xi32>) -> tensor<9x1xi32>
  %at = stablehlo.concatenate %0, %1, dim = 1 : (tensor<9x1xi32>, tensor<9x1xi32>) -> tensor<9x2xi32>
  %r = "stablehlo.gather"(%table, %at) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<40x50xf32>, tensor<9x2xi32>) -> tensor<9xf32>
  return %r : tensor<9xf32>
}

// Rows of an array are its vectors along the first dimension; what else used the indices gets them as they were.
// CHECK-LABEL: func @first_dimension
// CHECK-SAME: %{{[^ :]*}}: tensor<6x40x50xf32>, %[[IN:[^ :]*]]: tensor<2x6x9xi32>
// CHECK-NEXT: %[[BACK:.*]] = stablehlo.transpose %[[IN]], dims = [1, 2, 0] : (tensor<2x6x9xi32>) -> tensor<6x9x2xi32>
// CHECK-NEXT: "stablehlo.gather"(%{{[^ ,]*}}, %[[IN]])
// CHECK-SAME: operand_batching_dims = [0], start_indices_batching_dims = [1], start_index_map = [1, 2]>
// CHECK: return %{{[^ ,]*}}, %[[BACK]]
func.func @first_dimension(%table: tensor<6x40x50xf32>, %indices: tensor<2x6x9xi32>) -> (tensor<6x9xf32>, tensor<6x9x2xi32>) {
  %0 = stablehlo.slice %indices [0:1, 0:6, 0:9] : (tensor<2x6x9xi32>) -> tensor<1x6x9xi32>
  %1 = stablehlo.slice %indices [1:2, 0:6, 0:9] : (tensor<2x6x9xi32>) -> tensor<1x6x9xi32>
  %b0 = stablehlo.reshape %0 : (tensor<1x6x9xi32>) -> tensor<6x9x1xi32>
  %b1 = stablehlo.reshape %1 : (tensor<1x6x9xi32>) -> tensor<6x9x1xi32>
  %at = stablehlo.concatenate %b0, %b1, dim = 2 : (tensor<6x9x1xi32>, tensor<6x9x1xi32>) -> tensor<6x9x2xi32>
  %r = "stablehlo.gather"(%table, %at) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1, 2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1, 2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<6x40x50xf32>, tensor<6x9x2xi32>) -> tensor<6x9xf32>
  return %r, %at : tensor<6x9xf32>, tensor<6x9x2xi32>
}

// In another order: the gather knows which number is for which dimension.
// CHECK-LABEL: func @reversed
// CHECK-SAME: %{{[^ :]*}}: tensor<4x5xf32>, %[[IN:[^ :]*]]: tensor<99x2xi32>
// CHECK-NEXT: "stablehlo.gather"(%{{[^ ,]*}}, %[[IN]]) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [1, 0], index_vector_dim = 1>
func.func @reversed(%table: tensor<4x5xf32>, %indices: tensor<99x2xi32>) -> tensor<99xf32> {
  %0 = stablehlo.slice %indices [0:99, 0:1] : (tensor<99x2xi32>) -> tensor<99x1xi32>
  %1 = stablehlo.slice %indices [0:99, 1:2] : (tensor<99x2xi32>) -> tensor<99x1xi32>
  %at = stablehlo.concatenate %1, %0, dim = 1 : (tensor<99x1xi32>, tensor<99x1xi32>) -> tensor<99x2xi32>
  %r = "stablehlo.gather"(%table, %at) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<4x5xf32>, tensor<99x2xi32>) -> tensor<99xf32>
  return %r : tensor<99xf32>
}
