// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What libslimhlo.so offers to C. C++ has the dialects' classes besides (slimhlo/AllDialects.h),
// and a *-opt of MLIR 22 loads it as a plugin (--load-dialect-plugin, --load-pass-plugin).

#ifndef SLIMHLO_C_SLIMHLO_H
#define SLIMHLO_C_SLIMHLO_H

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Version of slimhlo, such as "0.1.0".
const char *slimhloVersion(void);

/// Inserts the stablehlo, chlo and sdy dialects, and those they depend on, into `registry`.
void slimhloRegisterDialects(MlirDialectRegistry registry);

/// Adds slimhlo's passes and pipelines to MLIR's registry, from where a textual pipeline finds
/// them. More than once does no harm.
void slimhloRegisterPasses(void);

#ifdef __cplusplus
}
#endif

#endif // SLIMHLO_C_SLIMHLO_H
