// RUN: slimhlo-opt %s --slimhlo-exchange-shards | FileCheck %s

// A halo of a field of 30 columns on 4 devices, padded to the 32 that come out even. What is beyond the end is written in place, like
// the halo, on the device that has it: no kernel goes over all of the field to choose it.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>

  // CHECK-LABEL: func.func @main
  // CHECK: %[[R:.*]] = sdy.manual_computation(%arg0) {{.*}} (%[[OWN:.*]]: tensor<16x8xf32>)
  // CHECK: %[[FILLED:[0-9]+]] = stablehlo.dynamic_update_slice %[[OWN]], {{.*}} : (tensor<16x8xf32>, tensor<16x1xf32>
  // CHECK: %[[ZEROS:[0-9]+]] = stablehlo.broadcast_in_dim {{.*}} : (tensor<f32>) -> tensor<16x2xf32>
  // CHECK: dense<[0, 0, 0, 6]> : tensor<4xi64>
  // CHECK: %[[KEPT:[0-9]+]] = stablehlo.dynamic_slice %[[FILLED]], {{.*}}, sizes = [16, 2]
  // CHECK: dense<[false, false, false, true]> : tensor<4xi1>
  // CHECK: %[[END:[0-9]+]] = stablehlo.select %{{[0-9]+}}, %[[ZEROS]], %[[KEPT]]
  // CHECK: stablehlo.dynamic_update_slice %[[FILLED]], %[[END]], {{.*}} : (tensor<16x8xf32>, tensor<16x2xf32>
  // CHECK: sdy.return
  // CHECK-NOT: stablehlo.pad
  // CHECK: {{^ *}}return %[[R]]
  func.func @main(%x: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>, tf.aliasing_output = 0 : i32})
      -> (tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %i = stablehlo.constant dense<0> : tensor<i32>
    %end = stablehlo.constant dense<29> : tensor<i32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %f = stablehlo.slice %x [0:16, 0:30] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<16x32xf32>) -> tensor<16x30xf32>
    %west = stablehlo.slice %f [0:16, 28:29] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<16x30xf32>) -> tensor<16x1xf32>
    %east = stablehlo.slice %f [0:16, 1:2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<16x30xf32>) -> tensor<16x1xf32>
    %0 = stablehlo.dynamic_update_slice %f, %west, %i, %i {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<16x30xf32>, tensor<16x1xf32>, tensor<i32>, tensor<i32>) -> tensor<16x30xf32>
    %1 = stablehlo.dynamic_update_slice %0, %east, %i, %end {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<16x30xf32>, tensor<16x1xf32>, tensor<i32>, tensor<i32>) -> tensor<16x30xf32>
    %2 = stablehlo.pad %1, %zero, low = [0, 0], high = [0, 2], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<16x30xf32>, tensor<f32>) -> tensor<16x32xf32>
    return %2 : tensor<16x32xf32>
  }

  // Where something else reads the field, it is there as it is.
  // CHECK-LABEL: func.func @read
  // CHECK: %[[R:.*]] = sdy.manual_computation
  // CHECK: %[[F:.*]] = stablehlo.slice %[[R]] [0:16, 0:30]
  // CHECK: stablehlo.pad %[[F]]
  // CHECK: stablehlo.dot %[[F]]
  func.func @read(%x: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %y: tensor<30x4xf32>)
      -> (tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, tensor<16x4xf32>) {
    %i = stablehlo.constant dense<0> : tensor<i32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %f = stablehlo.slice %x [0:16, 0:30] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<16x32xf32>) -> tensor<16x30xf32>
    %west = stablehlo.slice %f [0:16, 28:29] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<16x30xf32>) -> tensor<16x1xf32>
    %0 = stablehlo.dynamic_update_slice %f, %west, %i, %i {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<16x30xf32>, tensor<16x1xf32>, tensor<i32>, tensor<i32>) -> tensor<16x30xf32>
    %1 = stablehlo.pad %0, %zero, low = [0, 0], high = [0, 2], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<16x30xf32>, tensor<f32>) -> tensor<16x32xf32>
    %2 = stablehlo.dot %0, %y : (tensor<16x30xf32>, tensor<30x4xf32>) -> tensor<16x4xf32>
    return %1, %2 : tensor<16x32xf32>, tensor<16x4xf32>
  }

  // Given a dimension of one element in between, it is written in place before that.
  // CHECK-LABEL: func.func @reshaped
  // CHECK: %[[R:.*]] = sdy.manual_computation(%arg0) {{.*}} (%[[OWN:.*]]: tensor<16x8xf32>)
  // CHECK: %[[FILLED:[0-9]+]] = stablehlo.dynamic_update_slice %[[OWN]]
  // CHECK: stablehlo.dynamic_update_slice %[[FILLED]], {{.*}} : (tensor<16x8xf32>, tensor<16x2xf32>
  // CHECK: sdy.return
  // CHECK-NOT: stablehlo.pad
  // CHECK: %[[W:.*]] = stablehlo.reshape %[[R]]
  // CHECK: %[[T:.*]] = stablehlo.transpose %[[W]]
  // CHECK: {{^ *}}return %[[T]]
  func.func @reshaped(%x: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>})
      -> (tensor<1x32x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}) {
    %i = stablehlo.constant dense<0> : tensor<i32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %f = stablehlo.slice %x [0:16, 0:30] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<16x32xf32>) -> tensor<16x30xf32>
    %west = stablehlo.slice %f [0:16, 28:29] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<16x30xf32>) -> tensor<16x1xf32>
    %0 = stablehlo.dynamic_update_slice %f, %west, %i, %i {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<16x30xf32>, tensor<16x1xf32>, tensor<i32>, tensor<i32>) -> tensor<16x30xf32>
    %1 = stablehlo.reshape %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {"x"}]>]>} : (tensor<16x30xf32>) -> tensor<1x16x30xf32>
    %2 = stablehlo.transpose %1, dims = [0, 2, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}, {}]>]>} : (tensor<1x16x30xf32>) -> tensor<1x30x16xf32>
    %3 = stablehlo.pad %2, %zero, low = [0, 0, 0], high = [0, 2, 0], interior = [0, 0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}, {}]>]>} : (tensor<1x30x16xf32>, tensor<f32>) -> tensor<1x32x16xf32>
    return %3 : tensor<1x32x16xf32>
  }

  // Rows that every device has are put on one of them, and nothing is sent; a partitioner would choose them, and what is beyond the end, in a
  // kernel that writes all of the field anew, and have it copied to where the program gives it away.
  // CHECK-LABEL: func.func @nothing_sent
  // CHECK: %[[R:.*]] = sdy.manual_computation(%arg1, %arg0) {{.*}} (%{{.*}}: tensor<16x2xf32>, %[[OWN:.*]]: tensor<16x8xf32>)
  // CHECK-NOT: collective_permute
  // CHECK: %[[PUT:[0-9]+]] = stablehlo.dynamic_update_slice %[[OWN]], {{.*}} : (tensor<16x8xf32>, tensor<16x2xf32>
  // CHECK: stablehlo.dynamic_update_slice %[[PUT]], {{.*}} : (tensor<16x8xf32>, tensor<16x2xf32>
  // CHECK: {{^ *}}return %[[R]]
  func.func @nothing_sent(%x: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>, tf.aliasing_output = 0 : i32},
                          %y: tensor<16x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>})
      -> (tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %i = stablehlo.constant dense<0> : tensor<i32>
    %at = stablehlo.constant dense<28> : tensor<i32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %f = stablehlo.slice %x [0:16, 0:30] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<16x32xf32>) -> tensor<16x30xf32>
    %0 = stablehlo.dynamic_update_slice %f, %y, %i, %at {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<16x30xf32>, tensor<16x2xf32>, tensor<i32>, tensor<i32>) -> tensor<16x30xf32>
    %1 = stablehlo.pad %0, %zero, low = [0, 0], high = [0, 2], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<16x30xf32>, tensor<f32>) -> tensor<16x32xf32>
    return %1 : tensor<16x32xf32>
  }

  // Of what is computed a kernel writes all in any case.
  // CHECK-LABEL: func.func @nothing_sent_of_sum
  // CHECK-NOT: manual_computation
  // CHECK: return
  func.func @nothing_sent_of_sum(%x: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
                                 %y: tensor<16x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>})
      -> (tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %i = stablehlo.constant dense<0> : tensor<i32>
    %at = stablehlo.constant dense<28> : tensor<i32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %f = stablehlo.slice %x [0:16, 0:30] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<16x32xf32>) -> tensor<16x30xf32>
    %s = stablehlo.add %f, %f {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : tensor<16x30xf32>
    %0 = stablehlo.dynamic_update_slice %s, %y, %i, %at {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<16x30xf32>, tensor<16x2xf32>, tensor<i32>, tensor<i32>) -> tensor<16x30xf32>
    %1 = stablehlo.pad %0, %zero, low = [0, 0], high = [0, 2], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<16x30xf32>, tensor<f32>) -> tensor<16x32xf32>
    return %1 : tensor<16x32xf32>
  }
}
