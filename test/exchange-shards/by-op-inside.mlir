// RUN: slimhlo-opt %s --slimhlo-exchange-shards --split-input-file | FileCheck %s

// What is put inside of a field: its parts come out even, and each device has its part of it already.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["y"=2, "x"=2]>

  // Each device puts it into another corner of its shard: one update, of what is computed once. It is cut as the field is, but
  // for a dimension of one element.
  // CHECK-LABEL: func.func @corners
  // CHECK: sdy.manual_computation(%{{.*}}, %arg0) in_shardings=[<@mesh, [{"y"}, {"x"}]>
  // CHECK-SAME: (%[[OWN:.*]]: tensor<6x14xf32>, %[[FIELD:.*]]: tensor<1x8x16xf32>)
  // CHECK-NOT: stablehlo.sine
  // CHECK: %[[NEW:[0-9]+]] = stablehlo.sine %{{.*}} : tensor<1x6x14xf32>
  // CHECK-NOT: stablehlo.sine
  // CHECK-DAG: dense<[2, 2, 0, 0]> : tensor<4xi64>
  // CHECK-DAG: dense<[2, 0, 2, 0]> : tensor<4xi64>
  // CHECK: %[[R:[0-9]+]] = stablehlo.dynamic_update_slice %[[FIELD]], %[[NEW]]
  // CHECK-NOT: stablehlo.dynamic_update_slice
  // CHECK: sdy.return %[[R]] : tensor<1x8x16xf32>
  func.func @corners(%a: tensor<1x16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {"x"}]>}, %s: tensor<12x28xf32>)
      -> (tensor<1x16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {"x"}]>}) {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c2 = stablehlo.constant dense<2> : tensor<i32>
    %d = stablehlo.dot_general %s, %s, contracting_dims = [1] x [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {}]>]>} : (tensor<12x28xf32>, tensor<12x28xf32>) -> tensor<12x12xf32>
    %e = stablehlo.dot_general %d, %s, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : (tensor<12x12xf32>, tensor<12x28xf32>) -> tensor<12x28xf32>
    %v = stablehlo.sine %e {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : tensor<12x28xf32>
    %w = stablehlo.reshape %v {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}, {"x"}]>]>} : (tensor<12x28xf32>) -> tensor<1x12x28xf32>
    %r = stablehlo.dynamic_update_slice %a, %w, %c0, %c2, %c2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}, {"x"}]>]>} : (tensor<1x16x32xf32>, tensor<1x12x28xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x32xf32>
    return %r : tensor<1x16x32xf32>
  }

  // A row, which has a dimension less. The first devices of each column put it into their first rows.
  // CHECK-LABEL: func.func @row
  // CHECK: %[[ROW:[0-9]+]] = stablehlo.broadcast_in_dim %{{.*}}, dims = [1] : (tensor<12xf32>) -> tensor<1x12xf32>
  // CHECK: dense<[4, 0, 4, 4]> : tensor<4xi64>
  // CHECK: %[[KEPT:[0-9]+]] = stablehlo.dynamic_slice {{.*}} sizes = [1, 12]
  // CHECK: dense<[true, true, false, false]> : tensor<4xi1>
  // CHECK: %[[NEW:[0-9]+]] = stablehlo.select %{{[0-9]+}}, %[[ROW]], %[[KEPT]]
  // CHECK: stablehlo.dynamic_update_slice %arg3, %[[NEW]]
  func.func @row(%a: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}, %row: tensor<24xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
      -> (tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c4 = stablehlo.constant dense<4> : tensor<i32>
    %rows = stablehlo.broadcast_in_dim %row, dims = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<24xf32>) -> tensor<1x24xf32>
    %r = stablehlo.dynamic_update_slice %a, %rows, %c0, %c4 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : (tensor<16x32xf32>, tensor<1x24xf32>, tensor<i32>, tensor<i32>) -> tensor<16x32xf32>
    return %r : tensor<16x32xf32>
  }

  // Levels that are computed one after the other and joined: what is joined is put there, for level by level it would be
  // too many updates.
  // CHECK-LABEL: func.func @levels
  // CHECK: %[[JOINED:[0-9]+]] = stablehlo.concatenate
  // CHECK: sdy.manual_computation(%[[JOINED]], %arg1)
  // CHECK: stablehlo.dynamic_update_slice %{{.*}} : (tensor<12x10x20xf32>, tensor<10x8x16xf32>
  // CHECK-NOT: stablehlo.dynamic_update_slice
  func.func @levels(%a: tensor<12x16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {"x"}]>}, %b: tensor<12x20x40xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {"x"}]>})
      -> (tensor<12x20x40xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {"x"}]>}) {
    %c1 = stablehlo.constant dense<1> : tensor<i32>
    %c2 = stablehlo.constant dense<2> : tensor<i32>
    %c4 = stablehlo.constant dense<4> : tensor<i32>
    %l0 = stablehlo.slice %a [0:1, 0:16, 0:32] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}, {"x"}]>]>} : (tensor<12x16x32xf32>) -> tensor<1x16x32xf32>
    %l1 = stablehlo.sine %l0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}, {"x"}]>]>} : tensor<1x16x32xf32>
    %l2 = stablehlo.sine %l1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}, {"x"}]>]>} : tensor<1x16x32xf32>
    %l3 = stablehlo.sine %l2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}, {"x"}]>]>} : tensor<1x16x32xf32>
    %l4 = stablehlo.sine %l3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}, {"x"}]>]>} : tensor<1x16x32xf32>
    %l5 = stablehlo.sine %l4 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}, {"x"}]>]>} : tensor<1x16x32xf32>
    %l6 = stablehlo.sine %l5 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}, {"x"}]>]>} : tensor<1x16x32xf32>
    %l7 = stablehlo.sine %l6 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}, {"x"}]>]>} : tensor<1x16x32xf32>
    %l8 = stablehlo.sine %l7 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}, {"x"}]>]>} : tensor<1x16x32xf32>
    %l9 = stablehlo.sine %l8 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}, {"x"}]>]>} : tensor<1x16x32xf32>
    %j = stablehlo.concatenate %l0, %l1, %l2, %l3, %l4, %l5, %l6, %l7, %l8, %l9, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}, {"x"}]>]>} : (tensor<1x16x32xf32>, tensor<1x16x32xf32>, tensor<1x16x32xf32>, tensor<1x16x32xf32>, tensor<1x16x32xf32>, tensor<1x16x32xf32>, tensor<1x16x32xf32>, tensor<1x16x32xf32>, tensor<1x16x32xf32>, tensor<1x16x32xf32>) -> tensor<10x16x32xf32>
    %r = stablehlo.dynamic_update_slice %b, %j, %c1, %c2, %c4 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}, {"x"}]>]>} : (tensor<12x20x40xf32>, tensor<10x16x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<12x20x40xf32>
    return %r : tensor<12x20x40xf32>
  }
}

// -----

// 416 columns of 448 on 16 devices, in the middle: tiles of 28 and of 26 columns begin at other columns on each device, and
// parts are of more widths than there are steps for. All of them are one exchange, and where it comes from and goes to is in tables.
module attributes {mhlo.num_partitions = 16 : i32} {
  sdy.mesh @wide = <["x"=16]>

  // CHECK-LABEL: func.func @widths
  // CHECK: sdy.manual_computation
  // CHECK: stablehlo.collective_permute
  // CHECK-NOT: stablehlo.collective_permute
  // CHECK: sdy.return
  // CHECK-NOT: stablehlo.dynamic_update_slice
  // CHECK: return
  func.func @widths(%a: tensor<3x8x448xf32> {sdy.sharding = #sdy.sharding<@wide, [{}, {}, {"x"}]>}, %s: tensor<1x8x416xf32> {sdy.sharding = #sdy.sharding<@wide, [{}, {}, {"x"}]>})
      -> (tensor<3x8x448xf32> {sdy.sharding = #sdy.sharding<@wide, [{}, {}, {"x"}]>}) {
    %c1 = stablehlo.constant dense<1> : tensor<i32>
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c16 = stablehlo.constant dense<16> : tensor<i32>
    %v = stablehlo.sine %s {sdy.sharding = #sdy.sharding_per_value<[<@wide, [{}, {}, {"x"}]>]>} : tensor<1x8x416xf32>
    %r = stablehlo.dynamic_update_slice %a, %v, %c1, %c0, %c16 {sdy.sharding = #sdy.sharding_per_value<[<@wide, [{}, {}, {"x"}]>]>} : (tensor<3x8x448xf32>, tensor<1x8x416xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<3x8x448xf32>
    return %r : tensor<3x8x448xf32>
  }
}
