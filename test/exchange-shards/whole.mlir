// RUN: slimhlo-opt %s --slimhlo-exchange-shards | FileCheck %s

module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>

  // A stencil, padded: each operand is the shard moved by one, with a received column laid over it, then one subtraction for
  // all of the shard. Only the edges of the array are filled. One exchange each way.
  // CHECK-LABEL: func.func @stencil
  // CHECK: sdy.manual_computation(%arg0)
  // CHECK-SAME: (%[[OWN:.+]]: tensor<16xf32>)
  // CHECK: stablehlo.slice %[[OWN]] [1:16]
  // CHECK: "stablehlo.collective_permute"
  // CHECK-SAME: source_target_pairs = dense<{{\[\[}}1, 0], [2, 1], [3, 2]]>
  // CHECK: %[[RIGHT:[a-z0-9_]+]] = stablehlo.select {{.*}} : tensor<16xi1>, tensor<16xf32>
  // CHECK: stablehlo.slice %[[OWN]] [0:15]
  // CHECK: "stablehlo.collective_permute"
  // CHECK-SAME: source_target_pairs = dense<{{\[\[}}0, 1], [1, 2], [2, 3]]>
  // CHECK: %[[LEFT:[a-z0-9_]+]] = stablehlo.select {{.*}} : tensor<16xi1>, tensor<16xf32>
  // CHECK: stablehlo.subtract %[[RIGHT]], %[[LEFT]] : tensor<16xf32>
  // CHECK-NOT: dynamic_update_slice
  // CHECK-NOT: collective_permute
  // CHECK: sdy.return
  func.func @stencil(%x: tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %right = stablehlo.slice %x [2:64] : (tensor<64xf32>) -> tensor<62xf32>
    %left = stablehlo.slice %x [0:62] : (tensor<64xf32>) -> tensor<62xf32>
    %d = stablehlo.subtract %right, %left : tensor<62xf32>
    %p = stablehlo.pad %d, %zero, low = [1], high = [1], interior = [0] : (tensor<62xf32>, tensor<f32>) -> tensor<64xf32>
    %r = stablehlo.subtract %x, %p : tensor<64xf32>
    return %r : tensor<64xf32>
  }

  // Halos by a concatenation that nobody says the layout of, and that two ops read: it is laid out like what it is made of, and
  // made once, in place.
  // CHECK-LABEL: func.func @shared
  // CHECK: %[[FILLED:[a-z0-9_]+]] = sdy.manual_computation(%arg0)
  // CHECK-SAME: (%[[OWN:.+]]: tensor<16xf32>)
  // CHECK: "stablehlo.collective_permute"
  // CHECK-SAME: source_target_pairs = dense<{{\[\[}}0, 3], [3, 0]]>
  // CHECK: %[[DONE:[a-z0-9_]+]] = stablehlo.dynamic_update_slice %[[OWN]]
  // CHECK: sdy.return %[[DONE]]
  // CHECK: %[[TWICE:[a-z0-9_]+]] = stablehlo.add %[[FILLED]], %[[FILLED]]
  // CHECK: sdy.manual_computation(%[[FILLED]])
  // CHECK: {{^ *}}return
  func.func @shared(%x: tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %a = stablehlo.slice %x [60:62] : (tensor<64xf32>) -> tensor<2xf32>
    %b = stablehlo.slice %x [2:62] : (tensor<64xf32>) -> tensor<60xf32>
    %c = stablehlo.slice %x [2:4] : (tensor<64xf32>) -> tensor<2xf32>
    %f = stablehlo.concatenate %a, %b, %c, dim = 0 : (tensor<2xf32>, tensor<60xf32>, tensor<2xf32>) -> tensor<64xf32>
    %t = stablehlo.add %f, %f : tensor<64xf32>
    %s = stablehlo.slice %f [1:64] : (tensor<64xf32>) -> tensor<63xf32>
    %p = stablehlo.pad %s, %zero, low = [0], high = [1], interior = [0] : (tensor<63xf32>, tensor<f32>) -> tensor<64xf32>
    %r = stablehlo.add %t, %p : tensor<64xf32>
    return %r : tensor<64xf32>
  }

  // Stencils that read strips of different widths from one neighbour: it sends the widest.
  // CHECK-LABEL: func.func @widest
  // CHECK: stablehlo.dynamic_slice %{{.*}}, sizes = [2] : (tensor<16xf32>, tensor<i64>) -> tensor<2xf32>
  // CHECK-COUNT-1: "stablehlo.collective_permute"
  // CHECK-NOT: collective_permute
  // CHECK: sdy.return
  func.func @widest(%x: tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %a = stablehlo.slice %x [2:64] : (tensor<64xf32>) -> tensor<62xf32>
    %b = stablehlo.slice %x [1:63] : (tensor<64xf32>) -> tensor<62xf32>
    %d = stablehlo.subtract %a, %b : tensor<62xf32>
    %p = stablehlo.pad %d, %zero, low = [0], high = [2], interior = [0] : (tensor<62xf32>, tensor<f32>) -> tensor<64xf32>
    return %p : tensor<64xf32>
  }

  // Which of the received strips shows is a comparison of places: a padded `true` that two reads share would be stored.
  // CHECK-LABEL: func.func @places
  // CHECK: sdy.manual_computation(%arg0)
  // CHECK-NOT: tensor<{{[0-9x]+}}xi1>) -> tensor<16x16xi1>
  // CHECK: %[[PLACE:[a-z0-9_]+]] = stablehlo.iota dim = 1 : tensor<16x16xi64>
  // CHECK: %[[LAST:[a-z0-9_]+]] = stablehlo.compare EQ, %[[PLACE]], %{{[^ ,]*}}, SIGNED : (tensor<16x16xi64>, tensor<16x16xi64>) -> tensor<16x16xi1>
  // CHECK: stablehlo.select %[[LAST]]
  // CHECK-NOT: tensor<{{[0-9x]+}}xi1>) -> tensor<16x16xi1>
  // CHECK: sdy.return
  func.func @places(%x: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %right = stablehlo.slice %x [0:16, 2:64] : (tensor<16x64xf32>) -> tensor<16x62xf32>
    %left = stablehlo.slice %x [0:16, 0:62] : (tensor<16x64xf32>) -> tensor<16x62xf32>
    %d = stablehlo.subtract %right, %left : tensor<16x62xf32>
    %p = stablehlo.pad %d, %zero, low = [0, 1], high = [0, 1], interior = [0, 0] : (tensor<16x62xf32>, tensor<f32>) -> tensor<16x64xf32>
    return %p : tensor<16x64xf32>
  }

  // One that a single op reads is not stored: what is received is chosen element by element.
  // CHECK-LABEL: func.func @once
  // CHECK: sdy.manual_computation(%arg0)
  // CHECK-NOT: dynamic_update_slice
  // CHECK: %[[CHOSEN:[a-z0-9_]+]] = stablehlo.select {{.*}} : tensor<16xi1>, tensor<16xf32>
  // CHECK: %[[LAST:[a-z0-9_]+]] = stablehlo.select %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %[[CHOSEN]] : tensor<16xi1>, tensor<16xf32>
  // CHECK: sdy.return %[[LAST]]
  // CHECK: {{^ *}}return
  func.func @once(%x: tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %a = stablehlo.slice %x [60:62] : (tensor<64xf32>) -> tensor<2xf32>
    %b = stablehlo.slice %x [2:62] : (tensor<64xf32>) -> tensor<60xf32>
    %c = stablehlo.slice %x [2:4] : (tensor<64xf32>) -> tensor<2xf32>
    %f = stablehlo.concatenate %a, %b, %c, dim = 0 : (tensor<2xf32>, tensor<60xf32>, tensor<2xf32>) -> tensor<64xf32>
    %r = stablehlo.negate %f : tensor<64xf32>
    return %r : tensor<64xf32>
  }

  // bfloat16 is stored where it is widened: cut into boxes, no mask over the shard.
  // CHECK-LABEL: func.func @widened
  // CHECK: sdy.manual_computation(%arg0)
  // CHECK-NOT: tensor<16xi1>
  // CHECK: sdy.return
  // CHECK: {{^ *}}return
  func.func @widened(%x: tensor<64xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<64xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, tensor<64xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %a = stablehlo.slice %x [60:62] : (tensor<64xbf16>) -> tensor<2xbf16>
    %b = stablehlo.slice %x [2:62] : (tensor<64xbf16>) -> tensor<60xbf16>
    %c = stablehlo.slice %x [2:4] : (tensor<64xbf16>) -> tensor<2xbf16>
    %f = stablehlo.concatenate %a, %b, %c, dim = 0 : (tensor<2xbf16>, tensor<60xbf16>, tensor<2xbf16>) -> tensor<64xbf16>
    %r = stablehlo.negate %f : tensor<64xbf16>
    %q = stablehlo.abs %f : tensor<64xbf16>
    return %r, %q : tensor<64xbf16>, tensor<64xbf16>
  }

  // A part of an array of another size says nothing about the layout of what it is joined to.
  // CHECK-LABEL: func.func @other_size
  // CHECK-NOT: manual_computation
  // CHECK: {{^ *}}return
  func.func @other_size(%x: tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<60xf32> {
    %a = stablehlo.slice %x [60:62] : (tensor<64xf32>) -> tensor<2xf32>
    %b = stablehlo.slice %x [2:60] : (tensor<64xf32>) -> tensor<58xf32>
    %f = stablehlo.concatenate %a, %b, dim = 0 : (tensor<2xf32>, tensor<58xf32>) -> tensor<60xf32>
    return %f : tensor<60xf32>
  }
}
