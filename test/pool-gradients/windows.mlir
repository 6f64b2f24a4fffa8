// RUN: slimhlo-opt %s --slimhlo-pool-gradients --split-input-file | FileCheck %s

// Four places, compared in order; each window's choice is a byte.
// CHECK-LABEL: func.func @apart
// CHECK-SAME: (%[[X:.*]]: tensor<2x8x8x4xf32>, %[[G:.*]]: tensor<2x4x4x4xf32>)
// CHECK: %[[FIRST:.*]] = stablehlo.slice %[[X]] [0:2, 0:7:2, 0:7:2, 0:4]
// CHECK: %[[SECOND:.*]] = stablehlo.slice %[[X]] [0:2, 0:7:2, 1:8:2, 0:4]
// CHECK: %[[STAYS:.*]] = stablehlo.compare GE, %[[FIRST]], %[[SECOND]], FLOAT
// CHECK: %[[BEST:.*]] = stablehlo.select %[[STAYS]], %[[FIRST]], %[[SECOND]]
// CHECK: stablehlo.select %[[STAYS]], %{{.*}}, %{{.*}} : tensor<2x4x4x4xi1>, tensor<2x4x4x4xui8>
// CHECK: %[[THIRD:.*]] = stablehlo.slice %[[X]] [0:2, 1:8:2, 0:7:2, 0:4]
// CHECK: stablehlo.compare GE, %[[BEST]], %[[THIRD]], FLOAT
// CHECK: stablehlo.slice %[[X]] [0:2, 1:8:2, 1:8:2, 0:4]
// CHECK: %[[AT:.*]] = stablehlo.select %{{.*}} : tensor<2x4x4x4xi1>, tensor<2x4x4x4xui8>
// The last place of a window first: its windows are the first ones.
// CHECK: %[[HERE:.*]] = stablehlo.compare EQ, %[[AT]], %{{.*}}, UNSIGNED
// CHECK: %[[PART:.*]] = stablehlo.select %[[HERE]], %[[G]], %{{.*}} : tensor<2x4x4x4xi1>, tensor<2x4x4x4xf32>
// CHECK: %[[SUM:.*]] = stablehlo.pad %[[PART]], %{{.*}}, low = [0, 1, 1, 0], high = [0, 0, 0, 0], interior = [0, 1, 1, 0]
// CHECK: %[[NEXT:.*]] = stablehlo.pad %{{.*}}, low = [0, 1, 0, 0], high = [0, 0, 1, 0], interior = [0, 1, 1, 0]
// CHECK: stablehlo.add %[[SUM]], %[[NEXT]]
// CHECK-NOT: select_and_scatter
func.func @apart(%x: tensor<2x8x8x4xf32>, %g: tensor<2x4x4x4xf32>) -> tensor<2x8x8x4xf32> {
  %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %r = "stablehlo.select_and_scatter"(%x, %g, %zero) <{padding = dense<0> : tensor<4x2xi64>, window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %0 = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %0 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %0 : tensor<f32>
  }) : (tensor<2x8x8x4xf32>, tensor<2x4x4x4xf32>, tensor<f32>) -> tensor<2x8x8x4xf32>
  return %r : tensor<2x8x8x4xf32>
}

// -----

// Windows overlap, and the last rows are in none of them: they get zeros.
// CHECK-LABEL: func.func @overlapping
// CHECK: stablehlo.slice %{{.*}} [0:10:3, 0:4]
// CHECK: stablehlo.slice %{{.*}} [1:11:3, 0:4]
// CHECK: stablehlo.pad %{{.*}}, low = [4, 0], high = [2, 0], interior = [2, 0]
// CHECK-NOT: select_and_scatter
func.func @overlapping(%x: tensor<16x4xf32>, %g: tensor<4x4xf32>) -> tensor<16x4xf32> {
  %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %r = "stablehlo.select_and_scatter"(%x, %g, %zero) <{window_dimensions = array<i64: 5, 1>, window_strides = array<i64: 3, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %0 = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %0 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %0 : tensor<f32>
  }) : (tensor<16x4xf32>, tensor<4x4xf32>, tensor<f32>) -> tensor<16x4xf32>
  return %r : tensor<16x4xf32>
}

// -----

// All windows that have an element may hand -0.0 to it, which added to 0.0 is 0.0. The comparison is the op's, the other way round.
// CHECK-LABEL: func.func @sliding
// CHECK: %[[FIRST:.*]] = stablehlo.slice %{{.*}} [0:7]
// CHECK: %[[SECOND:.*]] = stablehlo.slice %{{.*}} [1:8]
// CHECK: stablehlo.compare LT, %[[SECOND]], %[[FIRST]], FLOAT
// CHECK: %[[START:.*]] = stablehlo.broadcast_in_dim %{{.*}}, dims = [] : (tensor<f32>) -> tensor<8xf32>
// CHECK: %[[LAST:.*]] = stablehlo.pad
// CHECK: stablehlo.add %[[START]], %[[LAST]]
// CHECK-NOT: select_and_scatter
func.func @sliding(%x: tensor<8xf32>, %g: tensor<7xf32>) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %r = "stablehlo.select_and_scatter"(%x, %g, %zero) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %0 = stablehlo.compare LT, %b, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %0 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %0 : tensor<f32>
  }) : (tensor<8xf32>, tensor<7xf32>, tensor<f32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// What sums begin with is not 0.0.
// CHECK-LABEL: func.func @started
// CHECK: %[[START:.*]] = stablehlo.broadcast_in_dim %arg2, dims = []
// CHECK: stablehlo.add %[[START]], %{{.*}}
// CHECK-NOT: select_and_scatter
func.func @started(%x: tensor<8xf32>, %g: tensor<4xf32>, %start: tensor<f32>) -> tensor<8xf32> {
  %r = "stablehlo.select_and_scatter"(%x, %g, %start) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %0 = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %0 = stablehlo.add %b, %a : tensor<f32>
    stablehlo.return %0 : tensor<f32>
  }) : (tensor<8xf32>, tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}
