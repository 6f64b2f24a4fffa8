// RUN: slimhlo-opt %s --slimhlo-optimize=target=xla-cpu --split-input-file | FileCheck %s

// What is handed to the function, and what it hands on, says of itself how it is laid out, as the function does: nothing is lost
// with it, and both calls are one computation with what is around them.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @main
  // CHECK-NOT: call
  // CHECK: sdy.manual_computation
  // CHECK-NOT: sdy.manual_computation
  // CHECK: return
  // CHECK-NOT: func.func private
  func.func @main(%x: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>, tf.aliasing_output = 0 : i32}) -> (tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %0 = func.call @wrapped(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %1 = func.call @wrapped(%0) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    return %1 : tensor<8x64xf32>
  }
  func.func private @wrapped(%x: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.slice %x [0:8, 60:62] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<8x64xf32>) -> tensor<8x2xf32>
    %1 = stablehlo.dynamic_update_slice %x, %0, %zero, %zero {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<8x64xf32>, tensor<8x2xf32>, tensor<i32>, tensor<i32>) -> tensor<8x64xf32>
    return %1 : tensor<8x64xf32>
  }
}

// -----

// The function wants its argument whole, and is handed it in parts: that is its to say.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @main
  // CHECK: call @wrapped
  // CHECK: func.func private @wrapped
  func.func @main(%x: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %0 = stablehlo.sine %x {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : tensor<8x64xf32>
    %1 = func.call @wrapped(%0) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    return %1 : tensor<8x64xf32>
  }
  func.func private @wrapped(%x: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) -> (tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %0 = stablehlo.negate %x {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : tensor<8x64xf32>
    return %0 : tensor<8x64xf32>
  }
}
