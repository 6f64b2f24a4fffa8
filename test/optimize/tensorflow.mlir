// What TensorFlow writes is read, names and attributes of its own included, and what it gathers is summed chunk by chunk.

// RUN: slimhlo-opt %S/../data/tensorflow_gather.mlir --slimhlo-optimize=target=xla-cpu | FileCheck %s

// CHECK: module @a_inference_{{.*}} attributes {mhlo.cross_program_prefetches = [], mhlo.input_output_alias = [], mhlo.is_dynamic = false, mhlo.use_auto_spmd_partitioning = false}
// CHECK: func.func @main(%[[TABLE:.*]]: tensor<128x128xf32>, %[[INDEX:.*]]: tensor<1048576x2xi32>) -> tensor<f32>
// CHECK: stablehlo.while
// CHECK: stablehlo.dynamic_slice
// CHECK: "stablehlo.gather"
