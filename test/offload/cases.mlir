// RUN: slimhlo-opt %s --slimhlo-offload=room=20MiB --split-input-file | FileCheck %s

// What waits for the part after the peak leaves before the next product goes on, and comes back when the last product before it is there.
// CHECK-LABEL: func.func @scores
// CHECK: %[[SCORES:.*]] = stablehlo.dot_general %{{.*}} -> tensor<1024x1024xf32>
// CHECK: %[[AWAY:.*]] = stablehlo.custom_call @annotate_device_placement(%[[SCORES]]) {{.*}}has_side_effect = true{{.*}}_xla_buffer_placement = "pinned_host"
// CHECK: %[[NEXT:.*]] = stablehlo.dot_general %[[SCORES]]
// CHECK: %[[LEFT:.*]]:2 = stablehlo.optimization_barrier %[[AWAY]], %[[NEXT]]
// CHECK: stablehlo.dot_general %{{.*}} -> tensor<4096x1024xf32>
// CHECK: %[[TOKEN:.*]] = stablehlo.dot_general %{{.*}} -> tensor<64x64xf32>
// CHECK: %[[LAST:.*]] = stablehlo.dot_general %{{.*}}, %[[TOKEN]]
// CHECK: %[[LATE:.*]]:2 = stablehlo.optimization_barrier %[[LEFT]]#0, %[[LAST]]
// CHECK: %[[BACK:.*]] = stablehlo.custom_call @annotate_device_placement(%[[LATE]]#0) {{.*}}_xla_buffer_placement = "device"
// CHECK: stablehlo.dot_general %[[BACK]], %[[LATE]]#1
func.func @scores(%x: tensor<4096x64xf32>, %y: tensor<64x1024xf32>, %x1: tensor<1024x64xf32>) -> (tensor<1024x64xf32>, tensor<1024x64xf32>) {
  %k = stablehlo.sine %x1 : tensor<1024x64xf32>
  %scores = stablehlo.dot_general %x1, %k, contracting_dims = [1] x [1] : (tensor<1024x64xf32>, tensor<1024x64xf32>) -> tensor<1024x1024xf32>
  %next = stablehlo.dot_general %scores, %x1, contracting_dims = [1] x [0] : (tensor<1024x1024xf32>, tensor<1024x64xf32>) -> tensor<1024x64xf32>
  %early = stablehlo.cosine %next : tensor<1024x64xf32>
  // The peak: 16 MiB that only the next op needs.
  %turned = stablehlo.transpose %early, dims = [1, 0] : (tensor<1024x64xf32>) -> tensor<64x1024xf32>
  %after = stablehlo.add %y, %turned : tensor<64x1024xf32>
  %large = stablehlo.dot_general %x, %after, contracting_dims = [1] x [0] : (tensor<4096x64xf32>, tensor<64x1024xf32>) -> tensor<4096x1024xf32>
  %small = stablehlo.dot_general %large, %y, contracting_dims = [1] x [1] : (tensor<4096x1024xf32>, tensor<64x1024xf32>) -> tensor<4096x64xf32>
  %token = stablehlo.dot_general %small, %x, contracting_dims = [0] x [0] : (tensor<4096x64xf32>, tensor<4096x64xf32>) -> tensor<64x64xf32>
  %v = stablehlo.dot_general %x1, %token, contracting_dims = [1] x [0] : (tensor<1024x64xf32>, tensor<64x64xf32>) -> tensor<1024x64xf32>
  %b = stablehlo.dot_general %scores, %v, contracting_dims = [1] x [0] : (tensor<1024x1024xf32>, tensor<1024x64xf32>) -> tensor<1024x64xf32>
  return %b, %early : tensor<1024x64xf32>, tensor<1024x64xf32>
}

// -----

// What is returned has to be on the device anyway.
// CHECK-LABEL: func.func @returned
// CHECK-NOT: annotate_device_placement
// CHECK: return
func.func @returned(%x: tensor<4096x64xf32>, %y: tensor<64x1024xf32>, %x1: tensor<1024x64xf32>) -> (tensor<1024x64xf32>, tensor<1024x1024xf32>) {
  %k = stablehlo.sine %x1 : tensor<1024x64xf32>
  %scores = stablehlo.dot_general %x1, %k, contracting_dims = [1] x [1] : (tensor<1024x64xf32>, tensor<1024x64xf32>) -> tensor<1024x1024xf32>
  %some = stablehlo.slice %scores [0:64, 0:1024] : (tensor<1024x1024xf32>) -> tensor<64x1024xf32>
  %after = stablehlo.add %y, %some : tensor<64x1024xf32>
  %large = stablehlo.dot_general %x, %after, contracting_dims = [1] x [0] : (tensor<4096x64xf32>, tensor<64x1024xf32>) -> tensor<4096x1024xf32>
  %small = stablehlo.dot_general %large, %y, contracting_dims = [1] x [1] : (tensor<4096x1024xf32>, tensor<64x1024xf32>) -> tensor<4096x64xf32>
  %token = stablehlo.dot_general %small, %x, contracting_dims = [0] x [0] : (tensor<4096x64xf32>, tensor<4096x64xf32>) -> tensor<64x64xf32>
  %v = stablehlo.dot_general %x1, %token, contracting_dims = [1] x [0] : (tensor<1024x64xf32>, tensor<64x64xf32>) -> tensor<1024x64xf32>
  %b = stablehlo.dot_general %scores, %v, contracting_dims = [1] x [0] : (tensor<1024x1024xf32>, tensor<1024x64xf32>) -> tensor<1024x64xf32>
  return %b, %scores : tensor<1024x64xf32>, tensor<1024x1024xf32>
}
