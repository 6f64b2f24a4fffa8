// RUN: slimhlo-opt %s --slimhlo-hold-shared --split-input-file | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-hold-shared --slimhlo-hold-shared --split-input-file | FileCheck %s

// 14 columns along two axes are 4, 4, 4 and 2; at the program's boundary they are 7 and 7, along one axis: a column moves, and
// what is there is gathered. The difference is read for both, and stored once for them.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  // CHECK-LABEL: func.func @main
  // CHECK: %[[DIFFERENCE:.*]] = stablehlo.subtract
  // CHECK: %[[HELD:.*]] = "stablehlo.if"
  // CHECK: stablehlo.optimization_barrier %[[DIFFERENCE]]
  // CHECK: sdy.return %[[HELD]]
  func.func @main(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x", "y"}]>}) -> (tensor<8x14xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x", "y"}]>}) {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{}, {"x", "y"}]>] out_shardings=[<@mesh, [{}, {"x", "y"}]>] manual_axes={"x", "y"} (%own: tensor<8x4xf32>) {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %east = stablehlo.pad %own, %zero, low = [0, -1], high = [0, 1], interior = [0, 0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
      %west = stablehlo.pad %own, %zero, low = [0, 1], high = [0, -1], interior = [0, 0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
      %difference = stablehlo.subtract %east, %west : tensor<8x4xf32>
      sdy.return %difference : tensor<8x4xf32>
    } : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %1 = stablehlo.slice %0 [0:8, 0:14] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x", "y"}]>]>} : (tensor<8x16xf32>) -> tensor<8x14xf32>
    return %1 : tensor<8x14xf32>
  }
}

// -----

// 15 columns are gathered as they lie, and 12 are 3 on each device in any case.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  // CHECK-LABEL: func.func @main
  // CHECK-NOT: stablehlo.if
  // CHECK: return
  func.func @main(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x", "y"}]>}) -> (tensor<8x15xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x", "y"}]>}) {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{}, {"x", "y"}]>] out_shardings=[<@mesh, [{}, {"x", "y"}]>] manual_axes={"x", "y"} (%own: tensor<8x4xf32>) {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %east = stablehlo.pad %own, %zero, low = [0, -1], high = [0, 1], interior = [0, 0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
      %west = stablehlo.pad %own, %zero, low = [0, 1], high = [0, -1], interior = [0, 0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
      %difference = stablehlo.subtract %east, %west : tensor<8x4xf32>
      sdy.return %difference : tensor<8x4xf32>
    } : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %1 = stablehlo.slice %0 [0:8, 0:15] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x", "y"}]>]>} : (tensor<8x16xf32>) -> tensor<8x15xf32>
    return %1 : tensor<8x15xf32>
  }
}

// -----

module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  // CHECK-LABEL: func.func @main
  // CHECK-NOT: stablehlo.if
  // CHECK: return
  func.func @main(%x: tensor<8x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x", "y"}]>}) -> (tensor<8x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x", "y"}]>}) {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{}, {"x", "y"}]>] out_shardings=[<@mesh, [{}, {"x", "y"}]>] manual_axes={"x", "y"} (%own: tensor<8x3xf32>) {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %east = stablehlo.pad %own, %zero, low = [0, -1], high = [0, 1], interior = [0, 0] : (tensor<8x3xf32>, tensor<f32>) -> tensor<8x3xf32>
      %west = stablehlo.pad %own, %zero, low = [0, 1], high = [0, -1], interior = [0, 0] : (tensor<8x3xf32>, tensor<f32>) -> tensor<8x3xf32>
      %difference = stablehlo.subtract %east, %west : tensor<8x3xf32>
      sdy.return %difference : tensor<8x3xf32>
    } : (tensor<8x12xf32>) -> tensor<8x12xf32>
    return %0 : tensor<8x12xf32>
  }
}

// -----

// A difference that is returned, and read twice outside of the computation without what is beyond its ends. Once is no reason.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  // CHECK-LABEL: func.func @main
  // CHECK: %[[DIFFERENCE:.*]] = stablehlo.subtract
  // CHECK: %[[HELD:.*]] = "stablehlo.if"
  // CHECK: stablehlo.optimization_barrier %[[DIFFERENCE]]
  // CHECK: %[[SUM:.*]] = stablehlo.add
  // CHECK: sdy.return %[[HELD]], %[[SUM]]
  func.func @main(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x", "y"}]>}) -> (tensor<6x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x", "y"}]>}, tensor<6x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x", "y"}]>}) {
    %0:2 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{}, {"x", "y"}]>] out_shardings=[<@mesh, [{}, {"x", "y"}]>, <@mesh, [{}, {"x", "y"}]>] manual_axes={"x", "y"} (%own: tensor<8x4xf32>) {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %east = stablehlo.pad %own, %zero, low = [0, -1], high = [0, 1], interior = [0, 0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
      %west = stablehlo.pad %own, %zero, low = [0, 1], high = [0, -1], interior = [0, 0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
      %difference = stablehlo.subtract %east, %west : tensor<8x4xf32>
      %far = stablehlo.pad %own, %zero, low = [0, -2], high = [0, 2], interior = [0, 0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
      %near = stablehlo.pad %own, %zero, low = [0, 2], high = [0, -2], interior = [0, 0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
      %sum = stablehlo.add %far, %near : tensor<8x4xf32>
      sdy.return %difference, %sum : tensor<8x4xf32>, tensor<8x4xf32>
    } : (tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
    %1 = stablehlo.slice %0#0 [0:7, 0:16] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x", "y"}]>]>} : (tensor<8x16xf32>) -> tensor<7x16xf32>
    %2 = stablehlo.slice %1 [1:7, 0:16] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x", "y"}]>]>} : (tensor<7x16xf32>) -> tensor<6x16xf32>
    %3 = stablehlo.slice %1 [0:6, 0:16] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x", "y"}]>]>} : (tensor<7x16xf32>) -> tensor<6x16xf32>
    %4 = stablehlo.subtract %2, %3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x", "y"}]>]>} : tensor<6x16xf32>
    %5 = stablehlo.slice %0#1 [2:8, 0:16] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x", "y"}]>]>} : (tensor<8x16xf32>) -> tensor<6x16xf32>
    return %4, %5 : tensor<6x16xf32>, tensor<6x16xf32>
  }
}
