// RUN: slimhlo-opt %s --pass-pipeline="builtin.module(func.func(slimhlo-narrow-updates{least-bytes=1}))" | FileCheck %s

// An element of the field is on one device.
// CHECK-LABEL: func.func @main
// CHECK-NOT: stablehlo.if
module attributes {mhlo.num_partitions = 4 : i32} {
  func.func @main(%field: tensor<12x4xbf16> {tf.aliasing_output = 0 : i32}) -> tensor<12x4xbf16> {
    %c0 = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.slice %field [8:10, 0:4] : (tensor<12x4xbf16>) -> tensor<2x4xbf16>
    %1 = stablehlo.dynamic_update_slice %field, %0, %c0, %c0 : (tensor<12x4xbf16>, tensor<2x4xbf16>, tensor<i64>, tensor<i64>) -> tensor<12x4xbf16>
    return %1 : tensor<12x4xbf16>
  }
}
