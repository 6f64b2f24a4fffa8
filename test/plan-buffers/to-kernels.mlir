// RUN: slimhlo-opt %s --slimhlo-to-kernels | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-to-kernels --slimhlo-to-kernels | FileCheck %s

// One step from a module of functions to planned kernels; a private @main stays.

// CHECK-LABEL: func.func @main
// CHECK-SAME: slimhlo.arena = 0
// CHECK-NEXT: call @{{[a-z]+_[0-9]+}}(%arg0) {slimhlo.buffers = ["result0"]}
// CHECK-NEXT: return
func.func private @main(%x: tensor<16xf32>) -> tensor<16xf32> {
  %0 = call @double(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %1 = stablehlo.sine %0 : tensor<16xf32>
  return %1 : tensor<16xf32>
}

func.func private @double(%x: tensor<16xf32>) -> tensor<16xf32> {
  %0 = stablehlo.add %x, %x : tensor<16xf32>
  return %0 : tensor<16xf32>
}
