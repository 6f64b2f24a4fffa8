// An unmodified mlir-opt of MLIR 22 gets dialects and passes from the plugin.

// RUN: mlir-opt --load-dialect-plugin=%slimhlo_plugin --load-pass-plugin=%slimhlo_plugin --show-dialects | FileCheck %s --check-prefix=DIALECTS
// DIALECTS: chlo
// DIALECTS: sdy
// DIALECTS: stablehlo

// RUN: mlir-opt --load-dialect-plugin=%slimhlo_plugin --load-pass-plugin=%slimhlo_plugin --help | FileCheck %s --check-prefix=HELP
// HELP: --slimhlo-dus-to-pad

// The same comes out as from the driver.
// RUN: mlir-opt --load-dialect-plugin=%slimhlo_plugin --load-pass-plugin=%slimhlo_plugin --pass-pipeline='builtin.module(func.func(slimhlo-dus-to-pad,canonicalize))' %s -o %t.plugin.mlir
// RUN: slimhlo-opt --pass-pipeline='builtin.module(func.func(slimhlo-dus-to-pad,canonicalize))' %s -o %t.driver.mlir
// RUN: diff %t.plugin.mlir %t.driver.mlir
// RUN: FileCheck %s < %t.plugin.mlir
// CHECK-NOT: dynamic_update_slice
// CHECK: stablehlo.pad

// Statistics, which Debian's MLIR reports none of its own of.
// RUN: mlir-opt --load-dialect-plugin=%slimhlo_plugin --load-pass-plugin=%slimhlo_plugin --pass-pipeline='builtin.module(func.func(slimhlo-dus-to-pad))' --mlir-pass-statistics %s -o %t.mlir 2>&1 | FileCheck %s --check-prefix=STATISTICS
// STATISTICS: DusToPad
// STATISTICS: 1 num-pads

// A verifier in Rust speaks through a stock mlir-opt.
// RUN: not mlir-opt --load-dialect-plugin=%slimhlo_plugin --load-pass-plugin=%slimhlo_plugin %S/Inputs/invalid.mlir 2>&1 | FileCheck %s --check-prefix=INVALID
// INVALID: invalid.mlir:2:8: error: 'stablehlo.add' op

func.func @f(%update: tensor<2xf32>) -> tensor<8xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<8xf32>
  %start = stablehlo.constant dense<3> : tensor<i32>
  %placed = stablehlo.dynamic_update_slice %zeros, %update, %start : (tensor<8xf32>, tensor<2xf32>, tensor<i32>) -> tensor<8xf32>
  return %placed : tensor<8xf32>
}
