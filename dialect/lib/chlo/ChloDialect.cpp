// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "slimhlo/chlo/Chlo.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace slimhlo::chlo;

#include "slimhlo/chlo/ChloDialect.cpp.inc"

void ChloDialect::initialize() {
  registerChloAttributes();
  registerChloOps();
  addInterfaces<slimhlo::RustFoldInterface>();
}

Operation *ChloDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                            Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return ConstantOp::create(builder, loc, elements);
}
