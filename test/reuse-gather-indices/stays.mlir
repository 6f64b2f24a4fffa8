// RUN: slimhlo-opt %s --slimhlo-reuse-gather-indices | FileCheck %s

// A type that does not hold the size of what is indexed: back ends compare the two in it.
// CHECK-LABEL: func @size_too_large
// CHECK: %[[AT:.*]] = stablehlo.convert %{{.*}} : (tensor<9x1xui16>) -> tensor<9x1xi32>
// CHECK-NEXT: "stablehlo.gather"(%{{[^ ,]*}}, %[[AT]])
func.func @size_too_large(%table: tensor<70000xf32>, %indices: tensor<9x1xui16>) -> tensor<9xf32> {
  %at = stablehlo.convert %indices : (tensor<9x1xui16>) -> tensor<9x1xi32>
  %r = "stablehlo.gather"(%table, %at) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<70000xf32>, tensor<9x1xi32>) -> tensor<9xf32>
  return %r : tensor<9xf32>
}

// A scatter skips what is out of bounds: it must not be clamped, nor a clamp be left out.
// CHECK-LABEL: func @clamped
// CHECK: %[[AT:.*]] = stablehlo.clamp %{{.*}} -> tensor<9x1xi32>
// CHECK-NEXT: "stablehlo.scatter"(%{{[^ ,]*}}, %[[AT]],
func.func @clamped(%table: tensor<70000xf32>, %indices: tensor<9x1xi32>, %x: tensor<9xf32>) -> tensor<70000xf32> {
  %low = stablehlo.constant dense<0> : tensor<i32>
  %high = stablehlo.constant dense<69999> : tensor<i32>
  %at = stablehlo.clamp %low, %indices, %high : (tensor<i32>, tensor<9x1xi32>, tensor<i32>) -> tensor<9x1xi32>
  %r = "stablehlo.scatter"(%table, %at, %x) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    stablehlo.return %q : tensor<f32>
  }) : (tensor<70000xf32>, tensor<9x1xi32>, tensor<9xf32>) -> tensor<70000xf32>
  return %r : tensor<70000xf32>
}

// The bound is not the gather's own: its windows are larger.
// CHECK-LABEL: func @other_bound
// CHECK: %[[AT:.*]] = stablehlo.clamp %{{.*}} -> tensor<9x1xi32>
// CHECK-NEXT: "stablehlo.gather"(%{{[^ ,]*}}, %[[AT]])
func.func @other_bound(%table: tensor<70000xf32>, %indices: tensor<9x1xi32>) -> tensor<9x10xf32> {
  %low = stablehlo.constant dense<0> : tensor<i32>
  %high = stablehlo.constant dense<69989> : tensor<i32>
  %at = stablehlo.clamp %low, %indices, %high : (tensor<i32>, tensor<9x1xi32>, tensor<i32>) -> tensor<9x1xi32>
  %r = "stablehlo.gather"(%table, %at) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 10>}> : (tensor<70000xf32>, tensor<9x1xi32>) -> tensor<9x10xf32>
  return %r : tensor<9x10xf32>
}

// Columns in another order, but the table is not small beside the indices: a back end might transpose it.
// CHECK-LABEL: func @order
// CHECK: %[[AT:.*]] = stablehlo.concatenate %{{.*}} -> tensor<9x2xi32>
// CHECK-NEXT: "stablehlo.gather"(%{{[^ ,]*}}, %[[AT]])
func.func @order(%table: tensor<40x50xf32>, %indices: tensor<9x2xi32>) -> tensor<9xf32> {
  %0 = stablehlo.slice %indices [0:9, 0:1] : (tensor<9x2xi32>) -> tensor<9x1xi32>
  %1 = stablehlo.slice %indices [0:9, 1:2] : (tensor<9x2xi32>) -> tensor<9x1xi32>
  %at = stablehlo.concatenate %1, %0, dim = 1 : (tensor<9x1xi32>, tensor<9x1xi32>) -> tensor<9x2xi32>
  %r = "stablehlo.gather"(%table, %at) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<40x50xf32>, tensor<9x2xi32>) -> tensor<9xf32>
  return %r : tensor<9xf32>
}

// Columns in an order that no slice has.
// CHECK-LABEL: func @irregular
// CHECK: %[[AT:.*]] = stablehlo.concatenate %{{.*}} -> tensor<9x3xi32>
// CHECK-NEXT: "stablehlo.gather"(%{{[^ ,]*}}, %[[AT]])
func.func @irregular(%table: tensor<4x5x6xf32>, %indices: tensor<9x4xi32>) -> tensor<9xf32> {
  %0 = stablehlo.slice %indices [0:9, 0:1] : (tensor<9x4xi32>) -> tensor<9x1xi32>
  %1 = stablehlo.slice %indices [0:9, 1:2] : (tensor<9x4xi32>) -> tensor<9x1xi32>
  %3 = stablehlo.slice %indices [0:9, 3:4] : (tensor<9x4xi32>) -> tensor<9x1xi32>
  %at = stablehlo.concatenate %0, %1, %3, dim = 1 : (tensor<9x1xi32>, tensor<9x1xi32>, tensor<9x1xi32>) -> tensor<9x3xi32>
  %r = "stablehlo.gather"(%table, %at) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1, 2], start_index_map = [0, 1, 2], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<4x5x6xf32>, tensor<9x3xi32>) -> tensor<9xf32>
  return %r : tensor<9xf32>
}

// What has a sharding is not looked through.
// CHECK-LABEL: func @sharded
// CHECK: %[[AT:.*]] = stablehlo.convert %{{.*}} {mhlo.sharding = "{replicated}"}
// CHECK-NEXT: "stablehlo.gather"(%{{[^ ,]*}}, %[[AT]])
func.func @sharded(%table: tensor<40xf32>, %indices: tensor<9x1xi8>) -> tensor<9xf32> {
  %at = stablehlo.convert %indices {mhlo.sharding = "{replicated}"} : (tensor<9x1xi8>) -> tensor<9x1xi32>
  %r = "stablehlo.gather"(%table, %at) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<40xf32>, tensor<9x1xi32>) -> tensor<9xf32>
  return %r : tensor<9xf32>
}

// An addition that wraps around is no correction: i8 holds no 200, so that 56 is taken away.
// CHECK-LABEL: func @wraps_around
// CHECK: %[[AT:.*]] = stablehlo.add %{{.*}} : tensor<9x2xi8>
// CHECK-NEXT: "stablehlo.gather"(%{{[^ ,]*}}, %[[AT]])
func.func @wraps_around(%table: tensor<100x100xf32>, %indices: tensor<9x2xi8>) -> tensor<9xf32> {
  %by = stablehlo.constant dense<-56> : tensor<9x2xi8>
  %at = stablehlo.add %indices, %by : tensor<9x2xi8>
  %r = "stablehlo.gather"(%table, %at) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<100x100xf32>, tensor<9x2xi8>) -> tensor<9xf32>
  return %r : tensor<9xf32>
}

// Dynamic shapes are left alone.
// CHECK-LABEL: func @dynamic
// CHECK: %[[AT:.*]] = stablehlo.convert %{{.*}} -> tensor<?x1xi32>
// CHECK-NEXT: "stablehlo.gather"(%{{[^ ,]*}}, %[[AT]])
func.func @dynamic(%table: tensor<40xf32>, %indices: tensor<?x1xi8>) -> tensor<?xf32> {
  %at = stablehlo.convert %indices : (tensor<?x1xi8>) -> tensor<?x1xi32>
  %r = "stablehlo.gather"(%table, %at) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<40xf32>, tensor<?x1xi32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}
