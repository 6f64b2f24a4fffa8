// RUN: not slimhlo-opt %s --slimhlo-form-kernels 2>&1 | FileCheck %s

func.func @main(%x: tensor<3xf32>, %p: tensor<i1>) -> tensor<3xf32> {
  // CHECK: error: 'stablehlo.map' op cannot become a GPU kernel: its region has an op that is not elementwise on scalars
  %0 = "stablehlo.map"(%x) ({
  ^bb0(%a: tensor<f32>):
    %1 = "stablehlo.if"(%p) ({
      stablehlo.return %a : tensor<f32>
    }, {
      %2 = stablehlo.negate %a : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<i1>) -> tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
