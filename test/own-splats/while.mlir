// RUN: slimhlo-opt %s --slimhlo-own-splats --split-input-file | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-own-splats --split-input-file | slimhlo-opt --slimhlo-own-splats --split-input-file | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-own-splats="target=xla-cpu" --split-input-file | FileCheck %s --check-prefix=NOT
// RUN: slimhlo-opt %s --slimhlo-own-splats="least-bytes=8MiB" --split-input-file | FileCheck %s --check-prefix=NOT
// NOT-NOT: optimization_barrier

// An accumulator starts from zeros that are also selected from after the loop.
// CHECK-LABEL: func.func public @main
// CHECK: %[[ZEROS:.*]] = stablehlo.constant dense<0.000000e+00> : tensor<512x2048xf32>
// CHECK: %[[ZERO:.*]] = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[HELD:.*]] = stablehlo.optimization_barrier %[[ZERO]] : tensor<f32>
// CHECK: %[[OWN:.*]] = stablehlo.broadcast_in_dim %[[HELD]], dims = [] : (tensor<f32>) -> tensor<512x2048xf32>
// CHECK: stablehlo.while(
// CHECK-SAME: = %[[OWN]],
// CHECK: stablehlo.select %{{[^ ,]*}}, %[[ZEROS]], %
func.func public @main(%x: tensor<512x2048xf32>) -> tensor<512x2048xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i64>
  %zeros = stablehlo.constant dense<0.0> : tensor<512x2048xf32>
  %loop:3 = stablehlo.while(%i = %c0, %sum = %zeros, %given = %x) : tensor<i64>, tensor<512x2048xf32>, tensor<512x2048xf32>
  cond {
    %c9 = stablehlo.constant dense<9> : tensor<i64>
    %on = stablehlo.compare LT, %i, %c9, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %on : tensor<i1>
  } do {
    %c1 = stablehlo.constant dense<1> : tensor<i64>
    %next = stablehlo.add %i, %c1 : tensor<i64>
    %row = stablehlo.dynamic_slice %given, %i, %c1, sizes = [1, 2047] : (tensor<512x2048xf32>, tensor<i64>, tensor<i64>) -> tensor<1x2047xf32>
    %square = stablehlo.multiply %row, %row : tensor<1x2047xf32>
    %more = stablehlo.dynamic_update_slice %sum, %square, %i, %c1 : (tensor<512x2048xf32>, tensor<1x2047xf32>, tensor<i64>, tensor<i64>) -> tensor<512x2048xf32>
    stablehlo.return %next, %more, %given : tensor<i64>, tensor<512x2048xf32>, tensor<512x2048xf32>
  }
  %nan = stablehlo.compare NE, %loop#1, %loop#1, FLOAT : (tensor<512x2048xf32>, tensor<512x2048xf32>) -> tensor<512x2048xi1>
  %known = stablehlo.select %nan, %zeros, %loop#1 : tensor<512x2048xi1>, tensor<512x2048xf32>
  return %known : tensor<512x2048xf32>
}

// -----

// Nothing else reads the zeros.
// CHECK-LABEL: func.func public @alone
// CHECK-NOT: optimization_barrier
func.func public @alone(%x: tensor<512x2048xf32>) -> tensor<512x2048xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i64>
  %zeros = stablehlo.constant dense<0.0> : tensor<512x2048xf32>
  %loop:3 = stablehlo.while(%i = %c0, %sum = %zeros, %given = %x) : tensor<i64>, tensor<512x2048xf32>, tensor<512x2048xf32>
  cond {
    %c9 = stablehlo.constant dense<9> : tensor<i64>
    %on = stablehlo.compare LT, %i, %c9, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %on : tensor<i1>
  } do {
    %c1 = stablehlo.constant dense<1> : tensor<i64>
    %next = stablehlo.add %i, %c1 : tensor<i64>
    %row = stablehlo.dynamic_slice %given, %i, %c1, sizes = [1, 2047] : (tensor<512x2048xf32>, tensor<i64>, tensor<i64>) -> tensor<1x2047xf32>
    %square = stablehlo.multiply %row, %row : tensor<1x2047xf32>
    %more = stablehlo.dynamic_update_slice %sum, %square, %i, %c1 : (tensor<512x2048xf32>, tensor<1x2047xf32>, tensor<i64>, tensor<i64>) -> tensor<512x2048xf32>
    stablehlo.return %next, %more, %given : tensor<i64>, tensor<512x2048xf32>, tensor<512x2048xf32>
  }
  %known = stablehlo.negate %loop#1 : tensor<512x2048xf32>
  return %known : tensor<512x2048xf32>
}

// -----

// Zeros that the loop hands on as they are it reads, too.
// CHECK-LABEL: func.func public @handed_on
// CHECK-NOT: optimization_barrier
func.func public @handed_on(%x: tensor<512x2048xf32>) -> tensor<512x2048xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i64>
  %zeros = stablehlo.constant dense<0.0> : tensor<512x2048xf32>
  %loop:3 = stablehlo.while(%i = %c0, %sum = %zeros, %given = %x) : tensor<i64>, tensor<512x2048xf32>, tensor<512x2048xf32>
  cond {
    %c9 = stablehlo.constant dense<9> : tensor<i64>
    %on = stablehlo.compare LT, %i, %c9, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %on : tensor<i1>
  } do {
    %c1 = stablehlo.constant dense<1> : tensor<i64>
    %next = stablehlo.add %i, %c1 : tensor<i64>
    %row = stablehlo.dynamic_slice %given, %i, %c1, sizes = [1, 2047] : (tensor<512x2048xf32>, tensor<i64>, tensor<i64>) -> tensor<1x2047xf32>
    stablehlo.return %next, %sum, %given : tensor<i64>, tensor<512x2048xf32>, tensor<512x2048xf32>
  }
  %nan = stablehlo.compare NE, %loop#1, %loop#1, FLOAT : (tensor<512x2048xf32>, tensor<512x2048xf32>) -> tensor<512x2048xi1>
  %known = stablehlo.select %nan, %zeros, %loop#1 : tensor<512x2048xi1>, tensor<512x2048xf32>
  return %known : tensor<512x2048xf32>
}
