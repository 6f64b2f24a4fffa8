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

// Outside of a manual computation an element to decide by would have to be sent to all.
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
