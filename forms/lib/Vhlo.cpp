// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "slimhlo/vhlo/Vhlo.h"

#include "slimhlo-c/Forms.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/CAPI/Wrap.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace slimhlo::vhlo;

#include "slimhlo/vhlo/VhloDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "slimhlo/vhlo/VhloAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "slimhlo/vhlo/VhloTypes.cpp.inc"

void VhloDialect::registerAttributes() { addAttributes<VersionedAttr>(); }
void VhloDialect::registerTypes() { addTypes<VersionedType>(); }

Attribute VhloDialect::parseAttribute(DialectAsmParser &parser, Type) const {
  return unwrap(slimhloVhloParseAttribute(wrap(getContext()), static_cast<AsmParser *>(&parser)));
}

void VhloDialect::printAttribute(Attribute attribute, DialectAsmPrinter &printer) const {
  slimhloVhloPrintAttribute(wrap(attribute), static_cast<AsmPrinter *>(&printer));
}

Type VhloDialect::parseType(DialectAsmParser &parser) const {
  return unwrap(slimhloVhloParseType(wrap(getContext()), static_cast<AsmParser *>(&parser)));
}

void VhloDialect::printType(Type type, DialectAsmPrinter &printer) const {
  slimhloVhloPrintType(wrap(type), static_cast<AsmPrinter *>(&printer));
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

// MLIR's handles and their C counterparts are one pointer each.
static_assert(sizeof(MlirAttribute) == sizeof(Attribute) && sizeof(MlirType) == sizeof(Type));

static ArrayRef<Attribute> attributesOf(const SlimhloVhloParts *parts) {
  return {reinterpret_cast<const Attribute *>(parts->attributes),
          static_cast<size_t>(parts->nAttributes)};
}

static ArrayRef<Type> typesOf(const SlimhloVhloParts *parts) {
  return {reinterpret_cast<const Type *>(parts->types), static_cast<size_t>(parts->nTypes)};
}

static ArrayRef<int64_t> numbersOf(const SlimhloVhloParts *parts) {
  return {parts->numbers, static_cast<size_t>(parts->nNumbers)};
}

MlirAttribute slimhloVhloAttributeGet(MlirContext context, const SlimhloVhloParts *parts) {
  return wrap(
      Attribute(VersionedAttr::get(unwrap(context), parts->kind, numbersOf(parts),
                                   attributesOf(parts), typesOf(parts), unwrap(parts->text))));
}

MlirType slimhloVhloTypeGet(MlirContext context, const SlimhloVhloParts *parts) {
  return wrap(Type(VersionedType::get(unwrap(context), parts->kind, numbersOf(parts),
                                      attributesOf(parts), typesOf(parts), unwrap(parts->text))));
}

template <typename Versioned> static bool getParts(Versioned versioned, SlimhloVhloParts *parts) {
  if (!versioned)
    return false;
  *parts = {versioned.getKind(),
            versioned.getNumbers().data(),
            static_cast<intptr_t>(versioned.getNumbers().size()),
            reinterpret_cast<const MlirAttribute *>(versioned.getAttributes().data()),
            static_cast<intptr_t>(versioned.getAttributes().size()),
            reinterpret_cast<const MlirType *>(versioned.getTypes().data()),
            static_cast<intptr_t>(versioned.getTypes().size()),
            wrap(versioned.getText())};
  return true;
}

bool slimhloVhloAttributeParts(MlirAttribute attribute, SlimhloVhloParts *parts) {
  return getParts(dyn_cast_if_present<VersionedAttr>(unwrap(attribute)), parts);
}

bool slimhloVhloTypeParts(MlirType type, SlimhloVhloParts *parts) {
  return getParts(dyn_cast_if_present<VersionedType>(unwrap(type)), parts);
}

void VhloDialect::initialize() {
  registerAttributes();
  registerTypes();
  registerOps();
}

//===----------------------------------------------------------------------===//
// Parsing and printing
//===----------------------------------------------------------------------===//

static AsmParser &parserOf(void *parser) { return *static_cast<AsmParser *>(parser); }
static AsmPrinter &printerOf(void *printer) { return *static_cast<AsmPrinter *>(printer); }

bool slimhloParseKeyword(void *parser, MlirStringRef *keyword) {
  StringRef text;
  if (failed(parserOf(parser).parseKeyword(&text)))
    return false;
  *keyword = wrap(text);
  return true;
}

bool slimhloParseOptional(void *raw, MlirStringRef punctuation) {
  AsmParser &parser = parserOf(raw);
  using Parse = ParseResult (AsmParser::*)();
  Parse parse = llvm::StringSwitch<Parse>(unwrap(punctuation))
                    .Case("<", &AsmParser::parseOptionalLess)
                    .Case(">", &AsmParser::parseOptionalGreater)
                    .Case("(", &AsmParser::parseOptionalLParen)
                    .Case(")", &AsmParser::parseOptionalRParen)
                    .Case("[", &AsmParser::parseOptionalLSquare)
                    .Case("]", &AsmParser::parseOptionalRSquare)
                    .Case("{", &AsmParser::parseOptionalLBrace)
                    .Case("}", &AsmParser::parseOptionalRBrace)
                    .Case(",", &AsmParser::parseOptionalComma)
                    .Case(":", &AsmParser::parseOptionalColon)
                    .Case("=", &AsmParser::parseOptionalEqual)
                    .Case("->", &AsmParser::parseOptionalArrow)
                    .Case("?", &AsmParser::parseOptionalQuestion)
                    .Default(nullptr);
  return parse && succeeded((parser.*parse)());
}

bool slimhloParseInteger(void *parser, int64_t *value) {
  return succeeded(parserOf(parser).parseInteger(*value));
}

bool slimhloParseFloat(void *parser, double *value) {
  return succeeded(parserOf(parser).parseFloat(*value));
}

MlirAttribute slimhloParseString(void *parser) {
  std::string text;
  if (failed(parserOf(parser).parseString(&text)))
    return {nullptr};
  return wrap(Attribute(StringAttr::get(parserOf(parser).getContext(), text)));
}

MlirAttribute slimhloParseAttribute(void *parser) {
  Attribute attribute;
  return failed(parserOf(parser).parseAttribute(attribute)) ? MlirAttribute{nullptr}
                                                            : wrap(attribute);
}

MlirType slimhloParseType(void *parser) {
  Type type;
  return failed(parserOf(parser).parseType(type)) ? MlirType{nullptr} : wrap(type);
}

MlirAttribute slimhloParseDimensions(void *parser) {
  SmallVector<int64_t> sizes;
  if (failed(parserOf(parser).parseDimensionList(sizes)))
    return {nullptr};
  return wrap(Attribute(DenseI64ArrayAttr::get(parserOf(parser).getContext(), sizes)));
}

void slimhloParserError(void *parser, MlirStringRef message) {
  AsmParser &own = parserOf(parser);
  own.emitError(own.getNameLoc()) << unwrap(message);
}

void slimhloPrintText(void *printer, MlirStringRef text) { printerOf(printer) << unwrap(text); }

void slimhloPrintString(void *printer, MlirStringRef text) {
  printerOf(printer) << '"';
  llvm::printEscapedString(unwrap(text), printerOf(printer).getStream());
  printerOf(printer) << '"';
}

void slimhloPrintFloat(void *printer, double value) {
  printerOf(printer).printFloat(APFloat(value));
}

void slimhloPrintAttribute(void *printer, MlirAttribute attribute) {
  printerOf(printer) << unwrap(attribute);
}

void slimhloPrintType(void *printer, MlirType type) { printerOf(printer) << unwrap(type); }
