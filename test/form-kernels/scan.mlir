// RUN: slimhlo-opt %s --slimhlo-form-kernels --split-input-file | FileCheck %s

// A recurrence is a loop: inputs are read where they are, outputs are written in place, a slice at a time.

// CHECK-LABEL: func.func @main
// CHECK: stablehlo.while
// CHECK: func.call @dynamic_update_slice
// CHECK: stablehlo.return
// CHECK: slimhlo.in_place = array<i64: {{[0-9]}}>, slimhlo.kernel = "update"
func.func @main(%x: tensor<50x3xf32>, %z: tensor<3xf32>) -> (tensor<50x3xf32>, tensor<3xf32>) {
  %0:2 = chlo.scan(%x) inits (%z) dimension=0 {
  ^bb0(%a: tensor<3xf32>, %b: tensor<3xf32>):
    %1 = stablehlo.multiply %a, %b : tensor<3xf32>
    %2 = stablehlo.add %1, %a : tensor<3xf32>
    stablehlo.return %2, %2 : tensor<3xf32>, tensor<3xf32>
  } : (tensor<50x3xf32>, tensor<3xf32>) -> (tensor<50x3xf32>, tensor<3xf32>)
  return %0#0, %0#1 : tensor<50x3xf32>, tensor<3xf32>
}

// -----

// From the last slice on.

// CHECK-LABEL: func.func @main
// CHECK: stablehlo.while
// CHECK: %[[LAST:[^ ]*]] = stablehlo.constant dense<49> : tensor<i32>
// CHECK: stablehlo.subtract %[[LAST]], %
func.func @main(%x: tensor<3x50xf32>, %z: tensor<3xf32>) -> tensor<3xf32> {
  %0 = "chlo.scan"(%x, %z) <{dimension = 1 : i64, is_reverse = true, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 0, 1>}> ({
  ^bb0(%a: tensor<3xf32>, %b: tensor<3xf32>):
    %1 = stablehlo.multiply %a, %b : tensor<3xf32>
    %2 = stablehlo.add %1, %a : tensor<3xf32>
    stablehlo.return %2 : tensor<3xf32>
  }) : (tensor<3x50xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

// Recurrences within recurrences, over as many steps as are given.

// CHECK-LABEL: func.func @main
// CHECK: stablehlo.while
// CHECK: stablehlo.while
// CHECK-NOT: chlo.scan
func.func @main(%x: tensor<4x6xf32>, %z: tensor<f32>) -> tensor<5x4xf32> {
  %0:2 = "chlo.scan"(%z) <{dimension = 0 : i64, scan_dim_size = 5 : i64, operandSegmentSizes = array<i32: 0, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%b: tensor<f32>):
    %c = stablehlo.constant dense<1.0> : tensor<4xf32>
    %1 = stablehlo.broadcast_in_dim %b, dims = [] : (tensor<f32>) -> tensor<4x6xf32>
    %2 = "chlo.scan"(%1, %c) <{dimension = 1 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 0, 1>}> ({
    ^bb0(%d: tensor<4xf32>, %e: tensor<4xf32>):
      %3 = stablehlo.multiply %d, %e : tensor<4xf32>
      stablehlo.return %3 : tensor<4xf32>
    }) : (tensor<4x6xf32>, tensor<4xf32>) -> tensor<4xf32>
    %4 = stablehlo.sine %b : tensor<f32>
    stablehlo.return %2, %4 : tensor<4xf32>, tensor<f32>
  }) : (tensor<f32>) -> (tensor<5x4xf32>, tensor<f32>)
  return %0#0 : tensor<5x4xf32>
}
