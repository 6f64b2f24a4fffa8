// RUN: slimhlo-opt %s --split-input-file --slimhlo-optimize=target=xla-cpu | FileCheck %s

// What GSPMD does by itself comes out as it came, the words of its shardings included.
// CHECK-LABEL: func.func @main
// CHECK-SAME: mhlo.sharding = "{devices=[2,1]0,1}"
// CHECK-NEXT: stablehlo.custom_call @Sharding(%arg0) {mhlo.sharding = "{devices=[2,1]0,1}"}
// CHECK-NEXT: stablehlo.add
// CHECK-NEXT: return
module attributes {mhlo.num_partitions = 2 : i32} {
  func.func @main(%x: tensor<64x256xf32> {mhlo.sharding = "{devices=[2,1]0,1}"}) -> tensor<64x256xf32> {
    %0 = stablehlo.custom_call @Sharding(%x) {mhlo.sharding = "{devices=[2,1]0,1}"} : (tensor<64x256xf32>) -> tensor<64x256xf32>
    %1 = stablehlo.add %0, %0 : tensor<64x256xf32>
    return %1 : tensor<64x256xf32>
  }
}

// -----

// Devices in an order that no mesh has.
// CHECK-LABEL: func.func @main
// CHECK-NOT: SPMDFullToShardShape
// CHECK: stablehlo.dynamic_update_slice %arg0
// CHECK-NEXT: return
module attributes {mhlo.num_partitions = 4 : i32} {
  func.func @main(%x: tensor<64x256xf32> {mhlo.sharding = "{devices=[1,4]0,1,3,2}"}) -> (tensor<64x256xf32> {mhlo.sharding = "{devices=[1,4]0,1,3,2}"}) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %east = stablehlo.slice %x [0:64, 240:248] {mhlo.sharding = "{devices=[1,4]0,1,3,2}"} : (tensor<64x256xf32>) -> tensor<64x8xf32>
    %r = stablehlo.dynamic_update_slice %x, %east, %zero, %zero {mhlo.sharding = "{devices=[1,4]0,1,3,2}"} : (tensor<64x256xf32>, tensor<64x8xf32>, tensor<i32>, tensor<i32>) -> tensor<64x256xf32>
    return %r : tensor<64x256xf32>
  }
}

// -----

// A dimension that a constraint leaves open.
// CHECK-LABEL: func.func @main
// CHECK-NOT: SPMDFullToShardShape
// CHECK: stablehlo.dynamic_update_slice
// CHECK-NEXT: return
module attributes {mhlo.num_partitions = 2 : i32} {
  func.func @main(%x: tensor<64x256xf32> {mhlo.sharding = "{devices=[1,2]<=[2]}"}) -> tensor<64x256xf32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.custom_call @Sharding(%x) {backend_config = "unspecified_dims=[0]", mhlo.sharding = "{devices=[1,2]<=[2]}"} : (tensor<64x256xf32>) -> tensor<64x256xf32>
    %east = stablehlo.slice %0 [0:64, 240:248] {mhlo.sharding = "{devices=[1,2]<=[2]}"} : (tensor<64x256xf32>) -> tensor<64x8xf32>
    %r = stablehlo.dynamic_update_slice %0, %east, %zero, %zero {mhlo.sharding = "{devices=[1,2]<=[2]}"} : (tensor<64x256xf32>, tensor<64x8xf32>, tensor<i32>, tensor<i32>) -> tensor<64x256xf32>
    return %r : tensor<64x256xf32>
  }
}
