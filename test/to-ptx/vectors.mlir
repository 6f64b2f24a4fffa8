// RUN: slimhlo-opt %s --slimhlo-to-kernels --slimhlo-emit-gpu --slimhlo-to-ptx=chip=sm_80 | sed 's/\\0A/\n/g; s/\\09/ /g' | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-to-kernels --slimhlo-emit-gpu --slimhlo-to-ptx | sed 's/\\0A/\n/g; s/\\09/ /g' | FileCheck %s --check-prefix=CHIP

// A thread loads and stores 16 bytes at a time, and keeps all it needs in registers.

// CHECK-LABEL: .entry add_0(
// CHECK-NOT: .local
// CHECK: ld.global.nc.v4.b32
// CHECK: ld.global.nc.v4.b32
// CHECK: add.rn.f32
// CHECK: st.global.v4.b32
// CHECK-NOT: .local
// CHECK: ret;

// CHIP: gpu.binary @kernels
// CHIP-SAME: chip = "sm_90"
// CHIP: .version 7.8
// CHIP: .target sm_90
func.func @main(%a: tensor<1048576xf32>, %b: tensor<1048576xf32>) -> tensor<1048576xf32> {
  %0 = stablehlo.add %a, %b : tensor<1048576xf32>
  return %0 : tensor<1048576xf32>
}
