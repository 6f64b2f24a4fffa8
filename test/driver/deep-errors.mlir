// What is nested too deeply is refused in every form, with the depth, and not by a stack that ends.
// UNSUPPORTED: plugin

// Brackets of text, with the place.
// RUN: awk 'BEGIN {for (i = 0; i < 100000; i++) print "\042a.b\042() ({"}' > %t.mlir
// RUN: not slimhlo-opt --allow-unregistered-dialect %t.mlir 2>&1 | FileCheck %s --check-prefix=TEXT
// TEXT: :10026:6: error: brackets are nested 20051 deep; at most 20050 are read, which are those of 10000 regions

// Attributes of bytecode.
// RUN: awk 'BEGIN {printf "module attributes {a.b = "; for (i = 0; i < 10000; i++) printf "["; for (i = 0; i < 10000; i++) printf "]"; print "} {}"}' > %t.arrays.mlir
// RUN: slimhlo-opt --allow-unregistered-dialect %t.arrays.mlir --emit-bytecode -o %t.mlirbc
// RUN: not slimhlo-opt --allow-unregistered-dialect %t.mlirbc 2>&1 | FileCheck %s --check-prefix=BYTECODE
// BYTECODE: error: attributes are nested 10001 deep; at most 10000 are read
