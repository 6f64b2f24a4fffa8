// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "slimhlo-c/Support.h"

#include "slimhlo/AllDialects.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/Twine.h"

using namespace mlir;

void slimhloEmitOpError(MlirOperation op, MlirStringRef message) {
  unwrap(op)->emitOpError(unwrap(message));
}

void slimhloEmitOpErrorAt(MlirLocation location, MlirStringRef opName, MlirStringRef message) {
  emitError(unwrap(location), Twine("'") + unwrap(opName) + "' op " + unwrap(message));
}

const int64_t *slimhloShapedTypeGetShape(MlirType type, intptr_t *rank) {
  static_assert(ShapedType::kDynamic == std::numeric_limits<int64_t>::min(),
                "Rust spells a dynamic size i64::MIN");
  auto shaped = dyn_cast_or_null<ShapedType>(unwrap(type));
  if (!shaped || !shaped.hasRank()) {
    *rank = -1;
    return nullptr;
  }
  ArrayRef<int64_t> shape = shaped.getShape();
  *rank = shape.size();
  return shape.data();
}

MlirAttribute slimhloOperationGetAttributes(MlirOperation op) {
  return wrap(Attribute(unwrap(op)->getAttrDictionary()));
}

const int64_t *slimhloRankedTensorTypeGetParts(MlirType type, intptr_t *rank, MlirType *element) {
  auto tensor = dyn_cast_or_null<RankedTensorType>(unwrap(type));
  if (!tensor) {
    *rank = -1;
    return nullptr;
  }
  *element = wrap(tensor.getElementType());
  *rank = tensor.getRank();
  return tensor.getShape().data();
}

template <typename ArrayAttr, typename Value>
static const Value *getData(MlirAttribute attribute, intptr_t *count) {
  auto array = dyn_cast_or_null<ArrayAttr>(unwrap(attribute));
  if (!array) {
    *count = -1;
    return nullptr;
  }
  ArrayRef<Value> values = array;
  *count = values.size();
  return values.data();
}

const int64_t *slimhloDenseI64ArrayGetData(MlirAttribute attribute, intptr_t *count) {
  return getData<DenseI64ArrayAttr, int64_t>(attribute, count);
}

const int32_t *slimhloDenseI32ArrayGetData(MlirAttribute attribute, intptr_t *count) {
  return getData<DenseI32ArrayAttr, int32_t>(attribute, count);
}

const bool *slimhloDenseBoolArrayGetData(MlirAttribute attribute, intptr_t *count) {
  return getData<DenseBoolArrayAttr, bool>(attribute, count);
}

const int64_t *slimhloBoundsGetData(MlirAttribute attribute, intptr_t *count) {
  auto extensions = dyn_cast_or_null<slimhlo::stablehlo::TypeExtensionsAttr>(unwrap(attribute));
  if (!extensions) {
    *count = -1;
    return nullptr;
  }
  *count = extensions.getBounds().size();
  return extensions.getBounds().data();
}

MlirAttribute slimhloBoundsGet(MlirContext context, intptr_t count, const int64_t *bounds) {
  return wrap(Attribute(slimhlo::stablehlo::TypeExtensionsAttr::get(
      unwrap(context), ArrayRef<int64_t>(bounds, static_cast<size_t>(count)))));
}

void slimhloRegisterDialects(MlirDialectRegistry registry) {
  slimhlo::registerAllDialects(*unwrap(registry));
}
