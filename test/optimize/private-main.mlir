// RUN: slimhlo-opt %s --slimhlo-optimize=target=xla-cpu --split-input-file | FileCheck %s

// To MLIR a private function that nobody calls is dead; an entry function is not.
// CHECK: func.func private @main(
// CHECK: func.func @other(
module {
  func.func private @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = func.call @callee(%x) : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  // CHECK-NOT: @callee
  func.func private @callee(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.negate %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}

// -----

// Nothing is public: all may be wanted.
// CHECK: func.func private @one(
// CHECK: func.func private @two(
module {
  func.func private @one(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
  func.func private @two(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}
