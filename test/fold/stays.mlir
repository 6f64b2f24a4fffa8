// RUN: slimhlo-opt %s --canonicalize | FileCheck %s

// What must not fold.

// -0.0 + 0.0 is 0.0, 0.0 * inf is a NaN, and a NaN is not equal to itself.
// CHECK-LABEL: func @floats
// CHECK: stablehlo.add
// CHECK: stablehlo.multiply
// CHECK: stablehlo.compare
// CHECK: stablehlo.subtract
func.func @floats(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xi1>, tensor<4xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<4xf32>
  %0 = stablehlo.add %x, %zero : tensor<4xf32>
  %1 = stablehlo.multiply %x, %zero : tensor<4xf32>
  %2 = stablehlo.compare EQ, %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %3 = stablehlo.subtract %x, %x : tensor<4xf32>
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xi1>, tensor<4xf32>
}

// CHECK-LABEL: func @no_quotient
// CHECK: stablehlo.divide
// CHECK: stablehlo.remainder
// CHECK: stablehlo.divide
// CHECK: stablehlo.remainder
func.func @no_quotient() -> (tensor<i8>, tensor<i8>, tensor<i8>, tensor<i8>) {
  %least = stablehlo.constant dense<-128> : tensor<i8>
  %zero = stablehlo.constant dense<0> : tensor<i8>
  %minus = stablehlo.constant dense<-1> : tensor<i8>
  %0 = stablehlo.divide %least, %zero : tensor<i8>
  %1 = stablehlo.remainder %least, %zero : tensor<i8>
  %2 = stablehlo.divide %least, %minus : tensor<i8>
  %3 = stablehlo.remainder %least, %minus : tensor<i8>
  return %0, %1, %2, %3 : tensor<i8>, tensor<i8>, tensor<i8>, tensor<i8>
}

// CHECK-LABEL: func @shifted_out
// CHECK: stablehlo.shift_left
// CHECK: stablehlo.shift_right_logical
func.func @shifted_out() -> (tensor<i8>, tensor<i8>) {
  %x = stablehlo.constant dense<5> : tensor<i8>
  %eight = stablehlo.constant dense<8> : tensor<i8>
  %minus = stablehlo.constant dense<-1> : tensor<i8>
  %0 = stablehlo.shift_left %x, %eight : tensor<i8>
  %1 = stablehlo.shift_right_logical %x, %minus : tensor<i8>
  return %0, %1 : tensor<i8>, tensor<i8>
}

// Rounding, NaNs, denormal numbers, and what an integer cannot hold.
// CHECK-LABEL: func @inexact
// CHECK-COUNT-5: stablehlo.convert
func.func @inexact() -> (tensor<f32>, tensor<f64>, tensor<f64>, tensor<i8>, tensor<f32>) {
  %tenth = stablehlo.constant dense<0.1> : tensor<f64>
  %nan = stablehlo.constant dense<0x7FC00001> : tensor<f32>
  %denormal = stablehlo.constant dense<0x00000001> : tensor<f32>
  %large = stablehlo.constant dense<128.0> : tensor<f64>
  %integer = stablehlo.constant dense<16777217> : tensor<i32>
  %0 = stablehlo.convert %tenth : (tensor<f64>) -> tensor<f32>
  %1 = stablehlo.convert %nan : (tensor<f32>) -> tensor<f64>
  %2 = stablehlo.convert %denormal : (tensor<f32>) -> tensor<f64>
  %3 = stablehlo.convert %large : (tensor<f64>) -> tensor<i8>
  %4 = stablehlo.convert %integer : (tensor<i32>) -> tensor<f32>
  return %0, %1, %2, %3, %4 : tensor<f32>, tensor<f64>, tensor<f64>, tensor<i8>, tensor<f32>
}

// A constant of more than 64 different elements.
// CHECK-LABEL: func @large
// CHECK: stablehlo.iota
func.func @large() -> tensor<65xi32> {
  %0 = stablehlo.iota dim = 0 : tensor<65xi32>
  return %0 : tensor<65xi32>
}

// The result knows a bound that the operand does not.
// CHECK-LABEL: func @bound
// CHECK: stablehlo.reverse
// CHECK: stablehlo.convert
func.func @bound(%x: tensor<?x1xf32>) -> (tensor<?x1xf32, #stablehlo.bounds<4, ?>>, tensor<4x1xf32>) {
  %0 = "stablehlo.reverse"(%x) <{dimensions = array<i64: 1>}> : (tensor<?x1xf32>) -> tensor<?x1xf32, #stablehlo.bounds<4, ?>>
  %1 = stablehlo.convert %x : (tensor<?x1xf32>) -> tensor<4x1xf32>
  return %0, %1 : tensor<?x1xf32, #stablehlo.bounds<4, ?>>, tensor<4x1xf32>
}

// An expanding dimension of unknown size.
// CHECK-LABEL: func @unknown_size
// CHECK: stablehlo.dynamic_broadcast_in_dim
// CHECK: stablehlo.dynamic_slice
func.func @unknown_size(%x: tensor<?xf32>, %n: tensor<1xi32>, %i: tensor<i32>) -> (tensor<?xf32>, tensor<4xf32>) {
  %0 = stablehlo.dynamic_broadcast_in_dim %x, %n, dims = [0] : (tensor<?xf32>, tensor<1xi32>) -> tensor<?xf32>
  %1 = stablehlo.dynamic_slice %x, %i, sizes = [4] : (tensor<?xf32>, tensor<i32>) -> tensor<4xf32>
  return %0, %1 : tensor<?xf32>, tensor<4xf32>
}

// The stored integers of a quantized constant are not the numbers.
// CHECK-LABEL: func @quantized
// CHECK: stablehlo.add
func.func @quantized() -> tensor<2x!quant.uniform<i8:f32, 0.5>> {
  %0 = "stablehlo.constant"() <{value = dense<1> : tensor<2xi8>}> : () -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  %1 = stablehlo.add %0, %0 : tensor<2x!quant.uniform<i8:f32, 0.5>>
  return %1 : tensor<2x!quant.uniform<i8:f32, 0.5>>
}
