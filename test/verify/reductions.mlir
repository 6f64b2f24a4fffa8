// Bodies, dimensions and windows of reduce, reduce_window and select_and_scatter.
// RUN: slimhlo-opt %s --split-input-file --verify-diagnostics

func.func @sum(%a: tensor<4x5xf32>, %b: tensor<f32>) {
  %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %y0 = "stablehlo.add"(%x0, %x1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %y0 : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<f32>) -> tensor<5xf32>
  return
}

// -----

func.func @of_two(%a: tensor<4x5xf32>, %b: tensor<4x?xi32>, %c: tensor<f32>, %d: tensor<i32>) {
  %r:2 = "stablehlo.reduce"(%a, %b, %c, %d) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<i32>, %x2: tensor<f32>, %x3: tensor<i32>):
    %y0 = "stablehlo.add"(%x0, %x2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %y1 = "stablehlo.add"(%x1, %x3) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    stablehlo.return %y0, %y1 : tensor<f32>, tensor<i32>
  }) : (tensor<4x5xf32>, tensor<4x?xi32>, tensor<f32>, tensor<i32>) -> (tensor<5xf32>, tensor<5xi32>)
  return
}

// -----

func.func @widened(%a: tensor<4x5xi8>, %b: tensor<i8>) {
  %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x0: tensor<i32>, %x1: tensor<i32>):
    %y0 = "stablehlo.add"(%x0, %x1) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    stablehlo.return %y0 : tensor<i32>
  }) : (tensor<4x5xi8>, tensor<i8>) -> tensor<5xi32>
  return
}

// -----

func.func @any_float_precision(%a: tensor<4x5xf32>, %b: tensor<f32>) {
  %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x0: tensor<bf16>, %x1: tensor<bf16>):
    %y0 = "stablehlo.add"(%x0, %x1) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
    stablehlo.return %y0 : tensor<bf16>
  }) : (tensor<4x5xf32>, tensor<f32>) -> tensor<5xbf16>
  return
}

// -----

func.func @whole_rows(%a: tensor<4x5xf32>, %b: tensor<5xf32>) {
  %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x0: tensor<5xf32>, %x1: tensor<5xf32>):
    %y0 = "stablehlo.add"(%x0, %x1) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    stablehlo.return %y0 : tensor<5xf32>
  }) : (tensor<4x5xf32>, tensor<5xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @bound(%a: tensor<4x?xf32, #stablehlo.bounds<?, 3>>, %b: tensor<f32>) {
  // expected-error@+2 {{inferred type(s) 'tensor<?xf32, #stablehlo.bounds<3>>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %y0 = "stablehlo.add"(%x0, %x1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %y0 : tensor<f32>
  }) : (tensor<4x?xf32, #stablehlo.bounds<?, 3>>, tensor<f32>) -> tensor<5xf32>
  return
}

// -----

func.func @dimension(%a: tensor<4x5xf32>, %b: tensor<f32>) {
  // expected-error@+1 {{dimensions[0] = 2 is not a dimension of the inputs, which has rank 2}}
  %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 2>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %y0 = "stablehlo.add"(%x0, %x1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %y0 : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<f32>) -> tensor<5xf32>
  return
}

// -----

func.func @dimension_twice(%a: tensor<4x5xf32>, %b: tensor<f32>) {
  // expected-error@+1 {{dimensions[0] and dimensions[1] are both 0}}
  %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 0, 0>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %y0 = "stablehlo.add"(%x0, %x1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %y0 : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<f32>) -> tensor<5xf32>
  return
}

// -----

func.func @inputs_differ(%a: tensor<4x5xf32>, %b: tensor<4x6xi32>, %c: tensor<f32>, %d: tensor<i32>) {
  // expected-error@+1 {{input #1 has shape [4x6], but input #0 has [4x5]}}
  %r:2 = "stablehlo.reduce"(%a, %b, %c, %d) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<i32>, %x2: tensor<f32>, %x3: tensor<i32>):
    %y0 = "stablehlo.add"(%x0, %x2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %y1 = "stablehlo.add"(%x1, %x3) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    stablehlo.return %y0, %y1 : tensor<f32>, tensor<i32>
  }) : (tensor<4x5xf32>, tensor<4x6xi32>, tensor<f32>, tensor<i32>) -> (tensor<5xf32>, tensor<5xi32>)
  return
}

// -----

func.func @narrowed(%a: tensor<4x5xi32>, %b: tensor<i32>) {
  // expected-error@+1 {{result #0 of the body has element type i8, which the initial value's i32 cannot be promoted to}}
  %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x0: tensor<i8>, %x1: tensor<i8>):
    %y0 = "stablehlo.add"(%x0, %x1) : (tensor<i8>, tensor<i8>) -> tensor<i8>
    stablehlo.return %y0 : tensor<i8>
  }) : (tensor<4x5xi32>, tensor<i32>) -> tensor<5xi8>
  return
}

// -----

func.func @initial_shape(%a: tensor<4x5xf32>, %b: tensor<1xf32>) {
  // expected-error@+1 {{result #0 of the body has shape [], but the initial value has [1]}}
  %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %y0 = "stablehlo.add"(%x0, %x1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %y0 : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<1xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @wrong_rows(%a: tensor<4x5xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{the body's argument #1 has shape [4], which is not part of [5]}}
  %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x0: tensor<4xf32>, %x1: tensor<4xf32>):
    %y0 = "stablehlo.add"(%x0, %x1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    stablehlo.return %y0 : tensor<4xf32>
  }) : (tensor<4x5xf32>, tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @arguments(%a: tensor<4x5xf32>, %b: tensor<f32>) {
  // expected-error@+1 {{the body must take 2 arguments for 1 reduced values, but takes 1}}
  %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x0: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<f32>) -> tensor<5xf32>
  return
}

// -----

func.func @argument_type(%a: tensor<4x5xf32>, %b: tensor<f32>) {
  // expected-error@+1 {{the body's argument #1 has type tensor<i32>, but result #0 of the body has tensor<f32>}}
  %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<i32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<f32>) -> tensor<5xf32>
  return
}

// -----

func.func @results(%a: tensor<4x5xf32>, %b: tensor<f32>) {
  // expected-error@+1 {{the body must return 1 values, but returns 2}}
  %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0, %x1 : tensor<f32>, tensor<f32>
  }) : (tensor<4x5xf32>, tensor<f32>) -> tensor<5xf32>
  return
}

// -----

func.func @window(%a: tensor<4x6xf32>, %b: tensor<f32>) {
  %r = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %y0 = "stablehlo.add"(%x0, %x1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %y0 : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @window_larger_than_input(%a: tensor<4x6xf32>, %b: tensor<f32>) {
  %r = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 5, 3>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %y0 = "stablehlo.add"(%x0, %x1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %y0 : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<0x2xf32>
  return
}

// -----

func.func @window_rank(%a: tensor<4x6xf32>, %b: tensor<f32>) {
  // expected-error@+2 {{window_dimensions has 1 entries, but the input has rank 2}}
  // expected-error@+1 {{failed to infer returned types}}
  %r = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %y0 = "stablehlo.add"(%x0, %x1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %y0 : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @empty_window(%a: tensor<4x6xf32>, %b: tensor<f32>) {
  // expected-error@+2 {{the window has size 0 in dimension 1, not a positive one}}
  // expected-error@+1 {{failed to infer returned types}}
  %r = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2, 0>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %y0 = "stablehlo.add"(%x0, %x1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %y0 : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @dilation(%a: tensor<4x6xf32>, %b: tensor<f32>) {
  // expected-error@+2 {{window_dilations[1] = -1 is not positive}}
  // expected-error@+1 {{failed to infer returned types}}
  %r = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 2, 2>, window_dilations = array<i64: 1, -1>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %y0 = "stablehlo.add"(%x0, %x1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %y0 : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @padding_shape(%a: tensor<4x6xf32>, %b: tensor<f32>) {
  // expected-error@+2 {{padding must have shape Nx2, but has shape 2}}
  // expected-error@+1 {{failed to infer returned types}}
  %r = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2, 3>, padding = dense<1> : tensor<2xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %y0 = "stablehlo.add"(%x0, %x1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %y0 : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @window_result(%a: tensor<4x6xf32>, %b: tensor<f32>) {
  // expected-error@+2 {{inferred type(s) 'tensor<2x2xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %r = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %y0 = "stablehlo.add"(%x0, %x1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %y0 : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @select_and_scatter(%a: tensor<4x6xf32>, %b: tensor<2x2xf32>, %c: tensor<f32>) {
  %r = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %y0 = stablehlo.compare GE, %x0, %x1 : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %y0 : tensor<i1>
  }, {
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %y0 = "stablehlo.add"(%x0, %x1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %y0 : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<2x2xf32>, tensor<f32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @source(%a: tensor<4x6xf32>, %b: tensor<2x3xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{source has type tensor<2x3xf32>, but one element per place of the window makes tensor<2x2xf32>}}
  %r = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %y0 = stablehlo.compare GE, %x0, %x1 : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %y0 : tensor<i1>
  }, {
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %y0 = "stablehlo.add"(%x0, %x1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %y0 : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @selector_returns(%a: tensor<4x6xf32>, %b: tensor<2x2xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{select must return a tensor<i1>, but returns tensor<f32>}}
  %r = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }, {
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %y0 = "stablehlo.add"(%x0, %x1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %y0 : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<2x2xf32>, tensor<f32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @selector_takes(%a: tensor<4x6xf32>, %b: tensor<2x2xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{select must take 2 arguments, but takes 3}}
  %r = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>, %x2: tensor<f32>):
    %y0 = stablehlo.compare GE, %x0, %x1 : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %y0 : tensor<i1>
  }, {
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %y0 = "stablehlo.add"(%x0, %x1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %y0 : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<2x2xf32>, tensor<f32>) -> tensor<4x6xf32>
  return
}
