// RUN: slimhlo-opt %s --slimhlo-data-parallel="target=h100" --split-input-file | FileCheck %s

// CHECK-NOT: sdy.manual_computation

// Rows of other devices are wanted.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["data"=2]>
  func.func public @main(%x: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> tensor<16x4xf32> {
    %0 = stablehlo.reverse %x, dims = [0] : tensor<16x4xf32>
    return %0 : tensor<16x4xf32>
  }
}

// -----

// A parameter is cut as well: what is gathered when is for the partitioner to say.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["data"=2]>
  func.func public @main(%x: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}, %w: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> tensor<16x8xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16x4xf32>, tensor<4x8xf32>) -> tensor<16x8xf32>
    return %0 : tensor<16x8xf32>
  }
}

// -----

// Two dimensions are cut.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["data"=2, "model"=2]>
  func.func public @main(%x: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>}) -> tensor<16x4xf32> {
    %0 = stablehlo.sine %x : tensor<16x4xf32>
    return %0 : tensor<16x4xf32>
  }
}

// -----

// A result is asked for whole: the partitioner gathers it.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["data"=2]>
  func.func public @main(%x: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> (tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = stablehlo.sine %x : tensor<16x4xf32>
    return %0 : tensor<16x4xf32>
  }
}

// -----

// A constraint says something else.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["data"=2]>
  func.func public @main(%x: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> tensor<16x4xf32> {
    %0 = stablehlo.sine %x : tensor<16x4xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{}, {"data"}]> : tensor<16x4xf32>
    return %1 : tensor<16x4xf32>
  }
}

// -----

// It is not said how the table comes: a partitioner might have it come in parts.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["data"=2]>
  func.func public @main(%x: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}, %table: tensor<16x4xf32>) -> tensor<16x4xf32> {
    %0 = stablehlo.add %x, %table : tensor<16x4xf32>
    return %0 : tensor<16x4xf32>
  }
}

// -----

// What is scattered into counts once, and is no zero here.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["data"=2]>
  func.func public @main(%into: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, %rows: tensor<16x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}, %x: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> tensor<8x4xf32> {
    %0 = "stablehlo.scatter"(%into, %rows, %x) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<8x4xf32>, tensor<16x1xi32>, tensor<16x4xf32>) -> tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
}

// -----

// What is in branches is not looked into; nor are rows that do not come out even.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["data"=2]>
  func.func public @main(%p: tensor<i1>, %x: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> tensor<16x4xf32> {
    %0 = "stablehlo.if"(%p) ({
      stablehlo.return %x : tensor<16x4xf32>
    }, {
      %1 = stablehlo.sine %x : tensor<16x4xf32>
      stablehlo.return %1 : tensor<16x4xf32>
    }) : (tensor<i1>) -> tensor<16x4xf32>
    return %0 : tensor<16x4xf32>
  }
}

// -----

module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["data"=4]>
  func.func public @main(%x: tensor<6x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> tensor<6x4xf32> {
    %0 = stablehlo.sine %x : tensor<6x4xf32>
    return %0 : tensor<6x4xf32>
  }
}

// -----

// A barrier says that what it hands on is whole: the partitioner gathers it.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["data"=2]>
  func.func public @main(%x: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> tensor<16x4xf32> {
    %0 = stablehlo.optimization_barrier {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} %x : tensor<16x4xf32>
    %1 = stablehlo.sine %0 : tensor<16x4xf32>
    return %1 : tensor<16x4xf32>
  }
}
