// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading and building the attributes and types of the `stablehlo` dialect. The Rust half views
// them through these functions (dialect/src/stablehlo/attrs.rs).
//
// Readers may be called on any attribute or type: on one of another kind they give an empty list,
// zero or null. What they return points into the context and lives as long as it. Builders copy
// their arguments; those that take a location return null, and emit a diagnostic there, if the
// numbers do not form a valid attribute.

#ifndef SLIMHLO_C_ATTRIBUTES_H
#define SLIMHLO_C_ATTRIBUTES_H

#include "mlir-c/IR.h"
#include "mlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Numbers that the context owns.
typedef struct {
  const int64_t *data;
  intptr_t size;
} SlimhloI64List;

//===----------------------------------------------------------------------===//
// Enums
//===----------------------------------------------------------------------===//

#define SLIMHLO_STABLEHLO_FOR_EACH_ENUM(X)                                                         \
  X(ComparisonDirection)                                                                           \
  X(ComparisonType)                                                                                \
  X(CustomCallApiVersion)                                                                          \
  X(FftType)                                                                                       \
  X(Precision)                                                                                     \
  X(ResultAccuracyMode)                                                                            \
  X(RngAlgorithm)                                                                                  \
  X(RngDistribution)                                                                               \
  X(Transpose)

/// For each enum E:
///   slimhloStablehloAttributeIsAE   whether an attribute holds one;
///   slimhloStablehloEAttrGet        builds the attribute, null if no case has this number;
///   slimhloStablehloEGetValue       the number of the case an attribute holds, -1 if it holds
///   none; slimhloStablehloEToString       how a case is spelled in the text, empty if there is
///   none; slimhloStablehloEFromString     the number of a case, -1 if there is none.
#define SLIMHLO_STABLEHLO_DECLARE_ENUM(E)                                                          \
  bool slimhloStablehloAttributeIsA##E(MlirAttribute attribute);                                   \
  MlirAttribute slimhloStablehlo##E##AttrGet(MlirContext context, int32_t value);                  \
  int32_t slimhloStablehlo##E##GetValue(MlirAttribute attribute);                                  \
  MlirStringRef slimhloStablehlo##E##ToString(int32_t value);                                      \
  int32_t slimhloStablehlo##E##FromString(MlirStringRef text);
SLIMHLO_STABLEHLO_FOR_EACH_ENUM(SLIMHLO_STABLEHLO_DECLARE_ENUM)
#undef SLIMHLO_STABLEHLO_DECLARE_ENUM

//===----------------------------------------------------------------------===//
// Readers of attributes
//===----------------------------------------------------------------------===//

#define SLIMHLO_STABLEHLO_FOR_EACH_ATTRIBUTE(X)                                                    \
  X(AxisRef)                                                                                       \
  X(ChannelHandle)                                                                                 \
  X(ConvDimensionNumbers)                                                                          \
  X(DotAlgorithm)                                                                                  \
  X(DotDimensionNumbers)                                                                           \
  X(GatherDimensionNumbers)                                                                        \
  X(Mesh)                                                                                          \
  X(MeshAxis)                                                                                      \
  X(OutputOperandAlias)                                                                            \
  X(ReplicaGroupMeshAxes)                                                                          \
  X(ResultAccuracy)                                                                                \
  X(ScatterDimensionNumbers)                                                                       \
  X(SubAxisInfo)                                                                                   \
  X(TypeExtensions)

#define SLIMHLO_STABLEHLO_DECLARE_ISA(A)                                                           \
  bool slimhloStablehloAttributeIsA##A(MlirAttribute attribute);
SLIMHLO_STABLEHLO_FOR_EACH_ATTRIBUTE(SLIMHLO_STABLEHLO_DECLARE_ISA)
#undef SLIMHLO_STABLEHLO_DECLARE_ISA

/// Parameters read by slimhloStablehlo<attribute>Get<parameter>, by kind: a list of numbers, a
/// number, a bool, a string, a type, an attribute.
#define SLIMHLO_STABLEHLO_FOR_EACH_PARAMETER(LIST, INT, BOOL, STRING, TYPE, ATTRIBUTE)             \
  STRING(AxisRef, Name)                                                                            \
  ATTRIBUTE(AxisRef, SubAxisInfo)                                                                  \
  INT(ChannelHandle, Handle)                                                                       \
  INT(ChannelHandle, Type)                                                                         \
  INT(ConvDimensionNumbers, InputBatchDimension)                                                   \
  INT(ConvDimensionNumbers, InputFeatureDimension)                                                 \
  LIST(ConvDimensionNumbers, InputSpatialDimensions)                                               \
  INT(ConvDimensionNumbers, KernelInputFeatureDimension)                                           \
  INT(ConvDimensionNumbers, KernelOutputFeatureDimension)                                          \
  LIST(ConvDimensionNumbers, KernelSpatialDimensions)                                              \
  INT(ConvDimensionNumbers, OutputBatchDimension)                                                  \
  INT(ConvDimensionNumbers, OutputFeatureDimension)                                                \
  LIST(ConvDimensionNumbers, OutputSpatialDimensions)                                              \
  TYPE(DotAlgorithm, LhsPrecisionType)                                                             \
  TYPE(DotAlgorithm, RhsPrecisionType)                                                             \
  TYPE(DotAlgorithm, AccumulationType)                                                             \
  INT(DotAlgorithm, LhsComponentCount)                                                             \
  INT(DotAlgorithm, RhsComponentCount)                                                             \
  INT(DotAlgorithm, NumPrimitiveOperations)                                                        \
  BOOL(DotAlgorithm, AllowImpreciseAccumulation)                                                   \
  LIST(DotDimensionNumbers, LhsBatchingDimensions)                                                 \
  LIST(DotDimensionNumbers, RhsBatchingDimensions)                                                 \
  LIST(DotDimensionNumbers, LhsContractingDimensions)                                              \
  LIST(DotDimensionNumbers, RhsContractingDimensions)                                              \
  LIST(GatherDimensionNumbers, OffsetDims)                                                         \
  LIST(GatherDimensionNumbers, CollapsedSliceDims)                                                 \
  LIST(GatherDimensionNumbers, OperandBatchingDims)                                                \
  LIST(GatherDimensionNumbers, StartIndicesBatchingDims)                                           \
  LIST(GatherDimensionNumbers, StartIndexMap)                                                      \
  INT(GatherDimensionNumbers, IndexVectorDim)                                                      \
  ATTRIBUTE(Mesh, DeviceIds)                                                                       \
  STRING(MeshAxis, Name)                                                                           \
  INT(MeshAxis, Size)                                                                              \
  LIST(OutputOperandAlias, OutputTupleIndices)                                                     \
  INT(OutputOperandAlias, OperandIndex)                                                            \
  LIST(OutputOperandAlias, OperandTupleIndices)                                                    \
  ATTRIBUTE(ReplicaGroupMeshAxes, Mesh)                                                            \
  ATTRIBUTE(ReplicaGroupMeshAxes, Axes)                                                            \
  INT(ResultAccuracy, Ulps)                                                                        \
  ATTRIBUTE(ResultAccuracy, Mode)                                                                  \
  LIST(ScatterDimensionNumbers, UpdateWindowDims)                                                  \
  LIST(ScatterDimensionNumbers, InsertedWindowDims)                                                \
  LIST(ScatterDimensionNumbers, InputBatchingDims)                                                 \
  LIST(ScatterDimensionNumbers, ScatterIndicesBatchingDims)                                        \
  LIST(ScatterDimensionNumbers, ScatterDimsToOperandDims)                                          \
  INT(ScatterDimensionNumbers, IndexVectorDim)                                                     \
  INT(SubAxisInfo, PreSize)                                                                        \
  INT(SubAxisInfo, Size)                                                                           \
  LIST(TypeExtensions, Bounds)

#define SLIMHLO_STABLEHLO_DECLARE_LIST(A, P)                                                       \
  SlimhloI64List slimhloStablehlo##A##Get##P(MlirAttribute);
#define SLIMHLO_STABLEHLO_DECLARE_INT(A, P) int64_t slimhloStablehlo##A##Get##P(MlirAttribute);
#define SLIMHLO_STABLEHLO_DECLARE_BOOL(A, P) bool slimhloStablehlo##A##Get##P(MlirAttribute);
#define SLIMHLO_STABLEHLO_DECLARE_STRING(A, P)                                                     \
  MlirStringRef slimhloStablehlo##A##Get##P(MlirAttribute);
#define SLIMHLO_STABLEHLO_DECLARE_TYPE(A, P) MlirType slimhloStablehlo##A##Get##P(MlirAttribute);
#define SLIMHLO_STABLEHLO_DECLARE_ATTRIBUTE(A, P)                                                  \
  MlirAttribute slimhloStablehlo##A##Get##P(MlirAttribute);
SLIMHLO_STABLEHLO_FOR_EACH_PARAMETER(SLIMHLO_STABLEHLO_DECLARE_LIST, SLIMHLO_STABLEHLO_DECLARE_INT,
                                     SLIMHLO_STABLEHLO_DECLARE_BOOL,
                                     SLIMHLO_STABLEHLO_DECLARE_STRING,
                                     SLIMHLO_STABLEHLO_DECLARE_TYPE,
                                     SLIMHLO_STABLEHLO_DECLARE_ATTRIBUTE)
#undef SLIMHLO_STABLEHLO_DECLARE_LIST
#undef SLIMHLO_STABLEHLO_DECLARE_INT
#undef SLIMHLO_STABLEHLO_DECLARE_BOOL
#undef SLIMHLO_STABLEHLO_DECLARE_STRING
#undef SLIMHLO_STABLEHLO_DECLARE_TYPE
#undef SLIMHLO_STABLEHLO_DECLARE_ATTRIBUTE

double slimhloStablehloResultAccuracyGetAtol(MlirAttribute attribute);
double slimhloStablehloResultAccuracyGetRtol(MlirAttribute attribute);

intptr_t slimhloStablehloMeshGetNumAxes(MlirAttribute attribute);
/// Null beyond the last axis.
MlirAttribute slimhloStablehloMeshGetAxis(MlirAttribute attribute, intptr_t index);

//===----------------------------------------------------------------------===//
// Builders of attributes
//===----------------------------------------------------------------------===//

/// `subAxisInfo` may be null.
MlirAttribute slimhloStablehloAxisRefAttrGet(MlirContext context, MlirStringRef name,
                                             MlirAttribute subAxisInfo);

MlirAttribute slimhloStablehloChannelHandleAttrGet(MlirContext context, int64_t handle,
                                                   int64_t type);

MlirAttribute slimhloStablehloConvDimensionNumbersAttrGet(
    MlirContext context, int64_t inputBatchDimension, int64_t inputFeatureDimension,
    SlimhloI64List inputSpatialDimensions, int64_t kernelInputFeatureDimension,
    int64_t kernelOutputFeatureDimension, SlimhloI64List kernelSpatialDimensions,
    int64_t outputBatchDimension, int64_t outputFeatureDimension,
    SlimhloI64List outputSpatialDimensions);

MlirAttribute slimhloStablehloDotAlgorithmAttrGet(
    MlirLocation location, MlirType lhsPrecisionType, MlirType rhsPrecisionType,
    MlirType accumulationType, int64_t lhsComponentCount, int64_t rhsComponentCount,
    int64_t numPrimitiveOperations, bool allowImpreciseAccumulation);

MlirAttribute slimhloStablehloDotDimensionNumbersAttrGet(MlirContext context,
                                                         SlimhloI64List lhsBatchingDimensions,
                                                         SlimhloI64List rhsBatchingDimensions,
                                                         SlimhloI64List lhsContractingDimensions,
                                                         SlimhloI64List rhsContractingDimensions);

MlirAttribute slimhloStablehloGatherDimensionNumbersAttrGet(
    MlirContext context, SlimhloI64List offsetDims, SlimhloI64List collapsedSliceDims,
    SlimhloI64List operandBatchingDims, SlimhloI64List startIndicesBatchingDims,
    SlimhloI64List startIndexMap, int64_t indexVectorDim);

/// `axes` hold `#stablehlo.mesh_axis`; `deviceIds` are dense integer elements or null.
MlirAttribute slimhloStablehloMeshAttrGet(MlirLocation location, intptr_t nAxes,
                                          const MlirAttribute *axes, MlirAttribute deviceIds);

MlirAttribute slimhloStablehloMeshAxisAttrGet(MlirContext context, MlirStringRef name,
                                              int64_t size);

MlirAttribute slimhloStablehloOutputOperandAliasAttrGet(MlirContext context,
                                                        SlimhloI64List outputTupleIndices,
                                                        int64_t operandIndex,
                                                        SlimhloI64List operandTupleIndices);

/// `axes` is an array attribute.
MlirAttribute slimhloStablehloReplicaGroupMeshAxesAttrGet(MlirLocation location, MlirAttribute mesh,
                                                          MlirAttribute axes);

MlirAttribute slimhloStablehloResultAccuracyAttrGet(MlirLocation location, double atol, double rtol,
                                                    int64_t ulps, int32_t mode);

MlirAttribute slimhloStablehloScatterDimensionNumbersAttrGet(
    MlirContext context, SlimhloI64List updateWindowDims, SlimhloI64List insertedWindowDims,
    SlimhloI64List inputBatchingDims, SlimhloI64List scatterIndicesBatchingDims,
    SlimhloI64List scatterDimsToOperandDims, int64_t indexVectorDim);

MlirAttribute slimhloStablehloSubAxisInfoAttrGet(MlirContext context, int64_t preSize,
                                                 int64_t size);

MlirAttribute slimhloStablehloTypeExtensionsAttrGet(MlirContext context, SlimhloI64List bounds);

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

bool slimhloStablehloTypeIsAToken(MlirType type);
MlirType slimhloStablehloTokenTypeGet(MlirContext context);

bool slimhloStablehloTypeIsAFuture(MlirType type);
MlirType slimhloStablehloFutureTypeGet(MlirLocation location, intptr_t nTypes,
                                       const MlirType *types);
intptr_t slimhloStablehloFutureTypeGetNumTypes(MlirType type);
/// Null beyond the last type.
MlirType slimhloStablehloFutureTypeGetType(MlirType type, intptr_t index);

#ifdef __cplusplus
}
#endif

#endif // SLIMHLO_C_ATTRIBUTES_H
