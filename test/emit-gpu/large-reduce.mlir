// RUN: slimhlo-opt %s --slimhlo-emit-gpu | FileCheck %s

// Places in 24 GB need 64 bits, threads of a block do not: what is kept of them until sums are put together takes one register each.
// CHECK-LABEL: gpu.func @sum(
// CHECK: arith.trunci %{{[0-9]+}} : i64 to i32
// CHECK: gpu.shuffle
// CHECK-NEXT: arith.bitcast
// CHECK: %[[PARTNER:[0-9]+]] = arith.addi %{{[0-9]+}}, %{{[a-z0-9_]+}} : i32
// CHECK-NEXT: arith.cmpi ult, %[[PARTNER]], %{{[0-9]+}} : i32
// CHECK: gpu.return
func.func private @sum(%x: tensor<6000000000xf32>) -> tensor<f32> attributes {slimhlo.kernel = "reduce"} {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<6000000000xf32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}
