// RUN: slimhlo-opt %s --slimhlo-inplace-updates=min-bytes=1 | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-inplace-updates=min-bytes=1 --canonicalize --cse --slimhlo-dus-to-pad --slimhlo-inplace-updates=min-bytes=1 | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-inplace-updates="min-bytes=1 target=v5p" | FileCheck %s --check-prefix=TILES

// Where arrays lie in tiles, pieces of them that are staged flat are copies, and updates stay as they are.
// TILES-NOT: optimization_barrier

// Copied edges: both rows are read before the first update, by one value.
// CHECK-LABEL: func @copied
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<6x24x16xf64>
// CHECK: %[[A:.*]] = stablehlo.slice %[[X]] [0:6, 3:4, 0:16]
// CHECK: %[[B:.*]] = stablehlo.slice %[[X]] [0:6, 20:21, 0:16]
// CHECK: %[[BOTH:.*]] = stablehlo.concatenate %[[A]], %[[B]], dim = 0
// CHECK: %[[THERE:.*]] = stablehlo.optimization_barrier %[[BOTH]]
// CHECK: %[[C:.*]] = stablehlo.slice %[[THERE]] [0:6, 0:1, 0:16]
// CHECK: %[[D:.*]] = stablehlo.slice %[[THERE]] [6:12, 0:1, 0:16]
// CHECK: %[[LOW:.*]] = stablehlo.broadcast_in_dim %[[C]], dims = [0, 1, 2]
// CHECK: %[[X1:.*]] = stablehlo.dynamic_update_slice %[[X]], %[[LOW]],
// CHECK: %[[HIGH:.*]] = stablehlo.broadcast_in_dim %[[D]], dims = [0, 1, 2]
// CHECK: %[[X2:.*]] = stablehlo.dynamic_update_slice %[[X1]], %[[HIGH]],
// CHECK: return %[[X2]]
func.func @copied(%x: tensor<6x24x16xf64> {tf.aliasing_output = 0 : i32}) -> tensor<6x24x16xf64> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c21 = stablehlo.constant dense<21> : tensor<i32>
  %a = stablehlo.slice %x [0:6, 3:4, 0:16] : (tensor<6x24x16xf64>) -> tensor<6x1x16xf64>
  %low = stablehlo.broadcast_in_dim %a, dims = [0, 1, 2] : (tensor<6x1x16xf64>) -> tensor<6x3x16xf64>
  %x1 = stablehlo.dynamic_update_slice %x, %low, %c0, %c0, %c0 : (tensor<6x24x16xf64>, tensor<6x3x16xf64>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<6x24x16xf64>
  %b = stablehlo.slice %x1 [0:6, 20:21, 0:16] : (tensor<6x24x16xf64>) -> tensor<6x1x16xf64>
  %high = stablehlo.broadcast_in_dim %b, dims = [0, 1, 2] : (tensor<6x1x16xf64>) -> tensor<6x3x16xf64>
  %x2 = stablehlo.dynamic_update_slice %x1, %high, %c0, %c21, %c0 : (tensor<6x24x16xf64>, tensor<6x3x16xf64>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<6x24x16xf64>
  return %x2 : tensor<6x24x16xf64>
}

// Corners: rows of the array as it came, over columns that have been overwritten since. All reads of the old array come
// first; pieces of different shapes are staged flat.
// CHECK-LABEL: func @old_rows
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<24x16xf32>
// CHECK-DAG: %[[COLUMNS:.*]] = stablehlo.slice %[[X]] [0:24, 12:14]
// CHECK-DAG: %[[ROWS:.*]] = stablehlo.slice %[[X]] [20:22, 0:16]
// CHECK-DAG: %[[FLAT:.*]] = stablehlo.reshape %[[COLUMNS]] : (tensor<24x2xf32>) -> tensor<48xf32>
// CHECK-DAG: %[[FLATS:.*]] = stablehlo.reshape %[[ROWS]] : (tensor<2x16xf32>) -> tensor<32xf32>
// CHECK: %[[BOTH:.*]] = stablehlo.concatenate %[[FLAT]], %[[FLATS]], dim = 0
// CHECK: stablehlo.optimization_barrier %[[BOTH]]
// CHECK-NOT: stablehlo.slice %[[X]]
// CHECK: stablehlo.dynamic_update_slice %[[X]],
// CHECK-NOT: stablehlo.slice %[[X]]
// CHECK: {{^ *}}return
func.func @old_rows(%x: tensor<24x16xf32> {tf.aliasing_output = 0 : i32}) -> tensor<24x16xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %columns = stablehlo.slice %x [0:24, 12:14] : (tensor<24x16xf32>) -> tensor<24x2xf32>
  %x1 = stablehlo.dynamic_update_slice %x, %columns, %c0, %c0 : (tensor<24x16xf32>, tensor<24x2xf32>, tensor<i32>, tensor<i32>) -> tensor<24x16xf32>
  %rows = stablehlo.slice %x [20:22, 0:16] : (tensor<24x16xf32>) -> tensor<2x16xf32>
  %x2 = stablehlo.dynamic_update_slice %x1, %rows, %c0, %c0 : (tensor<24x16xf32>, tensor<2x16xf32>, tensor<i32>, tensor<i32>) -> tensor<24x16xf32>
  return %x2 : tensor<24x16xf32>
}

// The first update reads nothing: its value is staged with the others.
// CHECK-LABEL: func @value
// CHECK: stablehlo.optimization_barrier
// CHECK: %[[OTHER:.*]] = stablehlo.slice %{{.*}} [0:2, 0:16]
// CHECK: %[[U:.*]] = stablehlo.slice %{{.*}} [2:4, 0:16]
// CHECK: %[[X1:.*]] = stablehlo.dynamic_update_slice %arg0, %[[U]],
// CHECK: stablehlo.dynamic_update_slice %[[X1]], %[[OTHER]],
func.func @value(%x: tensor<24x16xf32> {tf.aliasing_output = 0 : i32}, %u: tensor<2x16xf32>) -> tensor<24x16xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c20 = stablehlo.constant dense<20> : tensor<i32>
  %x1 = stablehlo.dynamic_update_slice %x, %u, %c20, %c0 : (tensor<24x16xf32>, tensor<2x16xf32>, tensor<i32>, tensor<i32>) -> tensor<24x16xf32>
  %rows = stablehlo.slice %x [20:22, 0:16] : (tensor<24x16xf32>) -> tensor<2x16xf32>
  %x2 = stablehlo.dynamic_update_slice %x1, %rows, %c0, %c0 : (tensor<24x16xf32>, tensor<2x16xf32>, tensor<i32>, tensor<i32>) -> tensor<24x16xf32>
  return %x2 : tensor<24x16xf32>
}
