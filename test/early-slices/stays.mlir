// RUN: slimhlo-opt %s --slimhlo-early-slices --split-input-file > %t
// RUN: slimhlo-opt %s --split-input-file | diff - %t

// Something reads it whole.
func.func @whole(%d: tensor<8x12xf32>) -> (tensor<8x4xf32>, tensor<8x12xf32>) {
  %later = stablehlo.optimization_barrier %d : tensor<8x12xf32>
  %e = stablehlo.slice %later [0:8, 0:4] : (tensor<8x12xf32>) -> tensor<8x4xf32>
  %all = stablehlo.sine %later : tensor<8x12xf32>
  return %e, %all : tensor<8x4xf32>, tensor<8x12xf32>
}

// -----

// Both together are as large as what they are of.
func.func @no_smaller(%d: tensor<8x12xf32>) -> (tensor<8x8xf32>, tensor<8x6xf32>) {
  %later = stablehlo.optimization_barrier %d : tensor<8x12xf32>
  %e = stablehlo.slice %later [0:8, 0:8] : (tensor<8x12xf32>) -> tensor<8x8xf32>
  %f = stablehlo.slice %later [0:8, 6:12] : (tensor<8x12xf32>) -> tensor<8x6xf32>
  return %e, %f : tensor<8x8xf32>, tensor<8x6xf32>
}

// -----

// The annotation would be lost.
func.func @annotated(%d: tensor<8x12xf32>) -> tensor<8x4xf32> {
  %later = stablehlo.optimization_barrier {mhlo.frontend_attributes = {kept = "1"}} %d : tensor<8x12xf32>
  %e = stablehlo.slice %later [0:8, 0:4] : (tensor<8x12xf32>) -> tensor<8x4xf32>
  return %e : tensor<8x4xf32>
}
