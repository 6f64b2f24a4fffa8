module {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func private @attributes() attributes {a.chlo = [#chlo<comparison_direction GE>, #chlo<comparison_type SIGNED>, #chlo<precision HIGHEST>], a.sdy = [#sdy.mesh<["x"=2, "y"=2], device_ids=[3, 2, 1, 0]>, #sdy.sharding<@mesh, [{"x"}, {?}], replicated={"y"}>, #sdy.sharding<mesh<["x"=2]>, [{"x", ?}p1, {}]>, #sdy.sharding_per_value<[<@mesh, [{"x":(1)2}]>, <@mesh, []>]>, #sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=8, j=16, k=4} reduction={k}>], a.stablehlo = [#stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, #stablehlo.channel_handle<handle = 1, type = 0>, #stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 1, operand_tuple_indices = []>, #stablehlo.bounds<3, ?>, #stablehlo.result_accuracy<ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>, #stablehlo<comparison_direction LT>, #stablehlo<comparison_type TOTALORDER>, #stablehlo<precision HIGH>, #stablehlo<fft_type RFFT>, #stablehlo<transpose ADJOINT>, #stablehlo<rng_distribution NORMAL>, #stablehlo<rng_algorithm PHILOX>]}
  func.func @types(%arg0: !stablehlo.token, %arg1: tensor<?x?xf32, #stablehlo.bounds<3, ?>>, %arg2: tensor<2x!quant.uniform<i8:f32, 5.000000e-01:3>>, %arg3: tuple<tensor<2xi4>, !stablehlo.token>) -> !stablehlo.token {
    return %arg0 : !stablehlo.token
  }
  func.func @ops(%arg0: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %arg1: tensor<8x16xf32>) -> (tensor<4xf32>, tensor<i32>) {
    %cst = stablehlo.constant dense<0x7FC00001> : tensor<f32>
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [HIGHEST, DEFAULT] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    %1 = stablehlo.compare LT, %0, %0, FLOAT : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xi1>
    %2 = stablehlo.reduce(%0 init: %cst) applies stablehlo.maximum across dimensions = [1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<4xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %3 = stablehlo.while(%iterArg = %c) : tensor<i32>
    cond {
      %c_0 = stablehlo.constant dense<10> : tensor<i32>
      %7 = stablehlo.compare LT, %iterArg, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %7 : tensor<i1>
    } do {
      %c_0 = stablehlo.constant dense<1> : tensor<i32>
      %7 = stablehlo.add %iterArg, %c_0 : tensor<i32>
      stablehlo.return %7 : tensor<i32>
    }
    %4 = stablehlo.custom_call @target(%2) {api_version = 4 : i32, backend_config = {k = 1 : i64}} : (tensor<4xf32>) -> tensor<4xf32>
    %5 = sdy.sharding_constraint %4 <@mesh, [{"x"}]> : tensor<4xf32>
    %6 = chlo.erf %5 : tensor<4xf32> -> tensor<4xf32>
    return %6, %3 : tensor<4xf32>, tensor<i32>
  }
}

