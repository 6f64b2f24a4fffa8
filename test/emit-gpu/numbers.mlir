// RUN: slimhlo-opt %s --slimhlo-emit-gpu --canonicalize --cse --split-input-file | FileCheck %s

// By zero, the quotient is all ones and the remainder the dividend; nothing traps.

// CHECK-LABEL: gpu.func @divide
// CHECK: arith.cmpi eq
// CHECK: arith.select
// CHECK: arith.divsi
// CHECK: arith.select
func.func private @divide(%x: tensor<8xi32>, %y: tensor<8xi32>) -> tensor<8xi32> attributes {slimhlo.kernel = "map"} {
  %r = stablehlo.divide %x, %y : tensor<8xi32>
  return %r : tensor<8xi32>
}

// -----

// Of unsigned numbers.

// CHECK-LABEL: gpu.func @unsigned
// CHECK: arith.divui
// CHECK-NOT: arith.divsi
func.func private @unsigned(%x: tensor<8xui32>, %y: tensor<8xui32>) -> tensor<8xui32> attributes {slimhlo.kernel = "map"} {
  %r = stablehlo.divide %x, %y : tensor<8xui32>
  return %r : tensor<8xui32>
}

// -----

// A shift by the width or more leaves nothing.

// CHECK-LABEL: gpu.func @shift
// CHECK: arith.cmpi ule
// CHECK: arith.shli
// CHECK: arith.select
func.func private @shift(%x: tensor<8xui32>, %y: tensor<8xui32>) -> tensor<8xui32> attributes {slimhlo.kernel = "map"} {
  %r = stablehlo.shift_left %x, %y : tensor<8xui32>
  return %r : tensor<8xui32>
}

// -----

// bf16 is computed as f32 and rounded.

// CHECK-LABEL: gpu.func @half
// CHECK: arith.extf {{.*}} : bf16 to f32
// CHECK: arith.addf {{.*}} : f32
// CHECK: arith.truncf {{.*}} : f32 to bf16
func.func private @half(%x: tensor<8xbf16>, %y: tensor<8xbf16>) -> tensor<8xbf16> attributes {slimhlo.kernel = "map"} {
  %r = stablehlo.add %x, %y : tensor<8xbf16>
  return %r : tensor<8xbf16>
}

// -----

// Conversion to an integer saturates; out of range and NaNs never reach the conversion.

// CHECK-LABEL: gpu.func @saturate
// CHECK: arith.cmpf oge
// CHECK: arith.cmpf olt
// CHECK: arith.fptosi {{.*}} : f32 to i32
func.func private @saturate(%x: tensor<8xf32>) -> tensor<8xi32> attributes {slimhlo.kernel = "map"} {
  %r = stablehlo.convert %x : (tensor<8xf32>) -> tensor<8xi32>
  return %r : tensor<8xi32>
}

// -----

// Narrow floats are bytes; integer arithmetic makes them f32.

// CHECK-LABEL: gpu.func @narrow
// CHECK: llvm.load {{.*}} -> i8
// CHECK: arith.extui
// CHECK-NOT: f8E4M3FN
func.func private @narrow(%x: tensor<8xf8E4M3FN>) -> tensor<8xf32> attributes {slimhlo.kernel = "map"} {
  %r = stablehlo.convert %x : (tensor<8xf8E4M3FN>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// A NaN in either operand is the result.

// CHECK-LABEL: gpu.func @maximum
// CHECK: arith.maximumf
func.func private @maximum(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> attributes {slimhlo.kernel = "map"} {
  %r = stablehlo.maximum %x, %y : tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// Functions that math lacks are written out.

// CHECK-LABEL: gpu.func @gamma
// CHECK: math.log
// CHECK-NOT: chlo
// CHECK: gpu.return
func.func private @gamma(%x: tensor<8xf32>) -> tensor<8xf32> attributes {slimhlo.kernel = "map"} {
  %r = chlo.lgamma %x : tensor<8xf32> -> tensor<8xf32>
  return %r : tensor<8xf32>
}
