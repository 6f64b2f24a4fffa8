// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "slimhlo-c/SdyAttributes.h"

#include "slimhlo/sdy/Sdy.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/CAPI/Wrap.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace slimhlo::sdy;

namespace {

SlimhloI64List list(ArrayRef<int64_t> values) {
  return {values.data(), static_cast<intptr_t>(values.size())};
}

template <typename AttrT> SlimhloAttributeList list(ArrayRef<AttrT> attributes) {
  // Both are one pointer to the attribute's storage.
  static_assert(sizeof(AttrT) == sizeof(MlirAttribute) && alignof(AttrT) == alignof(MlirAttribute));
  return {reinterpret_cast<const MlirAttribute *>(attributes.data()),
          static_cast<intptr_t>(attributes.size())};
}

/// The attributes of a list, failure if one is of another kind.
template <typename AttrT>
LogicalResult convert(SlimhloAttributeList list, SmallVectorImpl<AttrT> &attributes) {
  for (MlirAttribute attribute : ArrayRef(list.data, list.size)) {
    auto converted = dyn_cast_if_present<AttrT>(unwrap(attribute));
    if (!converted)
      return failure();
    attributes.push_back(converted);
  }
  return success();
}

template <typename AttrT, typename ElementT>
MlirAttribute build(MlirContext context, SlimhloAttributeList elements) {
  SmallVector<ElementT> converted;
  if (failed(convert(elements, converted)))
    return {};
  return wrap(Attribute(AttrT::get(unwrap(context), converted)));
}

} // namespace

#define SLIMHLO_SDY_DEFINE_ISA(A)                                                                  \
  bool slimhloSdyAttributeIsA##A(MlirAttribute attribute) {                                        \
    return isa_and_present<A##Attr>(unwrap(attribute));                                            \
  }
SLIMHLO_SDY_FOR_EACH_ATTRIBUTE(SLIMHLO_SDY_DEFINE_ISA)
#undef SLIMHLO_SDY_DEFINE_ISA

#define SLIMHLO_SDY_DEFINE(RETURN, A, P, CONVERT)                                                  \
  RETURN slimhloSdy##A##Get##P(MlirAttribute attribute) {                                          \
    auto typed = dyn_cast_if_present<A##Attr>(unwrap(attribute));                                  \
    if (!typed)                                                                                    \
      return {};                                                                                   \
    return CONVERT(typed.get##P());                                                                \
  }
#define SLIMHLO_SDY_ATTRIBUTES(A, P) SLIMHLO_SDY_DEFINE(SlimhloAttributeList, A, P, list)
#define SLIMHLO_SDY_LIST(A, P) SLIMHLO_SDY_DEFINE(SlimhloI64List, A, P, list)
#define SLIMHLO_SDY_INT(A, P) SLIMHLO_SDY_DEFINE(int64_t, A, P, static_cast<int64_t>)
#define SLIMHLO_SDY_BOOL(A, P) SLIMHLO_SDY_DEFINE(bool, A, P, static_cast<bool>)
#define SLIMHLO_SDY_STRING(A, P) SLIMHLO_SDY_DEFINE(MlirStringRef, A, P, wrap)
#define SLIMHLO_SDY_ATTRIBUTE(A, P) SLIMHLO_SDY_DEFINE(MlirAttribute, A, P, wrap)
SLIMHLO_SDY_FOR_EACH_PARAMETER(SLIMHLO_SDY_ATTRIBUTES, SLIMHLO_SDY_LIST, SLIMHLO_SDY_INT,
                               SLIMHLO_SDY_BOOL, SLIMHLO_SDY_STRING, SLIMHLO_SDY_ATTRIBUTE)

int64_t slimhloSdyDimensionShardingGetPriority(MlirAttribute attribute) {
  auto typed = dyn_cast_if_present<DimensionShardingAttr>(unwrap(attribute));
  return typed ? typed.getPriority().value_or(-1) : -1;
}

bool slimhloSdyEdgeValueRefIsResult(MlirAttribute attribute) {
  auto typed = dyn_cast_if_present<EdgeValueRefAttr>(unwrap(attribute));
  return typed && typed.getType() == EdgeNodeType::RESULT;
}

//===----------------------------------------------------------------------===//
// Builders
//===----------------------------------------------------------------------===//

MlirAttribute slimhloSdyMeshAxisAttrGet(MlirLocation location, MlirStringRef name, int64_t size) {
  Location loc = unwrap(location);
  return wrap(Attribute(MeshAxisAttr::getChecked([&] { return emitError(loc); }, loc.getContext(),
                                                 unwrap(name), size)));
}

MlirAttribute slimhloSdyMeshAttrGet(MlirLocation location, SlimhloAttributeList axes,
                                    SlimhloI64List deviceIds) {
  Location loc = unwrap(location);
  SmallVector<MeshAxisAttr> converted;
  if (failed(convert(axes, converted)))
    return {};
  return wrap(Attribute(MeshAttr::getChecked([&] { return emitError(loc); }, loc.getContext(),
                                             ArrayRef<MeshAxisAttr>(converted),
                                             ArrayRef<int64_t>(deviceIds.data, deviceIds.size))));
}

MlirAttribute slimhloSdySubAxisInfoAttrGet(MlirContext context, int64_t preSize, int64_t size) {
  return wrap(Attribute(SubAxisInfoAttr::get(unwrap(context), preSize, size)));
}

MlirAttribute slimhloSdyAxisRefAttrGet(MlirContext context, MlirStringRef name,
                                       MlirAttribute subAxisInfo) {
  return wrap(Attribute(AxisRefAttr::get(
      unwrap(context), unwrap(name), dyn_cast_if_present<SubAxisInfoAttr>(unwrap(subAxisInfo)))));
}

MlirAttribute slimhloSdyAxisRefListAttrGet(MlirContext context, SlimhloAttributeList axes) {
  return build<AxisRefListAttr, AxisRefAttr>(context, axes);
}

MlirAttribute slimhloSdyListOfAxisRefListsAttrGet(MlirContext context, SlimhloAttributeList lists) {
  return build<ListOfAxisRefListsAttr, AxisRefListAttr>(context, lists);
}

MlirAttribute slimhloSdyManualAxesAttrGet(MlirContext context, SlimhloAttributeList names) {
  return build<ManualAxesAttr, StringAttr>(context, names);
}

MlirAttribute slimhloSdyDimensionShardingAttrGet(MlirContext context, SlimhloAttributeList axes,
                                                 bool isClosed, int64_t priority) {
  SmallVector<AxisRefAttr> converted;
  if (failed(convert(axes, converted)))
    return {};
  return wrap(Attribute(
      DimensionShardingAttr::get(unwrap(context), converted, isClosed,
                                 priority < 0 ? std::nullopt : std::optional<int64_t>(priority))));
}

MlirAttribute slimhloSdyTensorShardingAttrGet(MlirContext context, MlirAttribute meshOrRef,
                                              SlimhloAttributeList dimShardings,
                                              SlimhloAttributeList replicatedAxes,
                                              SlimhloAttributeList unreducedAxes) {
  SmallVector<DimensionShardingAttr> dims;
  SmallVector<AxisRefAttr> replicated, unreduced;
  if (!isa_and_present<MeshAttr, FlatSymbolRefAttr>(unwrap(meshOrRef)) ||
      failed(convert(dimShardings, dims)) || failed(convert(replicatedAxes, replicated)) ||
      failed(convert(unreducedAxes, unreduced)))
    return {};
  return wrap(Attribute(
      TensorShardingAttr::get(unwrap(context), unwrap(meshOrRef), dims, replicated, unreduced)));
}

MlirAttribute slimhloSdyTensorShardingPerValueAttrGet(MlirContext context,
                                                      SlimhloAttributeList shardings) {
  return build<TensorShardingPerValueAttr, TensorShardingAttr>(context, shardings);
}

//===----------------------------------------------------------------------===//
// Symbols
//===----------------------------------------------------------------------===//

MlirAttribute slimhloSdyLookupMesh(MlirOperation op, MlirStringRef name) {
  Operation *from = unwrap(op);
  auto symbol = StringAttr::get(from->getContext(), unwrap(name));
  auto mesh = SymbolTable::lookupNearestSymbolFrom<MeshOp>(from, symbol);
  return wrap(mesh ? Attribute(mesh.getMesh()) : Attribute());
}

MlirAttribute slimhloFunctionGetValueAttribute(MlirOperation op, bool isResult, intptr_t index,
                                               MlirStringRef name) {
  auto function = dyn_cast<FunctionOpInterface>(unwrap(op));
  if (!function || index < 0 ||
      index >= (isResult ? function.getNumResults() : function.getNumArguments()))
    return {};
  return wrap(isResult ? function.getResultAttr(index, unwrap(name))
                       : function.getArgAttr(index, unwrap(name)));
}

bool slimhloIsFunction(MlirOperation op) { return isa<FunctionOpInterface>(unwrap(op)); }

bool slimhloIsCall(MlirOperation op) { return isa<CallOpInterface>(unwrap(op)); }
