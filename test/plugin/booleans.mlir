// UNSUPPORTED: plugin
// A stock mlir-opt reads large constants of booleans as jaxlib prints them, one byte per element: the op's own parser does.

// RUN: mlir-opt --load-dialect-plugin=%slimhlo_plugin %s | FileCheck %s
// RUN: slimhlo-opt --boolean-constants=bits %s | FileCheck %s

// Where MLIR's parser alone sees one it complains, and what to do comes after.
// RUN: not mlir-opt --load-dialect-plugin=%slimhlo_plugin %S/Inputs/booleans.mlir 2>&1 | FileCheck %s --check-prefix=NOTE
// NOTE: booleans.mlir:2:{{.*}}: error: elements hex data size is invalid for provided type: 'tensor<16xi1>'
// NOTE: note: jaxlib prints large constants of booleans with a byte per element, which MLIR 22 reads with a bit; `slimhlo-opt --boolean-constants=bits INPUT -o OUTPUT` makes bits of bytes
// RUN: slimhlo-opt --boolean-constants=bits %S/Inputs/booleans.mlir -o %t.mlir
// RUN: mlir-opt --load-dialect-plugin=%slimhlo_plugin %t.mlir | FileCheck %s --check-prefix=MADE
// MADE: dense<[false, true, false, false, false, false, false, false, false, false, false, false, false, false, false, true]> : tensor<16xi1>

// CHECK-LABEL: @booleans
func.func @booleans() -> (tensor<16xi1>, tensor<3x3xi1>, tensor<16xi1>, tensor<i1>, tensor<64xi1>, tensor<16xi8>) {
  // CHECK-DAG: dense<[false, true, false, false, false, false, false, false, false, false, false, false, false, false, false, true]> : tensor<16xi1>
  %bytes = stablehlo.constant dense<"0x00010000000000000000000000000001"> : tensor<16xi1>
  // CHECK-DAG: dense<{{\[\[}}true, false, true], [false, false, false], [false, false, true]]> : tensor<3x3xi1>
  %more = stablehlo.constant dense <
    "0x010001000000000001" > : tensor < 3x3xi1 >
  // Bits.
  // CHECK-DAG: dense<[true, false, true, false, false, false, false, false, false, true, false, false, false, false, false, false]> : tensor<16xi1>
  %bits = stablehlo.constant dense<"0x0502"> : tensor<16xi1>
  // CHECK-DAG: dense<true> : tensor<i1>
  %one = stablehlo.constant dense<"0x01"> : tensor<i1>
  // CHECK-DAG: dense<true> : tensor<64xi1>
  %all = stablehlo.constant dense<"0x01"> : tensor<64xi1>
  // CHECK-DAG: dense<[0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]> : tensor<16xi8>
  %others = stablehlo.constant dense<"0x00010000000000000000000000000002"> : tensor<16xi8>
  return %bytes, %more, %bits, %one, %all, %others : tensor<16xi1>, tensor<3x3xi1>, tensor<16xi1>, tensor<i1>, tensor<64xi1>, tensor<16xi8>
}
