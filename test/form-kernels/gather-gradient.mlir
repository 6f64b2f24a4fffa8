// RUN: slimhlo-opt %s --slimhlo-form-kernels | FileCheck %s

// The gradient of a gather is one kernel besides the zeros it adds to: indices are normalised on the fly.

// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[ZEROS:[0-9]+]] = call @constant_0()
// CHECK-NEXT: %[[R:[0-9]+]] = call @scatter_0(%arg0, %[[ZEROS]])
// CHECK-NEXT: return %[[R]]
func.func @main(%at: tensor<4096xi32>) -> tensor<128xf32> {
  %zero = stablehlo.constant dense<0> : tensor<4096xi32>
  %size = stablehlo.constant dense<128> : tensor<4096xi32>
  %zeros = stablehlo.constant dense<0.0> : tensor<128xf32>
  %ones = stablehlo.constant dense<1.0> : tensor<4096xf32>
  %0 = stablehlo.compare LT, %at, %zero, SIGNED : (tensor<4096xi32>, tensor<4096xi32>) -> tensor<4096xi1>
  %1 = stablehlo.add %at, %size : tensor<4096xi32>
  %2 = stablehlo.select %0, %1, %at : tensor<4096xi1>, tensor<4096xi32>
  %3 = stablehlo.reshape %2 : (tensor<4096xi32>) -> tensor<4096x1xi32>
  %4 = "stablehlo.scatter"(%zeros, %3, %ones) <{
    scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>
  }> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %5 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %5 : tensor<f32>
  }) : (tensor<128xf32>, tensor<4096x1xi32>, tensor<4096xf32>) -> tensor<128xf32>
  return %4 : tensor<128xf32>
}

// CHECK: func.func private @constant_0
// CHECK-SAME: slimhlo.kernel = "map"
// CHECK: func.func private @scatter_0
// CHECK-SAME: slimhlo.in_place = array<i64: 1>
// CHECK-SAME: slimhlo.kernel = "scatter"
