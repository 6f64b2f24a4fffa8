// RUN: slimhlo-opt %s --slimhlo-stream="target=h100" | FileCheck %s

// Forces of pairs along rows and along columns, added up in each step of a loop, with what is made of their sum: sums of columns are put in
// their places and those of rows added up in one loop, and the rest is done after it.
// CHECK-LABEL: func @forces
// CHECK: stablehlo.while
// CHECK: stablehlo.while
// CHECK: stablehlo.power {{.*}} : tensor<4096x[[N:[0-9]+]]xf32>
// CHECK: %[[COLUMNS:[a-z0-9]+]] = stablehlo.reduce{{.*}} across dimensions = [0] : (tensor<4096x[[N]]x3xf32>
// CHECK: dynamic_update_slice %{{[a-zA-Z0-9_]+}}, %[[COLUMNS]],
// CHECK: stablehlo.reduce{{.*}} across dimensions = [1] : (tensor<4096x[[N]]x3xf32>
// CHECK: stablehlo.add {{.*}} : tensor<4096x3xf32>
// CHECK: stablehlo.multiply {{.*}} : tensor<4096x3xf32>
// CHECK-NOT: 4096x4096
func.func @forces(%start: tensor<4096x3xf32>, %far: tensor<f32>) -> tensor<4096x3xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %first = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %steps = stablehlo.constant dense<10> : tensor<i64>
  %moved:2 = stablehlo.while(%i = %first, %places = %start) : tensor<i64>, tensor<4096x3xf32>
  cond {
    %more = stablehlo.compare LT, %i, %steps : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
      %rows = stablehlo.broadcast_in_dim %places, dims = [0, 2] : (tensor<4096x3xf32>) -> tensor<4096x4096x3xf32>
      %columns = stablehlo.broadcast_in_dim %places, dims = [1, 2] : (tensor<4096x3xf32>) -> tensor<4096x4096x3xf32>
      %apart = stablehlo.subtract %rows, %columns : tensor<4096x4096x3xf32>
      %squares = stablehlo.multiply %apart, %apart : tensor<4096x4096x3xf32>
      %distance = stablehlo.reduce(%squares init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<4096x4096x3xf32>, tensor<f32>) -> tensor<4096x4096xf32>
      %limit = stablehlo.broadcast_in_dim %far, dims = [] : (tensor<f32>) -> tensor<4096x4096xf32>
      %sum = stablehlo.add %distance, %limit : tensor<4096x4096xf32>
      %root = stablehlo.rsqrt %sum : tensor<4096x4096xf32>
      %law = stablehlo.power %root, %limit : tensor<4096x4096xf32>
      %each = stablehlo.broadcast_in_dim %law, dims = [0, 1] : (tensor<4096x4096xf32>) -> tensor<4096x4096x3xf32>
      %force = stablehlo.multiply %each, %apart : tensor<4096x4096x3xf32>
      %here = stablehlo.reduce(%force init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4096x4096x3xf32>, tensor<f32>) -> tensor<4096x3xf32>
      %back = stablehlo.negate %force : tensor<4096x4096x3xf32>
      %there = stablehlo.reduce(%back init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4096x4096x3xf32>, tensor<f32>) -> tensor<4096x3xf32>
      %both = stablehlo.add %here, %there : tensor<4096x3xf32>
      %halves = stablehlo.broadcast_in_dim %far, dims = [] : (tensor<f32>) -> tensor<4096x3xf32>
      %moved = stablehlo.multiply %both, %halves : tensor<4096x3xf32>
    %next = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %next, %moved : tensor<i64>, tensor<4096x3xf32>
  }
  return %moved#1 : tensor<4096x3xf32>
}
