// RUN: slimhlo-opt %s --slimhlo-merge-shards --split-input-file | FileCheck %s

// Ops that say how they are laid out, as all around them is: one computation, in which what two of them sent of one array is one exchange.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @said
  // CHECK: %[[R:.*]] = sdy.manual_computation(%arg0)
  // CHECK-COUNT-1: "stablehlo.collective_permute"
  // CHECK-NOT: collective_permute
  // CHECK: stablehlo.subtract %{{.*}} : tensor<8xf32>
  // CHECK-NOT: sdy.manual_computation
  // CHECK: return %[[R]]
  func.func @said(%x: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%own: tensor<8xf32>) {
      %some = stablehlo.slice %own [0:2] : (tensor<8xf32>) -> tensor<2xf32>
      %got = "stablehlo.collective_permute"(%some) <{source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2xf32>) -> tensor<2xf32>
      %rest = stablehlo.slice %own [2:8] : (tensor<8xf32>) -> tensor<6xf32>
      %a = stablehlo.concatenate %rest, %got, dim = 0 : (tensor<6xf32>, tensor<2xf32>) -> tensor<8xf32>
      sdy.return %a : tensor<8xf32>
    } : (tensor<16xf32>) -> tensor<16xf32>
    %1 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%own: tensor<8xf32>) {
      %some = stablehlo.slice %own [0:1] : (tensor<8xf32>) -> tensor<1xf32>
      %got = "stablehlo.collective_permute"(%some) <{source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>}> : (tensor<1xf32>) -> tensor<1xf32>
      %rest = stablehlo.slice %own [1:8] : (tensor<8xf32>) -> tensor<7xf32>
      %a = stablehlo.concatenate %rest, %got, dim = 0 : (tensor<7xf32>, tensor<1xf32>) -> tensor<8xf32>
      sdy.return %a : tensor<8xf32>
    } : (tensor<16xf32>) -> tensor<16xf32>
    %2 = stablehlo.subtract %0, %1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<16xf32>
    return %2 : tensor<16xf32>
  }
}

// -----

// One that says something else is the partitioner's.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @says_another
  // CHECK: sdy.manual_computation
  // CHECK: stablehlo.cosine %{{.*}} {sdy.sharding = {{.*}}} : tensor<16xf32>
  // CHECK: sdy.manual_computation
  func.func @says_another(%x: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%own: tensor<8xf32>) {
      %a = stablehlo.sine %own : tensor<8xf32>
      sdy.return %a : tensor<8xf32>
    } : (tensor<16xf32>) -> tensor<16xf32>
    %1 = stablehlo.cosine %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<16xf32>
    %2 = sdy.manual_computation(%1) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%own: tensor<8xf32>) {
      %a = stablehlo.sine %own : tensor<8xf32>
      sdy.return %a : tensor<8xf32>
    } : (tensor<16xf32>) -> tensor<16xf32>
    return %2 : tensor<16xf32>
  }
}
