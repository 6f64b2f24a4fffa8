// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=2KiB" | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=2KiB" --slimhlo-stream="target=xla-cpu chunk-bytes=2KiB" | FileCheck %s

#rows = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>

// What is only gathered from is not computed as a whole: rows of what it is made of are.
// CHECK-LABEL: func @scaled
// CHECK-SAME: %[[TABLE:[^ ,]*]]: tensor<64x4xf32>
// CHECK: stablehlo.while(%{{[^ ,]*}} = %{{[^ ,]*}}, %{{[^ ,]*}} = %{{[^ ,]*}}, %{{[^ ,]*}} = %{{[^ ,]*}}, %{{[^ ,]*}} = %{{[^ ,]*}}, %[[T:[^ ,]*]] = %[[TABLE]]) :
// CHECK: do {
// CHECK: %[[ROWS:.*]] = "stablehlo.gather"(%[[T]], %{{.*}}) {{.*}} -> tensor<[[CHUNK:[0-9]+]]x4xf32>
// CHECK: %[[TIMES:.*]] = stablehlo.multiply %[[ROWS]], %{{.*}} : tensor<[[CHUNK]]x4xf32>
// CHECK: %[[SEEN:.*]] = stablehlo.compare GT, %[[TIMES]], %{{.*}} : (tensor<[[CHUNK]]x4xf32>, tensor<[[CHUNK]]x4xf32>) -> tensor<[[CHUNK]]x4xi1>
// CHECK: stablehlo.dot_general
// CHECK: {{^ *}}return
func.func @scaled(%table: tensor<64x4xf32>, %n: tensor<4096x1xi32>, %x: tensor<4096x4xi1>, %y: tensor<4096x4xf32>) -> tensor<4x4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<64x4xf32>
  %two = stablehlo.constant dense<2.0> : tensor<64x4xf32>
  %times = stablehlo.multiply %table, %two : tensor<64x4xf32>
  %seen = stablehlo.compare GT, %times, %zero : (tensor<64x4xf32>, tensor<64x4xf32>) -> tensor<64x4xi1>
  %wide = stablehlo.convert %seen : (tensor<64x4xi1>) -> tensor<64x4xf32>
  %rows = "stablehlo.gather"(%wide, %n) <{dimension_numbers = #rows, slice_sizes = array<i64: 1, 4>}> : (tensor<64x4xf32>, tensor<4096x1xi32>) -> tensor<4096x4xf32>
  %r = stablehlo.dot_general %rows, %y, contracting_dims = [0] x [0] : (tensor<4096x4xf32>, tensor<4096x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// So it is by a scalar that is no constant, and where a value is taken twice.
// CHECK-LABEL: func @square
// CHECK-SAME: %[[TABLE:[^ ,]*]]: tensor<64x4xf32>, %{{.*}}: tensor<4096x1xi32>, %[[S:[^ ,]*]]: tensor<f32>
// CHECK: stablehlo.while(%{{[^ ,]*}} = %{{[^ ,]*}}, %{{[^ ,]*}} = %{{[^ ,]*}}, %{{[^ ,]*}} = %{{[^ ,]*}}, %{{[^ ,]*}} = %{{[^ ,]*}}, %[[SCALAR:[^ ,]*]] = %[[S]], %[[T:[^ ,]*]] = %[[TABLE]]) :
// CHECK: do {
// CHECK: %[[ROWS:.*]] = "stablehlo.gather"(%[[T]], %{{.*}}) {{.*}} -> tensor<[[CHUNK:[0-9]+]]x4xf32>
// CHECK: %[[TWICE:.*]] = stablehlo.multiply %[[ROWS]], %[[ROWS]] : tensor<[[CHUNK]]x4xf32>
// CHECK: %[[ALL:.*]] = stablehlo.broadcast_in_dim %[[SCALAR]], dims = [] : (tensor<f32>) -> tensor<[[CHUNK]]x4xf32>
// CHECK: stablehlo.divide %[[TWICE]], %[[ALL]]
// CHECK: {{^ *}}return
func.func @square(%table: tensor<64x4xf32>, %n: tensor<4096x1xi32>, %s: tensor<f32>, %y: tensor<4096x4xf32>) -> tensor<4x4xf32> {
  %twice = stablehlo.multiply %table, %table : tensor<64x4xf32>
  %all = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<64x4xf32>
  %part = stablehlo.divide %twice, %all : tensor<64x4xf32>
  %rows = "stablehlo.gather"(%part, %n) <{dimension_numbers = #rows, slice_sizes = array<i64: 1, 4>}> : (tensor<64x4xf32>, tensor<4096x1xi32>) -> tensor<4096x4xf32>
  %r = stablehlo.dot_general %rows, %y, contracting_dims = [0] x [0] : (tensor<4096x4xf32>, tensor<4096x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// Something else needs the whole of it.
// CHECK-LABEL: func @needed
// CHECK: %[[TIMES:.*]] = stablehlo.multiply {{.*}} : tensor<64x4xf32>
// CHECK: stablehlo.while(%{{[^ ,]*}} = %{{[^ ,]*}}, %{{[^ ,]*}} = %{{[^ ,]*}}, %{{[^ ,]*}} = %{{[^ ,]*}}, %{{[^ ,]*}} = %{{[^ ,]*}}, %{{[^ ,]*}} = %[[TIMES]])
// CHECK: {{^ *}}return
func.func @needed(%table: tensor<64x4xf32>, %n: tensor<4096x1xi32>, %y: tensor<4096x4xf32>) -> (tensor<4x4xf32>, tensor<64x4xf32>) {
  %two = stablehlo.constant dense<2.0> : tensor<64x4xf32>
  %times = stablehlo.multiply %table, %two : tensor<64x4xf32>
  %rows = "stablehlo.gather"(%times, %n) <{dimension_numbers = #rows, slice_sizes = array<i64: 1, 4>}> : (tensor<64x4xf32>, tensor<4096x1xi32>) -> tensor<4096x4xf32>
  %r = stablehlo.dot_general %rows, %y, contracting_dims = [0] x [0] : (tensor<4096x4xf32>, tensor<4096x4xf32>) -> tensor<4x4xf32>
  return %r, %times : tensor<4x4xf32>, tensor<64x4xf32>
}

// It is costly, or made of two values.
// CHECK-LABEL: func @not_worth_it
// CHECK: %[[EXPS:.*]] = stablehlo.exponential {{.*}} : tensor<64x4xf32>
// CHECK: %[[SUMS:.*]] = stablehlo.add {{.*}} : tensor<64x4xf32>
// CHECK: stablehlo.while(%{{[^ ,]*}} = %{{[^ ,]*}}, %{{[^ ,]*}} = %{{[^ ,]*}}, %{{[^ ,]*}} = %{{[^ ,]*}}, %{{[^ ,]*}} = %[[EXPS]], %{{[^ ,]*}} = %[[SUMS]])
// CHECK: {{^ *}}return
func.func @not_worth_it(%table: tensor<64x4xf32>, %other: tensor<64x4xf32>, %n: tensor<4096x1xi32>) -> tensor<4x4xf32> {
  %exps = stablehlo.exponential %table : tensor<64x4xf32>
  %sums = stablehlo.add %table, %other : tensor<64x4xf32>
  %left = "stablehlo.gather"(%exps, %n) <{dimension_numbers = #rows, slice_sizes = array<i64: 1, 4>}> : (tensor<64x4xf32>, tensor<4096x1xi32>) -> tensor<4096x4xf32>
  %right = "stablehlo.gather"(%sums, %n) <{dimension_numbers = #rows, slice_sizes = array<i64: 1, 4>}> : (tensor<64x4xf32>, tensor<4096x1xi32>) -> tensor<4096x4xf32>
  %r = stablehlo.dot_general %left, %right, contracting_dims = [0] x [0] : (tensor<4096x4xf32>, tensor<4096x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}
