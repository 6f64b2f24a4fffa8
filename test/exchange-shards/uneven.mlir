// RUN: slimhlo-opt %s --slimhlo-exchange-shards | FileCheck %s

// No mesh divides 7 columns. At the entry function's boundary such a sharding falls away, so that both devices along the
// axis need all of the result: one sends its column.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>

  // CHECK-LABEL: func.func public @main
  // CHECK: sdy.manual_computation(%arg0)
  // CHECK-SAME: out_shardings=[<@mesh, [{"x"}, {}]>]
  // CHECK: stablehlo.constant dense<[0, 3, 0, 3]>
  // CHECK: %[[OWN:[a-z0-9_]+]] = stablehlo.dynamic_slice %{{[a-z0-9_]+}}, {{.*}}, sizes = [3, 1]
  // CHECK: %[[GOT:[a-z0-9_]+]] = "stablehlo.collective_permute"(%[[OWN]])
  // CHECK-SAME: source_target_pairs = dense<{{\[\[}}1, 0], [3, 2]]>
  // CHECK: %[[BOTH:[a-z0-9_]+]] = stablehlo.select %{{[a-z0-9_]+}}, %[[GOT]], %[[OWN]]
  // CHECK: stablehlo.pad %[[BOTH]], %{{[a-z0-9_]+}}, low = [0, 0], high = [0, 6], interior = [0, 0]
  // CHECK: return %{{[a-z0-9_]+}} : tensor<6x7xf32>
  func.func public @main(%x: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> tensor<6x7xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.slice %x [0:6, 7:8] : (tensor<6x8xf32>) -> tensor<6x1xf32>
    %1 = stablehlo.pad %0, %zero, low = [0, 0], high = [0, 6], interior = [0, 0] : (tensor<6x1xf32>, tensor<f32>) -> tensor<6x7xf32>
    %2 = sdy.sharding_constraint %1 <@mesh, [{"x"}, {"y"}]> : tensor<6x7xf32>
    return %2 : tensor<6x7xf32>
  }

  // Inside of the program it stays as it is.
  // CHECK-LABEL: func.func @inside
  // CHECK-NOT: manual_computation
  // CHECK: sdy.sharding_constraint
  func.func @inside(%x: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> tensor<6x7xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.slice %x [0:6, 7:8] : (tensor<6x8xf32>) -> tensor<6x1xf32>
    %1 = stablehlo.pad %0, %zero, low = [0, 0], high = [0, 6], interior = [0, 0] : (tensor<6x1xf32>, tensor<f32>) -> tensor<6x7xf32>
    %2 = sdy.sharding_constraint %1 <@mesh, [{"x"}, {"y"}]> : tensor<6x7xf32>
    %3 = stablehlo.negate %2 : tensor<6x7xf32>
    return %3 : tensor<6x7xf32>
  }
}
