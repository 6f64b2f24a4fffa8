// What a turn keeps of a layer, its input and what is made of its first product: the input alone is stored where the product may be done
// again. It takes about three times as long as moving it, on an H100.
// RUN: slimhlo-opt %s --slimhlo-recompute-residuals="target=h100 moves=8" --canonicalize --cse | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-recompute-residuals="target=h100 moves=1" --canonicalize --cse | FileCheck %s --check-prefix=STORED
// RUN: slimhlo-opt %s --slimhlo-recompute-residuals="target=h100" --canonicalize --cse | FileCheck %s --check-prefix=STORED
// Nobody knows how long it takes on CPUs.
// RUN: slimhlo-opt %s --slimhlo-recompute-residuals="target=xla-cpu moves=8" --canonicalize --cse | FileCheck %s --check-prefix=STORED

// CHECK-LABEL: func.func @layers
// CHECK: stablehlo.while({{.*}}) : tensor<i32>, tensor<16384x64xf32>, tensor<6x16384x64xf32>
// CHECK: stablehlo.while
// CHECK: %[[X:.*]] = stablehlo.reshape %{{.*}} : (tensor<1x16384x64xf32>) -> tensor<16384x64xf32>
// CHECK: %[[P:.*]] = stablehlo.dot_general %[[X]], %{{.*}}
// CHECK: stablehlo.tanh %[[P]]
// STORED-LABEL: func.func @layers
// STORED: stablehlo.while({{.*}}) : tensor<i32>, tensor<16384x64xf32>, tensor<6x16384x64xf32>, tensor<6x16384x64xf32>
// STORED: stablehlo.while
// STORED-NOT: stablehlo.dot_general
// STORED: return
func.func @layers(%x0: tensor<16384x64xf32>, %w: tensor<64x64xf32>) -> tensor<16384x64xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %c6 = stablehlo.constant dense<6> : tensor<i32>
  %zeros = stablehlo.constant dense<0.0> : tensor<6x16384x64xf32>
  %y0 = stablehlo.constant dense<1.0> : tensor<16384x64xf32>
  %0:4 = stablehlo.while(%i = %c0, %x = %x0, %xs = %zeros, %hs = %zeros) : tensor<i32>, tensor<16384x64xf32>, tensor<6x16384x64xf32>, tensor<6x16384x64xf32>
  cond {
    %more = stablehlo.compare LT, %i, %c6, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16384x64xf32>, tensor<64x64xf32>) -> tensor<16384x64xf32>
    %h = stablehlo.tanh %p : tensor<16384x64xf32>
    %q = stablehlo.dot_general %h, %w, contracting_dims = [1] x [0] : (tensor<16384x64xf32>, tensor<64x64xf32>) -> tensor<16384x64xf32>
    %next = stablehlo.add %q, %x : tensor<16384x64xf32>
    %x1 = stablehlo.reshape %x : (tensor<16384x64xf32>) -> tensor<1x16384x64xf32>
    %xs1 = stablehlo.dynamic_update_slice %xs, %x1, %i, %c0, %c0 : (tensor<6x16384x64xf32>, tensor<1x16384x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<6x16384x64xf32>
    %h1 = stablehlo.reshape %h : (tensor<16384x64xf32>) -> tensor<1x16384x64xf32>
    %hs1 = stablehlo.dynamic_update_slice %hs, %h1, %i, %c0, %c0 : (tensor<6x16384x64xf32>, tensor<1x16384x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<6x16384x64xf32>
    %i1 = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %i1, %next, %xs1, %hs1 : tensor<i32>, tensor<16384x64xf32>, tensor<6x16384x64xf32>, tensor<6x16384x64xf32>
  }
  %1:4 = stablehlo.while(%i = %c0, %y = %y0, %xs = %0#2, %hs = %0#3) : tensor<i32>, tensor<16384x64xf32>, tensor<6x16384x64xf32>, tensor<6x16384x64xf32>
  cond {
    %more = stablehlo.compare LT, %i, %c6, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %i1 = stablehlo.add %i, %c1 : tensor<i32>
    %from = stablehlo.subtract %c6, %i1 : tensor<i32>
    %x1 = stablehlo.dynamic_slice %xs, %from, %c0, %c0, sizes = [1, 16384, 64] : (tensor<6x16384x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16384x64xf32>
    %x = stablehlo.reshape %x1 : (tensor<1x16384x64xf32>) -> tensor<16384x64xf32>
    %h1 = stablehlo.dynamic_slice %hs, %from, %c0, %c0, sizes = [1, 16384, 64] : (tensor<6x16384x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16384x64xf32>
    %h = stablehlo.reshape %h1 : (tensor<1x16384x64xf32>) -> tensor<16384x64xf32>
    %yx = stablehlo.multiply %y, %x : tensor<16384x64xf32>
    %yh = stablehlo.add %yx, %h : tensor<16384x64xf32>
    stablehlo.return %i1, %yh, %xs, %hs : tensor<i32>, tensor<16384x64xf32>, tensor<6x16384x64xf32>, tensor<6x16384x64xf32>
  }
  return %1#1 : tensor<16384x64xf32>
}
