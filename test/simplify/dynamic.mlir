// RUN: slimhlo-opt %s --slimhlo-simplify | FileCheck %s

// What asks at run time for a shape that is known when the program is compiled need not ask.

// CHECK-LABEL: func.func @shapes
// CHECK-DAG: stablehlo.iota dim = 1 : tensor<200x300xi32>
// CHECK-DAG: stablehlo.reshape %arg0 : (tensor<6xf32>) -> tensor<2x3xf32>
// CHECK-DAG: stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<6xf32>) -> tensor<4x6xf32>
// CHECK-NOT: dynamic
func.func @shapes(%x: tensor<6xf32>, %two: tensor<2xi64>) -> (tensor<200x300xi32>, tensor<2x3xf32>, tensor<4x6xf32>) {
  %0 = stablehlo.dynamic_iota %two, dim = 1 : (tensor<2xi64>) -> tensor<200x300xi32>
  %1 = stablehlo.dynamic_reshape %x, %two : (tensor<6xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  %2 = stablehlo.dynamic_broadcast_in_dim %x, %two, dims = [1] : (tensor<6xf32>, tensor<2xi64>) -> tensor<4x6xf32>
  return %0, %1, %2 : tensor<200x300xi32>, tensor<2x3xf32>, tensor<4x6xf32>
}

// CHECK-LABEL: func.func @places
// CHECK-DAG: stablehlo.pad %arg0, %arg1, low = [-1, 2], high = [0, 1], interior = [1, 0] : (tensor<3x4xf32>, tensor<f32>) -> tensor<4x7xf32>
// CHECK-DAG: stablehlo.slice %arg0 [0:3:2, 1:4] : (tensor<3x4xf32>) -> tensor<2x3xf32>
// CHECK-DAG: "stablehlo.gather"(%arg0, %arg2) {{.*}}slice_sizes = array<i64: 1, 4>{{.*}} : (tensor<3x4xf32>, tensor<5xi32>) -> tensor<5x4xf32>
// CHECK-NOT: dynamic
func.func @places(%x: tensor<3x4xf32>, %p: tensor<f32>, %i: tensor<5xi32>) -> (tensor<4x7xf32>, tensor<2x3xf32>, tensor<5x4xf32>) {
  %low = stablehlo.constant dense<[-1, 2]> : tensor<2xi64>
  %high = stablehlo.constant dense<[0, 1]> : tensor<2xi64>
  %interior = stablehlo.constant dense<[1, 0]> : tensor<2xi64>
  %0 = stablehlo.dynamic_pad %x, %p, %low, %high, %interior : (tensor<3x4xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<4x7xf32>
  %limit = stablehlo.constant dense<[3, 4]> : tensor<2xi64>
  %stride = stablehlo.constant dense<[2, 1]> : tensor<2xi64>
  %start = stablehlo.constant dense<[0, 1]> : tensor<2xi64>
  %1 = stablehlo.real_dynamic_slice %x, %start, %limit, %stride : (tensor<3x4xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x3xf32>
  %sizes = stablehlo.constant dense<[1, 4]> : tensor<2xi64>
  %2 = "stablehlo.dynamic_gather"(%x, %i, %sizes) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>} : (tensor<3x4xf32>, tensor<5xi32>, tensor<2xi64>) -> tensor<5x4xf32>
  return %0, %1, %2 : tensor<4x7xf32>, tensor<2x3xf32>, tensor<5x4xf32>
}

// Steps as long as a number can be are no matter.

// CHECK-LABEL: func.func @long
// CHECK: stablehlo.slice %arg0 [1:6:9223372036854775807]
func.func @long(%x: tensor<6xf32>) -> tensor<1xf32> {
  %from = stablehlo.constant dense<1> : tensor<1xi64>
  %to = stablehlo.constant dense<6> : tensor<1xi64>
  %step = stablehlo.constant dense<9223372036854775807> : tensor<1xi64>
  %0 = stablehlo.real_dynamic_slice %x, %from, %to, %step : (tensor<6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}

// Not where bounds come as the program runs, nor where they ask for another size than the result's.

// CHECK-LABEL: func.func @asked
// CHECK: stablehlo.real_dynamic_slice
// CHECK: stablehlo.real_dynamic_slice
func.func @asked(%x: tensor<6xf32>, %limit: tensor<1xi64>) -> (tensor<2xf32>, tensor<3xf32>) {
  %0 = stablehlo.constant dense<0> : tensor<1xi64>
  %1 = stablehlo.constant dense<1> : tensor<1xi64>
  %2 = stablehlo.constant dense<2> : tensor<1xi64>
  %a = stablehlo.real_dynamic_slice %x, %0, %limit, %1 : (tensor<6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<2xf32>
  %b = stablehlo.real_dynamic_slice %x, %0, %2, %1 : (tensor<6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xf32>
  return %a, %b : tensor<2xf32>, tensor<3xf32>
}
