// Channels, layouts and tokens of infeed, send and recv; bodies of async_start.
// RUN: slimhlo-opt %s --split-input-file --verify-diagnostics

func.func @infeed(%a: !stablehlo.token) {
  %r:3 = "stablehlo.infeed"(%a) <{infeed_config = "", layout = [[1, 0], []]}> : (!stablehlo.token) -> (tensor<3x4xf32>, tensor<i32>, !stablehlo.token)
  return
}

// -----

func.func @infeed_without_token(%a: !stablehlo.token) {
  // expected-error@+1 {{the last result must be a token, but is tensor<3xf32>}}
  %r = "stablehlo.infeed"(%a) <{infeed_config = ""}> : (!stablehlo.token) -> tensor<3xf32>
  return
}

// -----

func.func @infeed_tokens(%a: !stablehlo.token) {
  // expected-error@+1 {{result #0 must be a tensor, but is !stablehlo.token}}
  %r:2 = "stablehlo.infeed"(%a) <{infeed_config = ""}> : (!stablehlo.token) -> (!stablehlo.token, !stablehlo.token)
  return
}

// -----

func.func @layouts(%a: !stablehlo.token) {
  // expected-error@+1 {{layout has 0 entries for 1 tensors}}
  %r:2 = "stablehlo.infeed"(%a) <{infeed_config = "", layout = []}> : (!stablehlo.token) -> (tensor<3xf32>, !stablehlo.token)
  return
}

// -----

func.func @layout(%a: !stablehlo.token) {
  // expected-error@+1 {{layout[0][0] is not an integer}}
  %r:2 = "stablehlo.infeed"(%a) <{infeed_config = "", layout = [["a"]]}> : (!stablehlo.token) -> (tensor<3xf32>, !stablehlo.token)
  return
}

// -----

func.func @send_to_host(%a: tensor<3xf32>, %b: !stablehlo.token) {
  %r = "stablehlo.send"(%a, %b) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true}> : (tensor<3xf32>, !stablehlo.token) -> !stablehlo.token
  return
}

// -----

func.func @send_to_device(%a: tensor<3xf32>, %b: !stablehlo.token) {
  // expected-error@+1 {{channel_handle has type 2, but is_host_transfer = false asks for type 1}}
  %r = "stablehlo.send"(%a, %b) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = false}> : (tensor<3xf32>, !stablehlo.token) -> !stablehlo.token
  return
}

// -----

func.func @recv_from_host(%a: !stablehlo.token) {
  %r:2 = "stablehlo.recv"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 3>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<3xf32>, !stablehlo.token)
  return
}

// -----

func.func @recv_channel(%a: !stablehlo.token) {
  // expected-error@+1 {{channel_handle has type 2, but is_host_transfer = true asks for type 3}}
  %r:2 = "stablehlo.recv"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<3xf32>, !stablehlo.token)
  return
}

// -----

func.func @start(%a: tensor<4xf32>) {
  %r = "stablehlo.async_start"(%a) ({
  ^bb0(%x0: tensor<4xf32>):
    %y0 = "stablehlo.collective_permute"(%x0) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
    stablehlo.return %y0 : tensor<4xf32>
  }) : (tensor<4xf32>) -> !stablehlo.future<tensor<4xf32>>
  return
}

// -----

func.func @start_elementwise(%a: tensor<4xf32>) {
  // expected-error@+1 {{the body holds stablehlo.abs, which cannot run asynchronously}}
  %r = "stablehlo.async_start"(%a) ({
  ^bb0(%x0: tensor<4xf32>):
    %y0 = "stablehlo.abs"(%x0) : (tensor<4xf32>) -> tensor<4xf32>
    stablehlo.return %y0 : tensor<4xf32>
  }) : (tensor<4xf32>) -> !stablehlo.future<tensor<4xf32>>
  return
}

// -----

func.func @start_nothing(%a: tensor<4xf32>) {
  // expected-error@+1 {{the body must hold exactly one op and its return}}
  %r = "stablehlo.async_start"(%a) ({
  ^bb0(%x0: tensor<4xf32>):
    stablehlo.return %x0 : tensor<4xf32>
  }) : (tensor<4xf32>) -> !stablehlo.future<tensor<4xf32>>
  return
}

// -----

func.func @start_operand(%a: tensor<?xf32>) {
  // expected-error@+1 {{argument #0 of the body has type tensor<4xf32>, but operand #0 has tensor<?xf32>}}
  %r = "stablehlo.async_start"(%a) ({
  ^bb0(%x0: tensor<4xf32>):
    %y0 = "stablehlo.collective_permute"(%x0) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
    stablehlo.return %y0 : tensor<4xf32>
  }) : (tensor<?xf32>) -> !stablehlo.future<tensor<4xf32>>
  return
}

// -----

func.func @start_result(%a: tensor<4xf32>) {
  // expected-error@+2 {{inferred type(s) '!stablehlo.future<tensor<4xf32>>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %r = "stablehlo.async_start"(%a) ({
  ^bb0(%x0: tensor<4xf32>):
    %y0 = "stablehlo.collective_permute"(%x0) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
    stablehlo.return %y0 : tensor<4xf32>
  }) : (tensor<4xf32>) -> !stablehlo.future<tensor<?xf32>>
  return
}

// -----

func.func @done(%a: !stablehlo.future<tensor<4xf32>>) {
  %r = "stablehlo.async_done"(%a) : (!stablehlo.future<tensor<4xf32>>) -> tensor<?xf32>
  return
}

// -----

func.func @done_two(%a: !stablehlo.future<tensor<4xf32>, tensor<4xf32>>) {
  // expected-error@+2 {{the future must have 1 type, but has 2}}
  // expected-error@+1 {{failed to infer returned types}}
  %r = "stablehlo.async_done"(%a) : (!stablehlo.future<tensor<4xf32>, tensor<4xf32>>) -> tensor<4xf32>
  return
}
