// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "slimhlo-c/Forms.h"

#include "slimhlo/AllDialects.h"
#include "slimhlo/vhlo/Vhlo.h"

#include "mlir/Bytecode/BytecodeImplementation.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/CAPI/Utils.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;

namespace {

/// Leads to Rust, whatever the dialect.
class RustBytecodeInterface : public BytecodeDialectInterface {
public:
  explicit RustBytecodeInterface(Dialect *dialect) : BytecodeDialectInterface(dialect) {}

  Attribute readAttribute(DialectBytecodeReader &reader) const override {
    return unwrap(slimhloReadDialectAttribute(name(), wrap(getContext()), &reader));
  }
  Type readType(DialectBytecodeReader &reader) const override {
    return unwrap(slimhloReadDialectType(name(), wrap(getContext()), &reader));
  }
  LogicalResult writeAttribute(Attribute attribute, DialectBytecodeWriter &writer) const override {
    return success(slimhloWriteDialectAttribute(name(), wrap(attribute), &writer));
  }
  LogicalResult writeType(Type type, DialectBytecodeWriter &writer) const override {
    return success(slimhloWriteDialectType(name(), wrap(type), &writer));
  }

private:
  MlirStringRef name() const { return wrap(getDialect()->getNamespace()); }
};

template <typename ConcreteDialect> void addTo(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *, ConcreteDialect *dialect) {
    dialect->template addInterfaces<RustBytecodeInterface>();
  });
}

DialectBytecodeReader &readerOf(void *reader) {
  return *static_cast<DialectBytecodeReader *>(reader);
}

DialectBytecodeWriter &writerOf(void *writer) {
  return *static_cast<DialectBytecodeWriter *>(writer);
}

} // namespace

void slimhloRegisterForms(MlirDialectRegistry raw) {
  DialectRegistry &registry = *unwrap(raw);
  registry.insert<slimhlo::vhlo::VhloDialect>();
  addTo<slimhlo::vhlo::VhloDialect>(registry);
  addTo<slimhlo::stablehlo::StablehloDialect>(registry);
  addTo<slimhlo::chlo::ChloDialect>(registry);
  addTo<slimhlo::sdy::SdyDialect>(registry);
}

MlirModule slimhloParse(MlirContext context, MlirStringRef text, MlirStringRef name, bool verify) {
  ParserConfig config(unwrap(context), verify);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(unwrap(text), config, unwrap(name));
  return wrap(module.release());
}

bool slimhloReadVarInt(void *reader, uint64_t *value) {
  return succeeded(readerOf(reader).readVarInt(*value));
}

bool slimhloReadSignedVarInt(void *reader, int64_t *value) {
  return succeeded(readerOf(reader).readSignedVarInt(*value));
}

bool slimhloReadAttribute(void *reader, MlirAttribute *attribute) {
  Attribute read;
  if (failed(readerOf(reader).readAttribute(read)) || !read)
    return false;
  *attribute = wrap(read);
  return true;
}

bool slimhloReadOptionalAttribute(void *reader, MlirAttribute *attribute) {
  Attribute read;
  if (failed(readerOf(reader).readOptionalAttribute(read)))
    return false;
  *attribute = wrap(read);
  return true;
}

bool slimhloReadType(void *reader, MlirType *type) {
  Type read;
  if (failed(readerOf(reader).readType(read)) || !read)
    return false;
  *type = wrap(read);
  return true;
}

bool slimhloReadString(void *reader, MlirStringRef *text) {
  StringRef read;
  if (failed(readerOf(reader).readString(read)))
    return false;
  *text = wrap(read);
  return true;
}

bool slimhloReadBlob(void *reader, MlirStringRef *bytes) {
  ArrayRef<char> read;
  if (failed(readerOf(reader).readBlob(read)))
    return false;
  *bytes = {read.data(), read.size()};
  return true;
}

bool slimhloReadBits(void *reader, uint32_t width, uint64_t *bits) {
  FailureOr<APInt> read = readerOf(reader).readAPIntWithKnownWidth(width);
  if (failed(read) || read->getBitWidth() > 64)
    return false;
  *bits = read->getZExtValue();
  return true;
}

bool slimhloReadBool(void *reader, bool *value) {
  return succeeded(readerOf(reader).readBool(*value));
}

void slimhloReaderError(void *reader, MlirStringRef message) {
  readerOf(reader).emitError() << unwrap(message);
}

void slimhloWriteBool(void *writer, bool value) { writerOf(writer).writeOwnedBool(value); }

void slimhloWriteVarInt(void *writer, uint64_t value) { writerOf(writer).writeVarInt(value); }

void slimhloWriteSignedVarInt(void *writer, int64_t value) {
  writerOf(writer).writeSignedVarInt(value);
}

void slimhloWriteAttribute(void *writer, MlirAttribute attribute) {
  writerOf(writer).writeAttribute(unwrap(attribute));
}

void slimhloWriteOptionalAttribute(void *writer, MlirAttribute attribute) {
  writerOf(writer).writeOptionalAttribute(unwrap(attribute));
}

void slimhloWriteType(void *writer, MlirType type) { writerOf(writer).writeType(unwrap(type)); }

void slimhloWriteString(void *writer, MlirStringRef text) {
  writerOf(writer).writeOwnedString(unwrap(text));
}

void slimhloWriteBlob(void *writer, MlirStringRef bytes) {
  writerOf(writer).writeOwnedBlob(ArrayRef<char>(bytes.data, bytes.length));
}

void slimhloWriteBits(void *writer, uint32_t width, uint64_t bits) {
  writerOf(writer).writeAPIntWithKnownWidth(
      APInt(width, bits, /*isSigned=*/false, /*implicitTrunc=*/true));
}

const char *slimhloDenseGetBytes(MlirAttribute attribute, intptr_t *size) {
  auto dense = dyn_cast_if_present<DenseIntOrFPElementsAttr>(unwrap(attribute));
  if (!dense)
    return nullptr;
  *size = dense.getRawData().size();
  // None at all may have no address.
  return *size ? dense.getRawData().data() : "";
}

bool slimhloHasBooleans(MlirOperation op) {
  bool found = false;
  AttrTypeWalker walker;
  walker.addWalk([&](DenseIntElementsAttr constant) {
    found |= constant.getElementType().isInteger(1) && !constant.isSplat();
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  unwrap(op)->walk([&](Operation *inside) {
    return walker.walk<WalkOrder::PreOrder>(inside->getAttrDictionary());
  });
  return found;
}

bool slimhloWriteBytecode(MlirOperation op, MlirStringRef producer, int64_t version,
                          MlirStringCallback write, void *userData) {
  BytecodeWriterConfig config(unwrap(producer));
  config.setDesiredBytecodeVersion(version);
  mlir::detail::CallbackOstream stream(write, userData);
  return succeeded(writeBytecodeToFile(unwrap(op), stream, config));
}

bool slimhloFloatGetBits(MlirAttribute attribute, uint64_t *bits) {
  auto number = dyn_cast_if_present<FloatAttr>(unwrap(attribute));
  if (!number)
    return false;
  APInt all = number.getValue().bitcastToAPInt();
  if (all.getBitWidth() > 64)
    return false;
  *bits = all.getZExtValue();
  return true;
}

MlirAttribute slimhloFloatFromBits(MlirType type, uint64_t bits) {
  auto number = dyn_cast_if_present<FloatType>(unwrap(type));
  if (!number || number.getWidth() > 64)
    return {nullptr};
  APFloat value(number.getFloatSemantics(),
                APInt(number.getWidth(), bits, /*isSigned=*/false, /*implicitTrunc=*/true));
  return wrap(Attribute(FloatAttr::get(number, value)));
}
