// RUN: slimhlo-opt %s --slimhlo-optimize=target=v5p | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-optimize="target=v5p max-slowdown=1.25" | FileCheck %s --check-prefix=ASKED

// The gradient of a triplet loss, as JAX writes it (`triplet_loss_gradient` of the reference programs): XLA for a v5p has its 4 MiB of
// distances in vector memory and no temporaries, so nothing may take longer for them, unless that is asked for.
// CHECK-NOT: stablehlo.while
// ASKED: stablehlo.while
func.func public @main(%arg0: tensor<1024x128xf32>, %labels: tensor<1024xi32>) -> (tensor<f32>, tensor<1024x128xf32>) {
  %cst = stablehlo.constant dense<0x7F800000> : tensor<1024x1024xf32>
  %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<1024x1024xf32>
  %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<1024xf32>
  %cst_4 = stablehlo.constant dense<2.000000e-01> : tensor<1024xf32>
  %cst_5 = stablehlo.constant dense<2.000000e+00> : tensor<1024x1024x128xf32>
  %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
  %cst_7 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
  %cst_8 = stablehlo.constant dense<0x7F800000> : tensor<f32>
  %cst_9 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %0 = stablehlo.broadcast_in_dim %arg0, dims = [0, 2] : (tensor<1024x128xf32>) -> tensor<1024x1x128xf32>
  %1 = stablehlo.broadcast_in_dim %arg0, dims = [1, 2] : (tensor<1024x128xf32>) -> tensor<1x1024x128xf32>
  %2 = stablehlo.broadcast_in_dim %0, dims = [0, 1, 2] : (tensor<1024x1x128xf32>) -> tensor<1024x1024x128xf32>
  %3 = stablehlo.broadcast_in_dim %1, dims = [0, 1, 2] : (tensor<1x1024x128xf32>) -> tensor<1024x1024x128xf32>
  %4 = stablehlo.subtract %2, %3 : tensor<1024x1024x128xf32>
  %5 = stablehlo.multiply %4, %4 : tensor<1024x1024x128xf32>
  %6 = stablehlo.multiply %4, %cst_5 : tensor<1024x1024x128xf32>
  %7 = stablehlo.reduce(%5 init: %cst_10) applies stablehlo.add across dimensions = [2] : (tensor<1024x1024x128xf32>, tensor<f32>) -> tensor<1024x1024xf32>
  %17 = stablehlo.broadcast_in_dim %labels, dims = [0] : (tensor<1024xi32>) -> tensor<1024x1xi32>
  %18 = stablehlo.broadcast_in_dim %labels, dims = [1] : (tensor<1024xi32>) -> tensor<1x1024xi32>
  %19 = stablehlo.broadcast_in_dim %17, dims = [0, 1] : (tensor<1024x1xi32>) -> tensor<1024x1024xi32>
  %20 = stablehlo.broadcast_in_dim %18, dims = [0, 1] : (tensor<1x1024xi32>) -> tensor<1024x1024xi32>
  %21 = stablehlo.compare EQ, %19, %20, SIGNED : (tensor<1024x1024xi32>, tensor<1024x1024xi32>) -> tensor<1024x1024xi1>
  %22 = stablehlo.select %21, %7, %cst_0 : tensor<1024x1024xi1>, tensor<1024x1024xf32>
  %23 = stablehlo.reduce(%22 init: %cst_9) applies stablehlo.maximum across dimensions = [1] : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024xf32>
  %24 = stablehlo.reshape %23 : (tensor<1024xf32>) -> tensor<1024x1xf32>
  %25 = stablehlo.broadcast_in_dim %24, dims = [0, 1] : (tensor<1024x1xf32>) -> tensor<1024x1024xf32>
  %26 = stablehlo.compare EQ, %22, %25, FLOAT : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xi1>
  %27 = stablehlo.convert %26 : (tensor<1024x1024xi1>) -> tensor<1024x1024xf32>
  %28 = stablehlo.reduce(%27 init: %cst_10) applies stablehlo.add across dimensions = [1] : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024xf32>
  %29 = stablehlo.select %21, %cst, %7 : tensor<1024x1024xi1>, tensor<1024x1024xf32>
  %30 = stablehlo.reduce(%29 init: %cst_8) applies stablehlo.minimum across dimensions = [1] : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024xf32>
  %31 = stablehlo.reshape %30 : (tensor<1024xf32>) -> tensor<1024x1xf32>
  %32 = stablehlo.broadcast_in_dim %31, dims = [0, 1] : (tensor<1024x1xf32>) -> tensor<1024x1024xf32>
  %33 = stablehlo.compare EQ, %29, %32, FLOAT : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xi1>
  %34 = stablehlo.convert %33 : (tensor<1024x1024xi1>) -> tensor<1024x1024xf32>
  %35 = stablehlo.reduce(%34 init: %cst_10) applies stablehlo.add across dimensions = [1] : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024xf32>
  %36 = stablehlo.subtract %23, %30 : tensor<1024xf32>
  %37 = stablehlo.add %36, %cst_4 : tensor<1024xf32>
  %38 = stablehlo.maximum %37, %cst_3 : tensor<1024xf32>
  %39 = stablehlo.compare GT, %37, %cst_3, FLOAT : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xi1>
  %40 = stablehlo.reduce(%38 init: %cst_10) applies stablehlo.add across dimensions = [0] : (tensor<1024xf32>, tensor<f32>) -> tensor<f32>
  %41 = stablehlo.divide %40, %cst_7 : tensor<f32>
  %42 = stablehlo.divide %cst_6, %cst_7 : tensor<f32>
  %43 = stablehlo.broadcast_in_dim %42, dims = [] : (tensor<f32>) -> tensor<1024xf32>
  %44 = stablehlo.select %39, %43, %cst_3 : tensor<1024xi1>, tensor<1024xf32>
  %45 = stablehlo.negate %44 : tensor<1024xf32>
  %46 = stablehlo.divide %45, %35 : tensor<1024xf32>
  %47 = stablehlo.broadcast_in_dim %46, dims = [0] : (tensor<1024xf32>) -> tensor<1024x1024xf32>
  %48 = stablehlo.multiply %47, %34 : tensor<1024x1024xf32>
  %49 = stablehlo.select %21, %cst_0, %48 : tensor<1024x1024xi1>, tensor<1024x1024xf32>
  %50 = stablehlo.divide %44, %28 : tensor<1024xf32>
  %51 = stablehlo.broadcast_in_dim %50, dims = [0] : (tensor<1024xf32>) -> tensor<1024x1024xf32>
  %52 = stablehlo.multiply %51, %27 : tensor<1024x1024xf32>
  %53 = stablehlo.select %21, %52, %cst_0 : tensor<1024x1024xi1>, tensor<1024x1024xf32>
  %54 = stablehlo.add %49, %53 : tensor<1024x1024xf32>
  %55 = stablehlo.broadcast_in_dim %54, dims = [0, 1] : (tensor<1024x1024xf32>) -> tensor<1024x1024x128xf32>
  %56 = stablehlo.multiply %55, %6 : tensor<1024x1024x128xf32>
  %57 = stablehlo.reduce(%56 init: %cst_10) applies stablehlo.add across dimensions = [1] : (tensor<1024x1024x128xf32>, tensor<f32>) -> tensor<1024x128xf32>
  %58 = stablehlo.reshape %57 : (tensor<1024x128xf32>) -> tensor<1024x1x128xf32>
  %59 = stablehlo.negate %56 : tensor<1024x1024x128xf32>
  %60 = stablehlo.reduce(%59 init: %cst_10) applies stablehlo.add across dimensions = [0] : (tensor<1024x1024x128xf32>, tensor<f32>) -> tensor<1024x128xf32>
  %61 = stablehlo.reshape %60 : (tensor<1024x128xf32>) -> tensor<1x1024x128xf32>
  %62 = stablehlo.reduce(%61 init: %cst_10) applies stablehlo.add across dimensions = [0] : (tensor<1x1024x128xf32>, tensor<f32>) -> tensor<1024x128xf32>
  %63 = stablehlo.reduce(%58 init: %cst_10) applies stablehlo.add across dimensions = [1] : (tensor<1024x1x128xf32>, tensor<f32>) -> tensor<1024x128xf32>
  %64 = stablehlo.add %62, %63 : tensor<1024x128xf32>
  return %41, %64 : tensor<f32>, tensor<1024x128xf32>
}
