// RUN: slimhlo-opt %s --slimhlo-merge-branches --split-input-file > %t
// RUN: slimhlo-opt %s --split-input-file | diff - %t

// Whether the other branch is taken nobody knows.
func.func @other_condition(%which: tensor<i1>, %other: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.if"(%which) ({
    %a = stablehlo.exponential %x : tensor<4xf32>
    stablehlo.return %a : tensor<4xf32>
  }, {
    stablehlo.return %x : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  %1 = "stablehlo.if"(%other) ({
    %b = stablehlo.sine %0 : tensor<4xf32>
    stablehlo.return %b : tensor<4xf32>
  }, {
    stablehlo.return %0 : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// The sum is read outside as well.
func.func @read_outside(%which: tensor<i1>, %other: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.if"(%which) ({
    %a = stablehlo.exponential %x : tensor<4xf32>
    stablehlo.return %a : tensor<4xf32>
  }, {
    stablehlo.return %x : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  %1 = "stablehlo.if"(%which) ({
    %b = stablehlo.sine %0 : tensor<4xf32>
    stablehlo.return %b : tensor<4xf32>
  }, {
    stablehlo.return %0 : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  %2 = stablehlo.add %0, %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// What reads its condition reads it in no branch.
func.func @condition(%which: tensor<i1>, %other: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.if"(%which) ({
    %a = stablehlo.exponential %x : tensor<4xf32>
    stablehlo.return %a : tensor<4xf32>
  }, {
    stablehlo.return %x : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  %one = stablehlo.slice %0 [0:1] : (tensor<4xf32>) -> tensor<1xf32>
  %read1 = stablehlo.convert %one : (tensor<1xf32>) -> tensor<1xi1>
  %read = stablehlo.reshape %read1 : (tensor<1xi1>) -> tensor<i1>
  %1 = "stablehlo.if"(%read) ({
    %b = stablehlo.sine %0 : tensor<4xf32>
    stablehlo.return %b : tensor<4xf32>
  }, {
    stablehlo.return %0 : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// Whoever is told would be told later.
func.func @told(%which: tensor<i1>, %other: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.if"(%which) ({
    %a = stablehlo.custom_call @tell(%x) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
    stablehlo.return %a : tensor<4xf32>
  }, {
    stablehlo.return %x : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  %1 = "stablehlo.if"(%which) ({
    %b = stablehlo.sine %0 : tensor<4xf32>
    stablehlo.return %b : tensor<4xf32>
  }, {
    stablehlo.return %0 : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// An annotation would be lost.
func.func @annotated(%which: tensor<i1>, %other: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.if"(%which) ({
    %a = stablehlo.exponential %x : tensor<4xf32>
    stablehlo.return %a : tensor<4xf32>
  }, {
    stablehlo.return %x : tensor<4xf32>
  }) {mhlo.frontend_attributes = {kept = "1"}} : (tensor<i1>) -> tensor<4xf32>
  %1 = "stablehlo.if"(%which) ({
    %b = stablehlo.sine %0 : tensor<4xf32>
    stablehlo.return %b : tensor<4xf32>
  }, {
    stablehlo.return %0 : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
