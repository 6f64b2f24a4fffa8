// RUN: slimhlo-opt %s --slimhlo-scatter-to-update | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-scatter-to-update --slimhlo-scatter-to-update | FileCheck %s

// x.at[:, 8:16].set(u)
// CHECK-LABEL: func @columns
// CHECK-SAME: %[[X:.*]]: tensor<4x32xf32>, %[[U:.*]]: tensor<4x8xf32>
// CHECK-DAG: %[[C0:.*]] = stablehlo.constant dense<0> : tensor<i64>
// CHECK-DAG: %[[C8:.*]] = stablehlo.constant dense<8> : tensor<i64>
// CHECK: stablehlo.dynamic_update_slice %[[X]], %[[U]], %[[C0]], %[[C8]] {mhlo.frontend_attributes = {a = "b"}}
// CHECK-NOT: scatter
func.func @columns(%x: tensor<4x32xf32>, %u: tensor<4x8xf32>) -> tensor<4x32xf32> {
  %c = stablehlo.constant dense<8> : tensor<i32>
  %at = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<1xi32>
  %r = "stablehlo.scatter"(%x, %at, %u) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [1]>, unique_indices = true}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    stablehlo.return %new : tensor<f32>
  }) {mhlo.frontend_attributes = {a = "b"}} : (tensor<4x32xf32>, tensor<1xi32>, tensor<4x8xf32>) -> tensor<4x32xf32>
  return %r : tensor<4x32xf32>
}

// x.at[2:4, 5:9].set(u): two numbers, in a constant or concatenated.
// CHECK-LABEL: func @block
// CHECK: %[[C2:.*]] = stablehlo.constant dense<2> : tensor<i64>
// CHECK: %[[C5:.*]] = stablehlo.constant dense<5> : tensor<i64>
// CHECK: %[[R:.*]] = stablehlo.dynamic_update_slice %{{.*}}, %{{.*}}, %[[C2]], %[[C5]] :
// CHECK: stablehlo.dynamic_update_slice %[[R]], %{{.*}}, %{{.*}}, %{{.*}} :
// CHECK-NOT: scatter
func.func @block(%x: tensor<6x10xi8>, %u: tensor<2x4xi8>) -> tensor<6x10xi8> {
  %at = stablehlo.constant dense<[2, 5]> : tensor<2xi32>
  %r = "stablehlo.scatter"(%x, %at, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1]>}> ({
  ^bb0(%old: tensor<i8>, %new: tensor<i8>):
    stablehlo.return %new : tensor<i8>
  }) : (tensor<6x10xi8>, tensor<2xi32>, tensor<2x4xi8>) -> tensor<6x10xi8>
  %one = stablehlo.constant dense<1> : tensor<1xui32>
  %six = stablehlo.constant dense<6> : tensor<1xui32>
  %other = stablehlo.concatenate %one, %six, dim = 0 : (tensor<1xui32>, tensor<1xui32>) -> tensor<2xui32>
  %s = "stablehlo.scatter"(%r, %other, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1]>}> ({
  ^bb0(%old: tensor<i8>, %new: tensor<i8>):
    stablehlo.return %new : tensor<i8>
  }) : (tensor<6x10xi8>, tensor<2xui32>, tensor<2x4xi8>) -> tensor<6x10xi8>
  return %s : tensor<6x10xi8>
}

// x.at[:, 3].set(u): the window has a dimension that the update lacks.
// CHECK-LABEL: func @column
// CHECK: %[[COLUMN:.*]] = stablehlo.reshape %{{.*}} : (tensor<4xf32>) -> tensor<4x1xf32>
// CHECK: stablehlo.dynamic_update_slice %{{.*}}, %[[COLUMN]], %{{.*}}, %{{.*}} :
func.func @column(%x: tensor<4x32xf32>, %u: tensor<4xf32>) -> tensor<4x32xf32> {
  %at = stablehlo.constant dense<3> : tensor<1xi32>
  %r = "stablehlo.scatter"(%x, %at, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1]>}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    stablehlo.return %new : tensor<f32>
  }) : (tensor<4x32xf32>, tensor<1xi32>, tensor<4xf32>) -> tensor<4x32xf32>
  return %r : tensor<4x32xf32>
}
