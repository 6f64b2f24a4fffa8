// RUN: slimhlo-opt %s --slimhlo-coalesce-pads | FileCheck %s

// CHECK-LABEL: func @unary
func.func @unary(%x: tensor<4xf32>, %v: tensor<f32>) -> tensor<9xf32> {
  // CHECK-NEXT: %[[A:.*]] = stablehlo.negate %arg0 : tensor<4xf32>
  // CHECK-NEXT: %[[B:.*]] = stablehlo.negate %arg1 : tensor<f32>
  // CHECK-NEXT: %[[R:.*]] = stablehlo.pad %[[A]], %[[B]], low = [3], high = [2], interior = [0]
  // CHECK-NEXT: return %[[R]]
  %0 = stablehlo.pad %x, %v, low = [3], high = [2], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<9xf32>
  %1 = stablehlo.negate %0 : tensor<9xf32>
  return %1 : tensor<9xf32>
}

// What devices approximate need not be the same of a scalar.
// CHECK-LABEL: func @approximated
func.func @approximated(%x: tensor<4xf32>, %v: tensor<f32>) -> tensor<9xf32> {
  // CHECK: stablehlo.pad
  // CHECK: stablehlo.tanh %{{.*}} : tensor<9xf32>
  %0 = stablehlo.pad %x, %v, low = [3], high = [2], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<9xf32>
  %1 = stablehlo.tanh %0 : tensor<9xf32>
  return %1 : tensor<9xf32>
}

// CHECK-LABEL: func @alike
func.func @alike(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<9xi32> {
  // CHECK-DAG: %[[C:.*]] = stablehlo.constant dense<6> : tensor<i32>
  // CHECK-DAG: %[[A:.*]] = stablehlo.multiply %arg0, %arg1 : tensor<4xi32>
  // CHECK: stablehlo.pad %[[A]], %[[C]], low = [3], high = [2], interior = [0]
  %two = stablehlo.constant dense<2> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %0 = stablehlo.pad %x, %two, low = [3], high = [2], interior = [0] : (tensor<4xi32>, tensor<i32>) -> tensor<9xi32>
  %1 = stablehlo.pad %y, %three, low = [3], high = [2], interior = [0] : (tensor<4xi32>, tensor<i32>) -> tensor<9xi32>
  %2 = stablehlo.multiply %0, %1 : tensor<9xi32>
  return %2 : tensor<9xi32>
}

// CHECK-LABEL: func @and_splats
func.func @and_splats(%x: tensor<4xf32>) -> tensor<9xf32> {
  // CHECK-DAG: %[[C:.*]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
  // CHECK-DAG: stablehlo.multiply %arg0, %{{.*}} : tensor<4xf32>
  // CHECK-DAG: %[[A:.*]] = stablehlo.add %{{.*}} : tensor<4xf32>
  // CHECK: stablehlo.pad %[[A]], %[[C]], low = [3], high = [2], interior = [0]
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %two = stablehlo.constant dense<2.0> : tensor<9xf32>
  %one = stablehlo.constant dense<1.0> : tensor<9xf32>
  %0 = stablehlo.pad %x, %zero, low = [3], high = [2], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<9xf32>
  %1 = stablehlo.multiply %0, %two : tensor<9xf32>
  %2 = stablehlo.add %1, %one : tensor<9xf32>
  return %2 : tensor<9xf32>
}

// Times three and plus one may be one operation; so they stay together.
// CHECK-LABEL: func @contracted
func.func @contracted(%x: tensor<4xf32>) -> tensor<9xf32> {
  // CHECK: stablehlo.pad
  // CHECK: stablehlo.multiply %{{.*}} : tensor<9xf32>
  // CHECK: stablehlo.add %{{.*}} : tensor<9xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %three = stablehlo.constant dense<3.0> : tensor<9xf32>
  %one = stablehlo.constant dense<1.0> : tensor<9xf32>
  %0 = stablehlo.pad %x, %zero, low = [3], high = [2], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<9xf32>
  %1 = stablehlo.multiply %0, %three : tensor<9xf32>
  %2 = stablehlo.add %1, %one : tensor<9xf32>
  return %2 : tensor<9xf32>
}

// CHECK-LABEL: func @elsewhere
func.func @elsewhere(%x: tensor<4xi32>, %y: tensor<4xi32>, %v: tensor<i32>) -> tensor<9xi32> {
  // CHECK: stablehlo.multiply %{{.*}} : tensor<9xi32>
  %0 = stablehlo.pad %x, %v, low = [3], high = [2], interior = [0] : (tensor<4xi32>, tensor<i32>) -> tensor<9xi32>
  %1 = stablehlo.pad %y, %v, low = [2], high = [3], interior = [0] : (tensor<4xi32>, tensor<i32>) -> tensor<9xi32>
  %2 = stablehlo.multiply %0, %1 : tensor<9xi32>
  return %2 : tensor<9xi32>
}
