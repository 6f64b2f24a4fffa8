// RUN: slimhlo-opt %s --slimhlo-slabs="target=xla-cpu min-bytes=1 slab-bytes=64" | FileCheck %s

// The largest change is found in the loop, since it needs the old field and the new one. It starts from that of both ends.
// CHECK-LABEL: func @residual
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<64x4xf32>
// CHECK: %[[BEFORE:[^ ]*]] = stablehlo.reduce
// CHECK: %[[AFTER:[^ ]*]] = stablehlo.reduce
// CHECK: %[[ENDS:[^ ]*]] = stablehlo.maximum %[[BEFORE]], %[[AFTER]]
// CHECK: %[[LOOP:[^:]*]]:4 = stablehlo.while(%{{[^ ]*}} = %{{[^ ,]*}}, %{{[^ ]*}} = %[[X]], %[[MOST:[^ ]*]] = %[[ENDS]], %{{[^ ]*}} = %{{[^ ,]*}})
// CHECK: do {
// CHECK: %[[PART:[^ ]*]] = stablehlo.reduce
// CHECK: stablehlo.maximum %[[MOST]], %[[PART]]
// CHECK-NOT: stablehlo.reduce
// CHECK: return %{{[^ ,]*}}, %[[LOOP]]#2
func.func @residual(%x: tensor<64x4xf32> {tf.aliasing_output = 0 : i32}) -> (tensor<64x4xf32>, tensor<f32>) {
  %f = stablehlo.constant dense<0.0> : tensor<f32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %a = stablehlo.slice %x [1:64, 0:4] : (tensor<64x4xf32>) -> tensor<63x4xf32>
  %new = stablehlo.pad %a, %f, low = [0, 0], high = [1, 0], interior = [0, 0] : (tensor<63x4xf32>, tensor<f32>) -> tensor<64x4xf32>
  %d = stablehlo.subtract %new, %x : tensor<64x4xf32>
  %abs = stablehlo.abs %d : tensor<64x4xf32>
  %most = stablehlo.reduce(%abs init: %least) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<64x4xf32>, tensor<f32>) -> tensor<f32>
  return %new, %most : tensor<64x4xf32>, tensor<f32>
}

// Whoever reads the new field comes after the loop, wherever it was.
// CHECK-LABEL: func @late
// CHECK: %[[LOOP:[^:]*]]:4 = stablehlo.while
// CHECK: stablehlo.slice %[[LOOP]]#3
// CHECK: %[[NEW:[^ ]*]] = stablehlo.dynamic_update_slice %[[LOOP]]#1
// CHECK: %[[LAST:[^ ]*]] = stablehlo.dynamic_update_slice %[[NEW]]
// CHECK: stablehlo.reduce(%[[LAST]]
func.func @late(%x: tensor<64x4xf32> {tf.aliasing_output = 0 : i32}) -> (tensor<64x4xf32>, tensor<f32>, tensor<f32>) {
  %f = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.slice %x [1:64, 0:4] : (tensor<64x4xf32>) -> tensor<63x4xf32>
  %new = stablehlo.pad %a, %f, low = [0, 0], high = [1, 0], interior = [0, 0] : (tensor<63x4xf32>, tensor<f32>) -> tensor<64x4xf32>
  %after = stablehlo.reduce(%new init: %f) applies stablehlo.add across dimensions = [0, 1] : (tensor<64x4xf32>, tensor<f32>) -> tensor<f32>
  %before = stablehlo.reduce(%x init: %f) applies stablehlo.add across dimensions = [0, 1] : (tensor<64x4xf32>, tensor<f32>) -> tensor<f32>
  return %new, %before, %after : tensor<64x4xf32>, tensor<f32>, tensor<f32>
}

// The step needs the largest element first: it is found as before, and the field is overwritten then.
// CHECK-LABEL: func @time_step
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<64x4xf32>
// CHECK: stablehlo.abs %[[X]]
// CHECK: %[[MOST:[^ ]*]] = stablehlo.reduce
// CHECK: stablehlo.while(%{{[^ ]*}} = %{{[^ ,]*}}, %{{[^ ]*}} = %[[X]], %{{[^ ]*}} = %{{[^ ,]*}}, %{{[^ ]*}} = %[[MOST]])
func.func @time_step(%x: tensor<64x4xf32> {tf.aliasing_output = 0 : i32}) -> (tensor<64x4xf32>, tensor<f32>) {
  %f = stablehlo.constant dense<0.0> : tensor<f32>
  %abs = stablehlo.abs %x : tensor<64x4xf32>
  %most = stablehlo.reduce(%abs init: %f) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<64x4xf32>, tensor<f32>) -> tensor<f32>
  %step = stablehlo.broadcast_in_dim %most, dims = [] : (tensor<f32>) -> tensor<64x4xf32>
  %a = stablehlo.slice %x [1:64, 0:4] : (tensor<64x4xf32>) -> tensor<63x4xf32>
  %east = stablehlo.pad %a, %f, low = [0, 0], high = [1, 0], interior = [0, 0] : (tensor<63x4xf32>, tensor<f32>) -> tensor<64x4xf32>
  %new = stablehlo.multiply %east, %step : tensor<64x4xf32>
  return %new, %most : tensor<64x4xf32>, tensor<f32>
}

// What is read of the old field afterwards is no total, or is one of too few bits: the new field has a place of its own.
// CHECK-LABEL: func @row
// CHECK-NOT: stablehlo.while
func.func @row(%x: tensor<64x4xf32> {tf.aliasing_output = 0 : i32}) -> (tensor<64x4xf32>, tensor<1x4xf32>) {
  %f = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.slice %x [1:64, 0:4] : (tensor<64x4xf32>) -> tensor<63x4xf32>
  %new = stablehlo.pad %a, %f, low = [0, 0], high = [1, 0], interior = [0, 0] : (tensor<63x4xf32>, tensor<f32>) -> tensor<64x4xf32>
  %row = stablehlo.slice %x [7:8, 0:4] : (tensor<64x4xf32>) -> tensor<1x4xf32>
  return %new, %row : tensor<64x4xf32>, tensor<1x4xf32>
}

// CHECK-LABEL: func @narrow
// CHECK-NOT: stablehlo.while
func.func @narrow(%x: tensor<64x4xbf16> {tf.aliasing_output = 0 : i32}) -> (tensor<64x4xbf16>, tensor<bf16>) {
  %f = stablehlo.constant dense<0.0> : tensor<bf16>
  %a = stablehlo.slice %x [1:64, 0:4] : (tensor<64x4xbf16>) -> tensor<63x4xbf16>
  %new = stablehlo.pad %a, %f, low = [0, 0], high = [1, 0], interior = [0, 0] : (tensor<63x4xbf16>, tensor<bf16>) -> tensor<64x4xbf16>
  %sum = stablehlo.reduce(%x init: %f) applies stablehlo.add across dimensions = [0, 1] : (tensor<64x4xbf16>, tensor<bf16>) -> tensor<bf16>
  return %new, %sum : tensor<64x4xbf16>, tensor<bf16>
}
