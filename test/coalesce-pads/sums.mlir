// RUN: slimhlo-opt %s --slimhlo-coalesce-pads | FileCheck %s

// CHECK-LABEL: func @side_by_side
func.func @side_by_side(%x: tensor<4xi32>, %y: tensor<3xi32>) -> tensor<9xi32> {
  // CHECK: %[[A:.*]] = stablehlo.concatenate %arg1, %arg0, dim = 0
  // CHECK-NEXT: stablehlo.pad %[[A]], %{{.*}}, low = [1], high = [1], interior = [0]
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.pad %x, %zero, low = [4], high = [1], interior = [0] : (tensor<4xi32>, tensor<i32>) -> tensor<9xi32>
  %1 = stablehlo.pad %y, %zero, low = [1], high = [5], interior = [0] : (tensor<3xi32>, tensor<i32>) -> tensor<9xi32>
  %2 = stablehlo.add %0, %1 : tensor<9xi32>
  return %2 : tensor<9xi32>
}

// Plus 0.0 turns -0.0 into 0.0, plus -0.0 does not.
// CHECK-LABEL: func @zeros
func.func @zeros(%x: tensor<4xf32>, %y: tensor<5xf32>) -> (tensor<9xf32>, tensor<9xf32>) {
  // CHECK-DAG: stablehlo.add %{{.*}} : tensor<9xf32>
  // CHECK-DAG: stablehlo.concatenate %arg0, %arg1, dim = 0
  // CHECK: {{^ *}}return
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %negative = stablehlo.constant dense<-0.0> : tensor<f32>
  %0 = stablehlo.pad %x, %zero, low = [0], high = [5], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<9xf32>
  %1 = stablehlo.pad %y, %zero, low = [4], high = [0], interior = [0] : (tensor<5xf32>, tensor<f32>) -> tensor<9xf32>
  %2 = stablehlo.add %0, %1 : tensor<9xf32>
  %3 = stablehlo.pad %x, %negative, low = [0], high = [5], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<9xf32>
  %4 = stablehlo.pad %y, %negative, low = [4], high = [0], interior = [0] : (tensor<5xf32>, tensor<f32>) -> tensor<9xf32>
  %5 = stablehlo.add %3, %4 : tensor<9xf32>
  return %2, %5 : tensor<9xf32>, tensor<9xf32>
}

// A sum of overlapping pads is one loop without temporaries.
// CHECK-LABEL: func @overlapping
func.func @overlapping(%x: tensor<4xi32>, %y: tensor<3xi32>) -> tensor<9xi32> {
  // CHECK: stablehlo.add %{{.*}} : tensor<9xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.pad %x, %zero, low = [3], high = [2], interior = [0] : (tensor<4xi32>, tensor<i32>) -> tensor<9xi32>
  %1 = stablehlo.pad %y, %zero, low = [1], high = [5], interior = [0] : (tensor<3xi32>, tensor<i32>) -> tensor<9xi32>
  %2 = stablehlo.add %0, %1 : tensor<9xi32>
  return %2 : tensor<9xi32>
}

// CHECK-LABEL: func @reduced
func.func @reduced(%x: tensor<3x4xf32>) -> tensor<8xf32> {
  // CHECK: %[[A:.*]] = stablehlo.reduce(%arg0 init: %{{.*}}) applies stablehlo.add across dimensions = [0]
  // CHECK-NEXT: stablehlo.pad %[[A]], %{{.*}}, low = [1], high = [3], interior = [0]
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %x, %zero, low = [2, 1], high = [0, 3], interior = [0, 0] : (tensor<3x4xf32>, tensor<f32>) -> tensor<5x8xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<5x8xf32>, tensor<f32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// Ones count, and so does a start that is not neutral.
// CHECK-LABEL: func @not_neutral
func.func @not_neutral(%x: tensor<3xi32>) -> (tensor<i32>, tensor<i32>) {
  // CHECK: stablehlo.pad
  // CHECK: stablehlo.pad
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0 = stablehlo.pad %x, %one, low = [2], high = [0], interior = [0] : (tensor<3xi32>, tensor<i32>) -> tensor<5xi32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<5xi32>, tensor<i32>) -> tensor<i32>
  %2 = stablehlo.pad %x, %zero, low = [2], high = [0], interior = [0] : (tensor<3xi32>, tensor<i32>) -> tensor<5xi32>
  %3 = stablehlo.reduce(%2 init: %one) applies stablehlo.add across dimensions = [0] : (tensor<5xi32>, tensor<i32>) -> tensor<i32>
  return %1, %3 : tensor<i32>, tensor<i32>
}

// CHECK-LABEL: func @product
func.func @product(%x: tensor<3x4xi32>, %y: tensor<3x5xi32>) -> tensor<4x5xi32> {
  // CHECK: stablehlo.dot_general %arg0, %arg1, contracting_dims = [0] x [0]
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.pad %x, %zero, low = [2, 0], high = [1, 0], interior = [0, 0] : (tensor<3x4xi32>, tensor<i32>) -> tensor<6x4xi32>
  %1 = stablehlo.pad %y, %zero, low = [2, 0], high = [1, 0], interior = [0, 0] : (tensor<3x5xi32>, tensor<i32>) -> tensor<6x5xi32>
  %2 = stablehlo.dot_general %0, %1, contracting_dims = [0] x [0] : (tensor<6x4xi32>, tensor<6x5xi32>) -> tensor<4x5xi32>
  return %2 : tensor<4x5xi32>
}

// Sums of -0.0 only.
// CHECK-LABEL: func @float_product
func.func @float_product(%x: tensor<3x4xf32>, %y: tensor<3x5xf32>) -> tensor<4x5xf32> {
  // CHECK: stablehlo.pad
  // CHECK: stablehlo.pad
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %x, %zero, low = [2, 0], high = [1, 0], interior = [0, 0] : (tensor<3x4xf32>, tensor<f32>) -> tensor<6x4xf32>
  %1 = stablehlo.pad %y, %zero, low = [2, 0], high = [1, 0], interior = [0, 0] : (tensor<3x5xf32>, tensor<f32>) -> tensor<6x5xf32>
  %2 = stablehlo.dot_general %0, %1, contracting_dims = [0] x [0] : (tensor<6x4xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>
  return %2 : tensor<4x5xf32>
}

// Zero times an infinity is a NaN.
// CHECK-LABEL: func @one_side
func.func @one_side(%x: tensor<3x4xf32>, %y: tensor<6x5xf32>) -> tensor<4x5xf32> {
  // CHECK: stablehlo.pad
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %x, %zero, low = [2, 0], high = [1, 0], interior = [0, 0] : (tensor<3x4xf32>, tensor<f32>) -> tensor<6x4xf32>
  %1 = stablehlo.dot_general %0, %y, contracting_dims = [0] x [0] : (tensor<6x4xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>
  return %1 : tensor<4x5xf32>
}
