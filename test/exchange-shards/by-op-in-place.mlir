// RUN: slimhlo-opt %s --slimhlo-exchange-shards | FileCheck %s

// A field wrapped in one direction and padded in the other, whose parts do not come out even. Several ops read it: it is stored in any
// case. What is in its corners is put into it, in place, where a table says; nothing is padded to the size of the tile to be chosen
// from.

// CHECK-LABEL: func.func @main
// CHECK: sdy.manual_computation
// CHECK-NOT: stablehlo.pad {{.*}} -> tensor<66x64xf64>
// CHECK: stablehlo.dynamic_update_slice %{{.*}} : (tensor<66x64xf64>, tensor<66x3xf64>
// CHECK: stablehlo.dynamic_update_slice %{{.*}} : (tensor<66x64xf64>, tensor<64x1xf64>
// CHECK: stablehlo.dynamic_update_slice %{{.*}} : (tensor<66x64xf64>, tensor<2x3xf64>
// CHECK-NOT: stablehlo.pad {{.*}} -> tensor<66x64xf64>
// CHECK: sdy.return
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["y"=2, "x"=2]>
  func.func @main(%x: tensor<132x126xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) -> (tensor<132x128xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f64>
    %f = stablehlo.slice %x [0:131, 0:125] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : (tensor<132x126xf64>) -> tensor<131x125xf64>
    %low = stablehlo.slice %f [0:131, 0:3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : (tensor<131x125xf64>) -> tensor<131x3xf64>
    %w = stablehlo.concatenate %f, %low, dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : (tensor<131x125xf64>, tensor<131x3xf64>) -> tensor<131x128xf64>
    %p = stablehlo.pad %w, %zero, low = [2, 0], high = [-2, 0], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : (tensor<131x128xf64>, tensor<f64>) -> tensor<131x128xf64>
    %a = stablehlo.negate %p {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : tensor<131x128xf64>
    %b = stablehlo.exponential %p {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : tensor<131x128xf64>
    %s = stablehlo.add %a, %b {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : tensor<131x128xf64>
    %r = stablehlo.pad %s, %zero, low = [0, 0], high = [1, 0], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : (tensor<131x128xf64>, tensor<f64>) -> tensor<132x128xf64>
    return %r : tensor<132x128xf64>
  }
}
