// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading and building the attributes of the `sdy` and `chlo` dialects. The Rust half views them
// through these functions (dialect/src/sdy/attrs.rs, dialect/src/chlo/attrs.rs).
//
// Readers may be called on any attribute: on one of another kind they give an empty list, zero or
// null. What they return points into the context and lives as long as it. Builders copy their
// arguments; those that take a location return null, and emit a diagnostic there, if the arguments
// do not form a valid attribute.

#ifndef SLIMHLO_C_SDYATTRIBUTES_H
#define SLIMHLO_C_SDYATTRIBUTES_H

#include "slimhlo-c/Attributes.h"

#include "mlir-c/IR.h"
#include "mlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Attributes that the context owns, or, as an argument, that the caller does.
typedef struct {
  const MlirAttribute *data;
  intptr_t size;
} SlimhloAttributeList;

#define SLIMHLO_SDY_FOR_EACH_ATTRIBUTE(X)                                                          \
  X(AllToAllParam)                                                                                 \
  X(AllToAllParamList)                                                                             \
  X(AxisRef)                                                                                       \
  X(AxisRefList)                                                                                   \
  X(AxisToPropagationDetails)                                                                      \
  X(DimMapping)                                                                                    \
  X(DimensionSharding)                                                                             \
  X(EdgeValueRef)                                                                                  \
  X(ListOfAxisRefLists)                                                                            \
  X(ManualAxes)                                                                                    \
  X(Mesh)                                                                                          \
  X(MeshAxis)                                                                                      \
  X(OpShardingRule)                                                                                \
  X(PropagationEdges)                                                                              \
  X(PropagationOneStep)                                                                            \
  X(SubAxisInfo)                                                                                   \
  X(TensorMapping)                                                                                 \
  X(TensorSharding)                                                                                \
  X(TensorShardingPerValue)

#define SLIMHLO_SDY_DECLARE_ISA(A) bool slimhloSdyAttributeIsA##A(MlirAttribute attribute);
SLIMHLO_SDY_FOR_EACH_ATTRIBUTE(SLIMHLO_SDY_DECLARE_ISA)
#undef SLIMHLO_SDY_DECLARE_ISA

/// Parameters read by slimhloSdy<attribute>Get<parameter>, by kind: attributes, numbers, a number,
/// a bool, a string, an attribute.
#define SLIMHLO_SDY_FOR_EACH_PARAMETER(ATTRIBUTES, LIST, INT, BOOL, STRING, ATTRIBUTE)             \
  ATTRIBUTES(AllToAllParam, Axes)                                                                  \
  INT(AllToAllParam, SrcDim)                                                                       \
  INT(AllToAllParam, TgtDim)                                                                       \
  ATTRIBUTES(AllToAllParamList, Value)                                                             \
  STRING(AxisRef, Name)                                                                            \
  ATTRIBUTE(AxisRef, SubAxisInfo)                                                                  \
  ATTRIBUTES(AxisRefList, Value)                                                                   \
  ATTRIBUTE(AxisToPropagationDetails, AxisName)                                                    \
  ATTRIBUTE(AxisToPropagationDetails, Source)                                                      \
  ATTRIBUTES(AxisToPropagationDetails, Targets)                                                    \
  LIST(DimMapping, FactorIndices)                                                                  \
  ATTRIBUTES(DimensionSharding, Axes)                                                              \
  BOOL(DimensionSharding, IsClosed)                                                                \
  INT(EdgeValueRef, Index)                                                                         \
  ATTRIBUTES(ListOfAxisRefLists, Value)                                                            \
  ATTRIBUTES(ManualAxes, Value)                                                                    \
  ATTRIBUTES(Mesh, Axes)                                                                           \
  LIST(Mesh, DeviceIds)                                                                            \
  STRING(MeshAxis, Name)                                                                           \
  INT(MeshAxis, Size)                                                                              \
  LIST(OpShardingRule, FactorSizes)                                                                \
  ATTRIBUTES(OpShardingRule, OperandMappings)                                                      \
  ATTRIBUTES(OpShardingRule, ResultMappings)                                                       \
  LIST(OpShardingRule, ReductionFactors)                                                           \
  LIST(OpShardingRule, NeedReplicationFactors)                                                     \
  LIST(OpShardingRule, PermutationFactors)                                                         \
  LIST(OpShardingRule, BlockedPropagationFactors)                                                  \
  BOOL(OpShardingRule, IsCustom)                                                                   \
  ATTRIBUTES(PropagationEdges, Value)                                                              \
  INT(PropagationOneStep, StepIndex)                                                               \
  ATTRIBUTES(PropagationOneStep, AxisEntries)                                                      \
  INT(SubAxisInfo, PreSize)                                                                        \
  INT(SubAxisInfo, Size)                                                                           \
  ATTRIBUTES(TensorMapping, DimMappings)                                                           \
  ATTRIBUTE(TensorSharding, MeshOrRef)                                                             \
  ATTRIBUTES(TensorSharding, DimShardings)                                                         \
  ATTRIBUTES(TensorSharding, ReplicatedAxes)                                                       \
  ATTRIBUTES(TensorSharding, UnreducedAxes)                                                        \
  ATTRIBUTES(TensorShardingPerValue, Shardings)

#define SLIMHLO_SDY_DECLARE_ATTRIBUTES(A, P)                                                       \
  SlimhloAttributeList slimhloSdy##A##Get##P(MlirAttribute attribute);
#define SLIMHLO_SDY_DECLARE_LIST(A, P) SlimhloI64List slimhloSdy##A##Get##P(MlirAttribute);
#define SLIMHLO_SDY_DECLARE_INT(A, P) int64_t slimhloSdy##A##Get##P(MlirAttribute attribute);
#define SLIMHLO_SDY_DECLARE_BOOL(A, P) bool slimhloSdy##A##Get##P(MlirAttribute attribute);
#define SLIMHLO_SDY_DECLARE_STRING(A, P) MlirStringRef slimhloSdy##A##Get##P(MlirAttribute);
#define SLIMHLO_SDY_DECLARE_ATTRIBUTE(A, P) MlirAttribute slimhloSdy##A##Get##P(MlirAttribute);
SLIMHLO_SDY_FOR_EACH_PARAMETER(SLIMHLO_SDY_DECLARE_ATTRIBUTES, SLIMHLO_SDY_DECLARE_LIST,
                               SLIMHLO_SDY_DECLARE_INT, SLIMHLO_SDY_DECLARE_BOOL,
                               SLIMHLO_SDY_DECLARE_STRING, SLIMHLO_SDY_DECLARE_ATTRIBUTE)
#undef SLIMHLO_SDY_DECLARE_ATTRIBUTES
#undef SLIMHLO_SDY_DECLARE_LIST
#undef SLIMHLO_SDY_DECLARE_INT
#undef SLIMHLO_SDY_DECLARE_BOOL
#undef SLIMHLO_SDY_DECLARE_STRING
#undef SLIMHLO_SDY_DECLARE_ATTRIBUTE

/// The priority of a dimension sharding, -1 if it has none.
int64_t slimhloSdyDimensionShardingGetPriority(MlirAttribute attribute);

/// Whether an edge value reference means a result rather than an operand.
bool slimhloSdyEdgeValueRefIsResult(MlirAttribute attribute);

//===----------------------------------------------------------------------===//
// Builders
//===----------------------------------------------------------------------===//

MlirAttribute slimhloSdyMeshAxisAttrGet(MlirLocation location, MlirStringRef name, int64_t size);
MlirAttribute slimhloSdyMeshAttrGet(MlirLocation location, SlimhloAttributeList axes,
                                    SlimhloI64List deviceIds);
MlirAttribute slimhloSdySubAxisInfoAttrGet(MlirContext context, int64_t preSize, int64_t size);
/// `subAxisInfo` is null for the whole axis.
MlirAttribute slimhloSdyAxisRefAttrGet(MlirContext context, MlirStringRef name,
                                       MlirAttribute subAxisInfo);
MlirAttribute slimhloSdyAxisRefListAttrGet(MlirContext context, SlimhloAttributeList axes);
MlirAttribute slimhloSdyListOfAxisRefListsAttrGet(MlirContext context, SlimhloAttributeList lists);
MlirAttribute slimhloSdyManualAxesAttrGet(MlirContext context, SlimhloAttributeList names);
/// `priority` is -1 for none.
MlirAttribute slimhloSdyDimensionShardingAttrGet(MlirContext context, SlimhloAttributeList axes,
                                                 bool isClosed, int64_t priority);
MlirAttribute slimhloSdyTensorShardingAttrGet(MlirContext context, MlirAttribute meshOrRef,
                                              SlimhloAttributeList dimShardings,
                                              SlimhloAttributeList replicatedAxes,
                                              SlimhloAttributeList unreducedAxes);
MlirAttribute slimhloSdyTensorShardingPerValueAttrGet(MlirContext context,
                                                      SlimhloAttributeList shardings);

//===----------------------------------------------------------------------===//
// Symbols
//===----------------------------------------------------------------------===//

/// The mesh that an `sdy.mesh` op of this name holds in the symbol table nearest to `op`, or null.
MlirAttribute slimhloSdyLookupMesh(MlirOperation op, MlirStringRef name);

/// The attribute `name` of an argument (or result) of a function, null if there is none.
MlirAttribute slimhloFunctionGetValueAttribute(MlirOperation op, bool isResult, intptr_t index,
                                               MlirStringRef name);

/// Whether `op` defines a function, or calls one.
bool slimhloIsFunction(MlirOperation op);
bool slimhloIsCall(MlirOperation op);

//===----------------------------------------------------------------------===//
// chlo
//===----------------------------------------------------------------------===//

/// The number of a case of an enum of the chlo dialect, -1 if the attribute holds none.
int32_t slimhloChloComparisonDirectionGetValue(MlirAttribute attribute);
int32_t slimhloChloComparisonTypeGetValue(MlirAttribute attribute);
int32_t slimhloChloPrecisionGetValue(MlirAttribute attribute);

bool slimhloChloAttributeIsARaggedDotDimensionNumbers(MlirAttribute attribute);
SlimhloI64List slimhloChloRaggedDotDimensionNumbersGetLhsBatchingDimensions(MlirAttribute);
SlimhloI64List slimhloChloRaggedDotDimensionNumbersGetRhsBatchingDimensions(MlirAttribute);
SlimhloI64List slimhloChloRaggedDotDimensionNumbersGetLhsContractingDimensions(MlirAttribute);
SlimhloI64List slimhloChloRaggedDotDimensionNumbersGetRhsContractingDimensions(MlirAttribute);
SlimhloI64List slimhloChloRaggedDotDimensionNumbersGetLhsRaggedDimensions(MlirAttribute);
SlimhloI64List slimhloChloRaggedDotDimensionNumbersGetRhsGroupDimensions(MlirAttribute);

#ifdef __cplusplus
}
#endif

#endif // SLIMHLO_C_SDYATTRIBUTES_H
