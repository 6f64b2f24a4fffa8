// RUN: slimhlo-opt %s --slimhlo-optimize=target=xla-cpu | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-optimize=target=xla-cpu | slimhlo-opt --slimhlo-optimize=target=xla-cpu | FileCheck %s

// The gradient of a projection before a causal attention, as JAX lowers it. The weight's gradient could be streamed along
// tokens, from slices of the softmax; it waits until the attention's own gradients have been done head by head, and nothing
// needs the softmax whole.
// CHECK-LABEL: func.func public @main
// CHECK-NOT: stablehlo.exponential {{.*}}x1024x1024xf32
// CHECK: {{^ *}}return

module @jit_loss attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x1024x512xbf16>, %arg1: tensor<512x1536xbf16>) -> (tensor<512x1536xbf16> {jax.result_info = "result"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x1024x512xbf16>, tensor<512x1536xbf16>) -> tensor<4x1024x1536xbf16>
    %1 = stablehlo.slice %0 [0:4, 0:1024, 0:512] : (tensor<4x1024x1536xbf16>) -> tensor<4x1024x512xbf16>
    %2 = stablehlo.slice %0 [0:4, 0:1024, 512:1024] : (tensor<4x1024x1536xbf16>) -> tensor<4x1024x512xbf16>
    %3 = stablehlo.slice %0 [0:4, 0:1024, 1024:1536] : (tensor<4x1024x1536xbf16>) -> tensor<4x1024x512xbf16>
    %4 = stablehlo.reshape %1 : (tensor<4x1024x512xbf16>) -> tensor<4x1024x8x64xbf16>
    %5 = stablehlo.reshape %2 : (tensor<4x1024x512xbf16>) -> tensor<4x1024x8x64xbf16>
    %6 = stablehlo.reshape %3 : (tensor<4x1024x512xbf16>) -> tensor<4x1024x8x64xbf16>
    %7 = stablehlo.reshape %4 : (tensor<4x1024x8x64xbf16>) -> tensor<4x1024x8x1x64xbf16>
    %8 = stablehlo.dot_general %7, %5, batching_dims = [0, 2] x [0, 2], contracting_dims = [4] x [3], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<4x1024x8x1x64xbf16>, tensor<4x1024x8x64xbf16>) -> tensor<4x8x1024x1x1024xf32>
    %cst = stablehlo.constant dense<1.250000e-01> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x8x1024x1x1024xf32>
    %10 = stablehlo.multiply %8, %9 : tensor<4x8x1024x1x1024xf32>
    %c = stablehlo.constant dense<true> : tensor<i1>
    %11 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<4x8x1024x1024xi1>
    %c_0 = stablehlo.constant dense<true> : tensor<i1>
    %12 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i1>) -> tensor<1024x1024xi1>
    %13 = call @tril(%12) : (tensor<1024x1024xi1>) -> tensor<1024x1024xi1>
    %14 = stablehlo.broadcast_in_dim %13, dims = [2, 3] : (tensor<1024x1024xi1>) -> tensor<1x1x1024x1024xi1>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2, 3] : (tensor<1x1x1024x1024xi1>) -> tensor<4x8x1024x1024xi1>
    %16 = stablehlo.and %11, %15 : tensor<4x8x1024x1024xi1>
    %cst_1 = stablehlo.constant dense<-2.38197633E+38> : tensor<f32>
    %17:2 = call @_where(%16, %10, %cst_1) : (tensor<4x8x1024x1024xi1>, tensor<4x8x1024x1x1024xf32>, tensor<f32>) -> (tensor<1x4x8x1024x1024xf32>, tensor<1x4x8x1024x1024xi1>)
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %18 = stablehlo.reduce(%17#0 init: %cst_2) applies stablehlo.maximum across dimensions = [4] : (tensor<1x4x8x1024x1024xf32>, tensor<f32>) -> tensor<1x4x8x1024xf32>
    %cst_3 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %19 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<1x4x8x1024xf32>
    %20 = stablehlo.maximum %19, %18 : tensor<1x4x8x1024xf32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2, 3] : (tensor<1x4x8x1024xf32>) -> tensor<1x4x8x1024x1xf32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0, 1, 2, 3, 4] : (tensor<1x4x8x1024x1xf32>) -> tensor<1x4x8x1024x1024xf32>
    %23 = stablehlo.subtract %17#0, %22 : tensor<1x4x8x1024x1024xf32>
    %24 = stablehlo.exponential %23 : tensor<1x4x8x1024x1024xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %25 = stablehlo.reduce(%24 init: %cst_4) applies stablehlo.add across dimensions = [4] : (tensor<1x4x8x1024x1024xf32>, tensor<f32>) -> tensor<1x4x8x1024xf32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [0, 1, 2, 3] : (tensor<1x4x8x1024xf32>) -> tensor<1x4x8x1024x1xf32>
    %27 = stablehlo.broadcast_in_dim %26, dims = [0, 1, 2, 3, 4] : (tensor<1x4x8x1024x1xf32>) -> tensor<1x4x8x1024x1024xf32>
    %28 = stablehlo.divide %24, %27 : tensor<1x4x8x1024x1024xf32>
    %29 = stablehlo.multiply %26, %26 : tensor<1x4x8x1024x1xf32>
    %cst_5 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %30 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<1x4x8x1024x1xf32>
    %31 = stablehlo.divide %30, %29 : tensor<1x4x8x1024x1xf32>
    %32 = stablehlo.convert %28 : (tensor<1x4x8x1024x1024xf32>) -> tensor<1x4x8x1024x1024xbf16>
    %33 = stablehlo.dot_general %6, %32, batching_dims = [0, 2] x [1, 2], contracting_dims = [1] x [4], precision = [DEFAULT, DEFAULT] : (tensor<4x1024x8x64xbf16>, tensor<1x4x8x1024x1024xbf16>) -> tensor<4x8x64x1x1024xbf16>
    %34 = stablehlo.transpose %33, dims = [3, 0, 4, 1, 2] : (tensor<4x8x64x1x1024xbf16>) -> tensor<1x4x1024x8x64xbf16>
    %35 = stablehlo.transpose %34, dims = [1, 2, 3, 0, 4] : (tensor<1x4x1024x8x64xbf16>) -> tensor<4x1024x8x1x64xbf16>
    %36 = stablehlo.reshape %35 : (tensor<4x1024x8x1x64xbf16>) -> tensor<4x1024x8x64xbf16>
    %37 = stablehlo.convert %36 : (tensor<4x1024x8x64xbf16>) -> tensor<4x1024x8x64xf32>
    %cst_6 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %38 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<4x1024x8x64xf32>
    %39 = stablehlo.multiply %38, %37 : tensor<4x1024x8x64xf32>
    %cst_7 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_8 = stablehlo.constant dense<0x4A000000> : tensor<f32>
    %40 = stablehlo.divide %cst_7, %cst_8 : tensor<f32>
    %41 = stablehlo.broadcast_in_dim %40, dims = [] : (tensor<f32>) -> tensor<4x1024x8x64xf32>
    %42 = stablehlo.multiply %41, %39 : tensor<4x1024x8x64xf32>
    %43 = stablehlo.convert %42 : (tensor<4x1024x8x64xf32>) -> tensor<4x1024x8x64xbf16>
    %44 = stablehlo.reshape %43 : (tensor<4x1024x8x64xbf16>) -> tensor<4x1024x8x1x64xbf16>
    %45 = stablehlo.transpose %44, dims = [3, 0, 1, 2, 4] : (tensor<4x1024x8x1x64xbf16>) -> tensor<1x4x1024x8x64xbf16>
    %46 = stablehlo.transpose %45, dims = [1, 3, 4, 0, 2] : (tensor<1x4x1024x8x64xbf16>) -> tensor<4x8x64x1x1024xbf16>
    %47 = stablehlo.dot_general %46, %6, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<4x8x64x1x1024xbf16>, tensor<4x1024x8x64xbf16>) -> tensor<4x8x1x1024x1024xbf16>
    %48 = stablehlo.transpose %47, dims = [2, 0, 1, 3, 4] : (tensor<4x8x1x1024x1024xbf16>) -> tensor<1x4x8x1024x1024xbf16>
    %49 = stablehlo.dot_general %46, %32, batching_dims = [0, 1] x [1, 2], contracting_dims = [3, 4] x [0, 3], precision = [DEFAULT, DEFAULT] : (tensor<4x8x64x1x1024xbf16>, tensor<1x4x8x1024x1024xbf16>) -> tensor<4x8x64x1024xbf16>
    %50 = stablehlo.transpose %49, dims = [0, 3, 1, 2] : (tensor<4x8x64x1024xbf16>) -> tensor<4x1024x8x64xbf16>
    %51 = stablehlo.convert %48 : (tensor<1x4x8x1024x1024xbf16>) -> tensor<1x4x8x1024x1024xf32>
    %52 = stablehlo.broadcast_in_dim %31, dims = [0, 1, 2, 3, 4] : (tensor<1x4x8x1024x1xf32>) -> tensor<1x4x8x1024x1024xf32>
    %53 = stablehlo.multiply %51, %52 : tensor<1x4x8x1024x1024xf32>
    %54 = stablehlo.multiply %53, %24 : tensor<1x4x8x1024x1024xf32>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %55 = stablehlo.reduce(%54 init: %cst_9) applies stablehlo.add across dimensions = [4] : (tensor<1x4x8x1024x1024xf32>, tensor<f32>) -> tensor<1x4x8x1024xf32>
    %56 = stablehlo.reshape %55 : (tensor<1x4x8x1024xf32>) -> tensor<1x4x8x1024x1xf32>
    %57 = stablehlo.negate %56 : tensor<1x4x8x1024x1xf32>
    %58 = stablehlo.broadcast_in_dim %26, dims = [0, 1, 2, 3, 4] : (tensor<1x4x8x1024x1xf32>) -> tensor<1x4x8x1024x1024xf32>
    %59 = stablehlo.divide %51, %58 : tensor<1x4x8x1024x1024xf32>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %60 = stablehlo.reduce(%57 init: %cst_10) applies stablehlo.add across dimensions = [0, 4] : (tensor<1x4x8x1024x1xf32>, tensor<f32>) -> tensor<4x8x1024xf32>
    %61 = stablehlo.broadcast_in_dim %60, dims = [1, 2, 3] : (tensor<4x8x1024xf32>) -> tensor<1x4x8x1024xf32>
    %62 = stablehlo.broadcast_in_dim %61, dims = [0, 1, 2, 3] : (tensor<1x4x8x1024xf32>) -> tensor<1x4x8x1024x1024xf32>
    %63 = stablehlo.add %59, %62 : tensor<1x4x8x1024x1024xf32>
    %64 = stablehlo.multiply %63, %24 : tensor<1x4x8x1024x1024xf32>
    %65 = call @_where_0(%17#1, %64) : (tensor<1x4x8x1024x1024xi1>, tensor<1x4x8x1024x1024xf32>) -> tensor<4x8x1024x1x1024xf32>
    %cst_11 = stablehlo.constant dense<1.250000e-01> : tensor<f32>
    %66 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<4x8x1024x1x1024xf32>
    %67 = stablehlo.multiply %65, %66 : tensor<4x8x1024x1x1024xf32>
    %68 = stablehlo.dot_general %67, %7, batching_dims = [0, 1] x [0, 2], contracting_dims = [2, 3] x [1, 3], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<4x8x1024x1x1024xf32>, tensor<4x1024x8x1x64xbf16>) -> tensor<4x8x1024x64xf32>
    %69 = stablehlo.transpose %68, dims = [0, 2, 1, 3] : (tensor<4x8x1024x64xf32>) -> tensor<4x1024x8x64xf32>
    %70 = stablehlo.convert %69 : (tensor<4x1024x8x64xf32>) -> tensor<4x1024x8x64xbf16>
    %71 = stablehlo.dot_general %67, %5, batching_dims = [0, 1] x [0, 2], contracting_dims = [4] x [1], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<4x8x1024x1x1024xf32>, tensor<4x1024x8x64xbf16>) -> tensor<4x8x1024x1x64xf32>
    %72 = stablehlo.transpose %71, dims = [0, 2, 1, 3, 4] : (tensor<4x8x1024x1x64xf32>) -> tensor<4x1024x8x1x64xf32>
    %73 = stablehlo.convert %72 : (tensor<4x1024x8x1x64xf32>) -> tensor<4x1024x8x1x64xbf16>
    %74 = stablehlo.reshape %73 : (tensor<4x1024x8x1x64xbf16>) -> tensor<4x1024x8x64xbf16>
    %75 = stablehlo.reshape %50 : (tensor<4x1024x8x64xbf16>) -> tensor<4x1024x512xbf16>
    %76 = stablehlo.reshape %70 : (tensor<4x1024x8x64xbf16>) -> tensor<4x1024x512xbf16>
    %77 = stablehlo.reshape %74 : (tensor<4x1024x8x64xbf16>) -> tensor<4x1024x512xbf16>
    %78 = stablehlo.concatenate %77, %76, %75, dim = 2 : (tensor<4x1024x512xbf16>, tensor<4x1024x512xbf16>, tensor<4x1024x512xbf16>) -> tensor<4x1024x1536xbf16>
    %79 = stablehlo.dot_general %78, %arg0, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x1024x1536xbf16>, tensor<4x1024x512xbf16>) -> tensor<1536x512xbf16>
    %80 = stablehlo.transpose %79, dims = [1, 0] : (tensor<1536x512xbf16>) -> tensor<512x1536xbf16>
    return %80 : tensor<512x1536xbf16>
  }
  func.func private @tril(%arg0: tensor<1024x1024xi1>) -> tensor<1024x1024xi1> {
    %0 = stablehlo.iota dim = 0 : tensor<1024x1024xi64>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<1024x1024xi64>
    %2 = stablehlo.add %0, %1 : tensor<1024x1024xi64>
    %3 = stablehlo.iota dim = 1 : tensor<1024x1024xi64>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<1024x1024xi64>, tensor<1024x1024xi64>) -> tensor<1024x1024xi1>
    %c_0 = stablehlo.constant dense<false> : tensor<i1>
    %5 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i1>) -> tensor<1024x1024xi1>
    %6 = stablehlo.select %4, %arg0, %5 : tensor<1024x1024xi1>, tensor<1024x1024xi1>
    return %6 : tensor<1024x1024xi1>
  }
  func.func private @_where(%arg0: tensor<4x8x1024x1024xi1>, %arg1: tensor<4x8x1024x1x1024xf32>, %arg2: tensor<f32>) -> (tensor<1x4x8x1024x1024xf32>, tensor<1x4x8x1024x1024xi1>) {
    %0 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<4x8x1024x1024xf32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [1, 2, 3, 4] : (tensor<4x8x1024x1024xi1>) -> tensor<1x4x8x1024x1024xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [1, 2, 3, 4] : (tensor<4x8x1024x1024xf32>) -> tensor<1x4x8x1024x1024xf32>
    %3 = stablehlo.transpose %arg1, dims = [3, 0, 1, 2, 4] : (tensor<4x8x1024x1x1024xf32>) -> tensor<1x4x8x1024x1024xf32>
    %4 = stablehlo.select %1, %3, %2 : tensor<1x4x8x1024x1024xi1>, tensor<1x4x8x1024x1024xf32>
    return %4, %1 : tensor<1x4x8x1024x1024xf32>, tensor<1x4x8x1024x1024xi1>
  }
  func.func private @_where_0(%arg0: tensor<1x4x8x1024x1024xi1>, %arg1: tensor<1x4x8x1024x1024xf32>) -> tensor<4x8x1024x1x1024xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x4x8x1024x1024xf32>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<1x4x8x1024x1024xi1>, tensor<1x4x8x1024x1024xf32>
    %2 = stablehlo.transpose %1, dims = [1, 2, 3, 0, 4] : (tensor<1x4x8x1024x1024xf32>) -> tensor<4x8x1024x1x1024xf32>
    return %2 : tensor<4x8x1024x1x1024xf32>
  }
}

