// RUN: slimhlo-opt %s --slimhlo-optimize=target=xla-cpu | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-optimize=target=xla-cpu | slimhlo-opt --slimhlo-optimize=target=xla-cpu | FileCheck %s

// A residual network, with a loss by log_softmax and one-hot labels, and its gradients, as JAX lowers it. What the logits are computed
// from leads up through all layers, further than a plan goes: it takes the network's last value as it is, which is small, and
// computes the logits by chunks.
// CHECK-LABEL: func.func public @main
// CHECK-NOT: x512x8192xf32
// CHECK: {{^ *}}return

module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8192x64xf32>, %arg1: tensor<64x128xf32>, %arg2: tensor<128x64xf32>, %arg3: tensor<64x128xf32>, %arg4: tensor<128x64xf32>, %arg5: tensor<2x512xi32>, %arg6: tensor<2x512xi32>) -> (tensor<f32> {jax.result_info = "result[0]"}, tensor<8192x64xf32> {jax.result_info = "result[1][0]"}, tensor<64x128xf32> {jax.result_info = "result[1][1][0][0]"}, tensor<128x64xf32> {jax.result_info = "result[1][1][0][1]"}, tensor<64x128xf32> {jax.result_info = "result[1][1][1][0]"}, tensor<128x64xf32> {jax.result_info = "result[1][1][1][1]"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2x512xi32>
    %1 = stablehlo.compare LT, %arg5, %0, SIGNED : (tensor<2x512xi32>, tensor<2x512xi32>) -> tensor<2x512xi1>
    %c_0 = stablehlo.constant dense<8192> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<2x512xi32>
    %3 = stablehlo.add %arg5, %2 : tensor<2x512xi32>
    %4 = stablehlo.select %1, %3, %arg5 : tensor<2x512xi1>, tensor<2x512xi32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<2x512xi32>) -> tensor<2x512x1xi32>
    %6 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 64>}> : (tensor<8192x64xf32>, tensor<2x512x1xi32>) -> tensor<2x512x64xf32>
    %7 = stablehlo.multiply %6, %6 : tensor<2x512x64xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %8 = stablehlo.reduce(%7 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<2x512x64xf32>, tensor<f32>) -> tensor<2x512xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1] : (tensor<2x512xf32>) -> tensor<2x512x1xf32>
    %cst_1 = stablehlo.constant dense<6.400000e+01> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x512x1xf32>
    %11 = stablehlo.divide %9, %10 : tensor<2x512x1xf32>
    %cst_2 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x512x1xf32>
    %13 = stablehlo.add %11, %12 : tensor<2x512x1xf32>
    %14 = stablehlo.rsqrt %13 : tensor<2x512x1xf32>
    %15 = stablehlo.divide %14, %13 : tensor<2x512x1xf32>
    %cst_3 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %16 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<2x512x1xf32>
    %17 = stablehlo.multiply %16, %15 : tensor<2x512x1xf32>
    %18 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2] : (tensor<2x512x1xf32>) -> tensor<2x512x64xf32>
    %19 = stablehlo.multiply %6, %18 : tensor<2x512x64xf32>
    %20 = stablehlo.dot_general %19, %arg1, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x512x64xf32>, tensor<64x128xf32>) -> tensor<2x512x128xf32>
    %21 = stablehlo.tanh %20 : tensor<2x512x128xf32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %22 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<2x512x128xf32>
    %23 = stablehlo.subtract %22, %21 : tensor<2x512x128xf32>
    %24 = stablehlo.dot_general %21, %arg2, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x512x128xf32>, tensor<128x64xf32>) -> tensor<2x512x64xf32>
    %25 = stablehlo.add %6, %24 : tensor<2x512x64xf32>
    %26 = stablehlo.multiply %25, %25 : tensor<2x512x64xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %27 = stablehlo.reduce(%26 init: %cst_5) applies stablehlo.add across dimensions = [2] : (tensor<2x512x64xf32>, tensor<f32>) -> tensor<2x512xf32>
    %28 = stablehlo.broadcast_in_dim %27, dims = [0, 1] : (tensor<2x512xf32>) -> tensor<2x512x1xf32>
    %cst_6 = stablehlo.constant dense<6.400000e+01> : tensor<f32>
    %29 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<2x512x1xf32>
    %30 = stablehlo.divide %28, %29 : tensor<2x512x1xf32>
    %cst_7 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %31 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<2x512x1xf32>
    %32 = stablehlo.add %30, %31 : tensor<2x512x1xf32>
    %33 = stablehlo.rsqrt %32 : tensor<2x512x1xf32>
    %34 = stablehlo.divide %33, %32 : tensor<2x512x1xf32>
    %cst_8 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %35 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<2x512x1xf32>
    %36 = stablehlo.multiply %35, %34 : tensor<2x512x1xf32>
    %37 = stablehlo.broadcast_in_dim %33, dims = [0, 1, 2] : (tensor<2x512x1xf32>) -> tensor<2x512x64xf32>
    %38 = stablehlo.multiply %25, %37 : tensor<2x512x64xf32>
    %39 = stablehlo.dot_general %38, %arg3, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x512x64xf32>, tensor<64x128xf32>) -> tensor<2x512x128xf32>
    %40 = stablehlo.tanh %39 : tensor<2x512x128xf32>
    %cst_9 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %41 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<2x512x128xf32>
    %42 = stablehlo.subtract %41, %40 : tensor<2x512x128xf32>
    %43 = stablehlo.dot_general %40, %arg4, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x512x128xf32>, tensor<128x64xf32>) -> tensor<2x512x64xf32>
    %44 = stablehlo.add %25, %43 : tensor<2x512x64xf32>
    %45 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<8192x64xf32>) -> tensor<64x8192xf32>
    %46 = stablehlo.dot_general %44, %45, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x512x64xf32>, tensor<64x8192xf32>) -> tensor<2x512x8192xf32>
    %47:3 = call @log_softmax(%46) : (tensor<2x512x8192xf32>) -> (tensor<2x512x8192xf32>, tensor<2x512x8192xf32>, tensor<2x512x1xf32>)
    %48 = call @_one_hot(%arg6) : (tensor<2x512xi32>) -> tensor<2x512x8192xf32>
    %49 = stablehlo.multiply %47#0, %48 : tensor<2x512x8192xf32>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %50 = stablehlo.reduce(%49 init: %cst_10) applies stablehlo.add across dimensions = [2] : (tensor<2x512x8192xf32>, tensor<f32>) -> tensor<2x512xf32>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %51 = stablehlo.reduce(%50 init: %cst_11) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x512xf32>, tensor<f32>) -> tensor<f32>
    %cst_12 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %52 = stablehlo.divide %51, %cst_12 : tensor<f32>
    %53 = stablehlo.negate %52 : tensor<f32>
    %cst_13 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %54 = stablehlo.negate %cst_13 : tensor<f32>
    %cst_14 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %55 = stablehlo.divide %54, %cst_14 : tensor<f32>
    %56 = stablehlo.broadcast_in_dim %55, dims = [] : (tensor<f32>) -> tensor<2x512xf32>
    %57 = stablehlo.broadcast_in_dim %56, dims = [0, 1] : (tensor<2x512xf32>) -> tensor<2x512x8192xf32>
    %58 = stablehlo.multiply %57, %48 : tensor<2x512x8192xf32>
    %59 = call @log_softmax_0(%47#1, %47#2, %58) : (tensor<2x512x8192xf32>, tensor<2x512x1xf32>, tensor<2x512x8192xf32>) -> tensor<2x512x8192xf32>
    %60 = stablehlo.dot_general %59, %44, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<2x512x8192xf32>, tensor<2x512x64xf32>) -> tensor<8192x64xf32>
    %61 = stablehlo.transpose %60, dims = [1, 0] : (tensor<8192x64xf32>) -> tensor<64x8192xf32>
    %62 = stablehlo.dot_general %59, %45, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x512x8192xf32>, tensor<64x8192xf32>) -> tensor<2x512x64xf32>
    %63 = stablehlo.transpose %61, dims = [1, 0] : (tensor<64x8192xf32>) -> tensor<8192x64xf32>
    %64 = stablehlo.dot_general %62, %40, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<2x512x64xf32>, tensor<2x512x128xf32>) -> tensor<64x128xf32>
    %65 = stablehlo.transpose %64, dims = [1, 0] : (tensor<64x128xf32>) -> tensor<128x64xf32>
    %66 = stablehlo.dot_general %62, %arg4, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x512x64xf32>, tensor<128x64xf32>) -> tensor<2x512x128xf32>
    %67 = stablehlo.multiply %66, %42 : tensor<2x512x128xf32>
    %68 = stablehlo.multiply %67, %40 : tensor<2x512x128xf32>
    %69 = stablehlo.add %67, %68 : tensor<2x512x128xf32>
    %70 = stablehlo.dot_general %69, %38, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<2x512x128xf32>, tensor<2x512x64xf32>) -> tensor<128x64xf32>
    %71 = stablehlo.transpose %70, dims = [1, 0] : (tensor<128x64xf32>) -> tensor<64x128xf32>
    %72 = stablehlo.dot_general %69, %arg3, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x512x128xf32>, tensor<64x128xf32>) -> tensor<2x512x64xf32>
    %73 = stablehlo.multiply %25, %72 : tensor<2x512x64xf32>
    %cst_15 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %74 = stablehlo.reduce(%73 init: %cst_15) applies stablehlo.add across dimensions = [2] : (tensor<2x512x64xf32>, tensor<f32>) -> tensor<2x512xf32>
    %75 = stablehlo.reshape %74 : (tensor<2x512xf32>) -> tensor<2x512x1xf32>
    %76 = stablehlo.broadcast_in_dim %33, dims = [0, 1, 2] : (tensor<2x512x1xf32>) -> tensor<2x512x64xf32>
    %77 = stablehlo.multiply %72, %76 : tensor<2x512x64xf32>
    %78 = stablehlo.add %62, %77 : tensor<2x512x64xf32>
    %79 = stablehlo.multiply %75, %36 : tensor<2x512x1xf32>
    %cst_16 = stablehlo.constant dense<6.400000e+01> : tensor<f32>
    %80 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<2x512x1xf32>
    %81 = stablehlo.divide %79, %80 : tensor<2x512x1xf32>
    %cst_17 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %82 = stablehlo.reduce(%81 init: %cst_17) applies stablehlo.add across dimensions = [2] : (tensor<2x512x1xf32>, tensor<f32>) -> tensor<2x512xf32>
    %83 = stablehlo.broadcast_in_dim %82, dims = [0, 1] : (tensor<2x512xf32>) -> tensor<2x512x64xf32>
    %84 = stablehlo.multiply %25, %83 : tensor<2x512x64xf32>
    %85 = stablehlo.add %78, %84 : tensor<2x512x64xf32>
    %86 = stablehlo.multiply %83, %25 : tensor<2x512x64xf32>
    %87 = stablehlo.add %85, %86 : tensor<2x512x64xf32>
    %88 = stablehlo.dot_general %87, %21, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<2x512x64xf32>, tensor<2x512x128xf32>) -> tensor<64x128xf32>
    %89 = stablehlo.transpose %88, dims = [1, 0] : (tensor<64x128xf32>) -> tensor<128x64xf32>
    %90 = stablehlo.dot_general %87, %arg2, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x512x64xf32>, tensor<128x64xf32>) -> tensor<2x512x128xf32>
    %91 = stablehlo.multiply %90, %23 : tensor<2x512x128xf32>
    %92 = stablehlo.multiply %91, %21 : tensor<2x512x128xf32>
    %93 = stablehlo.add %91, %92 : tensor<2x512x128xf32>
    %94 = stablehlo.dot_general %93, %19, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<2x512x128xf32>, tensor<2x512x64xf32>) -> tensor<128x64xf32>
    %95 = stablehlo.transpose %94, dims = [1, 0] : (tensor<128x64xf32>) -> tensor<64x128xf32>
    %96 = stablehlo.dot_general %93, %arg1, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x512x128xf32>, tensor<64x128xf32>) -> tensor<2x512x64xf32>
    %97 = stablehlo.multiply %6, %96 : tensor<2x512x64xf32>
    %cst_18 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %98 = stablehlo.reduce(%97 init: %cst_18) applies stablehlo.add across dimensions = [2] : (tensor<2x512x64xf32>, tensor<f32>) -> tensor<2x512xf32>
    %99 = stablehlo.reshape %98 : (tensor<2x512xf32>) -> tensor<2x512x1xf32>
    %100 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2] : (tensor<2x512x1xf32>) -> tensor<2x512x64xf32>
    %101 = stablehlo.multiply %96, %100 : tensor<2x512x64xf32>
    %102 = stablehlo.add %87, %101 : tensor<2x512x64xf32>
    %103 = stablehlo.multiply %99, %17 : tensor<2x512x1xf32>
    %cst_19 = stablehlo.constant dense<6.400000e+01> : tensor<f32>
    %104 = stablehlo.broadcast_in_dim %cst_19, dims = [] : (tensor<f32>) -> tensor<2x512x1xf32>
    %105 = stablehlo.divide %103, %104 : tensor<2x512x1xf32>
    %cst_20 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %106 = stablehlo.reduce(%105 init: %cst_20) applies stablehlo.add across dimensions = [2] : (tensor<2x512x1xf32>, tensor<f32>) -> tensor<2x512xf32>
    %107 = stablehlo.broadcast_in_dim %106, dims = [0, 1] : (tensor<2x512xf32>) -> tensor<2x512x64xf32>
    %108 = stablehlo.multiply %6, %107 : tensor<2x512x64xf32>
    %109 = stablehlo.add %102, %108 : tensor<2x512x64xf32>
    %110 = stablehlo.multiply %107, %6 : tensor<2x512x64xf32>
    %111 = stablehlo.add %109, %110 : tensor<2x512x64xf32>
    %cst_21 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %112 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f32>) -> tensor<8192x64xf32>
    %113 = "stablehlo.scatter"(%112, %5, %111) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
      %115 = stablehlo.add %arg7, %arg8 : tensor<f32>
      stablehlo.return %115 : tensor<f32>
    }) : (tensor<8192x64xf32>, tensor<2x512x1xi32>, tensor<2x512x64xf32>) -> tensor<8192x64xf32>
    %114 = stablehlo.add %63, %113 : tensor<8192x64xf32>
    return %53, %114, %95, %89, %71, %65 : tensor<f32>, tensor<8192x64xf32>, tensor<64x128xf32>, tensor<128x64xf32>, tensor<64x128xf32>, tensor<128x64xf32>
  }
  func.func private @log_softmax(%arg0: tensor<2x512x8192xf32>) -> (tensor<2x512x8192xf32>, tensor<2x512x8192xf32>, tensor<2x512x1xf32>) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.maximum across dimensions = [2] : (tensor<2x512x8192xf32>, tensor<f32>) -> tensor<2x512xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x512xf32>
    %2 = stablehlo.maximum %1, %0 : tensor<2x512xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<2x512xf32>) -> tensor<2x512x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2] : (tensor<2x512x1xf32>) -> tensor<2x512x8192xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<2x512x8192xf32>
    %6 = stablehlo.exponential %5 : tensor<2x512x8192xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst_1) applies stablehlo.add across dimensions = [2] : (tensor<2x512x8192xf32>, tensor<f32>) -> tensor<2x512xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<2x512xf32>) -> tensor<2x512x1xf32>
    %9 = stablehlo.log %8 : tensor<2x512x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2] : (tensor<2x512x1xf32>) -> tensor<2x512x8192xf32>
    %11 = stablehlo.subtract %5, %10 : tensor<2x512x8192xf32>
    return %11, %6, %8 : tensor<2x512x8192xf32>, tensor<2x512x8192xf32>, tensor<2x512x1xf32>
  }
  func.func private @_one_hot(%arg0: tensor<2x512xi32>) -> tensor<2x512x8192xf32> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1] : (tensor<2x512xi32>) -> tensor<2x512x1xi32>
    %1 = stablehlo.iota dim = 2 : tensor<1x1x8192xi32>
    %2 = stablehlo.broadcast_in_dim %0, dims = [0, 1, 2] : (tensor<2x512x1xi32>) -> tensor<2x512x8192xi32>
    %3 = stablehlo.broadcast_in_dim %1, dims = [0, 1, 2] : (tensor<1x1x8192xi32>) -> tensor<2x512x8192xi32>
    %4 = stablehlo.compare EQ, %2, %3, SIGNED : (tensor<2x512x8192xi32>, tensor<2x512x8192xi32>) -> tensor<2x512x8192xi1>
    %5 = stablehlo.convert %4 : (tensor<2x512x8192xi1>) -> tensor<2x512x8192xf32>
    return %5 : tensor<2x512x8192xf32>
  }
  func.func private @log_softmax_0(%arg0: tensor<2x512x8192xf32>, %arg1: tensor<2x512x1xf32>, %arg2: tensor<2x512x8192xf32>) -> tensor<2x512x8192xf32> {
    %0 = stablehlo.negate %arg2 : tensor<2x512x8192xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<2x512x8192xf32>, tensor<f32>) -> tensor<2x512xf32>
    %2 = stablehlo.reshape %1 : (tensor<2x512xf32>) -> tensor<2x512x1xf32>
    %3 = stablehlo.divide %2, %arg1 : tensor<2x512x1xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst_0) applies stablehlo.add across dimensions = [2] : (tensor<2x512x1xf32>, tensor<f32>) -> tensor<2x512xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<2x512xf32>) -> tensor<2x512x8192xf32>
    %6 = stablehlo.multiply %5, %arg0 : tensor<2x512x8192xf32>
    %7 = stablehlo.add %arg2, %6 : tensor<2x512x8192xf32>
    return %7 : tensor<2x512x8192xf32>
  }
}
