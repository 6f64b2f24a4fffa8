// RUN: slimhlo-opt %s --slimhlo-print-memory="target=xla-cpu top=3" 2>&1 >/dev/null | FileCheck %s

// The largest values at the peak, with the line that a person wrote: not a library's, whatever is called by whom.
// CHECK: memory: peak 32.00 MiB = arguments 8.00 MiB + results 4.00 KiB - aliased 0 B + temporaries 24.00 MiB
// CHECK-NEXT: floor 8.00 MiB, ratio 3.999
// CHECK: 16.00 MiB temporary %0 stablehlo.dot_general tensor<2048x2048xf32> at model.py:12
// CHECK: 8.00 MiB temporary %2 stablehlo.sine
// CHECK: MiB argument {{.*}} tensor<2048x1024xf32>
func.func @main(%x: tensor<2048x1024xf32>) -> tensor<1024xf32> {
  %p = stablehlo.dot_general %x, %x, contracting_dims = [1] x [1] : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x2048xf32> loc("jit(f)/dot"(callsite("/lib/jax/_src/numpy.py":7:1 at "model.py":12:3)))
  %q = stablehlo.dot_general %p, %x, contracting_dims = [1] x [0] : (tensor<2048x2048xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32> loc(fused["other.py":3:1, "model.py":13:3])
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.sine %q : tensor<2048x1024xf32>
  %s = stablehlo.reduce(%r init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<2048x1024xf32>, tensor<f32>) -> tensor<1024xf32>
  return %s : tensor<1024xf32>
}
