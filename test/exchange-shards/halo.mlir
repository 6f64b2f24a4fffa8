// RUN: slimhlo-opt %s --slimhlo-exchange-shards | FileCheck %s

// Both halos of a donated array: one computation, one exchange of halo width in both directions, one update of the shard in
// place. Where devices cut out and put what they send and get is looked up by device; those between write again what they have.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>

  // CHECK-LABEL: func.func public @main(%arg0: tensor<6x64xf64> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>, tf.aliasing_output = 0 : i32})
  // CHECK: sdy.manual_computation(%arg0)
  // CHECK-SAME: (%[[OWN:.+]]: tensor<6x16xf64>)
  // CHECK: stablehlo.constant dense<[2, 12, 12, 12]>
  // CHECK: %[[EDGE:[a-z0-9_]+]] = stablehlo.dynamic_slice %[[OWN]], {{.*}}, sizes = [6, 2]
  // CHECK: %[[GOT:[a-z0-9_]+]] = "stablehlo.collective_permute"(%[[EDGE]])
  // CHECK-SAME: source_target_pairs = dense<{{\[\[}}0, 3], [3, 0]]>
  // CHECK: stablehlo.constant dense<[0, 0, 0, 14]>
  // CHECK: %[[KEPT:[a-z0-9_]+]] = stablehlo.dynamic_slice %[[OWN]], %{{[a-z0-9_]+}}, %[[AT:[a-z0-9_]+]], sizes = [6, 2]
  // CHECK: stablehlo.constant dense<[true, false, false, true]>
  // CHECK: %[[NEW:[a-z0-9_]+]] = stablehlo.select %{{[a-z0-9_]+}}, %[[GOT]], %[[KEPT]] : tensor<i1>, tensor<6x2xf64>
  // CHECK: %[[DONE:[a-z0-9_]+]] = stablehlo.dynamic_update_slice %[[OWN]], %[[NEW]], %{{[a-z0-9_]+}}, %[[AT]]
  // CHECK: sdy.return %[[DONE]]
  // CHECK-NOT: manual_computation
  // CHECK: {{^ *}}return
  func.func public @main(%x: tensor<6x64xf64> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>, tf.aliasing_output = 0 : i32}) -> (tensor<6x64xf64> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %c0 = stablehlo.constant dense<0> : tensor<i64>
    %c62 = stablehlo.constant dense<62> : tensor<i64>
    %0 = stablehlo.slice %x [0:6, 60:62] : (tensor<6x64xf64>) -> tensor<6x2xf64>
    %1 = stablehlo.dynamic_update_slice %x, %0, %c0, %c0 : (tensor<6x64xf64>, tensor<6x2xf64>, tensor<i64>, tensor<i64>) -> tensor<6x64xf64>
    %2 = sdy.sharding_constraint %1 <@mesh, [{}, {"x"}]> : tensor<6x64xf64>
    %3 = stablehlo.slice %2 [0:6, 2:4] : (tensor<6x64xf64>) -> tensor<6x2xf64>
    %4 = stablehlo.dynamic_update_slice %2, %3, %c0, %c62 : (tensor<6x64xf64>, tensor<6x2xf64>, tensor<i64>, tensor<i64>) -> tensor<6x64xf64>
    return %4 : tensor<6x64xf64>
  }

  // The second update reads the array as it was before the first: there it is the same.
  // CHECK-LABEL: func.func @original
  // CHECK: sdy.manual_computation(%arg0)
  // CHECK: stablehlo.constant dense<[2, 12, 12, 12]>
  // CHECK-COUNT-1: stablehlo.dynamic_update_slice
  // CHECK-NOT: stablehlo.dynamic_update_slice
  func.func @original(%x: tensor<64xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<64xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %c0 = stablehlo.constant dense<0> : tensor<i64>
    %c62 = stablehlo.constant dense<62> : tensor<i64>
    %0 = stablehlo.slice %x [60:62] : (tensor<64xf64>) -> tensor<2xf64>
    %1 = stablehlo.dynamic_update_slice %x, %0, %c0 : (tensor<64xf64>, tensor<2xf64>, tensor<i64>) -> tensor<64xf64>
    %3 = stablehlo.slice %x [2:4] : (tensor<64xf64>) -> tensor<2xf64>
    %4 = stablehlo.dynamic_update_slice %1, %3, %c62 : (tensor<64xf64>, tensor<2xf64>, tensor<i64>) -> tensor<64xf64>
    return %4 : tensor<64xf64>
  }

  // Where it is not the same, it is read as it was.
  // CHECK-LABEL: func.func @swapped
  // CHECK: sdy.manual_computation(%arg0)
  // CHECK-SAME: (%[[OWN:.+]]: tensor<16xf64>)
  // CHECK: stablehlo.constant dense<[0, 14, 14, 14]>
  // CHECK: stablehlo.dynamic_slice %[[OWN]], {{.*}}, sizes = [2]
  // CHECK: "stablehlo.collective_permute"
  // CHECK: stablehlo.dynamic_update_slice %[[OWN]]
  func.func @swapped(%x: tensor<64xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<64xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %c0 = stablehlo.constant dense<0> : tensor<i64>
    %c62 = stablehlo.constant dense<62> : tensor<i64>
    %0 = stablehlo.slice %x [62:64] : (tensor<64xf64>) -> tensor<2xf64>
    %1 = stablehlo.dynamic_update_slice %x, %0, %c0 : (tensor<64xf64>, tensor<2xf64>, tensor<i64>) -> tensor<64xf64>
    %3 = stablehlo.slice %x [0:2] : (tensor<64xf64>) -> tensor<2xf64>
    %4 = stablehlo.dynamic_update_slice %1, %3, %c62 : (tensor<64xf64>, tensor<2xf64>, tensor<i64>) -> tensor<64xf64>
    return %4 : tensor<64xf64>
  }

  // The array after the first update is needed by something else, too: two computations.
  // CHECK-LABEL: func.func @kept
  // CHECK: %[[ONE:[a-z0-9_]+]] = sdy.manual_computation(%arg0)
  // CHECK: sdy.manual_computation(%[[ONE]])
  // CHECK: stablehlo.negate %[[ONE]]
  func.func @kept(%x: tensor<64xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<64xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, tensor<64xf64>) {
    %c0 = stablehlo.constant dense<0> : tensor<i64>
    %c62 = stablehlo.constant dense<62> : tensor<i64>
    %0 = stablehlo.slice %x [60:62] : (tensor<64xf64>) -> tensor<2xf64>
    %1 = stablehlo.dynamic_update_slice %x, %0, %c0 : (tensor<64xf64>, tensor<2xf64>, tensor<i64>) -> tensor<64xf64>
    %3 = stablehlo.slice %x [2:4] : (tensor<64xf64>) -> tensor<2xf64>
    %4 = stablehlo.dynamic_update_slice %1, %3, %c62 : (tensor<64xf64>, tensor<2xf64>, tensor<i64>) -> tensor<64xf64>
    %5 = stablehlo.negate %1 : tensor<64xf64>
    return %4, %5 : tensor<64xf64>, tensor<64xf64>
  }

  // The second update reads what the first wrote, one device further: two updates.
  // CHECK-LABEL: func.func @handed_on
  // CHECK: sdy.manual_computation(%arg0)
  // CHECK: %[[FIRST:[a-z0-9_]+]] = stablehlo.dynamic_update_slice %arg1,
  // CHECK: %[[PART:[a-z0-9_]+]] = stablehlo.dynamic_slice %[[FIRST]], {{.*}}, sizes = [2]
  // CHECK: "stablehlo.collective_permute"(%[[PART]])
  // CHECK: stablehlo.dynamic_update_slice %[[FIRST]]
  func.func @handed_on(%x: tensor<64xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<64xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %c0 = stablehlo.constant dense<0> : tensor<i64>
    %c62 = stablehlo.constant dense<62> : tensor<i64>
    %0 = stablehlo.slice %x [60:62] : (tensor<64xf64>) -> tensor<2xf64>
    %1 = stablehlo.dynamic_update_slice %x, %0, %c0 : (tensor<64xf64>, tensor<2xf64>, tensor<i64>) -> tensor<64xf64>
    %3 = stablehlo.slice %1 [0:2] : (tensor<64xf64>) -> tensor<2xf64>
    %4 = stablehlo.dynamic_update_slice %1, %3, %c62 : (tensor<64xf64>, tensor<2xf64>, tensor<i64>) -> tensor<64xf64>
    return %4 : tensor<64xf64>
  }

  // A wall: the row next to it, mirrored or repeated.
  // CHECK-LABEL: func.func @walls
  // CHECK: sdy.manual_computation
  // CHECK-NOT: collective_permute
  // CHECK: stablehlo.reverse
  // CHECK: stablehlo.broadcast_in_dim %{{[a-z0-9_]+}}, dims = [0] : (tensor<1xf64>) -> tensor<2xf64>
  // CHECK: sdy.return
  func.func @walls(%x: tensor<64xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<64xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %c0 = stablehlo.constant dense<0> : tensor<i64>
    %c62 = stablehlo.constant dense<62> : tensor<i64>
    %0 = stablehlo.slice %x [2:4] : (tensor<64xf64>) -> tensor<2xf64>
    %1 = stablehlo.reverse %0, dims = [0] : tensor<2xf64>
    %2 = stablehlo.dynamic_update_slice %x, %1, %c0 : (tensor<64xf64>, tensor<2xf64>, tensor<i64>) -> tensor<64xf64>
    %3 = stablehlo.slice %2 [61:62] : (tensor<64xf64>) -> tensor<1xf64>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<1xf64>) -> tensor<2xf64>
    %5 = stablehlo.dynamic_update_slice %2, %4, %c62 : (tensor<64xf64>, tensor<2xf64>, tensor<i64>) -> tensor<64xf64>
    return %5 : tensor<64xf64>
  }
}
