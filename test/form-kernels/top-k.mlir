// RUN: slimhlo-opt %s --slimhlo-form-kernels --split-input-file | FileCheck %s

// The largest elements come of a sort of which no more is stored.

// CHECK-LABEL: func.func @main
// CHECK: %[[S:[0-9]+]]:2 = call @sort_0(%arg0)
// CHECK-NEXT: return %[[S]]#0, %[[S]]#1
// CHECK: func.func private @sort_0(%{{.*}}) -> (tensor<3x2xf32>, tensor<3x2xi32>)
// CHECK: is_stable = true
// CHECK: stablehlo.compare GT, {{.*}} TOTALORDER
func.func @main(%x: tensor<3x8xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>) {
  %0, %1 = chlo.top_k(%x, k = 2) : tensor<3x8xf32> -> (tensor<3x2xf32>, tensor<3x2xi32>)
  return %0, %1 : tensor<3x2xf32>, tensor<3x2xi32>
}

// -----

// Those of rows that are too long for a block's memory come of pieces: of three pieces of 2,048 and of the rest, then of all of these.

// CHECK-LABEL: func.func @main
// CHECK: call @sort_0({{.*}}) : (tensor<2x7000xf32>) -> (tensor<2x3x5xf32>, tensor<2x3x5xi32>)
// CHECK: call @sort_1({{.*}}) : (tensor<2x7000xf32>) -> (tensor<2x5xf32>, tensor<2x5xi32>)
// CHECK: call @sort_2({{.*}}) : {{.*}} -> (tensor<2x5xf32>, tensor<2x5xi32>)
// CHECK-NEXT: return
func.func @main(%x: tensor<2x7000xf32>) -> (tensor<2x5xf32>, tensor<2x5xi32>) {
  %0, %1 = chlo.top_k(%x, k = 5) : tensor<2x7000xf32> -> (tensor<2x5xf32>, tensor<2x5xi32>)
  return %0, %1 : tensor<2x5xf32>, tensor<2x5xi32>
}

// -----

// Not where a piece has less than twice as many, of which nothing would be dropped.

// CHECK-LABEL: func.func @main
// CHECK: call @sort_0({{.*}}) : (tensor<2x7000xf32>) -> (tensor<2x7000xf32>, tensor<2x7000xi32>)
func.func @main(%x: tensor<2x7000xf32>) -> (tensor<2x1500xf32>, tensor<2x1500xi32>) {
  %0, %1 = chlo.top_k(%x, k = 1500) : tensor<2x7000xf32> -> (tensor<2x1500xf32>, tensor<2x1500xi32>)
  return %0, %1 : tensor<2x1500xf32>, tensor<2x1500xi32>
}

// -----

// Nor where all of the sorted is asked for as well.

// CHECK-LABEL: func.func @main
// CHECK: call @sort_0({{.*}}) : (tensor<2x70xf32>) -> tensor<2x70xf32>
// CHECK: call @slice_0
func.func @main(%x: tensor<2x70xf32>) -> (tensor<2x70xf32>, tensor<2x5xf32>) {
  %0 = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<2x70xf32>) -> tensor<2x70xf32>
  %1 = stablehlo.slice %0 [0:2, 0:5] : (tensor<2x70xf32>) -> tensor<2x5xf32>
  return %0, %1 : tensor<2x70xf32>, tensor<2x5xf32>
}

// -----

// What is made of one of the beginnings may stand before the other: the sort comes before both.

// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[S:[0-9]+]]:2 = call @sort_0(%arg0, %arg1)
// CHECK-NEXT: %[[N:[0-9]+]] = call @convert_0(%[[S]]#0)
// CHECK-NEXT: return %[[S]]#1, %[[N]]
func.func @main(%x: tensor<3x8xf32>, %i: tensor<3x8xi32>) -> (tensor<3x2xf32>, tensor<3x2xi64>) {
  %0:2 = "stablehlo.sort"(%x, %i) <{dimension = 1 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
    %less = stablehlo.compare GT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<3x8xf32>, tensor<3x8xi32>) -> (tensor<3x8xf32>, tensor<3x8xi32>)
  %1 = stablehlo.slice %0#1 [0:3, 0:2] : (tensor<3x8xi32>) -> tensor<3x2xi32>
  %2 = stablehlo.convert %1 : (tensor<3x2xi32>) -> tensor<3x2xi64>
  %3 = stablehlo.slice %0#0 [0:3, 0:2] : (tensor<3x8xf32>) -> tensor<3x2xf32>
  return %3, %2 : tensor<3x2xf32>, tensor<3x2xi64>
}
