// Every attribute and type of the dialects through MLIR's bytecode, where they are stored in their textual form, and
// back, to the same text. `slimhlo-opt` tells bytecode from text by itself.

// RUN: slimhlo-opt %s -o %t.mlir
// RUN: slimhlo-opt %s --emit-bytecode -o %t.mlirbc
// RUN: slimhlo-opt %t.mlirbc -o %t.back.mlir
// RUN: diff %t.mlir %t.back.mlir
// RUN: FileCheck %s < %t.back.mlir

// A module of bytecode comes out as it went in, byte for byte.
// RUN: slimhlo-opt %t.mlirbc --emit-bytecode -o %t.again.mlirbc
// RUN: slimhlo-opt %t.again.mlirbc --emit-bytecode -o %t.third.mlirbc
// RUN: cmp %t.again.mlirbc %t.third.mlirbc

// CHECK: sdy.mesh @mesh = <["x"=2, "y"=4]>
sdy.mesh @mesh = <["x"=2, "y"=4]>

// CHECK: func.func private @attributes()
func.func private @attributes() attributes {
  a.stablehlo = [
    #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>,
    #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>,
    #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>,
    #stablehlo.channel_handle<handle = 1, type = 0>,
    #stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 1, operand_tuple_indices = []>,
    #stablehlo.bounds<3, ?>,
    #stablehlo.result_accuracy<ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>,
    #stablehlo<comparison_direction LT>, #stablehlo<comparison_type TOTALORDER>, #stablehlo<precision HIGH>,
    #stablehlo<fft_type RFFT>, #stablehlo<transpose ADJOINT>, #stablehlo<rng_distribution NORMAL>,
    #stablehlo<rng_algorithm PHILOX>
  ],
  a.chlo = [
    #chlo<comparison_direction GE>, #chlo<comparison_type SIGNED>, #chlo<precision HIGHEST>
  ],
  a.sdy = [
    #sdy.mesh<["x"=2, "y"=2], device_ids=[3, 2, 1, 0]>,
    #sdy.sharding<@mesh, [{"x"}, {?}], replicated={"y"}>,
    #sdy.sharding<mesh<["x"=2]>, [{"x", ?}p1, {}]>,
    #sdy.sharding_per_value<[<@mesh, [{"x":(1)2}]>, <@mesh, []>]>,
    #sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=8, j=16, k=4} reduction={k}>
  ]
}

// CHECK: func.func @types(%{{.*}}: !stablehlo.token, %{{.*}}: tensor<?x?xf32, #stablehlo.bounds<3, ?>>
// CHECK-SAME: tensor<2x!quant.uniform<i8:f32, {{.*}}>>, %{{.*}}: tuple<tensor<2xi4>, !stablehlo.token>)
func.func @types(%token: !stablehlo.token, %bounded: tensor<?x?xf32, #stablehlo.bounds<3, ?>>,
                 %quantized: tensor<2x!quant.uniform<i8:f32, 5.000000e-01:3>>,
                 %tuple: tuple<tensor<2xi4>, !stablehlo.token>) -> !stablehlo.token {
  return %token : !stablehlo.token
}

// CHECK: func.func @ops
func.func @ops(%a: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %b: tensor<8x16xf32>) -> (tensor<4xf32>, tensor<i32>) {
  // CHECK: stablehlo.constant dense<0x7FC00001> : tensor<f32>
  %nan = stablehlo.constant dense<0x7FC00001> : tensor<f32>
  // CHECK: stablehlo.dot_general {{.*}} contracting_dims = [1] x [0], precision = [HIGHEST, DEFAULT]
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], precision = [HIGHEST, DEFAULT] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  // CHECK: stablehlo.compare LT, {{.*}}, FLOAT
  %less = stablehlo.compare LT, %dot, %dot, FLOAT : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xi1>
  // CHECK: stablehlo.reduce({{.*}}) applies stablehlo.maximum across dimensions = [1]
  %max = stablehlo.reduce(%dot init: %nan) applies stablehlo.maximum across dimensions = [1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<4xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  // CHECK: stablehlo.while
  %loop = stablehlo.while(%i = %zero) : tensor<i32>
  cond {
    %ten = stablehlo.constant dense<10> : tensor<i32>
    %go = stablehlo.compare LT, %i, %ten, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %go : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next : tensor<i32>
  }
  // CHECK: stablehlo.custom_call @target({{.*}}) {{.*}}api_version = 4 : i32
  %call = stablehlo.custom_call @target(%max) {api_version = 4 : i32, backend_config = {k = 1 : i64}} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: sdy.sharding_constraint {{.*}} <@mesh, [{"x"}]>
  %constrained = sdy.sharding_constraint %call <@mesh, [{"x"}]> : tensor<4xf32>
  // CHECK: chlo.erf
  %erf = chlo.erf %constrained : tensor<4xf32> -> tensor<4xf32>
  return %erf, %loop : tensor<4xf32>, tensor<i32>
}
