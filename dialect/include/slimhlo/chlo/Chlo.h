// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SLIMHLO_CHLO_CHLO_H
#define SLIMHLO_CHLO_CHLO_H

#include "slimhlo/RustOp.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Quant/IR/Quant.h"
#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "slimhlo/chlo/ChloDialect.h.inc"
#include "slimhlo/chlo/ChloEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "slimhlo/chlo/ChloAttrs.h.inc"

#define GET_OP_CLASSES
#include "slimhlo/chlo/ChloOps.h.inc"

#endif // SLIMHLO_CHLO_CHLO_H
