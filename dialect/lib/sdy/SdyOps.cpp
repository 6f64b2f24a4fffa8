// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "slimhlo/sdy/Sdy.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace slimhlo::sdy;

//===----------------------------------------------------------------------===//
// Custom directives
//===----------------------------------------------------------------------===//

/// `[<@mesh, [...]>, ...]`: shardings per value without the angle brackets around the list.
static ParseResult parseShardings(OpAsmParser &parser, TensorShardingPerValueAttr &shardings) {
  SmallVector<TensorShardingAttr> list;
  auto parseOne = [&] { return parser.parseCustomAttributeWithFallback(list.emplace_back()); };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne))
    return failure();
  shardings = TensorShardingPerValueAttr::get(parser.getContext(), list);
  return success();
}

static void printShardings(OpAsmPrinter &printer, Operation *,
                           TensorShardingPerValueAttr shardings) {
  printer << '[';
  llvm::interleaveComma(shardings.getShardings(), printer,
                        [&](TensorShardingAttr sharding) { sharding.print(printer); });
  printer << ']';
}

/// `(%arg0: type, ...) { ops }`: a region of one block that shows the block's arguments in front.
static ParseResult parseBody(OpAsmParser &parser, Region &body) {
  SmallVector<OpAsmParser::Argument> arguments;
  return failure(parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren,
                                          /*allowType=*/true) ||
                 parser.parseRegion(body, arguments));
}

static void printBody(OpAsmPrinter &printer, Operation *, Region &body) {
  printer << '(';
  if (!body.empty())
    llvm::interleaveComma(body.getArguments(), printer,
                          [&](BlockArgument argument) { printer.printRegionArgument(argument); });
  printer << ") ";
  printer.printRegion(body, /*printEntryBlockArgs=*/false);
}

#define GET_OP_CLASSES
#include "slimhlo/sdy/SdyOps.cpp.inc"

void SdyDialect::registerSdyOps() {
  addOperations<
#define GET_OP_LIST
#include "slimhlo/sdy/SdyOps.cpp.inc"
      >();
}
