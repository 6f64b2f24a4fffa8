// RUN: slimhlo-opt %s --split-input-file --verify-diagnostics

// Branches may know different things about what they return.
func.func @branches(%p: tensor<i1>, %x: tensor<4xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %x : tensor<4xf32>
  }, {
    stablehlo.return %y : tensor<?xf32>
  }) : (tensor<i1>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

func.func @loop(%n: tensor<i32>, %t: !stablehlo.token) {
  %0:2 = stablehlo.while(%i = %n, %u = %t) : tensor<i32>, !stablehlo.token
  cond {
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    stablehlo.return %i, %u : tensor<i32>, !stablehlo.token
  }
  return
}

func.func @tuples(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.tuple %x, %x : tuple<tensor<4xf32>, tensor<4xf32>>
  %1 = stablehlo.get_tuple_element %0[1] : (tuple<tensor<4xf32>, tensor<4xf32>>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

func.func @branch_types(%p: tensor<i1>, %x: tensor<4xf32>, %y: tensor<3xf32>) {
  // expected-error@+2 {{branch #1 returns (tensor<3xf32>), but branch #0 returns (tensor<4xf32>)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %x : tensor<4xf32>
  }, {
    stablehlo.return %y : tensor<3xf32>
  }) : (tensor<i1>) -> tensor<?xf32>
  return
}

// -----

func.func @branch_result(%p: tensor<i1>, %x: tensor<4xf32>) {
  // expected-error@+2 {{inferred type(s) 'tensor<4xf32>' are incompatible with return type(s) of operation 'tensor<3xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %x : tensor<4xf32>
  }, {
    stablehlo.return %x : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<3xf32>
  return
}

// -----

func.func @branch_argument(%i: tensor<i32>) {
  // expected-error@+2 {{branch #0 takes 1 arguments, not 0}}
  // expected-error@+1 {{failed to infer returned types}}
  "stablehlo.case"(%i) ({
  ^bb0(%a: tensor<f32>):
    stablehlo.return
  }) : (tensor<i32>) -> ()
  return
}

// -----

func.func @chooser(%i: tensor<1xi32>) {
  // expected-error@+2 {{operand #0 has rank 1, not 0}}
  // expected-error@+1 {{failed to infer returned types}}
  "stablehlo.case"(%i) ({
    stablehlo.return
  }) : (tensor<1xi32>) -> ()
  return
}

// -----

func.func @no_branch(%i: tensor<i32>) {
  // expected-error@+2 {{has no branch}}
  // expected-error@+1 {{failed to infer returned types}}
  "stablehlo.case"(%i) : (tensor<i32>) -> ()
  return
}

// -----

func.func @body_returns(%x: tensor<4xf32>, %y: tensor<3xf32>, %p: tensor<i1>) {
  // expected-error@+1 {{body returns (tensor<3xf32>), but the operands are (tensor<4xf32>)}}
  %0 = "stablehlo.while"(%x) ({
  ^bb0(%a: tensor<4xf32>):
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<4xf32>):
    stablehlo.return %y : tensor<3xf32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @cond_returns(%x: tensor<4xf32>, %p: tensor<1xi1>) {
  // expected-error@+1 {{cond returns (tensor<1xi1>), not one tensor<i1>}}
  %0 = "stablehlo.while"(%x) ({
  ^bb0(%a: tensor<4xf32>):
    stablehlo.return %p : tensor<1xi1>
  }, {
  ^bb0(%a: tensor<4xf32>):
    stablehlo.return %a : tensor<4xf32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @tuple_index(%t: tuple<tensor<4xf32>>) {
  // expected-error@+2 {{index = 1 exceeds a tuple of 1 elements}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.get_tuple_element"(%t) <{index = 1 : i32}> : (tuple<tensor<4xf32>>) -> tensor<4xf32>
  return
}

// -----

func.func @barrier(%x: tensor<4xf32>) {
  // expected-error@+1 {{result #0 has type tensor<?xf32>, but operand #0 has tensor<4xf32>}}
  %0 = "stablehlo.optimization_barrier"(%x) : (tensor<4xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @map_arguments(%x: tensor<4xf32>) {
  // expected-error@+2 {{computation takes 2 arguments, but there are 1 operands}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.map"(%x) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @map_dimensions(%x: tensor<4x2xf32>) {
  // expected-error@+2 {{dimensions[0] = 1, but all dimensions must be listed in order}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.map"(%x) <{dimensions = array<i64: 1, 0>}> ({
  ^bb0(%a: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<4x2xf32>) -> tensor<4x2xf32>
  return
}
