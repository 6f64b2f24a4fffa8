// An index has no width that an array could be of: MLIR 22's parser would end the process.
// UNSUPPORTED: plugin
// RUN: not slimhlo-opt %s 2>&1 | FileCheck %s
// CHECK: error: line 8: elements of array<!of: ...> must be integers or floats

!of = index
module attributes {
  a.b = array<!of: 1>
} {
}
