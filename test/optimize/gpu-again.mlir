// RUN: slimhlo-opt %s --slimhlo-optimize | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-optimize --slimhlo-print-memory="plain=true top=0" -o /dev/null 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: slimhlo-opt %s --slimhlo-optimize=target=xla-cpu | FileCheck %s --check-prefix=CPU

// Four layers keep scores of 16 MiB each for their gradients. GPUs compute them again, one layer after the other, from what is 512 KiB each:
// 84 MiB of temporaries become 34.
// CHECK-LABEL: func.func public @main
// CHECK: %{{[0-9]+}}:{{[0-9]+}} = stablehlo.optimization_barrier
// CHECK: stablehlo.dot_general %{{[0-9]+}}#0, %{{.*}} -> tensor<2048x2048xf32>
// BYTES: + temporaries 35651584
// CPU-LABEL: func.func public @main
// CPU-NOT: stablehlo.optimization_barrier
func.func public @main(%x0: tensor<2048x64xf32>, %w0: tensor<64x64xf32>, %w1: tensor<64x64xf32>, %w2: tensor<64x64xf32>, %w3: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) {
  %one = stablehlo.constant dense<1.0> : tensor<2048x2048xf32>
  %k0 = stablehlo.dot_general %x0, %w0, contracting_dims = [1] x [0] : (tensor<2048x64xf32>, tensor<64x64xf32>) -> tensor<2048x64xf32>
  %s0 = stablehlo.dot_general %x0, %k0, contracting_dims = [1] x [1] : (tensor<2048x64xf32>, tensor<2048x64xf32>) -> tensor<2048x2048xf32>
  %t0 = stablehlo.tanh %s0 : tensor<2048x2048xf32>
  %x1 = stablehlo.dot_general %t0, %x0, contracting_dims = [1] x [0] : (tensor<2048x2048xf32>, tensor<2048x64xf32>) -> tensor<2048x64xf32>
  %k1 = stablehlo.dot_general %x1, %w1, contracting_dims = [1] x [0] : (tensor<2048x64xf32>, tensor<64x64xf32>) -> tensor<2048x64xf32>
  %s1 = stablehlo.dot_general %x1, %k1, contracting_dims = [1] x [1] : (tensor<2048x64xf32>, tensor<2048x64xf32>) -> tensor<2048x2048xf32>
  %t1 = stablehlo.tanh %s1 : tensor<2048x2048xf32>
  %x2 = stablehlo.dot_general %t1, %x1, contracting_dims = [1] x [0] : (tensor<2048x2048xf32>, tensor<2048x64xf32>) -> tensor<2048x64xf32>
  %k2 = stablehlo.dot_general %x2, %w2, contracting_dims = [1] x [0] : (tensor<2048x64xf32>, tensor<64x64xf32>) -> tensor<2048x64xf32>
  %s2 = stablehlo.dot_general %x2, %k2, contracting_dims = [1] x [1] : (tensor<2048x64xf32>, tensor<2048x64xf32>) -> tensor<2048x2048xf32>
  %t2 = stablehlo.tanh %s2 : tensor<2048x2048xf32>
  %x3 = stablehlo.dot_general %t2, %x2, contracting_dims = [1] x [0] : (tensor<2048x2048xf32>, tensor<2048x64xf32>) -> tensor<2048x64xf32>
  %k3 = stablehlo.dot_general %x3, %w3, contracting_dims = [1] x [0] : (tensor<2048x64xf32>, tensor<64x64xf32>) -> tensor<2048x64xf32>
  %s3 = stablehlo.dot_general %x3, %k3, contracting_dims = [1] x [1] : (tensor<2048x64xf32>, tensor<2048x64xf32>) -> tensor<2048x2048xf32>
  %t3 = stablehlo.tanh %s3 : tensor<2048x2048xf32>
  %x4 = stablehlo.dot_general %t3, %x3, contracting_dims = [1] x [0] : (tensor<2048x2048xf32>, tensor<2048x64xf32>) -> tensor<2048x64xf32>
  %dt3 = stablehlo.dot_general %x4, %x3, contracting_dims = [1] x [1] : (tensor<2048x64xf32>, tensor<2048x64xf32>) -> tensor<2048x2048xf32>
  %sq3 = stablehlo.multiply %t3, %t3 : tensor<2048x2048xf32>
  %r3 = stablehlo.subtract %one, %sq3 : tensor<2048x2048xf32>
  %ds3 = stablehlo.multiply %dt3, %r3 : tensor<2048x2048xf32>
  %g3 = stablehlo.dot_general %ds3, %k3, contracting_dims = [1] x [0] : (tensor<2048x2048xf32>, tensor<2048x64xf32>) -> tensor<2048x64xf32>
  %dw3 = stablehlo.dot_general %x3, %g3, contracting_dims = [0] x [0] : (tensor<2048x64xf32>, tensor<2048x64xf32>) -> tensor<64x64xf32>
  %dt2 = stablehlo.dot_general %g3, %x2, contracting_dims = [1] x [1] : (tensor<2048x64xf32>, tensor<2048x64xf32>) -> tensor<2048x2048xf32>
  %sq2 = stablehlo.multiply %t2, %t2 : tensor<2048x2048xf32>
  %r2 = stablehlo.subtract %one, %sq2 : tensor<2048x2048xf32>
  %ds2 = stablehlo.multiply %dt2, %r2 : tensor<2048x2048xf32>
  %g2 = stablehlo.dot_general %ds2, %k2, contracting_dims = [1] x [0] : (tensor<2048x2048xf32>, tensor<2048x64xf32>) -> tensor<2048x64xf32>
  %dw2 = stablehlo.dot_general %x2, %g2, contracting_dims = [0] x [0] : (tensor<2048x64xf32>, tensor<2048x64xf32>) -> tensor<64x64xf32>
  %dt1 = stablehlo.dot_general %g2, %x1, contracting_dims = [1] x [1] : (tensor<2048x64xf32>, tensor<2048x64xf32>) -> tensor<2048x2048xf32>
  %sq1 = stablehlo.multiply %t1, %t1 : tensor<2048x2048xf32>
  %r1 = stablehlo.subtract %one, %sq1 : tensor<2048x2048xf32>
  %ds1 = stablehlo.multiply %dt1, %r1 : tensor<2048x2048xf32>
  %g1 = stablehlo.dot_general %ds1, %k1, contracting_dims = [1] x [0] : (tensor<2048x2048xf32>, tensor<2048x64xf32>) -> tensor<2048x64xf32>
  %dw1 = stablehlo.dot_general %x1, %g1, contracting_dims = [0] x [0] : (tensor<2048x64xf32>, tensor<2048x64xf32>) -> tensor<64x64xf32>
  %dt0 = stablehlo.dot_general %g1, %x0, contracting_dims = [1] x [1] : (tensor<2048x64xf32>, tensor<2048x64xf32>) -> tensor<2048x2048xf32>
  %sq0 = stablehlo.multiply %t0, %t0 : tensor<2048x2048xf32>
  %r0 = stablehlo.subtract %one, %sq0 : tensor<2048x2048xf32>
  %ds0 = stablehlo.multiply %dt0, %r0 : tensor<2048x2048xf32>
  %g0 = stablehlo.dot_general %ds0, %k0, contracting_dims = [1] x [0] : (tensor<2048x2048xf32>, tensor<2048x64xf32>) -> tensor<2048x64xf32>
  %dw0 = stablehlo.dot_general %x0, %g0, contracting_dims = [0] x [0] : (tensor<2048x64xf32>, tensor<2048x64xf32>) -> tensor<64x64xf32>
  return %dw0, %dw1, %dw2, %dw3 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
}
