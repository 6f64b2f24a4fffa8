// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=64" | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=64" --slimhlo-stream="target=xla-cpu chunk-bytes=64" | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-stream=target=xla-cpu | FileCheck %s --check-prefix=LARGE

// The default leaves small programs alone.
// LARGE-NOT: stablehlo.while

// Rows of 8 bytes (an index, and what it fetches) and 64 bytes a chunk: 8 rows, 12 times; 4 are left over.
// CHECK-LABEL: func @remainder
// CHECK-SAME: %[[TABLE:.*]]: tensor<10xf32>, %[[INDICES:.*]]: tensor<100xi32>
// CHECK: %[[ZERO:.*]] = stablehlo.constant dense<0.0{{.*}}> : tensor<f32>
// CHECK: %[[LOOP:.*]]:4 = stablehlo.while(%[[I:[^ ,]*]] = %{{[^ ,]*}}, %[[SUM:[^ ,]*]] = %[[ZERO]], %[[IN:[^ ,]*]] = %[[INDICES]], %[[T:[^ ,]*]] = %[[TABLE]])
// CHECK: cond {
// CHECK: %[[END:.*]] = stablehlo.constant dense<96> : tensor<i64>
// CHECK: stablehlo.compare LT, %[[I]], %[[END]]
// CHECK: do {
// CHECK: %[[SOME:.*]] = stablehlo.dynamic_slice %[[IN]], %[[I]], sizes = [8]
// CHECK: %[[WRAPPED:.*]] = stablehlo.add %[[SOME]], %{{.*}} : tensor<8xi32>
// CHECK: stablehlo.reshape %[[WRAPPED]] : (tensor<8xi32>) -> tensor<8x1xi32>
// CHECK: "stablehlo.gather"(%[[T]], %{{.*}}) {{.*}} -> tensor<8xf32>
// CHECK: %[[PART:.*]] = stablehlo.reduce({{.*}} applies stablehlo.add across dimensions = [0] : (tensor<8xf32>
// CHECK: stablehlo.add %[[SUM]], %[[PART]]
// CHECK: stablehlo.return
// CHECK: %[[REST:.*]] = stablehlo.slice %[[INDICES]] [96:100]
// CHECK: "stablehlo.gather"(%[[TABLE]], %{{.*}}) {{.*}} -> tensor<4xf32>
// CHECK: %[[LAST:.*]] = stablehlo.reduce({{.*}} : (tensor<4xf32>
// CHECK: %[[ALL:.*]] = stablehlo.add %[[LOOP]]#1, %[[LAST]]
// CHECK-NOT: 100x
// CHECK: return %[[ALL]]
func.func @remainder(%table: tensor<10xf32>, %indices: tensor<100xi32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1> : tensor<100xi32>
  %next = stablehlo.add %indices, %one : tensor<100xi32>
  %column = stablehlo.reshape %next : (tensor<100xi32>) -> tensor<100x1xi32>
  %rows = "stablehlo.gather"(%table, %column) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<10xf32>, tensor<100x1xi32>) -> tensor<100xf32>
  %sum = stablehlo.reduce(%rows init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<100xf32>, tensor<f32>) -> tensor<f32>
  return %sum : tensor<f32>
}

// An initial value that is no identity counts once; a sum of bf16 goes on in f32 and is rounded at the end.
// CHECK-LABEL: func @initial_value
// CHECK-SAME: %[[START:[^:]*]]: tensor<bf16>)
// CHECK: %[[WIDE:.*]] = stablehlo.convert %[[START]] : (tensor<bf16>) -> tensor<f32>
// CHECK: stablehlo.while(%iterArg = %{{[^ ,]*}}, %iterArg_0 = %[[WIDE]]
// CHECK: do {
// CHECK: %[[ZERO:.*]] = stablehlo.constant dense<-0.0{{.*}}> : tensor<f32>
// CHECK: stablehlo.reduce(%{{.*}} init: %[[ZERO]]) applies stablehlo.add across dimensions = [0, 1] : (tensor<{{.*}}xf32>, tensor<f32>) -> tensor<f32>
// CHECK: %[[SUM:.*]] = stablehlo.convert %{{.*}} : (tensor<f32>) -> tensor<bf16>
// CHECK: return %[[SUM]]
func.func @initial_value(%table: tensor<10xbf16>, %indices: tensor<128x1xi32>, %start: tensor<bf16>) -> tensor<bf16> {
  %rows = "stablehlo.gather"(%table, %indices) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<10xbf16>, tensor<128x1xi32>) -> tensor<128xbf16>
  %tall = stablehlo.reshape %rows : (tensor<128xbf16>) -> tensor<128x1xbf16>
  %pairs = stablehlo.concatenate %tall, %tall, dim = 1 : (tensor<128x1xbf16>, tensor<128x1xbf16>) -> tensor<128x2xbf16>
  %sum = stablehlo.reduce(%pairs init: %start) applies stablehlo.add across dimensions = [0, 1] : (tensor<128x2xbf16>, tensor<bf16>) -> tensor<bf16>
  return %sum : tensor<bf16>
}

// A maximum may take its initial value as often as it likes, whatever it is.
// CHECK-LABEL: func @maximum
// CHECK-SAME: %[[START:[^:]*]]: tensor<f32>)
// CHECK: stablehlo.while({{.*}}, %[[IN:[^ ]*]] = %[[START]])
// CHECK: %[[PART:.*]] = stablehlo.reduce(%{{.*}} init: %[[IN]]) applies stablehlo.maximum
// CHECK: stablehlo.maximum %{{.*}}, %[[PART]]
func.func @maximum(%table: tensor<10x3xf32>, %indices: tensor<128x1xi32>, %start: tensor<f32>) -> tensor<3xf32> {
  %rows = "stablehlo.gather"(%table, %indices) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<10x3xf32>, tensor<128x1xi32>) -> tensor<128x3xf32>
  %most = stablehlo.reduce(%rows init: %start) applies stablehlo.maximum across dimensions = [0] : (tensor<128x3xf32>, tensor<f32>) -> tensor<3xf32>
  return %most : tensor<3xf32>
}
