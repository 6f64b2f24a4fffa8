// An output file is whole or as it was before, also when it is the input. (A stock mlir-opt truncates first.)
// UNSUPPORTED: plugin

// RUN: mkdir -p %t
// RUN: cp %s %t/same.mlir
// RUN: slimhlo-opt --canonicalize %t/same.mlir -o %t/same.mlir
// RUN: FileCheck %s < %t/same.mlir
// CHECK: func.func @f
// CHECK-NEXT: return %arg0

// A failed run leaves what was there, and nothing else.
// RUN: not slimhlo-opt %S/Inputs/broken.mlir -o %t/same.mlir
// RUN: FileCheck %s < %t/same.mlir
// RUN: ls %t | FileCheck %s --check-prefix=LEFT
// LEFT-NOT: tmp

// RUN: not slimhlo-opt %s -o %t/no/such/folder.mlir 2>&1 | FileCheck %s --check-prefix=FOLDER
// FOLDER: cannot open output file '{{.*}}folder.mlir': No such file or directory

func.func @f(%a: tensor<2xf32>) -> tensor<2xf32> {
  %dead = stablehlo.add %a, %a : tensor<2xf32>
  return %a : tensor<2xf32>
}
