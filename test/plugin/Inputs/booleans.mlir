func.func @generic() -> tensor<16xi1> {
  %bytes = "stablehlo.constant"() <{value = dense<"0x00010000000000000000000000000001"> : tensor<16xi1>}> : () -> tensor<16xi1>
  return %bytes : tensor<16xi1>
}
