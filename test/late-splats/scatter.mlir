// RUN: slimhlo-opt %s --slimhlo-late-splats="least-bytes=1" | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-late-splats="least-bytes=1" | slimhlo-opt --slimhlo-late-splats="least-bytes=1" | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-late-splats | FileCheck %s --check-prefix=SMALL

// SMALL-NOT: stablehlo.clamp

// The zeros follow from the updates, which three dots lead to.
// CHECK-LABEL: func.func @late
func.func @late(%x: tensor<4x4xf32>, %at: tensor<4x1xi32>) -> tensor<9x4xbf16> {
  // CHECK: %[[UPDATES:.*]] = stablehlo.convert %{{.*}} : (tensor<4x4xf32>) -> tensor<4x4xf16>
  // CHECK-NEXT: %[[UPDATE:.*]] = stablehlo.convert %[[UPDATES]] : (tensor<4x4xf16>) -> tensor<4x4xbf16>
  // CHECK-NEXT: %[[NONE:.*]] = stablehlo.constant dense<0> : tensor<i16>
  // CHECK-NEXT: %[[ONE:.*]] = stablehlo.slice %[[UPDATE]] [0:1, 0:1]
  // CHECK-NEXT: %[[SCALAR:.*]] = stablehlo.reshape %[[ONE]]
  // CHECK-NEXT: %[[BITS:.*]] = stablehlo.bitcast_convert %[[SCALAR]] : (tensor<bf16>) -> tensor<i16>
  // CHECK-NEXT: %[[ZERO:.*]] = stablehlo.clamp %[[NONE]], %[[BITS]], %[[NONE]] : tensor<i16>
  // CHECK-NEXT: %[[FLOAT:.*]] = stablehlo.bitcast_convert %[[ZERO]] : (tensor<i16>) -> tensor<bf16>
  // CHECK-NEXT: %[[ZEROS:.*]] = stablehlo.broadcast_in_dim %[[FLOAT]], dims = [] : (tensor<bf16>) -> tensor<9x4xbf16>
  // CHECK-NEXT: "stablehlo.scatter"(%[[ZEROS]],
  %zeros = stablehlo.constant dense<0.0> : tensor<9x4xbf16>
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = stablehlo.dot_general %0, %x, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = stablehlo.dot_general %1, %x, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = stablehlo.convert %2 : (tensor<4x4xf32>) -> tensor<4x4xf16>
  %4 = stablehlo.convert %3 : (tensor<4x4xf16>) -> tensor<4x4xbf16>
  %5 = "stablehlo.scatter"(%zeros, %at, %4) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
    %sum = stablehlo.add %a, %b : tensor<bf16>
    stablehlo.return %sum : tensor<bf16>
  }) : (tensor<9x4xbf16>, tensor<4x1xi32>, tensor<4x4xbf16>) -> tensor<9x4xbf16>
  return %5 : tensor<9x4xbf16>
}

// Nothing comes late.
// CHECK-LABEL: func.func @early
func.func @early(%x: tensor<4x4xf32>, %at: tensor<4x1xi32>) -> tensor<9x4xf32> {
  // CHECK-NOT: stablehlo.clamp
  %zeros = stablehlo.constant dense<0.0> : tensor<9x4xf32>
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = "stablehlo.scatter"(%zeros, %at, %0) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  }) : (tensor<9x4xf32>, tensor<4x1xi32>, tensor<4x4xf32>) -> tensor<9x4xf32>
  return %1 : tensor<9x4xf32>
}
