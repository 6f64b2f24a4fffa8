// RUN: slimhlo-opt %s --slimhlo-exchange-shards | FileCheck %s

// A pad much wider than a shard: one exchange of what it holds, and no broadcast, because what nobody sends is zero.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>

  // CHECK-LABEL: func.func @wide
  // CHECK: sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{"x"}, {"y"}]>] manual_axes={"x", "y"} (%[[OWN:.+]]: tensor<3x50xf32>) {
  // CHECK-NOT: broadcast
  // CHECK: stablehlo.constant dense<[0, 49, 0, 49]>
  // CHECK: %[[LAST:[a-z0-9_]+]] = stablehlo.dynamic_slice %[[OWN]], {{.*}}, sizes = [3, 1]
  // CHECK: %[[GOT:[a-z0-9_]+]] = "stablehlo.collective_permute"(%[[LAST]])
  // CHECK-SAME: source_target_pairs = dense<{{\[\[}}1, 0], [3, 2]]>
  // CHECK: %[[SUM:[a-z0-9_]+]] = stablehlo.pad %[[GOT]], %{{[a-z0-9_]+}}, low = [0, 0], high = [0, 49], interior = [0, 0]
  // CHECK: sdy.return %[[SUM]]
  func.func @wide(%x: tensor<6x100xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> tensor<6x100xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.slice %x [0:6, 99:100] : (tensor<6x100xf32>) -> tensor<6x1xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {"y"}]> : tensor<6x1xf32>
    %2 = stablehlo.pad %1, %zero, low = [0, 0], high = [0, 99], interior = [0, 0] : (tensor<6x1xf32>, tensor<f32>) -> tensor<6x100xf32>
    %3 = sdy.sharding_constraint %2 <@mesh, [{"x"}, {"y"}]> : tensor<6x100xf32>
    return %3 : tensor<6x100xf32>
  }

  // Another scalar than zero is chosen where nothing is received; minus zero is another one.
  // CHECK-LABEL: func.func @not_zero
  // CHECK: %[[GOT:[a-z0-9_]+]] = "stablehlo.collective_permute"
  // CHECK: %[[NEW:[a-z0-9_]+]] = stablehlo.select %{{[a-z0-9_]+}}, %[[GOT]], %{{[a-z0-9_]+}} : tensor<i1>, tensor<3x1xf32>
  // CHECK: stablehlo.pad %[[NEW]]
  func.func @not_zero(%x: tensor<6x100xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> tensor<6x100xf32> {
    %scalar = stablehlo.constant dense<-0.0> : tensor<f32>
    %0 = stablehlo.slice %x [0:6, 99:100] : (tensor<6x100xf32>) -> tensor<6x1xf32>
    %2 = stablehlo.pad %0, %scalar, low = [0, 0], high = [0, 99], interior = [0, 0] : (tensor<6x1xf32>, tensor<f32>) -> tensor<6x100xf32>
    %3 = sdy.sharding_constraint %2 <@mesh, [{"x"}, {"y"}]> : tensor<6x100xf32>
    return %3 : tensor<6x100xf32>
  }

  // A scalar that is known only when the program runs comes along.
  // CHECK-LABEL: func.func @given_scalar
  // CHECK: sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{"y"}]>, <@mesh, []>]
  // CHECK-SAME: (%[[OWN:.+]]: tensor<8xf32>, %[[FILL:.+]]: tensor<f32>)
  // CHECK: "stablehlo.collective_permute"
  // CHECK-SAME: (tensor<3xf32>) -> tensor<3xf32>
  func.func @given_scalar(%x: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}, %fill: tensor<f32>) -> tensor<16xf32> {
    %0 = stablehlo.pad %x, %fill, low = [3], high = [-3], interior = [0] : (tensor<16xf32>, tensor<f32>) -> tensor<16xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"y"}]> : tensor<16xf32>
    return %1 : tensor<16xf32>
  }
}
