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

// What others need, too, is stored as well.

// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[Y:[0-9]+]]:2 = call @reduce_0(%arg0)
// CHECK-NEXT: %[[Z:[0-9]+]] = call @dot_general_0(%[[Y]]#1, %[[Y]]#0)
// CHECK-NEXT: return %[[Y]]#0, %[[Y]]#1, %[[Z]]
// CHECK: func.func private @reduce_0
// CHECK-SAME: slimhlo.kernel = "rows"
func.func @main(%x: tensor<512x64xf32>) -> (tensor<512x64xf32>, tensor<512xf32>, tensor<64xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %zero) applies stablehlo.maximum across dimensions = [1] : (tensor<512x64xf32>, tensor<f32>) -> tensor<512xf32>
  %0 = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<512xf32>) -> tensor<512x64xf32>
  %1 = stablehlo.subtract %x, %0 : tensor<512x64xf32>
  %2 = stablehlo.dot_general %1, %m, contracting_dims = [0] x [0] : (tensor<512x64xf32>, tensor<512xf32>) -> tensor<64xf32>
  return %1, %m, %2 : tensor<512x64xf32>, tensor<512xf32>, tensor<64xf32>
}

// -----

// Unless they need it before: a loop does.

// CHECK-LABEL: func.func @main
// CHECK-NEXT: call @reduce_0(%arg0)
// CHECK-NOT: slimhlo.kernel = "rows"
func.func @main(%x: tensor<512x64xf32>) -> tensor<512x64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %zero) applies stablehlo.maximum across dimensions = [1] : (tensor<512x64xf32>, tensor<f32>) -> tensor<512xf32>
  %w = stablehlo.while(%i = %m) : tensor<512xf32> cond {
    %all = stablehlo.reduce(%i init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<512xf32>, tensor<f32>) -> tensor<f32>
    %go = stablehlo.compare LT, %all, %zero : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %go : tensor<i1>
  } do {
    %twice = stablehlo.add %i, %i : tensor<512xf32>
    stablehlo.return %twice : tensor<512xf32>
  }
  %0 = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<512xf32>) -> tensor<512x64xf32>
  %1 = stablehlo.subtract %x, %0 : tensor<512x64xf32>
  %2 = stablehlo.broadcast_in_dim %w, dims = [0] : (tensor<512xf32>) -> tensor<512x64xf32>
  %3 = stablehlo.add %1, %2 : tensor<512x64xf32>
  return %3 : tensor<512x64xf32>
}

// -----

// A sum over a dimension that has one element is no kernel of its own.

// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[Y:[0-9]+]] = call @subtract_0(%arg0)
// CHECK-NEXT: return %[[Y]]
// CHECK: func.func private @subtract_0
// CHECK-SAME: slimhlo.kernel = "rows"
func.func @main(%x: tensor<512x64xf32>) -> tensor<512x64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %zero) applies stablehlo.maximum across dimensions = [1] : (tensor<512x64xf32>, tensor<f32>) -> tensor<512xf32>
  %0 = stablehlo.reshape %m : (tensor<512xf32>) -> tensor<512x1xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<512x1xf32>, tensor<f32>) -> tensor<512xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<512xf32>) -> tensor<512x64xf32>
  %3 = stablehlo.subtract %x, %2 : tensor<512x64xf32>
  return %3 : tensor<512x64xf32>
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
