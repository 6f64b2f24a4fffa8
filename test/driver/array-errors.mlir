// An index has no width that an array could be of: MLIR 22's parser would end the process.
// UNSUPPORTED: plugin
// RUN: not slimhlo-opt %s 2>&1 | FileCheck %s
// CHECK: array-errors.mlir:8:14: error: elements of array<!of: ...> must be integers or floats

!of = index
module attributes {
  a.b = array<!of: 1>
} {
}
