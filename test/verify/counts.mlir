// Numbers of operands, results and regions, types that have to be one, and attributes with a least value: what MLIR's own traits and
// constraints ask, with what was found.
// RUN: slimhlo-opt %s --split-input-file --verify-diagnostics

func.func @negate(%a: tensor<4xf32>) -> tensor<4xf32> {
  %r = "stablehlo.negate"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

func.func @operands(%a: tensor<4xf32>) {
  // expected-error@+1 {{'stablehlo.negate' op must have 1 operand, but has 2}}
  %r = "stablehlo.negate"(%a, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @results(%a: tensor<4xf32>) {
  // expected-error@+1 {{'stablehlo.negate' op must have 1 result, but has 2}}
  %r:2 = "stablehlo.negate"(%a) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @two_results(%a: tensor<4xf32>) {
  // expected-error@+1 {{'chlo.top_k' op must have 2 results, but has 1}}
  %r = "chlo.top_k"(%a) <{k = 2 : i64}> : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @regions(%a: tensor<4xf32>) {
  // expected-error@+1 {{'chlo.tan' op must have 0 regions, but has 1}}
  %r = "chlo.tan"(%a) ({
  ^bb0:
    stablehlo.return
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @least(%a: tensor<4xf32>) {
  // expected-error@+1 {{'stablehlo.concatenate' op dimension = -1, but must be at least 0}}
  %r = "stablehlo.concatenate"(%a) <{dimension = -1 : i64}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @least_of_two(%a: tensor<4xf32>) {
  // expected-error@+1 {{'stablehlo.reduce_precision' op exponent_bits = 0, but must be at least 1}}
  %r = "stablehlo.reduce_precision"(%a) <{exponent_bits = 0 : i32, mantissa_bits = 7 : i32}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @one_type(%a: tensor<?x4xf32>) {
  %r = "sdy.propagation_barrier"(%a) <{allowed_direction = 0 : i32}> : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @another_size(%a: tensor<8x4xf32>) {
  // expected-error@+1 {{'sdy.propagation_barrier' op operand #0 is of type tensor<8x4xf32>, but the result of type tensor<8x5xf32>}}
  %r = "sdy.propagation_barrier"(%a) <{allowed_direction = 0 : i32}> : (tensor<8x4xf32>) -> tensor<8x5xf32>
  return
}

// -----

func.func @another_element(%a: tensor<8x4xf32>) {
  // expected-error@+1 {{'sdy.propagation_barrier' op operand #0 is of type tensor<8x4xf32>, but the result of type tensor<8x4xbf16>}}
  %r = "sdy.propagation_barrier"(%a) <{allowed_direction = 0 : i32}> : (tensor<8x4xf32>) -> tensor<8x4xbf16>
  return
}

// -----

func.func @constant() {
  // expected-error@+1 {{'sdy.constant' op value is of type tensor<2xf32>, but the result of type tensor<3xf32>}}
  %r = "sdy.constant"() <{value = dense<1.0> : tensor<2xf32>}> : () -> tensor<3xf32>
  return
}
