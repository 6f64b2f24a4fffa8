// RUN: slimhlo-opt %s --slimhlo-own-splats --split-input-file | FileCheck %s

// Zeros for two sums are there when what is added up is: XLA would fill both buffers at once, before the first.
// CHECK-LABEL: func.func @scatters
// CHECK: %[[P:.*]] = stablehlo.dot_general %{{.*}}, %{{.*}} -> tensor<65536x128xf32>
// CHECK: %[[S:.*]] = stablehlo.slice %[[P]] [0:1, 0:1]
// CHECK: stablehlo.bitcast_convert
// CHECK: stablehlo.clamp
// CHECK: %[[Z:.*]] = stablehlo.broadcast_in_dim %{{.*}}, dims = [] : (tensor<f32>) -> tensor<50000x128xf32>
// CHECK: "stablehlo.scatter"(%[[Z]],
// CHECK: %[[Q:.*]] = stablehlo.dot_general %{{.*}}, %{{.*}} -> tensor<65536x128xf32>
// CHECK: stablehlo.slice %[[Q]] [0:1, 0:1]
// CHECK: %[[Y:.*]] = stablehlo.broadcast_in_dim %{{.*}}, dims = [] : (tensor<f32>) -> tensor<50000x128xf32>
// CHECK: "stablehlo.scatter"(%[[Y]],
func.func @scatters(%x: tensor<65536x128xf32>, %w: tensor<128x128xf32>, %to: tensor<65536x1xi32>) -> tensor<50000x128xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<50000x128xf32>
  %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<65536x128xf32>, tensor<128x128xf32>) -> tensor<65536x128xf32>
  %a = stablehlo.tanh %p : tensor<65536x128xf32>
  %one = "stablehlo.scatter"(%zeros, %to, %a) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %s = stablehlo.add %l, %r : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<50000x128xf32>, tensor<65536x1xi32>, tensor<65536x128xf32>) -> tensor<50000x128xf32>
  %q = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] : (tensor<65536x128xf32>, tensor<128x128xf32>) -> tensor<65536x128xf32>
  %other = "stablehlo.scatter"(%zeros, %to, %q) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %s = stablehlo.add %l, %r : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<50000x128xf32>, tensor<65536x1xi32>, tensor<65536x128xf32>) -> tensor<50000x128xf32>
  %sum = stablehlo.add %one, %other : tensor<50000x128xf32>
  return %sum : tensor<50000x128xf32>
}

// -----

// What is not zero is not made of what is there.
// CHECK-LABEL: func.func @ones
// CHECK-NOT: stablehlo.clamp
// CHECK: return
func.func @ones(%x: tensor<65536x128xf32>, %w: tensor<128x128xf32>, %to: tensor<65536x1xi32>) -> tensor<50000x128xf32> {
  %ones = stablehlo.constant dense<1.0> : tensor<50000x128xf32>
  %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<65536x128xf32>, tensor<128x128xf32>) -> tensor<65536x128xf32>
  %one = "stablehlo.scatter"(%ones, %to, %p) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %s = stablehlo.add %l, %r : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<50000x128xf32>, tensor<65536x1xi32>, tensor<65536x128xf32>) -> tensor<50000x128xf32>
  %q = stablehlo.dot_general %one, %w, contracting_dims = [1] x [0] : (tensor<50000x128xf32>, tensor<128x128xf32>) -> tensor<50000x128xf32>
  %r = stablehlo.dot_general %p, %w, contracting_dims = [1] x [0] : (tensor<65536x128xf32>, tensor<128x128xf32>) -> tensor<65536x128xf32>
  %other = "stablehlo.scatter"(%ones, %to, %r) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%l: tensor<f32>, %r2: tensor<f32>):
    %s = stablehlo.add %l, %r2 : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<50000x128xf32>, tensor<65536x1xi32>, tensor<65536x128xf32>) -> tensor<50000x128xf32>
  %sum = stablehlo.add %q, %other : tensor<50000x128xf32>
  return %sum : tensor<50000x128xf32>
}

// -----

// Two loops that start from the same zeros: each fills them once what else it starts from is there.
// CHECK-LABEL: func.func @loops
// CHECK: %[[A:.*]] = stablehlo.sine
// CHECK: %[[S:.*]] = stablehlo.slice %[[A]] [0:1, 0:1]
// CHECK: %[[Z:.*]] = stablehlo.broadcast_in_dim %{{.*}}, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
// CHECK: stablehlo.while(%{{[^ ]*}} = %{{[^ ]*}}, %{{[^ ]*}} = %[[Z]],
func.func @loops(%x: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<1024x1024xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %all = stablehlo.constant dense<8> : tensor<i32>
  %a = stablehlo.sine %x : tensor<1024x1024xf32>
  %first:3 = stablehlo.while(%i = %zero, %sum = %zeros, %of = %a) : tensor<i32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>
  cond {
    %more = stablehlo.compare LT, %i, %all : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %s = stablehlo.add %sum, %of : tensor<1024x1024xf32>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %s, %of : tensor<i32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>
  }
  %b = stablehlo.cosine %first#1 : tensor<1024x1024xf32>
  %second:3 = stablehlo.while(%i = %zero, %sum = %zeros, %of = %b) : tensor<i32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>
  cond {
    %more = stablehlo.compare LT, %i, %all : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %s = stablehlo.add %sum, %of : tensor<1024x1024xf32>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %s, %of : tensor<i32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>
  }
  return %second#1 : tensor<1024x1024xf32>
}
