// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "slimhlo/sdy/Sdy.h"

#include "slimhlo-c/SdyHooks.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/CAPI/Wrap.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/InliningUtils.h"

using namespace mlir;
using namespace slimhlo::sdy;

#include "slimhlo/sdy/SdyDialect.cpp.inc"

namespace {

struct SdyInlinerInterface : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;

  bool isLegalToInline(Operation *, Operation *, bool) const final { return true; }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const final { return true; }

  bool isLegalToInline(Operation *op, Region *into, bool, IRMapping &) const final {
    // An edge into a function is one no more in the caller, and an axis that a callee shards along
    // may be bound where it is called.
    Operation *owner = into->getParentOp();
    return !isa<FuncDataFlowEdgeOp>(op) && !isa<ManualComputationOp>(owner) &&
           !owner->getParentOfType<ManualComputationOp>();
  }
};

} // namespace

void SdyDialect::initialize() {
  registerSdyAttributes();
  registerSdyOps();
  addInterfaces<slimhlo::RustFoldInterface, SdyInlinerInterface>();
}

LogicalResult SdyDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  return unwrap(slimhloSdyVerifyOperationAttribute(wrap(op), wrap(attribute.getName().getValue()),
                                                   wrap(attribute.getValue())));
}

LogicalResult SdyDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned index,
                                                   NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  Type type =
      function && index < function.getNumArguments() ? function.getArgumentTypes()[index] : Type();
  return unwrap(slimhloSdyVerifyValueAttribute(wrap(op), /*isResult=*/false, index, wrap(type),
                                               wrap(attribute.getName().getValue()),
                                               wrap(attribute.getValue())));
}

LogicalResult SdyDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned index,
                                                      NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  Type type =
      function && index < function.getNumResults() ? function.getResultTypes()[index] : Type();
  return unwrap(slimhloSdyVerifyValueAttribute(wrap(op), /*isResult=*/true, index, wrap(type),
                                               wrap(attribute.getName().getValue()),
                                               wrap(attribute.getValue())));
}
