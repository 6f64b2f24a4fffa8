// RUN: slimhlo-opt %s --slimhlo-print-memory="target=xla-cpu top=1" 2>&1 >/dev/null | FileCheck %s

// A location whose file has no name, as JAX's random functions have it, is no location.
// CHECK: memory: peak 32 B
// CHECK: stablehlo.add tensor<4xf32> at
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %x : tensor<4xf32> loc(#nowhere)
  return %0 : tensor<4xf32> loc(#nowhere)
} loc(#nowhere)
#nowhere = loc("":0:0)
