// RUN: slimhlo-opt %s --slimhlo-exchange-shards --split-input-file | FileCheck %s

// 1088 columns of 1104 on 16 devices, from the third on: tiles of 68 columns and of 69, and one exchange of up to 13. What it brings
// is wanted at the high end of the first device's tile and at the low end of the others': it is padded to what is around either
// end, by itself, not to all that is between them.
module attributes {mhlo.num_partitions = 16 : i32} {
  sdy.mesh @mesh = <["x"=16]>

  // CHECK-LABEL: func.func @main
  // CHECK: "stablehlo.collective_permute"{{.*}} : (tensor<4x13xf64>) -> tensor<4x13xf64>
  // CHECK-NOT: "stablehlo.collective_permute"
  // CHECK-NOT: x147xf64>
  // CHECK: stablehlo.pad {{.*}}low = [0, 0], high = [0, 12], {{.*}} : (tensor<4x13xf64>, tensor<f64>) -> tensor<4x25xf64>
  // CHECK-NOT: x147xf64>
  // CHECK: sdy.return
  func.func @main(%x: tensor<4x1104xf64> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>})
      -> (tensor<5x1088xf64> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f64>
    %f = stablehlo.slice %x [0:4, 0:1092] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<4x1104xf64>) -> tensor<4x1092xf64>
    %0 = stablehlo.pad %f, %zero, low = [0, -2], high = [0, -2], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<4x1092xf64>, tensor<f64>) -> tensor<4x1088xf64>
    %1 = stablehlo.slice %0 [0:1, 0:1088] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<4x1088xf64>) -> tensor<1x1088xf64>
    %2 = stablehlo.concatenate %0, %1, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<4x1088xf64>, tensor<1x1088xf64>) -> tensor<5x1088xf64>
    return %2 : tensor<5x1088xf64>
  }
}

// -----

// What all devices want at one end is padded to the tile at once.
module attributes {mhlo.num_partitions = 16 : i32} {
  sdy.mesh @mesh = <["x"=16]>

  // CHECK-LABEL: func.func @one_end
  // CHECK: %[[GOT:.*]] = "stablehlo.collective_permute"{{.*}} : (tensor<4x2xf64>) -> tensor<4x2xf64>
  // CHECK: stablehlo.pad %[[GOT]], {{.*}}low = [0, 67], high = [1, 0], {{.*}} -> tensor<5x69xf64>
  // CHECK: sdy.return
  func.func @one_end(%x: tensor<4x1104xf64> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>})
      -> (tensor<5x1104xf64> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f64>
    %0 = stablehlo.pad %x, %zero, low = [0, -2], high = [0, 2], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<4x1104xf64>, tensor<f64>) -> tensor<4x1104xf64>
    %1 = stablehlo.slice %0 [0:1, 0:1104] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<4x1104xf64>) -> tensor<1x1104xf64>
    %2 = stablehlo.concatenate %0, %1, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<4x1104xf64>, tensor<1x1104xf64>) -> tensor<5x1104xf64>
    return %2 : tensor<5x1104xf64>
  }
}
