// CHLO ops.
func.func @unary(%x: tensor<2x3xf32>, %c: tensor<2xcomplex<f32>>) -> tensor<2x3xf32> {
  %acos = chlo.acos %x : tensor<2x3xf32> -> tensor<2x3xf32>
  %acosh = chlo.acosh %x : tensor<2x3xf32> -> tensor<2x3xf32>
  %asin = chlo.asin %x : tensor<2x3xf32> -> tensor<2x3xf32>
  %asinh = chlo.asinh %x : tensor<2x3xf32> -> tensor<2x3xf32>
  %atan = chlo.atan %x : tensor<2x3xf32> -> tensor<2x3xf32>
  %atanh = chlo.atanh %x : tensor<2x3xf32> -> tensor<2x3xf32>
  %bessel = chlo.bessel_i1e %x : tensor<2x3xf32> -> tensor<2x3xf32>
  %cosh = chlo.cosh %x : tensor<2x3xf32> -> tensor<2x3xf32>
  %sinh = chlo.sinh %x : tensor<2x3xf32> -> tensor<2x3xf32>
  %tan = chlo.tan %x : tensor<2x3xf32> -> tensor<2x3xf32>
  %digamma = chlo.digamma %x : tensor<2x3xf32> -> tensor<2x3xf32>
  %erf = chlo.erf %x : tensor<2x3xf32> -> tensor<2x3xf32>
  %erf_inv = chlo.erf_inv %x : tensor<2x3xf32> -> tensor<2x3xf32>
  %erfc = chlo.erfc %x : tensor<2x3xf32> -> tensor<2x3xf32>
  %lgamma = chlo.lgamma %x : tensor<2x3xf32> -> tensor<2x3xf32>
  %square = chlo.square %x : tensor<2x3xf32> -> tensor<2x3xf32>
  %conj = chlo.conj %c : tensor<2xcomplex<f32>> -> tensor<2xcomplex<f32>>
  %kernel = "chlo._asin_acos_kernel"(%c) : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  %inf = chlo.is_inf %x : tensor<2x3xf32> -> tensor<2x3xi1>
  %pinf = chlo.is_pos_inf %x : tensor<2x3xf32> -> tensor<2x3xi1>
  %ninf = chlo.is_neg_inf %x : tensor<2x3xf32> -> tensor<2x3xi1>
  return %tan : tensor<2x3xf32>
}
// -----
func.func @binary(%x: tensor<3xf32>, %i: tensor<3xi32>, %u: tensor<3xui32>) -> tensor<3xf32> {
  %next = chlo.next_after %x, %x : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  %poly = chlo.polygamma %x, %x : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  %zeta = chlo.zeta %x, %x : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  %mulhi = "chlo.mulhi"(%i, %i) : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
  return %next : tensor<3xf32>
}
// -----
func.func @broadcasting(%x: tensor<2x3xf32>, %y: tensor<3xf32>, %s: tensor<f32>, %d: tensor<?x1xf32>) -> tensor<2x3xf32> {
  %add = chlo.broadcast_add %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %add0 = chlo.broadcast_add %y, %x {broadcast_dimensions = array<i64: 1>} : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %dyn = chlo.broadcast_add %d, %y : (tensor<?x1xf32>, tensor<3xf32>) -> tensor<?x3xf32>
  %atan2 = chlo.broadcast_atan2 %x, %s : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %div = chlo.broadcast_divide %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %max = chlo.broadcast_maximum %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %min = chlo.broadcast_minimum %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %mul = chlo.broadcast_multiply %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %next = chlo.broadcast_next_after %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %poly = chlo.broadcast_polygamma %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %pow = chlo.broadcast_power %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %rem = chlo.broadcast_remainder %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %sub = chlo.broadcast_subtract %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %zeta = chlo.broadcast_zeta %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %complex = chlo.broadcast_complex %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xcomplex<f32>>
  %compare = chlo.broadcast_compare %x, %y {comparison_direction = #chlo<comparison_direction LT>, compare_type = #chlo<comparison_type TOTALORDER>} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  %compare2 = chlo.broadcast_compare %x, %s {comparison_direction = #chlo<comparison_direction NE>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xi1>
  return %add : tensor<2x3xf32>
}
// -----
func.func @broadcasting_integers(%x: tensor<2x3xi32>, %y: tensor<3xi32>, %p: tensor<2x1xi1>) -> tensor<2x3xi32> {
  %and = chlo.broadcast_and %x, %y : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  %or = chlo.broadcast_or %x, %y : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  %xor = chlo.broadcast_xor %x, %y : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  %left = chlo.broadcast_shift_left %x, %y : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  %arith = chlo.broadcast_shift_right_arithmetic %x, %y : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  %logical = chlo.broadcast_shift_right_logical %x, %y : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  %select = chlo.broadcast_select %p, %x, %y : (tensor<2x1xi1>, tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  return %and : tensor<2x3xi32>
}
// -----
func.func @constants(%x: tensor<?x3xf32>) -> tensor<2xf32> {
  %0 = chlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = "chlo.constant_like"(%x) <{value = 3.200000e+00 : f32}> : (tensor<?x3xf32>) -> tensor<?x3xf32>
  return %0 : tensor<2xf32>
}
// -----
func.func @top_k(%x: tensor<16x16xf32>) -> tensor<16x8xf32> {
  %0, %1 = chlo.top_k(%x, k = 8) : tensor<16x16xf32> -> (tensor<16x8xf32>, tensor<16x8xi32>)
  return %0 : tensor<16x8xf32>
}
// -----
func.func @ragged_dot(%x: tensor<11x5xf32>, %y: tensor<3x5x7xf32>, %g: tensor<3xi64>) -> tensor<11x7xf32> {
  %0 = "chlo.ragged_dot"(%x, %y, %g) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>, precision_config = [#chlo<precision DEFAULT>, #chlo<precision DEFAULT>]}> : (tensor<11x5xf32>, tensor<3x5x7xf32>, tensor<3xi64>) -> tensor<11x7xf32>
  return %0 : tensor<11x7xf32>
}
// -----
func.func @scan(%x: tensor<4x3xf32>, %z: tensor<3xf32>) -> tensor<4x3xf32> {
  %0:2 = "chlo.scan"(%x, %z) <{dimension = 0 : i64, is_reverse = false, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%a: tensor<3xf32>, %b: tensor<3xf32>):
    %1 = stablehlo.add %a, %b : tensor<3xf32>
    stablehlo.return %1, %1 : tensor<3xf32>, tensor<3xf32>
  }) : (tensor<4x3xf32>, tensor<3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>)
  return %0#0 : tensor<4x3xf32>
}
