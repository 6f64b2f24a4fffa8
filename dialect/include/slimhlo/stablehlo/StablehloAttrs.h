// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `stablehlo` dialect class with its enums, attributes and types.

#ifndef SLIMHLO_STABLEHLO_STABLEHLOATTRS_H
#define SLIMHLO_STABLEHLO_STABLEHLOATTRS_H

#include "mlir/Dialect/Quant/IR/Quant.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"

#include "slimhlo/stablehlo/StablehloDialect.h.inc"

#include "slimhlo/stablehlo/StablehloEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "slimhlo/stablehlo/StablehloAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "slimhlo/stablehlo/StablehloTypes.h.inc"

#endif // SLIMHLO_STABLEHLO_STABLEHLOATTRS_H
