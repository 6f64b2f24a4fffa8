// RUN: slimhlo-opt %s --slimhlo-exchange-shards | FileCheck %s

// An array twice: a partitioner cuts it along rows, and back, by two all-to-alls; exchanges would be four.

// CHECK-LABEL: func.func @main
// CHECK-NOT: manual_computation
// CHECK: stablehlo.concatenate
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @main(%x: tensor<48x80xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<48x160xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %r = stablehlo.concatenate %x, %x, dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<48x80xf32>, tensor<48x80xf32>) -> tensor<48x160xf32>
    return %r : tensor<48x160xf32>
  }
}
