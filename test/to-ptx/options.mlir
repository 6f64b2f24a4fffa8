// RUN: not slimhlo-opt %s --slimhlo-to-ptx=chip=sm_42 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not slimhlo-opt %s --slimhlo-to-ptx=ptx-version=3.2 2>&1 | FileCheck %s --check-prefix=VERSION
// RUN: not slimhlo-opt %s --slimhlo-to-ptx=opt-level=4 2>&1 | FileCheck %s --check-prefix=LEVEL
// RUN: slimhlo-opt %s --slimhlo-to-ptx | FileCheck %s

// CHIP: sm_42 is not one of sm_70,
// VERSION: 3.2 is not one of 6.0,
// LEVEL: opt-level is none of 0, 1, 2 and 3

// Without kernels there is nothing to do.
// CHECK: func.func @main
// CHECK-NOT: gpu.binary
func.func @main() {
  return
}
