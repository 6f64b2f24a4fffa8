// CHECK-NOT: channel_handle
// CHECK-NOT: sdy.manual_computation
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>

  // One row, repeated at an edge, and the array is read after that: the partitioner's reduction of a row is cheap.
  func.func @main(%x: tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.slice %x [4:5, 0:32] : (tensor<64x32xf32>) -> tensor<1x32xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<1x32xf32>) -> tensor<4x32xf32>
    %2 = stablehlo.dynamic_update_slice %x, %1, %zero, %zero : (tensor<64x32xf32>, tensor<4x32xf32>, tensor<i32>, tensor<i32>) -> tensor<64x32xf32>
    %3 = stablehlo.multiply %2, %2 : tensor<64x32xf32>
    return %3 : tensor<64x32xf32>
  }
}
