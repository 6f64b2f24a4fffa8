// RUN: slimhlo-opt %s --slimhlo-to-kernels --slimhlo-emit-gpu --slimhlo-to-ptx=chip=sm_90 | sed 's/\\0A/\n/g; s/\\09/ /g' | FileCheck %s --check-prefix=NATIVE
// RUN: slimhlo-opt %s --slimhlo-to-kernels --slimhlo-emit-gpu --slimhlo-to-ptx=chip=sm_80 | sed 's/\\0A/\n/g; s/\\09/ /g' | FileCheck %s --check-prefix=SWAP

// Sums in bf16 are atomic where the chip can do them: of whole words, for a half it has no instruction; -0 is added to the other half. Elsewhere a
// word is swapped until nobody was faster.

// NATIVE-LABEL: .entry scatter_0(
// NATIVE-NOT: atom
// NATIVE: %low, %none, %rs[[UPDATE:[0-9]+]], %second;
// NATIVE: %high, %rs[[UPDATE]], %none, %second;
// NATIVE: red.global.add.noftz.bf16x2
// NATIVE-NOT: atom
// NATIVE: ret;
// SWAP-LABEL: .entry scatter_0(
// SWAP: atom{{.*}}.cas.b{{16|32}}
// SWAP: ret;
func.func @main(%table: tensor<32000x1024xbf16> {tf.aliasing_output = 0 : i32}, %i: tensor<4096x1xi32>, %u: tensor<4096x1024xbf16>) -> tensor<32000x1024xbf16> {
  %r = "stablehlo.scatter"(%table, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
    %s = stablehlo.add %a, %b : tensor<bf16>
    stablehlo.return %s : tensor<bf16>
  }) : (tensor<32000x1024xbf16>, tensor<4096x1xi32>, tensor<4096x1024xbf16>) -> tensor<32000x1024xbf16>
  return %r : tensor<32000x1024xbf16>
}
