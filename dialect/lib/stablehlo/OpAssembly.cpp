// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "slimhlo/stablehlo/OpAssembly.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace slimhlo::stablehlo;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// Distributes a function type with one result; complains at `loc` if the numbers do not fit.
static ParseResult assignFunctionType(OpAsmParser &parser, SMLoc loc, FunctionType type,
                                      ArrayRef<Type *> operands, Type &result) {
  if (type.getNumInputs() != operands.size())
    return parser.emitError(loc) << operands.size() << " operands present, but the type has "
                                 << type.getNumInputs();
  if (type.getNumResults() != 1)
    return parser.emitError(loc) << "expected one result type, but got " << type.getNumResults();
  for (auto [operand, input] : llvm::zip_equal(operands, type.getInputs()))
    *operand = input;
  result = type.getResult(0);
  return success();
}

static void printFunctionType(OpAsmPrinter &printer, TypeRange operands, TypeRange results) {
  printer.printFunctionalType(operands, results);
}

ParseResult slimhlo::stablehlo::parseSameOperandsAndResultType(OpAsmParser &parser,
                                                               ArrayRef<Type *> operands,
                                                               Type &result) {
  SMLoc loc = parser.getCurrentLocation();
  Type type;
  if (parser.parseType(type))
    return failure();
  if (auto function = dyn_cast<FunctionType>(type))
    return assignFunctionType(parser, loc, function, operands, result);
  for (Type *operand : operands)
    *operand = type;
  result = type;
  return success();
}

void slimhlo::stablehlo::printSameOperandsAndResultType(OpAsmPrinter &printer,
                                                        ArrayRef<Type> operands, Type result) {
  if (llvm::all_equal(operands) && operands.front() == result)
    printer << result;
  else
    printFunctionType(printer, operands, result);
}

/// The tensor of the parts of a tensor of complex numbers, or null.
static Type getPartType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return {};
  auto complex = dyn_cast<ComplexType>(tensor.getElementType());
  return complex ? Type(tensor.clone(complex.getElementType())) : Type();
}

ParseResult slimhlo::stablehlo::parseComplexTypes(OpAsmParser &parser, Type &lhs, Type &rhs,
                                                  Type &result) {
  SMLoc loc = parser.getCurrentLocation();
  Type type;
  if (parser.parseType(type))
    return failure();
  if (auto function = dyn_cast<FunctionType>(type))
    return assignFunctionType(parser, loc, function, {&lhs, &rhs}, result);
  Type part = getPartType(type);
  if (!part)
    return parser.emitError(loc) << "expected a tensor of complex numbers, but got " << type;
  lhs = rhs = part;
  result = type;
  return success();
}

void slimhlo::stablehlo::printComplexTypes(OpAsmPrinter &printer, Operation *, Type lhs, Type rhs,
                                           Type result) {
  Type part = getPartType(result);
  if (part && lhs == part && rhs == part)
    printer << result;
  else
    printFunctionType(printer, ArrayRef<Type>{lhs, rhs}, result);
}

ParseResult slimhlo::stablehlo::parseSelectTypes(OpAsmParser &parser, Type &pred, Type &onTrue,
                                                 Type &onFalse, Type &result) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<Type> types;
  if (parser.parseTypeList(types))
    return failure();
  if (types.size() == 1)
    if (auto function = dyn_cast<FunctionType>(types.front()))
      return assignFunctionType(parser, loc, function, {&pred, &onTrue, &onFalse}, result);
  if (types.size() != 2)
    return parser.emitError(loc)
           << "expected a function type, or the types of predicate and result";
  pred = types[0];
  onTrue = onFalse = result = types[1];
  return success();
}

void slimhlo::stablehlo::printSelectTypes(OpAsmPrinter &printer, Operation *, Type pred,
                                          Type onTrue, Type onFalse, Type result) {
  if (onTrue == result && onFalse == result)
    printer << pred << ", " << result;
  else
    printFunctionType(printer, ArrayRef<Type>{pred, onTrue, onFalse}, result);
}

ParseResult slimhlo::stablehlo::parseTupleTypes(OpAsmParser &parser, Types &elements,
                                                Type &result) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseType(result))
    return failure();
  auto tuple = dyn_cast<TupleType>(result);
  if (!tuple)
    return parser.emitError(loc) << "expected a tuple type, but got " << result;
  llvm::append_range(elements, tuple.getTypes());
  return success();
}

void slimhlo::stablehlo::printTupleTypes(OpAsmPrinter &printer, Operation *, TypeRange,
                                         Type result) {
  printer << result;
}

ParseResult slimhlo::stablehlo::parsePairwiseTypes(OpAsmParser &parser, Types &operands,
                                                   Types &results) {
  if (parser.parseTypeList(operands))
    return failure();
  llvm::append_range(results, operands);
  return success();
}

void slimhlo::stablehlo::printPairwiseTypes(OpAsmPrinter &printer, Operation *, TypeRange operands,
                                            TypeRange) {
  llvm::interleaveComma(operands, printer);
}

ParseResult slimhlo::stablehlo::parseTokenTypes(OpAsmParser &parser, Operands &inputs,
                                                Types &inputTypes, Type &result) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseType(result))
    return failure();
  auto function = dyn_cast<FunctionType>(result);
  inputTypes.append(inputs.size(), result);
  if (!function)
    return success();
  SmallVector<Type *> types;
  for (Type &type : inputTypes)
    types.push_back(&type);
  return assignFunctionType(parser, loc, function, types, result);
}

void slimhlo::stablehlo::printTokenTypes(OpAsmPrinter &printer, Operation *, OperandRange,
                                         TypeRange, Type result) {
  printer << result;
}

//===----------------------------------------------------------------------===//
// Operands and regions
//===----------------------------------------------------------------------===//

ParseResult slimhlo::stablehlo::parseOperandsBeforeAttribute(OpAsmParser &parser,
                                                             Operands &operands) {
  OpAsmParser::UnresolvedOperand operand;
  while (true) {
    OptionalParseResult parsed = parser.parseOptionalOperand(operand);
    if (!parsed.has_value())
      break;
    if (failed(*parsed) || parser.parseComma())
      return failure();
    operands.push_back(operand);
  }
  // Older printers leave the comma even where no operand precedes it.
  if (operands.empty())
    (void)parser.parseOptionalComma();
  return success();
}

void slimhlo::stablehlo::printOperandsBeforeAttribute(OpAsmPrinter &printer, Operation *,
                                                      OperandRange operands) {
  if (operands.empty())
    return;
  printer << ' ';
  printer.printOperands(operands);
  printer << ',';
}

ParseResult
slimhlo::stablehlo::parseOptionalRegions(OpAsmParser &parser,
                                         SmallVectorImpl<std::unique_ptr<Region>> &regions) {
  if (failed(parser.parseOptionalLParen()) || succeeded(parser.parseOptionalRParen()))
    return success();
  auto parseRegion = [&]() -> ParseResult {
    return parser.parseRegion(*regions.emplace_back(std::make_unique<Region>()));
  };
  if (parser.parseCommaSeparatedList(parseRegion))
    return failure();
  return parser.parseRParen();
}

void slimhlo::stablehlo::printOptionalRegions(OpAsmPrinter &printer, Operation *,
                                              RegionRange regions) {
  if (regions.empty())
    return;
  printer << " (";
  llvm::interleaveComma(regions, printer, [&](Region *region) {
    printer.printRegion(*region, /*printEntryBlockArgs=*/true, /*printBlockTerminators=*/true,
                        /*printEmptyBlock=*/true);
  });
  printer << ')';
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

ParseResult slimhlo::stablehlo::parseSliceRanges(OpAsmParser &parser, DenseI64ArrayAttr &start,
                                                 DenseI64ArrayAttr &limit,
                                                 DenseI64ArrayAttr &strides) {
  SmallVector<int64_t> starts, limits, steps;
  auto parseRange = [&]() -> ParseResult {
    steps.push_back(1);
    if (parser.parseInteger(starts.emplace_back()) || parser.parseColon() ||
        parser.parseInteger(limits.emplace_back()))
      return failure();
    if (succeeded(parser.parseOptionalColon()))
      return parser.parseInteger(steps.back());
    return success();
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, parseRange))
    return failure();
  Builder &builder = parser.getBuilder();
  start = builder.getDenseI64ArrayAttr(starts);
  limit = builder.getDenseI64ArrayAttr(limits);
  strides = builder.getDenseI64ArrayAttr(steps);
  return success();
}

void slimhlo::stablehlo::printSliceRanges(OpAsmPrinter &printer, Operation *,
                                          DenseI64ArrayAttr start, DenseI64ArrayAttr limit,
                                          DenseI64ArrayAttr strides) {
  // An op that does not verify may have lists of different lengths: show what is there.
  size_t size = std::max({start.size(), limit.size(), strides.size()});
  auto print = [&](DenseI64ArrayAttr list, size_t i) {
    if (i < static_cast<size_t>(list.size()))
      printer << list[i];
    else
      printer << '?';
  };
  printer << '[';
  llvm::interleaveComma(llvm::seq<size_t>(0, size), printer, [&](size_t i) {
    print(start, i);
    printer << ':';
    print(limit, i);
    if (i >= static_cast<size_t>(strides.size()) || strides[i] != 1) {
      printer << ':';
      print(strides, i);
    }
  });
  printer << ']';
}

ParseResult slimhlo::stablehlo::parseExponentMantissa(OpAsmParser &parser, IntegerAttr &exponent,
                                                      IntegerAttr &mantissa) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef format;
  if (parser.parseKeyword(&format))
    return failure();
  StringRef rest = format;
  int32_t exponentBits, mantissaBits;
  if (!rest.consume_front("e") || rest.consumeInteger(10, exponentBits) ||
      !rest.consume_front("m") || rest.getAsInteger(10, mantissaBits))
    return parser.emitError(loc) << "expected a format like e5m10, but got '" << format << "'";
  exponent = parser.getBuilder().getI32IntegerAttr(exponentBits);
  mantissa = parser.getBuilder().getI32IntegerAttr(mantissaBits);
  return success();
}

void slimhlo::stablehlo::printExponentMantissa(OpAsmPrinter &printer, Operation *,
                                               IntegerAttr exponent, IntegerAttr mantissa) {
  printer << 'e' << exponent.getValue() << 'm' << mantissa.getValue();
}

/// `keyword = [0, 1] x [2, 3]`, from the `=` on.
static ParseResult parseDimensionPair(OpAsmParser &parser, SmallVectorImpl<int64_t> &lhs,
                                      SmallVectorImpl<int64_t> &rhs) {
  return failure(parser.parseEqual() || parseDimensions(parser, lhs) || parser.parseKeyword("x") ||
                 parseDimensions(parser, rhs));
}

static void printDimensionPair(OpAsmPrinter &printer, StringRef keyword, ArrayRef<int64_t> lhs,
                               ArrayRef<int64_t> rhs) {
  printer << keyword << " = ";
  printDimensions(printer, lhs);
  printer << " x ";
  printDimensions(printer, rhs);
}

ParseResult slimhlo::stablehlo::parseDotDimensionNumbers(OpAsmParser &parser,
                                                         DotDimensionNumbersAttr &dimensions) {
  SmallVector<int64_t> lhsBatching, rhsBatching, lhsContracting, rhsContracting;
  if (succeeded(parser.parseOptionalKeyword("batching_dims")))
    if (parseDimensionPair(parser, lhsBatching, rhsBatching) || parser.parseComma())
      return failure();
  if (parser.parseKeyword("contracting_dims") ||
      parseDimensionPair(parser, lhsContracting, rhsContracting))
    return failure();
  dimensions = DotDimensionNumbersAttr::get(parser.getContext(), lhsBatching, rhsBatching,
                                            lhsContracting, rhsContracting);
  return success();
}

void slimhlo::stablehlo::printDotDimensionNumbers(OpAsmPrinter &printer, Operation *,
                                                  DotDimensionNumbersAttr dimensions) {
  if (!dimensions.getLhsBatchingDimensions().empty() ||
      !dimensions.getRhsBatchingDimensions().empty()) {
    printDimensionPair(printer, "batching_dims", dimensions.getLhsBatchingDimensions(),
                       dimensions.getRhsBatchingDimensions());
    printer << ", ";
  }
  printDimensionPair(printer, "contracting_dims", dimensions.getLhsContractingDimensions(),
                     dimensions.getRhsContractingDimensions());
}

/// `[HIGHEST, DEFAULT]`.
static ParseResult parsePrecisions(OpAsmParser &parser, ArrayAttr &precisions) {
  SmallVector<Attribute> elements;
  auto parsePrecision = [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    StringRef keyword;
    if (parser.parseKeyword(&keyword))
      return failure();
    std::optional<Precision> precision = symbolizePrecision(keyword);
    if (!precision)
      return parser.emitError(loc)
             << "expected DEFAULT, HIGH or HIGHEST, but got '" << keyword << "'";
    elements.push_back(PrecisionAttr::get(parser.getContext(), *precision));
    return success();
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, parsePrecision))
    return failure();
  precisions = parser.getBuilder().getArrayAttr(elements);
  return success();
}

static void printPrecisions(OpAsmPrinter &printer, ArrayAttr precisions) {
  printer << ", precision = [";
  llvm::interleaveComma(precisions, printer, [&](Attribute element) {
    if (auto precision = dyn_cast<PrecisionAttr>(element))
      printer << stringifyPrecision(precision.getValue());
    else
      printer << element;
  });
  printer << ']';
}

ParseResult slimhlo::stablehlo::parsePrecisionConfig(OpAsmParser &parser, ArrayAttr &precision) {
  if (failed(parser.parseOptionalComma()))
    return success();
  return failure(parser.parseKeyword("precision") || parser.parseEqual() ||
                 parsePrecisions(parser, precision));
}

void slimhlo::stablehlo::printPrecisionConfig(OpAsmPrinter &printer, Operation *,
                                              ArrayAttr precision) {
  if (precision)
    printPrecisions(printer, precision);
}

ParseResult slimhlo::stablehlo::parsePrecisionConfigAndAlgorithm(OpAsmParser &parser,
                                                                 ArrayAttr &precision,
                                                                 DotAlgorithmAttr &algorithm) {
  if (failed(parser.parseOptionalComma()))
    return success();
  if (succeeded(parser.parseOptionalKeyword("precision"))) {
    if (parser.parseEqual() || parsePrecisions(parser, precision))
      return failure();
    if (failed(parser.parseOptionalComma()))
      return success();
  }
  return failure(parser.parseKeyword("algorithm") || parser.parseEqual() ||
                 parser.parseCustomAttributeWithFallback(algorithm));
}

void slimhlo::stablehlo::printPrecisionConfigAndAlgorithm(OpAsmPrinter &printer, Operation *op,
                                                          ArrayAttr precision,
                                                          DotAlgorithmAttr algorithm) {
  printPrecisionConfig(printer, op, precision);
  if (algorithm) {
    printer << ", algorithm = ";
    printer.printStrippedAttrOrType(algorithm);
  }
}

/// `[[0, 1], [2, 3]]` as an Nx2 tensor.
static ParseResult parsePairs(OpAsmParser &parser, DenseIntElementsAttr &pairs) {
  SmallVector<int64_t> numbers;
  auto parseNumber = [&]() -> ParseResult { return parser.parseInteger(numbers.emplace_back()); };
  auto parsePair = [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    size_t before = numbers.size();
    if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, parseNumber))
      return failure();
    if (numbers.size() - before != 2)
      return parser.emitError(loc)
             << "expected low and high padding, but got " << numbers.size() - before << " numbers";
    return success();
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, parsePair))
    return failure();
  auto type = RankedTensorType::get({static_cast<int64_t>(numbers.size() / 2), 2},
                                    parser.getBuilder().getI64Type());
  pairs = DenseIntElementsAttr::get(type, ArrayRef<int64_t>(numbers));
  return success();
}

static void printPairs(OpAsmPrinter &printer, DenseIntElementsAttr pairs) {
  ShapedType type = pairs.getType();
  if (type.getRank() != 2 || type.getDimSize(1) != 2) {
    printer << pairs;
    return;
  }
  SmallVector<APInt> numbers(pairs.getValues<APInt>());
  printer << '[';
  llvm::interleaveComma(llvm::seq<size_t>(0, numbers.size() / 2), printer, [&](size_t i) {
    printer << '[' << numbers[2 * i] << ", " << numbers[2 * i + 1] << ']';
  });
  printer << ']';
}

/// `[false, true]`, or numbers, as older producers wrote.
static ParseResult parseFlags(OpAsmParser &parser, DenseBoolArrayAttr &flags) {
  SmallVector<bool> values;
  auto parseFlag = [&]() -> ParseResult {
    if (succeeded(parser.parseOptionalKeyword("true"))) {
      values.push_back(true);
      return success();
    }
    if (succeeded(parser.parseOptionalKeyword("false"))) {
      values.push_back(false);
      return success();
    }
    int64_t number;
    if (parser.parseInteger(number))
      return failure();
    values.push_back(number != 0);
    return success();
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, parseFlag))
    return failure();
  flags = parser.getBuilder().getDenseBoolArrayAttr(values);
  return success();
}

ParseResult slimhlo::stablehlo::parseWindowAttributes(
    OpAsmParser &parser, DenseI64ArrayAttr &strides, DenseIntElementsAttr &padding,
    DenseI64ArrayAttr &lhsDilation, DenseI64ArrayAttr &rhsDilation, DenseBoolArrayAttr &reversal) {
  auto parseList = [&](Attribute given, DenseI64ArrayAttr &list) -> ParseResult {
    SmallVector<int64_t> numbers;
    if (parseDimensions(parser, numbers))
      return failure();
    list = parser.getBuilder().getDenseI64ArrayAttr(numbers);
    return success();
  };
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  while (succeeded(parser.parseOptionalKeyword(&keyword))) {
    if (parser.parseEqual())
      return failure();
    ParseResult parsed = failure();
    if (keyword == "stride" && !strides)
      parsed = parseList(strides, strides);
    else if (keyword == "pad" && !padding)
      parsed = parsePairs(parser, padding);
    else if (keyword == "lhs_dilate" && !lhsDilation)
      parsed = parseList(lhsDilation, lhsDilation);
    else if (keyword == "rhs_dilate" && !rhsDilation)
      parsed = parseList(rhsDilation, rhsDilation);
    else if (keyword == "reverse" && !reversal)
      parsed = parseFlags(parser, reversal);
    else
      return parser.emitError(loc) << "unknown or repeated window attribute '" << keyword << "'";
    if (failed(parsed))
      return failure();
    if (failed(parser.parseOptionalComma()))
      return success();
    loc = parser.getCurrentLocation();
  }
  return success();
}

void slimhlo::stablehlo::printWindowAttributes(
    OpAsmPrinter &printer, Operation *, DenseI64ArrayAttr strides, DenseIntElementsAttr padding,
    DenseI64ArrayAttr lhsDilation, DenseI64ArrayAttr rhsDilation, DenseBoolArrayAttr reversal) {
  StringRef separator;
  auto begin = [&](StringRef keyword) {
    printer << separator << keyword << " = ";
    separator = ", ";
  };
  if (strides) {
    begin("stride");
    printDimensions(printer, strides);
  }
  if (padding) {
    begin("pad");
    printPairs(printer, padding);
  }
  if (lhsDilation) {
    begin("lhs_dilate");
    printDimensions(printer, lhsDilation);
  }
  if (rhsDilation) {
    begin("rhs_dilate");
    printDimensions(printer, rhsDilation);
  }
  if (reversal) {
    begin("reverse");
    printer << '[';
    llvm::interleaveComma(reversal.asArrayRef(), printer,
                          [&](bool flag) { printer << (flag ? "true" : "false"); });
    printer << ']';
  }
}

ParseResult slimhlo::stablehlo::parseCustomCallTarget(OpAsmParser &parser, StringAttr &target) {
  return parser.parseSymbolName(target);
}

void slimhlo::stablehlo::printCustomCallTarget(OpAsmPrinter &printer, Operation *,
                                               StringAttr target) {
  printer.printSymbolName(target.getValue());
}

//===----------------------------------------------------------------------===//
// reduce
//===----------------------------------------------------------------------===//

/// Whether `applies` can stand for ops of this name: what it says then is all there is to say.
static bool isCommutativeBinaryOp(OperationName name) {
  return name.getDialectNamespace() == StablehloDialect::getDialectNamespace() &&
         name.hasTrait<OpTrait::IsCommutative>() && name.hasTrait<OpTrait::NOperands<2>::Impl>() &&
         name.hasTrait<OpTrait::OneResult>() && name.hasTrait<OpTrait::ZeroRegions>();
}

/// The scalar that a reducer of the first input works on, or null.
static Type getScalarType(TypeRange inputs) {
  auto tensor = inputs.empty() ? RankedTensorType() : dyn_cast<RankedTensorType>(inputs.front());
  return tensor ? RankedTensorType::get({}, tensor.getElementType()) : Type();
}

/// The op to write after `applies`, or null if the body has to be written out.
static Operation *getAppliedOp(ReduceOp reduce) {
  Region &body = reduce.getBody();
  if (reduce->getNumOperands() != 2 || !body.hasOneBlock())
    return nullptr;
  Block &block = body.front();
  if (block.getNumArguments() != 2 || !llvm::hasNItems(block, 2))
    return nullptr;
  Operation &applied = block.front();
  Operation &terminator = block.back();
  if (!isCommutativeBinaryOp(applied.getName()) || !isa<ReturnOp>(terminator))
    return nullptr;
  // Neither names nor attributes of the body's ops are written, so there must be none.
  if (!applied.getAttrDictionary().empty() || !terminator.getAttrDictionary().empty())
    return nullptr;
  if (!llvm::equal(applied.getOperands(), block.getArguments()) ||
      !llvm::equal(terminator.getOperands(), applied.getResults()))
    return nullptr;
  Type scalar = getScalarType(reduce->getOperandTypes());
  auto isScalar = [&](Type type) { return type == scalar; };
  if (!scalar || !llvm::all_of(block.getArgumentTypes(), isScalar) ||
      !llvm::all_of(applied.getResultTypes(), isScalar))
    return nullptr;
  return &applied;
}

ParseResult ReduceOp::parse(OpAsmParser &parser, OperationState &result) {
  SMLoc loc = parser.getCurrentLocation();
  Location encodedLoc = parser.getEncodedSourceLoc(loc);

  // `(%x init: %a), (%y init: %b)`
  SmallVector<OpAsmParser::UnresolvedOperand> operands, initValues;
  auto parseInput = [&]() -> ParseResult {
    return failure(parser.parseLParen() || parser.parseOperand(operands.emplace_back()) ||
                   parser.parseKeyword("init") || parser.parseColon() ||
                   parser.parseOperand(initValues.emplace_back()) || parser.parseRParen());
  };
  if (parser.parseCommaSeparatedList(parseInput))
    return failure();
  operands.append(initValues);

  // `applies stablehlo.add`
  std::optional<OperationName> applied;
  if (succeeded(parser.parseOptionalKeyword("applies"))) {
    SMLoc appliedLoc = parser.getCurrentLocation();
    FailureOr<OperationName> name = parser.parseCustomOperationName();
    if (failed(name))
      return failure();
    if (!isCommutativeBinaryOp(*name))
      return parser.emitError(appliedLoc)
             << "expected a commutative op of the stablehlo dialect with two operands, one result "
                "and no regions, but got '"
             << *name << "'";
    applied = *name;
  }

  // `across dimensions = [1] {...} : (...) -> ...`
  SmallVector<int64_t> dimensions;
  FunctionType type;
  SMLoc attributesLoc, typeLoc;
  if (parser.parseKeyword("across") || parser.parseKeyword("dimensions") || parser.parseEqual() ||
      parseDimensions(parser, dimensions) || parser.getCurrentLocation(&attributesLoc) ||
      parser.parseOptionalAttrDict(result.attributes) || parser.parseColon() ||
      parser.getCurrentLocation(&typeLoc) || parser.parseType(type))
    return failure();
  if (result.attributes.get(getDimensionsAttrName(result.name)))
    return parser.emitError(attributesLoc) << "attribute 'dimensions' occurs more than once";
  result.getOrAddProperties<Properties>().dimensions =
      parser.getBuilder().getDenseI64ArrayAttr(dimensions);
  result.addTypes(type.getResults());
  if (parser.resolveOperands(operands, type.getInputs(), loc, result.operands))
    return failure();

  Region &body = *result.addRegion();
  if (!applied) {
    // `reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<i32>, %d: tensor<i32>) {...}`: pairs
    // of accumulator and element, while the block has all accumulators first.
    SmallVector<OpAsmParser::Argument> accumulators, elements;
    auto parseArgument = [&](SmallVectorImpl<OpAsmParser::Argument> &arguments) -> ParseResult {
      return parser.parseArgument(arguments.emplace_back(), /*allowType=*/true);
    };
    if (parser.parseKeyword("reducer"))
      return failure();
    while (succeeded(parser.parseOptionalLParen())) {
      if (parseArgument(accumulators) || parser.parseComma() || parseArgument(elements) ||
          parser.parseRParen())
        return failure();
    }
    accumulators.append(elements);
    return parser.parseRegion(body, accumulators);
  }

  // A location given to the op is also that of the ops in the body, which have no text of their
  // own.
  std::optional<Location> explicitLoc;
  if (parser.parseOptionalLocationSpecifier(explicitLoc))
    return failure();
  if (explicitLoc)
    result.location = encodedLoc = *explicitLoc;
  Type scalar = getScalarType(type.getInputs());
  if (!scalar)
    return parser.emitError(typeLoc) << "expected a ranked tensor as the first operand's type";
  Block &block = body.emplaceBlock();
  block.addArguments({scalar, scalar}, {encodedLoc, encodedLoc});
  // Not OpBuilder::atBlockEnd, which asks the op around the block for its context: there is none
  // yet.
  OpBuilder builder(parser.getContext());
  builder.setInsertionPointToEnd(&block);
  OperationState state(encodedLoc, *applied);
  state.addOperands(block.getArguments());
  state.addTypes(scalar);
  Operation *op = builder.create(state);
  ReturnOp::create(builder, encodedLoc, op->getResults());
  return success();
}

void ReduceOp::print(OpAsmPrinter &printer) {
  // Operands of an op that does not verify may be odd in number; the last one then stands alone.
  size_t size = getNumOperands() / 2;
  printer << '(';
  for (size_t i : llvm::seq<size_t>(0, size)) {
    if (i != 0)
      printer << ", (";
    printer << getOperand(i) << " init: " << getOperand(size + i) << ')';
  }
  if (size == 0)
    printer << ')';

  Operation *applied = getAppliedOp(*this);
  if (applied)
    printer << " applies " << applied->getName();
  printer << " across dimensions = ";
  printDimensions(printer, getDimensions());
  printer.printOptionalAttrDict((*this)->getAttrs(), {getDimensionsAttrName()});
  printer << " : ";
  printer.printFunctionalType(*this);
  if (applied)
    return;

  printer.printNewline();
  printer << " reducer";
  Region &body = getBody();
  if (!body.empty()) {
    Block &block = body.front();
    size_t pairs = block.getNumArguments() / 2;
    for (size_t i : llvm::seq<size_t>(0, pairs)) {
      printer << '(';
      printer.printRegionArgument(block.getArgument(i));
      printer << ", ";
      printer.printRegionArgument(block.getArgument(pairs + i));
      printer << ") ";
    }
  }
  printer << ' ';
  printer.printRegion(body, /*printEntryBlockArgs=*/false);
}

//===----------------------------------------------------------------------===//
// while
//===----------------------------------------------------------------------===//

ParseResult WhileOp::parse(OpAsmParser &parser, OperationState &result) {
  SMLoc loc = parser.getCurrentLocation();

  // `(%iterArg = %x, %iterArg_0 = %y) : tensor<f32>, tensor<i32>`
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  auto parseAssignment = [&]() -> ParseResult {
    return failure(parser.parseArgument(arguments.emplace_back()) || parser.parseEqual() ||
                   parser.parseOperand(operands.emplace_back()));
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseAssignment))
    return failure();
  SmallVector<Type> types;
  if (!operands.empty() && parser.parseColonTypeList(types))
    return failure();
  if (parser.resolveOperands(operands, types, loc, result.operands))
    return failure();
  for (auto [argument, type] : llvm::zip_equal(arguments, types))
    argument.type = type;
  result.addTypes(types);

  return failure(parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
                 parser.parseKeyword("cond") ||
                 parser.parseRegion(*result.addRegion(), arguments) || parser.parseKeyword("do") ||
                 parser.parseRegion(*result.addRegion(), arguments));
}

void WhileOp::print(OpAsmPrinter &printer) {
  // The arguments of both regions are named alike; those of an op that does not verify may be too
  // few.
  Region &cond = getCond();
  auto arguments = cond.empty() ? Region::BlockArgListType() : cond.getArguments();
  printer << '(';
  for (auto [i, operand] : llvm::enumerate(getOperation()->getOperands())) {
    if (i != 0)
      printer << ", ";
    if (i < arguments.size())
      printer << arguments[i];
    else
      printer << "<<missing argument>>";
    printer << " = " << operand;
  }
  printer << ')';
  if (getNumOperands() != 0) {
    printer << " : ";
    llvm::interleaveComma(getOperation()->getOperandTypes(), printer);
  }
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  printer.printNewline();
  printer << "cond ";
  printer.printRegion(cond, /*printEntryBlockArgs=*/false);
  printer << " do ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

/// Whether a value goes in with another type than it has inside, or comes out with: of sizes that
/// are known only when the program runs one may be known there.
static bool changesTypes(WhileOp op) {
  TypeRange types = op->getOperandTypes();
  auto differs = [&](Region &region) {
    return !region.empty() && region.getArgumentTypes() != types;
  };
  return op->getResultTypes() != types || differs(op.getCond()) || differs(op.getBody());
}

OperationName::PrintAssemblyFn WhileOp::getPrintAssemblyFn() {
  return [](Operation *op, OpAsmPrinter &printer, StringRef defaultDialect) {
    auto loop = cast<WhileOp>(op);
    if (changesTypes(loop))
      return printer.printGenericOp(op);
    printOpName(op, printer, defaultDialect);
    loop.print(printer);
  };
}

void WhileOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  for (BlockArgument argument : region.getArguments())
    setName(argument, "iterArg");
}
