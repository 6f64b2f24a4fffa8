// Everything mlir-opt has, and ours. The plugin's passes show up in a stock mlir-opt's help as well.

// UNSUPPORTED: plugin
// RUN: slimhlo-opt --help | FileCheck %s
// RUN: slimhlo-opt --help | FileCheck %s --check-prefix=STANDARD
// RUN: slimhlo-opt --show-dialects | FileCheck %s --check-prefix=DIALECTS

// CHECK: --slimhlo-dus-to-pad

// STANDARD: --canonicalize
// STANDARD: --emit-bytecode
// STANDARD: --mlir-print-ir-after-all
// STANDARD: --split-input-file

// DIALECTS: Available Dialects: {{.*}}chlo{{.*}},sdy,{{.*}}stablehlo
