// RUN: slimhlo-opt %s --slimhlo-inplace-updates="min-bytes=1 chunk-bytes=256" | FileCheck %s
// CHECK-NOT: stablehlo.while
// CHECK-NOT: optimization_barrier

// Not donated: a copy is made in any case.
// CHECK-LABEL: func @not_donated
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<24xf32>
// CHECK: stablehlo.slice %[[X]] [20:22]
// CHECK: stablehlo.slice %[[X]] [2:4]
func.func @not_donated(%x: tensor<24xf32>) -> tensor<24xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c22 = stablehlo.constant dense<22> : tensor<i32>
  %a = stablehlo.slice %x [20:22] : (tensor<24xf32>) -> tensor<2xf32>
  %x1 = stablehlo.dynamic_update_slice %x, %a, %c0 : (tensor<24xf32>, tensor<2xf32>, tensor<i32>) -> tensor<24xf32>
  %b = stablehlo.slice %x [2:4] : (tensor<24xf32>) -> tensor<2xf32>
  %x2 = stablehlo.dynamic_update_slice %x1, %b, %c22 : (tensor<24xf32>, tensor<2xf32>, tensor<i32>) -> tensor<24xf32>
  return %x2 : tensor<24xf32>
}

// In order already.
// CHECK-LABEL: func @in_order
// CHECK: %[[X1:.*]] = stablehlo.dynamic_update_slice
// CHECK: stablehlo.slice %[[X1]] [2:4]
func.func @in_order(%x: tensor<24xf32> {tf.aliasing_output = 0 : i32}) -> tensor<24xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c22 = stablehlo.constant dense<22> : tensor<i32>
  %a = stablehlo.slice %x [20:22] : (tensor<24xf32>) -> tensor<2xf32>
  %x1 = stablehlo.dynamic_update_slice %x, %a, %c0 : (tensor<24xf32>, tensor<2xf32>, tensor<i32>) -> tensor<24xf32>
  %b = stablehlo.slice %x1 [2:4] : (tensor<24xf32>) -> tensor<2xf32>
  %x2 = stablehlo.dynamic_update_slice %x1, %b, %c22 : (tensor<24xf32>, tensor<2xf32>, tensor<i32>) -> tensor<24xf32>
  return %x2 : tensor<24xf32>
}

// The array as it was is needed after the first update: there have to be two.
// CHECK-LABEL: func @old_one_needed
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<24xf32>
// CHECK: stablehlo.slice %[[X]] [2:4]
func.func @old_one_needed(%x: tensor<24xf32> {tf.aliasing_output = 0 : i32}) -> (tensor<24xf32>, tensor<24xf32>) {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c22 = stablehlo.constant dense<22> : tensor<i32>
  %a = stablehlo.slice %x [20:22] : (tensor<24xf32>) -> tensor<2xf32>
  %x1 = stablehlo.dynamic_update_slice %x, %a, %c0 : (tensor<24xf32>, tensor<2xf32>, tensor<i32>) -> tensor<24xf32>
  %b = stablehlo.slice %x [2:4] : (tensor<24xf32>) -> tensor<2xf32>
  %x2 = stablehlo.dynamic_update_slice %x1, %b, %c22 : (tensor<24xf32>, tensor<2xf32>, tensor<i32>) -> tensor<24xf32>
  return %x2, %x : tensor<24xf32>, tensor<24xf32>
}

// Most of the array would have to be staged.
// CHECK-LABEL: func @too_much
func.func @too_much(%x: tensor<24xf32> {tf.aliasing_output = 0 : i32}) -> tensor<24xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c11 = stablehlo.constant dense<11> : tensor<i32>
  %a = stablehlo.slice %x [11:22] : (tensor<24xf32>) -> tensor<11xf32>
  %x1 = stablehlo.dynamic_update_slice %x, %a, %c0 : (tensor<24xf32>, tensor<11xf32>, tensor<i32>) -> tensor<24xf32>
  %b = stablehlo.slice %x [0:11] : (tensor<24xf32>) -> tensor<11xf32>
  %x2 = stablehlo.dynamic_update_slice %x1, %b, %c11 : (tensor<24xf32>, tensor<11xf32>, tensor<i32>) -> tensor<24xf32>
  return %x2 : tensor<24xf32>
}

// Where the first update goes is not known: nothing moves over it, and there is no room for the old row otherwise.
// CHECK-LABEL: func @unknown_place
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<24xf32>
// CHECK: %[[X1:.*]] = stablehlo.dynamic_update_slice %[[X]],
// CHECK: stablehlo.slice %[[X1]] [2:4]
func.func @unknown_place(%x: tensor<24xf32> {tf.aliasing_output = 0 : i32}, %at: tensor<i32>) -> tensor<24xf32> {
  %c22 = stablehlo.constant dense<22> : tensor<i32>
  %a = stablehlo.slice %x [20:22] : (tensor<24xf32>) -> tensor<2xf32>
  %x1 = stablehlo.dynamic_update_slice %x, %a, %at : (tensor<24xf32>, tensor<2xf32>, tensor<i32>) -> tensor<24xf32>
  %b = stablehlo.slice %x1 [2:4] : (tensor<24xf32>) -> tensor<2xf32>
  %x2 = stablehlo.dynamic_update_slice %x1, %b, %c22 : (tensor<24xf32>, tensor<2xf32>, tensor<i32>) -> tensor<24xf32>
  return %x2 : tensor<24xf32>
}

// Elementwise, each from its own: in place without help.
// CHECK-LABEL: func @elementwise
func.func @elementwise(%u: tensor<32x16xf32> {tf.aliasing_output = 0 : i32}, %f: tensor<32x16xf32>) -> tensor<32x16xf32> {
  %nu = stablehlo.subtract %u, %f : tensor<32x16xf32>
  return %nu : tensor<32x16xf32>
}

// No dimension along which it is independent.
// CHECK-LABEL: func @dependent
func.func @dependent(%u: tensor<32x16xf32> {tf.aliasing_output = 0 : i32}) -> tensor<32x16xf32> {
  %a = stablehlo.reverse %u, dims = [0, 1] : tensor<32x16xf32>
  %nu = stablehlo.subtract %u, %a : tensor<32x16xf32>
  return %nu : tensor<32x16xf32>
}

// The old contents are read elsewhere.
// CHECK-LABEL: func @read_elsewhere
func.func @read_elsewhere(%u: tensor<32x16xf32> {tf.aliasing_output = 0 : i32}) -> (tensor<32x16xf32>, tensor<32x16xf32>) {
  %a = stablehlo.reverse %u, dims = [1] : tensor<32x16xf32>
  %nu = stablehlo.subtract %u, %a : tensor<32x16xf32>
  %b = stablehlo.transpose %u, dims = [1, 0] : (tensor<32x16xf32>) -> tensor<16x32xf32>
  %c = stablehlo.reshape %b : (tensor<16x32xf32>) -> tensor<32x16xf32>
  return %nu, %c : tensor<32x16xf32>, tensor<32x16xf32>
}
