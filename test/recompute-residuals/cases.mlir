// RUN: slimhlo-opt %s --slimhlo-recompute-residuals --canonicalize --split-input-file | FileCheck %s

// What something else reads stays, and the second loop reads it, too, instead of what follows from it.
// CHECK-LABEL: func.func @returned
func.func @returned(%x0: tensor<4xf32>) -> (tensor<6x4xf32>, tensor<4xf32>) {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %c6 = stablehlo.constant dense<6> : tensor<i32>
  %zeros = stablehlo.constant dense<0.0> : tensor<6x4xf32>
  // CHECK: %[[FORWARD:.*]]:3 = stablehlo.while
  %0:4 = stablehlo.while(%i = %c0, %x = %x0, %as = %zeros, %bs = %zeros) : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>, tensor<6x4xf32>
  cond {
    %more = stablehlo.compare LT, %i, %c6, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %a = stablehlo.sine %x : tensor<4xf32>
    %b = stablehlo.exponential %a : tensor<4xf32>
    %a1 = stablehlo.reshape %a : (tensor<4xf32>) -> tensor<1x4xf32>
    %as1 = stablehlo.dynamic_update_slice %as, %a1, %i, %c0 : (tensor<6x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<6x4xf32>
    %b1 = stablehlo.reshape %b : (tensor<4xf32>) -> tensor<1x4xf32>
    %bs1 = stablehlo.dynamic_update_slice %bs, %b1, %i, %c0 : (tensor<6x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<6x4xf32>
    %i1 = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %i1, %b, %as1, %bs1 : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>, tensor<6x4xf32>
  }
  // CHECK: stablehlo.while(%{{[^ ]*}} = %{{[^ ,]*}}, %{{[^ ]*}} = %{{[^ ,]*}}, %[[AS:[^ ]*]] = %[[FORWARD]]#2)
  // CHECK: %[[SLOT:.*]] = stablehlo.dynamic_slice %[[AS]],
  // CHECK: %[[A:.*]] = stablehlo.reshape %[[SLOT]] : (tensor<1x4xf32>) -> tensor<4xf32>
  // CHECK: stablehlo.exponential %[[A]]
  %1:3 = stablehlo.while(%i = %c0, %y = %x0, %bs = %0#3) : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>
  cond {
    %more = stablehlo.compare LT, %i, %c6, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %b1 = stablehlo.dynamic_slice %bs, %i, %c0, sizes = [1, 4] : (tensor<6x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %b = stablehlo.reshape %b1 : (tensor<1x4xf32>) -> tensor<4xf32>
    %next = stablehlo.multiply %y, %b : tensor<4xf32>
    %i1 = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %i1, %next, %bs : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>
  }
  // CHECK: return %[[FORWARD]]#2
  return %0#2, %1#1 : tensor<6x4xf32>, tensor<4xf32>
}

// -----

// What is sliced for the turn and what all turns share is free; the number of the turn is the reader's, kept in bounds.
// CHECK-LABEL: func.func @free
func.func @free(%xs: tensor<6x4xf32>, %w: tensor<4xf32>, %y0: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %c6 = stablehlo.constant dense<6> : tensor<i32>
  %zeros = stablehlo.constant dense<0.0> : tensor<6x4xf32>
  // CHECK-NOT: dense<0.000000e+00> : tensor<6x4xf32>
  %0:4 = stablehlo.while(%i = %c0, %all = %xs, %v = %w, %as = %zeros) : tensor<i32>, tensor<6x4xf32>, tensor<4xf32>, tensor<6x4xf32>
  cond {
    %more = stablehlo.compare LT, %i, %c6, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %x1 = stablehlo.dynamic_slice %all, %i, %c0, sizes = [1, 4] : (tensor<6x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %x = stablehlo.reshape %x1 : (tensor<1x4xf32>) -> tensor<4xf32>
    %n = stablehlo.convert %i : (tensor<i32>) -> tensor<f32>
    %ns = stablehlo.broadcast_in_dim %n, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %p = stablehlo.multiply %x, %v : tensor<4xf32>
    %a = stablehlo.add %p, %ns : tensor<4xf32>
    %a1 = stablehlo.reshape %a : (tensor<4xf32>) -> tensor<1x4xf32>
    %as1 = stablehlo.dynamic_update_slice %as, %a1, %i, %c0 : (tensor<6x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<6x4xf32>
    %i1 = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %i1, %all, %v, %as1 : tensor<i32>, tensor<6x4xf32>, tensor<4xf32>, tensor<6x4xf32>
  }
  // CHECK: stablehlo.while(%{{[^ ]*}} = %{{[^ ,]*}}, %{{[^ ]*}} = %{{[^ ,]*}}, %[[XS:[^ ]*]] = %arg0, %[[W:[^ ]*]] = %arg1)
  // CHECK: do {
  // CHECK: %[[AT:.*]] = stablehlo.subtract
  // CHECK: %[[TURN:.*]] = stablehlo.clamp %{{[^ ,]*}}, %[[AT]],
  // CHECK: stablehlo.dynamic_slice %[[XS]], %[[TURN]],
  // CHECK: stablehlo.multiply %{{[^ ,]*}}, %[[W]]
  %1:3 = stablehlo.while(%i = %c0, %y = %y0, %as = %0#3) : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>
  cond {
    %more = stablehlo.compare LT, %i, %c6, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %at = stablehlo.subtract %c6, %i : tensor<i32>
    %a1 = stablehlo.dynamic_slice %as, %at, %c0, sizes = [1, 4] : (tensor<6x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %a = stablehlo.reshape %a1 : (tensor<1x4xf32>) -> tensor<4xf32>
    %next = stablehlo.multiply %y, %a : tensor<4xf32>
    %i1 = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %i1, %next, %as : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>
  }
  return %1#1 : tensor<4xf32>
}

// -----

// Scores are made again of queries and keys, which are less.
// CHECK-LABEL: func.func @scores
func.func @scores(%q0: tensor<64x2xf32>, %g0: tensor<64x64xf32>) -> (tensor<64x2xf32>, tensor<64x64xf32>) {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %c6 = stablehlo.constant dense<6> : tensor<i32>
  %zeros = stablehlo.constant dense<0.0> : tensor<6x64x64xf32>
  // CHECK: stablehlo.constant dense<0.000000e+00> : tensor<6x64x2xf32>
  // CHECK: stablehlo.while
  // CHECK: stablehlo.dot_general
  // CHECK: stablehlo.while
  // CHECK: stablehlo.dot_general
  %0:3 = stablehlo.while(%i = %c0, %q = %q0, %ss = %zeros) : tensor<i32>, tensor<64x2xf32>, tensor<6x64x64xf32>
  cond {
    %more = stablehlo.compare LT, %i, %c6, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %s = stablehlo.dot_general %q, %q, contracting_dims = [1] x [1] : (tensor<64x2xf32>, tensor<64x2xf32>) -> tensor<64x64xf32>
    %s1 = stablehlo.reshape %s : (tensor<64x64xf32>) -> tensor<1x64x64xf32>
    %ss1 = stablehlo.dynamic_update_slice %ss, %s1, %i, %c0, %c0 : (tensor<6x64x64xf32>, tensor<1x64x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<6x64x64xf32>
    %next = stablehlo.dot_general %s, %q, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x2xf32>) -> tensor<64x2xf32>
    %i1 = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %i1, %next, %ss1 : tensor<i32>, tensor<64x2xf32>, tensor<6x64x64xf32>
  }
  %1:3 = stablehlo.while(%i = %c0, %g = %g0, %ss = %0#2) : tensor<i32>, tensor<64x64xf32>, tensor<6x64x64xf32>
  cond {
    %more = stablehlo.compare LT, %i, %c6, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %s1 = stablehlo.dynamic_slice %ss, %i, %c0, %c0, sizes = [1, 64, 64] : (tensor<6x64x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x64x64xf32>
    %s = stablehlo.reshape %s1 : (tensor<1x64x64xf32>) -> tensor<64x64xf32>
    %next = stablehlo.add %g, %s : tensor<64x64xf32>
    %i1 = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %i1, %next, %ss : tensor<i32>, tensor<64x64xf32>, tensor<6x64x64xf32>
  }
  return %0#1, %1#1 : tensor<64x2xf32>, tensor<64x64xf32>
}
