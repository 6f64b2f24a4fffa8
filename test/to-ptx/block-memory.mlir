// RUN: slimhlo-opt %s --split-input-file --slimhlo-to-kernels --slimhlo-emit-gpu --slimhlo-to-ptx | \
// RUN:   sed 's/\\0A/\n/g; s/\\09/ /g' | FileCheck %s

// A row's parts in f64 are handed to other warps as two halves, each in a register of its own: ptxas converts what is stored in part
// of a register in which it has seen a float.

// CHECK: .shared .align 16 .b8 __wg_
// CHECK: .reg .b32 {{ *}}%part;
// CHECK-NEXT: cvt.u32.u64 {{ *}}%part, %rd{{[0-9]+}};
// CHECK-NEXT: st.shared.b32 {{ *}}[%rd{{[0-9]+}}], %part;
// CHECK-NOT: st.shared.b32 {{ *}}[%rd{{[0-9]+}}], %rd
// CHECK: ret;
func.func @rows(%x: tensor<6x2304xf64>) -> tensor<6x2304xf64> {
  %zero = stablehlo.constant dense<0.000000e+00> : tensor<f64>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<6x2304xf64>, tensor<f64>) -> tensor<6xf64>
  %sums = stablehlo.broadcast_in_dim %sum, dims = [0] : (tensor<6xf64>) -> tensor<6x2304xf64>
  %out = stablehlo.divide %x, %sums : tensor<6x2304xf64>
  return %out : tensor<6x2304xf64>
}

// -----

// A sort's arrays in a block's memory hold elements of two bytes, and are written four at a time: they begin where 16 bytes may.

// CHECK: .shared .align 16 .b8 __wg_sort
func.func @sorted(%x: tensor<3x4096xbf16>) -> tensor<3x4096xbf16> {
  %out = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
    %less = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<3x4096xbf16>) -> tensor<3x4096xbf16>
  return %out : tensor<3x4096xbf16>
}
