// Large constants of booleans: jaxlib prints a byte per element, MLIR 22 a bit. Both are read; jaxlib's form is printed unless the
// other is asked for. (A stock mlir-opt reads and prints its own.)
// UNSUPPORTED: plugin

// RUN: slimhlo-opt %s | FileCheck %s --check-prefixes=CHECK,BYTES
// RUN: slimhlo-opt %s --boolean-constants=bits | FileCheck %s --check-prefixes=CHECK,BITS
// RUN: slimhlo-opt %s --boolean-constants=bits | slimhlo-opt | FileCheck %s --check-prefixes=CHECK,BYTES
// RUN: slimhlo-opt %s --mlir-print-op-generic | slimhlo-opt | FileCheck %s --check-prefixes=CHECK,BYTES
// RUN: slimhlo-opt %s --emit-bytecode | slimhlo-opt | FileCheck %s --check-prefixes=CHECK,BYTES

// CHECK-LABEL: @bytes
func.func @bytes() -> tensor<101xi1> {
  // BYTES: stablehlo.constant dense<"0x0100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100"> : tensor<101xi1>
  // BITS: stablehlo.constant dense<"0x49922449922449922449922409"> : tensor<101xi1>
  %c = stablehlo.constant dense<"0x0100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100"> : tensor<101xi1>
  return %c : tensor<101xi1>
}

// CHECK-LABEL: @bits
func.func @bits() -> tensor<13x8xi1> {
  // BYTES: stablehlo.constant dense<"0x0100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100"> : tensor<13x8xi1>
  // BITS: stablehlo.constant dense<"0x49922449922449922449922449"> : tensor<13x8xi1>
  %c = stablehlo.constant dense<"0x49922449922449922449922449"> : tensor<13x8xi1>
  return %c : tensor<13x8xi1>
}

// What neither prints but jaxlib reads: one value for all.
// CHECK-LABEL: @splat
func.func @splat() -> (tensor<300xi1>, tensor<i1>, tensor<0xi1>) {
  // CHECK: dense<true> : tensor<300xi1>
  %a = stablehlo.constant dense<"0x01"> : tensor<300xi1>
  // CHECK: dense<true> : tensor<i1>
  %b = stablehlo.constant dense<"0x01"> : tensor<i1>
  // CHECK: dense<> : tensor<0xi1>
  %c = stablehlo.constant dense<"0x"> : tensor<0xi1>
  return %a, %b, %c : tensor<300xi1>, tensor<i1>, tensor<0xi1>
}

// Up to 100 elements are printed one by one.
// CHECK-LABEL: @small
func.func @small() -> (tensor<2xi1>, tensor<9xi1>) {
  // CHECK: dense<[true, false]> : tensor<2xi1>
  %a = stablehlo.constant dense<"0x0100"> : tensor<2xi1>
  // CHECK: dense<[true, false, false, false, false, false, false, false, true]> : tensor<9xi1>
  %b = stablehlo.constant dense<"0x010000000000000001"> : tensor<9xi1>
  return %a, %b : tensor<2xi1>, tensor<9xi1>
}

// Other narrow types have a byte per element in both.
// CHECK-LABEL: @nibbles
func.func @nibbles() -> tensor<101xi4> {
  // CHECK: stablehlo.constant dense<"0x0100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100"> : tensor<101xi4>
  %c = stablehlo.constant dense<"0x0100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100"> : tensor<101xi4>
  return %c : tensor<101xi4>
}

// What looks like a constant, but is a text.
// CHECK-LABEL: @text
// CHECK-SAME: a.text = "dense<\220x0100\22> : tensor<2xi1>"
func.func @text() attributes {a.text = "dense<\"0x0100\"> : tensor<2xi1>"} {
  return
}
