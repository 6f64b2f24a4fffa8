// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Between the Rust and the C++ half of what reads and writes the dialects' own encodings. The first
// part is implemented in forms/src/hooks.rs and never unwinds, the second in forms/lib.

#ifndef SLIMHLO_C_FORMS_H
#define SLIMHLO_C_FORMS_H

#include "mlir-c/IR.h"
#include "mlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Numbers that the context owns.
typedef struct {
  const int64_t *data;
  intptr_t size;
} SlimhloNumbers;

/// What an attribute or a type of the `vhlo` dialect is made of. Which parts a kind has, and what
/// they mean, is in forms/src/vhlo/kinds.rs.
typedef struct {
  uint32_t kind;
  const int64_t *numbers;
  intptr_t nNumbers;
  const MlirAttribute *attributes;
  intptr_t nAttributes;
  const MlirType *types;
  intptr_t nTypes;
  MlirStringRef text;
} SlimhloVhloParts;

//===----------------------------------------------------------------------===//
// What C++ asks of Rust
//===----------------------------------------------------------------------===//

/// Reads an attribute or a type in the own encoding of a dialect. Null after an error.
MlirAttribute slimhloReadDialectAttribute(MlirStringRef dialect, MlirContext context, void *reader);
MlirType slimhloReadDialectType(MlirStringRef dialect, MlirContext context, void *reader);

/// Writes one; false, before anything is written, if its text is to be written.
bool slimhloWriteDialectAttribute(MlirStringRef dialect, MlirAttribute attribute, void *writer);
bool slimhloWriteDialectType(MlirStringRef dialect, MlirType type, void *writer);

/// Parses what follows `#vhlo.` or `!vhlo.`. Null after an error.
MlirAttribute slimhloVhloParseAttribute(MlirContext context, void *parser);
MlirType slimhloVhloParseType(MlirContext context, void *parser);

/// Prints it.
void slimhloVhloPrintAttribute(MlirAttribute attribute, void *printer);
void slimhloVhloPrintType(MlirType type, void *printer);

/// The name of a function and its type, as text_v1 and type_v1 of func_v1 hold them; null if the
/// attributes are others.
MlirAttribute slimhloVhloString(MlirContext context, MlirStringRef text);
MlirAttribute slimhloVhloFunction(MlirContext context, intptr_t nInputs, const MlirType *inputs,
                                  intptr_t nResults, const MlirType *results);
bool slimhloVhloIsString(MlirAttribute attribute, MlirStringRef *text);
intptr_t slimhloVhloFunctionResults(MlirAttribute attribute, const MlirType **results);

//===----------------------------------------------------------------------===//
// What Rust asks of C++
//===----------------------------------------------------------------------===//

/// Adds the `vhlo` dialect to a registry, and the encodings of stablehlo and chlo to those
/// dialects.
void slimhloRegisterForms(MlirDialectRegistry registry);

/// Parses text or bytecode of a module, or of what is to be in one, which a zero byte follows.
/// `verify` is false for VHLO: what other dialects say of its values is right only once these are
/// values of StableHLO. Null after a diagnostic.
MlirModule slimhloParse(MlirContext context, MlirStringRef text, MlirStringRef name, bool verify);

MlirAttribute slimhloVhloAttributeGet(MlirContext context, const SlimhloVhloParts *parts);
MlirType slimhloVhloTypeGet(MlirContext context, const SlimhloVhloParts *parts);
/// False if it is of another dialect. Pointers live as long as the context.
bool slimhloVhloAttributeParts(MlirAttribute attribute, SlimhloVhloParts *parts);
bool slimhloVhloTypeParts(MlirType type, SlimhloVhloParts *parts);

/// A reader of bytecode. All return false after an error.
bool slimhloReadVarInt(void *reader, uint64_t *value);
bool slimhloReadBool(void *reader, bool *value);
bool slimhloReadSignedVarInt(void *reader, int64_t *value);
bool slimhloReadAttribute(void *reader, MlirAttribute *attribute);
bool slimhloReadOptionalAttribute(void *reader, MlirAttribute *attribute);
bool slimhloReadType(void *reader, MlirType *type);
bool slimhloReadString(void *reader, MlirStringRef *text);
bool slimhloReadBlob(void *reader, MlirStringRef *bytes);
/// Bits of an integer, or of a float of some semantics, whose width is known: at most 64.
bool slimhloReadBits(void *reader, uint32_t width, uint64_t *bits);
void slimhloReaderError(void *reader, MlirStringRef message);

/// A writer of bytecode. Strings must live as long as the context; blobs are copied.
void slimhloWriteVarInt(void *writer, uint64_t value);
void slimhloWriteBool(void *writer, bool value);
void slimhloWriteSignedVarInt(void *writer, int64_t value);
void slimhloWriteAttribute(void *writer, MlirAttribute attribute);
void slimhloWriteOptionalAttribute(void *writer, MlirAttribute attribute);
void slimhloWriteType(void *writer, MlirType type);
void slimhloWriteString(void *writer, MlirStringRef text);
void slimhloWriteBlob(void *writer, MlirStringRef bytes);
void slimhloWriteBits(void *writer, uint32_t width, uint64_t bits);

/// A parser. All but slimhloParseOptional return false, or null, after an error.
bool slimhloParseKeyword(void *parser, MlirStringRef *keyword);
/// One of `< > ( ) [ ] { } , : = -> *`, if it is next.
bool slimhloParseOptional(void *parser, MlirStringRef punctuation);
bool slimhloParseInteger(void *parser, int64_t *value);
bool slimhloParseFloat(void *parser, double *value);
/// A string, as a StringAttr.
MlirAttribute slimhloParseString(void *parser);
MlirAttribute slimhloParseAttribute(void *parser);
MlirType slimhloParseType(void *parser);
/// `4x?x`, as a DenseI64ArrayAttr.
MlirAttribute slimhloParseDimensions(void *parser);
void slimhloParserError(void *parser, MlirStringRef message);

void slimhloPrintText(void *printer, MlirStringRef text);
void slimhloPrintString(void *printer, MlirStringRef text);
void slimhloPrintFloat(void *printer, double value);
void slimhloPrintAttribute(void *printer, MlirAttribute attribute);
void slimhloPrintType(void *printer, MlirType type);

/// The bytes that MLIR holds the elements of a `dense` attribute in: one element if all are the
/// same. Null if it is none of numbers.
const char *slimhloDenseGetBytes(MlirAttribute attribute, intptr_t *size);

/// Whether anything in an op holds a constant of several booleans that are not all the same.
bool slimhloHasBooleans(MlirOperation op);

/// Writes bytecode of a version of the format, with a producer. False if that is not possible.
bool slimhloWriteBytecode(MlirOperation op, MlirStringRef producer, int64_t version,
                          MlirStringCallback write, void *userData);

/// Bits of a float attribute of at most 64 bits, and the attribute of bits.
bool slimhloFloatGetBits(MlirAttribute attribute, uint64_t *bits);
MlirAttribute slimhloFloatFromBits(MlirType type, uint64_t bits);

#ifdef __cplusplus
}
#endif

#endif // SLIMHLO_C_FORMS_H
