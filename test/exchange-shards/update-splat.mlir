// RUN: slimhlo-opt %s --slimhlo-exchange-shards | FileCheck %s

// All of the update is on one device, where it comes from: nothing is sent, the others have only zeros.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>

  // CHECK-LABEL: func.func @local
  // CHECK: sdy.manual_computation
  // CHECK-NOT: collective_permute
  // CHECK: %[[SOME:[a-z0-9_]+]] = stablehlo.slice %{{[a-z0-9_]+}} [0:20] : (tensor<32xf32>) -> tensor<20xf32>
  // CHECK: %[[TWICE:[a-z0-9_]+]] = stablehlo.multiply %[[SOME]], %{{[a-z0-9_]+}} : tensor<20xf32>
  // CHECK: stablehlo.constant dense<[true, false]> : tensor<2xi1>
  // CHECK: %[[NEW:[a-z0-9_]+]] = stablehlo.select %{{[a-z0-9_]+}}, %[[TWICE]], %{{[a-z0-9_]+}}
  // CHECK: stablehlo.pad %[[NEW]], %{{[a-z0-9_]+}}, low = [10], high = [2], interior = [0]
  // CHECK-NOT: dynamic_update_slice
  // CHECK: {{^ *}}return
  func.func @local(%x: tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<64xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %two = stablehlo.constant dense<2.0> : tensor<f32>
    %at = stablehlo.constant dense<10> : tensor<i32>
    %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %0 = sdy.sharding_constraint %zeros <@mesh, [{"x"}]> : tensor<64xf32>
    %1 = stablehlo.slice %x [0:20] : (tensor<64xf32>) -> tensor<20xf32>
    %2 = stablehlo.broadcast_in_dim %two, dims = [] : (tensor<f32>) -> tensor<20xf32>
    %3 = stablehlo.multiply %1, %2 : tensor<20xf32>
    %4 = stablehlo.dynamic_update_slice %0, %3, %at : (tensor<64xf32>, tensor<20xf32>, tensor<i32>) -> tensor<64xf32>
    %5 = sdy.sharding_constraint %4 <@mesh, [{"x"}]> : tensor<64xf32>
    return %5 : tensor<64xf32>
  }

  // One that crosses the border: what is left of it, and what is right of it, which is sent.
  // CHECK-LABEL: func.func @across
  // CHECK: "stablehlo.collective_permute"
  // CHECK-SAME: source_target_pairs = dense<{{\[\[}}0, 1]]>
  // CHECK-SAME: (tensor<8xf32>) -> tensor<8xf32>
  // CHECK-NOT: collective_permute
  // CHECK: {{^ *}}return
  func.func @across(%x: tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<64xf32> {
    %zeros = stablehlo.constant dense<0.0> : tensor<64xf32>
    %at = stablehlo.constant dense<20> : tensor<i32>
    %1 = stablehlo.slice %x [0:20] : (tensor<64xf32>) -> tensor<20xf32>
    %4 = stablehlo.dynamic_update_slice %zeros, %1, %at : (tensor<64xf32>, tensor<20xf32>, tensor<i32>) -> tensor<64xf32>
    %5 = sdy.sharding_constraint %4 <@mesh, [{"x"}]> : tensor<64xf32>
    return %5 : tensor<64xf32>
  }
}
