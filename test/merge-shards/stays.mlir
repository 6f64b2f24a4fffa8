// RUN: slimhlo-opt %s --slimhlo-merge-shards --split-input-file | FileCheck %s

module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // Nothing but a constraint is around it.
  // CHECK-LABEL: func @alone
  // CHECK: sdy.manual_computation
  // CHECK: sdy.sharding_constraint
  func.func @alone(%x: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<16xf32> {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%own: tensor<8xf32>) {
      %a = stablehlo.sine %own : tensor<8xf32>
      sdy.return %a : tensor<8xf32>
    } : (tensor<16xf32>) -> tensor<16xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}]> : tensor<16xf32>
    return %1 : tensor<16xf32>
  }

  // How a product is cut is for the partitioner to say.
  // CHECK-LABEL: func @product
  // CHECK: sdy.return
  // CHECK: stablehlo.dot_general {{.*}} : (tensor<16x4xf32>, tensor<4x4xf32>) -> tensor<16x4xf32>
  func.func @product(%x: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %w: tensor<4x4xf32>) -> tensor<16x4xf32> {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%own: tensor<8x4xf32>) {
      %a = stablehlo.sine %own : tensor<8x4xf32>
      sdy.return %a : tensor<8x4xf32>
    } : (tensor<16x4xf32>) -> tensor<16x4xf32>
    %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<16x4xf32>, tensor<4x4xf32>) -> tensor<16x4xf32>
    return %1 : tensor<16x4xf32>
  }

  // Shardings do not agree: the sum is cut by one argument along "x", and whole by its result's word.
  // CHECK-LABEL: func @differ
  // CHECK: sdy.return
  // CHECK: stablehlo.add {{.*}} : tensor<16xf32>
  func.func @differ(%x: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%own: tensor<8xf32>) {
      %a = stablehlo.sine %own : tensor<8xf32>
      sdy.return %a : tensor<8xf32>
    } : (tensor<16xf32>) -> tensor<16xf32>
    %1 = stablehlo.add %0, %0 : tensor<16xf32>
    return %1 : tensor<16xf32>
  }

  // The part that is left is none of whole shards.
  // CHECK-LABEL: func @uneven
  // CHECK: sdy.return
  // CHECK: stablehlo.slice {{.*}} -> tensor<15xf32>
  func.func @uneven(%x: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<15xf32> {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%own: tensor<8xf32>) {
      %a = stablehlo.sine %own : tensor<8xf32>
      sdy.return %a : tensor<8xf32>
    } : (tensor<16xf32>) -> tensor<16xf32>
    %1 = stablehlo.slice %0 [0:15] : (tensor<16xf32>) -> tensor<15xf32>
    return %1 : tensor<15xf32>
  }

  // Some back ends copy what is narrower for an update.
  // CHECK-LABEL: func @narrow
  // CHECK: sdy.return
  // CHECK: stablehlo.add {{.*}} : tensor<16xbf16>
  func.func @narrow(%x: tensor<16xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<16xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%own: tensor<8xbf16>) {
      %a = stablehlo.sine %own : tensor<8xbf16>
      sdy.return %a : tensor<8xbf16>
    } : (tensor<16xbf16>) -> tensor<16xbf16>
    %1 = stablehlo.add %0, %0 : tensor<16xbf16>
    return %1 : tensor<16xbf16>
  }
}

// -----

module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  // Manual along one axis: the other is the partitioner's.
  // CHECK-LABEL: func @half_manual
  // CHECK: sdy.return
  // CHECK: stablehlo.add {{.*}} : tensor<8x16xf32>
  func.func @half_manual(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{"x"}, {"y"}]>] manual_axes={"x"} (%own: tensor<4x16xf32>) {
      %a = stablehlo.sine %own : tensor<4x16xf32>
      sdy.return %a : tensor<4x16xf32>
    } : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %1 = stablehlo.add %0, %0 : tensor<8x16xf32>
    return %1 : tensor<8x16xf32>
  }
}

// -----

// One partition: what is in a manual computation is its own.
module attributes {mhlo.num_partitions = 1 : i32} {
  sdy.mesh @mesh = <["x"=1]>
  // CHECK-LABEL: func @one_partition
  // CHECK: sdy.return
  // CHECK: stablehlo.add
  func.func @one_partition(%x: tensor<16xf32>) -> tensor<16xf32> {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%own: tensor<16xf32>) {
      %a = stablehlo.sine %own : tensor<16xf32>
      sdy.return %a : tensor<16xf32>
    } : (tensor<16xf32>) -> tensor<16xf32>
    %1 = stablehlo.add %0, %0 : tensor<16xf32>
    return %1 : tensor<16xf32>
  }
}
