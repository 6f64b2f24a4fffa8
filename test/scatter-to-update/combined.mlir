// RUN: slimhlo-opt %s --slimhlo-scatter-to-update --split-input-file | FileCheck %s
// RUN: slimhlo-opt %s "--pass-pipeline=builtin.module(func.func(slimhlo-scatter-to-update{partitioned-only=true}))" --split-input-file | FileCheck %s --check-prefix=PARTITIONED

#columns = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [1]>

// x.at[:, 8:16].add(u): nothing is accumulated, each element is combined once.
// CHECK-LABEL: func @adds
// CHECK: %[[OLD:[a-z0-9_]+]] = stablehlo.slice %arg0 [0:4, 8:16]
// CHECK: %[[NEW:[a-z0-9_]+]] = stablehlo.add %[[OLD]], %arg1 : tensor<4x8xf32>
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.dynamic_update_slice %arg0, %[[NEW]]
// CHECK: return %[[R]]
// PARTITIONED-LABEL: func @adds
// PARTITIONED: "stablehlo.scatter"
func.func @adds(%x: tensor<4x32xf32>, %u: tensor<4x8xf32>) -> tensor<4x32xf32> {
  %at = stablehlo.constant dense<8> : tensor<1xi32>
  %r = "stablehlo.scatter"(%x, %at, %u) <{scatter_dimension_numbers = #columns}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    %sum = stablehlo.add %old, %new : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  }) : (tensor<4x32xf32>, tensor<1xi32>, tensor<4x8xf32>) -> tensor<4x32xf32>
  return %r : tensor<4x32xf32>
}

// The order of the operands is kept.
// CHECK-LABEL: func @update_first
// CHECK: %[[OLD:[a-z0-9_]+]] = stablehlo.slice %arg0 [0:4, 8:16]
// CHECK: %[[NEW:[a-z0-9_]+]] = stablehlo.subtract %arg1, %[[OLD]] : tensor<4x8xf32>
// CHECK: stablehlo.dynamic_update_slice %arg0, %[[NEW]]
func.func @update_first(%x: tensor<4x32xf32>, %u: tensor<4x8xf32>) -> tensor<4x32xf32> {
  %at = stablehlo.constant dense<8> : tensor<1xi32>
  %r = "stablehlo.scatter"(%x, %at, %u) <{scatter_dimension_numbers = #columns}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    %less = stablehlo.subtract %new, %old : tensor<f32>
    stablehlo.return %less : tensor<f32>
  }) : (tensor<4x32xf32>, tensor<1xi32>, tensor<4x8xf32>) -> tensor<4x32xf32>
  return %r : tensor<4x32xf32>
}

// -----

#columns = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [1]>

// A partitioner gathers the whole array for a scatter.
module attributes {mhlo.num_partitions = 2 : i32} {
  // CHECK-LABEL: func @partitioned
  // CHECK: stablehlo.dynamic_update_slice
  // PARTITIONED-LABEL: func @partitioned
  // PARTITIONED: stablehlo.dynamic_update_slice
  func.func @partitioned(%x: tensor<4x32xf32>, %u: tensor<4x8xf32>) -> tensor<4x32xf32> {
    %at = stablehlo.constant dense<8> : tensor<1xi32>
    %r = "stablehlo.scatter"(%x, %at, %u) <{scatter_dimension_numbers = #columns}> ({
    ^bb0(%old: tensor<f32>, %new: tensor<f32>):
      %most = stablehlo.maximum %old, %new : tensor<f32>
      stablehlo.return %most : tensor<f32>
    }) : (tensor<4x32xf32>, tensor<1xi32>, tensor<4x8xf32>) -> tensor<4x32xf32>
    return %r : tensor<4x32xf32>
  }
}

// -----

#columns = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [1]>

// No exchange would be made of it, and a partitioner would move the slice as well.
module attributes {mhlo.num_partitions = 2 : i32} {
  // CHECK-LABEL: func @partitioned_bf16
  // CHECK-NOT: stablehlo.dynamic_update_slice
  // CHECK: stablehlo.scatter
  func.func @partitioned_bf16(%x: tensor<4x32xbf16>, %u: tensor<4x8xbf16>) -> tensor<4x32xbf16> {
    %at = stablehlo.constant dense<8> : tensor<1xi32>
    %r = "stablehlo.scatter"(%x, %at, %u) <{scatter_dimension_numbers = #columns}> ({
    ^bb0(%old: tensor<bf16>, %new: tensor<bf16>):
      %sum = stablehlo.add %old, %new : tensor<bf16>
      stablehlo.return %sum : tensor<bf16>
    }) : (tensor<4x32xbf16>, tensor<1xi32>, tensor<4x8xbf16>) -> tensor<4x32xbf16>
    return %r : tensor<4x32xbf16>
  }
}
