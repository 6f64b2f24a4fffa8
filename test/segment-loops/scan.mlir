// Twelve turns are stored as the last four, and what each of two segments of four turns starts from. Forward turns of a segment are done again
// before its backward ones, without what only the result wants.
// RUN: slimhlo-opt %s --slimhlo-segment-loops --canonicalize --cse | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-segment-loops --mlir-pass-statistics -o /dev/null 2>&1 | FileCheck %s --check-prefix=COUNT

// COUNT-DAG: 1 num-loops
// COUNT-DAG: 96 bytes-saved

// CHECK-LABEL: func.func @main
// CHECK-NOT: tensor<12x4xf32>
// Forward: states of two segments, and the sum of all turns.
// CHECK: %[[FORWARD:.*]]:4 = stablehlo.while({{.*}}) : tensor<i64>, tensor<4xf32>, tensor<f32>, tensor<2x4xf32>
// CHECK: stablehlo.dynamic_update_slice
// CHECK: stablehlo.while({{.*}}) : tensor<i64>, tensor<4xf32>, tensor<f32>
// CHECK: stablehlo.sine
// CHECK: %[[REST:.*]]:4 = stablehlo.while(
// CHECK-SAME: = %[[FORWARD]]#1
// CHECK-SAME: = %[[FORWARD]]#2
// CHECK-SAME: : tensor<i64>, tensor<4xf32>, tensor<f32>, tensor<4x4xf32>
// Backward: the rest, and then a segment at a time.
// CHECK: %[[BEHIND:.*]]:3 = stablehlo.while(
// CHECK-SAME: = %[[REST]]#3
// CHECK-SAME: : tensor<i64>, tensor<4xf32>, tensor<4x4xf32>
// CHECK: stablehlo.cosine
// CHECK: %[[ENDS:.*]]:4 = stablehlo.while(
// CHECK-SAME: = %[[BEHIND]]#1
// CHECK-SAME: = %[[BEHIND]]#2
// CHECK-SAME: = %[[FORWARD]]#3
// CHECK: stablehlo.dynamic_slice
// CHECK: %[[AGAIN:.*]]:3 = stablehlo.while({{.*}}) : tensor<i64>, tensor<4xf32>, tensor<4x4xf32>
// CHECK: stablehlo.sine
// CHECK-NOT: stablehlo.reduce
// CHECK: stablehlo.while(
// CHECK-SAME: = %[[AGAIN]]#2
// CHECK-SAME: : tensor<i64>, tensor<4xf32>, tensor<4x4xf32>
// CHECK: stablehlo.cosine
// CHECK: return %[[ENDS]]#1, %[[REST]]#2
func.func @main(%given: tensor<4xf32>, %y0: tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>) {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %c11 = stablehlo.constant dense<11> : tensor<i32>
  %c12 = stablehlo.constant dense<12> : tensor<i32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.constant dense<0.0> : tensor<12x4xf32>
  %x0 = stablehlo.negate %given : tensor<4xf32>
  %0:4 = stablehlo.while(%i = %c0, %x = %x0, %sum = %zero, %xs = %zeros) : tensor<i32>, tensor<4xf32>, tensor<f32>, tensor<12x4xf32>
  cond {
    %more = stablehlo.compare LT, %i, %c12, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.sine %x : tensor<4xf32>
    %part = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    %sum1 = stablehlo.add %sum, %part : tensor<f32>
    %x1 = stablehlo.reshape %x : (tensor<4xf32>) -> tensor<1x4xf32>
    %xs1 = stablehlo.dynamic_update_slice %xs, %x1, %i, %c0 : (tensor<12x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<12x4xf32>
    %i1 = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %i1, %next, %sum1, %xs1 : tensor<i32>, tensor<4xf32>, tensor<f32>, tensor<12x4xf32>
  }
  %1:3 = stablehlo.while(%j = %c0, %y = %y0, %xs = %0#3) : tensor<i32>, tensor<4xf32>, tensor<12x4xf32>
  cond {
    %more = stablehlo.compare LT, %j, %c12, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %from = stablehlo.subtract %c11, %j : tensor<i32>
    %x1 = stablehlo.dynamic_slice %xs, %from, %c0, sizes = [1, 4] : (tensor<12x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %x2 = stablehlo.reshape %x1 : (tensor<1x4xf32>) -> tensor<4xf32>
    %slope = stablehlo.cosine %x2 : tensor<4xf32>
    %next = stablehlo.multiply %y, %slope : tensor<4xf32>
    %j1 = stablehlo.add %j, %c1 : tensor<i32>
    stablehlo.return %j1, %next, %xs : tensor<i32>, tensor<4xf32>, tensor<12x4xf32>
  }
  return %1#1, %0#2 : tensor<4xf32>, tensor<f32>
}
