// RUN: slimhlo-opt %s --slimhlo-optimize=target=xla-cpu | FileCheck %s

// Inlining would lose the sharding of @annotated's argument and the attributes of the first call of @plain: both stay
// calls. Nothing of what kept the inliner away is left.
module {
  sdy.mesh @mesh = <["x"=2]>

  // CHECK-NOT: no_inline
  // CHECK-NOT: slimhlo.annotated
  // CHECK: func.func private @annotated
  func.func private @annotated(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) -> tensor<4xf32> {
    %0 = stablehlo.negate %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }

  // A name for people is no annotation.
  // CHECK-NOT: func.func private @named
  func.func private @named(%x: tensor<4xf32> {jax.arg_info = "x"}) -> (tensor<4xf32> {jax.result_info = "y"}) {
    %0 = stablehlo.cosine %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }

  func.func private @plain(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.sine %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }

  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    // CHECK: %[[A:.*]] = call @annotated(
    %a = func.call @annotated(%x) : (tensor<4xf32>) -> tensor<4xf32>
    // CHECK: %[[B:.*]] = call @plain(%[[A]]) {mhlo.frontend_attributes = {keep = "me"}}
    %b = func.call @plain(%a) {mhlo.frontend_attributes = {keep = "me"}} : (tensor<4xf32>) -> tensor<4xf32>
    // CHECK: %[[C:.*]] = stablehlo.sine %[[B]]
    %c = func.call @plain(%b) : (tensor<4xf32>) -> tensor<4xf32>
    // CHECK: stablehlo.cosine %[[C]]
    %d = func.call @named(%c) : (tensor<4xf32>) -> tensor<4xf32>
    return %d : tensor<4xf32>
  }
}
