// RUN: slimhlo-opt %s --slimhlo-exchange-shards --split-input-file | FileCheck %s

// A pad that says that devices have all columns of it, where the program gives away parts of them: it is made as it is given, of
// what each device has, and nothing is sent. So is what is computed element by element.
// CHECK-LABEL: func.func @main
// CHECK: sdy.manual_computation(%arg0) {{.*}} out_shardings=[<@mesh, [{"y"}, {"x"}]>]
// CHECK-NOT: collective_permute
// CHECK: stablehlo.add %{{.*}}, %{{.*}} {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>}
module attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func @main(%arg0: tensor<179x150xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}, %arg1: tensor<184x150xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) -> (tensor<184x150xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}, tensor<184x150xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %r = stablehlo.pad %arg0, %zero, low = [3, 0], high = [2, 0], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {}]>]>} : (tensor<179x150xf32>, tensor<f32>) -> tensor<184x150xf32>
    %twice = stablehlo.add %arg1, %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : tensor<184x150xf32>
    return %r, %twice : tensor<184x150xf32>, tensor<184x150xf32>
  }
}

// -----

// What something else reads as well says itself how it is laid out.
// CHECK-LABEL: func.func @main
// CHECK: stablehlo.add %arg0, %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>}
module attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func @main(%arg0: tensor<184x150xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>})
      -> (tensor<184x150xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}, tensor<184x150xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %twice = stablehlo.add %arg0, %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : tensor<184x150xf32>
    return %twice, %twice : tensor<184x150xf32>, tensor<184x150xf32>
  }
}
