// What devices exchange, and have of each value, in programs for four of them; XLA for an H100 (`referee.py --target h100`).
// RUN: slimhlo-opt %s --split-input-file --slimhlo-print-memory="target=h100 plain=true top=0" -o /dev/null 2>&1 | FileCheck %s

// A gradient of weights: each device makes sums of its part of the batch, and they are added up where they lie. 0 bytes, 200.8 us, an all-reduce.
// CHECK: temporaries 0
// CHECK: time 191.1 us, 2 launches
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @main(%x: tensor<16384x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %g: tensor<16384x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<2048x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %s = stablehlo.sine %g : tensor<16384x2048xf32>
    %0 = stablehlo.dot_general %x, %s, contracting_dims = [0] x [0] : (tensor<16384x2048xf32>, tensor<16384x2048xf32>) -> tensor<2048x2048xf32>
    return %0 : tensor<2048x2048xf32>
  }
}

// -----

// Of which each keeps a part: all sums are there before. 16777488 bytes, 182.2 us, a reduce-scatter.
// CHECK: temporaries 16777216
// CHECK: time 165.7 us, 2 launches
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @main(%x: tensor<16384x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %g: tensor<16384x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<2048x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %s = stablehlo.sine %g : tensor<16384x2048xf32>
    %0 = stablehlo.dot_general %x, %s, contracting_dims = [0] x [0] : (tensor<16384x2048xf32>, tensor<16384x2048xf32>) -> tensor<2048x2048xf32>
    return %0 : tensor<2048x2048xf32>
  }
}

// -----

// Weights that are cut along the axis that the batch is, as FSDP has them, are gathered: 67109120 bytes, 502.8 us, an all-gather.
// CHECK: temporaries 67108864
// CHECK: time 503.0 us, 3 launches
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @main(%x: tensor<16384x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %w: tensor<2048x8192xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16384x8192xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %s = stablehlo.sine %w : tensor<2048x8192xf32>
    %0 = stablehlo.dot_general %x, %s, contracting_dims = [1] x [0] : (tensor<16384x2048xf32>, tensor<2048x8192xf32>) -> tensor<16384x8192xf32>
    return %0 : tensor<16384x8192xf32>
  }
}

// -----

// Hidden units that are cut: the second product is a part of the sums on each device. 33554432 bytes, 339.9 us, an all-reduce.
// CHECK: temporaries 33554432
// CHECK: time 320.0 us, 4 launches
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @main(%x: tensor<4096x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, %u: tensor<2048x8192xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %v: tensor<8192x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<4096x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = stablehlo.dot_general %x, %u, contracting_dims = [1] x [0] : (tensor<4096x2048xf32>, tensor<2048x8192xf32>) -> tensor<4096x8192xf32>
    %1 = stablehlo.sine %0 : tensor<4096x8192xf32>
    %2 = stablehlo.dot_general %1, %v, contracting_dims = [1] x [0] : (tensor<4096x8192xf32>, tensor<8192x2048xf32>) -> tensor<4096x2048xf32>
    %3 = stablehlo.cosine %2 : tensor<4096x2048xf32>
    return %3 : tensor<4096x2048xf32>
  }
}

// -----

// A batch stays cut through convolutions and through reshapes that take other dimensions into it: 33701904 bytes, 40.6 us.
// CHECK: temporaries 33701888
// CHECK: time 41.7 us, 3 launches
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @main(%x: tensor<512x32x32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}, {}]>}, %w: tensor<3x3x64x64xf32>) -> (tensor<512x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<512x32x32x64xf32>, tensor<3x3x64x64xf32>) -> tensor<512x32x32x64xf32>
    %1 = stablehlo.reshape %0 : (tensor<512x32x32x64xf32>) -> tensor<16384x32x64xf32>
    %2 = stablehlo.sine %1 : tensor<16384x32x64xf32>
    %3 = stablehlo.reshape %2 : (tensor<16384x32x64xf32>) -> tensor<512x1024x64xf32>
    %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<512x1024x64xf32>, tensor<f32>) -> tensor<512x64xf32>
    return %4 : tensor<512x64xf32>
  }
}

// -----

// Cut along another dimension by the same axis: each hands on what it has, and nobody has all of it. 8388608 bytes, 46.6 us with a transpose, an all-to-all.
// CHECK: temporaries 8388608
// CHECK: time 39.4 us, 3 launches
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @main(%x: tensor<4096x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<4096x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %0 = stablehlo.sine %x : tensor<4096x2048xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{}, {"x"}]> : tensor<4096x2048xf32>
    %2 = stablehlo.cosine %1 : tensor<4096x2048xf32>
    return %2 : tensor<4096x2048xf32>
  }
}
