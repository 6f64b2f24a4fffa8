// RUN: slimhlo-opt %s --slimhlo-reuse-gather-indices | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-reuse-gather-indices --slimhlo-reuse-gather-indices | FileCheck %s

// The gather takes the scatter's clamped indices: it would clamp to the same bounds. They fit in bytes.
// CHECK-LABEL: func @clamped_for_both
// CHECK: %[[CLAMPED:.*]] = stablehlo.clamp %{{.*}} : tensor<9x2xi16>
// CHECK: %[[AT:.*]] = stablehlo.convert %[[CLAMPED]] : (tensor<9x2xi16>) -> tensor<9x2xi8>
// CHECK: "stablehlo.gather"(%{{[^ ,]*}}, %[[AT]])
// CHECK-NOT: stablehlo.clamp
// CHECK: "stablehlo.scatter"(%{{[^ ,]*}}, %[[AT]],
func.func @clamped_for_both(%table: tensor<40x50xf32>, %indices: tensor<9x2xi16>) -> tensor<40x50xf32> {
  %zero16 = stablehlo.constant dense<0> : tensor<9x2xi16>
  %sizes = stablehlo.constant dense<[40, 50]> : tensor<2xi16>
  %rows = stablehlo.broadcast_in_dim %sizes, dims = [1] : (tensor<2xi16>) -> tensor<9x2xi16>
  %n = stablehlo.compare LT, %indices, %zero16, SIGNED : (tensor<9x2xi16>, tensor<9x2xi16>) -> tensor<9x2xi1>
  %s = stablehlo.add %indices, %rows : tensor<9x2xi16>
  %f = stablehlo.select %n, %s, %indices : tensor<9x2xi1>, tensor<9x2xi16>
  %at = stablehlo.convert %f : (tensor<9x2xi16>) -> tensor<9x2xi32>
  %r = "stablehlo.gather"(%table, %at) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<40x50xf32>, tensor<9x2xi32>) -> tensor<9xf32>
  %zero = stablehlo.constant dense<0> : tensor<9x2xi32>
  %last = stablehlo.constant dense<[39, 49]> : tensor<2xi32>
  %lasts = stablehlo.broadcast_in_dim %last, dims = [1] : (tensor<2xi32>) -> tensor<9x2xi32>
  %clamped = stablehlo.clamp %zero, %at, %lasts : tensor<9x2xi32>
  %g = "stablehlo.scatter"(%table, %clamped, %r) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  }) : (tensor<40x50xf32>, tensor<9x2xi32>, tensor<9xf32>) -> tensor<40x50xf32>
  return %g : tensor<40x50xf32>
}

// Spelled differently, the same: one value for both, and the clamp of the first is the gather's own.
// CHECK-LABEL: func @spelled_differently
// CHECK-SAME: %{{[^ :]*}}: tensor<40x50xf32>, %[[IN:[^ :]*]]: tensor<9x2xi32>
// CHECK-NOT: concatenate
// CHECK-NOT: clamp
// CHECK: "stablehlo.gather"(%{{[^ ,]*}}, %[[IN]])
// CHECK: "stablehlo.gather"(%{{[^ ,]*}}, %[[IN]])
func.func @spelled_differently(%table: tensor<40x50xf32>, %indices: tensor<9x2xi32>) -> (tensor<9xf32>, tensor<9xf32>) {
  %low = stablehlo.constant dense<0> : tensor<i32>
  %high = stablehlo.constant dense<1000> : tensor<i32>
  %clamped = stablehlo.clamp %low, %indices, %high : (tensor<i32>, tensor<9x2xi32>, tensor<i32>) -> tensor<9x2xi32>
  %r = "stablehlo.gather"(%table, %clamped) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<40x50xf32>, tensor<9x2xi32>) -> tensor<9xf32>
  %t = stablehlo.transpose %indices, dims = [1, 0] : (tensor<9x2xi32>) -> tensor<2x9xi32>
  %0 = stablehlo.slice %t [0:1, 0:9] : (tensor<2x9xi32>) -> tensor<1x9xi32>
  %1 = stablehlo.slice %t [1:2, 0:9] : (tensor<2x9xi32>) -> tensor<1x9xi32>
  %b0 = stablehlo.reshape %0 : (tensor<1x9xi32>) -> tensor<9x1xi32>
  %b1 = stablehlo.reshape %1 : (tensor<1x9xi32>) -> tensor<9x1xi32>
  %at = stablehlo.concatenate %b0, %b1, dim = 1 : (tensor<9x1xi32>, tensor<9x1xi32>) -> tensor<9x2xi32>
  %q = "stablehlo.gather"(%table, %at) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<40x50xf32>, tensor<9x2xi32>) -> tensor<9xf32>
  return %r, %q : tensor<9xf32>, tensor<9xf32>
}

// What was computed from the indices besides goes on being, from the narrow ones.
// CHECK-LABEL: func @other_users
// CHECK-SAME: %{{[^ :]*}}: tensor<40xf32>, %[[IN:[^ :]*]]: tensor<9xi8>
// CHECK: %[[NARROW:.*]] = stablehlo.reshape %[[IN]] : (tensor<9xi8>) -> tensor<9x1xi8>
// CHECK: %[[WIDE:.*]] = stablehlo.convert %[[NARROW]] : (tensor<9x1xi8>) -> tensor<9x1xi32>
// CHECK: "stablehlo.gather"(%{{[^ ,]*}}, %[[NARROW]])
// CHECK: stablehlo.compare GE, %[[WIDE]]
func.func @other_users(%table: tensor<40xf32>, %indices: tensor<9xi8>) -> (tensor<9xf32>, tensor<9x1xi1>) {
  %wide = stablehlo.convert %indices : (tensor<9xi8>) -> tensor<9xi32>
  %at = stablehlo.reshape %wide : (tensor<9xi32>) -> tensor<9x1xi32>
  %r = "stablehlo.gather"(%table, %at) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<40xf32>, tensor<9x1xi32>) -> tensor<9xf32>
  %zero = stablehlo.constant dense<0> : tensor<9x1xi32>
  %in = stablehlo.compare GE, %at, %zero, SIGNED : (tensor<9x1xi32>, tensor<9x1xi32>) -> tensor<9x1xi1>
  return %r, %in : tensor<9xf32>, tensor<9x1xi1>
}
