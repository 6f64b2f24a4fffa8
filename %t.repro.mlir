module {
  func.func @f(%arg0: tensor<2xf32>) -> tensor<8xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.pad %arg0, %cst, low = [3], high = [3], interior = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

{-#
  external_resources: {
    mlir_reproducer: {
      pipeline: "builtin.module(func.func(slimhlo-dus-to-pad))",
      disable_threading: false,
      verify_each: false
    }
  }
#-}
