// RUN: slimhlo-opt %s --slimhlo-rematerialize="target=h100 windows=4 near=50 near-moves=1" | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-rematerialize="target=h100 windows=4 near=75 near-moves=1" | FileCheck %s --check-prefix=LAST
// RUN: slimhlo-opt %s --slimhlo-rematerialize="target=h100 windows=4 near=100 near-moves=1" | FileCheck %s --check-prefix=NONE
// RUN: slimhlo-opt %s --slimhlo-rematerialize="target=h100 windows=4 near=50 near-moves=8" | FileCheck %s --check-prefix=ALL

// Four layers keep scores of 16 MiB each for their gradients. With another price for half of what comes after the peak, two of them are
// computed again: those of the first layers, which are needed last. They come from what is 512 KiB, behind a barrier each.
// CHECK-LABEL: func.func public @main
// CHECK-NOT: optimization_barrier
// CHECK: %[[ONE:[0-9]+]]:5 = stablehlo.optimization_barrier
// CHECK: stablehlo.dot_general %[[ONE]]#0, %[[ONE]]#1, {{.*}} -> tensor<2048x2048xf32>
// CHECK: %[[OTHER:[0-9]+]]:3 = stablehlo.optimization_barrier
// CHECK: stablehlo.dot_general %{{.*}}, %[[OTHER]]#0, {{.*}} -> tensor<2048x2048xf32>
// CHECK-NOT: optimization_barrier

// In a quarter of it, those of the first layer alone.
// LAST-LABEL: func.func public @main
// LAST-COUNT-1: optimization_barrier
// LAST-NOT: optimization_barrier

// NONE-LABEL: func.func public @main
// NONE-NOT: optimization_barrier

// Where both prices are one it is as if there were no parts.
// ALL-LABEL: func.func public @main
// ALL-COUNT-5: optimization_barrier
// ALL-NOT: optimization_barrier
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
