// A softmax in bf16, whose sum is made wider and narrower on its way back to the rows, and what all of its arrays are multiplied by: XLA for an H100
// makes the latter once, in 4 microseconds, as it is much work for each array, and the rest in one kernel of 27.
// RUN: slimhlo-opt %s --slimhlo-print-memory="target=h100 kernels=3 top=0" -o /dev/null 2>&1 | FileCheck %s
// CHECK: 2 launches
// CHECK: {{ 2[0-9]\.[0-9]}} us in 1 runs stablehlo.multiply tensor<64x512x512xbf16>
// CHECK-NEXT: {{ [0-9]\.[0-9]}} us in 1 runs stablehlo.convert tensor<512x512xbf16>
func.func public @main(%s: tensor<64x512x512xbf16>, %x: tensor<512x512xf32>) -> tensor<64x512x512xbf16> {
  %ninf = stablehlo.constant dense<0xFF80> : tensor<bf16>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%s init: %ninf) applies stablehlo.maximum across dimensions = [2] : (tensor<64x512x512xbf16>, tensor<bf16>) -> tensor<64x512xbf16>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<64x512xbf16>) -> tensor<64x512x512xbf16>
  %d = stablehlo.subtract %s, %mb : tensor<64x512x512xbf16>
  %e = stablehlo.exponential %d : tensor<64x512x512xbf16>
  %e32 = stablehlo.convert %e : (tensor<64x512x512xbf16>) -> tensor<64x512x512xf32>
  %l = stablehlo.reduce(%e32 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<64x512x512xf32>, tensor<f32>) -> tensor<64x512xf32>
  %lb = stablehlo.broadcast_in_dim %l, dims = [0, 1] : (tensor<64x512xf32>) -> tensor<64x512x512xf32>
  %lc = stablehlo.convert %lb : (tensor<64x512x512xf32>) -> tensor<64x512x512xbf16>
  %p = stablehlo.divide %e, %lc : tensor<64x512x512xbf16>
  %1 = stablehlo.sine %x : tensor<512x512xf32>
  %2 = stablehlo.multiply %1, %x : tensor<512x512xf32>
  %3 = stablehlo.cosine %2 : tensor<512x512xf32>
  %4 = stablehlo.tanh %3 : tensor<512x512xf32>
  %5 = stablehlo.exponential %4 : tensor<512x512xf32>
  %6 = stablehlo.sine %5 : tensor<512x512xf32>
  %7 = stablehlo.convert %6 : (tensor<512x512xf32>) -> tensor<512x512xbf16>
  %8 = stablehlo.broadcast_in_dim %7, dims = [1, 2] : (tensor<512x512xbf16>) -> tensor<64x512x512xbf16>
  %9 = stablehlo.multiply %p, %8 : tensor<64x512x512xbf16>
  return %9 : tensor<64x512x512xbf16>
}
