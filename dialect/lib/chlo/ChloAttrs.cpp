// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "slimhlo/chlo/Chlo.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace slimhlo::chlo;

#include "slimhlo/chlo/ChloEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "slimhlo/chlo/ChloAttrs.cpp.inc"

void ChloDialect::registerChloAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "slimhlo/chlo/ChloAttrs.cpp.inc"
      >();
}

namespace {

/// Keys of `#chlo.ragged_dot`, in the order in which they are stored and printed.
constexpr StringRef kRaggedDotKeys[] = {
    "lhs_batching_dimensions",    "rhs_batching_dimensions", "lhs_contracting_dimensions",
    "rhs_contracting_dimensions", "lhs_ragged_dimensions",   "rhs_group_dimensions",
};
constexpr size_t kNumRaggedDotKeys = std::size(kRaggedDotKeys);

} // namespace

Attribute RaggedDotDimensionNumbersAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> lists[kNumRaggedDotKeys];
  bool seen[kNumRaggedDotKeys] = {};
  if (parser.parseLess())
    return {};
  // A comma may follow the last list as well, hence no parseCommaSeparatedList.
  while (parser.parseOptionalGreater()) {
    SMLoc loc = parser.getCurrentLocation();
    StringRef key;
    if (parser.parseOptionalKeyword(&key, kRaggedDotKeys)) {
      parser.emitError(loc) << "expected a list of dimensions: "
                            << llvm::join(ArrayRef(kRaggedDotKeys), ", ");
      return {};
    }
    size_t index = llvm::find(kRaggedDotKeys, key) - std::begin(kRaggedDotKeys);
    if (seen[index]) {
      parser.emitError(loc) << key << " is given twice";
      return {};
    }
    seen[index] = true;
    auto parseDim = [&] { return parser.parseInteger(lists[index].emplace_back()); };
    if (parser.parseEqual() ||
        parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDim))
      return {};
    if (parser.parseOptionalComma()) {
      if (parser.parseGreater())
        return {};
      break;
    }
  }
  return get(parser.getContext(), lists[0], lists[1], lists[2], lists[3], lists[4], lists[5]);
}

void RaggedDotDimensionNumbersAttr::print(AsmPrinter &printer) const {
  ArrayRef<int64_t> lists[] = {
      getLhsBatchingDimensions(),    getRhsBatchingDimensions(), getLhsContractingDimensions(),
      getRhsContractingDimensions(), getLhsRaggedDimensions(),   getRhsGroupDimensions(),
  };
  printer << '<';
  StringRef separator;
  for (auto [key, list] : llvm::zip_equal(kRaggedDotKeys, lists)) {
    if (list.empty())
      continue;
    printer << separator << key << " = [";
    llvm::interleaveComma(list, printer);
    printer << ']';
    separator = ", ";
  }
  printer << '>';
}
