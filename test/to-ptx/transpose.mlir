// RUN: slimhlo-opt %s --slimhlo-to-kernels --slimhlo-emit-gpu --slimhlo-to-ptx=chip=sm_80 | sed 's/\\0A/\n/g; s/\\09/ /g' | FileCheck %s

// Four loads are in flight together, then what they came to is put into workgroup memory, and stored from there.

// CHECK-LABEL: .entry transpose_0(
// CHECK-NOT: .local
// CHECK: .shared .align 16 .b8 {{.*}}[4224]
// CHECK: ld.global.nc.b32
// CHECK: ld.global.nc.b32
// CHECK: ld.global.nc.b32
// CHECK: ld.global.nc.b32
// CHECK: st.shared.b32
// CHECK: bar.sync
// CHECK: ld.shared.b32
// CHECK-NOT: ld.global
// CHECK: st.global.b32
// CHECK-NOT: .local
// CHECK: ret;
func.func @main(%x: tensor<2048x4096xf32>) -> tensor<4096x2048xf32> {
  %r = stablehlo.transpose %x, dims = [1, 0] : (tensor<2048x4096xf32>) -> tensor<4096x2048xf32>
  return %r : tensor<4096x2048xf32>
}
