// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=16384" | FileCheck %s

// The two gradients of a distance, of which one adds up rows and the other columns of the same differences: rows are put in their
// places and columns added up in one loop, and both are added after it.
// CHECK-LABEL: func @main
// CHECK-COUNT-1: stablehlo.while
// CHECK: dynamic_slice {{.*}} sizes = [1, 32]
// CHECK: %[[ROWS:[a-z0-9]+]] = stablehlo.reduce{{.*}} across dimensions = [1] : (tensor<1x128x32xf32>
// CHECK: dynamic_update_slice %{{[a-zA-Z0-9_]+}}, %[[ROWS]],
// CHECK: stablehlo.reduce{{.*}} across dimensions = [0] : (tensor<1x128x32xf32>
// CHECK-NOT: stablehlo.while
// CHECK: stablehlo.add {{.*}} : tensor<128x32xf32>
// CHECK: {{^ *}}return
func.func @main(%x: tensor<128x32xf32>) -> tensor<128x32xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<128x128xf32>
  %none = stablehlo.constant dense<0.0> : tensor<128x128xf32>
  %xi = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<128x32xf32>) -> tensor<128x128x32xf32>
  %xj = stablehlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<128x32xf32>) -> tensor<128x128x32xf32>
  %d = stablehlo.subtract %xi, %xj : tensor<128x128x32xf32>
  %dd = stablehlo.multiply %d, %d : tensor<128x128x32xf32>
  %r = stablehlo.reduce(%dd init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<128x128x32xf32>, tensor<f32>) -> tensor<128x128xf32>
  %near = stablehlo.compare LT, %r, %one, FLOAT : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xi1>
  %w = stablehlo.select %near, %one, %none : tensor<128x128xi1>, tensor<128x128xf32>
  %ws = stablehlo.broadcast_in_dim %w, dims = [0, 1] : (tensor<128x128xf32>) -> tensor<128x128x32xf32>
  %g = stablehlo.multiply %ws, %d : tensor<128x128x32xf32>
  %rows = stablehlo.reduce(%g init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<128x128x32xf32>, tensor<f32>) -> tensor<128x32xf32>
  %minus = stablehlo.negate %g : tensor<128x128x32xf32>
  %columns = stablehlo.reduce(%minus init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<128x128x32xf32>, tensor<f32>) -> tensor<128x32xf32>
  %sum = stablehlo.add %rows, %columns : tensor<128x32xf32>
  return %sum : tensor<128x32xf32>
}

// The columns are of something else: the sum of both is made a row at a time.
// CHECK-LABEL: func @of_different_values
// CHECK: stablehlo.while
// CHECK: %[[ROWS:[a-z0-9]+]] = stablehlo.reduce{{.*}} across dimensions = [1] : (tensor<1x128x32xf32>
// CHECK: %[[SUM:[a-z0-9]+]] = stablehlo.add %[[ROWS]], {{.*}} : tensor<1x32xf32>
// CHECK: dynamic_update_slice %{{[a-zA-Z0-9_]+}}, %[[SUM]],
// CHECK: {{^ *}}return
func.func @of_different_values(%y: tensor<128x128x32xf32>, %x: tensor<128x32xf32>) -> tensor<128x32xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<128x128xf32>
  %none = stablehlo.constant dense<0.0> : tensor<128x128xf32>
  %xi = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<128x32xf32>) -> tensor<128x128x32xf32>
  %xj = stablehlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<128x32xf32>) -> tensor<128x128x32xf32>
  %d = stablehlo.subtract %xi, %xj : tensor<128x128x32xf32>
  %dd = stablehlo.multiply %d, %d : tensor<128x128x32xf32>
  %r = stablehlo.reduce(%dd init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<128x128x32xf32>, tensor<f32>) -> tensor<128x128xf32>
  %near = stablehlo.compare LT, %r, %one, FLOAT : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xi1>
  %w = stablehlo.select %near, %one, %none : tensor<128x128xi1>, tensor<128x128xf32>
  %ws = stablehlo.broadcast_in_dim %w, dims = [0, 1] : (tensor<128x128xf32>) -> tensor<128x128x32xf32>
  %g = stablehlo.multiply %ws, %d : tensor<128x128x32xf32>
  %rows = stablehlo.reduce(%g init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<128x128x32xf32>, tensor<f32>) -> tensor<128x32xf32>
  %minus = stablehlo.negate %y : tensor<128x128x32xf32>
  %columns = stablehlo.reduce(%minus init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<128x128x32xf32>, tensor<f32>) -> tensor<128x32xf32>
  %sum = stablehlo.add %rows, %columns : tensor<128x32xf32>
  return %sum : tensor<128x32xf32>
}
