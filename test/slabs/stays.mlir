// RUN: slimhlo-opt %s --slimhlo-slabs="target=xla-cpu min-bytes=1 slab-bytes=64" | FileCheck %s
// CHECK-NOT: stablehlo.while

// Nothing is stored between: it fuses.
func.func @one_stage(%x: tensor<64x4xf32>) -> tensor<62x4xf32> {
  %a = stablehlo.slice %x [0:62, 0:4] : (tensor<64x4xf32>) -> tensor<62x4xf32>
  %b = stablehlo.slice %x [2:64, 0:4] : (tensor<64x4xf32>) -> tensor<62x4xf32>
  %new = stablehlo.subtract %a, %b : tensor<62x4xf32>
  return %new : tensor<62x4xf32>
}

// Too few rows for their halo.
func.func @few_rows(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %a = stablehlo.slice %x [6:8, 0:4] : (tensor<8x4xf32>) -> tensor<2x4xf32>
  %b = stablehlo.slice %x [0:6, 0:4] : (tensor<8x4xf32>) -> tensor<6x4xf32>
  %west = stablehlo.concatenate %a, %b, dim = 0 : (tensor<2x4xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  %d = stablehlo.subtract %x, %west : tensor<8x4xf32>
  %c = stablehlo.slice %d [2:8, 0:4] : (tensor<8x4xf32>) -> tensor<6x4xf32>
  %e = stablehlo.slice %d [0:2, 0:4] : (tensor<8x4xf32>) -> tensor<2x4xf32>
  %east = stablehlo.concatenate %c, %e, dim = 0 : (tensor<6x4xf32>, tensor<2x4xf32>) -> tensor<8x4xf32>
  %new = stablehlo.subtract %east, %d : tensor<8x4xf32>
  return %new : tensor<8x4xf32>
}

// What is between is needed elsewhere, whole: it is there.
func.func @needed(%x: tensor<64x4xf32>) -> (tensor<64x4xf32>, tensor<4x4xf32>) {
  %a = stablehlo.slice %x [63:64, 0:4] : (tensor<64x4xf32>) -> tensor<1x4xf32>
  %b = stablehlo.slice %x [0:63, 0:4] : (tensor<64x4xf32>) -> tensor<63x4xf32>
  %west = stablehlo.concatenate %a, %b, dim = 0 : (tensor<1x4xf32>, tensor<63x4xf32>) -> tensor<64x4xf32>
  %d = stablehlo.subtract %x, %west : tensor<64x4xf32>
  %dot = stablehlo.dot_general %d, %d, contracting_dims = [0] x [0] : (tensor<64x4xf32>, tensor<64x4xf32>) -> tensor<4x4xf32>
  %new = stablehlo.add %d, %d : tensor<64x4xf32>
  return %new, %dot : tensor<64x4xf32>, tensor<4x4xf32>
}
