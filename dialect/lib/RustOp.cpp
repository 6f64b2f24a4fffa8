// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "slimhlo/RustOp.h"

#include "slimhlo-c/Hooks.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/CAPI/Wrap.h"

using namespace mlir;

LogicalResult slimhlo::verifyOp(Operation *op) { return unwrap(slimhloVerifyOp(wrap(op))); }

LogicalResult slimhlo::verifyFirst(Operation *op, Counts counts) {
  return unwrap(slimhloVerifyFirst(wrap(op), counts.operands, counts.results, counts.regions));
}

LogicalResult slimhlo::verifyOpRegions(Operation *op) {
  return unwrap(slimhloVerifyOpRegions(wrap(op)));
}

LogicalResult slimhlo::inferReturnTypes(StringRef opName, MLIRContext *context,
                                        std::optional<Location> location, ValueRange operands,
                                        DictionaryAttr attributes, RegionRange regions,
                                        SmallVectorImpl<Type> &inferredReturnTypes) {
  SmallVector<MlirValue> cOperands;
  cOperands.reserve(operands.size());
  for (Value operand : operands)
    cOperands.push_back(wrap(operand));
  SmallVector<MlirRegion> cRegions;
  for (Region *region : regions)
    cRegions.push_back(wrap(region));

  inferredReturnTypes.clear();
  auto sink = [](MlirType type, void *userData) {
    static_cast<SmallVectorImpl<Type> *>(userData)->push_back(unwrap(type));
  };
  return unwrap(slimhloInferReturnTypes(
      wrap(opName), wrap(context), location ? wrap(*location) : MlirLocation{nullptr},
      cOperands.size(), cOperands.data(), wrap(Attribute(attributes)), cRegions.size(),
      cRegions.data(), sink, &inferredReturnTypes));
}

bool slimhlo::isCompatibleReturnTypes(StringRef opName, TypeRange inferred, TypeRange actual) {
  // Nearly always so, and cheaper than crossing over.
  if (inferred == actual)
    return true;
  SmallVector<MlirType> cInferred, cActual;
  for (Type type : inferred)
    cInferred.push_back(wrap(type));
  for (Type type : actual)
    cActual.push_back(wrap(type));
  return slimhloAreCompatibleReturnTypes(wrap(opName), cInferred.size(), cInferred.data(),
                                         cActual.size(), cActual.data());
}

void slimhlo::getEffects(
    Operation *op, SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  if (!slimhloHasMemoryEffects(wrap(op)))
    return;
  // Nothing is known about what it does: all four together let no pass drop, merge or reorder it.
  effects.emplace_back(MemoryEffects::Allocate::get());
  effects.emplace_back(MemoryEffects::Free::get());
  effects.emplace_back(MemoryEffects::Read::get());
  effects.emplace_back(MemoryEffects::Write::get());
}

Speculation::Speculatability slimhlo::getSpeculatability(Operation *op) {
  return slimhloIsSpeculatable(wrap(op)) ? Speculation::Speculatable : Speculation::NotSpeculatable;
}

LogicalResult slimhlo::verifySymbolUses(Operation *op, SymbolTableCollection &symbolTable) {
  // A reference to an op nested in another one contains the reference to its root as a
  // sub-attribute, which must not be taken for a use of its own: hence the skip.
  WalkResult result =
      op->getAttrDictionary().walk<WalkOrder::PreOrder>([&](SymbolRefAttr symbol) -> WalkResult {
        Operation *target = symbolTable.lookupNearestSymbolFrom(op, symbol);
        if (failed(unwrap(slimhloVerifySymbolUse(wrap(op), wrap(Attribute(symbol)), wrap(target)))))
          return WalkResult::interrupt();
        return WalkResult::skip();
      });
  return failure(result.wasInterrupted());
}

DictionaryAttr slimhlo::mergeProperties(MLIRContext *context, DictionaryAttr attributes,
                                        Attribute properties) {
  auto dictionary = dyn_cast_if_present<DictionaryAttr>(properties);
  if (!attributes)
    attributes = DictionaryAttr::get(context);
  if (!dictionary || dictionary.empty())
    return attributes;
  if (attributes.empty())
    return dictionary;
  NamedAttrList merged(attributes);
  for (NamedAttribute property : dictionary)
    merged.set(property.getName(), property.getValue());
  return merged.getDictionary(context);
}

LogicalResult slimhlo::RustFoldInterface::fold(Operation *op, ArrayRef<Attribute> operands,
                                               SmallVectorImpl<OpFoldResult> &results) const {
  SmallVector<MlirAttribute> cOperands;
  cOperands.reserve(operands.size());
  for (Attribute operand : operands)
    cOperands.push_back(wrap(operand));

  // An op without results that "folds" would be folded again for ever, as nothing about it changed.
  if (op->getNumResults() == 0)
    return failure();

  size_t before = results.size();
  auto sink = [](MlirAttribute attribute, MlirValue value, void *userData) {
    auto &out = *static_cast<SmallVectorImpl<OpFoldResult> *>(userData);
    if (attribute.ptr)
      out.push_back(unwrap(attribute));
    else
      out.push_back(unwrap(value));
  };
  LogicalResult folded =
      unwrap(slimhloFold(wrap(op), cOperands.size(), cOperands.data(), sink, &results));
  if (failed(folded) || results.size() - before != op->getNumResults()) {
    results.truncate(before);
    return failure();
  }
  return success();
}
