// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The assembly of stablehlo.constant, whose text may be gigabytes.

#include "slimhlo-c/Support.h"
#include "slimhlo/stablehlo/OpAssembly.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringExtras.h"

#include <atomic>
#include <cstring>

using namespace mlir;
using namespace slimhlo::stablehlo;

/// Whether `dense<"0x...">` of booleans comes next in the text, at this place.
static bool isBooleanLiteral(const char *text) {
  StringRef head(text, strnlen(text, 64));
  if (!head.consume_front("dense") || !(head = head.ltrim()).consume_front("<") ||
      !(head = head.ltrim()).starts_with("\"0x"))
    return false;
  const char *quote = std::strchr(head.data() + 1, '"');
  if (!quote)
    return false;
  StringRef type(quote + 1, strnlen(quote + 1, 256));
  for (StringRef next : {">", ":", "tensor", "<"})
    if (!(type = type.ltrim()).consume_front(next))
      return false;
  type = type.drop_while([](char c) { return llvm::isDigit(c) || c == 'x' || llvm::isSpace(c); });
  return type.consume_front("i1") && type.ltrim().starts_with(">");
}

/// Parses `dense<"0x...">` of booleans with a byte per element, as jaxlib 0.10.2 prints large ones,
/// or a bit, as MLIR 22 does, whose own parser takes no bytes. slimhlo's tools have made bits of
/// them by then (see forms/src/bools.rs), programs that load the plugin have not.
static ParseResult parseBooleans(OpAsmParser &parser, ElementsAttr &value) {
  std::string digits, bytes;
  RankedTensorType type;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword("dense") || parser.parseLess() || parser.parseString(&digits) ||
      parser.parseGreater() || parser.parseColonType(type))
    return failure();
  int64_t count = type.hasStaticShape() ? type.getNumElements() : 0;
  if (!llvm::tryGetFromHex(StringRef(digits).drop_front(2), bytes))
    return parser.emitError(loc) << "expected hexadecimal digits";
  SmallVector<bool> all;
  if (static_cast<int64_t>(bytes.size()) == count)
    all.assign(bytes.begin(), bytes.end());
  else if (bytes.size() == 1 && (count > 8 || bytes[0] == 0 || bytes[0] == '\xff'))
    all.assign(1, bytes[0] != 0);
  else if (bytes.size() == llvm::divideCeil(count, 8))
    for (int64_t element = 0; element < count; ++element)
      all.push_back(bytes[element / 8] >> element % 8 & 1);
  else
    return parser.emitError(loc) << "elements hex data size is invalid for provided type: " << type;
  value = DenseElementsAttr::get(type, all);
  return success();
}

ParseResult ConstantOp::parse(OpAsmParser &parser, OperationState &result) {
  // The long form, for a value whose type is not the result's.
  if (succeeded(parser.parseOptionalLParen())) {
    Type type;
    if (parser.parseRParen())
      return failure();
    if (succeeded(parser.parseOptionalLess())) {
      Attribute properties;
      SMLoc loc = parser.getCurrentLocation();
      if (parser.parseAttribute(properties) || parser.parseGreater())
        return failure();
      auto emitError = [&] { return parser.emitError(loc); };
      if (failed(setPropertiesFromAttr(result.getOrAddProperties<Properties>(), properties,
                                       emitError)))
        return failure();
    }
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseOptionalAttrDict(result.attributes) || parser.parseColonType(type))
      return failure();
    auto function = dyn_cast<FunctionType>(type);
    if (!function || function.getNumInputs() != 0 || function.getNumResults() != 1)
      return parser.emitError(loc) << "expected a function type from nothing to one result";
    result.addTypes(function.getResult(0));
    return success();
  }

  ElementsAttr value;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOptionalAttrDict(result.attributes))
    return failure();
  if (result.attributes.get(getValueAttrName(result.name)))
    return parser.emitError(loc) << "attribute 'value' occurs more than once";
  if (isBooleanLiteral(parser.getCurrentLocation().getPointer()) ? parseBooleans(parser, value)
                                                                 : parser.parseAttribute(value))
    return failure();
  result.getOrAddProperties<Properties>().value = value;
  result.addTypes(value.getType());
  return success();
}

static std::atomic<bool> inPieces = false;

void slimhloPrintConstantsInPieces() { inPieces = true; }

/// Prints a constant of very many elements as MLIR would, but without two copies of its digits in
/// memory, each of which is twice the constant. Not so booleans, whose digits are changed on their
/// way out; the blank says that these are none (see forms/src/bools.rs). False if that is not how
/// it is to be printed.
static bool printInPieces(OpAsmPrinter &printer, ElementsAttr value) {
  constexpr size_t many = 16 << 20, piece = 1 << 20;
  auto dense = dyn_cast<DenseIntOrFPElementsAttr>(value);
  if (!inPieces || !dense || dense.isSplat() || dense.getRawData().size() < many ||
      dense.getElementType().isInteger(1))
    return false;
  // As the command line asks for; those who print in pieces ask for nothing else.
  OpPrintingFlags flags;
  if (flags.shouldElideElementsAttr(dense) || !flags.shouldPrintElementsAttrWithHex(dense))
    return false;
  printer << "dense< \"0x";
  ArrayRef<char> bytes = dense.getRawData();
  for (; !bytes.empty(); bytes = bytes.drop_front(std::min(piece, bytes.size())))
    printer.getStream() << llvm::toHex(StringRef(bytes.data(), std::min(piece, bytes.size())));
  printer << "\"> : " << dense.getType();
  return true;
}

void ConstantOp::print(OpAsmPrinter &printer) {
  StringRef valueName = getValueAttrName();
  if (getValue().getType() == getType()) {
    printer.printOptionalAttrDict((*this)->getAttrs(), {valueName});
    printer << ' ';
    if (!printInPieces(printer, getValue()))
      printer << getValue();
    return;
  }
  printer << "() <{" << valueName << " = " << getValue() << "}>";
  printer.printOptionalAttrDict((*this)->getAttrs(), {valueName});
  printer << " : ";
  printer.printFunctionalType(TypeRange(), getOperation()->getResultTypes());
}

void ConstantOp::getAsmResultNames(function_ref<void(Value, StringRef)> setName) {
  auto tensor = dyn_cast<ShapedType>(getOutput().getType());
  bool isInteger = tensor && isa<IntegerType>(tensor.getElementType());
  setName(getOutput(), isInteger ? "c" : "cst");
}
