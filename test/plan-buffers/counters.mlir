// RUN: slimhlo-opt %s --slimhlo-form-kernels --slimhlo-plan-buffers=check=true | FileCheck %s

// What loops count takes no memory of the plan. Loops side by side that count the same share a counter, one within another has its own;
// what is computed of a counter is a value.

// CHECK-LABEL: func.func @main
// CHECK: stablehlo.while
// CHECK-SAME: slimhlo.buffers = ["counter0", "{{arena.[0-9]+|result0}}"], slimhlo.counts = array<i64: 0, 0, 1>
// CHECK: stablehlo.while
// CHECK-SAME: slimhlo.buffers = ["counter1", "{{arena.[0-9]+|result0}}"], slimhlo.counts = array<i64: 0, 0, 1>
// CHECK: stablehlo.while
// CHECK-SAME: slimhlo.buffers = ["counter0", "{{arena.[0-9]+|result0}}"], slimhlo.counts = array<i64: 0, 0, 1>
// A loop of unknown length counts for itself.
// CHECK: stablehlo.while
// CHECK-SAME: slimhlo.buffers = ["arena+{{[0-9]+}}", "{{arena.[0-9]+|result0}}"]}
func.func @main(%x: tensor<4xi32>, %bound: tensor<i32>) -> tensor<4xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %five = stablehlo.constant dense<5> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<4xi32>
  cond {
    %1 = stablehlo.compare LT, %i, %five, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    // Needed by others, too: that is another op.
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2:2 = stablehlo.while(%j = %zero, %t = %s) : tensor<i32>, tensor<4xi32>
    cond {
      %3 = stablehlo.compare LT, %j, %five, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    } do {
      %3 = stablehlo.add %j, %one : tensor<i32>
      %4 = stablehlo.multiply %j, %i : tensor<i32>
      %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<i32>) -> tensor<4xi32>
      %6 = stablehlo.add %t, %5 : tensor<4xi32>
      stablehlo.return %3, %6 : tensor<i32>, tensor<4xi32>
    }
    %7 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %8 = stablehlo.multiply %2#1, %7 : tensor<4xi32>
    stablehlo.return %1, %8 : tensor<i32>, tensor<4xi32>
  }
  %9:2 = stablehlo.while(%i = %zero, %s = %0#1) : tensor<i32>, tensor<4xi32>
  cond {
    %1 = stablehlo.compare LT, %i, %five, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2 = stablehlo.multiply %s, %s : tensor<4xi32>
    stablehlo.return %1, %2 : tensor<i32>, tensor<4xi32>
  }
  %10:2 = stablehlo.while(%i = %zero, %s = %9#1) : tensor<i32>, tensor<4xi32>
  cond {
    %1 = stablehlo.compare LT, %i, %bound, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2 = stablehlo.multiply %s, %s : tensor<4xi32>
    stablehlo.return %1, %2 : tensor<i32>, tensor<4xi32>
  }
  return %10#1 : tensor<4xi32>
}
