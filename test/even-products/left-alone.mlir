// RUN: slimhlo-opt %s --slimhlo-even-products | FileCheck %s
// CHECK-NOT: stablehlo.reduce

// The target's own parts come out even.
func.func @even(%a: tensor<64x65536xf32>, %x: tensor<65536x64xf32>) -> tensor<64x64xf32> {
  %0 = stablehlo.dot_general %a, %x, contracting_dims = [1] x [0] : (tensor<64x65536xf32>, tensor<65536x64xf32>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}

// It is done as a whole.
func.func @whole(%a: tensor<2048x1001xf32>, %x: tensor<1001x2048xf32>) -> tensor<2048x2048xf32> {
  %0 = stablehlo.dot_general %a, %x, contracting_dims = [1] x [0] : (tensor<2048x1001xf32>, tensor<1001x2048xf32>) -> tensor<2048x2048xf32>
  return %0 : tensor<2048x2048xf32>
}

// A prime number of elements falls into no parts.
func.func @prime(%a: tensor<64x65537xf32>, %x: tensor<65537x64xf32>) -> tensor<64x64xf32> {
  %0 = stablehlo.dot_general %a, %x, contracting_dims = [1] x [0] : (tensor<64x65537xf32>, tensor<65537x64xf32>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}

// A library does those of f64.
func.func @wide(%a: tensor<8x500000xf64>, %x: tensor<500000x54xf64>) -> tensor<8x54xf64> {
  %0 = stablehlo.dot_general %a, %x, contracting_dims = [1] x [0] : (tensor<8x500000xf64>, tensor<500000x54xf64>) -> tensor<8x54xf64>
  return %0 : tensor<8x54xf64>
}

// Integers.
func.func @integers(%a: tensor<8x500000xi32>, %x: tensor<500000x54xi32>) -> tensor<8x54xi32> {
  %0 = stablehlo.dot_general %a, %x, contracting_dims = [1] x [0] : (tensor<8x500000xi32>, tensor<500000x54xi32>) -> tensor<8x54xi32>
  return %0 : tensor<8x54xi32>
}

// It says how it is to be computed.
func.func @algorithm(%a: tensor<8x500000xf32>, %x: tensor<500000x54xf32>) -> tensor<8x54xf32> {
  %0 = stablehlo.dot_general %a, %x, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<8x500000xf32>, tensor<500000x54xf32>) -> tensor<8x54xf32>
  return %0 : tensor<8x54xf32>
}

// Two dimensions are contracted.
func.func @two(%a: tensor<8x500x1000xf32>, %x: tensor<500x1000x54xf32>) -> tensor<8x54xf32> {
  %0 = stablehlo.dot_general %a, %x, contracting_dims = [1, 2] x [0, 1] : (tensor<8x500x1000xf32>, tensor<500x1000x54xf32>) -> tensor<8x54xf32>
  return %0 : tensor<8x54xf32>
}

// An attribute would be lost.
func.func @annotated(%a: tensor<8x500000xf32>, %x: tensor<500000x54xf32>) -> tensor<8x54xf32> {
  %0 = stablehlo.dot_general %a, %x, contracting_dims = [1] x [0] {mhlo.frontend_attributes = {mine = "1"}} : (tensor<8x500000xf32>, tensor<500000x54xf32>) -> tensor<8x54xf32>
  return %0 : tensor<8x54xf32>
}
