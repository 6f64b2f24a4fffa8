// RUN: slimhlo-opt %s --slimhlo-emit-gpu --split-input-file --verify-diagnostics

func.func private @unknown(%x: tensor<4xf32>) -> tensor<4xf32> attributes {slimhlo.kernel = "map"} {
  // expected-error @+1 {{'stablehlo.custom_call' op cannot be computed within a kernel}}
  %r = stablehlo.custom_call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

func.func private @dynamic(%x: tensor<?xf32>) -> tensor<?xf32> attributes {slimhlo.kernel = "map"} {
  // expected-error @+1 {{where a static tensor is needed}}
  %r = stablehlo.negate %x : tensor<?xf32>
  return %r : tensor<?xf32>
}

// -----

// expected-error @+1 {{has results of different numbers of elements}}
func.func private @counts(%x: tensor<4xf32>, %y: tensor<5xf32>) -> (tensor<4xf32>, tensor<5xf32>) attributes {slimhlo.kernel = "map"} {
  %a = stablehlo.negate %x : tensor<4xf32>
  %b = stablehlo.negate %y : tensor<5xf32>
  return %a, %b : tensor<4xf32>, tensor<5xf32>
}

// -----

// expected-error @+1 {{is a kernel of rows without a reduction of rows}}
func.func private @no_rows(%x: tensor<40x50xf32>) -> tensor<40x50xf32> attributes {slimhlo.kernel = "rows"} {
  %r = stablehlo.negate %x : tensor<40x50xf32>
  return %r : tensor<40x50xf32>
}

// -----

// expected-error @+1 {{returns 50 elements, neither one nor 50 for each of 40 rows of 50}}
func.func private @other_rows(%x: tensor<40x50xf32>, %y: tensor<50xf32>) -> (tensor<40xf32>, tensor<50xf32>) attributes {slimhlo.kernel = "rows"} {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<40x50xf32>, tensor<f32>) -> tensor<40xf32>
  %r = stablehlo.negate %y : tensor<50xf32>
  return %s, %r : tensor<40xf32>, tensor<50xf32>
}
