// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `stablehlo` dialect class and the generated op classes. Syntax beyond assembly formats is in
// OpAssembly.cpp.

#include "slimhlo/stablehlo/Stablehlo.h"

#include "slimhlo/stablehlo/OpAssembly.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/InliningUtils.h"

using namespace mlir;
using namespace slimhlo::stablehlo;

#include "slimhlo/stablehlo/StablehloDialect.cpp.inc"

#define GET_OP_CLASSES
#include "slimhlo/stablehlo/StablehloOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Dialect
//===----------------------------------------------------------------------===//

namespace {

/// Everything here may be inlined: ops act on values only, and what is not to move says so by its
/// effects.
struct StablehloInlinerInterface : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;

  bool isLegalToInline(Operation *, Operation *, bool) const final { return true; }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const final { return true; }
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final { return true; }
};

} // namespace

void StablehloDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "slimhlo/stablehlo/StablehloOps.cpp.inc"
      >();
  registerStablehloAttributes();
  registerStablehloTypes();
  addInterfaces<slimhlo::RustFoldInterface, StablehloInlinerInterface>();
}

Operation *StablehloDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                                 Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || !isa<RankedTensorType>(type) || elements.getType() != type)
    return nullptr;
  return ConstantOp::create(builder, loc, type, elements);
}

//===----------------------------------------------------------------------===//
// Helpers that generated code calls
//===----------------------------------------------------------------------===//

bool slimhlo::stablehlo::hasSingleBoundedDimension(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || tensor.getNumDynamicDims() != 1)
    return false;
  auto extensions = dyn_cast_if_present<TypeExtensionsAttr>(tensor.getEncoding());
  if (!extensions)
    return false;
  return llvm::count_if(extensions.getBounds(),
                        [](int64_t bound) { return !ShapedType::isDynamic(bound); }) == 1;
}

ResultAccuracyAttr slimhlo::stablehlo::getDefaultResultAccuracy(MLIRContext *context) {
  return ResultAccuracyAttr::get(context, APFloat(0.0), APFloat(0.0), /*ulps=*/0,
                                 ResultAccuracyModeAttr::get(context, ResultAccuracyMode::DEFAULT));
}
