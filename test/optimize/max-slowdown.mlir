// RUN: not slimhlo-opt %s --slimhlo-optimize=max-slowdown=0.5 2>&1 | FileCheck %s
// RUN: not slimhlo-opt %s --slimhlo-optimize=target=h1000 2>&1 | FileCheck %s --check-prefix=TARGET

// CHECK: 0.5 is less than 1
// TARGET: 'h1000' is none of the targets xla-gpu, h100, a100
func.func @main() {
  return
}
