// RUN: slimhlo-opt %s --slimhlo-form-kernels --split-input-file | FileCheck %s

// A softmax is one kernel, which may write over what it reads.

// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[Y:[0-9]+]] = call @divide_0(%arg0)
// CHECK-NEXT: return %[[Y]]
// CHECK: func.func private @divide_0
// CHECK-SAME: slimhlo.kernel = "rows", slimhlo.pointwise = array<i64: 0>
func.func @main(%x: tensor<512x64xf32>) -> tensor<512x64xf32> {
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %least) applies stablehlo.maximum across dimensions = [1] : (tensor<512x64xf32>, tensor<f32>) -> tensor<512xf32>
  %0 = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<512xf32>) -> tensor<512x64xf32>
  %1 = stablehlo.subtract %x, %0 : tensor<512x64xf32>
  %2 = stablehlo.exponential %1 : tensor<512x64xf32>
  %s = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<512x64xf32>, tensor<f32>) -> tensor<512xf32>
  %3 = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<512xf32>) -> tensor<512x64xf32>
  %4 = stablehlo.divide %2, %3 : tensor<512x64xf32>
  return %4 : tensor<512x64xf32>
}

// -----

// So is what rows are reduced to if it takes two reductions.

// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[S:[0-9]+]] = call @reduce_0(%arg0)
// CHECK-NEXT: return %[[S]]
// CHECK: func.func private @reduce_0
// CHECK-SAME: slimhlo.kernel = "rows"
// CHECK-NOT: pointwise
// CHECK: return
func.func @main(%x: tensor<512x64xf32>) -> tensor<512xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %zero) applies stablehlo.maximum across dimensions = [1] : (tensor<512x64xf32>, tensor<f32>) -> tensor<512xf32>
  %0 = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<512xf32>) -> tensor<512x64xf32>
  %1 = stablehlo.subtract %x, %0 : tensor<512x64xf32>
  %s = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<512x64xf32>, tensor<f32>) -> tensor<512xf32>
  return %s : tensor<512xf32>
}

// -----

// Not of other rows: here each takes what the row from the end comes to.

// CHECK-LABEL: func.func @main
// CHECK-NEXT: call @reduce_0(%arg0)
// CHECK-NEXT: call @subtract_0
// CHECK-NOT: slimhlo.kernel = "rows"
func.func @main(%x: tensor<512x64xf32>) -> tensor<512x64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %zero) applies stablehlo.maximum across dimensions = [1] : (tensor<512x64xf32>, tensor<f32>) -> tensor<512xf32>
  %0 = stablehlo.reverse %m, dims = [0] : tensor<512xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<512xf32>) -> tensor<512x64xf32>
  %2 = stablehlo.subtract %x, %1 : tensor<512x64xf32>
  return %2 : tensor<512x64xf32>
}

// -----

// Nor of what goes along columns.

// CHECK-LABEL: func.func @main
// CHECK-NOT: slimhlo.kernel = "rows"
func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %zero) applies stablehlo.maximum across dimensions = [1] : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
  %0 = stablehlo.broadcast_in_dim %m, dims = [1] : (tensor<64xf32>) -> tensor<64x64xf32>
  %1 = stablehlo.subtract %x, %0 : tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}

// -----

// Nor sums of columns.

// CHECK-LABEL: func.func @main
// CHECK-NOT: slimhlo.kernel = "rows"
func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %zero) applies stablehlo.maximum across dimensions = [0] : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
  %0 = stablehlo.broadcast_in_dim %m, dims = [1] : (tensor<64xf32>) -> tensor<64x64xf32>
  %1 = stablehlo.subtract %x, %0 : tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}

// -----

// What others need, too, is stored.

// CHECK-LABEL: func.func @main
// CHECK-NEXT: call @reduce_0(%arg0)
// CHECK-NOT: slimhlo.kernel = "rows"
func.func @main(%x: tensor<512x64xf32>) -> (tensor<512x64xf32>, tensor<512xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %zero) applies stablehlo.maximum across dimensions = [1] : (tensor<512x64xf32>, tensor<f32>) -> tensor<512xf32>
  %0 = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<512xf32>) -> tensor<512x64xf32>
  %1 = stablehlo.subtract %x, %0 : tensor<512x64xf32>
  return %1, %m : tensor<512x64xf32>, tensor<512xf32>
}

// -----

// Few rows that are long busy the chip only if several blocks have one.

// CHECK-LABEL: func.func @main
// CHECK-NOT: slimhlo.kernel = "rows"
func.func @main(%x: tensor<64x30000xf32>) -> tensor<64x30000xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %zero) applies stablehlo.maximum across dimensions = [1] : (tensor<64x30000xf32>, tensor<f32>) -> tensor<64xf32>
  %0 = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<64xf32>) -> tensor<64x30000xf32>
  %1 = stablehlo.subtract %x, %0 : tensor<64x30000xf32>
  return %1 : tensor<64x30000xf32>
}

// -----

// Another array is not kept for its rows' sums.

// CHECK-LABEL: func.func @main
// CHECK-NOT: slimhlo.kernel = "rows"
func.func @main(%x: tensor<512x64xf32>, %y: tensor<512x64xf32>) -> tensor<512x64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %zero) applies stablehlo.maximum across dimensions = [1] : (tensor<512x64xf32>, tensor<f32>) -> tensor<512xf32>
  %0 = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<512xf32>) -> tensor<512x64xf32>
  %1 = stablehlo.subtract %y, %0 : tensor<512x64xf32>
  return %1 : tensor<512x64xf32>
}
