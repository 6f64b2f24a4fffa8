// RUN: slimhlo-opt %s --slimhlo-exchange-shards | FileCheck %s

// What a loop carries is laid out like what it starts from.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>

  // CHECK-LABEL: func.func @loop
  // CHECK: stablehlo.while
  // CHECK: do
  // CHECK: sdy.manual_computation
  // CHECK: "stablehlo.collective_permute"
  func.func @loop(%x: tensor<64xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<64xi32> {
    %c0 = stablehlo.constant dense<0> : tensor<i64>
    %c1 = stablehlo.constant dense<1> : tensor<i64>
    %c9 = stablehlo.constant dense<9> : tensor<i64>
    %0:2 = stablehlo.while(%i = %c0, %a = %x) : tensor<i64>, tensor<64xi32>
    cond {
      %1 = stablehlo.compare LT, %i, %c9 : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = stablehlo.slice %a [60:62] : (tensor<64xi32>) -> tensor<2xi32>
      %2 = stablehlo.dynamic_update_slice %a, %1, %c0 : (tensor<64xi32>, tensor<2xi32>, tensor<i64>) -> tensor<64xi32>
      %3 = stablehlo.add %i, %c1 : tensor<i64>
      stablehlo.return %3, %2 : tensor<i64>, tensor<64xi32>
    }
    return %0#1 : tensor<64xi32>
  }
}
