// Four derivatives of each turn are stored, each made of the coefficients that are carried by a Fourier transform. Half of them are stored as they
// were, and coefficients for the others.
// RUN: slimhlo-opt %s --slimhlo-recompute-residuals="transforms=true share=50" --canonicalize | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-recompute-residuals=transforms=true --canonicalize | FileCheck %s --check-prefix=ALL

// CHECK-LABEL: func.func @main
// CHECK: stablehlo.while({{.*}}) : tensor<i32>, tensor<5xcomplex<f32>>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x5xcomplex<f32>>
// CHECK: stablehlo.while
// CHECK: stablehlo.fft {{.*}} type = IRFFT
// CHECK: stablehlo.fft {{.*}} type = IRFFT
// CHECK-NOT: stablehlo.fft
// CHECK: return
// ALL-LABEL: func.func @main
// ALL: stablehlo.while({{.*}}) : tensor<i32>, tensor<5xcomplex<f32>>, tensor<6x5xcomplex<f32>>
// ALL: return
func.func @main(%x0: tensor<5xcomplex<f32>>, %waves: tensor<5xcomplex<f32>>) -> tensor<8xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %c6 = stablehlo.constant dense<6> : tensor<i32>
  %zeros = stablehlo.constant dense<0.0> : tensor<6x8xf32>
  %y0 = stablehlo.constant dense<1.0> : tensor<8xf32>
  %0:6 = stablehlo.while(%i = %c0, %x = %x0, %as = %zeros, %bs = %zeros, %cs = %zeros, %ds = %zeros) : tensor<i32>, tensor<5xcomplex<f32>>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>
  cond {
    %more = stablehlo.compare LT, %i, %c6, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %x_a = stablehlo.multiply %x, %waves : tensor<5xcomplex<f32>>
    %x_b = stablehlo.multiply %x_a, %waves : tensor<5xcomplex<f32>>
    %x_c = stablehlo.multiply %x_b, %waves : tensor<5xcomplex<f32>>
    %x_d = stablehlo.multiply %x_c, %waves : tensor<5xcomplex<f32>>
    %a = stablehlo.fft %x_a, type = IRFFT, length = [8] : (tensor<5xcomplex<f32>>) -> tensor<8xf32>
    %b = stablehlo.fft %x_b, type = IRFFT, length = [8] : (tensor<5xcomplex<f32>>) -> tensor<8xf32>
    %c = stablehlo.fft %x_c, type = IRFFT, length = [8] : (tensor<5xcomplex<f32>>) -> tensor<8xf32>
    %d = stablehlo.fft %x_d, type = IRFFT, length = [8] : (tensor<5xcomplex<f32>>) -> tensor<8xf32>
    %ab = stablehlo.multiply %a, %b : tensor<8xf32>
    %cd = stablehlo.multiply %c, %d : tensor<8xf32>
    %abcd = stablehlo.add %ab, %cd : tensor<8xf32>
    %next = stablehlo.fft %abcd, type = RFFT, length = [8] : (tensor<8xf32>) -> tensor<5xcomplex<f32>>
    %a1 = stablehlo.reshape %a : (tensor<8xf32>) -> tensor<1x8xf32>
    %as1 = stablehlo.dynamic_update_slice %as, %a1, %i, %c0 : (tensor<6x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<6x8xf32>
    %b1 = stablehlo.reshape %b : (tensor<8xf32>) -> tensor<1x8xf32>
    %bs1 = stablehlo.dynamic_update_slice %bs, %b1, %i, %c0 : (tensor<6x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<6x8xf32>
    %c1 = stablehlo.reshape %c : (tensor<8xf32>) -> tensor<1x8xf32>
    %cs1 = stablehlo.dynamic_update_slice %cs, %c1, %i, %c0 : (tensor<6x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<6x8xf32>
    %d1 = stablehlo.reshape %d : (tensor<8xf32>) -> tensor<1x8xf32>
    %ds1 = stablehlo.dynamic_update_slice %ds, %d1, %i, %c0 : (tensor<6x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<6x8xf32>
    %i1 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %i1, %next, %as1, %bs1, %cs1, %ds1 : tensor<i32>, tensor<5xcomplex<f32>>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>
  }
  %1:6 = stablehlo.while(%i = %c0, %y = %y0, %as = %0#2, %bs = %0#3, %cs = %0#4, %ds = %0#5) : tensor<i32>, tensor<8xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>
  cond {
    %more = stablehlo.compare LT, %i, %c6, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %i1 = stablehlo.add %i, %one : tensor<i32>
    %from = stablehlo.subtract %c6, %i1 : tensor<i32>
    %a1 = stablehlo.dynamic_slice %as, %from, %c0, sizes = [1, 8] : (tensor<6x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
    %a = stablehlo.reshape %a1 : (tensor<1x8xf32>) -> tensor<8xf32>
    %y_a = stablehlo.multiply %y, %a : tensor<8xf32>
    %b1 = stablehlo.dynamic_slice %bs, %from, %c0, sizes = [1, 8] : (tensor<6x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
    %b = stablehlo.reshape %b1 : (tensor<1x8xf32>) -> tensor<8xf32>
    %y_b = stablehlo.multiply %y_a, %b : tensor<8xf32>
    %c1 = stablehlo.dynamic_slice %cs, %from, %c0, sizes = [1, 8] : (tensor<6x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
    %c = stablehlo.reshape %c1 : (tensor<1x8xf32>) -> tensor<8xf32>
    %y_c = stablehlo.multiply %y_b, %c : tensor<8xf32>
    %d1 = stablehlo.dynamic_slice %ds, %from, %c0, sizes = [1, 8] : (tensor<6x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
    %d = stablehlo.reshape %d1 : (tensor<1x8xf32>) -> tensor<8xf32>
    %y_d = stablehlo.multiply %y_c, %d : tensor<8xf32>
    stablehlo.return %i1, %y_d, %as, %bs, %cs, %ds : tensor<i32>, tensor<8xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>
  }
  return %1#1 : tensor<8xf32>
}
