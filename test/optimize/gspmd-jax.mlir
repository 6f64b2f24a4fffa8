// RUN: slimhlo-opt %s --slimhlo-optimize=target=xla-cpu | FileCheck %s

// As JAX wrote it before Shardy: devices one by one, no sharding on ops, and constraints as custom calls. A wrap of a field and what reads it is one
// computation.
// CHECK-LABEL: func.func public @main
// CHECK-SAME: mhlo.sharding = "{devices=[2,4]<=[8]}"
// CHECK: %[[OWN:.*]] = stablehlo.custom_call @SPMDFullToShardShape(%{{[^ )]*}}) {mhlo.sharding = "{manual}"} : (tensor<64x256xf32>) -> tensor<32x64xf32>
// CHECK: "stablehlo.collective_permute"
// CHECK-SAME: {mhlo.sharding = "{manual}"} : (tensor<32x4xf32>) -> tensor<32x4xf32>
// CHECK: stablehlo.subtract %{{[^ ,]*}}, %[[OWN]] {mhlo.sharding = "{manual}"} : tensor<32x64xf32>
// CHECK: stablehlo.custom_call @SPMDShardToFullShape
// CHECK-NEXT: {{^ *}}return
module @jit_f attributes {mhlo.num_partitions = 8 : i32} {
  func.func public @main(%x: tensor<64x256xf32> {mhlo.sharding = "{devices=[2,4]0,1,2,3,4,5,6,7}"})
      -> (tensor<64x256xf32> {mhlo.sharding = "{devices=[2,4]0,1,2,3,4,5,6,7}"}) {
    %0 = stablehlo.slice %x [0:64, 252:256] : (tensor<64x256xf32>) -> tensor<64x4xf32>
    %1 = stablehlo.slice %x [0:64, 0:252] : (tensor<64x256xf32>) -> tensor<64x252xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<64x4xf32>, tensor<64x252xf32>) -> tensor<64x256xf32>
    %3 = stablehlo.custom_call @Sharding(%2) {mhlo.sharding = "{devices=[2,4]0,1,2,3,4,5,6,7}"} : (tensor<64x256xf32>) -> tensor<64x256xf32>
    %4 = stablehlo.subtract %3, %x : tensor<64x256xf32>
    return %4 : tensor<64x256xf32>
  }
}
