// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=2KiB" | FileCheck %s

#rows = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>

// Products are added up in the type that the algorithm names, and so are parts of the dot.
// CHECK-LABEL: func @same_type
// CHECK: stablehlo.while
// CHECK: stablehlo.dot_general {{.*}} accumulation_type = f32, {{.*}} -> tensor<4x4xf32>
// CHECK: stablehlo.add %{{.*}} : tensor<4x4xf32>
// CHECK: {{^ *}}return
func.func @same_type(%table: tensor<8x4xbf16>, %n: tensor<4096x1xi32>, %y: tensor<4096x4xbf16>) -> tensor<4x4xf32> {
  %rows = "stablehlo.gather"(%table, %n) <{dimension_numbers = #rows, slice_sizes = array<i64: 1, 4>}> : (tensor<8x4xbf16>, tensor<4096x1xi32>) -> tensor<4096x4xbf16>
  %r = stablehlo.dot_general %rows, %y, contracting_dims = [0] x [0], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<4096x4xbf16>, tensor<4096x4xbf16>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// A narrow result is rounded once, after the last part.
// CHECK-LABEL: func @narrow_result
// CHECK: %[[LOOP:.*]]:{{[0-9]+}} = stablehlo.while
// CHECK: stablehlo.dot_general {{.*}} accumulation_type = f32, {{.*}} -> tensor<4x4xf32>
// CHECK: stablehlo.convert %{{.*}} : (tensor<4x4xf32>) -> tensor<4x4xbf16>
// CHECK: {{^ *}}return
func.func @narrow_result(%table: tensor<8x4xbf16>, %n: tensor<4096x1xi32>, %y: tensor<4096x4xbf16>) -> tensor<4x4xbf16> {
  %rows = "stablehlo.gather"(%table, %n) <{dimension_numbers = #rows, slice_sizes = array<i64: 1, 4>}> : (tensor<8x4xbf16>, tensor<4096x1xi32>) -> tensor<4096x4xbf16>
  %r = stablehlo.dot_general %rows, %y, contracting_dims = [0] x [0], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<4096x4xbf16>, tensor<4096x4xbf16>) -> tensor<4x4xbf16>
  return %r : tensor<4x4xbf16>
}

// Parts in f32 would be added up in another type than the algorithm's.
// CHECK-LABEL: func @other_type
// CHECK-NOT: stablehlo.while
// CHECK: {{^ *}}return
func.func @other_type(%table: tensor<8x4xf16>, %n: tensor<4096x1xi32>, %y: tensor<4096x4xf16>) -> tensor<4x4xf16> {
  %rows = "stablehlo.gather"(%table, %n) <{dimension_numbers = #rows, slice_sizes = array<i64: 1, 4>}> : (tensor<8x4xf16>, tensor<4096x1xi32>) -> tensor<4096x4xf16>
  %r = stablehlo.dot_general %rows, %y, contracting_dims = [0] x [0], algorithm = <lhs_precision_type = f16, rhs_precision_type = f16, accumulation_type = f16, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<4096x4xf16>, tensor<4096x4xf16>) -> tensor<4x4xf16>
  return %r : tensor<4x4xf16>
}
