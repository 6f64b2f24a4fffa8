// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `sdy` dialect itself, without anything in it.

#ifndef SLIMHLO_SDY_DIALECT_TD
#define SLIMHLO_SDY_DIALECT_TD

include "mlir/IR/DialectBase.td"

def Sdy_Dialect : Dialect {
  let name = "sdy";
  let cppNamespace = "::slimhlo::sdy";
  let summary = "How tensors are cut and spread over a mesh of devices";

  let description = [{
    A mesh names the axes along which devices are arranged. A sharding maps each dimension of a tensor to axes of a mesh:
    the dimension is cut along them, major axis first. Shardings sit on ops of any dialect, as the discardable attribute
    `sdy.sharding`; the ops of this dialect are meshes, points where a sharding is asked for, and the collectives that
    take a tensor from one sharding to another.
  }];

  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;

  let extraClassDeclaration = [{
    /// Adds every attribute of this dialect; called once, by `initialize`.
    void registerSdyAttributes();
    /// Adds every op of this dialect; called once, by `initialize`.
    void registerSdyOps();
  }];
}

#endif // SLIMHLO_SDY_DIALECT_TD
