// RUN: slimhlo-opt %s --slimhlo-dus-to-pad | FileCheck %s
// CHECK-NOT: stablehlo.pad

// CHECK-LABEL: func @start_not_constant
// CHECK: stablehlo.dynamic_update_slice
func.func @start_not_constant(%x: tensor<4xf32>, %at: tensor<i32>) -> tensor<10xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<10xf32>
  %r = stablehlo.dynamic_update_slice %zeros, %x, %at : (tensor<10xf32>, tensor<4xf32>, tensor<i32>) -> tensor<10xf32>
  return %r : tensor<10xf32>
}

// An update of an argument happens in place if the argument is donated.
// CHECK-LABEL: func @operand_not_splat
// CHECK: stablehlo.dynamic_update_slice
func.func @operand_not_splat(%a: tensor<10xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<4xf32>) -> tensor<10xf32> {
  %at = stablehlo.constant dense<3> : tensor<i32>
  %r = stablehlo.dynamic_update_slice %a, %x, %at : (tensor<10xf32>, tensor<4xf32>, tensor<i32>) -> tensor<10xf32>
  return %r : tensor<10xf32>
}

// CHECK-LABEL: func @constant_not_splat
// CHECK: stablehlo.dynamic_update_slice
func.func @constant_not_splat(%x: tensor<2xf32>) -> tensor<3xf32> {
  %a = stablehlo.constant dense<[0.0, 1.0, 2.0]> : tensor<3xf32>
  %at = stablehlo.constant dense<1> : tensor<i32>
  %r = stablehlo.dynamic_update_slice %a, %x, %at : (tensor<3xf32>, tensor<2xf32>, tensor<i32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// CHECK-LABEL: func @dynamic_shape
// CHECK: stablehlo.dynamic_update_slice
func.func @dynamic_shape(%x: tensor<?xf32>) -> tensor<10xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<10xf32>
  %at = stablehlo.constant dense<3> : tensor<i32>
  %r = stablehlo.dynamic_update_slice %zeros, %x, %at : (tensor<10xf32>, tensor<?xf32>, tensor<i32>) -> tensor<10xf32>
  return %r : tensor<10xf32>
}

// CHECK-LABEL: func @bounded
// CHECK: stablehlo.dynamic_update_slice
func.func @bounded(%a: tensor<?xf32, #stablehlo.bounds<10>>, %x: tensor<?xf32, #stablehlo.bounds<4>>) -> tensor<?xf32, #stablehlo.bounds<10>> {
  %at = stablehlo.constant dense<3> : tensor<i32>
  %r = stablehlo.dynamic_update_slice %a, %x, %at : (tensor<?xf32, #stablehlo.bounds<10>>, tensor<?xf32, #stablehlo.bounds<4>>, tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<10>>
  return %r : tensor<?xf32, #stablehlo.bounds<10>>
}
