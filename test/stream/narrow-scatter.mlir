// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=64" | FileCheck %s

#rows = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>
#at = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>

// A maximum is the same in f32, and widened once instead of in each turn.
// CHECK-LABEL: func @maximum
// CHECK: %[[WIDE:.*]] = stablehlo.convert %arg0 : (tensor<10xbf16>) -> tensor<10xf32>
// CHECK: stablehlo.while(%iterArg = %c, %iterArg_0 = %[[WIDE]],
// CHECK: stablehlo.maximum {{.*}} : tensor<f32>
// CHECK: stablehlo.convert %{{[0-9]+}}#1 : (tensor<10xf32>) -> tensor<10xbf16>
func.func @maximum(%input: tensor<10xbf16>, %table: tensor<10xbf16>, %indices: tensor<4096x1xi32>) -> tensor<10xbf16> {
  %rows = "stablehlo.gather"(%table, %indices) <{dimension_numbers = #rows, slice_sizes = array<i64: 1>}> : (tensor<10xbf16>, tensor<4096x1xi32>) -> tensor<4096xbf16>
  %r = "stablehlo.scatter"(%input, %indices, %rows) <{scatter_dimension_numbers = #at}> ({
  ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
    %m = stablehlo.maximum %a, %b : tensor<bf16>
    stablehlo.return %m : tensor<bf16>
  }) : (tensor<10xbf16>, tensor<4096x1xi32>, tensor<4096xbf16>) -> tensor<10xbf16>
  return %r : tensor<10xbf16>
}

// So is what is set.
// CHECK-LABEL: func @set
// CHECK: stablehlo.while
// CHECK: ^bb0(%{{.*}}: tensor<f32>, %[[NEW:.*]]: tensor<f32>):
// CHECK-NEXT: stablehlo.return %[[NEW]] : tensor<f32>
func.func @set(%input: tensor<10xbf16>, %table: tensor<10xbf16>, %indices: tensor<4096x1xi32>) -> tensor<10xbf16> {
  %rows = "stablehlo.gather"(%table, %indices) <{dimension_numbers = #rows, slice_sizes = array<i64: 1>}> : (tensor<10xbf16>, tensor<4096x1xi32>) -> tensor<4096xbf16>
  %r = "stablehlo.scatter"(%input, %indices, %rows) <{scatter_dimension_numbers = #at}> ({
  ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
    stablehlo.return %b : tensor<bf16>
  }) : (tensor<10xbf16>, tensor<4096x1xi32>, tensor<4096xbf16>) -> tensor<10xbf16>
  return %r : tensor<10xbf16>
}

// Back ends move f16 as it is.
// CHECK-LABEL: func @half
// CHECK: stablehlo.while
// CHECK-NOT: tensor<10xf32>
// CHECK: stablehlo.maximum {{.*}} : tensor<f16>
func.func @half(%input: tensor<10xf16>, %table: tensor<10xf16>, %indices: tensor<4096x1xi32>) -> tensor<10xf16> {
  %rows = "stablehlo.gather"(%table, %indices) <{dimension_numbers = #rows, slice_sizes = array<i64: 1>}> : (tensor<10xf16>, tensor<4096x1xi32>) -> tensor<4096xf16>
  %r = "stablehlo.scatter"(%input, %indices, %rows) <{scatter_dimension_numbers = #at}> ({
  ^bb0(%a: tensor<f16>, %b: tensor<f16>):
    %m = stablehlo.maximum %a, %b : tensor<f16>
    stablehlo.return %m : tensor<f16>
  }) : (tensor<10xf16>, tensor<4096x1xi32>, tensor<4096xf16>) -> tensor<10xf16>
  return %r : tensor<10xf16>
}
