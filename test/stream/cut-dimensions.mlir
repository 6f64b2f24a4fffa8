// RUN: slimhlo-opt %s "--pass-pipeline=builtin.module(func.func(slimhlo-stream{target=xla-cpu chunk-bytes=64}))" | FileCheck %s
// Where a partitioner spreads values over devices, loops run along dimensions that it cannot cut.

module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>

  // Rows are cut, if not evenly: columns in chunks. Chunks are of all rows.
  // CHECK-LABEL: func @columns
  // CHECK: stablehlo.while
  // CHECK: "stablehlo.gather"{{.*}} -> tensor<5x{{[0-9]+}}xf32>
  func.func @columns(%table: tensor<10xf32>, %indices: tensor<5x4096x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}) -> tensor<5xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %rows = "stablehlo.gather"(%table, %indices) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1>}> : (tensor<10xf32>, tensor<5x4096x1xi32>) -> tensor<5x4096xf32>
    %sum = stablehlo.reduce(%rows init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<5x4096xf32>, tensor<f32>) -> tensor<5xf32>
    return %sum : tensor<5xf32>
  }

  // What is reduced is cut, on the other side of a transpose; and each device would begin with the initial value.
  // CHECK-LABEL: func @cut
  // CHECK-NOT: stablehlo.while
  // CHECK: return
  func.func @cut(%table: tensor<10xf32>, %indices: tensor<4096x4x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}, %init: tensor<f32>) -> tensor<4xf32> {
    %turned = stablehlo.transpose %indices, dims = [1, 0, 2] : (tensor<4096x4x1xi32>) -> tensor<4x4096x1xi32>
    %rows = "stablehlo.gather"(%table, %turned) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1>}> : (tensor<10xf32>, tensor<4x4096x1xi32>) -> tensor<4x4096xf32>
    %sum = stablehlo.reduce(%rows init: %init) applies stablehlo.add across dimensions = [1] : (tensor<4x4096xf32>, tensor<f32>) -> tensor<4xf32>
    return %sum : tensor<4xf32>
  }

  // The table is cut: devices would have to talk in each turn.
  // CHECK-LABEL: func @looked_up
  // CHECK-NOT: stablehlo.while
  // CHECK: return
  func.func @looked_up(%table: tensor<10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %indices: tensor<4x4096x1xi32>) -> tensor<4xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %rows = "stablehlo.gather"(%table, %indices) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1>}> : (tensor<10xf32>, tensor<4x4096x1xi32>) -> tensor<4x4096xf32>
    %sum = stablehlo.reduce(%rows init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x4096xf32>, tensor<f32>) -> tensor<4xf32>
    return %sum : tensor<4xf32>
  }

  // Rows are added to what is cut otherwise.
  // CHECK-LABEL: func @differently
  // CHECK-NOT: stablehlo.while
  // CHECK: return
  func.func @differently(%table: tensor<10xf32>, %indices: tensor<4x4096x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}, %more: tensor<4x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> tensor<4xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %rows = "stablehlo.gather"(%table, %indices) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1>}> : (tensor<10xf32>, tensor<4x4096x1xi32>) -> tensor<4x4096xf32>
    %both = stablehlo.add %rows, %more : tensor<4x4096xf32>
    %sum = stablehlo.reduce(%both init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x4096xf32>, tensor<f32>) -> tensor<4xf32>
    return %sum : tensor<4xf32>
  }

  // Shardings in another form are not looked into.
  // CHECK-LABEL: func @other_form
  // CHECK-NOT: stablehlo.while
  // CHECK: return
  func.func @other_form(%table: tensor<10xf32>, %indices: tensor<4x4096x1xi32> {mhlo.sharding = "{devices=[2,1,1]<=[2]}"}) -> tensor<4xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %rows = "stablehlo.gather"(%table, %indices) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1>}> : (tensor<10xf32>, tensor<4x4096x1xi32>) -> tensor<4x4096xf32>
    %sum = stablehlo.reduce(%rows init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x4096xf32>, tensor<f32>) -> tensor<4xf32>
    return %sum : tensor<4xf32>
  }
}
