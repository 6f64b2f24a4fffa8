// RUN: slimhlo-opt %s --slimhlo-exchange-shards --split-input-file | FileCheck %s

// What goes back through a fill of halos: zero where the halo is, added where it came from. Zeros are selected, by device and place,
// in what computes the rest; what crosses the border is sent and padded.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func @gradient
  // CHECK: %[[T:[0-9]+]] = stablehlo.add %arg0, %arg0
  // CHECK: %[[ZEROED:[0-9]+]] = sdy.manual_computation(%[[T]])
  // CHECK-SAME: (%[[OWN:[a-z0-9]+]]: tensor<8x8xf32>) {
  // CHECK-NOT: stablehlo.dynamic_update_slice
  // CHECK: stablehlo.iota dim = 0 : tensor<8x8xi64>
  // CHECK: stablehlo.partition_id
  // CHECK: stablehlo.select %{{[0-9]+}}, %{{[a-z0-9_]+}}, %[[OWN]] : tensor<8x8xi1>, tensor<8x8xf32>
  // CHECK: %[[SENT:[0-9]+]] = sdy.manual_computation(%[[T]])
  // CHECK: "stablehlo.collective_permute"
  // CHECK: stablehlo.pad
  // CHECK: stablehlo.add %[[ZEROED]], %[[SENT]]
  func.func @gradient(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c15 = stablehlo.constant dense<15> : tensor<i32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %zeros = stablehlo.constant dense<0.0> : tensor<1x8xf32>
    %t = stablehlo.add %x, %x : tensor<16x8xf32>
    %zeroed = stablehlo.dynamic_update_slice %t, %zeros, %c15, %c0 : (tensor<16x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<16x8xf32>
    %row = stablehlo.slice %t [15:16, 0:8] : (tensor<16x8xf32>) -> tensor<1x8xf32>
    %there = stablehlo.pad %row, %zero, low = [1, 0], high = [14, 0], interior = [0, 0] : (tensor<1x8xf32>, tensor<f32>) -> tensor<16x8xf32>
    %r = stablehlo.add %zeroed, %there : tensor<16x8xf32>
    return %r : tensor<16x8xf32>
  }
}

// -----

// A pad of a constant differs from device to device.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func @pad_of_constant
  // CHECK: sdy.manual_computation()
  // CHECK-SAME: out_shardings=[<@mesh, [{"x"}, {}]>]
  // CHECK: stablehlo.select
  // CHECK: stablehlo.add %arg0,
  func.func @pad_of_constant(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %half = stablehlo.constant dense<0.5> : tensor<14x8xf32>
    %p = stablehlo.pad %half, %zero, low = [0, 0], high = [2, 0], interior = [0, 0] : (tensor<14x8xf32>, tensor<f32>) -> tensor<16x8xf32>
    %r = stablehlo.add %x, %p : tensor<16x8xf32>
    return %r : tensor<16x8xf32>
  }
}

// -----

// An edge's halo repeats a row, so its gradient is a sum of rows, which is the partitioner's: zeros beside it are, too.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func @summed
  // CHECK-NOT: sdy.manual_computation
  // CHECK: return
  func.func @summed(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c14 = stablehlo.constant dense<14> : tensor<i32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %zeros = stablehlo.constant dense<0.0> : tensor<2x8xf32>
    %t = stablehlo.add %x, %x : tensor<16x8xf32>
    %zeroed = stablehlo.dynamic_update_slice %t, %zeros, %c14, %c0 : (tensor<16x8xf32>, tensor<2x8xf32>, tensor<i32>, tensor<i32>) -> tensor<16x8xf32>
    %rows = stablehlo.slice %t [14:16, 0:8] : (tensor<16x8xf32>) -> tensor<2x8xf32>
    %sum = stablehlo.reduce(%rows init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<2x8xf32>, tensor<f32>) -> tensor<8xf32>
    %row = stablehlo.broadcast_in_dim %sum, dims = [1] : (tensor<8xf32>) -> tensor<1x8xf32>
    %there = stablehlo.pad %row, %zero, low = [13, 0], high = [2, 0], interior = [0, 0] : (tensor<1x8xf32>, tensor<f32>) -> tensor<16x8xf32>
    %r = stablehlo.add %zeroed, %there : tensor<16x8xf32>
    return %r : tensor<16x8xf32>
  }
}

// -----

// Narrow floats, which back ends widen, are left.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func @narrow
  // CHECK-NOT: sdy.manual_computation
  // CHECK: return
  func.func @narrow(%x: tensor<16x8xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x8xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %zero = stablehlo.constant dense<0.0> : tensor<bf16>
    %half = stablehlo.constant dense<0.5> : tensor<14x8xbf16>
    %p = stablehlo.pad %half, %zero, low = [0, 0], high = [2, 0], interior = [0, 0] : (tensor<14x8xbf16>, tensor<bf16>) -> tensor<16x8xbf16>
    %r = stablehlo.add %x, %p : tensor<16x8xbf16>
    return %r : tensor<16x8xbf16>
  }
}

// -----

// What a manual computation takes is laid out as it takes it.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func @taken
  // CHECK: sdy.manual_computation(%arg0)
  // CHECK: "stablehlo.collective_permute"
  // CHECK: sdy.manual_computation
  func.func @taken(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %row = stablehlo.slice %x [15:16, 0:8] : (tensor<16x8xf32>) -> tensor<1x8xf32>
    %there = stablehlo.pad %row, %zero, low = [1, 0], high = [14, 0], interior = [0, 0] : (tensor<1x8xf32>, tensor<f32>) -> tensor<16x8xf32>
    %r = sdy.manual_computation(%there) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%own: tensor<8x8xf32>) {
      %0 = stablehlo.sine %own : tensor<8x8xf32>
      sdy.return %0 : tensor<8x8xf32>
    } : (tensor<16x8xf32>) -> tensor<16x8xf32>
    return %r : tensor<16x8xf32>
  }
}
