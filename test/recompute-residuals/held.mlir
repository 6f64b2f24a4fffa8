// RUN: slimhlo-opt %s --slimhlo-recompute-residuals=target=xla-cpu --canonicalize --split-input-file | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-recompute-residuals --canonicalize --split-input-file | FileCheck %s --check-prefix=GPU

// What takes elementary functions and is read at other places than its own is there before it is read: fused with a stencil it would be
// computed for each of its readers.
// GPU-LABEL: func.func @stencil
// GPU-NOT: stablehlo.if
// GPU: stablehlo.optimization_barrier
// GPU-NOT: stablehlo.if
// GPU-LABEL: func.func @elementwise
// GPU-NOT: stablehlo.optimization_barrier
// CHECK-LABEL: func.func @stencil
func.func @stencil(%x0: tensor<4xf32>, %zero: tensor<f32>) -> tensor<4xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %c6 = stablehlo.constant dense<6> : tensor<i32>
  %zeros = stablehlo.constant dense<0.0> : tensor<6x4xf32>
  %0:4 = stablehlo.while(%i = %c0, %x = %x0, %as = %zeros, %bs = %zeros) : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>, tensor<6x4xf32>
  cond {
    %more = stablehlo.compare LT, %i, %c6, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %a = stablehlo.sine %x : tensor<4xf32>
    %e = stablehlo.exponential %a : tensor<4xf32>
    %b = stablehlo.log_plus_one %e : tensor<4xf32>
    %a1 = stablehlo.reshape %a : (tensor<4xf32>) -> tensor<1x4xf32>
    %as1 = stablehlo.dynamic_update_slice %as, %a1, %i, %c0 : (tensor<6x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<6x4xf32>
    %b1 = stablehlo.reshape %b : (tensor<4xf32>) -> tensor<1x4xf32>
    %bs1 = stablehlo.dynamic_update_slice %bs, %b1, %i, %c0 : (tensor<6x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<6x4xf32>
    %i1 = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %i1, %b, %as1, %bs1 : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>, tensor<6x4xf32>
  }
  // CHECK: stablehlo.while
  // CHECK: stablehlo.while
  // CHECK: %[[B:.*]] = stablehlo.log_plus_one
  // CHECK: %[[SLOT:.*]] = stablehlo.reshape %[[B]]
  // CHECK: %[[HELD:.*]] = "stablehlo.if"(%{{[^)]*}}) ({
  // CHECK: stablehlo.optimization_barrier %[[SLOT]]
  // CHECK: %[[READ:.*]] = stablehlo.reshape %[[HELD]]
  // CHECK: stablehlo.pad %[[READ]]
  %1:4 = stablehlo.while(%i = %c0, %y = %x0, %as = %0#2, %bs = %0#3) : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>, tensor<6x4xf32>
  cond {
    %more = stablehlo.compare LT, %i, %c6, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %a1 = stablehlo.dynamic_slice %as, %i, %c0, sizes = [1, 4] : (tensor<6x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %a = stablehlo.reshape %a1 : (tensor<1x4xf32>) -> tensor<4xf32>
    %b1 = stablehlo.dynamic_slice %bs, %i, %c0, sizes = [1, 4] : (tensor<6x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %b = stablehlo.reshape %b1 : (tensor<1x4xf32>) -> tensor<4xf32>
    %p = stablehlo.pad %b, %zero, low = [1], high = [-1], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %n = stablehlo.multiply %y, %p : tensor<4xf32>
    %next = stablehlo.add %n, %a : tensor<4xf32>
    %i1 = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %i1, %next, %as, %bs : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>, tensor<6x4xf32>
  }
  return %1#1 : tensor<4xf32>
}

// -----

// Read where it is, it is computed on the way.
// CHECK-LABEL: func.func @elementwise
func.func @elementwise(%x0: tensor<4xf32>, %zero: tensor<f32>) -> tensor<4xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %c6 = stablehlo.constant dense<6> : tensor<i32>
  %zeros = stablehlo.constant dense<0.0> : tensor<6x4xf32>
  %0:4 = stablehlo.while(%i = %c0, %x = %x0, %as = %zeros, %bs = %zeros) : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>, tensor<6x4xf32>
  cond {
    %more = stablehlo.compare LT, %i, %c6, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %a = stablehlo.sine %x : tensor<4xf32>
    %e = stablehlo.exponential %a : tensor<4xf32>
    %b = stablehlo.log_plus_one %e : tensor<4xf32>
    %a1 = stablehlo.reshape %a : (tensor<4xf32>) -> tensor<1x4xf32>
    %as1 = stablehlo.dynamic_update_slice %as, %a1, %i, %c0 : (tensor<6x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<6x4xf32>
    %b1 = stablehlo.reshape %b : (tensor<4xf32>) -> tensor<1x4xf32>
    %bs1 = stablehlo.dynamic_update_slice %bs, %b1, %i, %c0 : (tensor<6x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<6x4xf32>
    %i1 = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %i1, %b, %as1, %bs1 : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>, tensor<6x4xf32>
  }
  // CHECK: stablehlo.while
  // CHECK: stablehlo.while
  // CHECK-NOT: stablehlo.if
  // CHECK: stablehlo.log_plus_one
  // CHECK-NOT: stablehlo.if
  %1:4 = stablehlo.while(%i = %c0, %y = %x0, %as = %0#2, %bs = %0#3) : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>, tensor<6x4xf32>
  cond {
    %more = stablehlo.compare LT, %i, %c6, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %a1 = stablehlo.dynamic_slice %as, %i, %c0, sizes = [1, 4] : (tensor<6x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %a = stablehlo.reshape %a1 : (tensor<1x4xf32>) -> tensor<4xf32>
    %b1 = stablehlo.dynamic_slice %bs, %i, %c0, sizes = [1, 4] : (tensor<6x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %b = stablehlo.reshape %b1 : (tensor<1x4xf32>) -> tensor<4xf32>
    %p = stablehlo.negate %b : tensor<4xf32>
    %n = stablehlo.multiply %y, %p : tensor<4xf32>
    %next = stablehlo.add %n, %a : tensor<4xf32>
    %i1 = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %i1, %next, %as, %bs : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>, tensor<6x4xf32>
  }
  return %1#1 : tensor<4xf32>
}
