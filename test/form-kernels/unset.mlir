// RUN: slimhlo-opt %s --slimhlo-form-kernels --split-input-file | FileCheck %s

// Nobody fills what a loop writes over whole.

// CHECK-LABEL: func.func @main
// CHECK: %[[START:.*]] = call @[[FILL:constant_[0-9]+]]() : () -> tensor<8x4xf32>
// CHECK: stablehlo.while({{.*}} = %{{.*}}, {{.*}} = %[[START]])
// CHECK: func.func private @[[FILL]]() -> tensor<8x4xf32> attributes {slimhlo.kernel = "map", slimhlo.unset}
func.func @main(%x: tensor<2x4xf32>) -> tensor<8x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %eight = stablehlo.constant dense<8> : tensor<i32>
  %zeros = stablehlo.constant dense<0.0> : tensor<8x4xf32>
  %0:2 = stablehlo.while(%i = %zero, %a = %zeros) : tensor<i32>, tensor<8x4xf32>
  cond {
    %1 = stablehlo.compare LT, %i, %eight, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.add %i, %two : tensor<i32>
    %2 = stablehlo.convert %i : (tensor<i32>) -> tensor<f32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %4 = stablehlo.add %x, %3 : tensor<2x4xf32>
    %5 = stablehlo.dynamic_update_slice %a, %4, %i, %zero : (tensor<8x4xf32>, tensor<2x4xf32>, tensor<i32>, tensor<i32>) -> tensor<8x4xf32>
    stablehlo.return %1, %5 : tensor<i32>, tensor<8x4xf32>
  }
  return %0#1 : tensor<8x4xf32>
}

// -----

// Backwards, at a multiple of the turn's number, with the last row put in behind the loop.

// CHECK-LABEL: func.func @main
// CHECK: slimhlo.unset
func.func @main(%x: tensor<2x4xf32>, %y: tensor<1x4xf32>) -> tensor<9x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %two = stablehlo.constant dense<2> : tensor<i64>
  %three = stablehlo.constant dense<3> : tensor<i64>
  %four = stablehlo.constant dense<4> : tensor<i64>
  %eight = stablehlo.constant dense<8> : tensor<i64>
  %zeros = stablehlo.constant dense<0.0> : tensor<9x4xf32>
  %0:2 = stablehlo.while(%i = %zero, %a = %zeros) : tensor<i64>, tensor<9x4xf32>
  cond {
    %1 = stablehlo.compare LT, %i, %four, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.add %i, %one : tensor<i64>
    %2 = stablehlo.subtract %three, %i : tensor<i64>
    %3 = stablehlo.multiply %two, %2 : tensor<i64>
    %4 = stablehlo.convert %3 : (tensor<i64>) -> tensor<i32>
    %5 = stablehlo.convert %zero : (tensor<i64>) -> tensor<i32>
    %6 = stablehlo.dynamic_update_slice %a, %x, %4, %5 : (tensor<9x4xf32>, tensor<2x4xf32>, tensor<i32>, tensor<i32>) -> tensor<9x4xf32>
    stablehlo.return %1, %6 : tensor<i64>, tensor<9x4xf32>
  }
  %7 = stablehlo.dynamic_update_slice %0#1, %y, %eight, %zero : (tensor<9x4xf32>, tensor<1x4xf32>, tensor<i64>, tensor<i64>) -> tensor<9x4xf32>
  return %7 : tensor<9x4xf32>
}
