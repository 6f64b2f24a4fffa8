// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// MLIR's inliner asks a dialect for an interface, which func has in a library of its own; MLIR's C
// interface only registers it together with all dialects there are.

#include "mlir/CAPI/IR.h"
#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

extern "C" void slimhloPjrtRegisterFunc(MlirDialectRegistry registry) {
  unwrap(registry)->insert<mlir::func::FuncDialect>();
  mlir::func::registerInlinerExtension(*unwrap(registry));
}
