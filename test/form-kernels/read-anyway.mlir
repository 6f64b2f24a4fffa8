// RUN: slimhlo-opt %s --slimhlo-form-kernels --split-input-file | FileCheck %s

// `x.at[i].add(u)` as JAX writes it: what is negative counts from the end. Each index is asked for four times, and read each time; whether it is
// negative is not stored for that.

// CHECK-LABEL: func.func @main
// CHECK-NOT: xi1>
// CHECK: call @scatter_0(
// CHECK-NEXT: return
func.func @main(%x: tensor<1048576x4xf32> {jax.buffer_donor = true}, %i: tensor<67108864xi32>, %u: tensor<67108864x4xf32>) -> tensor<1048576x4xf32> {
  %none = stablehlo.constant dense<0> : tensor<67108864xi32>
  %size = stablehlo.constant dense<1048576> : tensor<67108864xi32>
  %0 = stablehlo.compare LT, %i, %none, SIGNED : (tensor<67108864xi32>, tensor<67108864xi32>) -> tensor<67108864xi1>
  %1 = stablehlo.add %i, %size : tensor<67108864xi32>
  %2 = stablehlo.select %0, %1, %i : tensor<67108864xi1>, tensor<67108864xi32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<67108864xi32>) -> tensor<67108864x1xi32>
  %4 = "stablehlo.scatter"(%x, %3, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%left: tensor<f32>, %right: tensor<f32>):
    %5 = stablehlo.add %left, %right : tensor<f32>
    stablehlo.return %5 : tensor<f32>
  }) : (tensor<1048576x4xf32>, tensor<67108864x1xi32>, tensor<67108864x4xf32>) -> tensor<1048576x4xf32>
  return %4 : tensor<1048576x4xf32>
}

// -----

// What takes long to compute is stored, although it reads what is read anyway.

// CHECK-LABEL: func.func @main
// CHECK: call @multiply_0(%arg1)
// CHECK: call @scatter_0(
func.func @main(%x: tensor<1048576x128xf32> {jax.buffer_donor = true}, %y: tensor<1048576xf32>, %i: tensor<1048576x1xi32>) -> tensor<1048576x128xf32> {
  %0 = stablehlo.tanh %y : tensor<1048576xf32>
  %1 = stablehlo.tanh %0 : tensor<1048576xf32>
  %2 = stablehlo.tanh %1 : tensor<1048576xf32>
  %3 = stablehlo.multiply %2, %y : tensor<1048576xf32>
  %4 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<1048576xf32>) -> tensor<1048576x128xf32>
  %5 = "stablehlo.scatter"(%x, %i, %4) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%left: tensor<f32>, %right: tensor<f32>):
    %6 = stablehlo.add %left, %right : tensor<f32>
    stablehlo.return %6 : tensor<f32>
  }) : (tensor<1048576x128xf32>, tensor<1048576x1xi32>, tensor<1048576x128xf32>) -> tensor<1048576x128xf32>
  return %5 : tensor<1048576x128xf32>
}
