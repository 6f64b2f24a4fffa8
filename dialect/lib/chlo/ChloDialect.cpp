// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "slimhlo/chlo/Chlo.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace slimhlo::chlo;

#include "slimhlo/chlo/ChloDialect.cpp.inc"

namespace {

/// No op of this dialect depends on the function it is in.
struct ChloInlinerInterface : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;

  bool isLegalToInline(Operation *, Operation *, bool) const final { return true; }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const final { return true; }
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final { return true; }
};

} // namespace

void ChloDialect::initialize() {
  registerChloAttributes();
  registerChloOps();
  addInterfaces<slimhlo::RustFoldInterface, ChloInlinerInterface>();
}

Operation *ChloDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                            Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return ConstantOp::create(builder, loc, elements);
}
