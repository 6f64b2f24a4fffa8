// RUN: slimhlo-opt %s --slimhlo-hold-shared --split-input-file | FileCheck %s --implicit-check-not=stablehlo.if

// One op reads it: it is computed there.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @one_reader
  // CHECK: sdy.return
  func.func @one_reader(%x: tensor<16xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<16xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%own: tensor<8xi32>) {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %east = stablehlo.pad %own, %zero, low = [-1], high = [1], interior = [0] : (tensor<8xi32>, tensor<i32>) -> tensor<8xi32>
      %west = stablehlo.pad %own, %zero, low = [1], high = [-1], interior = [0] : (tensor<8xi32>, tensor<i32>) -> tensor<8xi32>
      %difference = stablehlo.subtract %east, %west : tensor<8xi32>
      %twice = stablehlo.add %difference, %difference : tensor<8xi32>
      sdy.return %twice : tensor<8xi32>
    } : (tensor<16xi32>) -> tensor<16xi32>
    return %0 : tensor<16xi32>
  }
}

// -----

// One array is padded: it is stored in place of what is made of it.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @one_array
  // CHECK: sdy.return
  func.func @one_array(%x: tensor<16xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<16xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%own: tensor<8xi32>) {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %east = stablehlo.pad %own, %zero, low = [-1], high = [1], interior = [0] : (tensor<8xi32>, tensor<i32>) -> tensor<8xi32>
      %difference = stablehlo.subtract %east, %own : tensor<8xi32>
      %back = stablehlo.reverse %difference, dims = [0] : (tensor<8xi32>) -> tensor<8xi32>
      %sum = stablehlo.add %difference, %back : tensor<8xi32>
      sdy.return %sum : tensor<8xi32>
    } : (tensor<16xi32>) -> tensor<16xi32>
    return %0 : tensor<16xi32>
  }
}

// -----

// Outside of a manual computation no device has a number.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @outside
  // CHECK: return
  func.func @outside(%x: tensor<16xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<16xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %east = stablehlo.pad %x, %zero, low = [-1], high = [1], interior = [0] : (tensor<16xi32>, tensor<i32>) -> tensor<16xi32>
    %west = stablehlo.pad %x, %zero, low = [1], high = [-1], interior = [0] : (tensor<16xi32>, tensor<i32>) -> tensor<16xi32>
    %difference = stablehlo.subtract %east, %west : tensor<16xi32>
    %back = stablehlo.reverse %difference, dims = [0] : (tensor<16xi32>) -> tensor<16xi32>
    %sum = stablehlo.add %difference, %back : tensor<16xi32>
    return %sum : tensor<16xi32>
  }
}

// -----

// Two rows are no less than the array by a dimension: that update XLA for CPU does not compute twice.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @thick
  // CHECK: sdy.return
  func.func @thick(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%own: tensor<8x8xf32>) {
      %c0 = stablehlo.constant dense<0> : tensor<i64>
      %c3 = stablehlo.constant dense<3> : tensor<i64>
      %c7 = stablehlo.constant dense<7> : tensor<i64>
      %row = stablehlo.slice %own [4:5, 0:8] : (tensor<8x8xf32>) -> tensor<1x8xf32>
      %rows = stablehlo.slice %own [4:6, 0:8] : (tensor<8x8xf32>) -> tensor<2x8xf32>
      %new = stablehlo.dynamic_update_slice %own, %rows, %c0, %c0 : (tensor<8x8xf32>, tensor<2x8xf32>, tensor<i64>, tensor<i64>) -> tensor<8x8xf32>
      %part = stablehlo.dynamic_slice %new, %c7, %c0, sizes = [1, 8] : (tensor<8x8xf32>, tensor<i64>, tensor<i64>) -> tensor<1x8xf32>
      %got = "stablehlo.collective_permute"(%part) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<1x8xf32>) -> tensor<1x8xf32>
      %next = stablehlo.dynamic_update_slice %new, %got, %c3, %c0 : (tensor<8x8xf32>, tensor<1x8xf32>, tensor<i64>, tensor<i64>) -> tensor<8x8xf32>
      sdy.return %next : tensor<8x8xf32>
    } : (tensor<16x8xf32>) -> tensor<16x8xf32>
    return %0 : tensor<16x8xf32>
  }
}

// -----

// Nothing is updated after the row is cut out.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @last
  // CHECK: sdy.return
  func.func @last(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%own: tensor<8x8xf32>) {
      %c0 = stablehlo.constant dense<0> : tensor<i64>
      %c3 = stablehlo.constant dense<3> : tensor<i64>
      %c7 = stablehlo.constant dense<7> : tensor<i64>
      %row = stablehlo.slice %own [4:5, 0:8] : (tensor<8x8xf32>) -> tensor<1x8xf32>
      %rows = stablehlo.slice %own [4:6, 0:8] : (tensor<8x8xf32>) -> tensor<2x8xf32>
      %new = stablehlo.dynamic_update_slice %own, %row, %c0, %c0 : (tensor<8x8xf32>, tensor<1x8xf32>, tensor<i64>, tensor<i64>) -> tensor<8x8xf32>
      %part = stablehlo.dynamic_slice %new, %c7, %c0, sizes = [1, 8] : (tensor<8x8xf32>, tensor<i64>, tensor<i64>) -> tensor<1x8xf32>
      %got = "stablehlo.collective_permute"(%part) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<1x8xf32>) -> tensor<1x8xf32>
      %wide = stablehlo.broadcast_in_dim %got, dims = [0, 1] : (tensor<1x8xf32>) -> tensor<8x8xf32>
      %sum = stablehlo.add %new, %wide : tensor<8x8xf32>
      sdy.return %sum : tensor<8x8xf32>
    } : (tensor<16x8xf32>) -> tensor<16x8xf32>
    return %0 : tensor<16x8xf32>
  }
}

// -----

// What is cut out is what is updated next, in one kernel.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @same_place
  // CHECK: sdy.return
  func.func @same_place(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%own: tensor<8x8xf32>) {
      %c0 = stablehlo.constant dense<0> : tensor<i64>
      %c3 = stablehlo.constant dense<3> : tensor<i64>
      %c7 = stablehlo.constant dense<7> : tensor<i64>
      %row = stablehlo.slice %own [4:5, 0:8] : (tensor<8x8xf32>) -> tensor<1x8xf32>
      %rows = stablehlo.slice %own [4:6, 0:8] : (tensor<8x8xf32>) -> tensor<2x8xf32>
      %new = stablehlo.dynamic_update_slice %own, %row, %c0, %c0 : (tensor<8x8xf32>, tensor<1x8xf32>, tensor<i64>, tensor<i64>) -> tensor<8x8xf32>
      %part = stablehlo.dynamic_slice %new, %c7, %c0, sizes = [1, 8] : (tensor<8x8xf32>, tensor<i64>, tensor<i64>) -> tensor<1x8xf32>
      %twice = stablehlo.add %part, %part : tensor<1x8xf32>
      %next = stablehlo.dynamic_update_slice %new, %twice, %c7, %c0 : (tensor<8x8xf32>, tensor<1x8xf32>, tensor<i64>, tensor<i64>) -> tensor<8x8xf32>
      sdy.return %next : tensor<8x8xf32>
    } : (tensor<16x8xf32>) -> tensor<16x8xf32>
    return %0 : tensor<16x8xf32>
  }
}
