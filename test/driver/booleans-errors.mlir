// What is wrong behind a constant of booleans is found at its own column, and wrong constants are named.
// UNSUPPORTED: plugin
// RUN: not slimhlo-opt %s --split-input-file 2>&1 | FileCheck %s

// CHECK: booleans-errors.mlir:[[@LINE+2]]:77: error: use of undeclared SSA value name
func.func @column() -> tensor<2xi1> {
  %c = stablehlo.constant dense<"0x0100"> : tensor<2xi1> %d = stablehlo.not %e : tensor<2xi1>
  return %c : tensor<2xi1>
}

// -----

// CHECK: booleans-errors.mlir:[[@LINE+2]]:27: error: custom op 'stablehlo.constant' elements hex data size is invalid for provided type: 'tensor<4xi1>'
func.func @size() -> tensor<4xi1> {
  %c = stablehlo.constant dense<"0x010001"> : tensor<4xi1>
  return %c : tensor<4xi1>
}
