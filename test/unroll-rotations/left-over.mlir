// RUN: slimhlo-opt %s --slimhlo-unroll-rotations --canonicalize --cse | FileCheck %s

// Three states change places in 11 turns that count by 2 from 4: two before the loop, and three times three.
// CHECK-LABEL: func.func @multistep
// CHECK-DAG: %[[SIX:c[_0-9]*]] = stablehlo.constant dense<6> : tensor<i64>
// CHECK-DAG: %[[FROM:c[_0-9]*]] = stablehlo.constant dense<8> : tensor<i64>
// CHECK: %[[A:.*]] = stablehlo.add %arg0, %arg2
// CHECK: %[[B:.*]] = stablehlo.add %arg1, %[[A]]
// CHECK: stablehlo.while(%[[I:[a-zA-Z_0-9]+]] = %[[FROM]], %[[U:[a-zA-Z_0-9]+]] = %arg2, %[[V:[a-zA-Z_0-9]+]] = %[[A]], %[[W:[a-zA-Z_0-9]+]] = %[[B]])
// CHECK: do {
// CHECK: %[[C:.*]] = stablehlo.add %[[U]], %[[W]]
// CHECK: %[[D:.*]] = stablehlo.add %[[V]], %[[C]]
// CHECK: %[[E:.*]] = stablehlo.add %[[W]], %[[D]]
// CHECK: %[[J:.*]] = stablehlo.add %[[I]], %[[SIX]]
// CHECK: stablehlo.return %[[J]], %[[C]], %[[D]], %[[E]]
func.func @multistep(%x: tensor<256x128xf32>, %y: tensor<256x128xf32>, %z: tensor<256x128xf32>) -> tensor<256x128xf32> {
  %from = stablehlo.constant dense<4> : tensor<i64>
  %by = stablehlo.constant dense<2> : tensor<i64>
  %end = stablehlo.constant dense<25> : tensor<i64>
  %0:4 = stablehlo.while(%i = %from, %u = %x, %v = %y, %w = %z) : tensor<i64>, tensor<256x128xf32>, tensor<256x128xf32>, tensor<256x128xf32>
  cond {
    %1 = stablehlo.compare LT, %i, %end, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %s = stablehlo.add %u, %w : tensor<256x128xf32>
    %n = stablehlo.add %i, %by : tensor<i64>
    stablehlo.return %n, %v, %w, %s : tensor<i64>, tensor<256x128xf32>, tensor<256x128xf32>, tensor<256x128xf32>
  }
  return %0#3 : tensor<256x128xf32>
}

// What an inner region reads is of its own turn.
// CHECK-LABEL: func.func @inner
// CHECK: stablehlo.while(%[[I:.*]] = %{{.*}}, %[[OLD:.*]] = %arg0, %[[NEW:.*]] = %arg1)
// CHECK: do {
// CHECK: %[[ONE:.*]] = "stablehlo.if"
// CHECK: stablehlo.subtract %[[NEW]], %[[OLD]]
// CHECK: %[[TWO:.*]] = "stablehlo.if"
// CHECK: stablehlo.subtract %[[ONE]], %[[NEW]]
// CHECK: stablehlo.return %{{[0-9]+}}, %[[ONE]], %[[TWO]]
func.func @inner(%x: tensor<256x128xf32>, %y: tensor<256x128xf32>, %p: tensor<i1>) -> tensor<256x128xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %end = stablehlo.constant dense<4> : tensor<i32>
  %0:3 = stablehlo.while(%i = %c0, %u = %x, %v = %y) : tensor<i32>, tensor<256x128xf32>, tensor<256x128xf32>
  cond {
    %1 = stablehlo.compare LT, %i, %end, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %s = "stablehlo.if"(%p) ({
      %d = stablehlo.subtract %v, %u : tensor<256x128xf32>
      stablehlo.return %d : tensor<256x128xf32>
    }, {
      stablehlo.return %u : tensor<256x128xf32>
    }) : (tensor<i1>) -> tensor<256x128xf32>
    %n = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %n, %v, %s : tensor<i32>, tensor<256x128xf32>, tensor<256x128xf32>
  }
  return %0#2 : tensor<256x128xf32>
}
