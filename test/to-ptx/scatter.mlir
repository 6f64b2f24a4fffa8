// RUN: slimhlo-opt %s --slimhlo-to-kernels --slimhlo-emit-gpu --slimhlo-to-ptx=chip=sm_80 | sed 's/\\0A/\n/g; s/\\09/ /g' | FileCheck %s

// A histogram is counted in workgroup memory; each block adds what it comes to. Loads of several updates are in flight together.

// CHECK-LABEL: .entry scatter_0(
// CHECK-NOT: .local
// CHECK: .shared .align
// CHECK: st.shared.b32
// CHECK: bar.sync
// CHECK: ld.global.nc.b32
// CHECK: ld.global.nc.b32
// CHECK: ld.global.nc.b32
// CHECK: ld.global.nc.b32
// CHECK: atom.shared.add.f32
// CHECK: bar.sync
// CHECK: ld.shared.b32
// CHECK: atom.global.add.f32
// CHECK-NOT: .local
// CHECK: ret;
func.func @main(%x: tensor<100xf32>, %i: tensor<400000x1xi32>, %u: tensor<400000xf32>) -> tensor<100xf32> {
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<100xf32>, tensor<400000x1xi32>, tensor<400000xf32>) -> tensor<100xf32>
  return %r : tensor<100xf32>
}
