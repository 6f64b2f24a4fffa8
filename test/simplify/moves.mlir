// RUN: slimhlo-opt %s --slimhlo-simplify | FileCheck %s

// CHECK-LABEL: func @reshapes
func.func @reshapes(%x: tensor<12xf32>) -> tensor<3x4xf32> {
  // CHECK-NEXT: %[[R:.*]] = stablehlo.reshape %arg0 : (tensor<12xf32>) -> tensor<3x4xf32>
  // CHECK-NEXT: return %[[R]]
  %0 = stablehlo.reshape %x : (tensor<12xf32>) -> tensor<2x6xf32>
  %1 = stablehlo.reshape %0 : (tensor<2x6xf32>) -> tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}

// CHECK-LABEL: func @scalar_everywhere
func.func @scalar_everywhere(%x: tensor<f32>) -> (tensor<12xf32>, tensor<4x3xf32>, tensor<3x4xf32>) {
  // CHECK-DAG: stablehlo.broadcast_in_dim %arg0, dims = [] : (tensor<f32>) -> tensor<12xf32>
  // CHECK-DAG: stablehlo.broadcast_in_dim %arg0, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
  // CHECK-DAG: stablehlo.broadcast_in_dim %arg0, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
  // CHECK-NOT: stablehlo.{{reshape|transpose|reverse}}
  // CHECK: {{^ *}}return
  %0 = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
  %1 = stablehlo.reshape %0 : (tensor<3x4xf32>) -> tensor<12xf32>
  %2 = stablehlo.transpose %0, dims = [1, 0] : (tensor<3x4xf32>) -> tensor<4x3xf32>
  %3 = stablehlo.reverse %0, dims = [0] : tensor<3x4xf32>
  return %1, %2, %3 : tensor<12xf32>, tensor<4x3xf32>, tensor<3x4xf32>
}

// CHECK-LABEL: func @transposes
func.func @transposes(%x: tensor<2x3x4xf32>) -> tensor<4x3x2xf32> {
  // CHECK-NEXT: %[[R:.*]] = stablehlo.transpose %arg0, dims = [2, 1, 0]
  // CHECK-NEXT: return %[[R]]
  %0 = stablehlo.transpose %x, dims = [1, 2, 0] : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0, 2] : (tensor<3x4x2xf32>) -> tensor<4x3x2xf32>
  return %1 : tensor<4x3x2xf32>
}

// CHECK-LABEL: func @broadcasts
func.func @broadcasts(%x: tensor<3xf32>) -> tensor<4x3x5xf32> {
  // CHECK-NEXT: %[[R:.*]] = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<3xf32>) -> tensor<4x3x5xf32>
  // CHECK-NEXT: return %[[R]]
  %0 = stablehlo.reshape %x : (tensor<3xf32>) -> tensor<3x1xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<3x1xf32>) -> tensor<3x5xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [1, 2] : (tensor<3x5xf32>) -> tensor<4x3x5xf32>
  return %2 : tensor<4x3x5xf32>
}

// CHECK-LABEL: func @transposed_broadcast
func.func @transposed_broadcast(%x: tensor<3xf32>) -> tensor<3x4xf32> {
  // CHECK-NEXT: %[[R:.*]] = stablehlo.broadcast_in_dim %arg0, dims = [0] : (tensor<3xf32>) -> tensor<3x4xf32>
  // CHECK-NEXT: return %[[R]]
  %0 = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<3xf32>) -> tensor<4x3xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}

// CHECK-LABEL: func @converts
func.func @converts(%x: tensor<3xi8>, %y: tensor<3xf32>) -> (tensor<3xi64>, tensor<3xf32>, tensor<3xf32>) {
  // CHECK-NEXT: %[[A:.*]] = stablehlo.convert %arg0 : (tensor<3xi8>) -> tensor<3xi64>
  // Rounded on the way: that stays.
  // CHECK-NEXT: %[[B:.*]] = stablehlo.convert %arg1 : (tensor<3xf32>) -> tensor<3xbf16>
  // CHECK-NEXT: %[[C:.*]] = stablehlo.convert %[[B]]
  // CHECK-NEXT: return %[[A]], %arg1, %[[C]]
  %0 = stablehlo.convert %x : (tensor<3xi8>) -> tensor<3xi32>
  %1 = stablehlo.convert %0 : (tensor<3xi32>) -> tensor<3xi64>
  %2 = stablehlo.convert %y : (tensor<3xf32>) -> tensor<3xf64>
  %3 = stablehlo.convert %2 : (tensor<3xf64>) -> tensor<3xf32>
  %4 = stablehlo.convert %y : (tensor<3xf32>) -> tensor<3xbf16>
  %5 = stablehlo.convert %4 : (tensor<3xbf16>) -> tensor<3xf32>
  return %1, %3, %5 : tensor<3xi64>, tensor<3xf32>, tensor<3xf32>
}

// CHECK-LABEL: func @concatenates
func.func @concatenates(%x: tensor<8xf32>, %y: tensor<2xf32>, %e: tensor<0xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: %[[A:.*]] = stablehlo.slice %arg0 [1:7]
  // CHECK-NEXT: %[[R:.*]] = stablehlo.concatenate %arg1, %[[A]], dim = 0
  // CHECK-NEXT: return %[[R]]
  %0 = stablehlo.slice %x [1:4] : (tensor<8xf32>) -> tensor<3xf32>
  %1 = stablehlo.slice %x [4:7] : (tensor<8xf32>) -> tensor<3xf32>
  %2 = stablehlo.concatenate %y, %0, dim = 0 : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>
  %3 = stablehlo.concatenate %2, %e, %1, dim = 0 : (tensor<5xf32>, tensor<0xf32>, tensor<3xf32>) -> tensor<8xf32>
  return %3 : tensor<8xf32>
}

// Not neighbours: the second slice comes first.
// CHECK-LABEL: func @rolled
func.func @rolled(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: stablehlo.slice %arg0 [5:8]
  // CHECK: stablehlo.slice %arg0 [0:5]
  // CHECK: stablehlo.concatenate
  %0 = stablehlo.slice %x [5:8] : (tensor<8xf32>) -> tensor<3xf32>
  %1 = stablehlo.slice %x [0:5] : (tensor<8xf32>) -> tensor<5xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<3xf32>, tensor<5xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}

// CHECK-LABEL: func @split_and_joined
func.func @split_and_joined(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: return %arg0
  %0 = stablehlo.slice %x [0:5] : (tensor<8xf32>) -> tensor<5xf32>
  %1 = stablehlo.slice %x [5:8] : (tensor<8xf32>) -> tensor<3xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<5xf32>, tensor<3xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}
