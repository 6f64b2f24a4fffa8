// RUN: slimhlo-opt %s --slimhlo-fuse-concatenates --split-input-file | FileCheck %s --implicit-check-not=stablehlo.reshape

// Rows of 127 elements XLA for CPU joins on the fly as they are.
// CHECK-LABEL: func.func @short
func.func @short(%x: tensor<64x126xf64>, %y: tensor<64x1xf64>) -> tensor<64x127xf64> {
  %0 = stablehlo.negate %x : tensor<64x126xf64>
  %1 = stablehlo.concatenate %0, %y, dim = 1 : (tensor<64x126xf64>, tensor<64x1xf64>) -> tensor<64x127xf64>
  return %1 : tensor<64x127xf64>
}

// -----

// Along any other dimension, likewise.
// CHECK-LABEL: func.func @columns
func.func @columns(%x: tensor<64x512xf64>) -> tensor<128x512xf64> {
  %0 = stablehlo.negate %x : tensor<64x512xf64>
  %1 = stablehlo.concatenate %0, %x, dim = 0 : (tensor<64x512xf64>, tensor<64x512xf64>) -> tensor<128x512xf64>
  return %1 : tensor<128x512xf64>
}

// -----

// More than eight are copied in any form.
// CHECK-LABEL: func.func @many
func.func @many(%x: tensor<64x64xf64>) -> tensor<64x576xf64> {
  %0 = stablehlo.negate %x : tensor<64x64xf64>
  %1 = stablehlo.concatenate %0, %0, %0, %0, %0, %0, %0, %0, %x, dim = 1 : (tensor<64x64xf64>, tensor<64x64xf64>, tensor<64x64xf64>, tensor<64x64xf64>, tensor<64x64xf64>, tensor<64x64xf64>, tensor<64x64xf64>, tensor<64x64xf64>, tensor<64x64xf64>) -> tensor<64x576xf64>
  return %1 : tensor<64x576xf64>
}

// -----

// Nothing around it is computed: it is a copy.
// CHECK-LABEL: func.func @copy
func.func @copy(%x: tensor<64x512xf64>) -> tensor<64x1024xf64> {
  %0 = stablehlo.concatenate %x, %x, dim = 1 : (tensor<64x512xf64>, tensor<64x512xf64>) -> tensor<64x1024xf64>
  return %0 : tensor<64x1024xf64>
}

// -----

// An annotation may say something of the dimensions.
// CHECK-LABEL: func.func @annotated
func.func @annotated(%x: tensor<64x512xf64>) -> tensor<64x1024xf64> {
  %0 = stablehlo.negate %x : tensor<64x512xf64>
  %1 = stablehlo.concatenate %0, %x, dim = 1 {mhlo.frontend_attributes = {note = "kept"}} : (tensor<64x512xf64>, tensor<64x512xf64>) -> tensor<64x1024xf64>
  return %1 : tensor<64x1024xf64>
}

// -----

// A partitioner decides about sharded values.
// CHECK-LABEL: func.func @main
module attributes {mhlo.num_partitions = 4 : i32} {
  func.func @main(%x: tensor<64x512xf64>) -> tensor<64x1024xf64> {
    %0 = stablehlo.negate %x : tensor<64x512xf64>
    %1 = stablehlo.concatenate %0, %x, dim = 1 : (tensor<64x512xf64>, tensor<64x512xf64>) -> tensor<64x1024xf64>
    return %1 : tensor<64x1024xf64>
  }
}

// -----

// Sizes that are not known.
// CHECK-LABEL: func.func @dynamic
func.func @dynamic(%x: tensor<64x?xf64>) -> tensor<64x?xf64> {
  %0 = stablehlo.negate %x : tensor<64x?xf64>
  %1 = stablehlo.concatenate %0, %x, dim = 1 : (tensor<64x?xf64>, tensor<64x?xf64>) -> tensor<64x?xf64>
  return %1 : tensor<64x?xf64>
}
