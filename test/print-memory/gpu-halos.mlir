// What partitioners make of parts of sharded fields: neighbours send the halos, and what reads the part joins them to what it has. Four
// devices; XLA for an H100 (`referee.py --target h100`).
// RUN: slimhlo-opt %s --split-input-file --slimhlo-print-memory="target=h100 plain=true top=0" -o /dev/null 2>&1 | FileCheck %s

// A stencil: a row or a column from each side, 340 KiB in all. 349956 bytes, 64.0 us, 4 collective-permutes.
// CHECK: temporaries 348384
// CHECK: time 65.0 us, 9 launches
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["y"=2, "x"=2]>
  func.func @main(%a: tensor<38x384x768xf64> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {"x"}]>}) -> (tensor<38x378x762xf64> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {"x"}]>}) {
    %0 = stablehlo.slice %a [0:38, 3:381, 3:765] : (tensor<38x384x768xf64>) -> tensor<38x378x762xf64>
    %1 = stablehlo.slice %a [0:38, 2:380, 3:765] : (tensor<38x384x768xf64>) -> tensor<38x378x762xf64>
    %2 = stablehlo.slice %a [0:38, 4:382, 3:765] : (tensor<38x384x768xf64>) -> tensor<38x378x762xf64>
    %3 = stablehlo.slice %a [0:38, 3:381, 2:764] : (tensor<38x384x768xf64>) -> tensor<38x378x762xf64>
    %4 = stablehlo.slice %a [0:38, 3:381, 4:766] : (tensor<38x384x768xf64>) -> tensor<38x378x762xf64>
    %5 = stablehlo.add %0, %1 : tensor<38x378x762xf64>
    %6 = stablehlo.add %5, %2 : tensor<38x378x762xf64>
    %7 = stablehlo.add %6, %3 : tensor<38x378x762xf64>
    %8 = stablehlo.add %7, %4 : tensor<38x378x762xf64>
    %9 = stablehlo.multiply %8, %8 : tensor<38x378x762xf64>
    return %9 : tensor<38x378x762xf64>
  }
}

// -----

// The inside, and padded again: all devices have what they need. 4 bytes, 23.2 us.
// CHECK: temporaries 0
// CHECK: time 23.4 us, 1 launches
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["y"=2, "x"=2]>
  func.func @main(%a: tensor<38x384x768xf64> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {"x"}]>}, %b: tensor<38x384x768xf64> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {"x"}]>}) -> (tensor<38x384x768xf64> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {"x"}]>}) {
    %z = stablehlo.constant dense<0.0> : tensor<f64>
    %0 = stablehlo.slice %a [0:38, 3:381, 3:765] : (tensor<38x384x768xf64>) -> tensor<38x378x762xf64>
    %1 = stablehlo.pad %0, %z, low = [0, 3, 3], high = [0, 3, 3], interior = [0, 0, 0] : (tensor<38x378x762xf64>, tensor<f64>) -> tensor<38x384x768xf64>
    %2 = stablehlo.multiply %1, %b : tensor<38x384x768xf64>
    return %2 : tensor<38x384x768xf64>
  }
}

// -----

// Every other element of a shard is on the device that needs it. 0 bytes, 6.6 us.
// CHECK: temporaries 0
// CHECK: time 6.6 us, 1 launches
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["y"=2, "x"=2]>
  func.func @main(%a: tensor<38x384x768xf64> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {"x"}]>}) -> (tensor<38x192x384xf64> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {"x"}]>}) {
    %0 = stablehlo.slice %a [0:38, 0:384:2, 0:768:2] : (tensor<38x384x768xf64>) -> tensor<38x192x384xf64>
    %1 = stablehlo.slice %a [0:38, 1:384:2, 1:768:2] : (tensor<38x384x768xf64>) -> tensor<38x192x384xf64>
    %2 = stablehlo.add %0, %1 : tensor<38x192x384xf64>
    return %2 : tensor<38x192x384xf64>
  }
}

// -----

// A rotation by two columns, which partitioners know by its two slices. 116736 bytes, 35.9 us, a collective-permute.
// CHECK: temporaries 116736
// CHECK: time 35.9 us, 3 launches
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["y"=2, "x"=2]>
  func.func @main(%a: tensor<38x384x768xf64> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {"x"}]>}, %b: tensor<38x384x768xf64> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {"x"}]>}) -> (tensor<38x384x768xf64> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {"x"}]>}) {
    %0 = stablehlo.slice %a [0:38, 0:384, 2:768] : (tensor<38x384x768xf64>) -> tensor<38x384x766xf64>
    %1 = stablehlo.slice %a [0:38, 0:384, 0:2] : (tensor<38x384x768xf64>) -> tensor<38x384x2xf64>
    %2 = stablehlo.concatenate %0, %1, dim = 2 : (tensor<38x384x766xf64>, tensor<38x384x2xf64>) -> tensor<38x384x768xf64>
    %3 = stablehlo.multiply %2, %b : tensor<38x384x768xf64>
    return %3 : tensor<38x384x768xf64>
  }
}
