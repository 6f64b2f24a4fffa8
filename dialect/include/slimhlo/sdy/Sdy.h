// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SLIMHLO_SDY_SDY_H
#define SLIMHLO_SDY_SDY_H

#include "slimhlo/RustOp.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "slimhlo/sdy/SdyDialect.h.inc"
#include "slimhlo/sdy/SdyEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "slimhlo/sdy/SdyAttrs.h.inc"

#define GET_OP_CLASSES
#include "slimhlo/sdy/SdyOps.h.inc"

#endif // SLIMHLO_SDY_SDY_H
