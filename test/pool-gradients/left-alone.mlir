// RUN: slimhlo-opt %s --slimhlo-pool-gradients | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-pool-gradients=target=v5p | FileCheck %s
// RUN: slimhlo-opt %S/windows.mlir --slimhlo-pool-gradients=target=v5p --split-input-file | FileCheck %s --check-prefix=ELSEWHERE
// RUN: slimhlo-opt %S/windows.mlir --slimhlo-pool-gradients=target=xla-cpu --split-input-file | FileCheck %s --check-prefix=ELSEWHERE
// CHECK-NOT: stablehlo.pad
// ELSEWHERE-COUNT-4: select_and_scatter

// Each element would ask for 36 places.
func.func @large(%x: tensor<12x12xf32>, %g: tensor<2x2xf32>) -> tensor<12x12xf32> {
  %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %r = "stablehlo.select_and_scatter"(%x, %g, %zero) <{window_dimensions = array<i64: 6, 6>, window_strides = array<i64: 6, 6>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<12x12xf32>, tensor<2x2xf32>, tensor<f32>) -> tensor<12x12xf32>
  return %r : tensor<12x12xf32>
}

// What is outside is chosen by no window.
func.func @padded(%x: tensor<8xf32>, %g: tensor<5xf32>) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %r = "stablehlo.select_and_scatter"(%x, %g, %zero) <{padding = dense<1> : tensor<1x2xi64>, window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8xf32>, tensor<5xf32>, tensor<f32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// It chooses by more than a comparison.
func.func @several(%x: tensor<8xf32>, %g: tensor<4xf32>) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %r = "stablehlo.select_and_scatter"(%x, %g, %zero) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %n = stablehlo.negate %b : tensor<f32>
    %p = stablehlo.compare GE, %a, %n, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8xf32>, tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// It does not add up.
func.func @largest(%x: tensor<8xf32>, %g: tensor<4xf32>) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %r = "stablehlo.select_and_scatter"(%x, %g, %zero) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8xf32>, tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// A window of one place chooses nothing.
func.func @one(%x: tensor<8xf32>, %g: tensor<4xf32>) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %r = "stablehlo.select_and_scatter"(%x, %g, %zero) <{window_dimensions = array<i64: 1>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8xf32>, tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// An attribute would be lost.
func.func @annotated(%x: tensor<8xf32>, %g: tensor<4xf32>) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %r = "stablehlo.select_and_scatter"(%x, %g, %zero) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {mhlo.frontend_attributes = {mine = "1"}} : (tensor<8xf32>, tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}
