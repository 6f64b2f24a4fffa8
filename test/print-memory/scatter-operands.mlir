// RUN: slimhlo-opt %s --slimhlo-print-memory="target=xla-cpu top=0 plain=true" 2>&1 >/dev/null | FileCheck %s

// Indices and updates of a scatter are stored, whatever they are computed from: 2 MiB of indices, 2 MiB of updates.
// CHECK: temporaries 4194304{{$}}
func.func @main(%i: tensor<524288x1xi32>) -> tensor<65536xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<65536xf32>
  %ones = stablehlo.constant dense<1.0> : tensor<524288xf32>
  %three = stablehlo.constant dense<3> : tensor<524288x1xi32>
  %0 = stablehlo.add %i, %three : tensor<524288x1xi32>
  %1 = "stablehlo.scatter"(%zeros, %0, %ones) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<65536xf32>, tensor<524288x1xi32>, tensor<524288xf32>) -> tensor<65536xf32>
  return %1 : tensor<65536xf32>
}
