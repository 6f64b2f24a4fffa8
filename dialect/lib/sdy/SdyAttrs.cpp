// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "slimhlo/sdy/Sdy.h"

#include "slimhlo-c/Hooks.h"

#include "mlir/CAPI/Support.h"
#include "mlir/CAPI/Wrap.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace slimhlo::sdy;

#include "slimhlo/sdy/SdyEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "slimhlo/sdy/SdyAttrs.cpp.inc"

void SdyDialect::registerSdyAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "slimhlo/sdy/SdyAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

namespace {

using Delimiter = AsmParser::Delimiter;

/// Parses one attribute without its name.
template <typename AttrT> ParseResult parseInto(AsmParser &parser, SmallVectorImpl<AttrT> &list) {
  auto attr = llvm::cast_if_present<AttrT>(AttrT::parse(parser, {}));
  if (!attr)
    return failure();
  list.push_back(attr);
  return success();
}

/// Parses one attribute, without its name or written out in full.
template <typename AttrT>
ParseResult parseAnyInto(AsmParser &parser, SmallVectorImpl<AttrT> &list) {
  AttrT attr;
  if (parser.parseCustomAttributeWithFallback(attr))
    return failure();
  list.push_back(attr);
  return success();
}

/// Parses `open a, b, ... close`, where what is between may be nothing.
template <typename AttrT>
ParseResult parseList(AsmParser &parser, SmallVectorImpl<AttrT> &list, Delimiter delimiter) {
  return parser.parseCommaSeparatedList(delimiter, [&] { return parseAnyInto(parser, list); });
}

/// Parses `{"a", "b"}`, with one axis at least.
ParseResult parseSomeAxes(AsmParser &parser, SmallVectorImpl<AxisRefAttr> &axes) {
  return failure(parser.parseLBrace() || parser.parseCommaSeparatedList([&] {
    return parseInto(parser, axes);
  }) || parser.parseRBrace());
}

template <typename AttrT> void printList(AsmPrinter &printer, ArrayRef<AttrT> list) {
  llvm::interleaveComma(list, printer, [&](AttrT attr) { attr.print(printer); });
}

} // namespace

//===----------------------------------------------------------------------===//
// Meshes
//===----------------------------------------------------------------------===//

namespace {

LogicalResult verifyParameters(function_ref<InFlightDiagnostic()> emitError, StringRef mnemonic,
                               ArrayRef<int64_t> parameters) {
  auto sink = [](MlirStringRef message, void *userData) {
    (*static_cast<function_ref<InFlightDiagnostic()> *>(userData))() << unwrap(message);
  };
  return unwrap(slimhloVerifyParameters(wrap(mnemonic), parameters.size(), parameters.data(), sink,
                                        &emitError));
}

} // namespace

LogicalResult MeshAxisAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef,
                                   int64_t size) {
  return verifyParameters(emitError, "sdy.mesh_axis", {size});
}

Attribute MeshAxisAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  std::string name;
  int64_t size = 0;
  if (parser.parseString(&name) || parser.parseEqual() || parser.parseInteger(size))
    return {};
  return parser.getChecked<MeshAxisAttr>(loc, parser.getContext(), name, size);
}

void MeshAxisAttr::print(AsmPrinter &printer) const {
  printer.printString(getName());
  printer << '=' << getSize();
}

// Number of axes; for each, its size and the index of the first axis of the same name; device ids.
LogicalResult MeshAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<MeshAxisAttr> axes, ArrayRef<int64_t> deviceIds) {
  SmallVector<int64_t> parameters{static_cast<int64_t>(axes.size())};
  llvm::StringMap<int64_t> firstOfName;
  for (auto [index, axis] : llvm::enumerate(axes)) {
    parameters.push_back(axis.getSize());
    parameters.push_back(firstOfName.try_emplace(axis.getName(), index).first->second);
  }
  llvm::append_range(parameters, deviceIds);
  return verifyParameters(emitError, "sdy.mesh", parameters);
}

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<MeshAxisAttr> axes;
  SmallVector<int64_t> deviceIds;
  if (parser.parseLess() || parseList(parser, axes, Delimiter::Square))
    return {};
  if (succeeded(parser.parseOptionalComma())) {
    auto parseId = [&] { return parser.parseInteger(deviceIds.emplace_back()); };
    if (parser.parseKeyword("device_ids") || parser.parseEqual() || parser.parseLSquare() ||
        parser.parseCommaSeparatedList(parseId) || parser.parseRSquare())
      return {};
    // Ids that count up say nothing; there is one spelling of each mesh.
    if (!axes.empty() && llvm::equal(deviceIds, llvm::seq<int64_t>(0, deviceIds.size()))) {
      APInt total(64, 1);
      bool overflow = false;
      for (MeshAxisAttr axis : axes)
        if (!overflow)
          total = total.smul_ov(APInt(64, axis.getSize(), /*isSigned=*/true), overflow);
      if (!overflow && total == deviceIds.size())
        deviceIds.clear();
    }
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<MeshAttr>(loc, parser.getContext(), axes, deviceIds);
}

void MeshAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  printList(printer, getAxes());
  printer << ']';
  if (!getDeviceIds().empty()) {
    printer << ", device_ids=[";
    llvm::interleaveComma(getDeviceIds(), printer);
    printer << ']';
  }
  printer << '>';
}

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

Attribute SubAxisInfoAttr::parse(AsmParser &parser, Type) {
  int64_t preSize = 0, size = 0;
  if (parser.parseLParen() || parser.parseInteger(preSize) || parser.parseRParen() ||
      parser.parseInteger(size))
    return {};
  return get(parser.getContext(), preSize, size);
}

void SubAxisInfoAttr::print(AsmPrinter &printer) const {
  printer << '(' << getPreSize() << ')' << getSize();
}

Attribute AxisRefAttr::parse(AsmParser &parser, Type) {
  std::string name;
  if (parser.parseString(&name))
    return {};
  SubAxisInfoAttr info;
  if (succeeded(parser.parseOptionalColon())) {
    if (parser.parseCustomAttributeWithFallback(info))
      return {};
  }
  return get(parser.getContext(), name, info);
}

void AxisRefAttr::print(AsmPrinter &printer) const {
  printer.printString(getName());
  if (SubAxisInfoAttr info = getSubAxisInfo()) {
    printer << ':';
    info.print(printer);
  }
}

Attribute AxisRefListAttr::parse(AsmParser &parser, Type) {
  SmallVector<AxisRefAttr> axes;
  if (parseList(parser, axes, Delimiter::Braces))
    return {};
  return get(parser.getContext(), axes);
}

void AxisRefListAttr::print(AsmPrinter &printer) const {
  printer << '{';
  printList(printer, getValue());
  printer << '}';
}

Attribute ListOfAxisRefListsAttr::parse(AsmParser &parser, Type) {
  SmallVector<AxisRefListAttr> lists;
  if (parseList(parser, lists, Delimiter::Square))
    return {};
  return get(parser.getContext(), lists);
}

void ListOfAxisRefListsAttr::print(AsmPrinter &printer) const {
  printer << '[';
  printList(printer, getValue());
  printer << ']';
}

Attribute ManualAxesAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> names;
  auto parseName = [&]() -> ParseResult {
    std::string name;
    if (parser.parseString(&name))
      return failure();
    names.push_back(StringAttr::get(parser.getContext(), name));
    return success();
  };
  if (parser.parseCommaSeparatedList(Delimiter::Braces, parseName))
    return {};
  return get(parser.getContext(), names);
}

void ManualAxesAttr::print(AsmPrinter &printer) const {
  printer << '{';
  llvm::interleaveComma(getValue(), printer,
                        [&](StringAttr name) { printer.printString(name.getValue()); });
  printer << '}';
}

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

namespace {

/// Parses `p` and a number, if there is a keyword at all.
ParseResult parsePriority(AsmParser &parser, std::optional<int64_t> &priority) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef keyword;
  if (parser.parseOptionalKeyword(&keyword))
    return success();
  StringRef digits = keyword;
  int64_t value = 0;
  if (!digits.consume_front("p") || digits.empty() || !llvm::all_of(digits, llvm::isDigit) ||
      (digits.size() > 1 && digits.front() == '0') || digits.getAsInteger(10, value))
    return parser.emitError(loc) << "priority must be 'p' and a number that fits 64 bits, without "
                                    "leading zeros, but is '"
                                 << keyword << "'";
  priority = value;
  return success();
}

} // namespace

Attribute DimensionShardingAttr::parse(AsmParser &parser, Type) {
  SmallVector<AxisRefAttr> axes;
  bool isClosed = true;
  std::optional<int64_t> priority;
  if (parser.parseLBrace())
    return {};
  if (parser.parseOptionalRBrace()) {
    do {
      if (succeeded(parser.parseOptionalQuestion())) {
        isClosed = false;
        break;
      }
      if (parseInto(parser, axes))
        return {};
    } while (succeeded(parser.parseOptionalComma()));
    if (parser.parseRBrace())
      return {};
  }
  if (parsePriority(parser, priority))
    return {};
  return get(parser.getContext(), axes, isClosed, priority);
}

void DimensionShardingAttr::print(AsmPrinter &printer) const {
  printer << '{';
  printList(printer, getAxes());
  if (!getIsClosed())
    printer << (getAxes().empty() ? "?" : ", ?");
  printer << '}';
  if (getPriority())
    printer << 'p' << *getPriority();
}

Attribute TensorShardingAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};

  Attribute meshOrRef;
  if (succeeded(parser.parseOptionalKeyword(MeshAttr::getMnemonic()))) {
    meshOrRef = MeshAttr::parse(parser, {});
    if (!meshOrRef)
      return {};
  } else {
    FlatSymbolRefAttr name;
    if (parser.parseAttribute(name))
      return {};
    meshOrRef = name;
  }

  SmallVector<DimensionShardingAttr> dims;
  if (parser.parseComma() || parseList(parser, dims, Delimiter::Square))
    return {};

  SmallVector<AxisRefAttr> replicated, unreduced;
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc loc = parser.getCurrentLocation();
    StringRef key;
    if (parser.parseOptionalKeyword(&key, {"replicated", "unreduced"})) {
      parser.emitError(loc, "expected 'replicated' or 'unreduced'");
      return {};
    }
    SmallVector<AxisRefAttr> &axes = key == "replicated" ? replicated : unreduced;
    if (!axes.empty()) {
      parser.emitError(loc) << "'" << key << "' is given twice";
      return {};
    }
    if (parser.parseEqual() || parseSomeAxes(parser, axes))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), meshOrRef, dims, replicated, unreduced);
}

void TensorShardingAttr::print(AsmPrinter &printer) const {
  printer << '<';
  if (auto mesh = dyn_cast<MeshAttr>(getMeshOrRef())) {
    printer << MeshAttr::getMnemonic();
    mesh.print(printer);
  } else {
    printer << getMeshOrRef();
  }
  printer << ", [";
  printList(printer, getDimShardings());
  printer << ']';
  auto printAxes = [&](StringRef key, ArrayRef<AxisRefAttr> axes) {
    if (axes.empty())
      return;
    printer << ", " << key << "={";
    printList(printer, axes);
    printer << '}';
  };
  printAxes("replicated", getReplicatedAxes());
  printAxes("unreduced", getUnreducedAxes());
  printer << '>';
}

Attribute TensorShardingPerValueAttr::parse(AsmParser &parser, Type) {
  SmallVector<TensorShardingAttr> shardings;
  if (parser.parseLess() || parseList(parser, shardings, Delimiter::Square) ||
      parser.parseGreater())
    return {};
  return get(parser.getContext(), shardings);
}

void TensorShardingPerValueAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  printList(printer, getShardings());
  printer << "]>";
}

//===----------------------------------------------------------------------===//
// Sharding rules
//===----------------------------------------------------------------------===//

namespace {

/// Factors 0 to 17 are the letters from 'i' to 'z', later ones `z_1`, `z_2`, ...
constexpr char kFirstFactor = 'i';
constexpr int64_t kLastLetterFactor = 'z' - kFirstFactor;

std::string factorSymbol(int64_t factor) {
  if (factor > kLastLetterFactor)
    return "z_" + std::to_string(factor - kLastLetterFactor);
  return std::string(1, static_cast<char>(kFirstFactor + factor));
}

/// Splits symbols written without anything between them, such as `ijz_1`.
ParseResult parseFactorSymbols(function_ref<InFlightDiagnostic()> emitError, StringRef symbols,
                               SmallVectorImpl<int64_t> &factors) {
  while (!symbols.empty()) {
    char letter = symbols.front();
    if (letter < kFirstFactor || letter > 'z')
      return emitError() << "expected the symbol of a factor, a letter from 'i' to 'z', but found '"
                         << symbols << "'";
    symbols = symbols.drop_front();
    int64_t factor = letter - kFirstFactor;
    if (letter == 'z' && symbols.consume_front("_")) {
      StringRef digits = symbols.take_while(llvm::isDigit);
      int64_t number = 0;
      if (digits.empty() || digits.front() == '0' || digits.getAsInteger(10, number) ||
          number > std::numeric_limits<int64_t>::max() - kLastLetterFactor)
        return emitError() << "'z_' must be followed by a positive number without leading zeros";
      symbols = symbols.drop_front(digits.size());
      factor = kLastLetterFactor + number;
    }
    factors.push_back(factor);
  }
  return success();
}

/// Parses the symbol of one factor.
ParseResult parseFactor(AsmParser &parser, SmallVectorImpl<int64_t> &factors) {
  SMLoc loc = parser.getCurrentLocation();
  auto emitError = [&] { return parser.emitError(loc); };
  StringRef keyword;
  SmallVector<int64_t> parsed;
  if (parser.parseKeyword(&keyword) || parseFactorSymbols(emitError, keyword, parsed))
    return failure();
  if (parsed.size() != 1)
    return emitError() << "expected the symbol of one factor, but found '" << keyword << "'";
  factors.push_back(parsed.front());
  return success();
}

} // namespace

Attribute DimMappingAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef keyword;
  SmallVector<int64_t> factors;
  if (succeeded(parser.parseOptionalKeyword(&keyword)) &&
      parseFactorSymbols([&] { return parser.emitError(loc); }, keyword, factors))
    return {};
  return get(parser.getContext(), factors);
}

void DimMappingAttr::print(AsmPrinter &printer) const {
  // By itself the symbols would run into the mnemonic.
  if (!getFactorIndices().empty())
    printer << ' ';
  for (int64_t factor : getFactorIndices())
    printer << factorSymbol(factor);
}

Attribute TensorMappingAttr::parse(AsmParser &parser, Type) {
  SmallVector<DimMappingAttr> dims;
  if (parseList(parser, dims, Delimiter::Square))
    return {};
  return get(parser.getContext(), dims);
}

void TensorMappingAttr::print(AsmPrinter &printer) const {
  printer << '[';
  llvm::interleaveComma(getDimMappings(), printer, [&](DimMappingAttr dim) {
    // A mapping to no factor is an error in a rule, but must be read back as what it is.
    if (dim.getFactorIndices().empty())
      printer << Attribute(dim);
    for (int64_t factor : dim.getFactorIndices())
      printer << factorSymbol(factor);
  });
  printer << ']';
}

Attribute OpShardingRuleAttr::parse(AsmParser &parser, Type) {
  SmallVector<TensorMappingAttr> operands, results;
  SmallVector<int64_t> sizes;
  // A rule ties values together, so neither side may be without any.
  auto parseMappings = [&](SmallVectorImpl<TensorMappingAttr> &mappings) -> ParseResult {
    return failure(parser.parseLParen() || parser.parseCommaSeparatedList([&] {
      return parseAnyInto(parser, mappings);
    }) || parser.parseRParen());
  };
  if (parser.parseLess() || parseMappings(operands) || parser.parseArrow() ||
      parseMappings(results))
    return {};

  auto parseSize = [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    std::string expected = factorSymbol(sizes.size());
    StringRef symbol;
    if (parser.parseKeyword(&symbol))
      return failure();
    if (symbol != expected)
      return parser.emitError(loc) << "factors must be listed in order: expected '" << expected
                                   << "', but found '" << symbol << "'";
    if (parser.parseEqual())
      return failure();
    SMLoc sizeLoc = parser.getCurrentLocation();
    int64_t &size = sizes.emplace_back();
    if (parser.parseInteger(size))
      return failure();
    // Shardy reads sizes of 32 bits, and nothing larger that is written comes back.
    if (size > std::numeric_limits<int32_t>::max())
      return parser.emitError(sizeLoc) << "size " << size << " of factor '" << symbol
                                       << "' is more than " << std::numeric_limits<int32_t>::max();
    return success();
  };
  if (parser.parseCommaSeparatedList(Delimiter::OptionalBraces, parseSize))
    return {};

  constexpr StringRef kSpecialFactors[] = {"reduction", "need_replication", "permutation",
                                           "blocked_propagation"};
  SmallVector<int64_t> special[std::size(kSpecialFactors)];
  for (auto [key, factors] : llvm::zip_equal(kSpecialFactors, special)) {
    if (parser.parseOptionalKeyword(key))
      continue;
    auto parseOne = [&, &list = factors] { return parseFactor(parser, list); };
    if (parser.parseEqual() || parser.parseCommaSeparatedList(Delimiter::Braces, parseOne))
      return {};
  }
  bool isCustom = succeeded(parser.parseOptionalComma());
  if ((isCustom && parser.parseKeyword("custom")) || parser.parseGreater())
    return {};
  return get(parser.getContext(), sizes, operands, results, special[0], special[1], special[2],
             special[3], isCustom);
}

void OpShardingRuleAttr::print(AsmPrinter &printer) const {
  printer << "<(";
  printList(printer, getOperandMappings());
  printer << ")->(";
  printList(printer, getResultMappings());
  printer << ')';
  if (!getFactorSizes().empty()) {
    printer << " {";
    llvm::interleaveComma(llvm::enumerate(getFactorSizes()), printer, [&](auto factor) {
      printer << factorSymbol(factor.index()) << '=' << factor.value();
    });
    printer << '}';
  }
  auto printFactors = [&](StringRef key, ArrayRef<int64_t> factors) {
    if (factors.empty())
      return;
    printer << ' ' << key << "={";
    llvm::interleaveComma(factors, printer,
                          [&](int64_t factor) { printer << factorSymbol(factor); });
    printer << '}';
  };
  printFactors("reduction", getReductionFactors());
  printFactors("need_replication", getNeedReplicationFactors());
  printFactors("permutation", getPermutationFactors());
  printFactors("blocked_propagation", getBlockedPropagationFactors());
  if (getIsCustom())
    printer << ", custom";
  printer << '>';
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

Attribute AllToAllParamAttr::parse(AsmParser &parser, Type) {
  SmallVector<AxisRefAttr> axes;
  int64_t source = 0, target = 0;
  if (parseSomeAxes(parser, axes) || parser.parseColon() || parser.parseInteger(source) ||
      parser.parseArrow() || parser.parseInteger(target))
    return {};
  return get(parser.getContext(), axes, source, target);
}

void AllToAllParamAttr::print(AsmPrinter &printer) const {
  printer << '{';
  printList(printer, getAxes());
  printer << "}: " << getSrcDim() << "->" << getTgtDim();
}

Attribute AllToAllParamListAttr::parse(AsmParser &parser, Type) {
  SmallVector<AllToAllParamAttr> params;
  if (parseList(parser, params, Delimiter::Square))
    return {};
  return get(parser.getContext(), params);
}

void AllToAllParamListAttr::print(AsmPrinter &printer) const {
  printer << '[';
  printList(printer, getValue());
  printer << ']';
}

//===----------------------------------------------------------------------===//
// Where shardings came from
//===----------------------------------------------------------------------===//

namespace {

void printValueRef(AsmPrinter &printer, EdgeValueRefAttr value) {
  printer << stringifyEdgeNodeType(value.getType()) << '-' << value.getIndex();
}

} // namespace

Attribute EdgeValueRefAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  std::string keyword;
  if (parser.parseKeywordOrString(&keyword))
    return {};
  std::optional<EdgeNodeType> type = symbolizeEdgeNodeType(keyword);
  if (!type) {
    parser.emitError(loc) << "expected 'operand' or 'result', but found '" << keyword << "'";
    return {};
  }
  int64_t index = 0;
  if (parser.parseMinus() || parser.parseInteger(index))
    return {};
  return get(parser.getContext(), *type, index);
}

void EdgeValueRefAttr::print(AsmPrinter &printer) const {
  // By itself the keyword would run into the mnemonic.
  printer << ' ';
  printValueRef(printer, *this);
}

Attribute AxisToPropagationDetailsAttr::parse(AsmParser &parser, Type) {
  SmallVector<AxisRefAttr, 1> axis;
  EdgeValueRefAttr source;
  SmallVector<EdgeValueRefAttr> targets;
  auto parseTarget = [&] { return parseAnyInto(parser, targets); };
  if (parser.parseLBrace() || parseAnyInto(parser, axis) || parser.parseEqual() ||
      parser.parseCustomAttributeWithFallback(source) || parser.parseArrow() ||
      parser.parseLSquare() || parser.parseCommaSeparatedList(parseTarget) ||
      parser.parseRSquare() || parser.parseRBrace())
    return {};
  return get(parser.getContext(), axis.front(), source, targets);
}

void AxisToPropagationDetailsAttr::print(AsmPrinter &printer) const {
  printer << '{';
  getAxisName().print(printer);
  printer << " = ";
  printValueRef(printer, getSource());
  printer << " -> [";
  llvm::interleaveComma(getTargets(), printer,
                        [&](EdgeValueRefAttr target) { printValueRef(printer, target); });
  printer << "]}";
}

Attribute PropagationOneStepAttr::parse(AsmParser &parser, Type) {
  int64_t step = 0;
  SmallVector<AxisToPropagationDetailsAttr> axes;
  auto parseAxis = [&] { return parseAnyInto(parser, axes); };
  if (parser.parseLBrace() || parser.parseKeyword("step") || parser.parseMinus() ||
      parser.parseInteger(step) || parser.parseEqual() || parser.parseLSquare() ||
      parser.parseCommaSeparatedList(parseAxis) || parser.parseRSquare() || parser.parseRBrace())
    return {};
  return get(parser.getContext(), step, axes);
}

void PropagationOneStepAttr::print(AsmPrinter &printer) const {
  printer << "{step-" << getStepIndex() << " = [";
  printList(printer, getAxisEntries());
  printer << "]}";
}

// For each step its index and number of axes; for each axis the side and index of its source, the
// number of its targets, and the side and index of each.
LogicalResult PropagationEdgesAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                           ArrayRef<PropagationOneStepAttr> steps) {
  SmallVector<int64_t> parameters;
  auto append = [&](EdgeValueRefAttr value) {
    parameters.push_back(static_cast<int64_t>(value.getType()));
    parameters.push_back(value.getIndex());
  };
  for (PropagationOneStepAttr step : steps) {
    parameters.push_back(step.getStepIndex());
    parameters.push_back(step.getAxisEntries().size());
    for (AxisToPropagationDetailsAttr axis : step.getAxisEntries()) {
      append(axis.getSource());
      parameters.push_back(axis.getTargets().size());
      llvm::for_each(axis.getTargets(), append);
    }
  }
  return verifyParameters(emitError, "sdy.propagation_edges", parameters);
}

Attribute PropagationEdgesAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<PropagationOneStepAttr> steps;
  auto parseStep = [&] { return parseAnyInto(parser, steps); };
  if (parser.parseLess() || parser.parseLSquare() || parser.parseCommaSeparatedList(parseStep) ||
      parser.parseRSquare() || parser.parseGreater())
    return {};
  return parser.getChecked<PropagationEdgesAttr>(loc, parser.getContext(), steps);
}

void PropagationEdgesAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  printList(printer, getValue());
  printer << "]>";
}
