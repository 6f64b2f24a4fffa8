// Elementwise StableHLO ops: each in the element types and shapes that its rules tell apart.
func.func @float_unary(%x: tensor<2x3xf32>, %s: tensor<f64>, %d: tensor<?x3xbf16>) -> tensor<2x3xf32> {
  %cbrt = stablehlo.cbrt %x : tensor<2x3xf32>
  %ceil = stablehlo.ceil %x : tensor<2x3xf32>
  %cosine = stablehlo.cosine %s : tensor<f64>
  %exp = stablehlo.exponential %d : tensor<?x3xbf16>
  %expm1 = stablehlo.exponential_minus_one %x : tensor<2x3xf32>
  %floor = stablehlo.floor %x : tensor<2x3xf32>
  %log = stablehlo.log %x : tensor<2x3xf32>
  %log1p = stablehlo.log_plus_one %x : tensor<2x3xf32>
  %logistic = stablehlo.logistic %x : tensor<2x3xf32>
  %afz = stablehlo.round_nearest_afz %x : tensor<2x3xf32>
  %even = stablehlo.round_nearest_even %x : tensor<2x3xf32>
  %rsqrt = stablehlo.rsqrt %x : tensor<2x3xf32>
  %sine = stablehlo.sine %x : tensor<2x3xf32>
  %sqrt = stablehlo.sqrt %x : tensor<2x3xf32>
  %tan = stablehlo.tan %x : tensor<2x3xf32>
  %tanh = stablehlo.tanh %x : tensor<2x3xf32>
  %finite = stablehlo.is_finite %x : (tensor<2x3xf32>) -> tensor<2x3xi1>
  %reduced = stablehlo.reduce_precision %x, format = e5m10 : tensor<2x3xf32>
  return %tanh : tensor<2x3xf32>
}
// -----
func.func @accuracy(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.exponential"(%x) <{result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>}> : (tensor<2xf32>) -> tensor<2xf32>
  %1 = "stablehlo.tanh"(%0) <{result_accuracy = #stablehlo.result_accuracy<atol = 1.0e-5, rtol = 0.0, ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>}> : (tensor<2xf32>) -> tensor<2xf32>
  %2 = "stablehlo.cbrt"(%1) <{result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<DEFAULT>>}> : (tensor<2xf32>) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}
// -----
func.func @complex_unary(%x: tensor<4xcomplex<f32>>, %y: tensor<4xcomplex<f64>>) -> tensor<4xf32> {
  %cos = stablehlo.cosine %x : tensor<4xcomplex<f32>>
  %exp = stablehlo.exponential %y : tensor<4xcomplex<f64>>
  %neg = stablehlo.negate %x : tensor<4xcomplex<f32>>
  %sign = stablehlo.sign %x : tensor<4xcomplex<f32>>
  %real = stablehlo.real %x : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %imag = stablehlo.imag %y : (tensor<4xcomplex<f64>>) -> tensor<4xf64>
  %abs = stablehlo.abs %x : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return %abs : tensor<4xf32>
}
// -----
func.func @real_and_imag_of_reals(%x: tensor<4xf32>) -> tensor<4xf32> {
  %real = stablehlo.real %x : tensor<4xf32>
  %imag = stablehlo.imag %x : tensor<4xf32>
  return %imag : tensor<4xf32>
}
// -----
func.func @integer_unary(%x: tensor<5xi32>, %u: tensor<5xui8>, %p: tensor<5xi1>, %n: tensor<5xi4>) -> tensor<5xi32> {
  %abs = stablehlo.abs %x : tensor<5xi32>
  %clz = stablehlo.count_leading_zeros %u : tensor<5xui8>
  %neg = stablehlo.negate %x : tensor<5xi32>
  %not = stablehlo.not %p : tensor<5xi1>
  %not32 = stablehlo.not %x : tensor<5xi32>
  %pop = stablehlo.popcnt %x : tensor<5xi32>
  %pop4 = stablehlo.popcnt %n : tensor<5xi4>
  %sign = stablehlo.sign %x : tensor<5xi32>
  return %sign : tensor<5xi32>
}
// -----
func.func @binary(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %add = stablehlo.add %x, %y : tensor<2x3xf32>
  %atan2 = stablehlo.atan2 %x, %y : tensor<2x3xf32>
  %div = stablehlo.divide %x, %y : tensor<2x3xf32>
  %max = stablehlo.maximum %x, %y : tensor<2x3xf32>
  %min = stablehlo.minimum %x, %y : tensor<2x3xf32>
  %mul = stablehlo.multiply %x, %y : tensor<2x3xf32>
  %pow = stablehlo.power %x, %y : tensor<2x3xf32>
  %rem = stablehlo.remainder %x, %y : tensor<2x3xf32>
  %sub = stablehlo.subtract %x, %y : tensor<2x3xf32>
  return %sub : tensor<2x3xf32>
}
// -----
func.func @binary_integers(%x: tensor<7xi64>, %y: tensor<7xi64>, %p: tensor<7xi1>, %u: tensor<7xui16>) -> tensor<7xi64> {
  %and = stablehlo.and %x, %y : tensor<7xi64>
  %or = stablehlo.or %p, %p : tensor<7xi1>
  %xor = stablehlo.xor %u, %u : tensor<7xui16>
  %left = stablehlo.shift_left %x, %y : tensor<7xi64>
  %arithmetic = stablehlo.shift_right_arithmetic %x, %y : tensor<7xi64>
  %logical = stablehlo.shift_right_logical %u, %u : tensor<7xui16>
  %add = stablehlo.add %p, %p : tensor<7xi1>
  %pow = stablehlo.power %x, %y : tensor<7xi64>
  return %and : tensor<7xi64>
}
// -----
func.func @dynamic_binary(%x: tensor<?x3xf32>, %y: tensor<2x?xf32>) -> tensor<?x3xf32> {
  %0 = "stablehlo.add"(%x, %y) : (tensor<?x3xf32>, tensor<2x?xf32>) -> tensor<?x3xf32>
  %1 = "stablehlo.multiply"(%x, %y) : (tensor<?x3xf32>, tensor<2x?xf32>) -> tensor<2x3xf32>
  return %0 : tensor<?x3xf32>
}
// -----
func.func @bounded(%x: tensor<?x3xf32, #stablehlo.bounds<8, ?>>) -> tensor<?x3xf32, #stablehlo.bounds<8, ?>> {
  %0 = stablehlo.add %x, %x : tensor<?x3xf32, #stablehlo.bounds<8, ?>>
  %1 = stablehlo.tanh %0 : tensor<?x3xf32, #stablehlo.bounds<8, ?>>
  return %1 : tensor<?x3xf32, #stablehlo.bounds<8, ?>>
}
// -----
func.func @complex(%x: tensor<3xf32>, %y: tensor<3xf64>) -> tensor<3xcomplex<f32>> {
  %0 = stablehlo.complex %x, %x : tensor<3xcomplex<f32>>
  %1 = stablehlo.complex %y, %y : tensor<3xcomplex<f64>>
  return %0 : tensor<3xcomplex<f32>>
}
// -----
func.func @compare(%x: tensor<3xf32>, %i: tensor<3xi32>, %u: tensor<3xui32>, %c: tensor<3xcomplex<f32>>, %p: tensor<3xi1>) -> tensor<3xi1> {
  %0 = stablehlo.compare EQ, %x, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %1 = stablehlo.compare LT, %x, %x, FLOAT : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %2 = stablehlo.compare GE, %x, %x, TOTALORDER : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %3 = stablehlo.compare GT, %i, %i, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
  %4 = stablehlo.compare LE, %u, %u, UNSIGNED : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xi1>
  %5 = stablehlo.compare NE, %c, %c, FLOAT : (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>) -> tensor<3xi1>
  %6 = stablehlo.compare NE, %p, %p, UNSIGNED : (tensor<3xi1>, tensor<3xi1>) -> tensor<3xi1>
  return %0 : tensor<3xi1>
}
// -----
func.func @select(%p: tensor<3xi1>, %s: tensor<i1>, %x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.select %p, %x, %y : tensor<3xi1>, tensor<3xf32>
  %1 = stablehlo.select %s, %x, %y : tensor<i1>, tensor<3xf32>
  return %0 : tensor<3xf32>
}
// -----
func.func @clamp(%lo: tensor<i32>, %x: tensor<4xi32>, %hi: tensor<4xi32>) -> tensor<4xi32> {
  %0 = stablehlo.clamp %lo, %x, %lo : (tensor<i32>, tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  %1 = stablehlo.clamp %hi, %x, %hi : tensor<4xi32>
  return %0 : tensor<4xi32>
}
// -----
func.func @convert(%x: tensor<4xf32>, %d: tensor<?xi8>) -> tensor<4xbf16> {
  %0 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xbf16>
  %1 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xi1>
  %2 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xf8E4M3FN>
  %3 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xcomplex<f32>>
  %4 = stablehlo.convert %d : (tensor<?xi8>) -> tensor<?xi64>
  return %0 : tensor<4xbf16>
}
// -----
func.func @bitcast_convert(%x: tensor<4xf32>, %y: tensor<4x2xf16>, %c: tensor<4xcomplex<f32>>) -> tensor<4xi32> {
  %0 = stablehlo.bitcast_convert %x : (tensor<4xf32>) -> tensor<4xi32>
  %1 = stablehlo.bitcast_convert %y : (tensor<4x2xf16>) -> tensor<4xi32>
  %2 = stablehlo.bitcast_convert %x : (tensor<4xf32>) -> tensor<4x4xui8>
  %3 = stablehlo.bitcast_convert %c : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  return %0 : tensor<4xi32>
}
// -----
func.func @map(%x: tensor<4x5xf32>, %y: tensor<4x5xf32>) -> tensor<4x5xi1> {
  %0 = "stablehlo.map"(%x, %y) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xi1>
  return %0 : tensor<4x5xi1>
}
// -----
func.func @constants() -> tensor<2x2xf32> {
  %0 = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %1 = stablehlo.constant dense<7> : tensor<3xui8>
  %2 = stablehlo.constant dense<(1.0, -2.0)> : tensor<complex<f32>>
  %3 = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %4 = stablehlo.constant dense<> : tensor<0x4xi64>
  %5 = stablehlo.constant dense<0x7FC00001> : tensor<f32>
  %6 = stablehlo.constant dense<[0.5, -0.0]> : tensor<2xf8E5M2>
  return %0 : tensor<2x2xf32>
}
