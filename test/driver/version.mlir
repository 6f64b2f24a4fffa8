// UNSUPPORTED: plugin
// RUN: slimhlo-opt --version | FileCheck %s
// RUN: slimhlo-opt --help | FileCheck %s --check-prefix=HELP

// CHECK: LLVM version 22
// CHECK: slimhlo version {{[0-9]+\.[0-9]+\.[0-9]+$}}
// HELP: OVERVIEW: slimhlo: StableHLO programs that fit in memory
