// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generated attributes, enums and types of the `stablehlo` dialect, and the way their numbers take
// to the Rust half for verification. Syntax beyond assembly formats is in AttrAssembly.cpp.

#include "slimhlo/stablehlo/StablehloAttrs.h"

#include "slimhlo-c/Hooks.h"
#include "slimhlo/stablehlo/AttrAssembly.h"

#include "mlir/CAPI/Support.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace slimhlo::stablehlo;

#include "slimhlo/stablehlo/StablehloEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "slimhlo/stablehlo/StablehloAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "slimhlo/stablehlo/StablehloTypes.cpp.inc"

void StablehloDialect::registerStablehloAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "slimhlo/stablehlo/StablehloAttrs.cpp.inc"
      >();
}

void StablehloDialect::registerStablehloTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "slimhlo/stablehlo/StablehloTypes.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Dispatch by mnemonic
//===----------------------------------------------------------------------===//

Attribute StablehloDialect::parseAttribute(DialectAsmParser &parser, Type type) const {
  SMLoc loc = parser.getCurrentLocation();
  StringRef mnemonic;
  Attribute attribute;
  OptionalParseResult parsed = generatedAttributeParser(parser, &mnemonic, type, attribute);
  if (parsed.has_value())
    return attribute;
  if (mnemonic == "type_extensions")
    return parseTypeExtensions(parser);
  parser.emitError(loc) << "the stablehlo dialect has no attribute '" << mnemonic << "'";
  return {};
}

void StablehloDialect::printAttribute(Attribute attribute, DialectAsmPrinter &printer) const {
  [[maybe_unused]] LogicalResult printed = generatedAttributePrinter(attribute, printer);
  assert(succeeded(printed) && "every stablehlo attribute is generated");
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// Has the Rust half look at the numbers of an attribute or type that is being built.
static LogicalResult verifyParameters(function_ref<InFlightDiagnostic()> emitError, StringRef name,
                                      ArrayRef<int64_t> parameters) {
  auto sink = [](MlirStringRef message, void *userData) {
    (*static_cast<function_ref<InFlightDiagnostic()> *>(userData))() << unwrap(message);
  };
  return unwrap(
      slimhloVerifyParameters(wrap(name), parameters.size(), parameters.data(), sink, &emitError));
}

/// A list goes over as its length and its elements.
static void append(SmallVectorImpl<int64_t> &parameters, ArrayRef<int64_t> list) {
  parameters.push_back(list.size());
  llvm::append_range(parameters, list);
}

/// Numbers the types that a dot algorithm may be made of, for dialect/src/stablehlo/params.rs.
static int64_t getPrecisionTypeCode(Type type) {
  return llvm::TypeSwitch<Type, int64_t>(type)
      .Case<Float8E3M4Type, Float8E4M3Type, Float8E4M3FNType, Float8E4M3FNUZType,
            Float8E4M3B11FNUZType, Float8E5M2Type, Float8E5M2FNUZType>([](Type) { return 1; })
      .Case([](BFloat16Type) { return 2; })
      .Case([](Float16Type) { return 3; })
      .Case([](FloatTF32Type) { return 4; })
      .Case([](Float32Type) { return 5; })
      .Case([](Float64Type) { return 6; })
      .Default([](Type) { return 0; });
}

LogicalResult DotAlgorithmAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                       Type lhsPrecisionType, Type rhsPrecisionType,
                                       Type accumulationType, int64_t lhsComponentCount,
                                       int64_t rhsComponentCount, int64_t numPrimitiveOperations,
                                       bool allowImpreciseAccumulation) {
  return verifyParameters(emitError, name,
                          {getPrecisionTypeCode(lhsPrecisionType),
                           getPrecisionTypeCode(rhsPrecisionType),
                           getPrecisionTypeCode(accumulationType), lhsComponentCount,
                           rhsComponentCount, numPrimitiveOperations, allowImpreciseAccumulation});
}

LogicalResult MeshAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<MeshAxisAttr> axes, DenseIntElementsAttr) {
  return verifyParameters(emitError, name, {static_cast<int64_t>(axes.size())});
}

LogicalResult ReplicaGroupMeshAxesAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                               Attribute mesh, ArrayAttr axes) {
  // Where the mesh is known each axis goes as its place in it, -1 if there is none of its name, -2
  // if it is no axis at all.
  SmallVector<int64_t> parameters = {isa_and_present<FlatSymbolRefAttr, MeshAttr>(mesh)};
  auto known = dyn_cast_if_present<MeshAttr>(mesh);
  for (Attribute axis : known &&axes ? axes.getValue() : ArrayRef<Attribute>()) {
    auto reference = dyn_cast<AxisRefAttr>(axis);
    auto found = llvm::find_if(known.getAxes(), [&](MeshAxisAttr candidate) {
      return reference && candidate.getName() == reference.getName();
    });
    int64_t place = found == known.getAxes().end() ? -1 : found - known.getAxes().begin();
    parameters.push_back(reference ? place : -2);
  }
  return verifyParameters(emitError, name, parameters);
}

LogicalResult ReplicaGroupMeshAxesAttr::verifySymbolUses(Operation *op,
                                                         SymbolTableCollection &symbolTable) const {
  auto mesh = dyn_cast<FlatSymbolRefAttr>(getMesh());
  if (!mesh || symbolTable.lookupNearestSymbolFrom(op, mesh))
    return success();
  return op->emitOpError("has replica groups on the mesh ") << mesh << ", which does not exist";
}

LogicalResult
TypeExtensionsAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                   function_ref<InFlightDiagnostic()> emitError) const {
  SmallVector<int64_t> parameters;
  append(parameters, getBounds());
  append(parameters, shape);
  return verifyParameters(emitError, name, parameters);
}

LogicalResult ResultAccuracyAttr::verify(function_ref<InFlightDiagnostic()> emitError, APFloat atol,
                                         APFloat rtol, int64_t ulps, ResultAccuracyModeAttr mode) {
  auto bits = [](APFloat value) {
    bool losesInfo;
    value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
    return value.bitcastToAPInt().getSExtValue();
  };
  return verifyParameters(emitError, name,
                          {bits(atol), bits(rtol), ulps, static_cast<int64_t>(mode.getValue())});
}

LogicalResult FutureType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<Type> types) {
  return verifyParameters(emitError, name, llvm::map_to_vector(types, [](Type type) -> int64_t {
                            return isa<RankedTensorType>(type);
                          }));
}
