// RUN: slimhlo-opt %s --slimhlo-late-splats="least-bytes=1" | FileCheck %s

// An accumulator that starts from minus infinity, a boolean one, and splats that the loop only reads.
// CHECK-LABEL: func.func @accumulators
func.func @accumulators(%x: tensor<4x4xf64>) -> (tensor<4x4xf32>, tensor<4xi1>) {
  // CHECK: stablehlo.dot_general
  // CHECK: stablehlo.dot_general
  // CHECK: %[[LAST:.*]] = stablehlo.dot_general
  // CHECK: %[[INFINITY:.*]] = stablehlo.constant dense<-8388608> : tensor<i32>
  // CHECK: %[[ONE:.*]] = stablehlo.slice %[[LAST]] [0:1, 0:1]
  // CHECK: %[[SCALAR:.*]] = stablehlo.reshape %[[ONE]]
  // CHECK: %[[WIDE:.*]] = stablehlo.bitcast_convert %[[SCALAR]] : (tensor<f64>) -> tensor<i64>
  // CHECK: %[[BITS:.*]] = stablehlo.convert %[[WIDE]] : (tensor<i64>) -> tensor<i32>
  // CHECK: %[[SAME:.*]] = stablehlo.clamp %[[INFINITY]], %[[BITS]], %[[INFINITY]] : tensor<i32>
  // CHECK: %[[FLOAT:.*]] = stablehlo.bitcast_convert %[[SAME]] : (tensor<i32>) -> tensor<f32>
  // CHECK: %[[START:.*]] = stablehlo.broadcast_in_dim %[[FLOAT]], dims = [] : (tensor<f32>) -> tensor<4x4xf32>
  // CHECK: stablehlo.while(%{{[^ ]*}} = %{{[^ ,]*}}, %{{[^ ]*}} = %[[START]], %{{[^ ]*}} = %[[LAST]], %{{[^ ]*}} = %c{{[^ ,]*}}, %{{[^ ]*}} = %cst{{[^ )]*}})
  %c0 = stablehlo.constant dense<0> : tensor<i64>
  %start = stablehlo.constant dense<0xFF800000> : tensor<4x4xf32>
  %no = stablehlo.constant dense<false> : tensor<4xi1>
  %ones = stablehlo.constant dense<1.0> : tensor<4x4xf64>
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf64>
  %1 = stablehlo.dot_general %0, %x, contracting_dims = [1] x [0] : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf64>
  %2 = stablehlo.dot_general %1, %x, contracting_dims = [1] x [0] : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf64>
  %loop:5 = stablehlo.while(%i = %c0, %most = %start, %given = %2, %any = %no, %by = %ones) : tensor<i64>, tensor<4x4xf32>, tensor<4x4xf64>, tensor<4xi1>, tensor<4x4xf64>
  cond {
    %c9 = stablehlo.constant dense<9> : tensor<i64>
    %on = stablehlo.compare LT, %i, %c9, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %on : tensor<i1>
  } do {
    %c1 = stablehlo.constant dense<1> : tensor<i64>
    %next = stablehlo.add %i, %c1 : tensor<i64>
    %scaled = stablehlo.multiply %given, %by : tensor<4x4xf64>
    %narrow = stablehlo.convert %scaled : (tensor<4x4xf64>) -> tensor<4x4xf32>
    %more = stablehlo.maximum %most, %narrow : tensor<4x4xf32>
    %not = stablehlo.not %any : tensor<4xi1>
    stablehlo.return %next, %more, %given, %not, %by : tensor<i64>, tensor<4x4xf32>, tensor<4x4xf64>, tensor<4xi1>, tensor<4x4xf64>
  }
  return %loop#1, %loop#3 : tensor<4x4xf32>, tensor<4xi1>
}
