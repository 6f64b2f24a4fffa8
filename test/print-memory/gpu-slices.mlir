// What slices have in common is in the first caches when it is read again; XLA for an H100 (`referee.py --target h100`).
// RUN: slimhlo-opt %s --split-input-file --slimhlo-print-memory="target=h100 plain=true top=0" -o /dev/null 2>&1 | FileCheck %s

// An array of 64 MiB: 46.1 us.
// CHECK: time 46.2 us, 1 launches
func.func public @main(%a: tensor<4098x4096xf32>) -> tensor<4096x4096xf32> {
  %0 = stablehlo.slice %a [0:4096, 0:4096] : (tensor<4098x4096xf32>) -> tensor<4096x4096xf32>
  %1 = stablehlo.slice %a [1:4097, 0:4096] : (tensor<4098x4096xf32>) -> tensor<4096x4096xf32>
  %2 = stablehlo.slice %a [2:4098, 0:4096] : (tensor<4098x4096xf32>) -> tensor<4096x4096xf32>
  %3 = stablehlo.add %0, %1 : tensor<4096x4096xf32>
  %4 = stablehlo.add %3, %2 : tensor<4096x4096xf32>
  return %4 : tensor<4096x4096xf32>
}

// -----

// One of 4 MiB: 3.8 us.
// CHECK: time 3.8 us, 1 launches
func.func public @main(%a: tensor<1026x1024xf32>) -> tensor<1024x1024xf32> {
  %0 = stablehlo.slice %a [0:1024, 0:1024] : (tensor<1026x1024xf32>) -> tensor<1024x1024xf32>
  %1 = stablehlo.slice %a [1:1025, 0:1024] : (tensor<1026x1024xf32>) -> tensor<1024x1024xf32>
  %2 = stablehlo.slice %a [2:1026, 0:1024] : (tensor<1026x1024xf32>) -> tensor<1024x1024xf32>
  %3 = stablehlo.add %0, %1 : tensor<1024x1024xf32>
  %4 = stablehlo.add %3, %2 : tensor<1024x1024xf32>
  return %4 : tensor<1024x1024xf32>
}
