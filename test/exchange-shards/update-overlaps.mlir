// RUN: slimhlo-opt %s --slimhlo-exchange-shards | FileCheck %s

// A part of a shard put one place on, over most of what is read: chosen by place. As an update, XLA for CPU (jaxlib 0.10.2) does it in place
// while it reads, once what follows is a reshape.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>

  // CHECK-LABEL: func.func @overlap
  // CHECK: sdy.manual_computation
  // CHECK: %[[PART:[a-z0-9_]+]] = stablehlo.slice %[[OWN:[a-z0-9_]+]] [4:14] : (tensor<32xf32>) -> tensor<10xf32>
  // CHECK: %[[WIDE:[a-z0-9_]+]] = stablehlo.pad %[[PART]], %{{[a-z0-9_]+}}, low = [5], high = [17], interior = [0]
  // CHECK-NOT: dynamic_update_slice
  // CHECK: stablehlo.select %{{[a-z0-9_]+}}, %[[WIDE]], %[[OWN]] : tensor<32xi1>, tensor<32xf32>
  // CHECK: {{^ *}}return
  func.func @overlap(%x: tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<64xf32> {
    %at = stablehlo.constant dense<37> : tensor<i32>
    %0 = stablehlo.slice %x [36:46] : (tensor<64xf32>) -> tensor<10xf32>
    %1 = stablehlo.dynamic_update_slice %x, %0, %at : (tensor<64xf32>, tensor<10xf32>, tensor<i32>) -> tensor<64xf32>
    %2 = sdy.sharding_constraint %1 <@mesh, [{"x"}]> : tensor<64xf32>
    return %2 : tensor<64xf32>
  }

  // Four places on: three updates, none of which overwrites what it reads, the last first.
  // CHECK-LABEL: func.func @parts_up
  // CHECK: sdy.manual_computation
  // CHECK-NOT: stablehlo.pad
  // CHECK: stablehlo.slice %{{[a-z0-9_]+}} [12:14] : (tensor<32xf32>) -> tensor<2xf32>
  // CHECK: %[[FIRST:[a-z0-9_]+]] = stablehlo.dynamic_update_slice
  // CHECK: stablehlo.slice %[[FIRST]] [8:12] : (tensor<32xf32>) -> tensor<4xf32>
  // CHECK: %[[SECOND:[a-z0-9_]+]] = stablehlo.dynamic_update_slice
  // CHECK: stablehlo.slice %[[SECOND]] [4:8] : (tensor<32xf32>) -> tensor<4xf32>
  // CHECK: stablehlo.dynamic_update_slice
  // CHECK: {{^ *}}return
  func.func @parts_up(%x: tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<64xf32> {
    %at = stablehlo.constant dense<40> : tensor<i32>
    %0 = stablehlo.slice %x [36:46] : (tensor<64xf32>) -> tensor<10xf32>
    %1 = stablehlo.dynamic_update_slice %x, %0, %at : (tensor<64xf32>, tensor<10xf32>, tensor<i32>) -> tensor<64xf32>
    %2 = sdy.sharding_constraint %1 <@mesh, [{"x"}]> : tensor<64xf32>
    return %2 : tensor<64xf32>
  }

  // Four places back: the first first.
  // CHECK-LABEL: func.func @parts_down
  // CHECK: sdy.manual_computation
  // CHECK-NOT: stablehlo.pad
  // CHECK: stablehlo.slice %{{[a-z0-9_]+}} [4:8] : (tensor<32xf32>) -> tensor<4xf32>
  // CHECK: %[[FIRST:[a-z0-9_]+]] = stablehlo.dynamic_update_slice
  // CHECK: stablehlo.slice %[[FIRST]] [8:12] : (tensor<32xf32>) -> tensor<4xf32>
  // CHECK: %[[SECOND:[a-z0-9_]+]] = stablehlo.dynamic_update_slice
  // CHECK: stablehlo.slice %[[SECOND]] [12:14] : (tensor<32xf32>) -> tensor<2xf32>
  // CHECK: stablehlo.dynamic_update_slice
  // CHECK: {{^ *}}return
  func.func @parts_down(%x: tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<64xf32> {
    %at = stablehlo.constant dense<32> : tensor<i32>
    %0 = stablehlo.slice %x [36:46] : (tensor<64xf32>) -> tensor<10xf32>
    %1 = stablehlo.dynamic_update_slice %x, %0, %at : (tensor<64xf32>, tensor<10xf32>, tensor<i32>) -> tensor<64xf32>
    %2 = sdy.sharding_constraint %1 <@mesh, [{"x"}]> : tensor<64xf32>
    return %2 : tensor<64xf32>
  }

  // What is computed on by the one kernel that reads it is chosen there.
  // CHECK-LABEL: func.func @computed_on
  // CHECK: sdy.manual_computation
  // CHECK-NOT: dynamic_update_slice
  // CHECK: stablehlo.select %{{.*}} : tensor<32xi1>, tensor<32xf32>
  // CHECK: {{^ *}}return
  func.func @computed_on(%x: tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<64xf32> {
    %at = stablehlo.constant dense<32> : tensor<i32>
    %0 = stablehlo.slice %x [36:46] : (tensor<64xf32>) -> tensor<10xf32>
    %1 = stablehlo.dynamic_update_slice %x, %0, %at : (tensor<64xf32>, tensor<10xf32>, tensor<i32>) -> tensor<64xf32>
    %2 = sdy.sharding_constraint %1 <@mesh, [{"x"}]> : tensor<64xf32>
    %3 = stablehlo.add %2, %2 : tensor<64xf32>
    return %3 : tensor<64xf32>
  }

  // Beside what is read it is an update.
  // CHECK-LABEL: func.func @beside
  // CHECK: sdy.manual_computation
  // CHECK: stablehlo.slice %{{[a-z0-9_]+}} [4:14] : (tensor<32xf32>) -> tensor<10xf32>
  // CHECK: stablehlo.dynamic_update_slice
  // CHECK: {{^ *}}return
  func.func @beside(%x: tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<64xf32> {
    %at = stablehlo.constant dense<46> : tensor<i32>
    %0 = stablehlo.slice %x [36:46] : (tensor<64xf32>) -> tensor<10xf32>
    %1 = stablehlo.dynamic_update_slice %x, %0, %at : (tensor<64xf32>, tensor<10xf32>, tensor<i32>) -> tensor<64xf32>
    %2 = sdy.sharding_constraint %1 <@mesh, [{"x"}]> : tensor<64xf32>
    return %2 : tensor<64xf32>
  }
}
