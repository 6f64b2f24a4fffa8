// What a version lacks is named, with the version. (A stock mlir-opt knows no artifacts.)
// UNSUPPORTED: plugin

// RUN: not slimhlo-opt %s --emit-portable-artifact=0.9.0 2>&1 | FileCheck %s --check-prefix=OP
// OP: 'stablehlo.collective_broadcast' op is no op of StableHLO 0.9.0

// RUN: not slimhlo-opt %s --emit-portable-artifact=1.1.0 2>&1 | FileCheck %s --check-prefix=TYPE
// TYPE: 'stablehlo.collective_broadcast' op has a value of type tensor<4xi2>, which StableHLO 1.1.0 lacks

// RUN: not slimhlo-opt %s --emit-portable-artifact=1.99.0 2>&1 | FileCheck %s --check-prefix=VERSION
// VERSION: error: portable artifacts of StableHLO 1.99.0 are not known here, those of 0.9.0 to 1.17.0 are

// RUN: not slimhlo-opt %s --emit-portable-artifact=new 2>&1 | FileCheck %s --check-prefix=WORD
// WORD: error: 'new' is no version of StableHLO

// An artifact of a version that is not known here: the newest, with another number in its head.
// RUN: slimhlo-opt %s --emit-portable-artifact=1.17.0 | sed 's/StableHLO_v1.17.0/StableHLO_v1.99.0/' > %t.newer
// RUN: not slimhlo-opt %t.newer 2>&1 | FileCheck %s --check-prefix=VERSION

func.func @main(%a: tensor<4xi2>) -> tensor<4xi2> {
  %0 = "stablehlo.collective_broadcast"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xi2>) -> tensor<4xi2>
  return %0 : tensor<4xi2>
}
