// What saves not quite half at once is tried at the time that half may take, and kept for what later stages take off that time.
// Causal attention, its value and gradient, as JAX lowers them (test/oracle/attention_programs.py).
// XLA for an H100: 3,088 -> 243 MiB at 1.22 of the time (`test/oracle/referee.py --target h100`).
// RUN: slimhlo-opt %s --slimhlo-optimize --slimhlo-print-memory="plain=true top=0" -o /dev/null 2>&1 | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-optimize=max-slowdown=1.001 --slimhlo-print-memory="plain=true top=0" -o /dev/null 2>&1 | FileCheck %s --check-prefix=NO-SLOWER
// CHECK: temporaries 263225364
// NO-SLOWER: temporaries 3221749760

module @jit_loss attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x4096x8x64xf32>, %arg1: tensor<2x4096x8x64xf32>, %arg2: tensor<2x4096x8x64xf32>) -> (tensor<f32> {jax.result_info = "result[0]"}, tensor<2x4096x8x64xf32> {jax.result_info = "result[1][0]"}, tensor<2x4096x8x64xf32> {jax.result_info = "result[1][1]"}, tensor<2x4096x8x64xf32> {jax.result_info = "result[1][2]"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x4096x8x64xf32>, tensor<2x4096x8x64xf32>) -> tensor<2x8x4096x4096xf32>
    %cst = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x8x4096x4096xf32>
    %2 = stablehlo.divide %0, %1 : tensor<2x8x4096x4096xf32>
    %c = stablehlo.constant dense<true> : tensor<i1>
    %3 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<4096x4096xi1>
    %4 = call @tril(%3) : (tensor<4096x4096xi1>) -> tensor<4096x4096xi1>
    %cst_0 = stablehlo.constant dense<-1.000000e+09> : tensor<f64>
    %5:2 = call @_where(%4, %2, %cst_0) : (tensor<4096x4096xi1>, tensor<2x8x4096x4096xf32>, tensor<f64>) -> (tensor<2x8x4096x4096xf32>, tensor<2x8x4096x4096xi1>)
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %6 = stablehlo.reduce(%5#0 init: %cst_1) applies stablehlo.maximum across dimensions = [3] : (tensor<2x8x4096x4096xf32>, tensor<f32>) -> tensor<2x8x4096xf32>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x8x4096xf32>
    %8 = stablehlo.maximum %7, %6 : tensor<2x8x4096xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2] : (tensor<2x8x4096xf32>) -> tensor<2x8x4096x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2, 3] : (tensor<2x8x4096x1xf32>) -> tensor<2x8x4096x4096xf32>
    %11 = stablehlo.subtract %5#0, %10 : tensor<2x8x4096x4096xf32>
    %12 = stablehlo.exponential %11 : tensor<2x8x4096x4096xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %13 = stablehlo.reduce(%12 init: %cst_3) applies stablehlo.add across dimensions = [3] : (tensor<2x8x4096x4096xf32>, tensor<f32>) -> tensor<2x8x4096xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2] : (tensor<2x8x4096xf32>) -> tensor<2x8x4096x1xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2, 3] : (tensor<2x8x4096x1xf32>) -> tensor<2x8x4096x4096xf32>
    %16 = stablehlo.divide %12, %15 : tensor<2x8x4096x4096xf32>
    %17 = stablehlo.multiply %14, %14 : tensor<2x8x4096x1xf32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<2x8x4096x1xf32>
    %19 = stablehlo.divide %18, %17 : tensor<2x8x4096x1xf32>
    %20 = stablehlo.dot_general %arg2, %16, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x4096x8x64xf32>, tensor<2x8x4096x4096xf32>) -> tensor<2x8x64x4096xf32>
    %21 = stablehlo.transpose %20, dims = [0, 3, 1, 2] : (tensor<2x8x64x4096xf32>) -> tensor<2x4096x8x64xf32>
    %22 = stablehlo.multiply %21, %21 : tensor<2x4096x8x64xf32>
    %cst_5 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %23 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<2x4096x8x64xf32>
    %24 = stablehlo.multiply %23, %21 : tensor<2x4096x8x64xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %25 = stablehlo.reduce(%22 init: %cst_6) applies stablehlo.add across dimensions = [0, 1, 2, 3] : (tensor<2x4096x8x64xf32>, tensor<f32>) -> tensor<f32>
    %cst_7 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %26 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<2x4096x8x64xf32>
    %27 = stablehlo.multiply %26, %24 : tensor<2x4096x8x64xf32>
    %28 = stablehlo.transpose %27, dims = [0, 2, 3, 1] : (tensor<2x4096x8x64xf32>) -> tensor<2x8x64x4096xf32>
    %29 = stablehlo.dot_general %28, %arg2, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x8x64x4096xf32>, tensor<2x4096x8x64xf32>) -> tensor<2x8x4096x4096xf32>
    %30 = stablehlo.dot_general %28, %16, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x8x64x4096xf32>, tensor<2x8x4096x4096xf32>) -> tensor<2x8x64x4096xf32>
    %31 = stablehlo.transpose %30, dims = [0, 3, 1, 2] : (tensor<2x8x64x4096xf32>) -> tensor<2x4096x8x64xf32>
    %32 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2, 3] : (tensor<2x8x4096x1xf32>) -> tensor<2x8x4096x4096xf32>
    %33 = stablehlo.multiply %29, %32 : tensor<2x8x4096x4096xf32>
    %34 = stablehlo.multiply %33, %12 : tensor<2x8x4096x4096xf32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %35 = stablehlo.reduce(%34 init: %cst_8) applies stablehlo.add across dimensions = [3] : (tensor<2x8x4096x4096xf32>, tensor<f32>) -> tensor<2x8x4096xf32>
    %36 = stablehlo.reshape %35 : (tensor<2x8x4096xf32>) -> tensor<2x8x4096x1xf32>
    %37 = stablehlo.negate %36 : tensor<2x8x4096x1xf32>
    %38 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2, 3] : (tensor<2x8x4096x1xf32>) -> tensor<2x8x4096x4096xf32>
    %39 = stablehlo.divide %29, %38 : tensor<2x8x4096x4096xf32>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %40 = stablehlo.reduce(%37 init: %cst_9) applies stablehlo.add across dimensions = [3] : (tensor<2x8x4096x1xf32>, tensor<f32>) -> tensor<2x8x4096xf32>
    %41 = stablehlo.broadcast_in_dim %40, dims = [0, 1, 2] : (tensor<2x8x4096xf32>) -> tensor<2x8x4096x4096xf32>
    %42 = stablehlo.add %39, %41 : tensor<2x8x4096x4096xf32>
    %43 = stablehlo.multiply %42, %12 : tensor<2x8x4096x4096xf32>
    %44 = call @_where_0(%5#1, %43) : (tensor<2x8x4096x4096xi1>, tensor<2x8x4096x4096xf32>) -> tensor<2x8x4096x4096xf32>
    %cst_10 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %45 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<2x8x4096x4096xf32>
    %46 = stablehlo.divide %44, %45 : tensor<2x8x4096x4096xf32>
    %47 = stablehlo.dot_general %46, %arg0, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x8x4096x4096xf32>, tensor<2x4096x8x64xf32>) -> tensor<2x8x4096x64xf32>
    %48 = stablehlo.transpose %47, dims = [0, 2, 1, 3] : (tensor<2x8x4096x64xf32>) -> tensor<2x4096x8x64xf32>
    %49 = stablehlo.dot_general %46, %arg1, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x8x4096x4096xf32>, tensor<2x4096x8x64xf32>) -> tensor<2x8x4096x64xf32>
    %50 = stablehlo.transpose %49, dims = [0, 2, 1, 3] : (tensor<2x8x4096x64xf32>) -> tensor<2x4096x8x64xf32>
    return %25, %50, %48, %31 : tensor<f32>, tensor<2x4096x8x64xf32>, tensor<2x4096x8x64xf32>, tensor<2x4096x8x64xf32>
  }
  func.func private @tril(%arg0: tensor<4096x4096xi1>) -> tensor<4096x4096xi1> {
    %0 = stablehlo.iota dim = 0 : tensor<4096x4096xi64>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4096x4096xi64>
    %2 = stablehlo.add %0, %1 : tensor<4096x4096xi64>
    %3 = stablehlo.iota dim = 1 : tensor<4096x4096xi64>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<4096x4096xi64>, tensor<4096x4096xi64>) -> tensor<4096x4096xi1>
    %c_0 = stablehlo.constant dense<false> : tensor<i1>
    %5 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i1>) -> tensor<4096x4096xi1>
    %6 = stablehlo.select %4, %arg0, %5 : tensor<4096x4096xi1>, tensor<4096x4096xi1>
    return %6 : tensor<4096x4096xi1>
  }
  func.func private @_where(%arg0: tensor<4096x4096xi1>, %arg1: tensor<2x8x4096x4096xf32>, %arg2: tensor<f64>) -> (tensor<2x8x4096x4096xf32>, tensor<2x8x4096x4096xi1>) {
    %0 = stablehlo.convert %arg2 : (tensor<f64>) -> tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [2, 3] : (tensor<4096x4096xi1>) -> tensor<2x8x4096x4096xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x8x4096x4096xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<2x8x4096x4096xi1>, tensor<2x8x4096x4096xf32>
    return %3, %1 : tensor<2x8x4096x4096xf32>, tensor<2x8x4096x4096xi1>
  }
  func.func private @_where_0(%arg0: tensor<2x8x4096x4096xi1>, %arg1: tensor<2x8x4096x4096xf32>) -> tensor<2x8x4096x4096xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x8x4096x4096xf32>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<2x8x4096x4096xi1>, tensor<2x8x4096x4096xf32>
    return %1 : tensor<2x8x4096x4096xf32>
  }
}
