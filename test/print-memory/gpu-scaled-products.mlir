// A product that sums nothing, as einsum writes a scale by heads, is elements times numbers, in the order in which they lie: the transposes on
// either side move nothing. XLA for an H100 has one kernel for it, and takes no temporaries.
// RUN: slimhlo-opt %s --slimhlo-print-memory="target=h100 plain=true top=0 kernels=9" -o /dev/null 2>&1 | FileCheck %s
// CHECK: temporaries 0
// CHECK: , 1 launches
// CHECK-NOT: dot_general

func.func public @main(%x: tensor<32x12x512x512xbf16>, %scale: tensor<12xbf16>) -> tensor<32x12x512x512xbf16> {
  %scaled = stablehlo.dot_general %scale, %x, batching_dims = [0] x [1], contracting_dims = [] x [] : (tensor<12xbf16>, tensor<32x12x512x512xbf16>) -> tensor<12x32x512x512xbf16>
  %back = stablehlo.transpose %scaled, dims = [1, 0, 2, 3] : (tensor<12x32x512x512xbf16>) -> tensor<32x12x512x512xbf16>
  %result = stablehlo.tanh %back : tensor<32x12x512x512xbf16>
  return %result : tensor<32x12x512x512xbf16>
}
