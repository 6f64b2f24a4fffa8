// RUN: slimhlo-opt %s --slimhlo-form-kernels | FileCheck %s

// A loop says how often it runs, so that the host need not ask, and what it counts, so that no kernel need add to it.

// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<4xf32>, %bound: tensor<i32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %nine = stablehlo.constant dense<9> : tensor<i32>
  // Five turns: 0, 2, 4, 6, 8.
  // CHECK: stablehlo.while
  // CHECK-SAME: attributes {slimhlo.counts = array<i64: 0, 0, 2>, slimhlo.turns = 5 : i64}
  %0:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<4xf32>
  cond {
    %1 = stablehlo.compare LT, %i, %nine, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.add %i, %two : tensor<i32>
    %2 = stablehlo.add %s, %s : tensor<4xf32>
    stablehlo.return %1, %2 : tensor<i32>, tensor<4xf32>
  }
  // Who knows.
  // CHECK: stablehlo.while
  // CHECK-NOT: slimhlo.turns
  // CHECK: cond
  %3:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<4xf32>
  cond {
    %1 = stablehlo.compare LT, %i, %bound, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.add %i, %two : tensor<i32>
    %2 = stablehlo.add %s, %s : tensor<4xf32>
    stablehlo.return %1, %2 : tensor<i32>, tensor<4xf32>
  }
  // After 126 comes -126: it never ends, which is for the program to say.
  // CHECK: stablehlo.while
  // CHECK-NOT: slimhlo.turns
  // CHECK: cond
  %begin = stablehlo.constant dense<-126> : tensor<i8>
  %step = stablehlo.constant dense<4> : tensor<i8>
  %most = stablehlo.constant dense<127> : tensor<i8>
  %4:2 = stablehlo.while(%i = %begin, %s = %x) : tensor<i8>, tensor<4xf32>
  cond {
    %1 = stablehlo.compare LT, %i, %most, SIGNED : (tensor<i8>, tensor<i8>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.add %i, %step : tensor<i8>
    %2 = stablehlo.add %s, %s : tensor<4xf32>
    stablehlo.return %1, %2 : tensor<i8>, tensor<4xf32>
  }
  // What it has counted up to is needed: it is a value as any other.
  // CHECK: stablehlo.while
  // CHECK-SAME: attributes {slimhlo.turns = 5 : i64}
  %5:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<4xf32>
  cond {
    %1 = stablehlo.compare LT, %i, %nine, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.add %i, %two : tensor<i32>
    %2 = stablehlo.multiply %s, %s : tensor<4xf32>
    stablehlo.return %1, %2 : tensor<i32>, tensor<4xf32>
  }
  %6 = stablehlo.convert %5#0 : (tensor<i32>) -> tensor<f32>
  %7 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %8 = stablehlo.add %5#1, %7 : tensor<4xf32>
  return %0#1, %3#1, %4#1, %8 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
