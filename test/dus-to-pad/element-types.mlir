// RUN: slimhlo-opt %s --slimhlo-dus-to-pad | FileCheck %s

// Every element type is moved, never computed with: NaN payloads and signed zeros keep their bits.

// CHECK-LABEL: func @nan_payload
func.func @nan_payload(%x: tensor<2xf32>) -> tensor<5xf32> {
  %nans = stablehlo.constant dense<0x7FC12345> : tensor<5xf32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  // CHECK: %[[V:.*]] = stablehlo.constant dense<0x7FC12345> : tensor<f32>
  // CHECK: stablehlo.pad %{{.*}}, %[[V]], low = [1], high = [2]
  %r = stablehlo.dynamic_update_slice %nans, %x, %c1 : (tensor<5xf32>, tensor<2xf32>, tensor<i32>) -> tensor<5xf32>
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func @negative_zero
func.func @negative_zero(%x: tensor<2xbf16>) -> tensor<5xbf16> {
  %zeros = stablehlo.constant dense<-0.0> : tensor<5xbf16>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  // CHECK: %[[V:.*]] = stablehlo.constant dense<-0.000000e+00> : tensor<bf16>
  // CHECK: stablehlo.pad %{{.*}}, %[[V]],
  %r = stablehlo.dynamic_update_slice %zeros, %x, %c1 : (tensor<5xbf16>, tensor<2xbf16>, tensor<i32>) -> tensor<5xbf16>
  return %r : tensor<5xbf16>
}

// CHECK-LABEL: func @complex
func.func @complex(%x: tensor<2xcomplex<f32>>) -> tensor<5xcomplex<f32>> {
  %ones = stablehlo.constant dense<(1.0, -2.0)> : tensor<5xcomplex<f32>>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  // CHECK: %[[V:.*]] = stablehlo.constant dense<(1.000000e+00,-2.000000e+00)> : tensor<complex<f32>>
  // CHECK: stablehlo.pad %{{.*}}, %[[V]],
  %r = stablehlo.dynamic_update_slice %ones, %x, %c1 : (tensor<5xcomplex<f32>>, tensor<2xcomplex<f32>>, tensor<i32>) -> tensor<5xcomplex<f32>>
  return %r : tensor<5xcomplex<f32>>
}

// CHECK-LABEL: func @bool
func.func @bool(%x: tensor<2xi1>) -> tensor<5xi1> {
  %trues = stablehlo.constant dense<true> : tensor<5xi1>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  // CHECK: %[[V:.*]] = stablehlo.constant dense<true> : tensor<i1>
  // CHECK: stablehlo.pad %{{.*}}, %[[V]],
  %r = stablehlo.dynamic_update_slice %trues, %x, %c1 : (tensor<5xi1>, tensor<2xi1>, tensor<i32>) -> tensor<5xi1>
  return %r : tensor<5xi1>
}

// CHECK-LABEL: func @float8
func.func @float8(%x: tensor<2xf8E4M3FN>, %v: tensor<f8E4M3FN>) -> tensor<5xf8E4M3FN> {
  %full = stablehlo.broadcast_in_dim %v, dims = [] : (tensor<f8E4M3FN>) -> tensor<5xf8E4M3FN>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  // CHECK: stablehlo.pad %arg0, %arg1, low = [1], high = [2]
  %r = stablehlo.dynamic_update_slice %full, %x, %c1 : (tensor<5xf8E4M3FN>, tensor<2xf8E4M3FN>, tensor<i32>) -> tensor<5xf8E4M3FN>
  return %r : tensor<5xf8E4M3FN>
}

// CHECK-LABEL: func @quantized
func.func @quantized(%x: tensor<2x!quant.uniform<i8:f32, 0.5:1>>, %v: tensor<!quant.uniform<i8:f32, 0.5:1>>) -> tensor<5x!quant.uniform<i8:f32, 0.5:1>> {
  %full = stablehlo.broadcast_in_dim %v, dims = [] : (tensor<!quant.uniform<i8:f32, 0.5:1>>) -> tensor<5x!quant.uniform<i8:f32, 0.5:1>>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  // CHECK: stablehlo.pad %arg0, %arg1, low = [1], high = [2]
  %r = stablehlo.dynamic_update_slice %full, %x, %c1 : (tensor<5x!quant.uniform<i8:f32, 0.5:1>>, tensor<2x!quant.uniform<i8:f32, 0.5:1>>, tensor<i32>) -> tensor<5x!quant.uniform<i8:f32, 0.5:1>>
  return %r : tensor<5x!quant.uniform<i8:f32, 0.5:1>>
}
