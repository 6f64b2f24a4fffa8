// RUN: slimhlo-opt %s --slimhlo-simplify --split-input-file | FileCheck %s
// RUN: slimhlo-opt %s "--pass-pipeline=builtin.module(func.func(slimhlo-simplify{partitioned-only=true}))" --split-input-file | FileCheck %s --check-prefix=PARTITIONED

// A gather of one slice is a slice for several partitions, too.
module attributes {mhlo.num_partitions = 2 : i32} {
  // CHECK-LABEL: func @gather
  // CHECK-NEXT: %[[R:.*]] = stablehlo.slice %arg0 [9:10, 0:4]
  // CHECK-NEXT: return %[[R]]
  // PARTITIONED-LABEL: func @gather
  // PARTITIONED-NEXT: stablehlo.slice
  func.func @gather(%x: tensor<10x4xf32>) -> tensor<1x4xf32> {
    %c = stablehlo.constant dense<9> : tensor<1xi16>
    %0 = "stablehlo.gather"(%x, %c) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], start_index_map = [0]>, slice_sizes = array<i64: 1, 4>}> : (tensor<10x4xf32>, tensor<1xi16>) -> tensor<1x4xf32>
    return %0 : tensor<1x4xf32>
  }

  // Of narrow floats it stays.
  // CHECK-LABEL: func @narrow
  // CHECK: "stablehlo.gather"
  func.func @narrow(%x: tensor<10x4xbf16>) -> tensor<1x4xbf16> {
    %c = stablehlo.constant dense<9> : tensor<1xi16>
    %0 = "stablehlo.gather"(%x, %c) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], start_index_map = [0]>, slice_sizes = array<i64: 1, 4>}> : (tensor<10x4xbf16>, tensor<1xi16>) -> tensor<1x4xbf16>
    return %0 : tensor<1x4xbf16>
  }

  // So does a concatenation, whose shards are the partitioner's.
  // CHECK-LABEL: func @joined
  // CHECK: stablehlo.concatenate
  func.func @joined(%x: tensor<10x4xf32>) -> tensor<10x4xf32> {
    %0 = stablehlo.slice %x [0:5, 0:4] : (tensor<10x4xf32>) -> tensor<5x4xf32>
    %1 = stablehlo.slice %x [5:10, 0:4] : (tensor<10x4xf32>) -> tensor<5x4xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<10x4xf32>
    return %2 : tensor<10x4xf32>
  }
}

// -----

// CHECK-LABEL: func @one_partition
// CHECK-NOT: stablehlo.gather
// PARTITIONED-LABEL: func @one_partition
// PARTITIONED: "stablehlo.gather"
func.func @one_partition(%x: tensor<10x4xf32>) -> tensor<1x4xf32> {
  %c = stablehlo.constant dense<9> : tensor<1xi16>
  %0 = "stablehlo.gather"(%x, %c) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], start_index_map = [0]>, slice_sizes = array<i64: 1, 4>}> : (tensor<10x4xf32>, tensor<1xi16>) -> tensor<1x4xf32>
  return %0 : tensor<1x4xf32>
}
