// RUN: slimhlo-opt %s --slimhlo-unroll-rotations --canonicalize --cse | FileCheck %s

// The last two states change places: two turns at once, five times.
// CHECK-LABEL: func.func @wave
// CHECK-DAG: %[[TWO:.*]] = stablehlo.constant dense<2> : tensor<i32>
// CHECK: stablehlo.while(%[[I:.*]] = %{{.*}}, %[[OLD:.*]] = %arg0, %[[NEW:.*]] = %arg1)
// CHECK: do {
// CHECK: %[[R:.*]] = stablehlo.reverse %[[NEW]]
// CHECK: %[[NEXT:.*]] = stablehlo.subtract %[[R]], %[[OLD]]
// CHECK: %[[S:.*]] = stablehlo.reverse %[[NEXT]]
// CHECK: %[[THEN:.*]] = stablehlo.subtract %[[S]], %[[NEW]]
// CHECK: %[[J:.*]] = stablehlo.add %[[I]], %[[TWO]]
// CHECK: stablehlo.return %[[J]], %[[NEXT]], %[[THEN]]
func.func @wave(%x: tensor<256x128xf32>, %y: tensor<256x128xf32>) -> (tensor<256x128xf32>, tensor<256x128xf32>) {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %end = stablehlo.constant dense<10> : tensor<i32>
  %0:3 = stablehlo.while(%i = %c0, %u = %x, %v = %y) : tensor<i32>, tensor<256x128xf32>, tensor<256x128xf32>
  cond {
    %1 = stablehlo.compare LT, %i, %end, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %r = stablehlo.reverse %v, dims = [0] : tensor<256x128xf32>
    %s = stablehlo.subtract %r, %u : tensor<256x128xf32>
    %n = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %n, %v, %s : tensor<i32>, tensor<256x128xf32>, tensor<256x128xf32>
  }
  return %0#1, %0#2 : tensor<256x128xf32>, tensor<256x128xf32>
}
