// RUN: slimhlo-opt %s --slimhlo-early-sums | FileCheck %s

// What a loop adds up of products of vectors, and of values, is summed over the batch in each turn: through branches as well.
// CHECK-LABEL: func.func @weights
// CHECK: %[[W:[0-9]+]]:4 = stablehlo.while({{.*}}) : tensor<i32>, tensor<4x3xf32>, tensor<4xf32>, tensor<8x4xf32>
// CHECK: %[[M:[0-9]+]] = stablehlo.multiply
// CHECK: %[[P:[0-9]+]] = stablehlo.dot_general %[[M]], %arg2, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<8x4xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
// CHECK: %[[S:[0-9]+]] = stablehlo.add %{{[a-zA-Z0-9_]+}}, %[[P]] : tensor<4x3xf32>
// CHECK: %[[B:[0-9]+]] = "stablehlo.if"(%arg3) ({
// CHECK-NEXT: stablehlo.return %[[S]] : tensor<4x3xf32>
// CHECK: %[[R:[0-9]+]] = stablehlo.reduce(%[[M]] init: %{{.*}}) applies stablehlo.add across dimensions = [0]
// CHECK: %[[U:[0-9]+]] = stablehlo.add %{{[a-zA-Z0-9_]+}}, %[[R]] : tensor<4xf32>
// CHECK: stablehlo.return %{{[0-9]+}}, %[[B]], %[[U]], %[[M]]
// CHECK: return %[[W]]#1, %[[W]]#2
func.func @weights(%n: tensor<i32>, %x: tensor<8x4xf32>, %y: tensor<8x3xf32>, %p: tensor<i1>) -> (tensor<4x3xf32>, tensor<4xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<8x4x3xf32>
  %z4 = stablehlo.constant dense<0.0> : tensor<8x4xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %w:4 = stablehlo.while(%i = %c0, %a = %z, %b = %z4, %xx = %x) : tensor<i32>, tensor<8x4x3xf32>, tensor<8x4xf32>, tensor<8x4xf32>
  cond {
    %l = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %l : tensor<i1>
  } do {
    %j = stablehlo.add %i, %c1 : tensor<i32>
    %m = stablehlo.multiply %xx, %xx : tensor<8x4xf32>
    %o = stablehlo.dot_general %m, %y, batching_dims = [0] x [0], contracting_dims = [] x [] : (tensor<8x4xf32>, tensor<8x3xf32>) -> tensor<8x4x3xf32>
    %s = stablehlo.add %a, %o : tensor<8x4x3xf32>
    %t = "stablehlo.if"(%p) ({
      stablehlo.return %s : tensor<8x4x3xf32>
    }, {
      stablehlo.return %a : tensor<8x4x3xf32>
    }) : (tensor<i1>) -> tensor<8x4x3xf32>
    %u = stablehlo.add %b, %m : tensor<8x4xf32>
    stablehlo.return %j, %t, %u, %m : tensor<i32>, tensor<8x4x3xf32>, tensor<8x4xf32>, tensor<8x4xf32>
  }
  %r = stablehlo.reduce(%w#1 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  %q = stablehlo.reduce(%w#2 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  return %r, %q : tensor<4x3xf32>, tensor<4xf32>
}

// A loop in a loop, which starts from what is there: that is summed before the loop. What the inner one adds is something else's, too, so
// that it is summed after it.
// CHECK-LABEL: func.func @nested
// CHECK: %[[START:[0-9]+]] = stablehlo.reduce(%arg1 init: %{{.*}}) applies stablehlo.add across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
// CHECK: stablehlo.while(%iterArg = %c, %[[A:iterArg_[0-9]+]] = %[[START]],
// CHECK: %[[INNER:[0-9]+]]:2 = stablehlo.while({{.*}}) : tensor<i32>, tensor<8x4xf32>
// CHECK: %[[SUM:[0-9]+]] = stablehlo.reduce(%[[INNER]]#1 init: %{{.*}}) applies stablehlo.add across dimensions = [0]
// CHECK: %[[NEXT:[0-9]+]] = stablehlo.add %[[A]], %[[SUM]] : tensor<4xf32>
// CHECK: stablehlo.return %{{[0-9]+}}, %[[NEXT]], %[[INNER]]#1
func.func @nested(%n: tensor<i32>, %x: tensor<8x4xf32>) -> (tensor<4xf32>, tensor<8x4xf32>) {
  %zero = stablehlo.constant dense<-0.0> : tensor<f32>
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %w:3 = stablehlo.while(%i = %c0, %a = %x, %h = %x) : tensor<i32>, tensor<8x4xf32>, tensor<8x4xf32>
  cond {
    %l = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %l : tensor<i1>
  } do {
    %j = stablehlo.add %i, %c1 : tensor<i32>
    %v:2 = stablehlo.while(%k = %c0, %g = %h) : tensor<i32>, tensor<8x4xf32>
    cond {
      %l = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %l : tensor<i1>
    } do {
      %kk = stablehlo.add %k, %c1 : tensor<i32>
      %gg = stablehlo.sine %g : tensor<8x4xf32>
      stablehlo.return %kk, %gg : tensor<i32>, tensor<8x4xf32>
    }
    %s = stablehlo.add %a, %v#1 : tensor<8x4xf32>
    stablehlo.return %j, %s, %v#1 : tensor<i32>, tensor<8x4xf32>, tensor<8x4xf32>
  }
  %r = stablehlo.reduce(%w#1 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  return %r, %w#2 : tensor<4xf32>, tensor<8x4xf32>
}

// A product that contracts something contracts the batch, too, as exactly as before.
// CHECK-LABEL: func.func @contracted
// CHECK: stablehlo.dot_general %{{.*}}, %{{.*}}, contracting_dims = [0, 1] x [0, 1] : (tensor<8x5x4xf32>, tensor<8x5x3xf32>) -> tensor<4x3xf32>
func.func @contracted(%n: tensor<i32>, %x: tensor<8x5x4xf32>, %y: tensor<8x5x3xf32>) -> tensor<4x3xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<8x4x3xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %w:2 = stablehlo.while(%i = %c0, %a = %z) : tensor<i32>, tensor<8x4x3xf32>
  cond {
    %l = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %l : tensor<i1>
  } do {
    %j = stablehlo.add %i, %c1 : tensor<i32>
    %o = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<8x5x4xf32>, tensor<8x5x3xf32>) -> tensor<8x4x3xf32>
    %s = stablehlo.add %o, %a : tensor<8x4x3xf32>
    stablehlo.return %j, %s : tensor<i32>, tensor<8x4x3xf32>
  }
  %r = stablehlo.reduce(%w#1 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}

// The lowest of integers is no zero, though but its sign bit is set.
// CHECK-LABEL: func.func @lowest
// CHECK: stablehlo.while({{.*}}) : tensor<i32>, tensor<8x4xi32>
// CHECK: stablehlo.reduce
func.func @lowest(%n: tensor<i32>, %x: tensor<8x4xi32>) -> tensor<4xi32> {
  %low = stablehlo.constant dense<-2147483648> : tensor<i32>
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %w:2 = stablehlo.while(%i = %c0, %a = %x) : tensor<i32>, tensor<8x4xi32>
  cond {
    %l = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %l : tensor<i1>
  } do {
    %j = stablehlo.add %i, %c1 : tensor<i32>
    %s = stablehlo.add %a, %x : tensor<8x4xi32>
    stablehlo.return %j, %s : tensor<i32>, tensor<8x4xi32>
  }
  %r = stablehlo.reduce(%w#1 init: %low) applies stablehlo.add across dimensions = [0] : (tensor<8x4xi32>, tensor<i32>) -> tensor<4xi32>
  return %r : tensor<4xi32>
}

// All of it is returned.
// CHECK-LABEL: func.func @needed
// CHECK: stablehlo.while({{.*}}) : tensor<i32>, tensor<8x4xf32>
// CHECK: stablehlo.reduce
func.func @needed(%n: tensor<i32>, %x: tensor<8x4xf32>) -> (tensor<4xf32>, tensor<8x4xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %w:2 = stablehlo.while(%i = %c0, %a = %x) : tensor<i32>, tensor<8x4xf32>
  cond {
    %l = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %l : tensor<i1>
  } do {
    %j = stablehlo.add %i, %c1 : tensor<i32>
    %s = stablehlo.add %a, %x : tensor<8x4xf32>
    stablehlo.return %j, %s : tensor<i32>, tensor<8x4xf32>
  }
  %r = stablehlo.reduce(%w#1 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  return %r, %w#1 : tensor<4xf32>, tensor<8x4xf32>
}

// A turn multiplies what is carried, and bf16 would be rounded as a sum in each turn.
// CHECK-LABEL: func.func @other
// CHECK: stablehlo.while({{.*}}) : tensor<i32>, tensor<8x4xf32>, tensor<8x4xbf16>
func.func @other(%n: tensor<i32>, %x: tensor<8x4xf32>, %b: tensor<8x4xbf16>) -> (tensor<4xf32>, tensor<4xbf16>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zerob = stablehlo.constant dense<0.0> : tensor<bf16>
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %w:3 = stablehlo.while(%i = %c0, %a = %x, %d = %b) : tensor<i32>, tensor<8x4xf32>, tensor<8x4xbf16>
  cond {
    %l = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %l : tensor<i1>
  } do {
    %j = stablehlo.add %i, %c1 : tensor<i32>
    %m = stablehlo.multiply %a, %x : tensor<8x4xf32>
    %s = stablehlo.add %m, %x : tensor<8x4xf32>
    %t = stablehlo.add %d, %b : tensor<8x4xbf16>
    stablehlo.return %j, %s, %t : tensor<i32>, tensor<8x4xf32>, tensor<8x4xbf16>
  }
  %r = stablehlo.reduce(%w#1 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  %q = stablehlo.reduce(%w#2 init: %zerob) applies stablehlo.add across dimensions = [0] : (tensor<8x4xbf16>, tensor<bf16>) -> tensor<4xbf16>
  return %r, %q : tensor<4xf32>, tensor<4xbf16>
}
