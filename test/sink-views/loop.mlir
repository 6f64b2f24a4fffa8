// RUN: slimhlo-opt %s --slimhlo-sink-views | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-sink-views --slimhlo-sink-views | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-sink-views="least-bytes=256MiB" | FileCheck %s --check-prefix=SMALL

// A part of a field that the loop's body writes into is cut out there; one that the loop carries as it is, too.
// CHECK-LABEL: func.func @main
// CHECK-NOT: stablehlo.slice
// CHECK: stablehlo.while(%[[I:[^ ]*]] = %{{[^ ,]*}}, %[[F:[^ ]*]] = %{{[^ ,]*}}) : tensor<i64>, tensor<64x256xf64>
// CHECK: } do {
// CHECK-DAG: %[[PART:[^ ]*]] = stablehlo.slice %arg0 [0:96, 8:264]
// CHECK-DAG: %[[ROWS:[^ ]*]] = stablehlo.slice %arg1 [8:72, 0:256]
// CHECK-DAG: %[[SUM:[^ ]*]] = stablehlo.add %[[F]], %[[ROWS]]
// CHECK: stablehlo.dynamic_update_slice %[[PART]], %[[SUM]]
// SMALL-LABEL: func.func @main
// SMALL: stablehlo.slice
// SMALL: stablehlo.slice
// SMALL: stablehlo.while
func.func @main(%x: tensor<96x280xf64>, %y: tensor<80x256xf64>, %first: tensor<64x256xf64>) -> tensor<64x256xf64> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %nine = stablehlo.constant dense<9> : tensor<i64>
  %at = stablehlo.constant dense<16> : tensor<i32>
  %left = stablehlo.constant dense<0> : tensor<i32>
  %part = stablehlo.slice %x [0:96, 8:264] : (tensor<96x280xf64>) -> tensor<96x256xf64>
  %rows = stablehlo.slice %y [8:72, 0:256] : (tensor<80x256xf64>) -> tensor<64x256xf64>
  %w:3 = stablehlo.while(%i = %zero, %r = %rows, %f = %first) : tensor<i64>, tensor<64x256xf64>, tensor<64x256xf64> cond {
    %p = stablehlo.compare LT, %i, %nine : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %sum = stablehlo.add %f, %r : tensor<64x256xf64>
    %all = stablehlo.dynamic_update_slice %part, %sum, %at, %left : (tensor<96x256xf64>, tensor<64x256xf64>, tensor<i32>, tensor<i32>) -> tensor<96x256xf64>
    %north = stablehlo.slice %all [0:64, 0:256] : (tensor<96x256xf64>) -> tensor<64x256xf64>
    %south = stablehlo.slice %all [32:96, 0:256] : (tensor<96x256xf64>) -> tensor<64x256xf64>
    %next = stablehlo.subtract %north, %south : tensor<64x256xf64>
    %j = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %j, %r, %next : tensor<i64>, tensor<64x256xf64>, tensor<64x256xf64>
  }
  return %w#2 : tensor<64x256xf64>
}

// What is larger than what it is made of is not kept for it, whoever makes that.
// CHECK-LABEL: func.func @wide
// CHECK: %[[EXP:[^ ]*]] = stablehlo.exponential %arg0
// CHECK-NEXT: stablehlo.while
// CHECK: } do {
// CHECK-NEXT: %[[ALL:[^ ]*]] = stablehlo.broadcast_in_dim %[[EXP]], dims = [1]
// CHECK: stablehlo.add %{{[^ ,]*}}, %[[ALL]]
// SMALL-LABEL: func.func @wide
func.func @wide(%row: tensor<1024xf32>, %first: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %nine = stablehlo.constant dense<9> : tensor<i64>
  %exp = stablehlo.exponential %row : tensor<1024xf32>
  %all = stablehlo.broadcast_in_dim %exp, dims = [1] : (tensor<1024xf32>) -> tensor<512x1024xf32>
  %w:2 = stablehlo.while(%i = %zero, %f = %first) : tensor<i64>, tensor<512x1024xf32> cond {
    %p = stablehlo.compare LT, %i, %nine : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %next = stablehlo.add %f, %all : tensor<512x1024xf32>
    %j = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %j, %next : tensor<i64>, tensor<512x1024xf32>
  }
  return %w#1 : tensor<512x1024xf32>
}

// Branches, and a loop in one.
// CHECK-LABEL: func.func @branch
// CHECK-NOT: stablehlo.slice
// CHECK: "stablehlo.if"
// CHECK-NEXT: stablehlo.while
// CHECK: } do {
// CHECK-NEXT: %[[PART:[^ ]*]] = stablehlo.slice %arg1 [0:512, 0:64]
// CHECK: stablehlo.add %{{[^ ,]*}}, %[[PART]]
// CHECK: }, {
// CHECK-NEXT: %[[OTHER:[^ ]*]] = stablehlo.slice %arg1 [0:512, 0:64]
// CHECK-NEXT: stablehlo.negate %[[OTHER]]
// SMALL-LABEL: func.func @branch
func.func @branch(%p: tensor<i1>, %x: tensor<512x128xf32>, %first: tensor<512x64xf32>) -> tensor<512x64xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %nine = stablehlo.constant dense<9> : tensor<i64>
  %part = stablehlo.slice %x [0:512, 0:64] : (tensor<512x128xf32>) -> tensor<512x64xf32>
  %0 = "stablehlo.if"(%p) ({
    %w:2 = stablehlo.while(%i = %zero, %f = %first) : tensor<i64>, tensor<512x64xf32> cond {
      %q = stablehlo.compare LT, %i, %nine : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %q : tensor<i1>
    } do {
      %next = stablehlo.add %f, %part : tensor<512x64xf32>
      %j = stablehlo.add %i, %one : tensor<i64>
      stablehlo.return %j, %next : tensor<i64>, tensor<512x64xf32>
    }
    stablehlo.return %w#1 : tensor<512x64xf32>
  }, {
    %n = stablehlo.negate %part : tensor<512x64xf32>
    stablehlo.return %n : tensor<512x64xf32>
  }) : (tensor<i1>) -> tensor<512x64xf32>
  return %0 : tensor<512x64xf32>
}

// A view and what is a view of it, both read in the loop: each is made of what is there before it.
// CHECK-LABEL: func.func @chain
// CHECK: } do {
// CHECK-NEXT: %[[COLUMN:[^ ]*]] = stablehlo.slice %arg0 [0:1024, 3:4]
// CHECK-NEXT: %[[FLAT:[^ ]*]] = stablehlo.reshape %[[COLUMN]]
// CHECK-NEXT: %[[ALL:[^ ]*]] = stablehlo.broadcast_in_dim %[[FLAT]], dims = [1]
// CHECK: stablehlo.multiply %{{[^ ,]*}}, %[[FLAT]]
// CHECK: stablehlo.add %{{[^ ,]*}}, %[[ALL]]
// SMALL-LABEL: func.func @chain
func.func @chain(%x: tensor<1024x64xf32>, %first: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %nine = stablehlo.constant dense<9> : tensor<i64>
  %none = stablehlo.constant dense<0.0> : tensor<f32>
  %column = stablehlo.slice %x [0:1024, 3:4] : (tensor<1024x64xf32>) -> tensor<1024x1xf32>
  %flat = stablehlo.reshape %column : (tensor<1024x1xf32>) -> tensor<1024xf32>
  %all = stablehlo.broadcast_in_dim %flat, dims = [1] : (tensor<1024xf32>) -> tensor<512x1024xf32>
  %w:2 = stablehlo.while(%i = %zero, %f = %first) : tensor<i64>, tensor<512x1024xf32> cond {
    %p = stablehlo.compare LT, %i, %nine : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %sums = stablehlo.reduce(%f init: %none) applies stablehlo.add across dimensions = [0] : (tensor<512x1024xf32>, tensor<f32>) -> tensor<1024xf32>
    %more = stablehlo.multiply %sums, %flat : tensor<1024xf32>
    %wide = stablehlo.broadcast_in_dim %more, dims = [1] : (tensor<1024xf32>) -> tensor<512x1024xf32>
    %next = stablehlo.add %wide, %all : tensor<512x1024xf32>
    %j = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %j, %next : tensor<i64>, tensor<512x1024xf32>
  }
  return %w#1 : tensor<512x1024xf32>
}
