// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=64" | FileCheck %s

#at = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>

// Which point is nearest is searched as distances are computed: that is not done in a loop over slices for the sake of the
// scatter's indices.
// CHECK-LABEL: func @nearest
// CHECK: stablehlo.reduce({{.*}}: (tensor<4096x8xi32>
// CHECK: stablehlo.while
// CHECK-NOT: stablehlo.reduce
func.func @nearest(%x: tensor<4096xi32>, %points: tensor<8xi32>) -> (tensor<4096xi32>, tensor<8xi32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %most = stablehlo.constant dense<2147483647> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<4096xi32>
  %none = stablehlo.constant dense<0> : tensor<8xi32>
  %a = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<4096xi32>) -> tensor<4096x8xi32>
  %b = stablehlo.broadcast_in_dim %points, dims = [1] : (tensor<8xi32>) -> tensor<4096x8xi32>
  %d = stablehlo.subtract %a, %b : tensor<4096x8xi32>
  %far = stablehlo.abs %d : tensor<4096x8xi32>
  %which = stablehlo.iota dim = 1 : tensor<4096x8xi32>
  %r:2 = stablehlo.reduce(%far init: %most), (%which init: %zero) across dimensions = [1] : (tensor<4096x8xi32>, tensor<4096x8xi32>, tensor<i32>, tensor<i32>) -> (tensor<4096xi32>, tensor<4096xi32>)
   reducer(%p: tensor<i32>, %q: tensor<i32>) (%i: tensor<i32>, %j: tensor<i32>) {
    %less = stablehlo.compare LE, %p, %q : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %s = stablehlo.select %less, %p, %q : tensor<i1>, tensor<i32>
    %t = stablehlo.select %less, %i, %j : tensor<i1>, tensor<i32>
    stablehlo.return %s, %t : tensor<i32>, tensor<i32>
  }
  %indices = stablehlo.reshape %r#1 : (tensor<4096xi32>) -> tensor<4096x1xi32>
  %count = "stablehlo.scatter"(%none, %indices, %one) <{scatter_dimension_numbers = #at}> ({
  ^bb0(%u: tensor<i32>, %v: tensor<i32>):
    %sum = stablehlo.add %u, %v : tensor<i32>
    stablehlo.return %sum : tensor<i32>
  }) : (tensor<8xi32>, tensor<4096x1xi32>, tensor<4096xi32>) -> tensor<8xi32>
  return %r#1, %count : tensor<4096xi32>, tensor<8xi32>
}
