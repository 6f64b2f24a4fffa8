// RUN: slimhlo-opt %s --slimhlo-to-kernels --slimhlo-emit-gpu --slimhlo-to-ptx=chip=sm_80 | sed 's/\\0A/\n/g; s/\\09/ /g' | FileCheck %s

// Blocks put together, scaled and padded: each thread has one load and one store of 16 bytes.

// CHECK-LABEL: .entry pad_0(
// CHECK: ld.global.nc.v4.b32
// CHECK-NOT: ld.global
// CHECK: st.global.v4.b32
// CHECK-NOT: st.global
// CHECK: ret;
func.func @main(%x: tensor<1024x4096xf32>, %y: tensor<512x4096xf32>, %z: tensor<2000x4096xf32>) -> tensor<4096x4096xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %c = stablehlo.concatenate %x, %y, %z, dim = 0 : (tensor<1024x4096xf32>, tensor<512x4096xf32>, tensor<2000x4096xf32>) -> tensor<3536x4096xf32>
  %d = stablehlo.add %c, %c : tensor<3536x4096xf32>
  %r = stablehlo.pad %d, %zero, low = [160, 0], high = [400, 0], interior = [0, 0] : (tensor<3536x4096xf32>, tensor<f32>) -> tensor<4096x4096xf32>
  return %r : tensor<4096x4096xf32>
}
