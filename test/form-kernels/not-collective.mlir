// RUN: not slimhlo-opt %s --slimhlo-form-kernels 2>&1 | FileCheck %s

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: error: 'stablehlo.collective_permute' op cannot become a GPU kernel: collectives are not supported
  %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
