// RUN: slimhlo-opt %s --slimhlo-optimize=target=xla-cpu | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-optimize=target=xla-cpu | slimhlo-opt --slimhlo-optimize=target=xla-cpu | FileCheck %s

// A zero that devices pad a part of their own with, and that an op is padded with which each device does whole: devices take it as they
// take other arrays. As one constant it would be what devices have by themselves, at which partitioners end where all is
// to be had whole; as two, simplifications on the way to a partitioner would make it one.
// CHECK: %[[ZERO:.*]] = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[WHOLE:.*]] = stablehlo.custom_call @Sharding(%[[ZERO]]) {mhlo.sharding = "{replicated}"}
// CHECK: %[[OWN:.*]] = stablehlo.custom_call @SPMDFullToShardShape(%[[WHOLE]]) {mhlo.sharding = "{manual}"} : (tensor<f32>) -> tensor<f32>
// CHECK-DAG: stablehlo.pad %{{.*}}, %[[OWN]], {{.*}} {mhlo.sharding = "{manual}"}
// CHECK-DAG: stablehlo.pad %arg1, %[[ZERO]], {{.*}} {mhlo.sharding = "{replicated}"}
module attributes {mhlo.num_partitions = 3 : i32, mhlo.num_replicas = 1 : i32} {
  func.func @main(%x: tensor<6x32xf32> {mhlo.sharding = "{devices=[3,1]<=[3]}"}, %y: tensor<8x32xf32> {mhlo.sharding = "{replicated}"})
      -> (tensor<6x32xf32> {mhlo.sharding = "{devices=[3,1]<=[3]}"}, tensor<9x32xf32> {mhlo.sharding = "{replicated}"}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %a = stablehlo.slice %x [1:6, 0:32] {mhlo.sharding = "{devices=[3,1]<=[3]}"} : (tensor<6x32xf32>) -> tensor<5x32xf32>
    %b = stablehlo.reverse %a, dims = [0] {mhlo.sharding = "{devices=[3,1]<=[3]}"} : tensor<5x32xf32>
    %r = stablehlo.pad %b, %zero, low = [1, 0], high = [0, 0], interior = [0, 0] {mhlo.sharding = "{devices=[3,1]<=[3]}"} : (tensor<5x32xf32>, tensor<f32>) -> tensor<6x32xf32>
    %s = stablehlo.pad %y, %zero, low = [1, 0], high = [0, 0], interior = [0, 0] {mhlo.sharding = "{replicated}"} : (tensor<8x32xf32>, tensor<f32>) -> tensor<9x32xf32>
    return %r, %s : tensor<6x32xf32>, tensor<9x32xf32>
  }
}
