// RUN: not slimhlo-opt %s --slimhlo-form-kernels 2>&1 | FileCheck %s
// RUN: not slimhlo-opt %s --slimhlo-to-kernels 2>&1 | FileCheck %s

// CHECK: error: 'builtin.module' op is for 4 partitions (mhlo.num_partitions); only programs for one device are compiled
module attributes {mhlo.num_partitions = 4 : i32} {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.sine %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
