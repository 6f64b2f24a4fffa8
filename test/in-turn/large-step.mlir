// RUN: slimhlo-opt %s --slimhlo-in-turn="target=h100 share=3 least-ops=11" --split-input-file | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-in-turn="target=h100 share=3 least-ops=12" --split-input-file | FileCheck %s --check-prefix=ALONE
// RUN: slimhlo-opt %s --slimhlo-in-turn="target=v5p share=3 least-ops=11" --split-input-file | FileCheck %s --check-prefix=ALONE
// RUN: slimhlo-opt %s --slimhlo-in-turn="target=kernels share=3 least-ops=11" --split-input-file | FileCheck %s --check-prefix=ALONE

// As many ops as are asked for, and a back end that merges kernels.
// CHECK-LABEL: func.func @step
// CHECK: %[[FIRST:.*]] = stablehlo.subtract
// CHECK: stablehlo.optimization_barrier {{.*}}, %[[FIRST]] :
// CHECK: stablehlo.cosine
// ALONE-LABEL: func.func @step
// ALONE-NOT: optimization_barrier
// ALONE: return
func.func @step(%u: tensor<1024x1024xf32>, %v: tensor<1024x1024xf32>, %w: tensor<1024x1024xf32>) -> (tensor<1022x1022xf32>, tensor<1022x1022xf32>) {
  %face = stablehlo.multiply %u, %v : tensor<1024x1024xf32>
  %q = stablehlo.divide %u, %face : tensor<1024x1024xf32>
  %a = stablehlo.tanh %q : tensor<1024x1024xf32>
  %r = stablehlo.divide %w, %face : tensor<1024x1024xf32>
  %b = stablehlo.cosine %r : tensor<1024x1024xf32>
  %north = stablehlo.slice %a [0:1022, 1:1023] : (tensor<1024x1024xf32>) -> tensor<1022x1022xf32>
  %south = stablehlo.slice %a [2:1024, 1:1023] : (tensor<1024x1024xf32>) -> tensor<1022x1022xf32>
  %du = stablehlo.subtract %north, %south : tensor<1022x1022xf32>
  %east = stablehlo.slice %b [1:1023, 0:1022] : (tensor<1024x1024xf32>) -> tensor<1022x1022xf32>
  %west = stablehlo.slice %b [1:1023, 2:1024] : (tensor<1024x1024xf32>) -> tensor<1022x1022xf32>
  %dw = stablehlo.subtract %east, %west : tensor<1022x1022xf32>
  return %du, %dw : tensor<1022x1022xf32>, tensor<1022x1022xf32>
}

// -----

// Something waits for something else as it is: the user's, or what has taken turns before.
// CHECK-LABEL: func.func @waits
// CHECK: optimization_barrier
// CHECK-NOT: optimization_barrier
// CHECK: return
func.func @waits(%u: tensor<1024x1024xf32>, %v: tensor<1024x1024xf32>, %w: tensor<1024x1024xf32>) -> (tensor<1022x1022xf32>, tensor<1022x1022xf32>) {
  %face = stablehlo.multiply %u, %v : tensor<1024x1024xf32>
  %q = stablehlo.divide %u, %face : tensor<1024x1024xf32>
  %a = stablehlo.tanh %q : tensor<1024x1024xf32>
  %r = stablehlo.divide %w, %face : tensor<1024x1024xf32>
  %b = stablehlo.cosine %r : tensor<1024x1024xf32>
  %held:2 = stablehlo.optimization_barrier %a, %b : tensor<1024x1024xf32>, tensor<1024x1024xf32>
  %north = stablehlo.slice %held#0 [0:1022, 1:1023] : (tensor<1024x1024xf32>) -> tensor<1022x1022xf32>
  %south = stablehlo.slice %held#0 [2:1024, 1:1023] : (tensor<1024x1024xf32>) -> tensor<1022x1022xf32>
  %du = stablehlo.subtract %north, %south : tensor<1022x1022xf32>
  %east = stablehlo.slice %b [1:1023, 0:1022] : (tensor<1024x1024xf32>) -> tensor<1022x1022xf32>
  %west = stablehlo.slice %b [1:1023, 2:1024] : (tensor<1024x1024xf32>) -> tensor<1022x1022xf32>
  %dw = stablehlo.subtract %east, %west : tensor<1022x1022xf32>
  return %du, %dw : tensor<1022x1022xf32>, tensor<1022x1022xf32>
}

// -----

// A sum in what would be begun later: the model is asked about such.
// CHECK-LABEL: func.func @sums
// CHECK-NOT: optimization_barrier
// CHECK: return
func.func @sums(%u: tensor<1024x1024xf32>, %v: tensor<1024x1024xf32>, %w: tensor<1024x1024xf32>) -> (tensor<1022x1022xf32>, tensor<1022x1022xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %face = stablehlo.multiply %u, %v : tensor<1024x1024xf32>
  %q = stablehlo.divide %u, %face : tensor<1024x1024xf32>
  %a = stablehlo.tanh %q : tensor<1024x1024xf32>
  %sum = stablehlo.reduce(%w init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024xf32>
  %all = stablehlo.broadcast_in_dim %sum, dims = [0] : (tensor<1024xf32>) -> tensor<1024x1024xf32>
  %r = stablehlo.divide %all, %face : tensor<1024x1024xf32>
  %b = stablehlo.cosine %r : tensor<1024x1024xf32>
  %north = stablehlo.slice %a [0:1022, 1:1023] : (tensor<1024x1024xf32>) -> tensor<1022x1022xf32>
  %south = stablehlo.slice %a [2:1024, 1:1023] : (tensor<1024x1024xf32>) -> tensor<1022x1022xf32>
  %du = stablehlo.subtract %north, %south : tensor<1022x1022xf32>
  %east = stablehlo.slice %b [1:1023, 0:1022] : (tensor<1024x1024xf32>) -> tensor<1022x1022xf32>
  %west = stablehlo.slice %b [1:1023, 2:1024] : (tensor<1024x1024xf32>) -> tensor<1022x1022xf32>
  %dw = stablehlo.subtract %east, %west : tensor<1022x1022xf32>
  return %du, %dw : tensor<1022x1022xf32>, tensor<1022x1022xf32>
}
