// RUN: slimhlo-opt %s --slimhlo-exchange-shards --slimhlo-merge-shards | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-optimize=target=xla-cpu | FileCheck %s

// Devices have sums of a product that are added up in the end: until then nothing is done with them here, and what they are laid out like
// is not known by what is made of them. Afterwards a wrap exchanges columns, as ever.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  // CHECK-LABEL: func.func @main
  // CHECK: stablehlo.dot_general {{.*}}unreduced={"x"}
  // CHECK: stablehlo.slice {{.*}}unreduced={"x"}
  // CHECK: stablehlo.slice {{.*}}unreduced={"x"}
  // CHECK: stablehlo.concatenate {{.*}}unreduced={"x"}
  // CHECK: stablehlo.add {{.*}}unreduced={"x"}
  // CHECK: %[[SUM:[0-9]+]] = sdy.sharding_constraint
  // CHECK: sdy.manual_computation(%[[SUM]])
  // CHECK: "stablehlo.collective_permute"{{.*}} -> tensor<8x1xf32>
  // CHECK-NOT: all_reduce
  // CHECK: return
  func.func @main(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %b: tensor<16x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<8x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}) {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}], unreduced={"x"}>]>} : (tensor<8x16xf32>, tensor<16x12xf32>) -> tensor<8x12xf32>
    %1 = stablehlo.slice %0 [0:8, 11:12] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"x"}>]>} : (tensor<8x12xf32>) -> tensor<8x1xf32>
    %2 = stablehlo.slice %0 [0:8, 0:11] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}], unreduced={"x"}>]>} : (tensor<8x12xf32>) -> tensor<8x11xf32>
    %3 = stablehlo.concatenate %1, %2, dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}], unreduced={"x"}>]>} : (tensor<8x1xf32>, tensor<8x11xf32>) -> tensor<8x12xf32>
    %4 = stablehlo.add %3, %3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}], unreduced={"x"}>]>} : tensor<8x12xf32>
    %5 = sdy.sharding_constraint %4 <@mesh, [{}, {"y"}]> : tensor<8x12xf32>
    %6 = stablehlo.slice %5 [0:8, 1:12] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}]>]>} : (tensor<8x12xf32>) -> tensor<8x11xf32>
    %7 = stablehlo.slice %5 [0:8, 0:1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}]>]>} : (tensor<8x12xf32>) -> tensor<8x1xf32>
    %8 = stablehlo.concatenate %6, %7, dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}]>]>} : (tensor<8x11xf32>, tensor<8x1xf32>) -> tensor<8x12xf32>
    %9 = stablehlo.add %8, %5 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}]>]>} : tensor<8x12xf32>
    return %9 : tensor<8x12xf32>
  }
}
