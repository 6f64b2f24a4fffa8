// RUN: slimhlo-opt %s --slimhlo-optimize=target=xla-cpu | FileCheck %s

// JAX's value and gradient of a sum of gathered rows, which needs none of the rows. Loops take the signs of their chunks' indices
// themselves: stored for both, they would be as large as the indices that are given.
// CHECK-LABEL: func.func public @main
// CHECK-NOT: stablehlo.select %{{.*}} : tensor<262144x16x
// CHECK: stablehlo.while
// CHECK: stablehlo.select
// CHECK: stablehlo.gather
// CHECK: "stablehlo.scatter"
// CHECK: {{^ *}}return

module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<34x63x73x4xf64>, %arg1: tensor<262144x16x3xi32>) -> (tensor<f64> {jax.result_info = "result[0]"}, tensor<34x63x73x4xf64> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.slice %arg1 [0:262144, 0:16, 0:1] : (tensor<262144x16x3xi32>) -> tensor<262144x16x1xi32>
    %1 = stablehlo.reshape %0 : (tensor<262144x16x1xi32>) -> tensor<262144x16xi32>
    %2 = stablehlo.slice %arg1 [0:262144, 0:16, 1:2] : (tensor<262144x16x3xi32>) -> tensor<262144x16x1xi32>
    %3 = stablehlo.reshape %2 : (tensor<262144x16x1xi32>) -> tensor<262144x16xi32>
    %4 = stablehlo.slice %arg1 [0:262144, 0:16, 2:3] : (tensor<262144x16x3xi32>) -> tensor<262144x16x1xi32>
    %5 = stablehlo.reshape %4 : (tensor<262144x16x1xi32>) -> tensor<262144x16xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<262144x16xi32>
    %7 = stablehlo.compare LT, %1, %6, SIGNED : (tensor<262144x16xi32>, tensor<262144x16xi32>) -> tensor<262144x16xi1>
    %c_0 = stablehlo.constant dense<34> : tensor<i32>
    %8 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<262144x16xi32>
    %9 = stablehlo.add %1, %8 : tensor<262144x16xi32>
    %10 = stablehlo.select %7, %9, %1 : tensor<262144x16xi1>, tensor<262144x16xi32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %11 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<262144x16xi32>
    %12 = stablehlo.compare LT, %3, %11, SIGNED : (tensor<262144x16xi32>, tensor<262144x16xi32>) -> tensor<262144x16xi1>
    %c_2 = stablehlo.constant dense<63> : tensor<i32>
    %13 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<262144x16xi32>
    %14 = stablehlo.add %3, %13 : tensor<262144x16xi32>
    %15 = stablehlo.select %12, %14, %3 : tensor<262144x16xi1>, tensor<262144x16xi32>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %16 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<262144x16xi32>
    %17 = stablehlo.compare LT, %5, %16, SIGNED : (tensor<262144x16xi32>, tensor<262144x16xi32>) -> tensor<262144x16xi1>
    %c_4 = stablehlo.constant dense<73> : tensor<i32>
    %18 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i32>) -> tensor<262144x16xi32>
    %19 = stablehlo.add %5, %18 : tensor<262144x16xi32>
    %20 = stablehlo.select %17, %19, %5 : tensor<262144x16xi1>, tensor<262144x16xi32>
    %21 = stablehlo.broadcast_in_dim %10, dims = [0, 1] : (tensor<262144x16xi32>) -> tensor<262144x16x1xi32>
    %22 = stablehlo.broadcast_in_dim %15, dims = [0, 1] : (tensor<262144x16xi32>) -> tensor<262144x16x1xi32>
    %23 = stablehlo.broadcast_in_dim %20, dims = [0, 1] : (tensor<262144x16xi32>) -> tensor<262144x16x1xi32>
    %24 = stablehlo.concatenate %21, %22, %23, dim = 2 : (tensor<262144x16x1xi32>, tensor<262144x16x1xi32>, tensor<262144x16x1xi32>) -> tensor<262144x16x3xi32>
    %25 = "stablehlo.gather"(%arg0, %24) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0, 1, 2], start_index_map = [0, 1, 2], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 1, 4>}> : (tensor<34x63x73x4xf64>, tensor<262144x16x3xi32>) -> tensor<262144x16x4xf64>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %26 = stablehlo.reduce(%25 init: %cst) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<262144x16x4xf64>, tensor<f64>) -> tensor<f64>
    %cst_5 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %27 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f64>) -> tensor<262144x16x4xf64>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %28 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f64>) -> tensor<34x63x73x4xf64>
    %29 = "stablehlo.scatter"(%28, %24, %27) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0, 1, 2], scatter_dims_to_operand_dims = [0, 1, 2], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      %30 = stablehlo.add %arg2, %arg3 : tensor<f64>
      stablehlo.return %30 : tensor<f64>
    }) : (tensor<34x63x73x4xf64>, tensor<262144x16x3xi32>, tensor<262144x16x4xf64>) -> tensor<34x63x73x4xf64>
    return %26, %29 : tensor<f64>, tensor<34x63x73x4xf64>
  }
}
