// What a loop carries may have sizes that are known outside of it, or inside, alone. The short form, which has one type for each
// value, could not be read back; jaxlib 0.10.2 prints it nevertheless, and cannot.

// RUN: slimhlo-opt %s -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: slimhlo-opt %t.mlir --slimhlo-optimize | FileCheck %s --check-prefix=AGAIN
// AGAIN: "stablehlo.while"

// CHECK-LABEL: @same
// CHECK: stablehlo.while(%iterArg = %arg0) : tensor<?x4xf32>
func.func @same(%x: tensor<?x4xf32>, %go: tensor<i1>) -> tensor<?x4xf32> {
  %0 = stablehlo.while(%v = %x) : tensor<?x4xf32>
  cond {
    stablehlo.return %go : tensor<i1>
  } do {
    %w = stablehlo.concatenate %v, %v, dim = 0 : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    stablehlo.return %w : tensor<?x4xf32>
  }
  return %0 : tensor<?x4xf32>
}

// CHECK-LABEL: @others
// CHECK: "stablehlo.while"(%arg0) ({
// CHECK-NEXT: ^bb0(%iterArg: tensor<?x4xf32>):
// CHECK: }) : (tensor<8x4xf32>) -> tensor<?x4xf32>
func.func @others(%x: tensor<8x4xf32>, %go: tensor<i1>) -> tensor<?x4xf32> {
  %0 = "stablehlo.while"(%x) ({
  ^bb0(%v: tensor<?x4xf32>):
    stablehlo.return %go : tensor<i1>
  }, {
  ^bb0(%v: tensor<?x4xf32>):
    %w = stablehlo.negate %v : tensor<?x4xf32>
    stablehlo.return %w : tensor<?x4xf32>
  }) : (tensor<8x4xf32>) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}
