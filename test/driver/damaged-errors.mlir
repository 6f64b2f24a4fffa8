// Bytecode that is cut off or damaged is refused with the byte at which that shows, and the number that is wrong.
// UNSUPPORTED: plugin

// RUN: slimhlo-opt %s --emit-bytecode -o %t.mlirbc
// RUN: head -c 200 %t.mlirbc > %t.cut
// RUN: not slimhlo-opt %t.cut 2>&1 | FileCheck %s --check-prefix=CUT
// CUT: damaged-errors.mlir.tmp.cut: error: the bytecode is cut off or damaged at byte {{[0-9]+}}: it ends too early

// Behind the magic number, the version and the producer comes the section of strings: its number, its length, and how many there are.
// RUN: printf 'ML\357R\015MLIR\000\000\005\377\001' > %t.count
// RUN: not slimhlo-opt %t.count 2>&1 | FileCheck %s --check-prefix=COUNT
// COUNT: error: the bytecode is cut off or damaged at byte 12: a count in it is larger than what follows (127; there are 1)

func.func @main(%a: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.sine %a : tensor<3xf32>
  return %0 : tensor<3xf32>
}
