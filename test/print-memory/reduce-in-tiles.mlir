// RUN: slimhlo-opt %s --slimhlo-print-memory="target=xla-cpu top=0 plain=true" 2>&1 >/dev/null | FileCheck %s

// Integers are summed in tiles of 32, from memory: the operand, 2 MiB, and the tiles' sums, 64 KiB.
// CHECK: temporaries 2162688{{$}}
func.func @main(%x: tensor<512x1024xi32>) -> tensor<512xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<512x1024xi32>
  %0 = stablehlo.multiply %x, %three : tensor<512x1024xi32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<512x1024xi32>, tensor<i32>) -> tensor<512xi32>
  return %1 : tensor<512xi32>
}
