// RUN: slimhlo-opt %s --slimhlo-exchange-shards | FileCheck %s

// Arrays that do not come out even, each op with a sharding of its own, as Reactant writes them.
module attributes {mhlo.num_partitions = 16 : i32} {
  sdy.mesh @mesh = <["z"=1, "y"=4, "x"=4]>

  // A field of 1519 in tiles of 380, in an argument that is padded. One column more is in tiles that begin elsewhere: what crosses a
  // border is sent once, as wide as the device that needs most of it has it, and each device looks up where it goes.
  // CHECK-LABEL: func.func @wrap
  // CHECK-NOT: stablehlo.pad %arg0
  // CHECK: sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{}, {"y"}, {"x"}]>] {{.*}} (%arg1: tensor<4x380x764xf32>)
  // CHECK: stablehlo.dynamic_slice %arg1, {{.*}}, sizes = [4, 380, 5]
  // CHECK-COUNT-1: "stablehlo.collective_permute"
  // CHECK-NOT: collective_permute
  // CHECK: sdy.return %{{.*}} : tensor<4x380x765xf32>
  // CHECK: (tensor<4x1520x3056xf32>) -> tensor<4x1520x3060xf32>
  // CHECK-NEXT: return
  func.func @wrap(%arg0: tensor<4x1520x3056xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {"x"}]>}) -> (tensor<4x1520x3060xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {"x"}]>}) {
    %c = sdy.constant dense<0.0> : tensor<f32>
    %f = stablehlo.slice %arg0 [0:4, 0:1519, 0:3056] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}, {"x"}]>]>} : (tensor<4x1520x3056xf32>) -> tensor<4x1519x3056xf32>
    %a = stablehlo.slice %f [0:4, 0:1519, 2:3056] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}, {"x"}]>]>} : (tensor<4x1519x3056xf32>) -> tensor<4x1519x3054xf32>
    %b = stablehlo.slice %f [0:4, 0:1519, 0:3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}, {"x"}]>]>} : (tensor<4x1519x3056xf32>) -> tensor<4x1519x3xf32>
    %r = stablehlo.concatenate %a, %b, dim = 2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}, {"x"}]>]>} : (tensor<4x1519x3054xf32>, tensor<4x1519x3xf32>) -> tensor<4x1519x3057xf32>
    %p = stablehlo.pad %r, %c, low = [0, 0, 0], high = [0, 1, 3], interior = [0, 0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}, {"x"}]>]>} : (tensor<4x1519x3057xf32>, tensor<f32>) -> tensor<4x1520x3060xf32>
    return %p : tensor<4x1520x3060xf32>
  }

  // The last tile of 24 over 16 is of the same size, and has nothing in it: the result is padded in the computation, and cut off outside.
  // CHECK-LABEL: func.func @few
  // CHECK: sdy.manual_computation
  // CHECK: } : (tensor<64x32xf32>) -> tensor<32x32xf32>
  // CHECK: stablehlo.exponential {{.*}} : tensor<32x32xf32>
  // CHECK: stablehlo.slice %{{.*}} [0:24, 0:32] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y", "x"}, {}]>]>} : (tensor<32x32xf32>) -> tensor<24x32xf32>
  func.func @few(%arg0: tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "x"}, {}]>}) -> tensor<24x32xf32> {
    %0 = stablehlo.slice %arg0 [40:64, 0:32] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y", "x"}, {}]>]>} : (tensor<64x32xf32>) -> tensor<24x32xf32>
    %1 = stablehlo.exponential %0 : tensor<24x32xf32>
    return %1 : tensor<24x32xf32>
  }

  // What is said of one op alone, against all around it, does not have the field gathered.
  // CHECK-LABEL: func.func @contrary
  // CHECK-NOT: [{}, {}]
  // CHECK: collective_permute
  // CHECK-NOT: [{}, {}]
  // CHECK: return
  func.func @contrary(%arg0: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) -> (tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) {
    %0 = stablehlo.negate %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<64x64xf32>
    %1 = stablehlo.slice %0 [0:64, 2:64] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : (tensor<64x64xf32>) -> tensor<64x62xf32>
    %2 = stablehlo.slice %0 [0:64, 0:2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : (tensor<64x64xf32>) -> tensor<64x2xf32>
    %3 = stablehlo.concatenate %1, %2, dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : (tensor<64x62xf32>, tensor<64x2xf32>) -> tensor<64x64xf32>
    return %3 : tensor<64x64xf32>
  }

  // A splat at constant starts, across borders: nothing is exchanged.
  // CHECK-LABEL: func.func @splat
  // CHECK: sdy.manual_computation
  // CHECK-NOT: collective_permute
  // CHECK: stablehlo.iota
  // CHECK: stablehlo.select
  // CHECK: return
  func.func @splat(%arg0: tensor<64x60xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) -> (tensor<64x60xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) {
    %c = sdy.constant dense<1.0> : tensor<3x20xf32>
    %c3 = sdy.constant dense<30> : tensor<i32>
    %c4 = sdy.constant dense<14> : tensor<i32>
    %0 = stablehlo.slice %arg0 [0:64, 0:59] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : (tensor<64x60xf32>) -> tensor<64x59xf32>
    %1 = stablehlo.slice %arg0 [20:23, 1:21] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : (tensor<64x60xf32>) -> tensor<3x20xf32>
    %2 = stablehlo.dynamic_update_slice %0, %c, %c3, %c4 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : (tensor<64x59xf32>, tensor<3x20xf32>, tensor<i32>, tensor<i32>) -> tensor<64x59xf32>
    %z = sdy.constant dense<0.0> : tensor<f32>
    %3 = stablehlo.pad %2, %z, low = [0, 0], high = [0, 1], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : (tensor<64x59xf32>, tensor<f32>) -> tensor<64x60xf32>
    return %3 : tensor<64x60xf32>
  }

  // What is between two computations is computed for arrays with even parts, too, and the ends are cut off once.
  // CHECK-LABEL: func.func @between
  // CHECK: %[[FIRST:.*]] = sdy.manual_computation
  // CHECK: } : (tensor<64x64xf32>) -> tensor<64x64xf32>
  // CHECK-NEXT: %[[SUM:.*]] = stablehlo.add %[[FIRST]], %[[FIRST]] {{.*}} : tensor<64x64xf32>
  // CHECK-NEXT: %[[SECOND:.*]] = sdy.manual_computation(%[[SUM]])
  // CHECK: %[[WHOLE:.*]] = stablehlo.exponential %[[SECOND]] {{.*}} : tensor<64x64xf32>
  // CHECK-NEXT: stablehlo.slice %[[WHOLE]] [0:64, 0:62]
  // CHECK-NEXT: return
  func.func @between(%arg0: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) -> tensor<64x62xf32> {
    %z = sdy.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.pad %arg0, %z, low = [0, -1], high = [0, -1], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x62xf32>
    %1 = stablehlo.add %0, %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : tensor<64x62xf32>
    %2 = stablehlo.slice %1 [0:64, 5:62] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : (tensor<64x62xf32>) -> tensor<64x57xf32>
    %3 = stablehlo.slice %1 [0:64, 0:5] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : (tensor<64x62xf32>) -> tensor<64x5xf32>
    %4 = stablehlo.concatenate %2, %3, dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : (tensor<64x57xf32>, tensor<64x5xf32>) -> tensor<64x62xf32>
    %5 = stablehlo.exponential %4 : tensor<64x62xf32>
    return %5 : tensor<64x62xf32>
  }

  // Rows of one field above and below come by one exchange each, whichever slices want them.
  // CHECK-LABEL: func.func @neighbours
  // CHECK-COUNT-2: "stablehlo.collective_permute"
  // CHECK-NOT: collective_permute
  // CHECK: return
  func.func @neighbours(%arg0: tensor<64x60xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) -> (tensor<64x60xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) {
    %z = sdy.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.slice %arg0 [0:64, 2:60] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : (tensor<64x60xf32>) -> tensor<64x58xf32>
    %1 = stablehlo.slice %arg0 [0:64, 1:59] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : (tensor<64x60xf32>) -> tensor<64x58xf32>
    %2 = stablehlo.slice %arg0 [0:64, 0:58] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : (tensor<64x60xf32>) -> tensor<64x58xf32>
    %3 = stablehlo.add %0, %1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : tensor<64x58xf32>
    %4 = stablehlo.add %3, %2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : tensor<64x58xf32>
    %5 = stablehlo.pad %4, %z, low = [0, 1], high = [0, 1], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : (tensor<64x58xf32>, tensor<f32>) -> tensor<64x60xf32>
    return %5 : tensor<64x60xf32>
  }
}
