// Diagnostics of each part of a split file are checked on their own lines.
// RUN: slimhlo-opt %s --split-input-file --verify-diagnostics

func.func @types_differ(%a: tensor<2xf32>, %b: tensor<3xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{'stablehlo.add' op}}
  %0 = "stablehlo.add"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @fine(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.add %a, %a : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @unknown(%a: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{unregistered operation 'stablehlo.no_such_op'}}
  %0 = "stablehlo.no_such_op"(%a) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
