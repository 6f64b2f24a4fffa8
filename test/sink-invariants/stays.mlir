// RUN: slimhlo-opt %s --slimhlo-sink-invariants="least-bytes=1" --split-input-file | FileCheck %s --implicit-check-not=stablehlo.select

// Both operands would have to be kept for the loop, in the place of their sum.
// CHECK-LABEL: func.func @operands_die
func.func @operands_die(%x: tensor<64xf64>, %y: tensor<64xf64>) -> tensor<64xf64> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %nine = stablehlo.constant dense<9> : tensor<i64>
  %s = stablehlo.sine %x : tensor<64xf64>
  %t = stablehlo.cosine %x : tensor<64xf64>
  %w:2 = stablehlo.while(%i = %zero, %f = %y) : tensor<i64>, tensor<64xf64> cond {
    %p = stablehlo.compare LT, %i, %nine : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %v = stablehlo.add %s, %t : tensor<64xf64>
    %g = stablehlo.multiply %f, %v : tensor<64xf64>
    %j = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %j, %g : tensor<i64>, tensor<64xf64>
  }
  return %w#1 : tensor<64xf64>
}

// -----

// An exponential is too costly for each iteration; a broadcast is moved out with nothing that is made of it.
// CHECK-LABEL: func.func @costly
func.func @costly(%x: tensor<64xf64>, %y: tensor<64x64xf64>) -> tensor<64x64xf64> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %nine = stablehlo.constant dense<9> : tensor<i64>
  %w:2 = stablehlo.while(%i = %zero, %f = %y) : tensor<i64>, tensor<64x64xf64> cond {
    %p = stablehlo.compare LT, %i, %nine : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %e = stablehlo.exponential %x : tensor<64xf64>
    %b = stablehlo.broadcast_in_dim %e, dims = [0] : (tensor<64xf64>) -> tensor<64x64xf64>
    %g = stablehlo.multiply %f, %b : tensor<64x64xf64>
    %j = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %j, %g : tensor<i64>, tensor<64x64xf64>
  }
  return %w#1 : tensor<64x64xf64>
}

// -----

// What an iteration changes is no invariant.
// CHECK-LABEL: func.func @changes
func.func @changes(%x: tensor<64xf64>, %y: tensor<64x64xf64>) -> tensor<64x64xf64> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %nine = stablehlo.constant dense<9> : tensor<i64>
  %w:3 = stablehlo.while(%i = %zero, %f = %y, %h = %x) : tensor<i64>, tensor<64x64xf64>, tensor<64xf64> cond {
    %p = stablehlo.compare LT, %i, %nine : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %b = stablehlo.broadcast_in_dim %h, dims = [0] : (tensor<64xf64>) -> tensor<64x64xf64>
    %c = stablehlo.add %b, %b : tensor<64x64xf64>
    %g = stablehlo.multiply %f, %c : tensor<64x64xf64>
    %k = stablehlo.add %h, %h : tensor<64xf64>
    %j = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %j, %g, %k : tensor<i64>, tensor<64x64xf64>, tensor<64xf64>
  }
  return %w#1 : tensor<64x64xf64>
}

// -----

// No integer tells iterations apart.
// CHECK-LABEL: func.func @no_number
func.func @no_number(%x: tensor<64xf64>, %y: tensor<64x64xf64>, %end: tensor<f64>) -> tensor<64x64xf64> {
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %one = stablehlo.constant dense<1.0> : tensor<f64>
  %w:2 = stablehlo.while(%i = %zero, %f = %y) : tensor<f64>, tensor<64x64xf64> cond {
    %p = stablehlo.compare LT, %i, %end : (tensor<f64>, tensor<f64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %b = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<64xf64>) -> tensor<64x64xf64>
    %c = stablehlo.add %b, %b : tensor<64x64xf64>
    %g = stablehlo.multiply %f, %c : tensor<64x64xf64>
    %j = stablehlo.add %i, %one : tensor<f64>
    stablehlo.return %j, %g : tensor<f64>, tensor<64x64xf64>
  }
  return %w#1 : tensor<64x64xf64>
}

// -----

// Constants alone, wherever they are, stay where they are read.
// CHECK-LABEL: func.func @constants
func.func @constants(%y: tensor<64x64xf64>) -> tensor<64x64xf64> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %nine = stablehlo.constant dense<9> : tensor<i64>
  %third = stablehlo.constant dense<3.0> : tensor<f64>
  %w:2 = stablehlo.while(%i = %zero, %f = %y) : tensor<i64>, tensor<64x64xf64> cond {
    %p = stablehlo.compare LT, %i, %nine : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %k = stablehlo.iota dim = 0 : tensor<64x64xf64>
    %b = stablehlo.broadcast_in_dim %third, dims = [] : (tensor<f64>) -> tensor<64x64xf64>
    %c = stablehlo.divide %k, %b : tensor<64x64xf64>
    %g = stablehlo.multiply %f, %c : tensor<64x64xf64>
    %j = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %j, %g : tensor<i64>, tensor<64x64xf64>
  }
  return %w#1 : tensor<64x64xf64>
}
