// RUN: slimhlo-opt %s --slimhlo-exchange-shards | FileCheck %s

// A roll: every device sends what crosses its border, all in one exchange where the parts are alike.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>

  // CHECK-LABEL: func.func @roll
  // CHECK: "stablehlo.collective_permute"
  // CHECK-SAME: source_target_pairs = dense<{{\[\[}}0, 1], [1, 2], [2, 3], [3, 0]]>
  // CHECK-SAME: (tensor<1xi32>) -> tensor<1xi32>
  // CHECK-NOT: collective_permute
  // CHECK: {{^ *}}return
  func.func @roll(%x: tensor<64xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<64xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = stablehlo.slice %x [63:64] : (tensor<64xi32>) -> tensor<1xi32>
    %1 = stablehlo.slice %x [0:63] : (tensor<64xi32>) -> tensor<63xi32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1xi32>, tensor<63xi32>) -> tensor<64xi32>
    return %2 : tensor<64xi32>
  }

  // Front to back: shards change places, and each is reversed.
  // CHECK-LABEL: func.func @reversed
  // CHECK: "stablehlo.collective_permute"
  // CHECK-SAME: source_target_pairs = dense<{{\[\[}}0, 3], [1, 2], [2, 1], [3, 0]]>
  // CHECK-NEXT: stablehlo.reverse
  func.func @reversed(%x: tensor<64xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<64xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = stablehlo.reverse %x, dims = [0] : tensor<64xi32>
    return %0 : tensor<64xi32>
  }
}
