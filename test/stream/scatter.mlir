// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=64" | FileCheck %s

// CHECK-LABEL: func @updates_of_ones
// CHECK-SAME: %[[INPUT:.*]]: tensor<10xi32>, %[[INDICES:.*]]: tensor<128x1xi32>
// CHECK: %[[LOOP:.*]]:3 = stablehlo.while(%[[I:[^ ,]*]] = %{{[^ ,]*}}, %[[ACC:[^ ,]*]] = %[[INPUT]], %[[IN:[^ ,]*]] = %[[INDICES]])
// CHECK: stablehlo.constant dense<128> : tensor<i64>
// CHECK: do {
// CHECK: %[[SOME:.*]] = stablehlo.dynamic_slice %[[IN]], %[[I]], %{{.*}}, sizes = [8, 1]
// CHECK: %[[ONES:.*]] = stablehlo.broadcast_in_dim %{{.*}}, dims = [] : (tensor<i32>) -> tensor<8xi32>
// CHECK: "stablehlo.scatter"(%[[ACC]], %[[SOME]], %[[ONES]]) <{indices_are_sorted = true, {{.*}}unique_indices = true}>
// CHECK: return %[[LOOP]]#1
func.func @updates_of_ones(%input: tensor<10xi32>, %indices: tensor<128x1xi32>) -> tensor<10xi32> {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %ones = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<i32>) -> tensor<128xi32>
  %r = "stablehlo.scatter"(%input, %indices, %ones) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<10xi32>, tensor<128x1xi32>, tensor<128xi32>) -> tensor<10xi32>
  return %r : tensor<10xi32>
}

// Setting goes on in the order it had, along the slowest dimension.
// CHECK-LABEL: func @set
// CHECK: stablehlo.while
// CHECK: "stablehlo.scatter"
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<f32>, %[[NEW:.*]]: tensor<f32>):
// CHECK-NEXT: stablehlo.return %[[NEW]]
// CHECK: (tensor<10xf32>, tensor<4x2x1xi32>, tensor<4x2xf32>)
func.func @set(%input: tensor<10xf32>, %indices: tensor<128x2x1xi32>, %x: tensor<128x2xf32>) -> tensor<10xf32> {
  %y = stablehlo.multiply %x, %x : tensor<128x2xf32>
  %r = "stablehlo.scatter"(%input, %indices, %y) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<10xf32>, tensor<128x2x1xi32>, tensor<128x2xf32>) -> tensor<10xf32>
  return %r : tensor<10xf32>
}

// Where a chunk of the first dimension would be too large, sums run along another; their bf16 is summed in f32.
// CHECK-LABEL: func @second_dimension
// CHECK: %[[WIDE:.*]] = stablehlo.convert %{{.*}} : (tensor<10xbf16>) -> tensor<10xf32>
// CHECK: stablehlo.while(%iterArg = %{{[^ ,]*}}, %iterArg_0 = %[[WIDE]]
// CHECK: stablehlo.dynamic_slice {{.*}} sizes = [2, 4, 1]
// CHECK: "stablehlo.scatter"
// CHECK: stablehlo.add %{{.*}}, %{{.*}} : tensor<f32>
// CHECK: (tensor<10xf32>, tensor<2x4x1xi32>, tensor<2x4xf32>) -> tensor<10xf32>
// CHECK: stablehlo.convert %{{.*}} : (tensor<10xf32>) -> tensor<10xbf16>
func.func @second_dimension(%input: tensor<10xbf16>, %indices: tensor<2x1024x1xi32>, %x: tensor<2x1024xf32>) -> tensor<10xbf16> {
  %y = stablehlo.convert %x : (tensor<2x1024xf32>) -> tensor<2x1024xbf16>
  %r = "stablehlo.scatter"(%input, %indices, %y) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>}> ({
  ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
    %s = stablehlo.add %a, %b : tensor<bf16>
    stablehlo.return %s : tensor<bf16>
  }) : (tensor<10xbf16>, tensor<2x1024x1xi32>, tensor<2x1024xbf16>) -> tensor<10xbf16>
  return %r : tensor<10xbf16>
}
