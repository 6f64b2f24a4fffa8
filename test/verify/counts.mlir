// Numbers of operands, results, regions and their blocks, types that have to be one, and attributes with a least value: what MLIR's own traits and
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

func.func @no_block(%a: tensor<4xf32>, %p: tensor<i1>) {
  // expected-error@+1 {{'stablehlo.if' op region #1 must have 1 block, but has 0}}
  %r = "stablehlo.if"(%p) ({
    "stablehlo.return"(%a) : (tensor<4xf32>) -> ()
  }, {
  }) : (tensor<i1>) -> tensor<4xf32>
  return
}

// -----

func.func @two_blocks(%a: tensor<4xf32>, %i: tensor<i32>) {
  // expected-error@+1 {{'stablehlo.case' op region #0 must have 1 block, but has 2}}
  %r = "stablehlo.case"(%i) ({
    "stablehlo.return"(%a) : (tensor<4xf32>) -> ()
  ^second:
    "stablehlo.return"(%a) : (tensor<4xf32>) -> ()
  }) : (tensor<i32>) -> tensor<4xf32>
  return
}

// -----

func.func @blocks_of_a_composite(%a: tensor<4xf32>) -> tensor<4xf32> {
  %r = "stablehlo.composite"(%a) <{name = "foo.bar", decomposition = @negate}> ({
  }, {
    "stablehlo.return"(%a) : (tensor<4xf32>) -> ()
  ^second:
    "stablehlo.return"(%a) : (tensor<4xf32>) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

func.func private @negate(tensor<4xf32>) -> tensor<4xf32>

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

func.func @another_encoding(%a: tensor<8xf32>) {
  // expected-error@+1 {{'sdy.propagation_barrier' op operand #0 is of type tensor<8xf32>, but the result of type tensor<?xf32, #stablehlo.bounds<8>>}}
  %r = "sdy.propagation_barrier"(%a) <{allowed_direction = 0 : i32}> : (tensor<8xf32>) -> tensor<?xf32, #stablehlo.bounds<8>>
  return
}

// -----

func.func @reduces_nothing() {
  // expected-error@+1 {{'stablehlo.reduce' op there must be at least one input and its initial value, but there are 0 operands}}
  "stablehlo.reduce"() ({
    "stablehlo.return"() : () -> ()
  }) {dimensions = array<i64>} : () -> ()
  return
}

// -----

func.func @body_without_results(%a: tensor<8xf32>, %i: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.reduce' op the body must return 1 values, but returns 0}}
  %r = "stablehlo.reduce"(%a, %i) ({
  ^bb0(%l: tensor<f32>, %m: tensor<f32>):
    "stablehlo.return"() : () -> ()
  }) {dimensions = array<i64: 0>} : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @constant() {
  // expected-error@+1 {{'sdy.constant' op value is of type tensor<2xf32>, but the result of type tensor<3xf32>}}
  %r = "sdy.constant"() <{value = dense<1.0> : tensor<2xf32>}> : () -> tensor<3xf32>
  return
}
