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
