// The plugin in a program that has what it brings: that program's own stay, and nothing is registered twice.
// UNSUPPORTED: plugin

// RUN: slimhlo-opt --load-dialect-plugin=%slimhlo_plugin --load-pass-plugin=%slimhlo_plugin --slimhlo-dus-to-pad %s -o %t.mlir 2>&1 | FileCheck %s
// CHECK: warning: this program has a dialect named 'stablehlo'; the dialects of the plugin are not used
// RUN: FileCheck %s --check-prefix=OUTPUT < %t.mlir
// OUTPUT: stablehlo.pad

func.func @f(%update: tensor<2xf32>) -> tensor<8xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<8xf32>
  %start = stablehlo.constant dense<3> : tensor<i32>
  %placed = stablehlo.dynamic_update_slice %zeros, %update, %start : (tensor<8xf32>, tensor<2xf32>, tensor<i32>) -> tensor<8xf32>
  return %placed : tensor<8xf32>
}
