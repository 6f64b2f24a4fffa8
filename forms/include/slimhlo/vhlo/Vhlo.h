// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SLIMHLO_VHLO_VHLO_H
#define SLIMHLO_VHLO_VHLO_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"

#include "slimhlo/vhlo/VhloDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "slimhlo/vhlo/VhloAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "slimhlo/vhlo/VhloTypes.h.inc"

#endif // SLIMHLO_VHLO_VHLO_H
