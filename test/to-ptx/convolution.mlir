// RUN: slimhlo-opt %s --slimhlo-to-kernels --slimhlo-emit-gpu --slimhlo-to-ptx=chip=sm_80 | sed 's/\\0A/\n/g; s/\\09/ /g' | FileCheck %s

// Operands are multiplied from workgroup memory, 16 bytes at a time, with sums in registers, while those of the next turn are loaded.

// CHECK-LABEL: .entry convolution_0(
// CHECK-NOT: .local
// CHECK: .shared .align
// CHECK: ld.global.nc.b32
// CHECK: ld.shared.v4
// CHECK: ld.shared.v4
// CHECK: fma.rn.f32
// CHECK: bar.sync
// CHECK: st.shared.b32
// CHECK: bar.sync
// CHECK-NOT: .local
// CHECK: ret;
func.func @main(%x: tensor<8x64x56x56xf32>, %w: tensor<128x64x3x3xf32>) -> tensor<8x128x56x56xf32> {
  %r = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x64x56x56xf32>, tensor<128x64x3x3xf32>) -> tensor<8x128x56x56xf32>
  return %r : tensor<8x128x56x56xf32>
}
