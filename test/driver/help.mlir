// Everything mlir-opt has, and ours. (A stock mlir-opt with the plugin lists the pass, but not the dialects, which it
// names before it loads plugins.)

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
