// The comparator and the shapes of sort.
// RUN: slimhlo-opt %s --split-input-file --verify-diagnostics

func.func @sort(%a: tensor<4x5xf32>, %b: tensor<4x5xi32>) {
  %r:2 = "stablehlo.sort"(%a, %b) <{dimension = -1 : i64, is_stable = true}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>, %x2: tensor<i32>, %x3: tensor<i32>):
    %y0 = stablehlo.compare LT, %x0, %x1 : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %y0 : tensor<i1>
  }) : (tensor<4x5xf32>, tensor<4x5xi32>) -> (tensor<4x5xf32>, tensor<4x5xi32>)
  return
}

// -----

func.func @dimension(%a: tensor<4x5xf32>, %b: tensor<4x5xi32>) {
  // expected-error@+1 {{dimension = 2 is not in [-2, 2)}}
  %r:2 = "stablehlo.sort"(%a, %b) <{dimension = 2 : i64, is_stable = true}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>, %x2: tensor<i32>, %x3: tensor<i32>):
    %y0 = stablehlo.compare LT, %x0, %x1 : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %y0 : tensor<i1>
  }) : (tensor<4x5xf32>, tensor<4x5xi32>) -> (tensor<4x5xf32>, tensor<4x5xi32>)
  return
}

// -----

func.func @shapes(%a: tensor<4x5xf32>, %b: tensor<4x6xi32>) {
  // expected-error@+1 {{operand #1 has size 6 in dimension 1}}
  %r:2 = "stablehlo.sort"(%a, %b) <{dimension = -1 : i64, is_stable = true}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>, %x2: tensor<i32>, %x3: tensor<i32>):
    %y0 = stablehlo.compare LT, %x0, %x1 : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %y0 : tensor<i1>
  }) : (tensor<4x5xf32>, tensor<4x6xi32>) -> (tensor<4x5xf32>, tensor<4x6xi32>)
  return
}

// -----

func.func @comparator_arguments(%a: tensor<4x5xf32>) {
  // expected-error@+1 {{the comparator must take 2 arguments, but takes 4}}
  %r = "stablehlo.sort"(%a) <{dimension = -1 : i64, is_stable = true}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>, %x2: tensor<i32>, %x3: tensor<i32>):
    %y0 = stablehlo.compare LT, %x0, %x1 : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %y0 : tensor<i1>
  }) : (tensor<4x5xf32>) -> tensor<4x5xf32>
  return
}

// -----

func.func @comparator_argument(%a: tensor<4x5xf32>, %b: tensor<4x5xi32>) {
  // expected-error@+1 {{argument #3 of the comparator has type tensor<i64>, not tensor<i32> as operand #1 asks for}}
  %r:2 = "stablehlo.sort"(%a, %b) <{dimension = -1 : i64, is_stable = true}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>, %x2: tensor<i32>, %x3: tensor<i64>):
    %y0 = stablehlo.compare LT, %x0, %x1 : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %y0 : tensor<i1>
  }) : (tensor<4x5xf32>, tensor<4x5xi32>) -> (tensor<4x5xf32>, tensor<4x5xi32>)
  return
}

// -----

func.func @comparator_returns(%a: tensor<4x5xf32>, %b: tensor<4x5xi32>) {
  // expected-error@+1 {{the comparator must return a tensor<i1>, but returns tensor<f32>}}
  %r:2 = "stablehlo.sort"(%a, %b) <{dimension = -1 : i64, is_stable = true}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>, %x2: tensor<i32>, %x3: tensor<i32>):
    %y0 = stablehlo.compare LT, %x0, %x1 : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<4x5xi32>) -> (tensor<4x5xf32>, tensor<4x5xi32>)
  return
}
