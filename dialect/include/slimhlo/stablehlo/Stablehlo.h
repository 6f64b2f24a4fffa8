// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `stablehlo` dialect for C++ users: the dialect class, its enums, attributes, types and ops.

#ifndef SLIMHLO_STABLEHLO_STABLEHLO_H
#define SLIMHLO_STABLEHLO_STABLEHLO_H

#include "slimhlo/RustOp.h"
#include "slimhlo/stablehlo/StablehloAttrs.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace slimhlo::stablehlo {

/// Whether `type` is a ranked tensor with one dynamic dimension and a bound for that one only.
bool hasSingleBoundedDimension(mlir::Type type);

/// The accuracy of an op that does not ask for any: mode DEFAULT, no tolerances.
ResultAccuracyAttr getDefaultResultAccuracy(mlir::MLIRContext *context);

} // namespace slimhlo::stablehlo

#define GET_OP_CLASSES
#include "slimhlo/stablehlo/StablehloOps.h.inc"

#endif // SLIMHLO_STABLEHLO_STABLEHLO_H
