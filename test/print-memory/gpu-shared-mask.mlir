// A softmax behind a mask that it makes itself takes 1.9 times as long where XLA gives a block of threads one row of the mask for four of its own
// and more; XLA for an H100 (`referee.py --target h100`).
// RUN: slimhlo-opt %s --split-input-file --slimhlo-print-memory="target=h100 plain=true top=0" -o /dev/null 2>&1 | FileCheck %s

// Of 32 heads: 2772.8 us.
// CHECK: time 2776.8 us, 1 launches
func.func @main(%x: tensor<32x4096x4096xf32>) -> tensor<32x4096x4096xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %lows = stablehlo.constant dense<0xFF800000> : tensor<32x4096x4096xf32>
  %i = stablehlo.iota dim = 0 : tensor<4096x4096xi32>
  %j = stablehlo.iota dim = 1 : tensor<4096x4096xi32>
  %c = stablehlo.compare GE, %i, %j, SIGNED : (tensor<4096x4096xi32>, tensor<4096x4096xi32>) -> tensor<4096x4096xi1>
  %m = stablehlo.broadcast_in_dim %c, dims = [1, 2] : (tensor<4096x4096xi1>) -> tensor<32x4096x4096xi1>
  %s = stablehlo.select %m, %x, %lows : tensor<32x4096x4096xi1>, tensor<32x4096x4096xf32>
  %most = stablehlo.reduce(%s init: %low) applies stablehlo.maximum across dimensions = [2] : (tensor<32x4096x4096xf32>, tensor<f32>) -> tensor<32x4096xf32>
  %mosts = stablehlo.broadcast_in_dim %most, dims = [0, 1] : (tensor<32x4096xf32>) -> tensor<32x4096x4096xf32>
  %d = stablehlo.subtract %s, %mosts : tensor<32x4096x4096xf32>
  %e = stablehlo.exponential %d : tensor<32x4096x4096xf32>
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<32x4096x4096xf32>, tensor<f32>) -> tensor<32x4096xf32>
  %sums = stablehlo.broadcast_in_dim %sum, dims = [0, 1] : (tensor<32x4096xf32>) -> tensor<32x4096x4096xf32>
  %r = stablehlo.divide %e, %sums : tensor<32x4096x4096xf32>
  return %r : tensor<32x4096x4096xf32>
}

// -----

// Of two, whose tiles have rows of their own: 92.2 us.
// CHECK: time 92.3 us, 1 launches
func.func @main(%x: tensor<2x4096x4096xf32>) -> tensor<2x4096x4096xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %lows = stablehlo.constant dense<0xFF800000> : tensor<2x4096x4096xf32>
  %i = stablehlo.iota dim = 0 : tensor<4096x4096xi32>
  %j = stablehlo.iota dim = 1 : tensor<4096x4096xi32>
  %c = stablehlo.compare GE, %i, %j, SIGNED : (tensor<4096x4096xi32>, tensor<4096x4096xi32>) -> tensor<4096x4096xi1>
  %m = stablehlo.broadcast_in_dim %c, dims = [1, 2] : (tensor<4096x4096xi1>) -> tensor<2x4096x4096xi1>
  %s = stablehlo.select %m, %x, %lows : tensor<2x4096x4096xi1>, tensor<2x4096x4096xf32>
  %most = stablehlo.reduce(%s init: %low) applies stablehlo.maximum across dimensions = [2] : (tensor<2x4096x4096xf32>, tensor<f32>) -> tensor<2x4096xf32>
  %mosts = stablehlo.broadcast_in_dim %most, dims = [0, 1] : (tensor<2x4096xf32>) -> tensor<2x4096x4096xf32>
  %d = stablehlo.subtract %s, %mosts : tensor<2x4096x4096xf32>
  %e = stablehlo.exponential %d : tensor<2x4096x4096xf32>
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x4096x4096xf32>, tensor<f32>) -> tensor<2x4096xf32>
  %sums = stablehlo.broadcast_in_dim %sum, dims = [0, 1] : (tensor<2x4096xf32>) -> tensor<2x4096x4096xf32>
  %r = stablehlo.divide %e, %sums : tensor<2x4096x4096xf32>
  return %r : tensor<2x4096x4096xf32>
}

// -----

// What makes a number of each row has other tiles: XLA's sum behind a mask takes 188 us, its product 206.
// CHECK: time {{4[0-4][0-9]\.[0-9]}} us, {{[23]}} launches
func.func public @main(%q: tensor<64x2048x64xbf16>, %k: tensor<64x2048x64xbf16>) -> (tensor<64x2048xf32>) {
  %s = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<64x2048x64xbf16>, tensor<64x2048x64xbf16>) -> tensor<64x2048x2048xbf16>
  %c = stablehlo.convert %s : (tensor<64x2048x2048xbf16>) -> tensor<64x2048x2048xf32>
  %ninf = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %low = stablehlo.constant dense<-1.0e+30> : tensor<64x2048x2048xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %i = stablehlo.iota dim = 0 : tensor<2048x2048xi32>
  %j = stablehlo.iota dim = 1 : tensor<2048x2048xi32>
  %ge = stablehlo.compare GE, %i, %j : (tensor<2048x2048xi32>, tensor<2048x2048xi32>) -> tensor<2048x2048xi1>
  %all = stablehlo.broadcast_in_dim %ge, dims = [1, 2] : (tensor<2048x2048xi1>) -> tensor<64x2048x2048xi1>
  %sel = stablehlo.select %all, %c, %low : tensor<64x2048x2048xi1>, tensor<64x2048x2048xf32>
  %m = stablehlo.reduce(%sel init: %ninf) applies stablehlo.maximum across dimensions = [2] : (tensor<64x2048x2048xf32>, tensor<f32>) -> tensor<64x2048xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<64x2048xf32>) -> tensor<64x2048x2048xf32>
  %d = stablehlo.subtract %sel, %mb : tensor<64x2048x2048xf32>
  %e = stablehlo.exponential %d : tensor<64x2048x2048xf32>
  %l = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [2] : (tensor<64x2048x2048xf32>, tensor<f32>) -> tensor<64x2048xf32>
  return %l : tensor<64x2048xf32>
}
