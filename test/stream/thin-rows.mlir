// RUN: slimhlo-opt %s --slimhlo-optimize=target=xla-cpu | FileCheck %s

// Both gradients of a cross-entropy in bf16. In chunks of rows, of which there could be but few, each turn would widen the table and
// rewrite its gradient; in chunks of the vocabulary that gradient is put in its place.
// CHECK-LABEL: func.func public @main
// CHECK: stablehlo.while
// CHECK-NOT: tensor<8000x1024xf32>
// CHECK: stablehlo.dynamic_update_slice %{{.*}} : (tensor<8000x1024xbf16>, tensor<250x1024xbf16>, tensor<i64>, tensor<i64>) -> tensor<8000x1024xbf16>
// CHECK-NOT: tensor<8000x1024xf32>
// CHECK: {{^ *}}return

module @jit_loss attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2048x1024xbf16>, %arg1: tensor<8000x1024xbf16>, %arg2: tensor<2048xi32>) -> (tensor<2048x1024xbf16> {jax.result_info = "result[0]"}, tensor<8000x1024xbf16> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.transpose %arg1, dims = [1, 0] : (tensor<8000x1024xbf16>) -> tensor<1024x8000xbf16>
    %1 = stablehlo.dot_general %arg0, %0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2048x1024xbf16>, tensor<1024x8000xbf16>) -> tensor<2048x8000xbf16>
    %2 = stablehlo.convert %1 : (tensor<2048x8000xbf16>) -> tensor<2048x8000xf32>
    %3 = stablehlo.broadcast_in_dim %arg2, dims = [0] : (tensor<2048xi32>) -> tensor<2048x1xi32>
    %4 = call @take_along_axis(%3) : (tensor<2048x1xi32>) -> tensor<2048x1x1xi32>
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %5 = stablehlo.reduce(%2 init: %cst) applies stablehlo.maximum across dimensions = [1] : (tensor<2048x8000xf32>, tensor<f32>) -> tensor<2048xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2048xf32>
    %7 = stablehlo.maximum %6, %5 : tensor<2048xf32>
    %8 = stablehlo.is_finite %7 : (tensor<2048xf32>) -> tensor<2048xi1>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2048xf32>
    %10 = stablehlo.select %8, %7, %9 : tensor<2048xi1>, tensor<2048xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0] : (tensor<2048xf32>) -> tensor<2048x1xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1] : (tensor<2048x1xf32>) -> tensor<2048x8000xf32>
    %13 = stablehlo.subtract %2, %12 : tensor<2048x8000xf32>
    %14 = stablehlo.exponential %13 : tensor<2048x8000xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %15 = stablehlo.reduce(%14 init: %cst_2) applies stablehlo.add across dimensions = [1] : (tensor<2048x8000xf32>, tensor<f32>) -> tensor<2048xf32>
    %16 = stablehlo.abs %15 : tensor<2048xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %17 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<2048xf32>
    %18 = stablehlo.compare GE, %15, %17, FLOAT : (tensor<2048xf32>, tensor<2048xf32>) -> tensor<2048xi1>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_5 = stablehlo.constant dense<2.048000e+03> : tensor<f32>
    %19 = stablehlo.divide %cst_4, %cst_5 : tensor<f32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [] : (tensor<f32>) -> tensor<2048xf32>
    %21 = stablehlo.negate %20 : tensor<2048xf32>
    %22 = stablehlo.divide %20, %16 : tensor<2048xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %23 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<2048xf32>
    %24 = stablehlo.select %18, %23, %22 : tensor<2048xi1>, tensor<2048xf32>
    %25 = stablehlo.select %18, %22, %23 : tensor<2048xi1>, tensor<2048xf32>
    %26 = stablehlo.negate %24 : tensor<2048xf32>
    %27 = stablehlo.add %25, %26 : tensor<2048xf32>
    %28 = stablehlo.broadcast_in_dim %27, dims = [0] : (tensor<2048xf32>) -> tensor<2048x8000xf32>
    %29 = stablehlo.multiply %28, %14 : tensor<2048x8000xf32>
    %30 = stablehlo.broadcast_in_dim %21, dims = [0] : (tensor<2048xf32>) -> tensor<2048x1xf32>
    %31 = call @take_along_axis_0(%4, %30) : (tensor<2048x1x1xi32>, tensor<2048x1xf32>) -> tensor<2048x8000xf32>
    %32 = stablehlo.add %29, %31 : tensor<2048x8000xf32>
    %33 = stablehlo.convert %32 : (tensor<2048x8000xf32>) -> tensor<2048x8000xbf16>
    %34 = stablehlo.dot_general %33, %arg0, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2048x8000xbf16>, tensor<2048x1024xbf16>) -> tensor<8000x1024xbf16>
    %35 = stablehlo.transpose %34, dims = [1, 0] : (tensor<8000x1024xbf16>) -> tensor<1024x8000xbf16>
    %36 = stablehlo.dot_general %33, %0, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2048x8000xbf16>, tensor<1024x8000xbf16>) -> tensor<2048x1024xbf16>
    %37 = stablehlo.transpose %35, dims = [1, 0] : (tensor<1024x8000xbf16>) -> tensor<8000x1024xbf16>
    return %36, %37 : tensor<2048x1024xbf16>, tensor<8000x1024xbf16>
  }
  func.func private @take_along_axis(%arg0: tensor<2048x1xi32>) -> tensor<2048x1x1xi32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2048x1xi32>
    %1 = stablehlo.compare LT, %arg0, %0, SIGNED : (tensor<2048x1xi32>, tensor<2048x1xi32>) -> tensor<2048x1xi1>
    %c_0 = stablehlo.constant dense<8000> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<2048x1xi32>
    %3 = stablehlo.add %arg0, %2 : tensor<2048x1xi32>
    %4 = stablehlo.select %1, %3, %arg0 : tensor<2048x1xi1>, tensor<2048x1xi32>
    %5 = stablehlo.reshape %4 : (tensor<2048x1xi32>) -> tensor<2048x1x1xi32>
    return %5 : tensor<2048x1x1xi32>
  }
  func.func private @take_along_axis_0(%arg0: tensor<2048x1x1xi32>, %arg1: tensor<2048x1xf32>) -> tensor<2048x8000xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2048x8000xf32>
    %1 = "stablehlo.scatter"(%0, %arg0, %arg1) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %2 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<2048x8000xf32>, tensor<2048x1x1xi32>, tensor<2048x1xf32>) -> tensor<2048x8000xf32>
    return %1 : tensor<2048x8000xf32>
  }
}
