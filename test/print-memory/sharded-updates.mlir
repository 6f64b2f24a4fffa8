// RUN: slimhlo-opt %s --split-input-file --slimhlo-print-memory="target=xla-cpu top=0 plain=true" 2>&1 >/dev/null | FileCheck %s

// A scatter of some rows of a dimension that is cut: all of the array is brought together, 16 MiB, and cut anew.
// CHECK: memory: peak {{[0-9]+}} = {{.*}} + temporaries 16777216
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @main(%x: tensor<2048x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, tf.aliasing_output = 0 : i32}, %u: tensor<3x2048xf32>) -> (tensor<2048x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %i = stablehlo.constant dense<5> : tensor<1xi32>
    %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [0]>}> ({
    ^bb0(%old: tensor<f32>, %new: tensor<f32>):
      stablehlo.return %new : tensor<f32>
    }) : (tensor<2048x2048xf32>, tensor<1xi32>, tensor<3x2048xf32>) -> tensor<2048x2048xf32>
    return %0 : tensor<2048x2048xf32>
  }
}

// -----

// A single row each device writes for itself.
// CHECK: memory: peak {{[0-9]+}} = {{.*}} + temporaries 0
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @main(%x: tensor<2048x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, tf.aliasing_output = 0 : i32}, %u: tensor<2048xf32>) -> (tensor<2048x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %i = stablehlo.constant dense<5> : tensor<1xi32>
    %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
    ^bb0(%old: tensor<f32>, %new: tensor<f32>):
      stablehlo.return %new : tensor<f32>
    }) : (tensor<2048x2048xf32>, tensor<1xi32>, tensor<2048xf32>) -> tensor<2048x2048xf32>
    return %0 : tensor<2048x2048xf32>
  }
}

// -----

// An update of another rank before it was reshaped: what of it is on every device is told by its own type.
// CHECK: memory: peak {{[0-9]+}} = {{.*}} + temporaries 8192
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @main(%x: tensor<2048x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, tf.aliasing_output = 0 : i32}, %u: tensor<2048xf32>) -> (tensor<2048x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %i = stablehlo.constant dense<5> : tensor<i32>
    %0 = stablehlo.reshape %u : (tensor<2048xf32>) -> tensor<1x2048xf32>
    %1 = stablehlo.dynamic_update_slice %x, %0, %i, %i : (tensor<2048x2048xf32>, tensor<1x2048xf32>, tensor<i32>, tensor<i32>) -> tensor<2048x2048xf32>
    return %1 : tensor<2048x2048xf32>
  }
}
