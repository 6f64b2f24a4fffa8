// RUN: slimhlo-opt %s --slimhlo-reuse-gather-indices | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-reuse-gather-indices --slimhlo-reuse-gather-indices | FileCheck %s

// A size that the narrow type does not hold: corrected in a wider one, and kept in that.
// CHECK-LABEL: func @too_large_for_bytes
// CHECK-SAME: %{{[^ :]*}}: tensor<200xf32>, %[[IN:[^ :]*]]: tensor<9xi8>
// CHECK: %[[WIDE:.*]] = stablehlo.convert %[[IN]] : (tensor<9xi8>) -> tensor<9xi16>
// CHECK: %[[SUM:.*]] = stablehlo.add %[[WIDE]], %{{.*}} : tensor<9xi16>
// CHECK: %[[FIXED:.*]] = stablehlo.select %{{[^ ,]*}}, %[[SUM]], %[[WIDE]] : tensor<9xi1>, tensor<9xi16>
// CHECK: %[[AT:.*]] = stablehlo.reshape %[[FIXED]] : (tensor<9xi16>) -> tensor<9x1xi16>
// CHECK: "stablehlo.gather"(%{{[^ ,]*}}, %[[AT]])
func.func @too_large_for_bytes(%table: tensor<200xf32>, %indices: tensor<9xi8>) -> tensor<9xf32> {
  %zero = stablehlo.constant dense<0> : tensor<9xi32>
  %size = stablehlo.constant dense<200> : tensor<9xi32>
  %wide = stablehlo.convert %indices : (tensor<9xi8>) -> tensor<9xi32>
  %n = stablehlo.compare LT, %wide, %zero, SIGNED : (tensor<9xi32>, tensor<9xi32>) -> tensor<9xi1>
  %s = stablehlo.add %wide, %size : tensor<9xi32>
  %f = stablehlo.select %n, %s, %wide : tensor<9xi1>, tensor<9xi32>
  %at = stablehlo.reshape %f : (tensor<9xi32>) -> tensor<9x1xi32>
  %r = "stablehlo.gather"(%table, %at) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<200xf32>, tensor<9x1xi32>) -> tensor<9xf32>
  return %r : tensor<9xf32>
}

// A convert that may cut numbers off stays the last thing done to them.
// CHECK-LABEL: func @cut_off
// CHECK-SAME: %{{[^ :]*}}: tensor<40x50xf32>, %[[IN:[^ :]*]]: tensor<9x2xi64>
// CHECK: %[[SUM:.*]] = stablehlo.add %[[IN]], %{{.*}} : tensor<9x2xi64>
// CHECK: %[[FIXED:.*]] = stablehlo.select %{{[^ ,]*}}, %[[SUM]], %[[IN]]
// CHECK: %[[AT:.*]] = stablehlo.convert %[[FIXED]] : (tensor<9x2xi64>) -> tensor<9x2xi32>
// CHECK-NOT: concatenate
// CHECK: "stablehlo.gather"(%{{[^ ,]*}}, %[[AT]])
func.func @cut_off(%table: tensor<40x50xf32>, %indices: tensor<9x2xi64>) -> tensor<9xf32> {
  %zero = stablehlo.constant dense<0> : tensor<9x1xi64>
  %40 = stablehlo.constant dense<40> : tensor<9x1xi64>
  %50 = stablehlo.constant dense<50> : tensor<9x1xi64>
  %0 = stablehlo.slice %indices [0:9, 0:1] : (tensor<9x2xi64>) -> tensor<9x1xi64>
  %1 = stablehlo.slice %indices [0:9, 1:2] : (tensor<9x2xi64>) -> tensor<9x1xi64>
  %n0 = stablehlo.compare LT, %0, %zero, SIGNED : (tensor<9x1xi64>, tensor<9x1xi64>) -> tensor<9x1xi1>
  %s0 = stablehlo.add %0, %40 : tensor<9x1xi64>
  %f0 = stablehlo.select %n0, %s0, %0 : tensor<9x1xi1>, tensor<9x1xi64>
  %n1 = stablehlo.compare LT, %1, %zero, SIGNED : (tensor<9x1xi64>, tensor<9x1xi64>) -> tensor<9x1xi1>
  %s1 = stablehlo.add %1, %50 : tensor<9x1xi64>
  %f1 = stablehlo.select %n1, %s1, %1 : tensor<9x1xi1>, tensor<9x1xi64>
  %w0 = stablehlo.convert %f0 : (tensor<9x1xi64>) -> tensor<9x1xi32>
  %w1 = stablehlo.convert %f1 : (tensor<9x1xi64>) -> tensor<9x1xi32>
  %at = stablehlo.concatenate %w0, %w1, dim = 1 : (tensor<9x1xi32>, tensor<9x1xi32>) -> tensor<9x2xi32>
  %r = "stablehlo.gather"(%table, %at) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<40x50xf32>, tensor<9x2xi32>) -> tensor<9xf32>
  return %r : tensor<9xf32>
}

// Numbers of several arrays, a constant among them, are joined in the narrowest type.
// CHECK-LABEL: func @several_arrays
// CHECK: %[[AT:.*]] = stablehlo.concatenate %{{.*}}, dim = 1 : (tensor<9x1xi16>, tensor<9x1xi16>, tensor<9x1xi16>) -> tensor<9x3xi16>
// CHECK: "stablehlo.scatter"(%{{[^ ,]*}}, %[[AT]],
func.func @several_arrays(%table: tensor<40x50x3xf32>, %a: tensor<9xi16>, %b: tensor<9xi8>, %x: tensor<9xf32>) -> tensor<40x50x3xf32> {
  %a32 = stablehlo.convert %a : (tensor<9xi16>) -> tensor<9xi32>
  %b32 = stablehlo.convert %b : (tensor<9xi8>) -> tensor<9xi32>
  %0 = stablehlo.reshape %a32 : (tensor<9xi32>) -> tensor<9x1xi32>
  %1 = stablehlo.reshape %b32 : (tensor<9xi32>) -> tensor<9x1xi32>
  %2 = stablehlo.constant dense<2> : tensor<9x1xi32>
  %at = stablehlo.concatenate %0, %1, %2, dim = 1 : (tensor<9x1xi32>, tensor<9x1xi32>, tensor<9x1xi32>) -> tensor<9x3xi32>
  %r = "stablehlo.scatter"(%table, %at, %x) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1, 2], scatter_dims_to_operand_dims = [0, 1, 2], index_vector_dim = 1>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    stablehlo.return %q : tensor<f32>
  }) : (tensor<40x50x3xf32>, tensor<9x3xi32>, tensor<9xf32>) -> tensor<40x50x3xf32>
  return %r : tensor<40x50x3xf32>
}
