// Kernels of products on a GPU. XLA for an H100 makes as many of each, and needs as many bytes (by its compiled modules).
// RUN: slimhlo-opt %s --split-input-file --slimhlo-print-memory="target=h100 plain=true top=0" -o /dev/null 2>&1 | FileCheck %s

// A bias that is given and what alone comes after it are the product's own kernel.
// CHECK: temporaries 0
// CHECK: time {{.*}} us, 1 launches
func.func public @main(%a: tensor<1024x512xf32>, %b: tensor<512x1024xf32>, %v: tensor<1024xf32>) -> tensor<1024x1024xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<1024x1024xf32>
  %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<1024x512xf32>, tensor<512x1024xf32>) -> tensor<1024x1024xf32>
  %bias = stablehlo.broadcast_in_dim %v, dims = [1] : (tensor<1024xf32>) -> tensor<1024x1024xf32>
  %sum = stablehlo.add %d, %bias : tensor<1024x1024xf32>
  %relu = stablehlo.maximum %sum, %zero : tensor<1024x1024xf32>
  return %relu : tensor<1024x1024xf32>
}

// -----

// What is computed is no such operand: the product is stored, and added in another kernel.
// CHECK: temporaries 0
// CHECK: time {{.*}} us, 2 launches
func.func public @main(%a: tensor<1024x512xf32>, %b: tensor<512x1024xf32>, %c: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %square = stablehlo.multiply %c, %c : tensor<1024x1024xf32>
  %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<1024x512xf32>, tensor<512x1024xf32>) -> tensor<1024x1024xf32>
  %sum = stablehlo.add %d, %square : tensor<1024x1024xf32>
  return %sum : tensor<1024x1024xf32>
}

// -----

// What two ops need of a product is stored for both.
// CHECK: time {{.*}} us, 2 launches
func.func public @main(%a: tensor<1024x512xf32>, %b: tensor<512x1024xf32>) -> tensor<1024x1024xf32> {
  %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<1024x512xf32>, tensor<512x1024xf32>) -> tensor<1024x1024xf32>
  %e = stablehlo.exponential %d : tensor<1024x1024xf32>
  %both = stablehlo.multiply %e, %d : tensor<1024x1024xf32>
  return %both : tensor<1024x1024xf32>
}

// -----

// Before the product: what reads no more than it makes, and what is made of given values that nothing else reads.
// CHECK: temporaries 0
// CHECK: time {{.*}} us, 1 launches
func.func public @main(%a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>, %c: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %e = stablehlo.exponential %a : tensor<1024x1024xf32>
  %sum = stablehlo.add %b, %c : tensor<1024x1024xf32>
  %d = stablehlo.dot_general %e, %sum, contracting_dims = [1] x [0] : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %d : tensor<1024x1024xf32>
}

// -----

// A sum that a loop carries is added to where it lies: a turn's rows are all that is stored besides.
// CHECK: temporaries 2097160
// CHECK: time {{.*}} us, 25 launches
func.func public @main(%a: tensor<8x1024x512xf32>, %b: tensor<512x1024xf32>) -> tensor<1024x1024xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<1024x1024xf32>
  %start = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %start, %sum = %zeros) : tensor<i32>, tensor<1024x1024xf32>
  cond {
    %n = stablehlo.constant dense<8> : tensor<i32>
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %part = stablehlo.dynamic_slice %a, %i, %zero, %zero, sizes = [1, 1024, 512] : (tensor<8x1024x512xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x1024x512xf32>
    %rows = stablehlo.reshape %part : (tensor<1x1024x512xf32>) -> tensor<1024x512xf32>
    %d = stablehlo.dot_general %rows, %b, contracting_dims = [1] x [0] : (tensor<1024x512xf32>, tensor<512x1024xf32>) -> tensor<1024x1024xf32>
    %more = stablehlo.add %sum, %d : tensor<1024x1024xf32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %more : tensor<i32>, tensor<1024x1024xf32>
  }
  return %r#1 : tensor<1024x1024xf32>
}

// -----

// What is scattered into zeros and then added is scattered into what it is added to.
// CHECK: temporaries 0
// CHECK: time {{.*}} us, 2 launches
func.func public @main(%a: tensor<4096x512xf32>, %b: tensor<512x1024xf32>, %at: tensor<64x1xi32>, %new: tensor<64x1024xf32>) -> tensor<4096x1024xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<4096x1024xf32>
  %s = "stablehlo.scatter"(%zeros, %at, %new) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %z = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %z : tensor<f32>
  }) : (tensor<4096x1024xf32>, tensor<64x1xi32>, tensor<64x1024xf32>) -> tensor<4096x1024xf32>
  %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4096x512xf32>, tensor<512x1024xf32>) -> tensor<4096x1024xf32>
  %sum = stablehlo.add %d, %s : tensor<4096x1024xf32>
  return %sum : tensor<4096x1024xf32>
}

// -----

// A product of f64 takes nothing along: two products, what is added after one, and what is computed before the other.
// CHECK: time {{.*}} us, 4 launches
func.func public @main(%a: tensor<1024x512xf64>, %b: tensor<512x1024xf64>, %c: tensor<1024x1024xf64>) -> (tensor<1024x1024xf64>, tensor<1024x1024xf64>) {
  %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<1024x512xf64>, tensor<512x1024xf64>) -> tensor<1024x1024xf64>
  %sum = stablehlo.add %d, %c : tensor<1024x1024xf64>
  %e = stablehlo.exponential %b : tensor<512x1024xf64>
  %f = stablehlo.dot_general %a, %e, contracting_dims = [1] x [0] : (tensor<1024x512xf64>, tensor<512x1024xf64>) -> tensor<1024x1024xf64>
  return %sum, %f : tensor<1024x1024xf64>, tensor<1024x1024xf64>
}

// -----

// But for what repeats an operand.
// CHECK: temporaries 0
// CHECK: time {{.*}} us, 1 launches
func.func public @main(%a: tensor<1024x512xf64>, %b: tensor<1024xf64>) -> tensor<1024x1024xf64> {
  %rows = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<1024xf64>) -> tensor<512x1024xf64>
  %d = stablehlo.dot_general %a, %rows, contracting_dims = [1] x [0] : (tensor<1024x512xf64>, tensor<512x1024xf64>) -> tensor<1024x1024xf64>
  return %d : tensor<1024x1024xf64>
}
