// RUN: slimhlo-opt %s --slimhlo-print-memory="target=v5p top=0 plain=true" 2>&1 >/dev/null | FileCheck %s

// The two innermost dimensions are padded to tiles of 8 by 128, in the order that takes less: columns of 1,024 elements, of which
// there are 4 instead of 3. The other way around each row would take 512 bytes.
// CHECK: arguments 16384 + results 16384
func.func @main(%x: tensor<1024x3xf32>) -> tensor<1024x3xf32> {
  %r = stablehlo.negate %x : tensor<1024x3xf32>
  return %r : tensor<1024x3xf32>
}
