// RUN: slimhlo-opt %s --split-input-file --slimhlo-print-memory="target=xla-cpu top=0 plain=true" 2>&1 >/dev/null | FileCheck %s

// Shards of 2 MiB. What is one element further needs one from the neighbour, a column: that and a device's own part are copied to be
// joined along rows, the second time where the result will be (XLA: 2097156).
// CHECK: memory: peak {{[0-9]+}} = {{.*}} + temporaries 2101248
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @main(%x: tensor<512x2048xf64> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<512x2048xf64> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f64>
    %0 = stablehlo.slice %x [0:512, 1:2048] : (tensor<512x2048xf64>) -> tensor<512x2047xf64>
    %1 = stablehlo.pad %0, %zero, low = [0, 0], high = [0, 1], interior = [0, 0] : (tensor<512x2047xf64>, tensor<f64>) -> tensor<512x2048xf64>
    return %1 : tensor<512x2048xf64>
  }
}

// -----

// A constant is padded by whoever needs it (XLA: 8196).
// CHECK: memory: peak {{[0-9]+}} = {{.*}} + temporaries 0
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @main(%x: tensor<512x2048xf64> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<512x2048xf64> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f64>
    %half = stablehlo.constant dense<0.5> : tensor<512x2046xf64>
    %0 = stablehlo.pad %half, %zero, low = [0, 2], high = [0, 0], interior = [0, 0] : (tensor<512x2046xf64>, tensor<f64>) -> tensor<512x2048xf64>
    %1 = stablehlo.add %x, %0 : tensor<512x2048xf64>
    return %1 : tensor<512x2048xf64>
  }
}

// -----

// An update of more than one shard: all devices get all of the array and of the update (XLA: 16777220).
// CHECK: memory: peak {{[0-9]+}} = {{.*}} + temporaries 16769024
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @main(%x: tensor<512x2048xf64> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<512x2048xf64> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c1 = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.slice %x [0:512, 2:2048] : (tensor<512x2048xf64>) -> tensor<512x2046xf64>
    %1 = stablehlo.slice %x [0:512, 0:2046] : (tensor<512x2048xf64>) -> tensor<512x2046xf64>
    %2 = stablehlo.subtract %0, %1 : tensor<512x2046xf64>
    %3 = stablehlo.dynamic_update_slice %x, %2, %c0, %c1 : (tensor<512x2048xf64>, tensor<512x2046xf64>, tensor<i32>, tensor<i32>) -> tensor<512x2048xf64>
    return %3 : tensor<512x2048xf64>
  }
}

// -----

// What is joined along a dimension that is cut is cut along another for that, and back (XLA: 4194432).
// CHECK: memory: peak {{[0-9]+}} = {{.*}} + temporaries 4194304
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @main(%x: tensor<512x2048xf64> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<512x2048xf64> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %edge = stablehlo.constant dense<0.0> : tensor<512x1xf64>
    %0 = stablehlo.slice %x [0:512, 2:2048] : (tensor<512x2048xf64>) -> tensor<512x2046xf64>
    %1 = stablehlo.slice %x [0:512, 0:2046] : (tensor<512x2048xf64>) -> tensor<512x2046xf64>
    %2 = stablehlo.subtract %0, %1 : tensor<512x2046xf64>
    %3 = stablehlo.concatenate %edge, %2, %edge, dim = 1 : (tensor<512x1xf64>, tensor<512x2046xf64>, tensor<512x1xf64>) -> tensor<512x2048xf64>
    return %3 : tensor<512x2048xf64>
  }
}
