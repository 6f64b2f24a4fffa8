// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the C++ half asks of the Rust half. TableGen gives an op its shape and its syntax;
// everything that decides something (is this op valid, what does it return, what does it fold to,
// may it be moved) is one of the functions below. They are implemented in dialect/src/hooks.rs,
// never unwind, and are safe to call from several threads.

#ifndef SLIMHLO_C_HOOKS_H
#define SLIMHLO_C_HOOKS_H

#include "mlir-c/IR.h"
#include "mlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Verifies `op` before its regions are verified. Emits its own diagnostics.
MlirLogicalResult slimhloVerifyOp(MlirOperation op);

/// Verifies what MLIR's own traits ask of `op`, before they do, and with the numbers that they
/// leave out: how many operands, results and regions there must be (-1: any number), and what Rust
/// knows besides. Emits its own diagnostics.
MlirLogicalResult slimhloVerifyFirst(MlirOperation op, intptr_t operands, intptr_t results,
                                     intptr_t regions);

/// Verifies what may only be looked at once every op in the regions of `op` is known to be valid.
MlirLogicalResult slimhloVerifyOpRegions(MlirOperation op);

/// Receives one inferred result type.
typedef void (*SlimhloTypeSink)(MlirType type, void *userData);

/// Infers the result types of an op that may not exist yet. `attributes` is a DictionaryAttr that
/// holds properties and discardable attributes together. A null `location` asks for silence;
/// otherwise failures are diagnosed there.
MlirLogicalResult slimhloInferReturnTypes(MlirStringRef opName, MlirContext context,
                                          MlirLocation location, intptr_t nOperands,
                                          const MlirValue *operands, MlirAttribute attributes,
                                          intptr_t nRegions, const MlirRegion *regions,
                                          SlimhloTypeSink sink, void *userData);

/// Whether results of `actual` types may stand where `inferred` ones were computed for an op of
/// this name.
bool slimhloAreCompatibleReturnTypes(MlirStringRef opName, intptr_t nInferred,
                                     const MlirType *inferred, intptr_t nActual,
                                     const MlirType *actual);

/// Receives one folded result: exactly one of the two is not null.
typedef void (*SlimhloFoldSink)(MlirAttribute attribute, MlirValue value, void *userData);

/// Folds `op`; `operands[i]` is the constant value of operand i or null. Success means every result
/// was sent to `sink` in order; failure means that nothing was sent.
MlirLogicalResult slimhloFold(MlirOperation op, intptr_t nOperands, const MlirAttribute *operands,
                              SlimhloFoldSink sink, void *userData);

/// Whether executing `op` may be observed other than by its results (custom_call with
/// has_side_effect, ...).
bool slimhloHasMemoryEffects(MlirOperation op);

/// Whether `op` may be executed where it was not before: false if its operands' run-time shapes
/// could make it fail.
bool slimhloIsSpeculatable(MlirOperation op);

/// Verifies one use of a symbol by `op`. `symbol` is a SymbolRefAttr found among its attributes,
/// `target` the op it names, or null if there is none.
MlirLogicalResult slimhloVerifySymbolUse(MlirOperation op, MlirAttribute symbol,
                                         MlirOperation target);

/// Receives an error message about an attribute or type under construction.
typedef void (*SlimhloErrorSink)(MlirStringRef message, void *userData);

/// Verifies the numbers of an attribute or type that is being built: `mnemonic` is its full name
/// ("stablehlo.bounds"), `parameters` its integer parameters flattened in declaration order.
MlirLogicalResult slimhloVerifyParameters(MlirStringRef mnemonic, intptr_t nParameters,
                                          const int64_t *parameters, SlimhloErrorSink sink,
                                          void *userData);

#ifdef __cplusplus
}
#endif

#endif // SLIMHLO_C_HOOKS_H
