// RUN: slimhlo-opt %s --slimhlo-recompute-residuals --split-input-file > %t
// RUN: slimhlo-opt %s --split-input-file | diff - %t

// The first loop leaves slots as they were.
func.func @some_slots(%x0: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %c5 = stablehlo.constant dense<5> : tensor<i32>
  %c6 = stablehlo.constant dense<6> : tensor<i32>
  %zeros = stablehlo.constant dense<0.0> : tensor<6x4xf32>
  %0:4 = stablehlo.while(%i = %c0, %x = %x0, %as = %zeros, %bs = %zeros) : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>, tensor<6x4xf32>
  cond {
    %more = stablehlo.compare LT, %i, %c5, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %b = stablehlo.exponential %x : tensor<4xf32>
    %a1 = stablehlo.reshape %x : (tensor<4xf32>) -> tensor<1x4xf32>
    %as1 = stablehlo.dynamic_update_slice %as, %a1, %i, %c0 : (tensor<6x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<6x4xf32>
    %b1 = stablehlo.reshape %b : (tensor<4xf32>) -> tensor<1x4xf32>
    %bs1 = stablehlo.dynamic_update_slice %bs, %b1, %i, %c0 : (tensor<6x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<6x4xf32>
    %i1 = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %i1, %b, %as1, %bs1 : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>, tensor<6x4xf32>
  }
  %1:4 = stablehlo.while(%i = %c0, %y = %x0, %as = %0#2, %bs = %0#3) : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>, tensor<6x4xf32>
  cond {
    %more = stablehlo.compare LT, %i, %c6, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %a1 = stablehlo.dynamic_slice %as, %i, %c0, sizes = [1, 4] : (tensor<6x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %b1 = stablehlo.dynamic_slice %bs, %i, %c0, sizes = [1, 4] : (tensor<6x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %p = stablehlo.multiply %a1, %b1 : tensor<1x4xf32>
    %q = stablehlo.reshape %p : (tensor<1x4xf32>) -> tensor<4xf32>
    %next = stablehlo.multiply %y, %q : tensor<4xf32>
    %i1 = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %i1, %next, %as, %bs : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>, tensor<6x4xf32>
  }
  return %1#1 : tensor<4xf32>
}

// -----

// Reductions are not done again, nor is what is carried on from turn to turn.
func.func @nothing_follows(%x0: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %c6 = stablehlo.constant dense<6> : tensor<i32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.constant dense<0.0> : tensor<6x4xf32>
  %sums = stablehlo.constant dense<0.0> : tensor<6xf32>
  %0:4 = stablehlo.while(%i = %c0, %x = %x0, %as = %zeros, %bs = %sums) : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>, tensor<6xf32>
  cond {
    %more = stablehlo.compare LT, %i, %c6, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %b = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    %bb = stablehlo.broadcast_in_dim %b, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %next = stablehlo.divide %x, %bb : tensor<4xf32>
    %a1 = stablehlo.reshape %x : (tensor<4xf32>) -> tensor<1x4xf32>
    %as1 = stablehlo.dynamic_update_slice %as, %a1, %i, %c0 : (tensor<6x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<6x4xf32>
    %b1 = stablehlo.reshape %b : (tensor<f32>) -> tensor<1xf32>
    %bs1 = stablehlo.dynamic_update_slice %bs, %b1, %i : (tensor<6xf32>, tensor<1xf32>, tensor<i32>) -> tensor<6xf32>
    %i1 = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %i1, %next, %as1, %bs1 : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>, tensor<6xf32>
  }
  %1:4 = stablehlo.while(%i = %c0, %y = %x0, %as = %0#2, %bs = %0#3) : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>, tensor<6xf32>
  cond {
    %more = stablehlo.compare LT, %i, %c6, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %a1 = stablehlo.dynamic_slice %as, %i, %c0, sizes = [1, 4] : (tensor<6x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %b1 = stablehlo.dynamic_slice %bs, %i, sizes = [1] : (tensor<6xf32>, tensor<i32>) -> tensor<1xf32>
    %a = stablehlo.reshape %a1 : (tensor<1x4xf32>) -> tensor<4xf32>
    %b = stablehlo.broadcast_in_dim %b1, dims = [0] : (tensor<1xf32>) -> tensor<4xf32>
    %p = stablehlo.multiply %a, %b : tensor<4xf32>
    %next = stablehlo.multiply %y, %p : tensor<4xf32>
    %i1 = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %i1, %next, %as, %bs : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>, tensor<6xf32>
  }
  return %1#1 : tensor<4xf32>
}

// -----

// The reader counts in another type.
func.func @types_differ(%y0: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %c6 = stablehlo.constant dense<6> : tensor<i32>
  %l0 = stablehlo.constant dense<0> : tensor<i64>
  %l1 = stablehlo.constant dense<1> : tensor<i64>
  %l6 = stablehlo.constant dense<6> : tensor<i64>
  %zeros = stablehlo.constant dense<0.0> : tensor<6x4xf32>
  %0:2 = stablehlo.while(%i = %c0, %as = %zeros) : tensor<i32>, tensor<6x4xf32>
  cond {
    %more = stablehlo.compare LT, %i, %c6, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %twice = stablehlo.add %i, %i : tensor<i32>
    %n = stablehlo.convert %twice : (tensor<i32>) -> tensor<f32>
    %a = stablehlo.broadcast_in_dim %n, dims = [] : (tensor<f32>) -> tensor<1x4xf32>
    %as1 = stablehlo.dynamic_update_slice %as, %a, %i, %c0 : (tensor<6x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<6x4xf32>
    %i1 = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %i1, %as1 : tensor<i32>, tensor<6x4xf32>
  }
  %1:3 = stablehlo.while(%i = %l0, %y = %y0, %as = %0#1) : tensor<i64>, tensor<4xf32>, tensor<6x4xf32>
  cond {
    %more = stablehlo.compare LT, %i, %l6, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %a1 = stablehlo.dynamic_slice %as, %i, %l0, sizes = [1, 4] : (tensor<6x4xf32>, tensor<i64>, tensor<i64>) -> tensor<1x4xf32>
    %a = stablehlo.reshape %a1 : (tensor<1x4xf32>) -> tensor<4xf32>
    %next = stablehlo.multiply %y, %a : tensor<4xf32>
    %i1 = stablehlo.add %i, %l1 : tensor<i64>
    stablehlo.return %i1, %next, %as : tensor<i64>, tensor<4xf32>, tensor<6x4xf32>
  }
  return %1#1 : tensor<4xf32>
}

// -----

// The product is more than what it is made of, but what the second loop compares it with is its largest elements, bit by bit.
func.func @compared_with_itself(%x0: tensor<64x4xf32>, %y: tensor<64x4xf32>) -> tensor<64x64xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %c6 = stablehlo.constant dense<6> : tensor<i32>
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %none = stablehlo.constant dense<0.0> : tensor<64x64xf32>
  %zeros = stablehlo.constant dense<0.0> : tensor<6x64x64xf32>
  %small = stablehlo.constant dense<0.0> : tensor<6x64xf32>
  %0:4 = stablehlo.while(%i = %c0, %x = %x0, %as = %zeros, %bs = %small) : tensor<i32>, tensor<64x4xf32>, tensor<6x64x64xf32>, tensor<6x64xf32>
  cond {
    %more = stablehlo.compare LT, %i, %c6, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %a = stablehlo.dot_general %x, %y, contracting_dims = [1] x [1] : (tensor<64x4xf32>, tensor<64x4xf32>) -> tensor<64x64xf32>
    %b = stablehlo.reduce(%a init: %lowest) applies stablehlo.maximum across dimensions = [0] : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
    %a1 = stablehlo.reshape %a : (tensor<64x64xf32>) -> tensor<1x64x64xf32>
    %as1 = stablehlo.dynamic_update_slice %as, %a1, %i, %c0, %c0 : (tensor<6x64x64xf32>, tensor<1x64x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<6x64x64xf32>
    %b1 = stablehlo.reshape %b : (tensor<64xf32>) -> tensor<1x64xf32>
    %bs1 = stablehlo.dynamic_update_slice %bs, %b1, %i, %c0 : (tensor<6x64xf32>, tensor<1x64xf32>, tensor<i32>, tensor<i32>) -> tensor<6x64xf32>
    %x1 = stablehlo.sine %x : tensor<64x4xf32>
    %i1 = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %i1, %x1, %as1, %bs1 : tensor<i32>, tensor<64x4xf32>, tensor<6x64x64xf32>, tensor<6x64xf32>
  }
  %1:4 = stablehlo.while(%i = %c0, %s = %none, %as = %0#2, %bs = %0#3) : tensor<i32>, tensor<64x64xf32>, tensor<6x64x64xf32>, tensor<6x64xf32>
  cond {
    %more = stablehlo.compare LT, %i, %c6, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %a1 = stablehlo.dynamic_slice %as, %i, %c0, %c0, sizes = [1, 64, 64] : (tensor<6x64x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x64x64xf32>
    %a = stablehlo.reshape %a1 : (tensor<1x64x64xf32>) -> tensor<64x64xf32>
    %b1 = stablehlo.dynamic_slice %bs, %i, %c0, sizes = [1, 64] : (tensor<6x64xf32>, tensor<i32>, tensor<i32>) -> tensor<1x64xf32>
    %b = stablehlo.reshape %b1 : (tensor<1x64xf32>) -> tensor<64xf32>
    %there = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<64xf32>) -> tensor<64x64xf32>
    %is = stablehlo.compare EQ, %a, %there : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xi1>
    %one = stablehlo.convert %is : (tensor<64x64xi1>) -> tensor<64x64xf32>
    %s1 = stablehlo.add %s, %one : tensor<64x64xf32>
    %i1 = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %i1, %s1, %as, %bs : tensor<i32>, tensor<64x64xf32>, tensor<6x64x64xf32>, tensor<6x64xf32>
  }
  return %1#1 : tensor<64x64xf32>
}
