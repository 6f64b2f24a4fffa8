// A field and its derivative of each turn are made of the coefficients that are carried, each by a Fourier transform: those are stored alone where
// transforms may be done again, and else what they make.
// RUN: slimhlo-opt %s --slimhlo-recompute-residuals=transforms=true --canonicalize | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-recompute-residuals --canonicalize | FileCheck %s --check-prefix=STORED

// CHECK-LABEL: func.func @main
// CHECK: stablehlo.while({{.*}}) : tensor<i32>, tensor<5xcomplex<f32>>, tensor<6x5xcomplex<f32>>
// CHECK: stablehlo.while
// CHECK: stablehlo.dynamic_slice {{.*}} -> tensor<1x5xcomplex<f32>>
// CHECK: stablehlo.fft {{.*}} type = IRFFT
// CHECK: stablehlo.fft {{.*}} type = IRFFT
// STORED-LABEL: func.func @main
// STORED: stablehlo.while({{.*}}) : tensor<i32>, tensor<5xcomplex<f32>>, tensor<6x8xf32>, tensor<6x8xf32>
// STORED: stablehlo.while
// STORED-NOT: stablehlo.fft
// STORED: return
func.func @main(%x0: tensor<5xcomplex<f32>>, %waves: tensor<5xcomplex<f32>>) -> tensor<8xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %c6 = stablehlo.constant dense<6> : tensor<i32>
  %zeros = stablehlo.constant dense<0.0> : tensor<6x8xf32>
  %y0 = stablehlo.constant dense<1.0> : tensor<8xf32>
  %0:4 = stablehlo.while(%i = %c0, %x = %x0, %as = %zeros, %bs = %zeros) : tensor<i32>, tensor<5xcomplex<f32>>, tensor<6x8xf32>, tensor<6x8xf32>
  cond {
    %more = stablehlo.compare LT, %i, %c6, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %a = stablehlo.fft %x, type = IRFFT, length = [8] : (tensor<5xcomplex<f32>>) -> tensor<8xf32>
    %dx = stablehlo.multiply %x, %waves : tensor<5xcomplex<f32>>
    %b = stablehlo.fft %dx, type = IRFFT, length = [8] : (tensor<5xcomplex<f32>>) -> tensor<8xf32>
    %ab = stablehlo.multiply %a, %b : tensor<8xf32>
    %next = stablehlo.fft %ab, type = RFFT, length = [8] : (tensor<8xf32>) -> tensor<5xcomplex<f32>>
    %a1 = stablehlo.reshape %a : (tensor<8xf32>) -> tensor<1x8xf32>
    %as1 = stablehlo.dynamic_update_slice %as, %a1, %i, %c0 : (tensor<6x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<6x8xf32>
    %b1 = stablehlo.reshape %b : (tensor<8xf32>) -> tensor<1x8xf32>
    %bs1 = stablehlo.dynamic_update_slice %bs, %b1, %i, %c0 : (tensor<6x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<6x8xf32>
    %i1 = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %i1, %next, %as1, %bs1 : tensor<i32>, tensor<5xcomplex<f32>>, tensor<6x8xf32>, tensor<6x8xf32>
  }
  %1:4 = stablehlo.while(%i = %c0, %y = %y0, %as = %0#2, %bs = %0#3) : tensor<i32>, tensor<8xf32>, tensor<6x8xf32>, tensor<6x8xf32>
  cond {
    %more = stablehlo.compare LT, %i, %c6, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %i1 = stablehlo.add %i, %c1 : tensor<i32>
    %from = stablehlo.subtract %c6, %i1 : tensor<i32>
    %a1 = stablehlo.dynamic_slice %as, %from, %c0, sizes = [1, 8] : (tensor<6x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
    %a = stablehlo.reshape %a1 : (tensor<1x8xf32>) -> tensor<8xf32>
    %b1 = stablehlo.dynamic_slice %bs, %from, %c0, sizes = [1, 8] : (tensor<6x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
    %b = stablehlo.reshape %b1 : (tensor<1x8xf32>) -> tensor<8xf32>
    %ya = stablehlo.multiply %y, %a : tensor<8xf32>
    %yb = stablehlo.add %ya, %b : tensor<8xf32>
    stablehlo.return %i1, %yb, %as, %bs : tensor<i32>, tensor<8xf32>, tensor<6x8xf32>, tensor<6x8xf32>
  }
  return %1#1 : tensor<8xf32>
}
