func.func @f(%update: tensor<2xf32>) -> tensor<8xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<8xf32>
  %start = stablehlo.constant dense<3> : tensor<i32>
  %placed = stablehlo.dynamic_update_slice %zeros, %update, %start : (tensor<8xf32>, tensor<2xf32>, tensor<i32>) -> tensor<8xf32>
  return %placed : tensor<8xf32>
}

{-#
  external_resources: {
    mlir_reproducer: {
      pipeline: "builtin.module(func.func(slimhlo-dus-to-pad))",
      disable_threading: true,
      verify_each: true
    }
  }
#-}
