// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "slimhlo-c/SdyAttributes.h"

#include "slimhlo/chlo/Chlo.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Wrap.h"

using namespace mlir;
using namespace slimhlo::chlo;

#define SLIMHLO_CHLO_ENUM(E)                                                                       \
  int32_t slimhloChlo##E##GetValue(MlirAttribute attribute) {                                      \
    auto typed = dyn_cast_if_present<E##Attr>(unwrap(attribute));                                  \
    return typed ? static_cast<int32_t>(typed.getValue()) : -1;                                    \
  }
SLIMHLO_CHLO_ENUM(ComparisonDirection)
SLIMHLO_CHLO_ENUM(ComparisonType)
SLIMHLO_CHLO_ENUM(Precision)

bool slimhloChloAttributeIsARaggedDotDimensionNumbers(MlirAttribute attribute) {
  return isa_and_present<RaggedDotDimensionNumbersAttr>(unwrap(attribute));
}

#define SLIMHLO_CHLO_DIMS(P)                                                                       \
  SlimhloI64List slimhloChloRaggedDotDimensionNumbersGet##P(MlirAttribute attribute) {             \
    auto typed = dyn_cast_if_present<RaggedDotDimensionNumbersAttr>(unwrap(attribute));            \
    if (!typed)                                                                                    \
      return {};                                                                                   \
    ArrayRef<int64_t> values = typed.get##P();                                                     \
    return {values.data(), static_cast<intptr_t>(values.size())};                                  \
  }
SLIMHLO_CHLO_DIMS(LhsBatchingDimensions)
SLIMHLO_CHLO_DIMS(RhsBatchingDimensions)
SLIMHLO_CHLO_DIMS(LhsContractingDimensions)
SLIMHLO_CHLO_DIMS(RhsContractingDimensions)
SLIMHLO_CHLO_DIMS(LhsRaggedDimensions)
SLIMHLO_CHLO_DIMS(RhsGroupDimensions)
