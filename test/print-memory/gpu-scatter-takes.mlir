// RUN: slimhlo-opt %s --slimhlo-print-memory="target=xla-gpu top=0 plain=true" 2>&1 >/dev/null | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-print-memory="target=xla-tpu top=0 plain=true" 2>&1 >/dev/null | FileCheck %s --check-prefix=TPU

// XLA for NVIDIA GPUs computes indices and updates within the scatter: nothing but the sum is stored.
// CHECK: temporaries 0{{$}}
// TPU-NOT: temporaries 0{{$}}
func.func @main(%table: tensor<1024xf32>, %indices: tensor<1048576xi32>) -> tensor<1024xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<1024xf32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %ones = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<i32>) -> tensor<1048576xi32>
  %next = stablehlo.add %indices, %ones : tensor<1048576xi32>
  %column = stablehlo.reshape %next : (tensor<1048576xi32>) -> tensor<1048576x1xi32>
  %rows = "stablehlo.gather"(%table, %column) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<1024xf32>, tensor<1048576x1xi32>) -> tensor<1048576xf32>
  %sines = stablehlo.sine %rows : tensor<1048576xf32>
  %r = "stablehlo.scatter"(%zeros, %column, %sines) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<1024xf32>, tensor<1048576x1xi32>, tensor<1048576xf32>) -> tensor<1024xf32>
  return %r : tensor<1024xf32>
}
