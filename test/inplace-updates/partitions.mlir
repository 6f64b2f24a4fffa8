// RUN: slimhlo-opt %s --slimhlo-inplace-updates=min-bytes=1 | FileCheck %s
// CHECK-LABEL: func @main
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<24xf32>
// CHECK: stablehlo.slice %[[X]] [20:22]
// CHECK: stablehlo.slice %[[X]] [2:4]
module attributes {mhlo.num_partitions = 2 : i32} {
  func.func @main(%x: tensor<24xf32> {tf.aliasing_output = 0 : i32}) -> tensor<24xf32> {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c22 = stablehlo.constant dense<22> : tensor<i32>
    %a = stablehlo.slice %x [20:22] : (tensor<24xf32>) -> tensor<2xf32>
    %x1 = stablehlo.dynamic_update_slice %x, %a, %c0 : (tensor<24xf32>, tensor<2xf32>, tensor<i32>) -> tensor<24xf32>
    %b = stablehlo.slice %x [2:4] : (tensor<24xf32>) -> tensor<2xf32>
    %x2 = stablehlo.dynamic_update_slice %x1, %b, %c22 : (tensor<24xf32>, tensor<2xf32>, tensor<i32>) -> tensor<24xf32>
    return %x2 : tensor<24xf32>
  }
}
