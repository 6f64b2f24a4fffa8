// RUN: slimhlo-opt %s --slimhlo-split-sums --split-input-file | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-split-sums --split-input-file | slimhlo-opt --slimhlo-split-sums --split-input-file | FileCheck %s

// The gradient of a bias, of a slice of a batch: the sums of its members first.

// CHECK-LABEL: func.func @bias
// CHECK: %[[PARTS:.*]] = stablehlo.reduce(%arg0 init: %[[ZERO:.*]]) applies stablehlo.add across dimensions = [1] : (tensor<16x196x768xf32>, tensor<f32>) -> tensor<16x768xf32>
// CHECK: %[[HELD:.*]] = stablehlo.optimization_barrier %[[PARTS]] : tensor<16x768xf32>
// CHECK: %[[SUM:.*]] = stablehlo.reduce(%[[HELD]] init: %[[ZERO]]) applies stablehlo.add across dimensions = [0] : (tensor<16x768xf32>, tensor<f32>) -> tensor<768xf32>
// CHECK: return %[[SUM]]
func.func @bias(%x: tensor<16x196x768xf32>) -> tensor<768xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x196x768xf32>, tensor<f32>) -> tensor<768xf32>
  return %sum : tensor<768xf32>
}

// -----

// Two members are too few parts: rows are divided evenly.

// CHECK-LABEL: func.func @few_members
// CHECK: %[[ROWS:.*]] = stablehlo.reshape %arg0 : (tensor<2x1568x768xf32>) -> tensor<[[PARTS:.*]]x[[EACH:.*]]x768xf32>
// CHECK: stablehlo.reduce(%[[ROWS]] init: %{{.*}}) applies stablehlo.add across dimensions = [1] : (tensor<[[PARTS]]x[[EACH]]x768xf32>, tensor<f32>) -> tensor<[[PARTS]]x768xf32>
func.func @few_members(%x: tensor<2x1568x768xf32>) -> tensor<768xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x1568x768xf32>, tensor<f32>) -> tensor<768xf32>
  return %sum : tensor<768xf32>
}

// -----

// Floats of 16 bits are added up in 32 and rounded once.

// CHECK-LABEL: func.func @narrow
// CHECK: %[[WIDE:.*]] = stablehlo.convert %arg0 : (tensor<16x196x768xbf16>) -> tensor<16x196x768xf32>
// CHECK: stablehlo.reduce(%[[WIDE]]
// CHECK-SAME: -> tensor<16x768xf32>
// CHECK: %[[SUM:.*]] = stablehlo.reduce
// CHECK-SAME: -> tensor<768xf32>
// CHECK: stablehlo.convert %[[SUM]] : (tensor<768xf32>) -> tensor<768xbf16>
func.func @narrow(%x: tensor<16x196x768xbf16>) -> tensor<768xbf16> {
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x196x768xbf16>, tensor<bf16>) -> tensor<768xbf16>
  return %sum : tensor<768xbf16>
}

// -----

// What a sum starts from counts once; an extreme may start from it more often.

// CHECK-LABEL: func.func @initial
// CHECK: %[[NOTHING:.*]] = stablehlo.constant dense<-0.000000e+00> : tensor<f32>
// CHECK: %[[PARTS:.*]] = stablehlo.reduce(%arg0 init: %[[NOTHING]]) applies stablehlo.add across dimensions = [1]
// CHECK: %[[HELD:.*]] = stablehlo.optimization_barrier %[[PARTS]]
// CHECK: stablehlo.reduce(%[[HELD]] init: %arg1) applies stablehlo.add across dimensions = [0]
// CHECK: stablehlo.reduce(%arg0 init: %arg1) applies stablehlo.maximum across dimensions = [1]
// CHECK: stablehlo.reduce(%{{.*}} init: %arg1) applies stablehlo.maximum across dimensions = [0]
func.func @initial(%x: tensor<16x196x768xf32>, %initial: tensor<f32>) -> (tensor<768xf32>, tensor<768xf32>) {
  %sum = stablehlo.reduce(%x init: %initial) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x196x768xf32>, tensor<f32>) -> tensor<768xf32>
  %most = stablehlo.reduce(%x init: %initial) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<16x196x768xf32>, tensor<f32>) -> tensor<768xf32>
  return %sum, %most : tensor<768xf32>, tensor<768xf32>
}

// -----

// An extreme of floats of 16 bits is one of them.

// CHECK-LABEL: func.func @narrow_extreme
// CHECK-NOT: stablehlo.convert
// CHECK: stablehlo.reduce(%arg0 init: %{{.*}}) applies stablehlo.minimum across dimensions = [1] : (tensor<16x196x768xbf16>, tensor<bf16>) -> tensor<16x768xbf16>
// CHECK-NOT: stablehlo.convert
// CHECK: return
func.func @narrow_extreme(%x: tensor<16x196x768xbf16>) -> tensor<768xbf16> {
  %most = stablehlo.constant dense<0x7F80> : tensor<bf16>
  %least = stablehlo.reduce(%x init: %most) applies stablehlo.minimum across dimensions = [0, 1] : (tensor<16x196x768xbf16>, tensor<bf16>) -> tensor<768xbf16>
  return %least : tensor<768xbf16>
}
