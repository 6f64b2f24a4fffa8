// RUN: slimhlo-opt %s --slimhlo-unroll-rotations -o %t.mlir
// RUN: slimhlo-opt %s -o %t.before.mlir
// RUN: diff %t.before.mlir %t.mlir

// Nothing changes places.
func.func @stays(%x: tensor<256x128xf32>, %y: tensor<256x128xf32>) -> tensor<256x128xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %end = stablehlo.constant dense<10> : tensor<i32>
  %0:3 = stablehlo.while(%i = %c0, %u = %x, %v = %y) : tensor<i32>, tensor<256x128xf32>, tensor<256x128xf32>
  cond {
    %1 = stablehlo.compare LT, %i, %end, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %s = stablehlo.subtract %v, %u : tensor<256x128xf32>
    %n = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %n, %s, %v : tensor<i32>, tensor<256x128xf32>, tensor<256x128xf32>
  }
  return %0#1 : tensor<256x128xf32>
}

// Fewer than two of the longer turns.
func.func @short(%x: tensor<256x128xf32>, %y: tensor<256x128xf32>) -> tensor<256x128xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %end = stablehlo.constant dense<3> : tensor<i32>
  %0:3 = stablehlo.while(%i = %c0, %u = %x, %v = %y) : tensor<i32>, tensor<256x128xf32>, tensor<256x128xf32>
  cond {
    %1 = stablehlo.compare LT, %i, %end, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %s = stablehlo.subtract %v, %u : tensor<256x128xf32>
    %n = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %n, %v, %s : tensor<i32>, tensor<256x128xf32>, tensor<256x128xf32>
  }
  return %0#2 : tensor<256x128xf32>
}

// It ends when something is small enough, whenever that is.
func.func @until(%x: tensor<256x128xf32>, %y: tensor<256x128xf32>, %small: tensor<f32>) -> tensor<256x128xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0:3 = stablehlo.while(%e = %small, %u = %x, %v = %y) : tensor<f32>, tensor<256x128xf32>, tensor<256x128xf32>
  cond {
    %1 = stablehlo.compare LT, %e, %small, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %s = stablehlo.subtract %v, %u : tensor<256x128xf32>
    %n = stablehlo.reduce(%s init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<256x128xf32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %n, %v, %s : tensor<f32>, tensor<256x128xf32>, tensor<256x128xf32>
  }
  return %0#2 : tensor<256x128xf32>
}

// What changes places is small.
func.func @small(%x: tensor<16xf32>, %y: tensor<16xf32>) -> tensor<16xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %end = stablehlo.constant dense<10> : tensor<i32>
  %0:3 = stablehlo.while(%i = %c0, %u = %x, %v = %y) : tensor<i32>, tensor<16xf32>, tensor<16xf32>
  cond {
    %1 = stablehlo.compare LT, %i, %end, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %s = stablehlo.subtract %v, %u : tensor<16xf32>
    %n = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %n, %v, %s : tensor<i32>, tensor<16xf32>, tensor<16xf32>
  }
  return %0#2 : tensor<16xf32>
}

// Channels between devices are known by their numbers.
func.func @channel(%x: tensor<256x128xf32>, %y: tensor<256x128xf32>) -> tensor<256x128xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %end = stablehlo.constant dense<10> : tensor<i32>
  %0:3 = stablehlo.while(%i = %c0, %u = %x, %v = %y) : tensor<i32>, tensor<256x128xf32>, tensor<256x128xf32>
  cond {
    %1 = stablehlo.compare LT, %i, %end, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %p = "stablehlo.collective_permute"(%v) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<256x128xf32>) -> tensor<256x128xf32>
    %s = stablehlo.subtract %p, %u : tensor<256x128xf32>
    %n = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %n, %v, %s : tensor<i32>, tensor<256x128xf32>, tensor<256x128xf32>
  }
  return %0#2 : tensor<256x128xf32>
}
