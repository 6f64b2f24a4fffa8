// RUN: slimhlo-opt %s --slimhlo-optimize=target=xla-cpu | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-optimize=target=xla-cpu | slimhlo-opt --slimhlo-optimize=target=xla-cpu | FileCheck %s

// The periodic halo of a field, as producers wrote it before Shardy: what comes of it is for GSPMD as well. Each device updates its own part,
// of what its neighbour sends.
// CHECK-NOT: sdy.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%arg0: tensor<64x256xf32> {mhlo.sharding = "{devices=[1,2]<=[2]}", tf.aliasing_output = 0 : i32})
// CHECK-SAME: -> (tensor<64x256xf32> {mhlo.sharding = "{devices=[1,2]<=[2]}"})
// CHECK: %[[WHOLE:.*]] = stablehlo.custom_call @Sharding(%arg0) {mhlo.sharding = "{devices=[1,2]<=[2]}"}
// CHECK: %[[OWN:.*]] = stablehlo.custom_call @SPMDFullToShardShape(%[[WHOLE]]) {mhlo.sharding = "{manual}"} : (tensor<64x256xf32>) -> tensor<64x128xf32>
// CHECK: "stablehlo.collective_permute"
// CHECK-SAME: {mhlo.sharding = "{manual}"} : (tensor<64x8xf32>) -> tensor<64x8xf32>
// CHECK: %[[NEW:.*]] = stablehlo.dynamic_update_slice %[[OWN]]
// CHECK-SAME: {mhlo.sharding = "{manual}"}
// CHECK: %[[HELD:.*]] = stablehlo.custom_call @Sharding(%[[NEW]]) {mhlo.sharding = "{manual}"}
// CHECK: %[[ALL:.*]] = stablehlo.custom_call @SPMDShardToFullShape(%[[HELD]]) {mhlo.sharding = "{devices=[1,2]<=[2]}"} : (tensor<64x128xf32>) -> tensor<64x256xf32>
// CHECK-NEXT: return %[[ALL]]
module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  func.func @main(%x: tensor<64x256xf32> {mhlo.sharding = "{devices=[1,2]<=[2]}", tf.aliasing_output = 0 : i32})
      -> (tensor<64x256xf32> {mhlo.sharding = "{devices=[1,2]<=[2]}"}) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %east = stablehlo.slice %x [0:64, 240:248] {mhlo.sharding = "{devices=[1,2]<=[2]}"} : (tensor<64x256xf32>) -> tensor<64x8xf32>
    %r = stablehlo.dynamic_update_slice %x, %east, %zero, %zero {mhlo.sharding = "{devices=[1,2]<=[2]}"} : (tensor<64x256xf32>, tensor<64x8xf32>, tensor<i32>, tensor<i32>) -> tensor<64x256xf32>
    return %r : tensor<64x256xf32>
  }
}
