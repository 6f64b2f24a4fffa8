// RUN: slimhlo-opt %s --slimhlo-split-sums="write=false" | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-split-sums="write=false" | slimhlo-opt --slimhlo-split-sums | FileCheck %s --check-prefix=WRITTEN
// RUN: slimhlo-opt %s --slimhlo-optimize | FileCheck %s --check-prefix=OPTIMIZED

// That sums are going to be divided is noted where there are any, and what divides them takes the note away. The pipeline divides none in a function that it
// does not make smaller.

// CHECK-LABEL: func.func @sum
// CHECK-SAME: attributes {slimhlo.split_sums}
// CHECK-NOT: optimization_barrier
// CHECK-LABEL: func.func @none
// CHECK-NOT: slimhlo.split_sums

// WRITTEN-NOT: slimhlo.split_sums
// WRITTEN-LABEL: func.func @sum
// WRITTEN: optimization_barrier
// WRITTEN-NOT: slimhlo.split_sums

// OPTIMIZED-NOT: slimhlo.split_sums
// OPTIMIZED-NOT: optimization_barrier
func.func @sum(%x: tensor<16x196x768xf32>) -> tensor<768xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x196x768xf32>, tensor<f32>) -> tensor<768xf32>
  return %sum : tensor<768xf32>
}

func.func @none(%x: tensor<16x196x768xf32>) -> tensor<16x196x768xf32> {
  %y = stablehlo.negate %x : tensor<16x196x768xf32>
  return %y : tensor<16x196x768xf32>
}
