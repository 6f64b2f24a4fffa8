// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Syntax of stablehlo attributes that an assembly format cannot describe: keys in any order, keys
// left out, convolution labels.

#include "slimhlo/stablehlo/AttrAssembly.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <array>

using namespace mlir;
using namespace slimhlo::stablehlo;

//===----------------------------------------------------------------------===//
// Structs with keys in any order
//===----------------------------------------------------------------------===//

namespace {
/// A key of a struct, with the place its value goes to: a list or a number.
struct Field {
  StringRef key;
  SmallVector<int64_t> *list = nullptr;
  int64_t *number = nullptr;
  bool seen = false;

  Field(StringRef key, SmallVector<int64_t> &list) : key(key), list(&list) {}
  Field(StringRef key, int64_t &number) : key(key), number(&number) {}
};
} // namespace

/// Parses `key = value, ...>`; every key may be left out, and a comma may end the list.
static ParseResult parseFields(AsmParser &parser, StringRef attribute,
                               MutableArrayRef<Field> fields) {
  while (failed(parser.parseOptionalGreater())) {
    SMLoc loc = parser.getCurrentLocation();
    StringRef key;
    if (failed(parser.parseOptionalKeyword(&key)))
      return parser.emitError(loc) << "expected a key of " << attribute;
    auto *field = llvm::find_if(fields, [&](const Field &field) { return field.key == key; });
    if (field == fields.end()) {
      InFlightDiagnostic diagnostic = parser.emitError(loc)
                                      << attribute << " has no key '" << key << "'; it has ";
      llvm::interleaveComma(fields, diagnostic,
                            [&](const Field &field) { diagnostic << field.key; });
      return diagnostic;
    }
    if (field->seen)
      return parser.emitError(loc) << "key '" << key << "' of " << attribute << " is given twice";
    field->seen = true;
    if (parser.parseEqual() ||
        (field->list ? parseDimensions(parser, *field->list) : parser.parseInteger(*field->number)))
      return parser.emitError(loc) << "cannot read key '" << key << "' of " << attribute;
    if (failed(parser.parseOptionalComma()))
      return parser.parseGreater();
  }
  return success();
}

namespace {
/// Prints `key = value, ...`.
class FieldPrinter {
public:
  explicit FieldPrinter(AsmPrinter &printer) : printer(printer) {}

  FieldPrinter &add(StringRef key, ArrayRef<int64_t> list) {
    begin(key);
    printDimensions(printer, list);
    return *this;
  }
  FieldPrinter &add(StringRef key, int64_t number) {
    begin(key);
    printer << number;
    return *this;
  }
  FieldPrinter &addUnlessEmpty(StringRef key, ArrayRef<int64_t> list) {
    return list.empty() ? *this : add(key, list);
  }
  FieldPrinter &addUnlessZero(StringRef key, int64_t number) {
    return number == 0 ? *this : add(key, number);
  }

private:
  void begin(StringRef key) {
    if (!first)
      printer << ", ";
    first = false;
    printer << key << " = ";
  }

  AsmPrinter &printer;
  bool first = true;
};
} // namespace

ParseResult slimhlo::stablehlo::parseDimensions(AsmParser &parser,
                                                SmallVectorImpl<int64_t> &dimensions) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
    return parser.parseInteger(dimensions.emplace_back());
  });
}

void slimhlo::stablehlo::printDimensions(AsmPrinter &printer, ArrayRef<int64_t> dimensions) {
  printer << '[';
  llvm::interleaveComma(dimensions, printer.getStream());
  printer << ']';
}

Attribute GatherDimensionNumbersAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> offsetDims, collapsedSliceDims, operandBatchingDims;
  SmallVector<int64_t> startIndicesBatchingDims, startIndexMap;
  int64_t indexVectorDim = 0;
  Field fields[] = {{"offset_dims", offsetDims},
                    {"collapsed_slice_dims", collapsedSliceDims},
                    {"operand_batching_dims", operandBatchingDims},
                    {"start_indices_batching_dims", startIndicesBatchingDims},
                    {"start_index_map", startIndexMap},
                    {"index_vector_dim", indexVectorDim}};
  if (parser.parseLess() || parseFields(parser, name, fields))
    return {};
  return get(parser.getContext(), offsetDims, collapsedSliceDims, operandBatchingDims,
             startIndicesBatchingDims, startIndexMap, indexVectorDim);
}

void GatherDimensionNumbersAttr::print(AsmPrinter &printer) const {
  printer << '<';
  FieldPrinter(printer)
      .addUnlessEmpty("offset_dims", getOffsetDims())
      .addUnlessEmpty("collapsed_slice_dims", getCollapsedSliceDims())
      .addUnlessEmpty("operand_batching_dims", getOperandBatchingDims())
      .addUnlessEmpty("start_indices_batching_dims", getStartIndicesBatchingDims())
      .addUnlessEmpty("start_index_map", getStartIndexMap())
      .addUnlessZero("index_vector_dim", getIndexVectorDim());
  printer << '>';
}

Attribute ScatterDimensionNumbersAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> updateWindowDims, insertedWindowDims, inputBatchingDims;
  SmallVector<int64_t> scatterIndicesBatchingDims, scatterDimsToOperandDims;
  int64_t indexVectorDim = 0;
  Field fields[] = {{"update_window_dims", updateWindowDims},
                    {"inserted_window_dims", insertedWindowDims},
                    {"input_batching_dims", inputBatchingDims},
                    {"scatter_indices_batching_dims", scatterIndicesBatchingDims},
                    {"scatter_dims_to_operand_dims", scatterDimsToOperandDims},
                    {"index_vector_dim", indexVectorDim}};
  if (parser.parseLess() || parseFields(parser, name, fields))
    return {};
  return get(parser.getContext(), updateWindowDims, insertedWindowDims, inputBatchingDims,
             scatterIndicesBatchingDims, scatterDimsToOperandDims, indexVectorDim);
}

void ScatterDimensionNumbersAttr::print(AsmPrinter &printer) const {
  printer << '<';
  FieldPrinter(printer)
      .addUnlessEmpty("update_window_dims", getUpdateWindowDims())
      .addUnlessEmpty("inserted_window_dims", getInsertedWindowDims())
      .addUnlessEmpty("input_batching_dims", getInputBatchingDims())
      .addUnlessEmpty("scatter_indices_batching_dims", getScatterIndicesBatchingDims())
      .addUnlessEmpty("scatter_dims_to_operand_dims", getScatterDimsToOperandDims())
      .addUnlessZero("index_vector_dim", getIndexVectorDim());
  printer << '>';
}

Attribute DotDimensionNumbersAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> lhsBatching, rhsBatching, lhsContracting, rhsContracting;
  Field fields[] = {{"lhs_batching_dimensions", lhsBatching},
                    {"rhs_batching_dimensions", rhsBatching},
                    {"lhs_contracting_dimensions", lhsContracting},
                    {"rhs_contracting_dimensions", rhsContracting}};
  if (parser.parseLess() || parseFields(parser, name, fields))
    return {};
  return get(parser.getContext(), lhsBatching, rhsBatching, lhsContracting, rhsContracting);
}

void DotDimensionNumbersAttr::print(AsmPrinter &printer) const {
  printer << '<';
  FieldPrinter(printer)
      .addUnlessEmpty("lhs_batching_dimensions", getLhsBatchingDimensions())
      .addUnlessEmpty("rhs_batching_dimensions", getRhsBatchingDimensions())
      .addUnlessEmpty("lhs_contracting_dimensions", getLhsContractingDimensions())
      .addUnlessEmpty("rhs_contracting_dimensions", getRhsContractingDimensions());
  printer << '>';
}

//===----------------------------------------------------------------------===//
// Convolution labels
//===----------------------------------------------------------------------===//

namespace {
/// The roles of the dimensions of one of the three tensors.
struct ConvTensor {
  /// Labels of the two dimensions that are not spatial.
  std::array<StringRef, 2> labels;
  std::array<int64_t, 2> nonSpatial = {0, 0};
  SmallVector<int64_t> spatial = {};

  int64_t rank() const { return spatial.size() + 2; }

  /// Whether each dimension has exactly one role.
  bool isPermutation() const {
    SmallVector<bool> taken(rank(), false);
    auto take = [&](int64_t dim) {
      return dim >= 0 && dim < rank() && !std::exchange(taken[dim], true);
    };
    return llvm::all_of(nonSpatial, take) && llvm::all_of(spatial, take);
  }
};

struct ConvTensors {
  ConvTensor input{{"b", "f"}};
  ConvTensor kernel{{"i", "o"}};
  ConvTensor output{{"b", "f"}};

  ConvTensors() = default;
  explicit ConvTensors(ConvDimensionNumbersAttr attr) {
    input.nonSpatial = {attr.getInputBatchDimension(), attr.getInputFeatureDimension()};
    input.spatial = llvm::to_vector(attr.getInputSpatialDimensions());
    kernel.nonSpatial = {attr.getKernelInputFeatureDimension(),
                         attr.getKernelOutputFeatureDimension()};
    kernel.spatial = llvm::to_vector(attr.getKernelSpatialDimensions());
    output.nonSpatial = {attr.getOutputBatchDimension(), attr.getOutputFeatureDimension()};
    output.spatial = llvm::to_vector(attr.getOutputSpatialDimensions());
  }

  ConvDimensionNumbersAttr get(MLIRContext *context) const {
    return ConvDimensionNumbersAttr::get(context, input.nonSpatial[0], input.nonSpatial[1],
                                         input.spatial, kernel.nonSpatial[0], kernel.nonSpatial[1],
                                         kernel.spatial, output.nonSpatial[0], output.nonSpatial[1],
                                         output.spatial);
  }

  bool haveLabels() const {
    return input.isPermutation() && kernel.isPermutation() && output.isPermutation();
  }
};
} // namespace

/// Parses `b, 0, f]`.
static ParseResult parseLabels(AsmParser &parser, StringRef tensorName, ConvTensor &tensor) {
  SMLoc start = parser.getCurrentLocation();
  std::array<bool, 2> seen = {false, false};
  // Spatial numbers in order of appearance, with the dimension each stands at.
  SmallVector<std::pair<int64_t, int64_t>> spatial;
  int64_t dim = 0;
  do {
    SMLoc loc = parser.getCurrentLocation();
    int64_t number;
    OptionalParseResult isNumber = parser.parseOptionalInteger(number);
    if (isNumber.has_value()) {
      if (failed(*isNumber))
        return failure();
      if (number < 0)
        return parser.emitError(loc)
               << "spatial dimension " << number << " of the " << tensorName << " is negative";
      if (llvm::is_contained(llvm::make_first_range(spatial), number))
        return parser.emitError(loc)
               << "spatial dimension " << number << " of the " << tensorName << " is given twice";
      spatial.emplace_back(number, dim++);
      continue;
    }
    StringRef label;
    if (parser.parseKeyword(&label))
      return failure();
    auto *found = llvm::find(tensor.labels, label);
    if (found == tensor.labels.end())
      return parser.emitError(loc)
             << "'" << label << "' is no label of the " << tensorName << "; those are "
             << tensor.labels[0] << ", " << tensor.labels[1] << " and numbers";
    size_t index = found - tensor.labels.begin();
    if (std::exchange(seen[index], true))
      return parser.emitError(loc)
             << "label '" << label << "' of the " << tensorName << " is given twice";
    tensor.nonSpatial[index] = dim++;
  } while (succeeded(parser.parseOptionalComma()));
  if (parser.parseRSquare())
    return failure();

  for (auto [label, isSeen] : llvm::zip_equal(tensor.labels, seen))
    if (!isSeen)
      return parser.emitError(start)
             << "label '" << label << "' of the " << tensorName << " is missing";
  tensor.spatial.assign(spatial.size(), 0);
  for (auto [number, dim] : spatial) {
    if (number >= static_cast<int64_t>(spatial.size()))
      return parser.emitError(start)
             << "the " << tensorName << " has " << spatial.size()
             << " spatial dimensions, so they are numbered below that, but one is " << number;
    tensor.spatial[number] = dim;
  }
  return success();
}

/// Parses what follows the first `[`.
static ParseResult parseConvLabels(AsmParser &parser, ConvDimensionNumbersAttr &dimensions) {
  ConvTensors tensors;
  if (parseLabels(parser, "input", tensors.input) || parser.parseKeyword("x") ||
      parser.parseLSquare() || parseLabels(parser, "kernel", tensors.kernel) ||
      parser.parseArrow() || parser.parseLSquare() || parseLabels(parser, "output", tensors.output))
    return failure();
  dimensions = tensors.get(parser.getContext());
  return success();
}

static void printLabels(AsmPrinter &printer, const ConvTensor &tensor) {
  SmallVector<std::string> labels(tensor.rank());
  for (auto [label, dim] : llvm::zip_equal(tensor.labels, tensor.nonSpatial))
    labels[dim] = label.str();
  for (auto [number, dim] : llvm::enumerate(tensor.spatial))
    labels[dim] = llvm::utostr(number);
  printer << '[' << llvm::join(labels, ", ") << ']';
}

static void printConvLabels(AsmPrinter &printer, const ConvTensors &tensors) {
  printLabels(printer, tensors.input);
  printer << 'x';
  printLabels(printer, tensors.kernel);
  printer << "->";
  printLabels(printer, tensors.output);
}

ParseResult slimhlo::stablehlo::parseConvolutionDimensions(AsmParser &parser,
                                                           ConvDimensionNumbersAttr &dimensions) {
  if (succeeded(parser.parseOptionalLSquare()))
    return parseConvLabels(parser, dimensions);
  return parser.parseAttribute(dimensions);
}

void slimhlo::stablehlo::printConvolutionDimensions(AsmPrinter &printer,
                                                    ConvDimensionNumbersAttr dimensions) {
  ConvTensors tensors(dimensions);
  if (tensors.haveLabels())
    printConvLabels(printer, tensors);
  else
    printer << dimensions;
}

Attribute ConvDimensionNumbersAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  if (succeeded(parser.parseOptionalKeyword("raw"))) {
    ConvTensors tensors;
    auto &[input, kernel, output] = tensors;
    Field fields[] = {{"input_batch_dimension", input.nonSpatial[0]},
                      {"input_feature_dimension", input.nonSpatial[1]},
                      {"input_spatial_dimensions", input.spatial},
                      {"kernel_input_feature_dimension", kernel.nonSpatial[0]},
                      {"kernel_output_feature_dimension", kernel.nonSpatial[1]},
                      {"kernel_spatial_dimensions", kernel.spatial},
                      {"output_batch_dimension", output.nonSpatial[0]},
                      {"output_feature_dimension", output.nonSpatial[1]},
                      {"output_spatial_dimensions", output.spatial}};
    if (parseFields(parser, name, fields))
      return {};
    return tensors.get(parser.getContext());
  }
  ConvDimensionNumbersAttr dimensions;
  if (parser.parseLSquare() || parseConvLabels(parser, dimensions) || parser.parseGreater())
    return {};
  return dimensions;
}

void ConvDimensionNumbersAttr::print(AsmPrinter &printer) const {
  ConvTensors tensors(*this);
  printer << '<';
  if (tensors.haveLabels()) {
    printConvLabels(printer, tensors);
  } else {
    printer << "raw ";
    FieldPrinter(printer)
        .add("input_batch_dimension", getInputBatchDimension())
        .add("input_feature_dimension", getInputFeatureDimension())
        .add("input_spatial_dimensions", getInputSpatialDimensions())
        .add("kernel_input_feature_dimension", getKernelInputFeatureDimension())
        .add("kernel_output_feature_dimension", getKernelOutputFeatureDimension())
        .add("kernel_spatial_dimensions", getKernelSpatialDimensions())
        .add("output_batch_dimension", getOutputBatchDimension())
        .add("output_feature_dimension", getOutputFeatureDimension())
        .add("output_spatial_dimensions", getOutputSpatialDimensions());
  }
  printer << '>';
}

//===----------------------------------------------------------------------===//
// Bounds and accuracy
//===----------------------------------------------------------------------===//

static ParseResult parseBound(AsmParser &parser, int64_t &bound) {
  if (succeeded(parser.parseOptionalQuestion())) {
    bound = ShapedType::kDynamic;
    return success();
  }
  return parser.parseInteger(bound);
}

Attribute slimhlo::stablehlo::parseTypeExtensions(AsmParser &parser) {
  SmallVector<int64_t> bounds;
  auto parseElement = [&] { return parseBound(parser, bounds.emplace_back()); };
  if (parser.parseLess() || parser.parseKeyword("bounds") || parser.parseEqual() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseElement) ||
      parser.parseGreater())
    return {};
  return TypeExtensionsAttr::get(parser.getContext(), bounds);
}

Attribute TypeExtensionsAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> bounds;
  auto parseElement = [&] { return parseBound(parser, bounds.emplace_back()); };
  // Without `<...>` at all there are no bounds, which is how a scalar's may be written.
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::OptionalLessGreater, parseElement))
    return {};
  return get(parser.getContext(), bounds);
}

void TypeExtensionsAttr::print(AsmPrinter &printer) const {
  printer << '<';
  llvm::interleaveComma(getBounds(), printer.getStream(), [&](int64_t bound) {
    if (ShapedType::isDynamic(bound))
      printer << '?';
    else
      printer << bound;
  });
  printer << '>';
}

Attribute ResultAccuracyAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  APFloat atol = APFloat::getZero(APFloat::IEEEdouble());
  APFloat rtol = atol;
  int64_t ulps = 0;
  ResultAccuracyModeAttr mode;
  auto parseTolerance = [&](StringRef key, APFloat &value) -> ParseResult {
    if (failed(parser.parseOptionalKeyword(key)))
      return success();
    return failure(parser.parseEqual() || parser.parseFloat(APFloat::IEEEdouble(), value) ||
                   parser.parseComma());
  };
  if (parser.parseLess() || parseTolerance("atol", atol) || parseTolerance("rtol", rtol))
    return {};
  if (succeeded(parser.parseOptionalKeyword("ulps")))
    if (parser.parseEqual() || parser.parseInteger(ulps) || parser.parseComma())
      return {};
  if (parser.parseKeyword("mode") || parser.parseEqual() || parser.parseAttribute(mode) ||
      parser.parseGreater())
    return {};
  return parser.getChecked<ResultAccuracyAttr>(loc, parser.getContext(), atol, rtol, ulps, mode);
}

void ResultAccuracyAttr::print(AsmPrinter &printer) const {
  printer << '<';
  if (!getAtol().isZero())
    printer << "atol = " << getAtol() << ", ";
  if (!getRtol().isZero())
    printer << "rtol = " << getRtol() << ", ";
  if (getUlps() != 0)
    printer << "ulps = " << getUlps() << ", ";
  printer << "mode = " << getMode() << '>';
}
