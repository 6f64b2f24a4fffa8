// Replica groups, channels and shapes of collectives.
// RUN: slimhlo-opt %s --split-input-file --verify-diagnostics

func.func @all_gather(%a: tensor<4x5xf32>) {
  %r = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<4x5xf32>) -> tensor<8x5xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2]>

func.func @all_gather_on_a_mesh(%a: tensor<4x5xf32>) {
  %r = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>}> : (tensor<4x5xf32>) -> tensor<8x5xf32>
  return
}

// -----

func.func @no_such_mesh(%a: tensor<4x5xf32>) {
  // expected-error@+1 {{replica_groups name the mesh @mesh, which does not exist}}
  %r = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>}> : (tensor<4x5xf32>) -> tensor<8x5xf32>
  return
}

// -----

func.func @not_a_multiple(%a: tensor<4x5xf32>) {
  // expected-error@+1 {{result #0 has size 9 in dimension 0, not a multiple of 4}}
  %r = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<4x5xf32>) -> tensor<9x5xf32>
  return
}

// -----

func.func @other_dimension(%a: tensor<4x5xf32>) {
  // expected-error@+1 {{operand has size 5 in dimension 1, but result has 6}}
  %r = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<4x5xf32>) -> tensor<8x6xf32>
  return
}

// -----

func.func @gather_dimension(%a: tensor<4x5xf32>) {
  // expected-error@+1 {{all_gather_dim = 2 is not a dimension of operand #0, which has rank 2}}
  %r = "stablehlo.all_gather"(%a) <{all_gather_dim = 2 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<4x5xf32>) -> tensor<8x5xf32>
  return
}

// -----

func.func @twice_in_groups(%a: tensor<4x5xf32>) {
  // expected-error@+1 {{replica_groups hold 1 twice}}
  %r = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>}> : (tensor<4x5xf32>) -> tensor<8x5xf32>
  return
}

// -----

func.func @missing_in_groups(%a: tensor<4x5xf32>) {
  // expected-error@+1 {{replica_groups lack 2, though they hold 4 numbers}}
  %r = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1], [3, 4]]> : tensor<2x2xi64>}> : (tensor<4x5xf32>) -> tensor<8x5xf32>
  return
}

// -----

func.func @uneven_groups(%a: tensor<4x5xf32>) {
  // expected-error@+1 {{replica_groups hold -1}}
  %r = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1], [2, -1]]> : tensor<2x2xi64>}> : (tensor<4x5xf32>) -> tensor<8x5xf32>
  return
}

// -----

func.func @groups_rank(%a: tensor<4x5xf32>) {
  // expected-error@+1 {{replica_groups must have rank 2}}
  %r = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<0> : tensor<1xi64>}> : (tensor<4x5xf32>) -> tensor<8x5xf32>
  return
}

// -----

func.func @all_reduce_of_uneven_groups(%a: tensor<4xf32>) {
  %r = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1], [2, -1]]> : tensor<2x2xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %y0 = "stablehlo.add"(%x0, %x1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %y0 : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @global_ids(%a: tensor<4xf32>) {
  %r = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, use_global_device_ids}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %y0 = "stablehlo.add"(%x0, %x1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %y0 : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @global_ids_without_channel(%a: tensor<4xf32>) {
  // expected-error@+1 {{use_global_device_ids is set, but the channel 0 is not positive}}
  %r = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %y0 = "stablehlo.add"(%x0, %x1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %y0 : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @global_ids_without_groups(%a: tensor<4xf32>) {
  // expected-error@+1 {{use_global_device_ids is set, but replica_groups are empty}}
  %r = "stablehlo.all_reduce"(%a) <{replica_groups = dense<> : tensor<0x0xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, use_global_device_ids}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %y0 = "stablehlo.add"(%x0, %x1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %y0 : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @all_reduce_result(%a: tensor<4xf32>) {
  // expected-error@+2 {{inferred type(s) 'tensor<4xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %r = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %y0 = "stablehlo.add"(%x0, %x1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %y0 : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @reduce_scatter(%a: tensor<4x5xf32>) {
  %r = "stablehlo.reduce_scatter"(%a) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, scatter_dimension = 0 : i64}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %y0 = "stablehlo.add"(%x0, %x1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %y0 : tensor<f32>
  }) : (tensor<4x5xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @reduce_scatter_size(%a: tensor<4x5xf32>) {
  // expected-error@+1 {{operand has size 4 in dimension 0, not a multiple of the 3 of the result}}
  %r = "stablehlo.reduce_scatter"(%a) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, scatter_dimension = 0 : i64}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %y0 = "stablehlo.add"(%x0, %x1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %y0 : tensor<f32>
  }) : (tensor<4x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @reduce_scatter_element(%a: tensor<4x5xf32>) {
  // expected-error@+1 {{result has element type f64, but the body returns f32}}
  %r = "stablehlo.reduce_scatter"(%a) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, scatter_dimension = 0 : i64}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %y0 = "stablehlo.add"(%x0, %x1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %y0 : tensor<f32>
  }) : (tensor<4x5xf32>) -> tensor<2x5xf64>
  return
}

// -----

func.func @all_to_all(%a: tensor<4x6xf32>) {
  %r = "stablehlo.all_to_all"(%a) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<4x6xf32>) -> tensor<2x12xf32>
  return
}

// -----

func.func @split_size(%a: tensor<5x6xf32>) {
  // expected-error@+2 {{dimension 0 has size 5, which does not split into 2 parts}}
  // expected-error@+1 {{failed to infer returned types}}
  %r = "stablehlo.all_to_all"(%a) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<5x6xf32>) -> tensor<2x12xf32>
  return
}

// -----

func.func @split_count(%a: tensor<4x6xf32>) {
  // expected-error@+2 {{replica_groups have size 2, not 4}}
  // expected-error@+1 {{failed to infer returned types}}
  %r = "stablehlo.all_to_all"(%a) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, split_count = 4 : i64, split_dimension = 0 : i64}> : (tensor<4x6xf32>) -> tensor<2x12xf32>
  return
}

// -----

func.func @concat_dimension(%a: tensor<4x6xf32>) {
  // expected-error@+2 {{concat_dimension = 2 is not a dimension of the operand, which has rank 2}}
  // expected-error@+1 {{failed to infer returned types}}
  %r = "stablehlo.all_to_all"(%a) <{concat_dimension = 2 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<4x6xf32>) -> tensor<2x12xf32>
  return
}

// -----

func.func @broadcast_negative(%a: tensor<4xf32>) {
  // expected-error@+1 {{replica_groups hold -1, which is negative}}
  %r = "stablehlo.collective_broadcast"(%a) <{replica_groups = dense<[[0, -1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @permute(%a: tensor<4xf32>) {
  %r = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @source_twice(%a: tensor<4xf32>) {
  // expected-error@+1 {{source_target_pairs[1] has the source 0 again}}
  %r = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1], [0, 2]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @target_twice(%a: tensor<4xf32>) {
  // expected-error@+1 {{source_target_pairs[1] has the target 1 again}}
  %r = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1], [2, 1]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @negative(%a: tensor<4xf32>) {
  // expected-error@+1 {{source_target_pairs[0] has the negative target -1}}
  %r = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, -1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @triples(%a: tensor<4xf32>) {
  // expected-error@+1 {{source_target_pairs must have shape Nx2, but has shape 1x3}}
  %r = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1, 2]]> : tensor<1x3xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}
