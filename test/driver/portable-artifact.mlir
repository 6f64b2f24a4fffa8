// A portable artifact of any version comes back as the module it was made of. (A stock mlir-opt knows no artifacts.)
// UNSUPPORTED: plugin

// RUN: slimhlo-opt %s -o %t.mlir
// RUN: slimhlo-opt %s --emit-portable-artifact -o %t.new
// RUN: slimhlo-opt %t.new | diff - %t.mlir
// RUN: slimhlo-opt %s --emit-portable-artifact=0.9.0 -o %t.old
// RUN: slimhlo-opt %t.old | diff - %t.mlir
// RUN: slimhlo-opt %s --emit-portable-artifact=1.5.3 | slimhlo-opt | diff - %t.mlir

// As text, which is read, too. Versions of ops follow the version that is asked for.
// RUN: slimhlo-opt %s --emit-vhlo | FileCheck %s --check-prefixes=VHLO,NEW
// RUN: slimhlo-opt %s --emit-vhlo=1.0.0 | FileCheck %s --check-prefixes=VHLO,OLD
// RUN: slimhlo-opt %s --emit-vhlo=1.0.0 | slimhlo-opt | diff - %t.mlir

// Passes run on what was read.
// RUN: slimhlo-opt %t.old --canonicalize | FileCheck %s --check-prefix=PASS
// PASS-NOT: stablehlo.constant dense<true>

module @step attributes {mhlo.num_partitions = 1 : i32} {
  // VHLO: vhlo.func_v1 @main(%arg0: !vhlo.tensor_v1<4x8x!vhlo.f32_v1>, %arg1: !vhlo.tensor_v1<8x?x!vhlo.f32_v1, #vhlo.type_extensions_v1<bounds = [?, 4]>>) -> (!vhlo.tensor_v1<4x8x!vhlo.f32_v1>)
  func.func public @main(%a: tensor<4x8xf32> {jax.buffer_donor = true}, %b: tensor<8x?xf32, #stablehlo.bounds<?, 4>>) -> tensor<4x8xf32> {
    // NEW: "vhlo.exponential_v2"(%arg0) <{result_accuracy = #vhlo.result_accuracy_v1<atol = 0.000000e+00, rtol = 0.000000e+00, ulps = 0, mode = #vhlo<result_accuracy_mode_v1 DEFAULT>>}>
    // OLD: "vhlo.exponential_v1"(%arg0) :
    %0 = stablehlo.exponential %a : tensor<4x8xf32>
    // NEW: "vhlo.dot_general_v2"{{.*}}accumulation_type = #vhlo.type_v1<!vhlo.none_v1>
    // OLD: "vhlo.dot_general_v1"{{.*}}precision_config = #vhlo.array_v1<[#vhlo<precision_v1 HIGH>, #vhlo<precision_v1 DEFAULT>]>
    %1 = stablehlo.dot_general %0, %a, contracting_dims = [1] x [1], precision = [HIGH, DEFAULT] : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
    // VHLO: "vhlo.constant_v1"() <{value = #vhlo.tensor_v1<dense<true> : tensor<300xi1>>}>
    %2 = stablehlo.constant dense<true> : tensor<300xi1>
    // VHLO: "vhlo.while_v1"
    %3 = stablehlo.while(%i = %1) : tensor<4x4xf32>
    cond {
      %c = stablehlo.constant dense<false> : tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      stablehlo.return %i : tensor<4x4xf32>
    }
    // VHLO: "vhlo.custom_call_v1"{{.*}}call_target_name = #vhlo.string_v1<"target \22x\22">
    %4 = stablehlo.custom_call @"target \22x\22"(%3) {mhlo.frontend_attributes = {a = "b"}} : (tensor<4x4xf32>) -> tensor<4x8xf32>
    // VHLO: "vhlo.return_v1"
    return %4 : tensor<4x8xf32>
  }
}
