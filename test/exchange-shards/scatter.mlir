// RUN: slimhlo-opt %s --slimhlo-exchange-shards | FileCheck %s

// A scatter that sets one window at a constant place is an update: what x.at[:2].set(...) is.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>

  // CHECK-LABEL: func.func @set
  // CHECK: sdy.manual_computation
  // CHECK: "stablehlo.collective_permute"
  // CHECK: stablehlo.dynamic_update_slice
  // CHECK-NOT: scatter
  // CHECK: {{^ *}}return
  func.func @set(%x: tensor<64xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<64xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %at = stablehlo.constant dense<62> : tensor<1xi32>
    %0 = stablehlo.slice %x [2:4] : (tensor<64xf64>) -> tensor<2xf64>
    %1 = "stablehlo.scatter"(%x, %at, %0) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], scatter_dims_to_operand_dims = [0]>, unique_indices = true}> ({
    ^bb0(%old: tensor<f64>, %new: tensor<f64>):
      stablehlo.return %new : tensor<f64>
    }) : (tensor<64xf64>, tensor<1xi32>, tensor<2xf64>) -> tensor<64xf64>
    return %1 : tensor<64xf64>
  }

  // Out of bounds nothing is set, where an update would move.
  // CHECK-LABEL: func.func @outside
  // CHECK-NOT: manual_computation
  // CHECK: "stablehlo.scatter"
  func.func @outside(%x: tensor<64xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<64xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %at = stablehlo.constant dense<63> : tensor<1xi32>
    %0 = stablehlo.slice %x [2:4] : (tensor<64xf64>) -> tensor<2xf64>
    %1 = "stablehlo.scatter"(%x, %at, %0) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], scatter_dims_to_operand_dims = [0]>, unique_indices = true}> ({
    ^bb0(%old: tensor<f64>, %new: tensor<f64>):
      stablehlo.return %new : tensor<f64>
    }) : (tensor<64xf64>, tensor<1xi32>, tensor<2xf64>) -> tensor<64xf64>
    return %1 : tensor<64xf64>
  }

  // One that adds is none.
  // CHECK-LABEL: func.func @adds
  // CHECK-NOT: manual_computation
  // CHECK: "stablehlo.scatter"
  func.func @adds(%x: tensor<64xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<64xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %at = stablehlo.constant dense<62> : tensor<1xi32>
    %0 = stablehlo.slice %x [2:4] : (tensor<64xf64>) -> tensor<2xf64>
    %1 = "stablehlo.scatter"(%x, %at, %0) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], scatter_dims_to_operand_dims = [0]>, unique_indices = true}> ({
    ^bb0(%old: tensor<f64>, %new: tensor<f64>):
      %2 = stablehlo.add %old, %new : tensor<f64>
      stablehlo.return %2 : tensor<f64>
    }) : (tensor<64xf64>, tensor<1xi32>, tensor<2xf64>) -> tensor<64xf64>
    return %1 : tensor<64xf64>
  }
}
