// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=64" | FileCheck %s
// CHECK-NOT: stablehlo.while

#rows = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>

// An elementwise chain into one reduction is never stored.
// CHECK-LABEL: func @fused
func.func @fused(%x: tensor<4096xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e = stablehlo.exponential %x : tensor<4096xf32>
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4096xf32>, tensor<f32>) -> tensor<f32>
  return %sum : tensor<f32>
}

// CHECK-LABEL: func @arguments
func.func @arguments(%input: tensor<10xf32>, %indices: tensor<128x1xi32>, %x: tensor<128xf32>) -> tensor<10xf32> {
  %r = "stablehlo.scatter"(%input, %indices, %x) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<10xf32>, tensor<128x1xi32>, tensor<128xf32>) -> tensor<10xf32>
  return %r : tensor<10xf32>
}

// CHECK-LABEL: func @needed_whole
func.func @needed_whole(%table: tensor<10xf32>, %indices: tensor<128x1xi32>) -> (tensor<f32>, tensor<128xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %rows = "stablehlo.gather"(%table, %indices) <{dimension_numbers = #rows, slice_sizes = array<i64: 1>}> : (tensor<10xf32>, tensor<128x1xi32>) -> tensor<128xf32>
  %sum = stablehlo.reduce(%rows init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<128xf32>, tensor<f32>) -> tensor<f32>
  return %sum, %rows : tensor<f32>, tensor<128xf32>
}

// CHECK-LABEL: func @sharded_producer
func.func @sharded_producer(%table: tensor<10xf32>, %indices: tensor<128x1xi32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %rows = "stablehlo.gather"(%table, %indices) <{dimension_numbers = #rows, slice_sizes = array<i64: 1>}> {mhlo.sharding = "{replicated}"} : (tensor<10xf32>, tensor<128x1xi32>) -> tensor<128xf32>
  %sum = stablehlo.reduce(%rows init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<128xf32>, tensor<f32>) -> tensor<f32>
  return %sum : tensor<f32>
}

// CHECK-LABEL: func @annotated_consumer
func.func @annotated_consumer(%table: tensor<10xf32>, %indices: tensor<128x1xi32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %rows = "stablehlo.gather"(%table, %indices) <{dimension_numbers = #rows, slice_sizes = array<i64: 1>}> : (tensor<10xf32>, tensor<128x1xi32>) -> tensor<128xf32>
  %sum = "stablehlo.reduce"(%rows, %zero) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {mhlo.frontend_attributes = {keep = "me"}} : (tensor<128xf32>, tensor<f32>) -> tensor<f32>
  return %sum : tensor<f32>
}

// CHECK-LABEL: func @dynamic_shape
func.func @dynamic_shape(%table: tensor<10xf32>, %indices: tensor<?x1xi32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %rows = "stablehlo.gather"(%table, %indices) <{dimension_numbers = #rows, slice_sizes = array<i64: 1>}> : (tensor<10xf32>, tensor<?x1xi32>) -> tensor<?xf32>
  %sum = stablehlo.reduce(%rows init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<?xf32>, tensor<f32>) -> tensor<f32>
  return %sum : tensor<f32>
}

// A body of which the order of application may show.
// CHECK-LABEL: func @unknown_body
func.func @unknown_body(%table: tensor<10xf32>, %indices: tensor<128x1xi32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %rows = "stablehlo.gather"(%table, %indices) <{dimension_numbers = #rows, slice_sizes = array<i64: 1>}> : (tensor<10xf32>, tensor<128x1xi32>) -> tensor<128xf32>
  %sum = stablehlo.reduce(%rows init: %zero) across dimensions = [0] : (tensor<128xf32>, tensor<f32>) -> tensor<f32>
    reducer(%a: tensor<f32>, %b: tensor<f32>) {
      %s = stablehlo.subtract %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }
  return %sum : tensor<f32>
}

// What has effects is done once, and whole.
// CHECK-LABEL: func @effects
func.func @effects(%table: tensor<10xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %rows = stablehlo.custom_call @next(%table) {has_side_effect = true} : (tensor<10xf32>) -> tensor<128xf32>
  %sum = stablehlo.reduce(%rows init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<128xf32>, tensor<f32>) -> tensor<f32>
  return %sum : tensor<f32>
}

// Setting along the fastest dimension only would change which update comes last.
// CHECK-LABEL: func @order_shows
func.func @order_shows(%input: tensor<10xf32>, %indices: tensor<2x1024x1xi32>, %x: tensor<2x1024xf32>) -> tensor<10xf32> {
  %y = stablehlo.multiply %x, %x : tensor<2x1024xf32>
  %r = "stablehlo.scatter"(%input, %indices, %y) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<10xf32>, tensor<2x1024x1xi32>, tensor<2x1024xf32>) -> tensor<10xf32>
  return %r : tensor<10xf32>
}
