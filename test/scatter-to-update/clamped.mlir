// RUN: slimhlo-opt %s --slimhlo-scatter-to-update | FileCheck %s

// vmap writes an update at a place that it does not map over as a scatter at clamped places.

#columns = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [1]>
#both = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [1, 0]>

// CHECK-LABEL: func.func @mapped(
// CHECK-SAME: %[[X:.*]]: tensor<4x32xf32>, %[[I:.*]]: tensor<i32>, %[[U:.*]]: tensor<4x8xf32>)
// CHECK-DAG: %[[ZERO:.*]] = stablehlo.constant dense<0> : tensor<i32>
// CHECK: stablehlo.dynamic_update_slice %[[X]], %[[U]], %[[ZERO]], %[[I]]
// CHECK-NOT: stablehlo.clamp
// CHECK-NOT: stablehlo.scatter
func.func @mapped(%x: tensor<4x32xf32>, %i: tensor<i32>, %u: tensor<4x8xf32>) -> tensor<4x32xf32> {
  %zero = stablehlo.constant dense<0> : tensor<1xi32>
  %last = stablehlo.constant dense<24> : tensor<1xi32>
  %one = stablehlo.broadcast_in_dim %i, dims = [] : (tensor<i32>) -> tensor<1xi32>
  %at = stablehlo.clamp %zero, %one, %last : tensor<1xi32>
  %r = "stablehlo.scatter"(%x, %at, %u) <{scatter_dimension_numbers = #columns}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    stablehlo.return %new : tensor<f32>
  }) : (tensor<4x32xf32>, tensor<1xi32>, tensor<4x8xf32>) -> tensor<4x32xf32>
  return %r : tensor<4x32xf32>
}

// Each number has limits of its own; tighter ones than the array's stay. What combines reads what is there first.

// CHECK-LABEL: func.func @both(
// CHECK-SAME: %[[X:.*]]: tensor<4x32xf32>, %[[I:.*]]: tensor<2xi32>, %[[U:.*]]: tensor<2x8xf32>)
// CHECK: %[[ROW:[0-9]+]] = stablehlo.reshape %{{[0-9]+}} : (tensor<1xi32>) -> tensor<i32>
// CHECK: %[[AT:[0-9]+]] = stablehlo.reshape %{{[0-9]+}} : (tensor<1xi32>) -> tensor<i32>
// CHECK-DAG: %[[LEAST:.*]] = stablehlo.constant dense<3> : tensor<i32>
// CHECK-DAG: %[[MOST:.*]] = stablehlo.constant dense<20> : tensor<i32>
// CHECK: %[[COLUMN:[0-9]+]] = stablehlo.clamp %[[LEAST]], %[[AT]], %[[MOST]] : tensor<i32>
// CHECK-NOT: stablehlo.clamp
// CHECK: %[[OLD:[0-9]+]] = stablehlo.dynamic_slice %[[X]], %[[ROW]], %[[COLUMN]], sizes = [2, 8]
// CHECK: %[[NEW:[0-9]+]] = stablehlo.add %[[OLD]], %[[U]]
// CHECK: stablehlo.dynamic_update_slice %[[X]], %[[NEW]], %[[ROW]], %[[COLUMN]]
func.func @both(%x: tensor<4x32xf32>, %i: tensor<2xi32>, %u: tensor<2x8xf32>) -> tensor<4x32xf32> {
  %least = stablehlo.constant dense<0> : tensor<i32>
  %most = stablehlo.constant dense<[20, 2]> : tensor<2xi32>
  %low = stablehlo.constant dense<[3, 0]> : tensor<2xi32>
  %at = stablehlo.clamp %low, %i, %most : tensor<2xi32>
  %r = "stablehlo.scatter"(%x, %at, %u) <{scatter_dimension_numbers = #both}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    %sum = stablehlo.add %old, %new : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  }) : (tensor<4x32xf32>, tensor<2xi32>, tensor<2x8xf32>) -> tensor<4x32xf32>
  return %r : tensor<4x32xf32>
}

// A scatter skips what these limits let through; an update would clamp it.

// CHECK-LABEL: func.func @too_wide(
// CHECK-NOT: dynamic_update_slice
// CHECK: "stablehlo.scatter"
// CHECK-NOT: dynamic_update_slice
func.func @too_wide(%x: tensor<4x32xf32>, %i: tensor<1xi32>, %u: tensor<4x8xf32>) -> tensor<4x32xf32> {
  %zero = stablehlo.constant dense<0> : tensor<1xi32>
  %last = stablehlo.constant dense<25> : tensor<1xi32>
  %at = stablehlo.clamp %zero, %i, %last : tensor<1xi32>
  %r = "stablehlo.scatter"(%x, %at, %u) <{scatter_dimension_numbers = #columns}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    stablehlo.return %new : tensor<f32>
  }) : (tensor<4x32xf32>, tensor<1xi32>, tensor<4x8xf32>) -> tensor<4x32xf32>
  return %r : tensor<4x32xf32>
}

// What a partitioner makes of a place that it does not know it has to fetch.

module @partitioned attributes {mhlo.num_partitions = 2 : i32} {
  // CHECK-LABEL: func.func @mapped
  // CHECK-NOT: dynamic_update_slice
  // CHECK: "stablehlo.scatter"
  // CHECK-NOT: dynamic_update_slice
  func.func @mapped(%x: tensor<4x32xf32>, %i: tensor<1xi32>, %u: tensor<4x8xf32>) -> tensor<4x32xf32> {
    %zero = stablehlo.constant dense<0> : tensor<1xi32>
    %last = stablehlo.constant dense<24> : tensor<1xi32>
    %at = stablehlo.clamp %zero, %i, %last : tensor<1xi32>
    %r = "stablehlo.scatter"(%x, %at, %u) <{scatter_dimension_numbers = #columns}> ({
    ^bb0(%old: tensor<f32>, %new: tensor<f32>):
      stablehlo.return %new : tensor<f32>
    }) : (tensor<4x32xf32>, tensor<1xi32>, tensor<4x8xf32>) -> tensor<4x32xf32>
    return %r : tensor<4x32xf32>
  }
}
