// RUN: slimhlo-opt %s --slimhlo-unstack --canonicalize --split-input-file | FileCheck %s

// Both parts by themselves, of other values, a row of each wanted, transposed, and with what all parts share.
// CHECK-LABEL: func.func @two
// CHECK-NOT: concatenate
// CHECK: %[[A:.*]] = stablehlo.multiply %arg0, %{{.*}} : tensor<1x8x8xf64>
// CHECK: %[[B:.*]] = stablehlo.multiply %arg1, %{{.*}} : tensor<1x8x8xf64>
// CHECK: %[[AT:.*]] = stablehlo.transpose %[[A]]
// CHECK: %[[BT:.*]] = stablehlo.transpose %[[B]]
// CHECK: %[[ROW:.*]] = stablehlo.slice %[[BT]] [0:1, 3:4, 0:8] : (tensor<1x8x8xf64>) -> tensor<1x1x8xf64>
// CHECK: return %[[AT]], %[[ROW]]
func.func @two(%a: tensor<1x8x8xf64>, %b: tensor<1x8x8xf64>, %scale: tensor<8x8xf64>) -> (tensor<1x8x8xf64>, tensor<1x1x8xf64>) {
  %all = stablehlo.concatenate %a, %b, dim = 0 : (tensor<1x8x8xf64>, tensor<1x8x8xf64>) -> tensor<2x8x8xf64>
  %scales = stablehlo.broadcast_in_dim %scale, dims = [1, 2] : (tensor<8x8xf64>) -> tensor<2x8x8xf64>
  %scaled = stablehlo.multiply %all, %scales : tensor<2x8x8xf64>
  %turned = stablehlo.transpose %scaled, dims = [0, 2, 1] : (tensor<2x8x8xf64>) -> tensor<2x8x8xf64>
  %0 = stablehlo.slice %turned [0:1, 0:8, 0:8] : (tensor<2x8x8xf64>) -> tensor<1x8x8xf64>
  %1 = stablehlo.slice %turned [1:2, 3:4, 0:8] : (tensor<2x8x8xf64>) -> tensor<1x1x8xf64>
  return %0, %1 : tensor<1x8x8xf64>, tensor<1x1x8xf64>
}

// -----

// Parts of different sizes, and a value that is no concatenate beside them.
// CHECK-LABEL: func.func @uneven
// CHECK-NOT: concatenate
// CHECK-DAG: stablehlo.slice %arg2 [0:1] : (tensor<8xf32>) -> tensor<1xf32>
// CHECK-DAG: stablehlo.slice %arg2 [1:8] : (tensor<8xf32>) -> tensor<7xf32>
// CHECK: return %{{.*}}, %{{.*}} : tensor<1xf32>, tensor<2xf32>
func.func @uneven(%a: tensor<1xf32>, %b: tensor<7xf32>, %c: tensor<8xf32>) -> (tensor<1xf32>, tensor<2xf32>) {
  %all = stablehlo.concatenate %a, %b, dim = 0 : (tensor<1xf32>, tensor<7xf32>) -> tensor<8xf32>
  %sum = stablehlo.add %all, %c : tensor<8xf32>
  %0 = stablehlo.slice %sum [0:1] : (tensor<8xf32>) -> tensor<1xf32>
  %1 = stablehlo.slice %sum [4:6] : (tensor<8xf32>) -> tensor<2xf32>
  return %0, %1 : tensor<1xf32>, tensor<2xf32>
}

// -----

// A slice across two parts, a sum of all, a result: the concatenate is there anyway.
// CHECK-LABEL: func.func @across
// CHECK: stablehlo.add %{{.*}} : tensor<8xf32>
func.func @across(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<2xf32> {
  %all = stablehlo.concatenate %a, %b, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %sum = stablehlo.add %all, %all : tensor<8xf32>
  %0 = stablehlo.slice %sum [3:5] : (tensor<8xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: func.func @summed
// CHECK: stablehlo.negate %{{.*}} : tensor<8xf32>
func.func @summed(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %all = stablehlo.concatenate %a, %b, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %less = stablehlo.negate %all : tensor<8xf32>
  %0 = stablehlo.slice %less [0:4] : (tensor<8xf32>) -> tensor<4xf32>
  %1 = stablehlo.reduce(%less init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  return %0, %1 : tensor<4xf32>, tensor<f32>
}

// CHECK-LABEL: func.func @returned
// CHECK: stablehlo.negate %{{.*}} : tensor<8xf32>
func.func @returned(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<8xf32>) {
  %all = stablehlo.concatenate %a, %b, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %less = stablehlo.negate %all : tensor<8xf32>
  %0 = stablehlo.slice %less [0:4] : (tensor<8xf32>) -> tensor<4xf32>
  return %0, %less : tensor<4xf32>, tensor<8xf32>
}

// -----

// Products of parts would be thin.
// CHECK-LABEL: func.func @products
// CHECK: stablehlo.dot_general %{{.*}} -> tensor<8x16xf32>
func.func @products(%a: tensor<4x16xf32>, %b: tensor<4x16xf32>, %w: tensor<16x16xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
  %all = stablehlo.concatenate %a, %b, dim = 0 : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
  %h = stablehlo.dot_general %all, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %0 = stablehlo.slice %h [0:4, 0:16] : (tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = stablehlo.slice %h [4:8, 0:16] : (tensor<8x16xf32>) -> tensor<4x16xf32>
  return %0, %1 : tensor<4x16xf32>, tensor<4x16xf32>
}

// -----

module attributes {mhlo.num_partitions = 2 : i32} {
  // CHECK-LABEL: func.func @partitions
  // CHECK: stablehlo.negate %{{.*}} : tensor<8xf32>
  func.func @partitions(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
    %all = stablehlo.concatenate %a, %b, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
    %less = stablehlo.negate %all : tensor<8xf32>
    %0 = stablehlo.slice %less [0:4] : (tensor<8xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
