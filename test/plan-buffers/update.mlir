// RUN: split-file %s %t
// RUN: slimhlo-opt %t/given.mlir --slimhlo-form-kernels --slimhlo-plan-buffers=check=true | FileCheck %t/given.mlir
// RUN: slimhlo-opt %t/kept.mlir --slimhlo-form-kernels --slimhlo-plan-buffers=check=true | FileCheck %t/kept.mlir

//--- given.mlir
// An update happens in place.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: call @dynamic_update_slice_0({{.*}}) {slimhlo.buffers = ["arg0"]}
// CHECK-NEXT: return
func.func @main(%x: tensor<16xf32> {tf.aliasing_output = 0 : i32}, %u: tensor<8xf32>, %i: tensor<i32>) -> tensor<16xf32> {
  %0 = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<16xf32>, tensor<8xf32>, tensor<i32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

//--- kept.mlir
// What the caller keeps is copied before, to where the result will be.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[C:[0-9]+]] = call @copy_0(%arg0) {slimhlo.buffers = ["result0"]}
// CHECK-NEXT: call @dynamic_update_slice_0(%[[C]], {{.*}}) {slimhlo.buffers = ["result0"]}
func.func @main(%x: tensor<16xf32>, %u: tensor<8xf32>, %i: tensor<i32>) -> tensor<16xf32> {
  %0 = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<16xf32>, tensor<8xf32>, tensor<i32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
