// RUN: slimhlo-opt %s --split-input-file --verify-diagnostics

func.func private @decomposition(tensor<4xf32>) -> tensor<4xf32>

func.func @valid(%x: tensor<4xf32>, %m: tensor<2x3xf32>) {
  %0 = stablehlo.composite "my_dialect.my.op$1" %x {decomposition = @decomposition} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.custom_call @f(%m) {
    operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>],
    output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>],
    api_version = 4 : i32, backend_config = {a = 1 : i32}
  } : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // Nobody asks whether a called computation is there.
  %2 = stablehlo.custom_call @f(%m) {called_computations = [@nowhere], backend_config = "a"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @composite_name(%x: tensor<4xf32>) {
  // expected-error@+1 {{name "my-dialect.op" must be a namespace and an op name with a dot between, as "my_dialect.my_op"}}
  %0 = stablehlo.composite "my-dialect.op" %x {decomposition = @composite_name} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @missing(%x: tensor<4xf32>) {
  // expected-error@+1 {{decomposition @nowhere is not a function in reach}}
  %0 = stablehlo.composite "a.b" %x {decomposition = @nowhere} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func private @decomposition(tensor<4xf32>) -> tensor<4xf32>
func.func @operand_type(%x: tensor<?xf32>) {
  // expected-error@+1 {{operand #0 has type tensor<?xf32>, but in decomposition @decomposition it has tensor<4xf32>}}
  %0 = stablehlo.composite "a.b" %x {decomposition = @decomposition} : (tensor<?xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @config_kind(%x: tensor<4xf32>) {
  // expected-error@+1 {{backend_config must be a string for api_version API_VERSION_ORIGINAL, but is {a = 1 : i32}}}
  %0 = stablehlo.custom_call @f(%x) {backend_config = {a = 1 : i32}} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @one_layout(%x: tensor<4xf32>) {
  // expected-error@+1 {{operand_layouts and result_layouts must be given together or not at all}}
  %0 = stablehlo.custom_call @f(%x) {operand_layouts = [dense<0> : tensor<1xindex>]} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @layout(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{operand_layouts[0] = [1, 1] does not order the 2 dimensions of tensor<2x3xf32>}}
  %0 = stablehlo.custom_call @f(%x) {operand_layouts = [dense<[1, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @alias(%x: tensor<4xf32>) {
  // expected-error@+1 {{operand_index = 1 of alias #0 exceeds 1 operands}}
  %0 = stablehlo.custom_call @f(%x) {output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>]} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @alias_type(%x: tensor<4xf32>) {
  // expected-error@+1 {{alias #0 of operand part tensor<4xf32> and result part tensor<3xf32>: types differ}}
  %0 = stablehlo.custom_call @f(%x) {output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : (tensor<4xf32>) -> tensor<3xf32>
  return
}

// -----

// As many as the type says, of which a splat can say that there are any number.
func.func @layout_of_many(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{operand_layouts[0] lists 4294967296 dimensions, but tensor<2x3xf32> has 2}}
  %0 = stablehlo.custom_call @f(%x) {operand_layouts = [dense<0> : tensor<4294967296xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
