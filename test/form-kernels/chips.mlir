// RUN: slimhlo-opt %s --split-input-file --slimhlo-to-kernels=target=kernels-sm_80 --slimhlo-emit-gpu | FileCheck %s
// RUN: not slimhlo-opt %s --split-input-file --slimhlo-to-kernels=target=h100 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not slimhlo-opt %s --split-input-file --slimhlo-form-kernels 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// OTHER: 'h100' is no target of our own kernels

// A sum of all runs in eight blocks for each of an A100's 108 multiprocessors, but for what is rounded up to whole blocks of elements.

// CHECK: module attributes {slimhlo.target = "kernels-sm_80"}
// CHECK: gpu.func @reduce_0
// CHECK-SAME: known_grid_size = array<i32: 863, 1, 1>
module {
  func.func @main(%x: tensor<16777216xf32>) -> tensor<f32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<16777216xf32>, tensor<f32>) -> tensor<f32>
    return %s : tensor<f32>
  }
}

// -----

// UNKNOWN: slimhlo.target: 'kernels-sm_42' is none of the targets {{.*}}kernels-sm_80
module attributes {slimhlo.target = "kernels-sm_42"} {
  func.func @main(%x: tensor<f32>) -> tensor<f32> {
    return %x : tensor<f32>
  }
}
