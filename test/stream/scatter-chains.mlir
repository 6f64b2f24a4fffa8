// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=64" | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=64" --slimhlo-stream="target=xla-cpu chunk-bytes=64" | FileCheck %s

// Scatters that combine alike, each into the result of the one before, share a loop and an accumulator.
// CHECK-LABEL: func @chain
// CHECK-SAME: %[[INPUT:[^ :]*]]: tensor<10xf32>
// CHECK-NOT: "stablehlo.scatter"
// CHECK: %[[LOOP:[^ ]*]]:5 = stablehlo.while(%{{[^ ,]*}} = %{{[^ ,]*}}, %[[ACC:[^ ,]*]] = %[[INPUT]],
// CHECK: do {
// CHECK: %[[ONE:[^ ]*]] = "stablehlo.scatter"(%[[ACC]],
// CHECK: (tensor<10xf32>, tensor<8x1xi32>, tensor<8xf32>) -> tensor<10xf32>
// CHECK: "stablehlo.scatter"(%[[ONE]],
// CHECK: (tensor<10xf32>, tensor<8x1xi32>, tensor<8xf32>) -> tensor<10xf32>
// CHECK-NOT: "stablehlo.scatter"
// CHECK: return %[[LOOP]]#1
func.func @chain(%input: tensor<10xf32>, %indices: tensor<128x1xi32>, %x: tensor<128xf32>, %y: tensor<128xf32>) -> tensor<10xf32> {
  %xx = stablehlo.multiply %x, %x : tensor<128xf32>
  %xy = stablehlo.multiply %x, %y : tensor<128xf32>
  %one = stablehlo.constant dense<1> : tensor<128x1xi32>
  %next = stablehlo.add %indices, %one : tensor<128x1xi32>
  %first = "stablehlo.scatter"(%input, %indices, %xx) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<10xf32>, tensor<128x1xi32>, tensor<128xf32>) -> tensor<10xf32>
  %second = "stablehlo.scatter"(%first, %next, %xy) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<10xf32>, tensor<128x1xi32>, tensor<128xf32>) -> tensor<10xf32>
  return %second : tensor<10xf32>
}

// Sums of maxima are no chain: each keeps its own loop.
// CHECK-LABEL: func @different
// CHECK: stablehlo.while
// CHECK: "stablehlo.scatter"
// CHECK: stablehlo.maximum
// CHECK-NOT: "stablehlo.scatter"
// CHECK: stablehlo.while
// CHECK: "stablehlo.scatter"
// CHECK: stablehlo.add
// CHECK-NOT: "stablehlo.scatter"
// CHECK: return
func.func @different(%input: tensor<10xf32>, %indices: tensor<128x1xi32>, %x: tensor<128xf32>, %y: tensor<128xf32>) -> tensor<10xf32> {
  %xx = stablehlo.multiply %x, %x : tensor<128xf32>
  %yy = stablehlo.multiply %y, %y : tensor<128xf32>
  %first = "stablehlo.scatter"(%input, %indices, %xx) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<10xf32>, tensor<128x1xi32>, tensor<128xf32>) -> tensor<10xf32>
  %second = "stablehlo.scatter"(%first, %indices, %yy) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<10xf32>, tensor<128x1xi32>, tensor<128xf32>) -> tensor<10xf32>
  return %second : tensor<10xf32>
}

// Nor are scatters between which something else needs the result.
// CHECK-LABEL: func @seen_between
// CHECK: stablehlo.while
// CHECK: "stablehlo.scatter"
// CHECK-NOT: "stablehlo.scatter"
// CHECK: stablehlo.while
// CHECK: "stablehlo.scatter"
// CHECK-NOT: "stablehlo.scatter"
// CHECK: return
func.func @seen_between(%input: tensor<10xf32>, %indices: tensor<128x1xi32>, %x: tensor<128xf32>, %y: tensor<128xf32>) -> (tensor<10xf32>, tensor<10xf32>) {
  %xx = stablehlo.multiply %x, %x : tensor<128xf32>
  %yy = stablehlo.multiply %y, %y : tensor<128xf32>
  %first = "stablehlo.scatter"(%input, %indices, %xx) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<10xf32>, tensor<128x1xi32>, tensor<128xf32>) -> tensor<10xf32>
  %second = "stablehlo.scatter"(%first, %indices, %yy) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<10xf32>, tensor<128x1xi32>, tensor<128xf32>) -> tensor<10xf32>
  return %first, %second : tensor<10xf32>, tensor<10xf32>
}
