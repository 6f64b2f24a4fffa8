// RUN: slimhlo-opt %s --canonicalize | FileCheck %s

// Ops that give back an operand.

// CHECK-LABEL: func @same_shape
// CHECK-SAME: (%[[X:.*]]: tensor<2x3xf32>)
// CHECK-NEXT: return %[[X]], %[[X]], %[[X]], %[[X]]
func.func @same_shape(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = stablehlo.reshape %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = stablehlo.transpose %x, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = stablehlo.convert %x : tensor<2x3xf32>
  %3 = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0, %1, %2, %3 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: func @everything
// CHECK-SAME: (%[[X:.*]]: tensor<1x4xf32>, %[[Y:.*]]: tensor<1x4xf32>, %{{.*}}: tensor<i32>)
// CHECK-NEXT: return %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[Y]]
func.func @everything(%x: tensor<1x4xf32>, %y: tensor<1x4xf32>, %i: tensor<i32>) -> (
    tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>) {
  %v = stablehlo.constant dense<1.0> : tensor<f32>
  %none = stablehlo.constant dense<> : tensor<1x0xf32>
  %0 = stablehlo.slice %x [0:1, 0:4] : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %1 = stablehlo.pad %x, %v, low = [0, 0], high = [0, 0], interior = [0, 0] : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xf32>
  %2 = stablehlo.concatenate %none, %x, dim = 1 : (tensor<1x0xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %3 = stablehlo.reverse %x, dims = [0] : tensor<1x4xf32>
  %4 = stablehlo.dynamic_slice %x, %i, %i, sizes = [1, 4] : (tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
  %5 = stablehlo.dynamic_update_slice %x, %y, %i, %i : (tensor<1x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>
}

// CHECK-LABEL: func @back_and_forth
// CHECK-SAME: (%[[X:.*]]: tensor<2x3xf32>, %[[T:.*]]: tensor<i1>)
// CHECK-NEXT: return %[[X]], %[[X]], %[[X]], %[[T]], %[[X]], %[[X]]
func.func @back_and_forth(%x: tensor<2x3xf32>, %p: tensor<i1>) -> (
    tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<i1>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<3x2xf32>) -> tensor<2x3xf32>
  %2 = stablehlo.reshape %x : (tensor<2x3xf32>) -> tensor<6xf32>
  %3 = stablehlo.reshape %2 : (tensor<6xf32>) -> tensor<2x3xf32>
  %4 = stablehlo.reverse %x, dims = [0] : tensor<2x3xf32>
  %5 = stablehlo.reverse %4, dims = [0] : tensor<2x3xf32>
  %6 = stablehlo.not %p : tensor<i1>
  %7 = stablehlo.not %6 : tensor<i1>
  %8 = stablehlo.tuple %p, %x : tuple<tensor<i1>, tensor<2x3xf32>>
  %9 = stablehlo.get_tuple_element %8[1] : (tuple<tensor<i1>, tensor<2x3xf32>>) -> tensor<2x3xf32>
  %10 = stablehlo.complex %x, %1 : tensor<2x3xcomplex<f32>>
  %11 = stablehlo.real %10 : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xf32>
  return %1, %3, %5, %7, %9, %11 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<i1>, tensor<2x3xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: func @neutral
// CHECK-SAME: (%[[X:.*]]: tensor<4xi32>)
// CHECK-NEXT: return %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]]
func.func @neutral(%x: tensor<4xi32>) -> (
    tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) {
  %zero = stablehlo.constant dense<0> : tensor<4xi32>
  %one = stablehlo.constant dense<1> : tensor<4xi32>
  %ones = stablehlo.constant dense<-1> : tensor<4xi32>
  %0 = stablehlo.add %zero, %x : tensor<4xi32>
  %1 = stablehlo.subtract %x, %zero : tensor<4xi32>
  %2 = stablehlo.multiply %x, %one : tensor<4xi32>
  %3 = stablehlo.divide %x, %one : tensor<4xi32>
  %4 = stablehlo.and %x, %ones : tensor<4xi32>
  %5 = stablehlo.or %x, %zero : tensor<4xi32>
  %6 = stablehlo.shift_left %x, %zero : tensor<4xi32>
  %7 = stablehlo.maximum %x, %x : tensor<4xi32>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>
}

// CHECK-LABEL: func @chosen
// CHECK-SAME: (%[[P:.*]]: tensor<i1>, %[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>)
// CHECK-NEXT: return %[[X]], %[[Y]], %[[X]]
func.func @chosen(%p: tensor<i1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %true = stablehlo.constant dense<true> : tensor<4xi1>
  %false = stablehlo.constant dense<false> : tensor<i1>
  %0 = stablehlo.select %true, %x, %y : tensor<4xi1>, tensor<4xf32>
  %1 = stablehlo.select %false, %x, %y : tensor<i1>, tensor<4xf32>
  %2 = stablehlo.select %p, %x, %x : tensor<i1>, tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
