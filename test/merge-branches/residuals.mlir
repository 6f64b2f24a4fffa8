// A choice that is differentiated is made twice: the first time all is handed out that the gradient of any branch will ask for. It is computed in the
// branch that asks.
// RUN: slimhlo-opt %s --slimhlo-merge-branches | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-NOT: "stablehlo.case"
// CHECK: stablehlo.cosine %[[Y:.*]] :
// CHECK: "stablehlo.case"(%{{.*}}) ({
// CHECK-NEXT: stablehlo.return
// CHECK-NEXT: }, {
// CHECK-NEXT: %[[A:.*]] = stablehlo.exponential
// CHECK-NEXT: %[[B:.*]] = stablehlo.multiply %[[A]], %[[A]]
// CHECK-NEXT: %[[AB:.*]] = stablehlo.add %[[A]], %[[B]]
// CHECK-NEXT: stablehlo.return %[[AB]]
// CHECK-NEXT: }, {
// CHECK-NEXT: %[[C:.*]] = stablehlo.sine
// CHECK-NEXT: stablehlo.return %[[C]]
// CHECK-NEXT: })
// CHECK-NOT: "stablehlo.case"
func.func @main(%index: tensor<i32>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<4xf32>
  %0:2 = "stablehlo.case"(%index) ({
    stablehlo.return %zeros, %zeros : tensor<4xf32>, tensor<4xf32>
  }, {
    %a = stablehlo.exponential %x : tensor<4xf32>
    %b = stablehlo.multiply %a, %a : tensor<4xf32>
    stablehlo.return %a, %b : tensor<4xf32>, tensor<4xf32>
  }, {
    %c = stablehlo.sine %x : tensor<4xf32>
    stablehlo.return %c, %zeros : tensor<4xf32>, tensor<4xf32>
  }) : (tensor<i32>) -> (tensor<4xf32>, tensor<4xf32>)
  %z = stablehlo.cosine %y : tensor<4xf32>
  %1 = "stablehlo.case"(%index) ({
    stablehlo.return %z : tensor<4xf32>
  }, {
    %ab = stablehlo.add %0#0, %0#1 : tensor<4xf32>
    stablehlo.return %ab : tensor<4xf32>
  }, {
    stablehlo.return %0#0 : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// Three in a row become one; what a reader has deep inside is found there.
// CHECK-LABEL: func.func @three
// CHECK: stablehlo.if
// CHECK-NEXT: %[[A:.*]] = stablehlo.exponential
// CHECK-NEXT: %[[B:.*]] = stablehlo.sine %[[A]]
// CHECK: stablehlo.while
// CHECK: stablehlo.add %{{.*}}, %[[B]]
// CHECK-NOT: stablehlo.if
func.func @three(%which: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.if"(%which) ({
    %a = stablehlo.exponential %x : tensor<4xf32>
    stablehlo.return %a : tensor<4xf32>
  }, {
    stablehlo.return %x : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  %1 = "stablehlo.if"(%which) ({
    %b = stablehlo.sine %0 : tensor<4xf32>
    stablehlo.return %b : tensor<4xf32>
  }, {
    stablehlo.return %0 : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  %2 = "stablehlo.if"(%which) ({
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c1 = stablehlo.constant dense<1> : tensor<i32>
    %c9 = stablehlo.constant dense<9> : tensor<i32>
    %3:2 = stablehlo.while(%i = %c0, %sum = %x) : tensor<i32>, tensor<4xf32>
    cond {
      %more = stablehlo.compare LT, %i, %c9, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %i1 = stablehlo.add %i, %c1 : tensor<i32>
      %sum1 = stablehlo.add %sum, %1 : tensor<4xf32>
      stablehlo.return %i1, %sum1 : tensor<i32>, tensor<4xf32>
    }
    stablehlo.return %3#1 : tensor<4xf32>
  }, {
    stablehlo.return %1 : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
