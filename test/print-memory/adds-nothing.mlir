// RUN: slimhlo-opt %s --slimhlo-print-memory="target=xla-cpu top=3" 2>&1 >/dev/null | FileCheck %s

// Zero is not added by compilers: the scatter reads the updates where they are.
// CHECK: memory: peak 16.01 MiB = arguments 16.00 MiB + results 4.00 KiB - aliased 0 B + temporaries 0 B
func.func @main(%table: tensor<1024xf32>, %at: tensor<2097152x1xi32>, %updates: tensor<2097152xf32>) -> tensor<1024xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<2097152xf32>
  %sum = stablehlo.add %updates, %zero : tensor<2097152xf32>
  %difference = stablehlo.subtract %sum, %zero : tensor<2097152xf32>
  %r = "stablehlo.scatter"(%table, %at, %difference) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.multiply %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<1024xf32>, tensor<2097152x1xi32>, tensor<2097152xf32>) -> tensor<1024xf32>
  return %r : tensor<1024xf32>
}
