// RUN: slimhlo-opt %s --slimhlo-simplify --split-input-file | FileCheck %s

// What one device holds is laid out in one way.
module attributes {mhlo.num_partitions = 1 : i32} {
  sdy.mesh @mesh = <["x"=1]>
  // CHECK-LABEL: func @constraint
  // CHECK-NEXT: stablehlo.sine %arg0
  func.func @constraint(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = sdy.sharding_constraint %x <@mesh, [{"x"}]> : tensor<4xf32>
    %1 = stablehlo.sine %0 : tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}

// -----

// Of two partitions each gets a part; and where nobody says how many there are, there may be any number.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func @two
  // CHECK: sdy.sharding_constraint
  func.func @two(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = sdy.sharding_constraint %x <@mesh, [{"x"}]> : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

module {
  sdy.mesh @mesh = <["x"=1]>
  // CHECK-LABEL: func @nobody_says
  // CHECK: sdy.sharding_constraint
  func.func @nobody_says(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = sdy.sharding_constraint %x <@mesh, [{"x"}]> : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// What is in a manual computation is one device's: slices of slices are one there, and stay as they are outside.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func @inside
  // CHECK: stablehlo.slice %{{.*}} [3:7]
  // CHECK-NEXT: sdy.return
  // CHECK: stablehlo.slice
  // CHECK: stablehlo.slice
  func.func @inside(%x: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<4xf32> {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%own: tensor<8xf32>) {
      %a = stablehlo.slice %own [2:8] : (tensor<8xf32>) -> tensor<6xf32>
      %b = stablehlo.slice %a [1:5] : (tensor<6xf32>) -> tensor<4xf32>
      sdy.return %b : tensor<4xf32>
    } : (tensor<16xf32>) -> tensor<8xf32>
    %1 = stablehlo.slice %0 [2:8] : (tensor<8xf32>) -> tensor<6xf32>
    %2 = stablehlo.slice %1 [1:5] : (tensor<6xf32>) -> tensor<4xf32>
    return %2 : tensor<4xf32>
  }
}
