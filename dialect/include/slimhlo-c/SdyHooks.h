// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the sdy dialect asks of the Rust half beyond Hooks.h: its attributes sit on ops of other
// dialects, whose verifiers do not know them. Implemented in dialect/src/sdy/hooks.rs; the rules of
// Hooks.h hold.

#ifndef SLIMHLO_C_SDYHOOKS_H
#define SLIMHLO_C_SDYHOOKS_H

#include "mlir-c/IR.h"
#include "mlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Verifies a discardable `sdy.*` attribute of `op`. Emits its own diagnostics.
MlirLogicalResult slimhloSdyVerifyOperationAttribute(MlirOperation op, MlirStringRef name,
                                                     MlirAttribute attribute);

/// Verifies an `sdy.*` attribute of argument (or result) `index` of the function `op`. `type` is
/// that value's type, null if there is no such value.
MlirLogicalResult slimhloSdyVerifyValueAttribute(MlirOperation op, bool isResult, unsigned index,
                                                 MlirType type, MlirStringRef name,
                                                 MlirAttribute attribute);

#ifdef __cplusplus
}
#endif

#endif // SLIMHLO_C_SDYHOOKS_H
