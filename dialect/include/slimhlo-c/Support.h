// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the Rust half asks of MLIR beyond MLIR's own C API.

#ifndef SLIMHLO_C_SUPPORT_H
#define SLIMHLO_C_SUPPORT_H

#include "mlir-c/IR.h"
#include "mlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Emits "'<op name>' op <message>" at the op's location, with the op as a note where the context
/// asks for it.
void slimhloEmitOpError(MlirOperation op, MlirStringRef message);

/// Emits "'<op name>' op <message>" at `location` for an op that does not exist yet.
void slimhloEmitOpErrorAt(MlirLocation location, MlirStringRef opName, MlirStringRef message);

/// Inserts the stablehlo, chlo and sdy dialects, and those they depend on, into `registry`.
void slimhloRegisterDialects(MlirDialectRegistry registry);

/// From now on constants of very many elements are printed in pieces, which takes a fifth of the
/// memory. Flags of printing that are not those of the command line do not matter to them.
void slimhloPrintConstantsInPieces(void);

/// Sizes of a ranked shaped type in storage order; dynamic ones are INT64_MIN. The pointer lives as
/// long as the context; `rank` is -1 and the pointer null if the type is not a ranked shaped type.
const int64_t *slimhloShapedTypeGetShape(MlirType type, intptr_t *rank);

/// All attributes of an op as one dictionary: those that are stored as properties are made into
/// attributes once, where asking for one after the other makes all of them each time.
MlirAttribute slimhloOperationGetAttributes(MlirOperation op);

/// Sizes of a ranked tensor type and the type of its elements, by one look at the type. Null, with
/// a rank of -1, if the type is another.
const int64_t *slimhloRankedTensorTypeGetParts(MlirType type, intptr_t *rank, MlirType *element);

/// The values of a `DenseI64ArrayAttr`, valid as long as the context; null and -1 if it is not one.
const int64_t *slimhloDenseI64ArrayGetData(MlirAttribute attribute, intptr_t *count);

/// The values of a `DenseI32ArrayAttr`, as above.
const int32_t *slimhloDenseI32ArrayGetData(MlirAttribute attribute, intptr_t *count);

/// The values of a `DenseBoolArrayAttr`, as above.
const bool *slimhloDenseBoolArrayGetData(MlirAttribute attribute, intptr_t *count);

/// The bounds of a `#stablehlo.bounds` attribute, as above; INT64_MIN where a dimension has none.
const int64_t *slimhloBoundsGetData(MlirAttribute attribute, intptr_t *count);

/// Builds `#stablehlo.bounds`.
MlirAttribute slimhloBoundsGet(MlirContext context, intptr_t count, const int64_t *bounds);

#ifdef __cplusplus
}
#endif

#endif // SLIMHLO_C_SUPPORT_H
