// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "slimhlo-c/Attributes.h"

#include "slimhlo/stablehlo/StablehloAttrs.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/IR/Diagnostics.h"

#include <optional>

using namespace mlir;
using namespace slimhlo::stablehlo;

static SlimhloI64List toList(ArrayRef<int64_t> values) {
  return {values.data(), static_cast<intptr_t>(values.size())};
}

static ArrayRef<int64_t> fromList(SlimhloI64List list) {
  return {list.data, static_cast<size_t>(list.size)};
}

/// An attribute of the wrong kind, or null, comes out as a null attribute.
template <typename To> static To as(MlirAttribute attribute) {
  return dyn_cast_if_present<To>(unwrap(attribute));
}

/// Builds an attribute or type that may turn out invalid.
template <typename To, typename... Args>
static To getChecked(MlirLocation location, Args &&...args) {
  Location loc = unwrap(location);
  return To::getChecked([&] { return emitError(loc); }, loc.getContext(),
                        std::forward<Args>(args)...);
}

//===----------------------------------------------------------------------===//
// Enums
//===----------------------------------------------------------------------===//

#define DEFINE_ENUM(E)                                                                             \
  bool slimhloStablehloAttributeIsA##E(MlirAttribute attribute) {                                  \
    return static_cast<bool>(as<E##Attr>(attribute));                                              \
  }                                                                                                \
  MlirAttribute slimhloStablehlo##E##AttrGet(MlirContext context, int32_t value) {                 \
    std::optional<E> known = symbolize##E(static_cast<uint32_t>(value));                           \
    return known ? wrap(Attribute(E##Attr::get(unwrap(context), *known)))                          \
                 : MlirAttribute{nullptr};                                                         \
  }                                                                                                \
  int32_t slimhloStablehlo##E##GetValue(MlirAttribute attribute) {                                 \
    auto known = as<E##Attr>(attribute);                                                           \
    return known ? static_cast<int32_t>(known.getValue()) : -1;                                    \
  }                                                                                                \
  MlirStringRef slimhloStablehlo##E##ToString(int32_t value) {                                     \
    std::optional<E> known = symbolize##E(static_cast<uint32_t>(value));                           \
    return wrap(known ? StringRef(stringify##E(*known)) : StringRef());                            \
  }                                                                                                \
  int32_t slimhloStablehlo##E##FromString(MlirStringRef text) {                                    \
    std::optional<E> known = symbolize##E(unwrap(text));                                           \
    return known ? static_cast<int32_t>(*known) : -1;                                              \
  }
SLIMHLO_STABLEHLO_FOR_EACH_ENUM(DEFINE_ENUM)

//===----------------------------------------------------------------------===//
// Readers of attributes
//===----------------------------------------------------------------------===//

#define DEFINE_ISA(A)                                                                              \
  bool slimhloStablehloAttributeIsA##A(MlirAttribute attribute) {                                  \
    return static_cast<bool>(as<A##Attr>(attribute));                                              \
  }
SLIMHLO_STABLEHLO_FOR_EACH_ATTRIBUTE(DEFINE_ISA)

#define DEFINE_READER(A, P, RESULT, CONVERT, NONE)                                                 \
  RESULT slimhloStablehlo##A##Get##P(MlirAttribute attribute) {                                    \
    auto known = as<A##Attr>(attribute);                                                           \
    return known ? CONVERT(known.get##P()) : NONE;                                                 \
  }
#define DEFINE_LIST(A, P) DEFINE_READER(A, P, SlimhloI64List, toList, (SlimhloI64List{nullptr, 0}))
#define DEFINE_INT(A, P) DEFINE_READER(A, P, int64_t, int64_t, 0)
#define DEFINE_BOOL(A, P) DEFINE_READER(A, P, bool, bool, false)
#define DEFINE_STRING(A, P) DEFINE_READER(A, P, MlirStringRef, wrap, wrap(StringRef()))
#define DEFINE_TYPE(A, P) DEFINE_READER(A, P, MlirType, wrap, MlirType{nullptr})
#define WRAP_ATTRIBUTE(attribute) wrap(Attribute(attribute))
#define DEFINE_ATTRIBUTE(A, P)                                                                     \
  DEFINE_READER(A, P, MlirAttribute, WRAP_ATTRIBUTE, MlirAttribute{nullptr})
SLIMHLO_STABLEHLO_FOR_EACH_PARAMETER(DEFINE_LIST, DEFINE_INT, DEFINE_BOOL, DEFINE_STRING,
                                     DEFINE_TYPE, DEFINE_ATTRIBUTE)

/// The attribute is built from text or from a C double, so that it is a double always.
static double toDouble(const APFloat &value) { return value.convertToDouble(); }
DEFINE_READER(ResultAccuracy, Atol, double, toDouble, 0.0)
DEFINE_READER(ResultAccuracy, Rtol, double, toDouble, 0.0)

intptr_t slimhloStablehloMeshGetNumAxes(MlirAttribute attribute) {
  auto mesh = as<MeshAttr>(attribute);
  return mesh ? mesh.getAxes().size() : 0;
}

MlirAttribute slimhloStablehloMeshGetAxis(MlirAttribute attribute, intptr_t index) {
  auto mesh = as<MeshAttr>(attribute);
  if (!mesh || index < 0 || static_cast<size_t>(index) >= mesh.getAxes().size())
    return {nullptr};
  return wrap(Attribute(mesh.getAxes()[index]));
}

//===----------------------------------------------------------------------===//
// Builders of attributes
//===----------------------------------------------------------------------===//

MlirAttribute slimhloStablehloAxisRefAttrGet(MlirContext context, MlirStringRef name,
                                             MlirAttribute subAxisInfo) {
  return wrap(
      Attribute(AxisRefAttr::get(unwrap(context), unwrap(name), as<SubAxisInfoAttr>(subAxisInfo))));
}

MlirAttribute slimhloStablehloChannelHandleAttrGet(MlirContext context, int64_t handle,
                                                   int64_t type) {
  return wrap(Attribute(ChannelHandleAttr::get(unwrap(context), handle, type)));
}

MlirAttribute slimhloStablehloConvDimensionNumbersAttrGet(
    MlirContext context, int64_t inputBatchDimension, int64_t inputFeatureDimension,
    SlimhloI64List inputSpatialDimensions, int64_t kernelInputFeatureDimension,
    int64_t kernelOutputFeatureDimension, SlimhloI64List kernelSpatialDimensions,
    int64_t outputBatchDimension, int64_t outputFeatureDimension,
    SlimhloI64List outputSpatialDimensions) {
  return wrap(Attribute(ConvDimensionNumbersAttr::get(
      unwrap(context), inputBatchDimension, inputFeatureDimension, fromList(inputSpatialDimensions),
      kernelInputFeatureDimension, kernelOutputFeatureDimension, fromList(kernelSpatialDimensions),
      outputBatchDimension, outputFeatureDimension, fromList(outputSpatialDimensions))));
}

MlirAttribute slimhloStablehloDotAlgorithmAttrGet(
    MlirLocation location, MlirType lhsPrecisionType, MlirType rhsPrecisionType,
    MlirType accumulationType, int64_t lhsComponentCount, int64_t rhsComponentCount,
    int64_t numPrimitiveOperations, bool allowImpreciseAccumulation) {
  return wrap(Attribute(getChecked<DotAlgorithmAttr>(
      location, unwrap(lhsPrecisionType), unwrap(rhsPrecisionType), unwrap(accumulationType),
      lhsComponentCount, rhsComponentCount, numPrimitiveOperations, allowImpreciseAccumulation)));
}

MlirAttribute slimhloStablehloDotDimensionNumbersAttrGet(MlirContext context,
                                                         SlimhloI64List lhsBatchingDimensions,
                                                         SlimhloI64List rhsBatchingDimensions,
                                                         SlimhloI64List lhsContractingDimensions,
                                                         SlimhloI64List rhsContractingDimensions) {
  return wrap(Attribute(DotDimensionNumbersAttr::get(
      unwrap(context), fromList(lhsBatchingDimensions), fromList(rhsBatchingDimensions),
      fromList(lhsContractingDimensions), fromList(rhsContractingDimensions))));
}

MlirAttribute slimhloStablehloGatherDimensionNumbersAttrGet(
    MlirContext context, SlimhloI64List offsetDims, SlimhloI64List collapsedSliceDims,
    SlimhloI64List operandBatchingDims, SlimhloI64List startIndicesBatchingDims,
    SlimhloI64List startIndexMap, int64_t indexVectorDim) {
  return wrap(Attribute(GatherDimensionNumbersAttr::get(
      unwrap(context), fromList(offsetDims), fromList(collapsedSliceDims),
      fromList(operandBatchingDims), fromList(startIndicesBatchingDims), fromList(startIndexMap),
      indexVectorDim)));
}

MlirAttribute slimhloStablehloMeshAttrGet(MlirLocation location, intptr_t nAxes,
                                          const MlirAttribute *axes, MlirAttribute deviceIds) {
  SmallVector<MeshAxisAttr> cxxAxes;
  for (intptr_t index = 0; index < nAxes; ++index) {
    auto axis = as<MeshAxisAttr>(axes[index]);
    if (!axis) {
      emitError(unwrap(location)) << "stablehlo.mesh has axis #" << index
                                  << " that is not #stablehlo.mesh_axis";
      return {nullptr};
    }
    cxxAxes.push_back(axis);
  }
  if (deviceIds.ptr && !as<DenseIntElementsAttr>(deviceIds)) {
    emitError(unwrap(location)) << "stablehlo.mesh has device_ids that are not integer elements";
    return {nullptr};
  }
  return wrap(Attribute(getChecked<MeshAttr>(location, ArrayRef<MeshAxisAttr>(cxxAxes),
                                             as<DenseIntElementsAttr>(deviceIds))));
}

MlirAttribute slimhloStablehloMeshAxisAttrGet(MlirContext context, MlirStringRef name,
                                              int64_t size) {
  return wrap(Attribute(MeshAxisAttr::get(unwrap(context), unwrap(name), size)));
}

MlirAttribute slimhloStablehloOutputOperandAliasAttrGet(MlirContext context,
                                                        SlimhloI64List outputTupleIndices,
                                                        int64_t operandIndex,
                                                        SlimhloI64List operandTupleIndices) {
  return wrap(Attribute(OutputOperandAliasAttr::get(unwrap(context), fromList(outputTupleIndices),
                                                    operandIndex, fromList(operandTupleIndices))));
}

MlirAttribute slimhloStablehloReplicaGroupMeshAxesAttrGet(MlirLocation location, MlirAttribute mesh,
                                                          MlirAttribute axes) {
  auto cxxAxes = as<ArrayAttr>(axes);
  if (!cxxAxes) {
    emitError(unwrap(location))
        << "stablehlo.replica_group_mesh_axes has axes that are not an array";
    return {nullptr};
  }
  return wrap(Attribute(getChecked<ReplicaGroupMeshAxesAttr>(location, unwrap(mesh), cxxAxes)));
}

MlirAttribute slimhloStablehloResultAccuracyAttrGet(MlirLocation location, double atol, double rtol,
                                                    int64_t ulps, int32_t mode) {
  std::optional<ResultAccuracyMode> known = symbolizeResultAccuracyMode(mode);
  if (!known) {
    emitError(unwrap(location)) << "stablehlo.result_accuracy has unknown mode " << mode;
    return {nullptr};
  }
  auto cxxMode = ResultAccuracyModeAttr::get(unwrap(location).getContext(), *known);
  return wrap(Attribute(
      getChecked<ResultAccuracyAttr>(location, APFloat(atol), APFloat(rtol), ulps, cxxMode)));
}

MlirAttribute slimhloStablehloScatterDimensionNumbersAttrGet(
    MlirContext context, SlimhloI64List updateWindowDims, SlimhloI64List insertedWindowDims,
    SlimhloI64List inputBatchingDims, SlimhloI64List scatterIndicesBatchingDims,
    SlimhloI64List scatterDimsToOperandDims, int64_t indexVectorDim) {
  return wrap(Attribute(ScatterDimensionNumbersAttr::get(
      unwrap(context), fromList(updateWindowDims), fromList(insertedWindowDims),
      fromList(inputBatchingDims), fromList(scatterIndicesBatchingDims),
      fromList(scatterDimsToOperandDims), indexVectorDim)));
}

MlirAttribute slimhloStablehloSubAxisInfoAttrGet(MlirContext context, int64_t preSize,
                                                 int64_t size) {
  return wrap(Attribute(SubAxisInfoAttr::get(unwrap(context), preSize, size)));
}

MlirAttribute slimhloStablehloTypeExtensionsAttrGet(MlirContext context, SlimhloI64List bounds) {
  return wrap(Attribute(TypeExtensionsAttr::get(unwrap(context), fromList(bounds))));
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

bool slimhloStablehloTypeIsAToken(MlirType type) {
  return isa_and_present<TokenType>(unwrap(type));
}

MlirType slimhloStablehloTokenTypeGet(MlirContext context) {
  return wrap(Type(TokenType::get(unwrap(context))));
}

bool slimhloStablehloTypeIsAFuture(MlirType type) {
  return isa_and_present<FutureType>(unwrap(type));
}

MlirType slimhloStablehloFutureTypeGet(MlirLocation location, intptr_t nTypes,
                                       const MlirType *types) {
  SmallVector<Type> cxxTypes;
  for (intptr_t index = 0; index < nTypes; ++index)
    cxxTypes.push_back(unwrap(types[index]));
  return wrap(Type(getChecked<FutureType>(location, ArrayRef<Type>(cxxTypes))));
}

intptr_t slimhloStablehloFutureTypeGetNumTypes(MlirType type) {
  auto future = dyn_cast_if_present<FutureType>(unwrap(type));
  return future ? future.getTypes().size() : 0;
}

MlirType slimhloStablehloFutureTypeGetType(MlirType type, intptr_t index) {
  auto future = dyn_cast_if_present<FutureType>(unwrap(type));
  if (!future || index < 0 || static_cast<size_t>(index) >= future.getTypes().size())
    return {nullptr};
  return wrap(future.getTypes()[index]);
}
