// What fits stays, and so does all of it where values cannot wait on the host.
// RUN: slimhlo-opt %s --slimhlo-offload=room=1GiB | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-offload="room=1MiB target=xla-cpu" | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-offload=room=1MiB | FileCheck %s --check-prefix=GPU

// CHECK-NOT: annotate_device_placement
// GPU-COUNT-2: annotate_device_placement
func.func @scores(%x: tensor<4096x64xf32>, %y: tensor<64x1024xf32>, %x1: tensor<1024x64xf32>) -> (tensor<1024x64xf32>, tensor<1024x64xf32>) {
  %k = stablehlo.sine %x1 : tensor<1024x64xf32>
  %scores = stablehlo.dot_general %x1, %k, contracting_dims = [1] x [1] : (tensor<1024x64xf32>, tensor<1024x64xf32>) -> tensor<1024x1024xf32>
  %next = stablehlo.dot_general %scores, %x1, contracting_dims = [1] x [0] : (tensor<1024x1024xf32>, tensor<1024x64xf32>) -> tensor<1024x64xf32>
  %early = stablehlo.cosine %next : tensor<1024x64xf32>
  %turned = stablehlo.transpose %early, dims = [1, 0] : (tensor<1024x64xf32>) -> tensor<64x1024xf32>
  %after = stablehlo.add %y, %turned : tensor<64x1024xf32>
  %large = stablehlo.dot_general %x, %after, contracting_dims = [1] x [0] : (tensor<4096x64xf32>, tensor<64x1024xf32>) -> tensor<4096x1024xf32>
  %small = stablehlo.dot_general %large, %y, contracting_dims = [1] x [1] : (tensor<4096x1024xf32>, tensor<64x1024xf32>) -> tensor<4096x64xf32>
  %token = stablehlo.dot_general %small, %x, contracting_dims = [0] x [0] : (tensor<4096x64xf32>, tensor<4096x64xf32>) -> tensor<64x64xf32>
  %v = stablehlo.dot_general %x1, %token, contracting_dims = [1] x [0] : (tensor<1024x64xf32>, tensor<64x64xf32>) -> tensor<1024x64xf32>
  %b = stablehlo.dot_general %scores, %v, contracting_dims = [1] x [0] : (tensor<1024x1024xf32>, tensor<1024x64xf32>) -> tensor<1024x64xf32>
  return %b, %early : tensor<1024x64xf32>, tensor<1024x64xf32>
}
