// RUN: slimhlo-opt %s --slimhlo-form-kernels --slimhlo-plan-buffers=check=true | FileCheck %s

// Arguments and constants that are results, once or twice, are copied to where results lie.

// CHECK-LABEL: func.func @main
// CHECK-SAME: slimhlo.constants = 20 
// CHECK: stablehlo.constant {slimhlo.buffers = ["const+0"]}
// CHECK: call @copy_0(%arg0) {slimhlo.buffers = ["result0"]}
// CHECK: call @copy_0(%arg0) {slimhlo.buffers = ["result1"]}
// CHECK: call @copy_1({{.*}}) {slimhlo.buffers = ["result2"]}
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<20xi8>) {
  %0 = stablehlo.constant dense<[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]> : tensor<20xi8>
  return %x, %x, %0 : tensor<4xf32>, tensor<4xf32>, tensor<20xi8>
}
