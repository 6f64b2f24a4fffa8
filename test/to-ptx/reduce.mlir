// RUN: slimhlo-opt %s --slimhlo-to-kernels --slimhlo-emit-gpu --slimhlo-to-ptx=chip=sm_80 | sed 's/\\0A/\n/g; s/\\09/ /g' | FileCheck %s

// A thread has two loads of 16 bytes in flight; threads combine what they have by shuffles, and warps by workgroup memory.

// CHECK-LABEL: .entry reduce_0(
// CHECK-NOT: .local
// CHECK: shfl.sync.down.b32
// CHECK: ld.global.nc.v4.b32
// CHECK: add.rn.f32
// CHECK: ld.global.nc.v4.b32
// CHECK: ld.global.nc.v4.b32
// CHECK-NOT: .local
// CHECK: ret;
func.func @main(%x: tensor<16777216xf32>) -> tensor<f32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<16777216xf32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}
