// A gathered array of 256 MiB is built only to be summed.
module @jit_gather {
  func.func public @main(%table: tensor<1024x64xf32>, %index: tensor<1048576x1xi32>) -> tensor<64xf32> {
    %rows = "stablehlo.gather"(%table, %index) <{
      dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0],
        start_index_map = [0], index_vector_dim = 1>,
      slice_sizes = array<i64: 1, 64>, indices_are_sorted = false}>
      : (tensor<1024x64xf32>, tensor<1048576x1xi32>) -> tensor<1048576x64xf32>
    %sines = stablehlo.sine %rows : tensor<1048576x64xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %sum = stablehlo.reduce(%sines init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<1048576x64xf32>, tensor<f32>) -> tensor<64xf32>
    return %sum : tensor<64xf32>
  }
}
