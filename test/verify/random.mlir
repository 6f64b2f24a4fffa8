// Shapes and numbers of rng and rng_bit_generator.
// RUN: slimhlo-opt %s --split-input-file --verify-diagnostics

func.func @uniform(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<2xi64>) {
  %r = "stablehlo.rng"(%a, %b, %c) <{rng_distribution = #stablehlo<rng_distribution UNIFORM>}> : (tensor<i32>, tensor<i32>, tensor<2xi64>) -> tensor<?x3xi32>
  return
}

// -----

func.func @normal_integers(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<2xi64>) {
  // expected-error@+2 {{a has element type i32, but only floating point numbers can be distributed normally}}
  // expected-error@+1 {{failed to infer returned types}}
  %r = "stablehlo.rng"(%a, %b, %c) <{rng_distribution = #stablehlo<rng_distribution NORMAL>}> : (tensor<i32>, tensor<i32>, tensor<2xi64>) -> tensor<?x3xi32>
  return
}

// -----

func.func @rank(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<2xi64>) {
  // expected-error@+2 {{inferred type(s) 'tensor<?x?xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %r = "stablehlo.rng"(%a, %b, %c) <{rng_distribution = #stablehlo<rng_distribution UNIFORM>}> : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<3xf32>
  return
}

// -----

func.func @constant_shape(%a: tensor<f32>, %b: tensor<f32>) {
  %c = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
  // expected-error@+2 {{inferred type(s) 'tensor<2x3xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %r = "stablehlo.rng"(%a, %b, %c) <{rng_distribution = #stablehlo<rng_distribution UNIFORM>}> : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<2x4xf32>
  return
}

// -----

func.func @bits(%a: tensor<2xui64>) {
  %r:2 = "stablehlo.rng_bit_generator"(%a) <{rng_algorithm = #stablehlo<rng_algorithm PHILOX>}> : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui32>)
  return
}

// -----

func.func @state(%a: tensor<2xui64>) {
  // expected-error@+1 {{output_state has shape [3], but initial_state has [2]}}
  %r:2 = "stablehlo.rng_bit_generator"(%a) <{rng_algorithm = #stablehlo<rng_algorithm PHILOX>}> : (tensor<2xui64>) -> (tensor<3xui64>, tensor<8xui32>)
  return
}
