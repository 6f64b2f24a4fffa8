// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=65536" --split-input-file | FileCheck %s

// The gradient of a projection onto heads, added up in f32. XLA for CPU (jaxlib 0.10.2) compiles a matrix times what is no matrix yet to
// what it cannot run, so the heads' dimensions become one.
// CHECK-LABEL: func.func @heads
// CHECK: stablehlo.while
// CHECK: %[[FLAT:.*]] = stablehlo.reshape %{{.*}} : (tensor<[[N:[0-9]+]]x8x128xbf16>) -> tensor<[[N]]x1024xbf16>
// CHECK: stablehlo.dot_general %{{.*}}, %[[FLAT]], contracting_dims = [0] x [0] : (tensor<[[N]]x64xbf16>, tensor<[[N]]x1024xbf16>) -> tensor<64x1024xf32>
// CHECK: stablehlo.reshape %{{.*}} : (tensor<64x1024xf32>) -> tensor<64x8x128xf32>
func.func @heads(%x: tensor<32768x64xbf16>, %y: tensor<32768x8x128xbf16>) -> tensor<64x8x128xbf16> {
  %0 = stablehlo.cosine %y : tensor<32768x8x128xbf16>
  %1 = stablehlo.dot_general %x, %0, contracting_dims = [0] x [0] : (tensor<32768x64xbf16>, tensor<32768x8x128xbf16>) -> tensor<64x8x128xbf16>
  return %1 : tensor<64x8x128xbf16>
}

// -----

// What is contracted lies between the heads' dimensions: both operands are widened.
// CHECK-LABEL: func.func @between
// CHECK: stablehlo.while
// CHECK: stablehlo.convert %{{.*}} : (tensor<[[N:[0-9]+]]x64xbf16>) -> tensor<[[N]]x64xf32>
// CHECK: stablehlo.convert %{{.*}} : (tensor<8x[[N]]x128xbf16>) -> tensor<8x[[N]]x128xf32>
// CHECK: stablehlo.dot_general %{{.*}}, %{{.*}}, contracting_dims = [0] x [1] : (tensor<[[N]]x64xf32>, tensor<8x[[N]]x128xf32>) -> tensor<64x8x128xf32>
func.func @between(%x: tensor<32768x64xbf16>, %y: tensor<8x32768x128xbf16>) -> tensor<64x8x128xbf16> {
  %0 = stablehlo.cosine %y : tensor<8x32768x128xbf16>
  %1 = stablehlo.dot_general %x, %0, contracting_dims = [0] x [1] : (tensor<32768x64xbf16>, tensor<8x32768x128xbf16>) -> tensor<64x8x128xbf16>
  return %1 : tensor<64x8x128xbf16>
}

// -----

// Matrices stay as they are.
// CHECK-LABEL: func.func @matrices
// CHECK: stablehlo.while
// CHECK-NOT: stablehlo.reshape
// CHECK: stablehlo.dot_general %{{.*}}, %{{.*}}, contracting_dims = [0] x [0] : (tensor<[[N:[0-9]+]]x64xbf16>, tensor<[[N]]x1024xbf16>) -> tensor<64x1024xf32>
// CHECK-NOT: stablehlo.reshape
func.func @matrices(%x: tensor<32768x64xbf16>, %y: tensor<32768x1024xbf16>) -> tensor<64x1024xbf16> {
  %0 = stablehlo.cosine %y : tensor<32768x1024xbf16>
  %1 = stablehlo.dot_general %x, %0, contracting_dims = [0] x [0] : (tensor<32768x64xbf16>, tensor<32768x1024xbf16>) -> tensor<64x1024xbf16>
  return %1 : tensor<64x1024xbf16>
}

// -----

// XLA for CPU has slower kernels for this one than for f32.
// CHECK-LABEL: func.func @rows
// CHECK: stablehlo.while
// CHECK: %[[LEFT:.*]] = stablehlo.convert %{{.*}} : (tensor<1024x[[N:[0-9]+]]xbf16>) -> tensor<1024x[[N]]xf32>
// CHECK: %[[RIGHT:.*]] = stablehlo.convert %{{.*}} : (tensor<[[N]]x64xbf16>) -> tensor<[[N]]x64xf32>
// CHECK: stablehlo.dot_general %[[LEFT]], %[[RIGHT]], contracting_dims = [1] x [0], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32,
func.func @rows(%x: tensor<1024x32768xbf16>, %y: tensor<32768x64xbf16>) -> tensor<1024x64xbf16> {
  %0 = stablehlo.cosine %x : tensor<1024x32768xbf16>
  %1 = stablehlo.dot_general %0, %y, contracting_dims = [1] x [0] : (tensor<1024x32768xbf16>, tensor<32768x64xbf16>) -> tensor<1024x64xbf16>
  return %1 : tensor<1024x64xbf16>
}

// -----

// Any precision takes bf16 as it is, and none may be named beside an algorithm.
// CHECK-LABEL: func.func @precise_rows
// CHECK: stablehlo.while
// CHECK: stablehlo.dot_general %{{.*}}, %{{.*}}, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = bf16,
// CHECK-NOT: HIGHEST
// CHECK: {{^ *}}return
func.func @precise_rows(%x: tensor<1024x32768xbf16>, %y: tensor<32768x64xbf16>) -> tensor<1024x64xbf16> {
  %0 = stablehlo.cosine %x : tensor<1024x32768xbf16>
  %1 = stablehlo.dot_general %0, %y, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<1024x32768xbf16>, tensor<32768x64xbf16>) -> tensor<1024x64xbf16>
  return %1 : tensor<1024x64xbf16>
}

// -----

// A product with few columns may be none of matrices.
// CHECK-LABEL: func.func @columns
// CHECK: stablehlo.while
// CHECK-NOT: algorithm
func.func @columns(%x: tensor<1024x32768xbf16>, %y: tensor<32768x4xbf16>) -> tensor<1024x4xbf16> {
  %0 = stablehlo.cosine %x : tensor<1024x32768xbf16>
  %1 = stablehlo.dot_general %0, %y, contracting_dims = [1] x [0] : (tensor<1024x32768xbf16>, tensor<32768x4xbf16>) -> tensor<1024x4xbf16>
  return %1 : tensor<1024x4xbf16>
}
