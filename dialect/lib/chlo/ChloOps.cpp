// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "slimhlo/chlo/Chlo.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace slimhlo::chlo;

#define GET_OP_CLASSES
#include "slimhlo/chlo/ChloOps.cpp.inc"

void ChloDialect::registerChloOps() {
  addOperations<
#define GET_OP_LIST
#include "slimhlo/chlo/ChloOps.cpp.inc"
      >();
}

// ConstantLike promises that this always succeeds, so it does not depend on the Rust half.
OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

void ScanOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  if (region.empty())
    return;
  unsigned numInputs = getInputs().size();
  for (auto [index, argument] : llvm::enumerate(region.getArguments()))
    setName(argument, index < numInputs ? "input" : "carry");
}

// chlo.scan(%a, %b) inits (%c) dimension=0 attributes {...} {...} : (types) -> (types)
ParseResult ScanOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  FunctionType type;
  auto parseOperands = [&] {
    return parser.parseOperandList(operands, OpAsmParser::Delimiter::Paren);
  };
  SMLoc operandsLoc = parser.getCurrentLocation();
  if (parseOperands() || parser.parseKeyword("inits"))
    return failure();
  size_t numInputs = operands.size();
  if (parseOperands())
    return failure();
  size_t numInits = operands.size() - numInputs;

  int64_t dimension = 0;
  if (parser.parseKeyword("dimension") || parser.parseEqual() || parser.parseInteger(dimension))
    return failure();
  result.addAttribute(getDimensionAttrName(result.name),
                      parser.getBuilder().getI64IntegerAttr(dimension));

  SMLoc attributesLoc = parser.getCurrentLocation();
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      failed(verifyInherentAttrs(result.name, result.attributes, [&] {
        return parser.emitError(attributesLoc) << "'" << result.name.getStringRef() << "' op ";
      })))
    return failure();

  if (parser.parseRegion(*result.addRegion()))
    return failure();

  SMLoc typeLoc;
  if (parser.parseColon() || parser.getCurrentLocation(&typeLoc) ||
      parser.parseType<FunctionType>(type))
    return failure();
  if (type.getNumResults() < numInits)
    return parser.emitError(typeLoc) << "has " << type.getNumResults()
                                     << " results, fewer than its " << numInits << " carries";
  if (parser.resolveOperands(operands, type.getInputs(), operandsLoc, result.operands))
    return failure();
  result.addTypes(type.getResults());

  auto &properties = result.getOrAddProperties<Properties>();
  int32_t numCarries = static_cast<int32_t>(numInits);
  properties.operandSegmentSizes = {static_cast<int32_t>(numInputs), numCarries};
  properties.resultSegmentSizes = {static_cast<int32_t>(type.getNumResults()) - numCarries,
                                   numCarries};
  return success();
}

void ScanOp::print(OpAsmPrinter &printer) {
  printer << '(' << getInputs() << ") inits (" << getInits() << ") dimension=" << getDimension()
          << ' ';
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(),
      {getDimensionAttrName(), getOperandSegmentSizeAttr(), getResultSegmentSizeAttr()});
  printer << ' ';
  printer.printRegion(getBody());
  printer << " : ";
  printer.printFunctionalType(*this);
}
