// RUN: slimhlo-opt %s --canonicalize | FileCheck %s

// Constants on which something hangs are constants: MLIR takes their values for what they are, and makes none of them another.

// CHECK-LABEL: func @with_shardings
// CHECK-DAG: %[[FIRST:.*]] = stablehlo.constant {mhlo.sharding = "{manual}"} dense<[1, 0]> : tensor<2xi64>
// CHECK-DAG: %[[SECOND:.*]] = stablehlo.constant {mhlo.sharding = "{manual}"} dense<[65, 0]> : tensor<2xi64>
// CHECK: stablehlo.add %arg0, %[[FIRST]]
// CHECK: stablehlo.add %arg0, %[[SECOND]]
// CHECK: {{^ *}}return
func.func @with_shardings(%x: tensor<2xi64>) -> (tensor<2xi64>, tensor<2xi64>) {
  %first = stablehlo.constant {mhlo.sharding = "{manual}"} dense<[1, 0]> : tensor<2xi64>
  %0 = stablehlo.add %x, %first : tensor<2xi64>
  %second = stablehlo.constant {mhlo.sharding = "{manual}"} dense<[65, 0]> : tensor<2xi64>
  %1 = stablehlo.add %x, %second : tensor<2xi64>
  return %0, %1 : tensor<2xi64>, tensor<2xi64>
}

// CHECK-LABEL: func @of_chlo
// CHECK-DAG: %[[FIRST:.*]] = chlo.constant dense<[1, 0]> : tensor<2xi64>
// CHECK-DAG: %[[SECOND:.*]] = chlo.constant dense<[65, 0]> : tensor<2xi64>
// CHECK: stablehlo.add %arg0, %[[FIRST]]
// CHECK: stablehlo.add %arg0, %[[SECOND]]
// CHECK: {{^ *}}return
func.func @of_chlo(%x: tensor<2xi64>) -> (tensor<2xi64>, tensor<2xi64>) {
  %first = chlo.constant dense<[1, 0]> : tensor<2xi64>
  %0 = stablehlo.add %x, %first : tensor<2xi64>
  %second = chlo.constant dense<[65, 0]> : tensor<2xi64>
  %1 = stablehlo.add %x, %second : tensor<2xi64>
  return %0, %1 : tensor<2xi64>, tensor<2xi64>
}

// CHECK-LABEL: func @folded
// CHECK-NEXT: %[[C:.*]] = stablehlo.constant dense<[66, 0]> : tensor<2xi64>
// CHECK-NEXT: return %[[C]]
func.func @folded() -> tensor<2xi64> {
  %first = stablehlo.constant {mhlo.sharding = "{replicated}"} dense<[1, 0]> : tensor<2xi64>
  %second = chlo.constant dense<[65, 0]> : tensor<2xi64>
  %0 = stablehlo.add %first, %second : tensor<2xi64>
  return %0 : tensor<2xi64>
}
