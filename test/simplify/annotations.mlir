// RUN: slimhlo-opt %s --slimhlo-simplify --split-input-file --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

// Attributes and the location move to what is made in an op's place.
// CHECK-LABEL: func.func @moved
func.func @moved(%x: tensor<20xf32>) -> tensor<3xf32> {
  // CHECK: stablehlo.slice %arg0 [3:6] {mhlo.frontend_attributes = {_who = "user"}} : (tensor<20xf32>) -> tensor<3xf32> loc("outer")
  %0 = stablehlo.slice %x [2:10] : (tensor<20xf32>) -> tensor<8xf32> loc("inner")
  %1 = stablehlo.slice %0 [1:4] {mhlo.frontend_attributes = {_who = "user"}} : (tensor<8xf32>) -> tensor<3xf32> loc("outer")
  return %1 : tensor<3xf32>
}

// What would be lost is left alone.
// CHECK-LABEL: func.func @lost
func.func @lost(%x: tensor<20xf32>, %y: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  // CHECK: stablehlo.slice {{.*}}[2:10] {mhlo.sharding = "{replicated}"}
  // CHECK: stablehlo.slice {{.*}}[1:4]
  // CHECK: stablehlo.multiply {{.*}}{mhlo.sharding = "{replicated}"}
  %one = stablehlo.constant dense<1.0> : tensor<3xf32>
  %0 = stablehlo.slice %x [2:10] {mhlo.sharding = "{replicated}"} : (tensor<20xf32>) -> tensor<8xf32>
  %1 = stablehlo.slice %0 [1:4] : (tensor<8xf32>) -> tensor<3xf32>
  %2 = stablehlo.multiply %y, %one {mhlo.sharding = "{replicated}"} : tensor<3xf32>
  return %1, %2 : tensor<3xf32>, tensor<3xf32>
}

// -----

// For several partitions slices stay what they are; reshapes of reshapes do not.
// CHECK-LABEL: module attributes {mhlo.num_partitions = 2 : i32}
module attributes {mhlo.num_partitions = 2 : i32} {
  func.func @main(%x: tensor<20xf32>) -> (tensor<3xf32>, tensor<20x1xf32>) {
    // CHECK: stablehlo.slice {{.*}}[2:10]
    // CHECK: stablehlo.slice {{.*}}[1:4]
    // CHECK: stablehlo.reshape %arg0
    %0 = stablehlo.slice %x [2:10] : (tensor<20xf32>) -> tensor<8xf32>
    %1 = stablehlo.slice %0 [1:4] : (tensor<8xf32>) -> tensor<3xf32>
    %2 = stablehlo.reshape %x : (tensor<20xf32>) -> tensor<4x5xf32>
    %3 = stablehlo.reshape %2 : (tensor<4x5xf32>) -> tensor<20x1xf32>
    return %1, %3 : tensor<3xf32>, tensor<20x1xf32>
  }
}

// -----

// CHECK-LABEL: func.func @dynamic
func.func @dynamic(%x: tensor<?xf32>) -> tensor<3xf32> {
  // CHECK: stablehlo.slice {{.*}}[2:10]
  // CHECK: stablehlo.slice {{.*}}[1:4]
  %0 = stablehlo.slice %x [2:10] : (tensor<?xf32>) -> tensor<8xf32>
  %1 = stablehlo.slice %0 [1:4] : (tensor<8xf32>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}
