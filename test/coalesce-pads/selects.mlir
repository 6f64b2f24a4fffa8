// RUN: slimhlo-opt %s --slimhlo-coalesce-pads | FileCheck %s

// CHECK-LABEL: func @compared
func.func @compared(%x: tensor<30x8xf32>) -> tensor<30x8xf32> {
  // CHECK: %[[A:.*]] = stablehlo.slice %arg0 [0:30, 2:6]
  // CHECK-NEXT: stablehlo.pad %[[A]], %{{.*}}, low = [0, 2], high = [0, 2], interior = [0, 0]
  %zero = stablehlo.constant dense<0.0> : tensor<30x8xf32>
  %i = stablehlo.iota dim = 1 : tensor<30x8xi32>
  %two = stablehlo.constant dense<2> : tensor<30x8xi32>
  %six = stablehlo.constant dense<6> : tensor<30x8xi32>
  %0 = stablehlo.compare GE, %i, %two, SIGNED : (tensor<30x8xi32>, tensor<30x8xi32>) -> tensor<30x8xi1>
  %1 = stablehlo.compare GT, %six, %i, SIGNED : (tensor<30x8xi32>, tensor<30x8xi32>) -> tensor<30x8xi1>
  %2 = stablehlo.and %0, %1 : tensor<30x8xi1>
  %3 = stablehlo.select %2, %x, %zero : tensor<30x8xi1>, tensor<30x8xf32>
  return %3 : tensor<30x8xf32>
}

// CHECK-LABEL: func @padded_mask
func.func @padded_mask(%x: tensor<8xf32>, %v: tensor<f32>) -> tensor<8xf32> {
  // CHECK-NEXT: %[[A:.*]] = stablehlo.slice %arg0 [3:6]
  // CHECK-NEXT: %[[R:.*]] = stablehlo.pad %[[A]], %arg1, low = [3], high = [2], interior = [0]
  // CHECK-NEXT: return %[[R]]
  %t = stablehlo.constant dense<false> : tensor<3xi1>
  %f = stablehlo.constant dense<true> : tensor<i1>
  %m = stablehlo.pad %t, %f, low = [3], high = [2], interior = [0] : (tensor<3xi1>, tensor<i1>) -> tensor<8xi1>
  %s = stablehlo.broadcast_in_dim %v, dims = [] : (tensor<f32>) -> tensor<8xf32>
  %0 = stablehlo.select %m, %s, %x : tensor<8xi1>, tensor<8xf32>
  return %0 : tensor<8xf32>
}

// The choice can be made in the memory of the argument, which is given away.
// CHECK-LABEL: func @in_place
func.func @in_place(%x: tensor<80xf32> {tf.aliasing_output = 0 : i32}) -> tensor<80xf32> {
  // CHECK: stablehlo.select
  %zero = stablehlo.constant dense<0.0> : tensor<80xf32>
  %i = stablehlo.iota dim = 0 : tensor<80xi32>
  %two = stablehlo.constant dense<2> : tensor<80xi32>
  %0 = stablehlo.compare GE, %i, %two, SIGNED : (tensor<80xi32>, tensor<80xi32>) -> tensor<80xi1>
  %1 = stablehlo.select %0, %x, %zero : tensor<80xi1>, tensor<80xf32>
  return %1 : tensor<80xf32>
}
