// What a dimension comes to is known only when the program runs: then the memory is not known, either. With a bound it is.
// RUN: slimhlo-opt %s --split-input-file --slimhlo-print-memory="top=0 plain=true" 2>&1 >/dev/null | FileCheck %s

// CHECK: memory: not modelled: how many bytes a tensor<?x4xf32> takes is known only when the program runs ({{.*}}unknown-size.mlir:5)
func.func @main(%x: tensor<?x4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<?x4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK: memory: peak 288 = arguments 144 + results 144 - aliased 0 + temporaries 0
func.func @main(%x: tensor<?x4xf32, #stablehlo.bounds<9, ?>>) -> tensor<?x4xf32, #stablehlo.bounds<9, ?>> {
  %0 = stablehlo.sine %x : tensor<?x4xf32, #stablehlo.bounds<9, ?>>
  return %0 : tensor<?x4xf32, #stablehlo.bounds<9, ?>>
}

// -----

// Nothing is as large as whatever times nothing, and a function that nobody calls takes nothing.
// CHECK: memory: peak 16 = arguments 0 + results 16 - aliased 0 + temporaries 0
func.func @main(%x: tensor<?x0xf32>) -> tensor<4xf32> {
  %0 = stablehlo.constant dense<1.0> : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @unused(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}
