// RUN: slimhlo-opt %s --slimhlo-optimize=target=xla-cpu | FileCheck %s

// 101 columns do not come out even over two devices, so that a program gets whole rows. Partitioners know a rotation only of an array that is laid
// out as the result is: they gather this one along its rows, twice, and one exchange of four rows is less.

// CHECK-LABEL: func.func @main
// CHECK: "stablehlo.collective_permute"
// CHECK-SAME: (tensor<4x
// CHECK-NOT: stablehlo.collective_permute
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func @main(%x: tensor<168x101xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<168x101xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
    %low = stablehlo.slice %x [164:168, 0:101] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : (tensor<168x101xi32>) -> tensor<4x101xi32>
    %high = stablehlo.slice %x [0:164, 0:101] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : (tensor<168x101xi32>) -> tensor<164x101xi32>
    %rotated = stablehlo.concatenate %low, %high, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : (tensor<4x101xi32>, tensor<164x101xi32>) -> tensor<168x101xi32>
    %r = stablehlo.add %rotated, %rotated {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : tensor<168x101xi32>
    return %r : tensor<168x101xi32>
  }
}
