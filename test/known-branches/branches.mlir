// RUN: slimhlo-opt %s --slimhlo-known-branches | FileCheck %s

// JAX chooses between platforms so.
// CHECK-LABEL: func.func @platforms
func.func @platforms(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NOT: stablehlo.case
  // CHECK: %[[EXP:.*]] = stablehlo.exponential %arg0
  // CHECK-NEXT: %[[SUM:.*]] = stablehlo.add %[[EXP]], %arg0
  // CHECK-NEXT: return %[[SUM]], %arg0
  %c = stablehlo.constant dense<1> : tensor<i32>
  %index = "stablehlo.case"(%c) ({
    %0 = stablehlo.constant dense<2> : tensor<i32>
    stablehlo.return %0 : tensor<i32>
  }, {
    %0 = stablehlo.constant dense<0> : tensor<i32>
    stablehlo.return %0 : tensor<i32>
  }) : (tensor<i32>) -> tensor<i32>
  %1:2 = "stablehlo.case"(%index) ({
    %2 = stablehlo.exponential %x : tensor<4xf32>
    %3 = stablehlo.add %2, %x : tensor<4xf32>
    stablehlo.return %3, %x : tensor<4xf32>, tensor<4xf32>
  }, {
    %2 = stablehlo.cosine %x : tensor<4xf32>
    stablehlo.return %2, %2 : tensor<4xf32>, tensor<4xf32>
  }) : (tensor<i32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %1#0, %1#1 : tensor<4xf32>, tensor<4xf32>
}

// What is out of range chooses the last branch.
// CHECK-LABEL: func.func @out_of_range
func.func @out_of_range(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: %[[COS:.*]] = stablehlo.cosine %arg0
  // CHECK-NEXT: return %[[COS]]
  %c = stablehlo.constant dense<-1> : tensor<i32>
  %1 = "stablehlo.case"(%c) ({
    stablehlo.return %x : tensor<4xf32>
  }, {
    %2 = stablehlo.cosine %x : tensor<4xf32>
    stablehlo.return %2 : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @if
func.func @if(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK: %[[COS:.*]] = stablehlo.cosine %arg0
  // CHECK-NEXT: %[[SIN:.*]] = stablehlo.sine %arg0
  // CHECK-NEXT: return %[[COS]], %[[SIN]]
  %true = stablehlo.constant dense<true> : tensor<i1>
  %false = stablehlo.constant dense<false> : tensor<i1>
  %1 = "stablehlo.if"(%true) ({
    %2 = stablehlo.cosine %x : tensor<4xf32>
    stablehlo.return %2 : tensor<4xf32>
  }, {
    stablehlo.return %x : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  %3 = "stablehlo.if"(%false) ({
    stablehlo.return %x : tensor<4xf32>
  }, {
    %2 = stablehlo.sine %x : tensor<4xf32>
    stablehlo.return %2 : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %1, %3 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @unknown
func.func @unknown(%x: tensor<4xf32>, %p: tensor<i1>) -> tensor<4xf32> {
  // CHECK: "stablehlo.if"
  %1 = "stablehlo.if"(%p) ({
    %2 = stablehlo.cosine %x : tensor<4xf32>
    stablehlo.return %2 : tensor<4xf32>
  }, {
    stablehlo.return %x : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
