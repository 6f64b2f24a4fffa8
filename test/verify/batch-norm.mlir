// Features of batch_norm_training, batch_norm_inference and batch_norm_grad.
// RUN: slimhlo-opt %s --split-input-file --verify-diagnostics

func.func @training(%a: tensor<2x4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>) {
  %r:3 = "stablehlo.batch_norm_training"(%a, %b, %c) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @inference(%a: tensor<2x?xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>, %d: tensor<4xf32>, %e: tensor<4xf32>) {
  %r = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x?xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x?xf32>
  return
}

// -----

func.func @grad(%a: tensor<2x4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>, %d: tensor<4xf32>, %e: tensor<2x4xf32>) {
  %r:3 = "stablehlo.batch_norm_grad"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @feature_index(%a: tensor<2x4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>) {
  // expected-error@+2 {{feature_index = 2 is not a dimension of operand, which has rank 2}}
  // expected-error@+1 {{failed to infer returned types}}
  %r:3 = "stablehlo.batch_norm_training"(%a, %b, %c) <{epsilon = 1.0e-3 : f32, feature_index = 2 : i64}> : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @features(%a: tensor<2x4xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>) {
  // expected-error@+2 {{scale has 3 elements, but operand has 4 features in dimension 1}}
  // expected-error@+1 {{failed to infer returned types}}
  %r:3 = "stablehlo.batch_norm_training"(%a, %b, %c) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x4xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @scale_and_offset(%a: tensor<2x4xf32>, %b: tensor<4xf32>, %c: tensor<3xf32>) {
  // expected-error@+2 {{offset has shape [3], but scale has [4]}}
  // expected-error@+1 {{failed to infer returned types}}
  %r:3 = "stablehlo.batch_norm_training"(%a, %b, %c) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x4xf32>, tensor<4xf32>, tensor<3xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @elements(%a: tensor<2x4xf64>, %b: tensor<4xf32>, %c: tensor<4xf32>, %d: tensor<4xf32>, %e: tensor<4xf32>) {
  // expected-error@+1 {{element type}}
  %r = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x4xf64>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf64>
  return
}

// -----

func.func @grad_output(%a: tensor<2x4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>, %d: tensor<4xf32>, %e: tensor<3x4xf32>) {
  // expected-error@+2 {{grad_output has shape [3x4], but operand has [2x4]}}
  // expected-error@+1 {{failed to infer returned types}}
  %r:3 = "stablehlo.batch_norm_grad"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<3x4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}
