// RUN: split-file %s %t
// RUN: slimhlo-opt %t/partitioned.mlir --slimhlo-exchange-shards | FileCheck %t/partitioned.mlir
// RUN: slimhlo-opt %t/one.mlir --slimhlo-exchange-shards | FileCheck %t/one.mlir
// RUN: slimhlo-opt %t/older.mlir --slimhlo-exchange-shards | FileCheck %t/older.mlir
// RUN: slimhlo-opt %t/order.mlir --slimhlo-exchange-shards | FileCheck %t/order.mlir
// RUN: slimhlo-opt %t/edge.mlir --slimhlo-exchange-shards | FileCheck %t/edge.mlir

//--- partitioned.mlir
// CHECK-NOT: channel_handle
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>

  // Along a dimension that is not cut, all devices do the same without talking.
  // CHECK-LABEL: func.func @uncut
  // CHECK-NOT: manual_computation
  // CHECK: stablehlo.dynamic_update_slice
  func.func @uncut(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>}) -> (tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>}) {
    %c0 = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.slice %x [0:8, 12:14] : (tensor<8x16xf32>) -> tensor<8x2xf32>
    %1 = stablehlo.dynamic_update_slice %x, %0, %c0, %c0 : (tensor<8x16xf32>, tensor<8x2xf32>, tensor<i64>, tensor<i64>) -> tensor<8x16xf32>
    return %1 : tensor<8x16xf32>
  }

  // How the result is to be cut is not known.
  // CHECK-LABEL: func.func @unknown
  // CHECK-NOT: manual_computation
  // CHECK: stablehlo.slice
  func.func @unknown(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> tensor<8x8xf32> {
    %0 = stablehlo.slice %x [0:8, 3:11] : (tensor<8x16xf32>) -> tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  }

  // An open sharding is for the partitioner to complete.
  // CHECK-LABEL: func.func @open
  // CHECK-NOT: manual_computation
  // CHECK: sdy.sharding_constraint
  func.func @open(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> tensor<8x8xf32> {
    %0 = stablehlo.slice %x [0:8, 3:11] : (tensor<8x16xf32>) -> tensor<8x8xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {"y", ?}]> : tensor<8x8xf32>
    return %1 : tensor<8x8xf32>
  }

  // Part of an axis.
  // CHECK-LABEL: func.func @sub_axis
  // CHECK-NOT: manual_computation
  // CHECK: sdy.sharding_constraint
  func.func @sub_axis(%x: tensor<16xf32> {sdy.sharding = #sdy.sharding<@four, [{"a":(1)2}]>}) -> tensor<16xf32> {
    %0 = stablehlo.reverse %x, dims = [0] : tensor<16xf32>
    %1 = sdy.sharding_constraint %0 <@four, [{"a":(1)2}]> : tensor<16xf32>
    return %1 : tensor<16xf32>
  }
  sdy.mesh @four = <["a"=4]>

  // Starts that are known only when the program runs.
  // CHECK-LABEL: func.func @dynamic_start
  // CHECK-NOT: manual_computation
  // CHECK: stablehlo.dynamic_update_slice
  func.func @dynamic_start(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %at: tensor<i64>) -> (tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
    %c0 = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.slice %x [0:8, 12:14] : (tensor<8x16xf32>) -> tensor<8x2xf32>
    %1 = stablehlo.dynamic_update_slice %x, %0, %c0, %at : (tensor<8x16xf32>, tensor<8x2xf32>, tensor<i64>, tensor<i64>) -> tensor<8x16xf32>
    return %1 : tensor<8x16xf32>
  }

  // Strides and interior padding.
  // CHECK-LABEL: func.func @strides
  // CHECK-NOT: manual_computation
  // CHECK: {{^ *}}return
  func.func @strides(%x: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, tensor<32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.slice %x [0:16:2] : (tensor<16xf32>) -> tensor<8xf32>
    %1 = stablehlo.pad %x, %zero, low = [1], high = [0], interior = [1] : (tensor<16xf32>, tensor<f32>) -> tensor<32xf32>
    return %0, %1 : tensor<8xf32>, tensor<32xf32>
  }

  // What hangs on the op has nowhere to go.
  // CHECK-LABEL: func.func @annotated
  // CHECK-NOT: manual_computation
  // CHECK: mhlo.frontend_attributes
  func.func @annotated(%x: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = stablehlo.reverse %x, dims = [0] {mhlo.frontend_attributes = {_who = "user"}} : tensor<16xf32>
    return %0 : tensor<16xf32>
  }

  // Per device already.
  // CHECK-LABEL: func.func @manual
  // CHECK: sdy.manual_computation
  // CHECK-NOT: manual_computation
  // CHECK: stablehlo.reverse
  func.func @manual(%x: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<16xf32> {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%a: tensor<8xf32>) {
      %1 = stablehlo.reverse %a, dims = [0] : tensor<8xf32>
      %2 = sdy.sharding_constraint %1 <@mesh, [{"y"}]> : tensor<8xf32>
      sdy.return %2 : tensor<8xf32>
    } : (tensor<16xf32>) -> tensor<16xf32>
    return %0 : tensor<16xf32>
  }
}

//--- one.mlir
// CHECK-NOT: manual_computation
module attributes {mhlo.num_partitions = 1 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%x: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = stablehlo.reverse %x, dims = [0] : tensor<16xf32>
    return %0 : tensor<16xf32>
  }
}

//--- older.mlir
// CHECK-NOT: manual_computation
module attributes {mhlo.num_partitions = 2 : i32} {
  func.func @main(%x: tensor<16xf32> {mhlo.sharding = "{devices=[2]<=[2]}"}) -> (tensor<16xf32> {mhlo.sharding = "{devices=[2]<=[2]}"}) {
    %0 = stablehlo.reverse %x, dims = [0] {mhlo.sharding = "{devices=[2]<=[2]}"} : tensor<16xf32>
    return %0 : tensor<16xf32>
  }
}

//--- order.mlir
// CHECK-NOT: manual_computation
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2], device_ids=[1, 0]>
  func.func @main(%x: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = stablehlo.reverse %x, dims = [0] : tensor<16xf32>
    return %0 : tensor<16xf32>
  }
}

//--- edge.mlir
// CHECK-NOT: channel_handle
// CHECK-NOT: sdy.manual_computation
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>

  // One row, repeated at an edge, and the array is read after that: the partitioner's reduction of a row is cheap.
  func.func @main(%x: tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.slice %x [4:5, 0:32] : (tensor<64x32xf32>) -> tensor<1x32xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<1x32xf32>) -> tensor<4x32xf32>
    %2 = stablehlo.dynamic_update_slice %x, %1, %zero, %zero : (tensor<64x32xf32>, tensor<4x32xf32>, tensor<i32>, tensor<i32>) -> tensor<64x32xf32>
    %3 = stablehlo.multiply %2, %2 : tensor<64x32xf32>
    return %3 : tensor<64x32xf32>
  }
}
