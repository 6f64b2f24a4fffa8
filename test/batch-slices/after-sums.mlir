// RUN: slimhlo-opt %s --slimhlo-batch-slices="chunk-bytes=8MiB after-sums=true" --split-input-file | FileCheck %s

// What is divided by the largest of each column, which all rows have a part in: the rows come after that, and are cheaply computed again.
// CHECK-LABEL: func.func @again
// CHECK-SAME: %[[X:.*]]: tensor<4096xf32>, %[[Y:.*]]: tensor<4096xf32>, %[[W:.*]]: tensor<4096x1024xf32>
// CHECK: %[[TOP:.*]] = stablehlo.reduce
// CHECK: stablehlo.while(%[[I:[^ ]+]] = %{{[^,]*}}, %[[OUTS:[^ ]+]] = %{{[^,]*}}, %[[XS:[^ ]+]] = %[[X]],
// CHECK: do {
// CHECK: %[[SOME:.*]] = stablehlo.dynamic_slice %{{.*}}, %[[I]], sizes = [[[N:[0-9]+]]] : (tensor<4096xf32>
// CHECK: %[[E:.*]] = stablehlo.exponential %{{.*}} : tensor<[[N]]x4096xf32>
// CHECK: %[[D:.*]] = stablehlo.divide %[[E]], %{{.*}} : tensor<[[N]]x4096xf32>
// CHECK: stablehlo.dot_general %[[D]], %{{.*}} -> tensor<[[N]]x1024xf32>
func.func @again(%x: tensor<4096xf32>, %y: tensor<4096xf32>, %w: tensor<4096x1024xf32>) -> tensor<4096x1024xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %rows = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<4096xf32>) -> tensor<4096x4096xf32>
  %columns = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<4096xf32>) -> tensor<4096x4096xf32>
  %sum = stablehlo.multiply %rows, %columns : tensor<4096x4096xf32>
  %e = stablehlo.exponential %sum : tensor<4096x4096xf32>
  %top = stablehlo.reduce(%e init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<4096x4096xf32>, tensor<f32>) -> tensor<4096xf32>
  %tops = stablehlo.broadcast_in_dim %top, dims = [1] : (tensor<4096xf32>) -> tensor<4096x4096xf32>
  %d = stablehlo.divide %e, %tops : tensor<4096x4096xf32>
  %out = stablehlo.dot_general %d, %w, contracting_dims = [1] x [0] : (tensor<4096x4096xf32>, tensor<4096x1024xf32>) -> tensor<4096x1024xf32>
  return %out : tensor<4096x1024xf32>
}

// -----

// The columns of many right sides, once the matrix is there; a product that would take too long again is kept.
// CHECK-LABEL: func.func @columns
// CHECK-SAME: %[[A:.*]]: tensor<2048x8192xf32>, %[[B:.*]]: tensor<8192x65536xf32>
// CHECK: %[[P:.*]] = stablehlo.dot_general %[[A]], %[[B]]
// CHECK: %[[L:.*]] = stablehlo.cholesky
// CHECK: stablehlo.while(%[[I:[^ ]+]] = %{{[^,]*}}, %[[SUM:[^ ]+]] = %{{[^,]*}}, %[[LS:[^ ]+]] = %[[L]], %[[PS:[^ ]+]] = %[[P]],
// CHECK: do {
// CHECK: %[[SOME:.*]] = stablehlo.dynamic_slice %[[PS]], %{{.*}}, %[[I]], sizes = [2048, [[N:[0-9]+]]] : (tensor<2048x65536xf32>
// CHECK: "stablehlo.triangular_solve"(%[[LS]], %[[SOME]]) {{.*}} -> tensor<2048x[[N]]xf32>
// CHECK: stablehlo.dynamic_slice %{{.*}} : (tensor<65536x64xf32>
// CHECK: stablehlo.dot_general %{{.*}}, contracting_dims = [1] x [0] {{.*}} -> tensor<2048x64xf32>
// CHECK: stablehlo.add %[[SUM]]
func.func @columns(%a: tensor<2048x8192xf32>, %b: tensor<8192x65536xf32>, %w: tensor<65536x64xf32>) -> tensor<2048x64xf32> {
  %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2048x8192xf32>, tensor<8192x65536xf32>) -> tensor<2048x65536xf32>
  %k = stablehlo.dot_general %p, %p, contracting_dims = [1] x [1] : (tensor<2048x65536xf32>, tensor<2048x65536xf32>) -> tensor<2048x2048xf32>
  %l = stablehlo.cholesky %k, lower = true : tensor<2048x2048xf32>
  %s = "stablehlo.triangular_solve"(%l, %p) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<2048x2048xf32>, tensor<2048x65536xf32>) -> tensor<2048x65536xf32>
  %t = stablehlo.tanh %s : tensor<2048x65536xf32>
  %out = stablehlo.dot_general %t, %w, contracting_dims = [1] x [0] : (tensor<2048x65536xf32>, tensor<65536x64xf32>) -> tensor<2048x64xf32>
  return %out : tensor<2048x64xf32>
}

// -----

// What is solved of what is computed on the fly is solved again rather than kept for all columns.
// CHECK-LABEL: func.func @solved
// CHECK-SAME: %[[X:.*]]: tensor<1024xf32>, %[[Y:.*]]: tensor<131072xf32>, %[[L:.*]]: tensor<1024x1024xf32>
// CHECK: "stablehlo.triangular_solve"(%[[L]], %{{.*}}) {{.*}} -> tensor<1024x131072xf32>
// CHECK: %[[M:.*]] = stablehlo.cholesky
// CHECK: stablehlo.while(
// CHECK: do {
// CHECK: %[[E:.*]] = stablehlo.exponential %{{.*}} : tensor<1024x[[N:[0-9]+]]xf32>
// CHECK: %[[S:.*]] = "stablehlo.triangular_solve"(%{{.*}}, %[[E]]) {{.*}} -> tensor<1024x[[N]]xf32>
// CHECK: "stablehlo.triangular_solve"(%{{.*}}, %[[S]]) {{.*}} -> tensor<1024x[[N]]xf32>
func.func @solved(%x: tensor<1024xf32>, %y: tensor<131072xf32>, %l: tensor<1024x1024xf32>) -> tensor<1024xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %rows = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<1024xf32>) -> tensor<1024x131072xf32>
  %columns = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<131072xf32>) -> tensor<1024x131072xf32>
  %product = stablehlo.multiply %rows, %columns : tensor<1024x131072xf32>
  %e = stablehlo.exponential %product : tensor<1024x131072xf32>
  %s = "stablehlo.triangular_solve"(%l, %e) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<1024x1024xf32>, tensor<1024x131072xf32>) -> tensor<1024x131072xf32>
  %k = stablehlo.dot_general %s, %s, contracting_dims = [1] x [1] : (tensor<1024x131072xf32>, tensor<1024x131072xf32>) -> tensor<1024x1024xf32>
  %m = stablehlo.cholesky %k, lower = true : tensor<1024x1024xf32>
  %t = "stablehlo.triangular_solve"(%m, %s) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<1024x1024xf32>, tensor<1024x131072xf32>) -> tensor<1024x131072xf32>
  %squares = stablehlo.multiply %t, %t : tensor<1024x131072xf32>
  %out = stablehlo.reduce(%squares init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1024x131072xf32>, tensor<f32>) -> tensor<1024xf32>
  return %out : tensor<1024xf32>
}

// -----

// Nothing waits for a sum.
// CHECK-LABEL: func.func @at_once
// CHECK-NOT: stablehlo.while
func.func @at_once(%x: tensor<1024x64xf32>, %w: tensor<64x4096xf32>, %v: tensor<4096x64xf32>) -> tensor<1024x64xf32> {
  %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1024x64xf32>, tensor<64x4096xf32>) -> tensor<1024x4096xf32>
  %a = stablehlo.tanh %h : tensor<1024x4096xf32>
  %y = stablehlo.dot_general %a, %v, contracting_dims = [1] x [0] : (tensor<1024x4096xf32>, tensor<4096x64xf32>) -> tensor<1024x64xf32>
  return %y : tensor<1024x64xf32>
}
