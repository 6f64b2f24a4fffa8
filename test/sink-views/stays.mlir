// RUN: slimhlo-opt %s --slimhlo-sink-views | FileCheck %s

// A product wants its operand stored, and takes a transposed one as it is: it would be cut out in each iteration.
// CHECK-LABEL: func.func @product
// CHECK: stablehlo.slice
// CHECK: stablehlo.while
// CHECK-NOT: stablehlo.slice
func.func @product(%x: tensor<128x256xf32>, %first: tensor<128x128xf32>) -> tensor<128x128xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %nine = stablehlo.constant dense<9> : tensor<i64>
  %part = stablehlo.slice %x [0:128, 0:128] : (tensor<128x256xf32>) -> tensor<128x128xf32>
  %w:2 = stablehlo.while(%i = %zero, %f = %first) : tensor<i64>, tensor<128x128xf32> cond {
    %p = stablehlo.compare LT, %i, %nine : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %t = stablehlo.transpose %part, dims = [1, 0] : (tensor<128x128xf32>) -> tensor<128x128xf32>
    %next = stablehlo.dot_general %f, %t, contracting_dims = [1] x [0] : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
    %j = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %j, %next : tensor<i64>, tensor<128x128xf32>
  }
  return %w#1 : tensor<128x128xf32>
}

// Nothing else needs what it is made of: the sum would be kept for the loop, and is larger. Nor may an argument that is given
// away be kept for it.
// CHECK-LABEL: func.func @main
// CHECK: stablehlo.add
// CHECK-NEXT: stablehlo.slice
// CHECK-NEXT: stablehlo.slice %arg0
// CHECK-NEXT: stablehlo.while
// CHECK-NOT: stablehlo.slice
func.func @main(%x: tensor<128x256xf32> {jax.buffer_donor = true}, %y: tensor<128x256xf32>, %first: tensor<128x128xf32>) -> tensor<128x128xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %nine = stablehlo.constant dense<9> : tensor<i64>
  %sum = stablehlo.add %x, %y : tensor<128x256xf32>
  %part = stablehlo.slice %sum [0:128, 0:128] : (tensor<128x256xf32>) -> tensor<128x128xf32>
  %given = stablehlo.slice %x [0:128, 0:128] : (tensor<128x256xf32>) -> tensor<128x128xf32>
  %w:2 = stablehlo.while(%i = %zero, %f = %first) : tensor<i64>, tensor<128x128xf32> cond {
    %p = stablehlo.compare LT, %i, %nine : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %more = stablehlo.add %f, %part : tensor<128x128xf32>
    %next = stablehlo.multiply %more, %given : tensor<128x128xf32>
    %j = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %j, %next : tensor<i64>, tensor<128x128xf32>
  }
  return %w#1 : tensor<128x128xf32>
}

// The loop changes what it starts from where that is: kept for the part that it reads, all of it would be copied.
// CHECK-LABEL: func.func @main
// CHECK: stablehlo.slice %arg0
// CHECK-NEXT: stablehlo.while
// CHECK-NOT: stablehlo.slice
module @in_place {
  func.func @main(%x: tensor<128x128xf32> {tf.aliasing_output = 0 : i32}) -> tensor<128x128xf32> {
    %zero = stablehlo.constant dense<0> : tensor<i64>
    %one = stablehlo.constant dense<1> : tensor<i64>
    %nine = stablehlo.constant dense<9> : tensor<i64>
    %part = stablehlo.slice %x [0:128, 0:64] : (tensor<128x128xf32>) -> tensor<128x64xf32>
    %w:2 = stablehlo.while(%i = %zero, %f = %x) : tensor<i64>, tensor<128x128xf32> cond {
      %p = stablehlo.compare LT, %i, %nine : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %both = stablehlo.concatenate %part, %part, dim = 1 : (tensor<128x64xf32>, tensor<128x64xf32>) -> tensor<128x128xf32>
      %next = stablehlo.add %f, %both : tensor<128x128xf32>
      %j = stablehlo.add %i, %one : tensor<i64>
      stablehlo.return %j, %next : tensor<i64>, tensor<128x128xf32>
    }
    return %w#1 : tensor<128x128xf32>
  }
}

// The loop hands on what it carries as it is as the first of something else, too: that is stored.
// CHECK-LABEL: func.func @shared
// CHECK: stablehlo.slice
// CHECK-NEXT: stablehlo.while
// CHECK-NOT: stablehlo.slice
func.func @shared(%x: tensor<128x256xf32>, %first: tensor<128x128xf32>) -> tensor<128x128xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %nine = stablehlo.constant dense<9> : tensor<i64>
  %part = stablehlo.slice %x [0:128, 0:128] : (tensor<128x256xf32>) -> tensor<128x128xf32>
  %w:4 = stablehlo.while(%i = %zero, %c = %part, %f = %first, %g = %first) : tensor<i64>, tensor<128x128xf32>, tensor<128x128xf32>, tensor<128x128xf32> cond {
    %p = stablehlo.compare LT, %i, %nine : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %sum = stablehlo.add %c, %f : tensor<128x128xf32>
    %next = stablehlo.multiply %sum, %g : tensor<128x128xf32>
    %j = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %j, %c, %c, %next : tensor<i64>, tensor<128x128xf32>, tensor<128x128xf32>, tensor<128x128xf32>
  }
  return %w#3 : tensor<128x128xf32>
}

// What comes after the loop reads what it carried; narrower elements XLA would move out again.
// CHECK-LABEL: func.func @after
// CHECK: stablehlo.slice
// CHECK-NEXT: stablehlo.convert
// CHECK-NEXT: stablehlo.while
// CHECK-NOT: stablehlo.slice
// CHECK-NOT: stablehlo.convert
func.func @after(%x: tensor<128x256xf32>, %y: tensor<128x128xf64>, %first: tensor<128x128xf32>) -> (tensor<128x128xf32>, tensor<128x128xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %nine = stablehlo.constant dense<9> : tensor<i64>
  %part = stablehlo.slice %x [0:128, 0:128] : (tensor<128x256xf32>) -> tensor<128x128xf32>
  %narrow = stablehlo.convert %y : (tensor<128x128xf64>) -> tensor<128x128xf32>
  %w:3 = stablehlo.while(%i = %zero, %c = %part, %f = %first) : tensor<i64>, tensor<128x128xf32>, tensor<128x128xf32> cond {
    %p = stablehlo.compare LT, %i, %nine : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %more = stablehlo.add %f, %c : tensor<128x128xf32>
    %next = stablehlo.multiply %more, %narrow : tensor<128x128xf32>
    %j = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %j, %c, %next : tensor<i64>, tensor<128x128xf32>, tensor<128x128xf32>
  }
  return %w#1, %w#2 : tensor<128x128xf32>, tensor<128x128xf32>
}

// Parts of what is cut into shards may have to be fetched.
module @sharded {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @shards
  // CHECK: stablehlo.slice
  // CHECK: stablehlo.while
  // CHECK-NOT: stablehlo.slice
  func.func @shards(%x: tensor<128x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %first: tensor<128x128xf32>) -> tensor<128x128xf32> {
    %zero = stablehlo.constant dense<0> : tensor<i64>
    %one = stablehlo.constant dense<1> : tensor<i64>
    %nine = stablehlo.constant dense<9> : tensor<i64>
    %part = stablehlo.slice %x [0:128, 0:128] : (tensor<128x256xf32>) -> tensor<128x128xf32>
    %w:2 = stablehlo.while(%i = %zero, %f = %first) : tensor<i64>, tensor<128x128xf32> cond {
      %p = stablehlo.compare LT, %i, %nine : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %next = stablehlo.add %f, %part : tensor<128x128xf32>
      %j = stablehlo.add %i, %one : tensor<i64>
      stablehlo.return %j, %next : tensor<i64>, tensor<128x128xf32>
    }
    return %w#1 : tensor<128x128xf32>
  }
}
