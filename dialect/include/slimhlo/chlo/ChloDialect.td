// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `chlo` dialect itself, without anything in it.

#ifndef SLIMHLO_CHLO_DIALECT_TD
#define SLIMHLO_CHLO_DIALECT_TD

include "mlir/IR/DialectBase.td"

def Chlo_Dialect : Dialect {
  let name = "chlo";
  let cppNamespace = "::slimhlo::chlo";
  let summary = "What frontends say more conveniently than `stablehlo` does";

  let description = [{
    Two kinds of op: elementwise ones that broadcast their operands by themselves, as array libraries do, and special
    functions (`erf`, `zeta`, `top_k`, ...) that a backend may know as one kernel. Each but `scan` has a meaning in
    `stablehlo` ops alone.
  }];

  let dependentDialects = ["::mlir::quant::QuantDialect"];
  let hasConstantMaterializer = 1;
  let useDefaultAttributePrinterParser = 1;

  let extraClassDeclaration = [{
    /// Adds every attribute of this dialect; called once, by `initialize`.
    void registerChloAttributes();
    /// Adds every op of this dialect; called once, by `initialize`.
    void registerChloOps();
  }];
}

#endif // SLIMHLO_CHLO_DIALECT_TD
