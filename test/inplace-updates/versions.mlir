// RUN: slimhlo-opt %s --slimhlo-inplace-updates=min-bytes=1 | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-inplace-updates=min-bytes=1 --slimhlo-inplace-updates=min-bytes=1 | FileCheck %s

// Periodic edges, both read from the array as it came: the second is read from the newest version, after the first update.
// CHECK-LABEL: func @periodic
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<6x24xf32>
// CHECK: %[[A:.*]] = stablehlo.slice %[[X]] [0:6, 20:22]
// CHECK: %[[X1:.*]] = stablehlo.dynamic_update_slice %[[X]], %[[A]],
// CHECK: %[[B:.*]] = stablehlo.slice %[[X1]] [0:6, 2:4]
// CHECK: %[[C:.*]] = stablehlo.negate %[[B]]
// CHECK: stablehlo.dynamic_update_slice %[[X1]], %[[C]],
// CHECK-NOT: optimization_barrier
func.func @periodic(%x: tensor<6x24xf32> {tf.aliasing_output = 0 : i32}) -> tensor<6x24xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c22 = stablehlo.constant dense<22> : tensor<i32>
  %a = stablehlo.slice %x [0:6, 20:22] : (tensor<6x24xf32>) -> tensor<6x2xf32>
  %b = stablehlo.slice %x [0:6, 2:4] : (tensor<6x24xf32>) -> tensor<6x2xf32>
  %c = stablehlo.negate %b : tensor<6x2xf32>
  %x1 = stablehlo.dynamic_update_slice %x, %a, %c0, %c0 : (tensor<6x24xf32>, tensor<6x2xf32>, tensor<i32>, tensor<i32>) -> tensor<6x24xf32>
  %x2 = stablehlo.dynamic_update_slice %x1, %c, %c0, %c22 : (tensor<6x24xf32>, tensor<6x2xf32>, tensor<i32>, tensor<i32>) -> tensor<6x24xf32>
  return %x2 : tensor<6x24xf32>
}

// Edges of width 1 in both dimensions: the rows are made of old ones and of what the columns' updates put at the corners.
// CHECK-LABEL: func @corners
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<16x24xf32>
// CHECK: %[[A:.*]] = stablehlo.slice %[[X]] [0:16, 22:23]
// CHECK: %[[B:.*]] = stablehlo.slice %[[X]] [14:15, 0:24]
// CHECK: stablehlo.optimization_barrier
// CHECK: %[[COLUMN:.*]] = stablehlo.reshape %{{.*}} : (tensor<16xf32>) -> tensor<16x1xf32>
// CHECK: %[[ROW:.*]] = stablehlo.reshape %{{.*}} : (tensor<24xf32>) -> tensor<1x24xf32>
// CHECK: %[[X1:.*]] = stablehlo.dynamic_update_slice %[[X]], %[[COLUMN]],
// CHECK: %[[CORNER:.*]] = stablehlo.slice %[[COLUMN]] [14:15, 0:1]
// CHECK: %[[REST:.*]] = stablehlo.slice %[[ROW]] [0:1, 1:24]
// CHECK: %[[WHOLE:.*]] = stablehlo.concatenate %[[CORNER]], %[[REST]], dim = 1
// CHECK: stablehlo.dynamic_update_slice %[[X1]], %[[WHOLE]],
func.func @corners(%x: tensor<16x24xf32> {tf.aliasing_output = 0 : i32}) -> tensor<16x24xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %a = stablehlo.slice %x [0:16, 22:23] : (tensor<16x24xf32>) -> tensor<16x1xf32>
  %x1 = stablehlo.dynamic_update_slice %x, %a, %c0, %c0 : (tensor<16x24xf32>, tensor<16x1xf32>, tensor<i32>, tensor<i32>) -> tensor<16x24xf32>
  %b = stablehlo.slice %x1 [14:15, 0:24] : (tensor<16x24xf32>) -> tensor<1x24xf32>
  %x2 = stablehlo.dynamic_update_slice %x1, %b, %c0, %c0 : (tensor<16x24xf32>, tensor<1x24xf32>, tensor<i32>, tensor<i32>) -> tensor<16x24xf32>
  return %x2 : tensor<16x24xf32>
}

// What a loop carries may be overwritten, too.
// CHECK-LABEL: func @carried
// CHECK: stablehlo.while
// CHECK: do {
// CHECK: %[[A:.*]] = stablehlo.slice %[[X:iterArg[_0-9]*]] [20:22]
// CHECK: %[[X1:.*]] = stablehlo.dynamic_update_slice %[[X]], %[[A]],
// CHECK: stablehlo.slice %[[X1]] [2:4]
func.func @carried(%x: tensor<24xf32>) -> tensor<24xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %c9 = stablehlo.constant dense<9> : tensor<i32>
  %c22 = stablehlo.constant dense<22> : tensor<i32>
  %r:2 = stablehlo.while(%i = %c0, %y = %x) : tensor<i32>, tensor<24xf32>
   cond {
    %more = stablehlo.compare LT, %i, %c9 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %a = stablehlo.slice %y [20:22] : (tensor<24xf32>) -> tensor<2xf32>
    %b = stablehlo.slice %y [2:4] : (tensor<24xf32>) -> tensor<2xf32>
    %y1 = stablehlo.dynamic_update_slice %y, %a, %c0 : (tensor<24xf32>, tensor<2xf32>, tensor<i32>) -> tensor<24xf32>
    %y2 = stablehlo.dynamic_update_slice %y1, %b, %c22 : (tensor<24xf32>, tensor<2xf32>, tensor<i32>) -> tensor<24xf32>
    %next = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %next, %y2 : tensor<i32>, tensor<24xf32>
  }
  return %r#1 : tensor<24xf32>
}
