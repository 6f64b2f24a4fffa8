// RUN: slimhlo-opt %s --slimhlo-emit-gpu | FileCheck %s

// The transpose is where an element is read.
// CHECK-LABEL: gpu.func @transpose
// CHECK: scf.for %[[AT:[a-z0-9]+]] =
// CHECK: %[[COLUMN:[0-9]+]] = arith.remui %[[AT]], %c6_i32
// CHECK: %[[ROW:[0-9]+]] = arith.divui %[[AT]], %c6_i32
// CHECK: %[[SCALED:[0-9]+]] = arith.muli %[[COLUMN]], %c4_i32
// CHECK: arith.addi %[[SCALED]], %[[ROW]]
func.func private @transpose(%x: tensor<6x4xf32>) -> tensor<4x6xf32> attributes {slimhlo.kernel = "map"} {
  %r = stablehlo.transpose %x, dims = [1, 0] : (tensor<6x4xf32>) -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}

// A reshape of an element known by its position needs no division.
// CHECK-LABEL: gpu.func @reshape
// CHECK-NOT: arith.divui
// CHECK-NOT: arith.remui
// CHECK: gpu.return
func.func private @reshape(%x: tensor<6x4xf32>) -> tensor<3x8xf32> attributes {slimhlo.kernel = "map"} {
  %r = stablehlo.reshape %x : (tensor<6x4xf32>) -> tensor<3x8xf32>
  return %r : tensor<3x8xf32>
}

// Cheap sources are read in any case, within their buffers, and one is chosen: no branch.
// CHECK-LABEL: gpu.func @pad
// CHECK: arith.cmpi ult
// CHECK: arith.minui
// CHECK: llvm.load
// CHECK: arith.select
// CHECK-NOT: scf.if
// CHECK: gpu.return
func.func private @pad(%x: tensor<5xf32>) -> tensor<9xf32> attributes {slimhlo.kernel = "map"} {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.pad %x, %zero, low = [1], high = [3], interior = [0] : (tensor<5xf32>, tensor<f32>) -> tensor<9xf32>
  return %r : tensor<9xf32>
}

// Dear ones are computed in branches.
// CHECK-LABEL: gpu.func @dear
// CHECK: scf.if
// CHECK: scf.for
// CHECK: scf.yield
// CHECK: else
// CHECK: gpu.return
func.func private @dear(%x: tensor<5x64xf32>) -> tensor<9xf32> attributes {slimhlo.kernel = "map"} {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<5x64xf32>, tensor<f32>) -> tensor<5xf32>
  %r = stablehlo.pad %s, %zero, low = [1], high = [3], interior = [0] : (tensor<5xf32>, tensor<f32>) -> tensor<9xf32>
  return %r : tensor<9xf32>
}

// Starts are clamped: 0 to 6 here.
// CHECK-LABEL: gpu.func @dynamic_slice
// CHECK: %[[START:[0-9]+]] = llvm.load
// CHECK: %[[WIDE:[0-9]+]] = arith.extsi %[[START]] : i8 to i32
// CHECK: %[[LOW:[0-9]+]] = arith.maxsi %[[WIDE]], %c0_i32
// CHECK: arith.minsi %[[LOW]], %c6_i32
func.func private @dynamic_slice(%x: tensor<10xf32>, %i: tensor<i8>) -> tensor<4xf32> attributes {slimhlo.kernel = "map"} {
  %r = stablehlo.dynamic_slice %x, %i, sizes = [4] : (tensor<10xf32>, tensor<i8>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// Unsigned indices of a gather as well; the index is read, clamped and used in registers.
// CHECK-LABEL: gpu.func @gather
// CHECK: %[[INDEX:[0-9]+]] = llvm.load
// CHECK: %[[HELD:[0-9]+]] = arith.minui %[[INDEX]], %c9_i32
// CHECK: llvm.getelementptr %{{[a-z0-9]+}}[%[[HELD]]]
func.func private @gather(%x: tensor<10xf32>, %i: tensor<7x1xui32>) -> tensor<7xf32> attributes {slimhlo.kernel = "map"} {
  %r = "stablehlo.gather"(%x, %i) {
    dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1>
  } : (tensor<10xf32>, tensor<7x1xui32>) -> tensor<7xf32>
  return %r : tensor<7xf32>
}

// A constant that is none of its kind is a table of the module.
// CHECK: llvm.mlir.global internal constant @table_table0(dense<[1, 2, 4]> : tensor<3xi32>)
// CHECK-LABEL: gpu.func @table
// CHECK: llvm.mlir.addressof @table_table0
func.func private @table(%x: tensor<3xi32>) -> tensor<3xi32> attributes {slimhlo.kernel = "map"} {
  %c = stablehlo.constant dense<[1, 2, 4]> : tensor<3xi32>
  %r = stablehlo.add %x, %c : tensor<3xi32>
  return %r : tensor<3xi32>
}
