// CHECK-NOT: manual_computation
module attributes {mhlo.num_partitions = 2 : i32} {
  func.func @main(%x: tensor<16xf32> {mhlo.sharding = "{devices=[2]<=[2]}"}) -> (tensor<16xf32> {mhlo.sharding = "{devices=[2]<=[2]}"}) {
    %0 = stablehlo.reverse %x, dims = [0] {mhlo.sharding = "{devices=[2]<=[2]}"} : tensor<16xf32>
    return %0 : tensor<16xf32>
  }
}

