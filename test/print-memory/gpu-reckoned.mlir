// What two kernels need is computed in both or stored once, whichever the back end reckons to be faster: XLA for an H100 stores a logarithm of f32 (64 MiB),
// but no exponential; a root of f64 (128 MiB), and a sine of f64 that three kernels need. A hyperbolic tangent of f32 hides behind what a layer and its gradient
// read and write, one of bf16 does not (32 MiB).
// RUN: slimhlo-opt %s --split-input-file --slimhlo-print-memory="target=h100 plain=true top=0" -o /dev/null 2>&1 | FileCheck %s
// CHECK: temporaries 671{{[0-9]+$}}
// CHECK: temporaries 16{{[0-9]+$}}
// CHECK: temporaries 134{{[0-9]+$}}
// CHECK: temporaries 134{{[0-9]+$}}
// CHECK: temporaries 0{{$}}
// CHECK: temporaries 33554432

func.func public @logarithm(%x: tensor<4096xf32>, %y: tensor<4096xf32>, %s: tensor<f32>) -> tensor<f32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %p = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<4096xf32>) -> tensor<4096x4096xf32>
  %q = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<4096xf32>) -> tensor<4096x4096xf32>
  %d = stablehlo.subtract %p, %q : tensor<4096x4096xf32>
  %f = stablehlo.log %d : tensor<4096x4096xf32>
  %m0 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<4096x4096xf32>
  %n0 = stablehlo.multiply %f, %m0 : tensor<4096x4096xf32>
  %o0 = stablehlo.add %n0, %p : tensor<4096x4096xf32>
  %r0 = stablehlo.reduce(%o0 init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<4096x4096xf32>, tensor<f32>) -> tensor<f32>
  %m1 = stablehlo.broadcast_in_dim %r0, dims = [] : (tensor<f32>) -> tensor<4096x4096xf32>
  %n1 = stablehlo.multiply %f, %m1 : tensor<4096x4096xf32>
  %o1 = stablehlo.add %n1, %p : tensor<4096x4096xf32>
  %r1 = stablehlo.reduce(%o1 init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<4096x4096xf32>, tensor<f32>) -> tensor<f32>
  return %r1 : tensor<f32>
}

// -----

func.func public @exponential(%x: tensor<4096xf32>, %y: tensor<4096xf32>, %s: tensor<f32>) -> tensor<f32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %p = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<4096xf32>) -> tensor<4096x4096xf32>
  %q = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<4096xf32>) -> tensor<4096x4096xf32>
  %d = stablehlo.subtract %p, %q : tensor<4096x4096xf32>
  %f = stablehlo.exponential %d : tensor<4096x4096xf32>
  %m0 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<4096x4096xf32>
  %n0 = stablehlo.multiply %f, %m0 : tensor<4096x4096xf32>
  %o0 = stablehlo.add %n0, %p : tensor<4096x4096xf32>
  %r0 = stablehlo.reduce(%o0 init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<4096x4096xf32>, tensor<f32>) -> tensor<f32>
  %m1 = stablehlo.broadcast_in_dim %r0, dims = [] : (tensor<f32>) -> tensor<4096x4096xf32>
  %n1 = stablehlo.multiply %f, %m1 : tensor<4096x4096xf32>
  %o1 = stablehlo.add %n1, %p : tensor<4096x4096xf32>
  %r1 = stablehlo.reduce(%o1 init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<4096x4096xf32>, tensor<f32>) -> tensor<f32>
  %m2 = stablehlo.broadcast_in_dim %r1, dims = [] : (tensor<f32>) -> tensor<4096x4096xf32>
  %n2 = stablehlo.multiply %f, %m2 : tensor<4096x4096xf32>
  %o2 = stablehlo.add %n2, %p : tensor<4096x4096xf32>
  %r2 = stablehlo.reduce(%o2 init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<4096x4096xf32>, tensor<f32>) -> tensor<f32>
  return %r2 : tensor<f32>
}

// -----

func.func public @root_f64(%x: tensor<4096xf64>, %y: tensor<4096xf64>, %s: tensor<f64>) -> tensor<f64> {
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %p = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<4096xf64>) -> tensor<4096x4096xf64>
  %q = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<4096xf64>) -> tensor<4096x4096xf64>
  %d = stablehlo.subtract %p, %q : tensor<4096x4096xf64>
  %f = stablehlo.sqrt %d : tensor<4096x4096xf64>
  %m0 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f64>) -> tensor<4096x4096xf64>
  %n0 = stablehlo.multiply %f, %m0 : tensor<4096x4096xf64>
  %o0 = stablehlo.add %n0, %p : tensor<4096x4096xf64>
  %r0 = stablehlo.reduce(%o0 init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<4096x4096xf64>, tensor<f64>) -> tensor<f64>
  %m1 = stablehlo.broadcast_in_dim %r0, dims = [] : (tensor<f64>) -> tensor<4096x4096xf64>
  %n1 = stablehlo.multiply %f, %m1 : tensor<4096x4096xf64>
  %o1 = stablehlo.add %n1, %p : tensor<4096x4096xf64>
  %r1 = stablehlo.reduce(%o1 init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<4096x4096xf64>, tensor<f64>) -> tensor<f64>
  return %r1 : tensor<f64>
}

// -----

func.func public @three_sines_f64(%x: tensor<4096xf64>, %y: tensor<4096xf64>, %s: tensor<f64>) -> tensor<f64> {
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %p = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<4096xf64>) -> tensor<4096x4096xf64>
  %q = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<4096xf64>) -> tensor<4096x4096xf64>
  %d = stablehlo.subtract %p, %q : tensor<4096x4096xf64>
  %f = stablehlo.sine %d : tensor<4096x4096xf64>
  %m0 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f64>) -> tensor<4096x4096xf64>
  %n0 = stablehlo.multiply %f, %m0 : tensor<4096x4096xf64>
  %o0 = stablehlo.add %n0, %p : tensor<4096x4096xf64>
  %r0 = stablehlo.reduce(%o0 init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<4096x4096xf64>, tensor<f64>) -> tensor<f64>
  %m1 = stablehlo.broadcast_in_dim %r0, dims = [] : (tensor<f64>) -> tensor<4096x4096xf64>
  %n1 = stablehlo.multiply %f, %m1 : tensor<4096x4096xf64>
  %o1 = stablehlo.add %n1, %p : tensor<4096x4096xf64>
  %r1 = stablehlo.reduce(%o1 init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<4096x4096xf64>, tensor<f64>) -> tensor<f64>
  %m2 = stablehlo.broadcast_in_dim %r1, dims = [] : (tensor<f64>) -> tensor<4096x4096xf64>
  %n2 = stablehlo.multiply %f, %m2 : tensor<4096x4096xf64>
  %o2 = stablehlo.add %n2, %p : tensor<4096x4096xf64>
  %r2 = stablehlo.reduce(%o2 init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<4096x4096xf64>, tensor<f64>) -> tensor<f64>
  return %r2 : tensor<f64>
}

// -----

func.func public @layer(%x: tensor<4096x4096xf32>, %dy: tensor<4096x4096xf32>, %w: tensor<4096x4096xf32>) -> (tensor<4096x4096xf32>, tensor<4096x4096xf32>) {
  %t = stablehlo.tanh %x : tensor<4096x4096xf32>
  %y = stablehlo.multiply %t, %x : tensor<4096x4096xf32>
  %p = stablehlo.dot_general %y, %w, contracting_dims = [1] x [0] : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %dp = stablehlo.dot_general %p, %dy, contracting_dims = [1] x [1] : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %u = stablehlo.multiply %t, %t : tensor<4096x4096xf32>
  %v = stablehlo.multiply %u, %x : tensor<4096x4096xf32>
  %dx = stablehlo.multiply %v, %dp : tensor<4096x4096xf32>
  return %dx, %p : tensor<4096x4096xf32>, tensor<4096x4096xf32>
}

// -----

func.func public @narrow_layer(%x: tensor<4096x4096xbf16>, %dy: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>) -> (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) {
  %t = stablehlo.tanh %x : tensor<4096x4096xbf16>
  %y = stablehlo.multiply %t, %x : tensor<4096x4096xbf16>
  %p = stablehlo.dot_general %y, %w, contracting_dims = [1] x [0] : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %dp = stablehlo.dot_general %p, %dy, contracting_dims = [1] x [1] : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %u = stablehlo.multiply %t, %t : tensor<4096x4096xbf16>
  %v = stablehlo.multiply %u, %x : tensor<4096x4096xbf16>
  %dx = stablehlo.multiply %v, %dp : tensor<4096x4096xbf16>
  return %dx, %p : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>
}
