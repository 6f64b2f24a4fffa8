// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=64" | FileCheck %s

#at = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>

#rows = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>

// Only indices of a byte each would not be stored, but a loop would copy updates of 128 bytes each.
// CHECK-LABEL: func @given
// CHECK-NOT: stablehlo.while
func.func @given(%values: tensor<4096xf32>, %weights: tensor<4096x16xi64>) -> tensor<12x16xi64> {
  %zero = stablehlo.constant dense<0> : tensor<12x16xi64>
  %bin = stablehlo.convert %values : (tensor<4096xf32>) -> tensor<4096xi8>
  %indices = stablehlo.reshape %bin : (tensor<4096xi8>) -> tensor<4096x1xi8>
  %r = "stablehlo.scatter"(%zero, %indices, %weights) <{scatter_dimension_numbers = #rows}> ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %s = stablehlo.add %a, %b : tensor<i64>
    stablehlo.return %s : tensor<i64>
  }) : (tensor<12x16xi64>, tensor<4096x1xi8>, tensor<4096x16xi64>) -> tensor<12x16xi64>
  return %r : tensor<12x16xi64>
}

// Here they are a third of the program's memory.
// CHECK-LABEL: func @wide_indices
// CHECK: stablehlo.while
func.func @wide_indices(%values: tensor<4096xf32>, %weights: tensor<4096xi64>) -> tensor<12xi64> {
  %zero = stablehlo.constant dense<0> : tensor<12xi64>
  %bin = stablehlo.convert %values : (tensor<4096xf32>) -> tensor<4096xi32>
  %indices = stablehlo.reshape %bin : (tensor<4096xi32>) -> tensor<4096x1xi32>
  %r = "stablehlo.scatter"(%zero, %indices, %weights) <{scatter_dimension_numbers = #at}> ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %s = stablehlo.add %a, %b : tensor<i64>
    stablehlo.return %s : tensor<i64>
  }) : (tensor<12xi64>, tensor<4096x1xi32>, tensor<4096xi64>) -> tensor<12xi64>
  return %r : tensor<12xi64>
}

// Updates that are computed would be stored, too.
// CHECK-LABEL: func @computed
// CHECK: stablehlo.while
func.func @computed(%values: tensor<4096xf32>, %weights: tensor<4096xi64>) -> tensor<12xi64> {
  %zero = stablehlo.constant dense<0> : tensor<12xi64>
  %bin = stablehlo.convert %values : (tensor<4096xf32>) -> tensor<4096xi8>
  %indices = stablehlo.reshape %bin : (tensor<4096xi8>) -> tensor<4096x1xi8>
  %squares = stablehlo.multiply %weights, %weights : tensor<4096xi64>
  %r = "stablehlo.scatter"(%zero, %indices, %squares) <{scatter_dimension_numbers = #at}> ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %s = stablehlo.add %a, %b : tensor<i64>
    stablehlo.return %s : tensor<i64>
  }) : (tensor<12xi64>, tensor<4096x1xi8>, tensor<4096xi64>) -> tensor<12xi64>
  return %r : tensor<12xi64>
}
