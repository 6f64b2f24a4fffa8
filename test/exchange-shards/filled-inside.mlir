// RUN: slimhlo-opt %s --slimhlo-exchange-shards --split-input-file | FileCheck %s

// A field's inside, computed, and its halo filled, as JAX writes it: nobody but the function says how anything is laid out. The inside is
// laid out like the field, and three columns are exchanged; rows are repeated where they are. A partitioner sends all of the field to and fro.
// CHECK-LABEL: func.func @periodic_and_closed
// CHECK: %[[INSIDE:.*]] = stablehlo.multiply
// CHECK: %[[WRAPPED:.*]] = sdy.manual_computation(%[[INSIDE]])
// CHECK: stablehlo.collective_permute{{.*}} -> tensor<189x3xf64>
// CHECK-NOT: collective_permute
// CHECK: (tensor<378x762xf64>) -> tensor<378x768xf64>
// CHECK: sdy.manual_computation(%[[WRAPPED]])
// CHECK-NOT: collective_permute
// CHECK: (tensor<378x768xf64>) -> tensor<384x768xf64>
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["y"=2, "x"=2]>
  func.func @periodic_and_closed(%a: tensor<384x768xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}, %b: tensor<384x768xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) -> (tensor<384x768xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) {
    %0 = stablehlo.slice %a [3:381, 3:765] : (tensor<384x768xf64>) -> tensor<378x762xf64>
    %1 = stablehlo.slice %b [3:381, 4:766] : (tensor<384x768xf64>) -> tensor<378x762xf64>
    %2 = stablehlo.multiply %0, %1 : tensor<378x762xf64>
    %3 = stablehlo.slice %2 [0:378, 759:762] : (tensor<378x762xf64>) -> tensor<378x3xf64>
    %4 = stablehlo.slice %2 [0:378, 0:3] : (tensor<378x762xf64>) -> tensor<378x3xf64>
    %5 = stablehlo.concatenate %3, %2, %4, dim = 1 : (tensor<378x3xf64>, tensor<378x762xf64>, tensor<378x3xf64>) -> tensor<378x768xf64>
    %6 = stablehlo.slice %5 [0:1, 0:768] : (tensor<378x768xf64>) -> tensor<1x768xf64>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1] : (tensor<1x768xf64>) -> tensor<3x768xf64>
    %8 = stablehlo.slice %5 [377:378, 0:768] : (tensor<378x768xf64>) -> tensor<1x768xf64>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1] : (tensor<1x768xf64>) -> tensor<3x768xf64>
    %10 = stablehlo.concatenate %7, %5, %9, dim = 0 : (tensor<3x768xf64>, tensor<378x768xf64>, tensor<3x768xf64>) -> tensor<384x768xf64>
    return %10 : tensor<384x768xf64>
  }
}

// -----

// An inside that does not come out even partitioners pad as they like.
// CHECK-LABEL: func.func @uneven
// CHECK-NOT: sdy.manual_computation
// CHECK: {{^ *}}return
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @uneven(%m: tensor<38x38xf64>, %a: tensor<38x1024xf64> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<38x1024xf64> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %0 = stablehlo.slice %a [0:38, 3:1021] : (tensor<38x1024xf64>) -> tensor<38x1018xf64>
    %1 = stablehlo.dot_general %m, %0, contracting_dims = [1] x [0] : (tensor<38x38xf64>, tensor<38x1018xf64>) -> tensor<38x1018xf64>
    %2 = stablehlo.slice %1 [0:38, 1015:1018] : (tensor<38x1018xf64>) -> tensor<38x3xf64>
    %3 = stablehlo.slice %1 [0:38, 0:3] : (tensor<38x1018xf64>) -> tensor<38x3xf64>
    %4 = stablehlo.concatenate %2, %1, %3, dim = 1 : (tensor<38x3xf64>, tensor<38x1018xf64>, tensor<38x3xf64>) -> tensor<38x1024xf64>
    return %4 : tensor<38x1024xf64>
  }
}
