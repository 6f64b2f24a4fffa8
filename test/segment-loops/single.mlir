// Of six turns three are stored, twice: where states start from an argument, which is there in any case, one segment does with nothing besides. The
// loop that does it again owns a copy of the argument, which is made when the rest has been read.
// RUN: slimhlo-opt %s --slimhlo-segment-loops --canonicalize --cse | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X0:.*]]: tensor<4xf32>, %[[Y0:.*]]: tensor<4xf32>)
// CHECK-NOT: tensor<6x4xf32>
// CHECK: %[[FIRST:.*]]:2 = stablehlo.while(
// CHECK-SAME: = %[[X0]]
// CHECK-SAME: : tensor<i64>, tensor<4xf32>
// CHECK: %[[REST:.*]]:3 = stablehlo.while(
// CHECK-SAME: = %[[FIRST]]#1
// CHECK-SAME: : tensor<i64>, tensor<4xf32>, tensor<3x4xf32>
// CHECK: %[[BEHIND:.*]]:3 = stablehlo.while(
// CHECK-SAME: = %[[Y0]]
// CHECK-SAME: = %[[REST]]#2
// CHECK: %[[ONE:.*]] = stablehlo.slice %[[BEHIND]]#1 [0:1]
// CHECK: %[[START:.*]] = stablehlo.select %
// CHECK-SAME: , %[[X0]], %
// CHECK: %[[AGAIN:.*]]:3 = stablehlo.while(
// CHECK-SAME: = %[[START]]
// CHECK-SAME: = %[[BEHIND]]#2
// CHECK: %[[ENDS:.*]]:3 = stablehlo.while(
// CHECK-SAME: = %[[BEHIND]]#1
// CHECK-SAME: = %[[AGAIN]]#2
// CHECK: return %[[ENDS]]#1
func.func @main(%x0: tensor<4xf32>, %y0: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %last = stablehlo.constant dense<5> : tensor<i32>
  %turns = stablehlo.constant dense<6> : tensor<i32>
  %zeros = stablehlo.constant dense<0.0> : tensor<6x4xf32>
  %0:3 = stablehlo.while(%i = %c0, %x = %x0, %xs = %zeros) : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>
  cond {
    %more = stablehlo.compare LT, %i, %turns, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.sine %x : tensor<4xf32>
    %x1 = stablehlo.reshape %x : (tensor<4xf32>) -> tensor<1x4xf32>
    %xs1 = stablehlo.dynamic_update_slice %xs, %x1, %i, %c0 : (tensor<6x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<6x4xf32>
    %i1 = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %i1, %next, %xs1 : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>
  }
  %1:3 = stablehlo.while(%j = %c0, %y = %y0, %xs = %0#2) : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>
  cond {
    %more = stablehlo.compare LT, %j, %turns, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %from = stablehlo.subtract %last, %j : tensor<i32>
    %x1 = stablehlo.dynamic_slice %xs, %from, %c0, sizes = [1, 4] : (tensor<6x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %x2 = stablehlo.reshape %x1 : (tensor<1x4xf32>) -> tensor<4xf32>
    %next = stablehlo.multiply %y, %x2 : tensor<4xf32>
    %j1 = stablehlo.add %j, %c1 : tensor<i32>
    stablehlo.return %j1, %next, %xs : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>
  }
  return %1#1 : tensor<4xf32>
}
