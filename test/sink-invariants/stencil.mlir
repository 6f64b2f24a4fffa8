// RUN: slimhlo-opt %s --slimhlo-sink-invariants | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-sink-invariants --slimhlo-sink-invariants | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-sink-invariants="least-bytes=256MiB" | FileCheck %s --check-prefix=SMALL

// XLA for CPU has 128 MiB of temporaries for this loop as it is, and none with it.
// CHECK-LABEL: func.func @main
// CHECK: stablehlo.while(%[[I:[^ ]*]] = {{.*}}, %[[F:[^ ]*]] = {{.*}})
// CHECK: } do {
// CHECK: %[[LATE:[^ ]*]] = stablehlo.clamp %{{[^ ,]*}}, %[[I]], %{{[^ ,]*}} : tensor<i64>
// CHECK-NEXT: %[[NEVER:[^ ]*]] = stablehlo.compare NE, %[[LATE]], %{{[^ ,]*}}, SIGNED
// CHECK-DAG: %[[ROWS:[^ ]*]] = stablehlo.select %[[NEVER]], %{{[^ ,]*}}, %arg1 : tensor<i1>, tensor<512x512xf64>
// CHECK-DAG: %[[LEVELS:[^ ]*]] = stablehlo.select %[[NEVER]], %{{[^ ,]*}}, %arg2 : tensor<i1>, tensor<64xf64>
// CHECK: %[[A:[^ ]*]] = stablehlo.broadcast_in_dim %[[ROWS]], dims = [1, 2]
// CHECK: %[[B:[^ ]*]] = stablehlo.broadcast_in_dim %[[LEVELS]], dims = [0]
// CHECK: %[[V:[^ ]*]] = stablehlo.multiply %[[A]], %[[B]]
// CHECK: stablehlo.multiply %[[F]], %[[V]]
// SMALL-NOT: stablehlo.select
func.func @main(%x: tensor<64x512x512xf64> {tf.aliasing_output = 0 : i32}, %rows: tensor<512x512xf64>, %levels: tensor<64xf64>) -> tensor<64x512x512xf64> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %nine = stablehlo.constant dense<9> : tensor<i64>
  %w:2 = stablehlo.while(%i = %zero, %f = %x) : tensor<i64>, tensor<64x512x512xf64> cond {
    %p = stablehlo.compare LT, %i, %nine : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %a = stablehlo.broadcast_in_dim %rows, dims = [1, 2] : (tensor<512x512xf64>) -> tensor<64x512x512xf64>
    %b = stablehlo.broadcast_in_dim %levels, dims = [0] : (tensor<64xf64>) -> tensor<64x512x512xf64>
    %v = stablehlo.multiply %a, %b : tensor<64x512x512xf64>
    %g = stablehlo.multiply %f, %v : tensor<64x512x512xf64>
    %j = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %j, %g : tensor<i64>, tensor<64x512x512xf64>
  }
  return %w#1 : tensor<64x512x512xf64>
}
