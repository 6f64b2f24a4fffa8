// A pass by its flag, in a textual pipeline, and printed back; IR, timing and statistics reports; reproducers.

// RUN: slimhlo-opt --pass-pipeline='builtin.module(func.func(slimhlo-dus-to-pad))' %s | FileCheck %s
// CHECK: stablehlo.pad
// CHECK-NOT: dynamic_update_slice

// RUN: slimhlo-opt --pass-pipeline='builtin.module(func.func(slimhlo-dus-to-pad,cse))' --dump-pass-pipeline %s 2>&1 | FileCheck %s --check-prefix=DUMP
// DUMP: Pass Manager with 1 passes:
// DUMP: slimhlo-dus-to-pad,
// DUMP: cse

// RUN: slimhlo-opt --pass-pipeline='builtin.module(func.func(slimhlo-dus-to-pad))' --mlir-print-ir-after-all %s 2>&1 | FileCheck %s --check-prefix=IR
// IR: IR Dump After DusToPad (slimhlo-dus-to-pad)

// RUN: slimhlo-opt --pass-pipeline='builtin.module(func.func(slimhlo-dus-to-pad))' --mlir-timing --mlir-timing-display=list %s -o %t.mlir 2>&1 | FileCheck %s --check-prefix=TIME
// TIME: DusToPad

// RUN: slimhlo-opt --pass-pipeline='builtin.module(func.func(slimhlo-dus-to-pad))' --mlir-pass-statistics %s -o %t.mlir 2>&1 | FileCheck %s --check-prefix=STATISTICS
// STATISTICS: DusToPad
// STATISTICS: 1 num-pads

// RUN: slimhlo-opt --pass-pipeline='builtin.module(func.func(slimhlo-dus-to-pad))' --mlir-generate-reproducer=%t.repro.mlir %s -o %t.mlir
// RUN: FileCheck %s --check-prefix=REPRODUCER < %t.repro.mlir
// REPRODUCER: pipeline: "builtin.module(func.func(slimhlo-dus-to-pad))"
// RUN: slimhlo-opt --run-reproducer %S/Inputs/reproducer.mlir | FileCheck %s

// RUN: not slimhlo-opt --pass-pipeline='builtin.module(func.func(slimhlo-dus-to-pad{no-such-option=1}))' %s 2>&1 | FileCheck %s --check-prefix=OPTION
// OPTION: no such option no-such-option
// RUN: not slimhlo-opt --pass-pipeline='builtin.module(slimhlo-dus-to-pad)' %s 2>&1 | FileCheck %s --check-prefix=ANCHOR
// ANCHOR: Can't add pass 'DusToPad' restricted to 'func.func' on a PassManager intended to run on 'builtin.module'

func.func @f(%update: tensor<2xf32>) -> tensor<8xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<8xf32>
  %start = stablehlo.constant dense<3> : tensor<i32>
  %placed = stablehlo.dynamic_update_slice %zeros, %update, %start : (tensor<8xf32>, tensor<2xf32>, tensor<i32>) -> tensor<8xf32>
  return %placed : tensor<8xf32>
}
