// RUN: slimhlo-opt %s --slimhlo-dus-to-pad | FileCheck %s

// Starts are clamped to where the update fits.

// CHECK-LABEL: func @past_the_end
func.func @past_the_end(%x: tensor<4xf32>) -> tensor<10xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<10xf32>
  %at = stablehlo.constant dense<9> : tensor<i32>
  // CHECK: stablehlo.pad {{.*}}, low = [6], high = [0]
  %r = stablehlo.dynamic_update_slice %zeros, %x, %at : (tensor<10xf32>, tensor<4xf32>, tensor<i32>) -> tensor<10xf32>
  return %r : tensor<10xf32>
}

// CHECK-LABEL: func @negative
func.func @negative(%x: tensor<4xf32>) -> tensor<10xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<10xf32>
  %at = stablehlo.constant dense<-2> : tensor<i8>
  // CHECK: stablehlo.pad {{.*}}, low = [0], high = [6]
  %r = stablehlo.dynamic_update_slice %zeros, %x, %at : (tensor<10xf32>, tensor<4xf32>, tensor<i8>) -> tensor<10xf32>
  return %r : tensor<10xf32>
}

// The same bits as above, but unsigned: far past the end.
// CHECK-LABEL: func @unsigned
func.func @unsigned(%x: tensor<4xf32>) -> tensor<10xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<10xf32>
  %at = stablehlo.constant dense<254> : tensor<ui8>
  // CHECK: stablehlo.pad {{.*}}, low = [6], high = [0]
  %r = stablehlo.dynamic_update_slice %zeros, %x, %at : (tensor<10xf32>, tensor<4xf32>, tensor<ui8>) -> tensor<10xf32>
  return %r : tensor<10xf32>
}

// CHECK-LABEL: func @unsigned_max
func.func @unsigned_max(%x: tensor<4xf32>) -> tensor<10xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<10xf32>
  %at = stablehlo.constant dense<18446744073709551615> : tensor<ui64>
  // CHECK: stablehlo.pad {{.*}}, low = [6], high = [0]
  %r = stablehlo.dynamic_update_slice %zeros, %x, %at : (tensor<10xf32>, tensor<4xf32>, tensor<ui64>) -> tensor<10xf32>
  return %r : tensor<10xf32>
}

// A convert between integers wraps before the clamp: 258 is 2 in eight bits.
// CHECK-LABEL: func @converted_start
func.func @converted_start(%x: tensor<4xf32>) -> tensor<10xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<10xf32>
  %wide = stablehlo.constant dense<258> : tensor<1xi32>
  %scalar = stablehlo.reshape %wide : (tensor<1xi32>) -> tensor<i32>
  %at = stablehlo.convert %scalar : (tensor<i32>) -> tensor<i8>
  // CHECK: stablehlo.pad {{.*}}, low = [2], high = [4]
  %r = stablehlo.dynamic_update_slice %zeros, %x, %at : (tensor<10xf32>, tensor<4xf32>, tensor<i8>) -> tensor<10xf32>
  return %r : tensor<10xf32>
}
