// Products of f32 are TF32's, which tensor cores want along what is contracted; XLA for an H100 (`referee.py --target h100`), where they take
// 204 us along 512 elements and 363 across (`cargo xtask bench calibrate`, "product float32 across").
// RUN: slimhlo-opt %s --split-input-file --slimhlo-print-memory="target=h100 plain=true top=0" -o /dev/null 2>&1 | FileCheck %s

// Along: 198.1 us.
// CHECK: time 198.2 us, 1 launches
func.func @main(%a: tensor<8192x512xf32>, %b: tensor<8192x512xf32>) -> tensor<8192x8192xf32> {
  %r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<8192x512xf32>, tensor<8192x512xf32>) -> tensor<8192x8192xf32>
  return %r : tensor<8192x8192xf32>
}

// -----

// Across: 410.7 us.
// CHECK: time 410.9 us, 1 launches
func.func @main(%a: tensor<512x8192xf32>, %b: tensor<512x8192xf32>) -> tensor<8192x8192xf32> {
  %r = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<512x8192xf32>, tensor<512x8192xf32>) -> tensor<8192x8192xf32>
  return %r : tensor<8192x8192xf32>
}

// -----

// Of one of them alone it may go across: 198.1 us.
// CHECK: time 198.2 us, 1 launches
func.func @main(%a: tensor<8192x512xf32>, %b: tensor<512x8192xf32>) -> tensor<8192x8192xf32> {
  %r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8192x512xf32>, tensor<512x8192xf32>) -> tensor<8192x8192xf32>
  return %r : tensor<8192x8192xf32>
}
