// RUN: slimhlo-opt %s --slimhlo-to-kernels | FileCheck %s --check-prefix=PLAN
// RUN: slimhlo-opt %s --slimhlo-to-kernels --slimhlo-emit-gpu --slimhlo-to-ptx | sed 's/\\0A/\n/g; s/\\09/ /g' | FileCheck %s

// Halos of a donated field are filled where they are, 16 bytes at a time, with no memory besides: scatters at constant places are
// updates, and each reads what it does not write.

// PLAN: slimhlo.arena = 0
// PLAN: %[[W:[0-9]+]] = call @dynamic_update_slice_0(%arg0) {slimhlo.buffers = ["arg0"]}
// PLAN-NEXT: %[[S:[0-9]+]] = call @dynamic_update_slice_1(%[[W]]) {slimhlo.buffers = ["arg0"]}
// PLAN-NEXT: %[[N:[0-9]+]] = call @dynamic_update_slice_2(%[[S]]) {slimhlo.buffers = ["arg0"]}
// PLAN-NEXT: return %[[N]]
// PLAN-NOT: stablehlo.scatter

// CHECK-LABEL: .entry dynamic_update_slice_0(
// CHECK: ld.global.v2.b64
// CHECK: st.global.v2.b64
// CHECK-LABEL: .entry dynamic_update_slice_1(
// CHECK: ld.global.v2.b64
// CHECK: st.global.v2.b64
// CHECK-LABEL: .entry dynamic_update_slice_2(
// CHECK: ld.global.v2.b64
// CHECK: st.global.v2.b64
// CHECK-NOT: ld.global.b64
// CHECK-NOT: st.global.b64
// CHECK: ret;
func.func @main(%x: tensor<80x784x1552xf64> {tf.aliasing_output = 0 : i32}) -> tensor<80x784x1552xf64> {
  %west = stablehlo.constant dense<0> : tensor<1xi32>
  %0 = stablehlo.slice %x [0:80, 0:784, 1536:1544] : (tensor<80x784x1552xf64>) -> tensor<80x784x8xf64>
  %1 = "stablehlo.scatter"(%x, %west, %0) <{indices_are_sorted = true, unique_indices = true,
      scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1, 2], scatter_dims_to_operand_dims = [2]>}> ({
  ^bb0(%old: tensor<f64>, %new: tensor<f64>):
    stablehlo.return %new : tensor<f64>
  }) : (tensor<80x784x1552xf64>, tensor<1xi32>, tensor<80x784x8xf64>) -> tensor<80x784x1552xf64>
  %2 = stablehlo.slice %1 [0:80, 8:9, 0:1552] : (tensor<80x784x1552xf64>) -> tensor<80x1x1552xf64>
  %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1, 2] : (tensor<80x1x1552xf64>) -> tensor<80x8x1552xf64>
  %4 = "stablehlo.scatter"(%1, %west, %3) <{indices_are_sorted = true, unique_indices = true,
      scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1, 2], scatter_dims_to_operand_dims = [1]>}> ({
  ^bb0(%old: tensor<f64>, %new: tensor<f64>):
    stablehlo.return %new : tensor<f64>
  }) : (tensor<80x784x1552xf64>, tensor<1xi32>, tensor<80x8x1552xf64>) -> tensor<80x784x1552xf64>
  %5 = stablehlo.slice %4 [0:80, 775:776, 0:1552] : (tensor<80x784x1552xf64>) -> tensor<80x1x1552xf64>
  %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2] : (tensor<80x1x1552xf64>) -> tensor<80x8x1552xf64>
  %south = stablehlo.constant dense<776> : tensor<1xi32>
  %7 = "stablehlo.scatter"(%4, %south, %6) <{indices_are_sorted = true, unique_indices = true,
      scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1, 2], scatter_dims_to_operand_dims = [1]>}> ({
  ^bb0(%old: tensor<f64>, %new: tensor<f64>):
    stablehlo.return %new : tensor<f64>
  }) : (tensor<80x784x1552xf64>, tensor<1xi32>, tensor<80x8x1552xf64>) -> tensor<80x784x1552xf64>
  return %7 : tensor<80x784x1552xf64>
}
