// RUN: slimhlo-opt %s --slimhlo-form-kernels --split-input-file | FileCheck %s

// What is left of the start is needed: a row behind the last turn.

// CHECK-LABEL: func.func @main
// CHECK-NOT: slimhlo.unset
func.func @main(%x: tensor<2x4xf32>) -> tensor<9x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %eight = stablehlo.constant dense<8> : tensor<i32>
  %zeros = stablehlo.constant dense<0.0> : tensor<9x4xf32>
  %0:2 = stablehlo.while(%i = %zero, %a = %zeros) : tensor<i32>, tensor<9x4xf32>
  cond {
    %1 = stablehlo.compare LT, %i, %eight, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.add %i, %two : tensor<i32>
    %2 = stablehlo.dynamic_update_slice %a, %x, %i, %zero : (tensor<9x4xf32>, tensor<2x4xf32>, tensor<i32>, tensor<i32>) -> tensor<9x4xf32>
    stablehlo.return %1, %2 : tensor<i32>, tensor<9x4xf32>
  }
  return %0#1 : tensor<9x4xf32>
}

// -----

// There are gaps between the slices.

// CHECK-LABEL: func.func @main
// CHECK-NOT: slimhlo.unset
func.func @main(%x: tensor<1x4xf32>) -> tensor<8x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %nine = stablehlo.constant dense<9> : tensor<i32>
  %zeros = stablehlo.constant dense<0.0> : tensor<8x4xf32>
  %0:2 = stablehlo.while(%i = %zero, %a = %zeros) : tensor<i32>, tensor<8x4xf32>
  cond {
    %1 = stablehlo.compare LT, %i, %nine, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.add %i, %two : tensor<i32>
    %2 = stablehlo.dynamic_update_slice %a, %x, %i, %zero : (tensor<8x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<8x4xf32>
    stablehlo.return %1, %2 : tensor<i32>, tensor<8x4xf32>
  }
  return %0#1 : tensor<8x4xf32>
}

// -----

// The loop reads what is there.

// CHECK-LABEL: func.func @main
// CHECK-NOT: slimhlo.unset
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
    %2 = stablehlo.slice %a [6:8, 0:4] : (tensor<8x4xf32>) -> tensor<2x4xf32>
    %3 = stablehlo.add %x, %2 : tensor<2x4xf32>
    %4 = stablehlo.dynamic_update_slice %a, %3, %i, %zero : (tensor<8x4xf32>, tensor<2x4xf32>, tensor<i32>, tensor<i32>) -> tensor<8x4xf32>
    stablehlo.return %1, %4 : tensor<i32>, tensor<8x4xf32>
  }
  return %0#1 : tensor<8x4xf32>
}

// -----

// Nobody knows how many turns there are.

// CHECK-LABEL: func.func @main
// CHECK-NOT: slimhlo.unset
func.func @main(%x: tensor<2x4xf32>, %bound: tensor<i32>) -> tensor<8x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %zeros = stablehlo.constant dense<0.0> : tensor<8x4xf32>
  %0:2 = stablehlo.while(%i = %zero, %a = %zeros) : tensor<i32>, tensor<8x4xf32>
  cond {
    %1 = stablehlo.compare LT, %i, %bound, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.add %i, %two : tensor<i32>
    %2 = stablehlo.dynamic_update_slice %a, %x, %i, %zero : (tensor<8x4xf32>, tensor<2x4xf32>, tensor<i32>, tensor<i32>) -> tensor<8x4xf32>
    stablehlo.return %1, %2 : tensor<i32>, tensor<8x4xf32>
  }
  return %0#1 : tensor<8x4xf32>
}
