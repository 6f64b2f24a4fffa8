// RUN: slimhlo-opt %s --slimhlo-form-kernels | FileCheck %s

// The op becomes those of its region, on arrays; what it takes from outside is broadcast.
// CHECK-NOT: stablehlo.map
// CHECK: slimhlo.kernel = "map"
// CHECK: stablehlo.multiply {{.*}} : tensor<3x4xf32>
// CHECK: stablehlo.compare {{.*}} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xi1>
// CHECK: stablehlo.select {{.*}} : tensor<3x4xi1>, tensor<3x4xf32>
func.func @main(%x: tensor<3x4xf32>, %y: tensor<3x4xf32>, %factor: tensor<f32>) -> tensor<3x4xf32> {
  %0 = "stablehlo.map"(%x, %y) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %three = stablehlo.constant dense<3.0> : tensor<f32>
    %1 = stablehlo.multiply %a, %factor : tensor<f32>
    %2 = stablehlo.compare GT, %b, %three : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %3 = stablehlo.select %2, %1, %b : tensor<i1>, tensor<f32>
    stablehlo.return %3 : tensor<f32>
  }) {dimensions = array<i64: 0, 1>} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}
