// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "slimhlo/vhlo/Vhlo.h"

#include "slimhlo-c/Forms.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/IR/Builders.h"

#define GET_OP_CLASSES
#include "slimhlo/vhlo/VhloOps.h.inc"

using namespace mlir;
using namespace slimhlo::vhlo;

#define GET_OP_CLASSES
#include "slimhlo/vhlo/VhloOps.cpp.inc"

void VhloDialect::registerOps() {
  addOperations<
#define GET_OP_LIST
#include "slimhlo/vhlo/VhloOps.cpp.inc"
      >();
}

/// `@name(%a: type, ...) -> (type, ...) { body } attributes`.
ParseResult func_v1::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<Type> results;
  Region *body = result.addRegion();
  if (parser.parseSymbolName(name) ||
      parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren, /*allowType=*/true) ||
      parser.parseArrowTypeList(results) || parser.parseRegion(*body, arguments) ||
      parser.parseOptionalAttrDict(result.attributes))
    return failure();
  SmallVector<MlirType> inputs, outputs;
  for (const OpAsmParser::Argument &argument : arguments)
    inputs.push_back(wrap(argument.type));
  for (Type type : results)
    outputs.push_back(wrap(type));
  MLIRContext *context = parser.getContext();
  result.addAttribute("sym_name", unwrap(slimhloVhloString(wrap(context), wrap(name.getValue()))));
  result.addAttribute("function_type",
                      unwrap(slimhloVhloFunction(wrap(context), inputs.size(), inputs.data(),
                                                 outputs.size(), outputs.data())));
  return success();
}

void func_v1::print(OpAsmPrinter &printer) {
  Operation *op = getOperation();
  MlirStringRef name = wrap(StringRef());
  const MlirType *results = nullptr;
  intptr_t count = slimhloVhloFunctionResults(wrap(op->getAttr("function_type")), &results);
  // Whatever else these hold, MLIR's own form says.
  if (!slimhloVhloIsString(wrap(op->getAttr("sym_name")), &name) || count < 0 ||
      op->getNumRegions() != 1 || op->getRegion(0).empty()) {
    printer.printGenericOp(op, /*printOpName=*/false);
    return;
  }
  printer << ' ';
  printer.printSymbolName(unwrap(name));
  printer << '(';
  Region &body = op->getRegion(0);
  llvm::interleaveComma(body.getArguments(), printer,
                        [&](BlockArgument argument) { printer.printRegionArgument(argument); });
  printer << ") -> (";
  llvm::interleaveComma(ArrayRef<MlirType>(results, count), printer,
                        [&](MlirType type) { printer.printType(unwrap(type)); });
  printer << ") ";
  printer.printRegion(body, /*printEntryBlockArgs=*/false);
  printer.printOptionalAttrDict(op->getAttrs(), {"sym_name", "function_type"});
}
