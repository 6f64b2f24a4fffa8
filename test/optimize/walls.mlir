// RUN: slimhlo-opt %s --slimhlo-optimize=target=xla-cpu | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-optimize=target=xla-cpu | slimhlo-opt --slimhlo-optimize=target=xla-cpu | FileCheck %s

// No-slip walls: each update would be computed again inside of what reads the next row, from a copy of the array. All
// rows are read before the first update.
// CHECK-LABEL: func.func public @main
// CHECK: %[[COLUMN:.*]] = stablehlo.slice %arg0 [0:512, 1:2]
// CHECK: %[[ROW:.*]] = stablehlo.slice %arg0 [1:2, 0:512]
// CHECK: stablehlo.optimization_barrier
// CHECK-NOT: stablehlo.slice %arg0
// CHECK: stablehlo.dynamic_update_slice %arg0,
// CHECK: return
module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<512x512xf32> {tf.aliasing_output = 0 : i32}) -> tensor<512x512xf32> {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %column = stablehlo.slice %x [0:512, 1:2] : (tensor<512x512xf32>) -> tensor<512x1xf32>
    %west = stablehlo.negate %column : tensor<512x1xf32>
    %0 = stablehlo.dynamic_update_slice %x, %west, %c0, %c0 : (tensor<512x512xf32>, tensor<512x1xf32>, tensor<i32>, tensor<i32>) -> tensor<512x512xf32>
    %row = stablehlo.slice %0 [1:2, 0:512] : (tensor<512x512xf32>) -> tensor<1x512xf32>
    %north = stablehlo.negate %row : tensor<1x512xf32>
    %1 = stablehlo.dynamic_update_slice %0, %north, %c0, %c0 : (tensor<512x512xf32>, tensor<1x512xf32>, tensor<i32>, tensor<i32>) -> tensor<512x512xf32>
    return %1 : tensor<512x512xf32>
  }
}
