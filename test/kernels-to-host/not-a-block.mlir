// RUN: not slimhlo-opt %s --slimhlo-kernels-to-host=threads=48 2>&1 | FileCheck %s

// CHECK: threads = 48 is not a power of two up to 1024
module {}
