// RUN: slimhlo-opt %s --slimhlo-inplace-updates=min-bytes=1 --split-input-file | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-inplace-updates=min-bytes=1 --slimhlo-inplace-updates=min-bytes=1 --split-input-file | FileCheck %s

// A halo by concatenation is the array, updated: the second edge is read after the first update.
// CHECK-LABEL: func @periodic
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<6x24xf32>
// CHECK: %[[WEST:.*]] = stablehlo.slice %[[X]] [0:6, 20:22]
// CHECK: %[[X1:.*]] = stablehlo.dynamic_update_slice %[[X]], %[[WEST]],
// CHECK: %[[EAST:.*]] = stablehlo.slice %[[X1]] [0:6, 2:4]
// CHECK: %[[X2:.*]] = stablehlo.dynamic_update_slice %[[X1]], %[[EAST]],
// CHECK-NOT: concatenate
// CHECK: return %[[X2]]
func.func @periodic(%x: tensor<6x24xf32> {tf.aliasing_output = 0 : i32}) -> tensor<6x24xf32> {
  %west = stablehlo.slice %x [0:6, 20:22] : (tensor<6x24xf32>) -> tensor<6x2xf32>
  %own = stablehlo.slice %x [0:6, 2:22] : (tensor<6x24xf32>) -> tensor<6x20xf32>
  %east = stablehlo.slice %x [0:6, 2:4] : (tensor<6x24xf32>) -> tensor<6x2xf32>
  %r = stablehlo.concatenate %west, %own, %east, dim = 1 : (tensor<6x2xf32>, tensor<6x20xf32>, tensor<6x2xf32>) -> tensor<6x24xf32>
  return %r : tensor<6x24xf32>
}

// As jnp.pad writes it: edges are parts of the part that stays.
// CHECK-LABEL: func @wrapped
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<24xf32>
// CHECK: %[[WEST:.*]] = stablehlo.slice %[[X]] [20:22]
// CHECK: %[[X1:.*]] = stablehlo.dynamic_update_slice %[[X]], %[[WEST]],
// CHECK: %[[EAST:.*]] = stablehlo.slice %[[X1]] [2:4]
// CHECK: stablehlo.dynamic_update_slice %[[X1]], %[[EAST]],
// CHECK-NOT: concatenate
func.func @wrapped(%x: tensor<24xf32> {tf.aliasing_output = 0 : i32}) -> tensor<24xf32> {
  %own = stablehlo.slice %x [2:22] : (tensor<24xf32>) -> tensor<20xf32>
  %west = stablehlo.slice %own [18:20] : (tensor<20xf32>) -> tensor<2xf32>
  %east = stablehlo.slice %own [0:2] : (tensor<20xf32>) -> tensor<2xf32>
  %r = stablehlo.concatenate %west, %own, %east, dim = 0 : (tensor<2xf32>, tensor<20xf32>, tensor<2xf32>) -> tensor<24xf32>
  return %r : tensor<24xf32>
}

// -----

// In a manual computation that takes the shards of a donated argument.
// CHECK-LABEL: func @shards
// CHECK: sdy.manual_computation
// CHECK-NOT: concatenate
// CHECK: stablehlo.dynamic_update_slice
// CHECK: sdy.return
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @shards(%x: tensor<12x24xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, tf.aliasing_output = 0 : i32}) -> (tensor<12x24xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%y: tensor<6x24xf32>) {
      %own = stablehlo.slice %y [0:6, 0:22] : (tensor<6x24xf32>) -> tensor<6x22xf32>
      %east = stablehlo.slice %y [0:6, 0:2] : (tensor<6x24xf32>) -> tensor<6x2xf32>
      %r = stablehlo.concatenate %own, %east, dim = 1 : (tensor<6x22xf32>, tensor<6x2xf32>) -> tensor<6x24xf32>
      sdy.return %r : tensor<6x24xf32>
    } : (tensor<12x24xf32>) -> tensor<12x24xf32>
    return %0 : tensor<12x24xf32>
  }
}

// -----

// Not donated: there is a copy anyway.
// CHECK-LABEL: func @not_donated
// CHECK: stablehlo.concatenate
func.func @not_donated(%x: tensor<24xf32>) -> tensor<24xf32> {
  %own = stablehlo.slice %x [2:24] : (tensor<24xf32>) -> tensor<22xf32>
  %west = stablehlo.slice %x [20:22] : (tensor<24xf32>) -> tensor<2xf32>
  %r = stablehlo.concatenate %west, %own, dim = 0 : (tensor<2xf32>, tensor<22xf32>) -> tensor<24xf32>
  return %r : tensor<24xf32>
}

// The array as it was is needed afterwards.
// CHECK-LABEL: func @needed
// CHECK: stablehlo.concatenate
func.func @needed(%x: tensor<24xf32> {tf.aliasing_output = 0 : i32}) -> tensor<24xf32> {
  %own = stablehlo.slice %x [2:24] : (tensor<24xf32>) -> tensor<22xf32>
  %west = stablehlo.slice %x [20:22] : (tensor<24xf32>) -> tensor<2xf32>
  %r = stablehlo.concatenate %west, %own, dim = 0 : (tensor<2xf32>, tensor<22xf32>) -> tensor<24xf32>
  %s = stablehlo.subtract %r, %x : tensor<24xf32>
  return %s : tensor<24xf32>
}

// A shift: no part is where it was.
// CHECK-LABEL: func @shift
// CHECK: stablehlo.concatenate
func.func @shift(%x: tensor<24xf32> {tf.aliasing_output = 0 : i32}) -> tensor<24xf32> {
  %own = stablehlo.slice %x [1:24] : (tensor<24xf32>) -> tensor<23xf32>
  %first = stablehlo.slice %x [0:1] : (tensor<24xf32>) -> tensor<1xf32>
  %r = stablehlo.concatenate %own, %first, dim = 0 : (tensor<23xf32>, tensor<1xf32>) -> tensor<24xf32>
  return %r : tensor<24xf32>
}

// Most of it is new.
// CHECK-LABEL: func @little_stays
// CHECK: stablehlo.concatenate
func.func @little_stays(%x: tensor<24xf32> {tf.aliasing_output = 0 : i32}, %y: tensor<16xf32>) -> tensor<24xf32> {
  %own = stablehlo.slice %x [0:8] : (tensor<24xf32>) -> tensor<8xf32>
  %r = stablehlo.concatenate %own, %y, dim = 0 : (tensor<8xf32>, tensor<16xf32>) -> tensor<24xf32>
  return %r : tensor<24xf32>
}

// Back ends widen what is narrower for an update.
// CHECK-LABEL: func @narrow
// CHECK: stablehlo.concatenate
func.func @narrow(%x: tensor<24xbf16> {tf.aliasing_output = 0 : i32}) -> tensor<24xbf16> {
  %own = stablehlo.slice %x [2:24] : (tensor<24xbf16>) -> tensor<22xbf16>
  %west = stablehlo.slice %x [20:22] : (tensor<24xbf16>) -> tensor<2xbf16>
  %r = stablehlo.concatenate %west, %own, dim = 0 : (tensor<2xbf16>, tensor<22xbf16>) -> tensor<24xbf16>
  return %r : tensor<24xbf16>
}
