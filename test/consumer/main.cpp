// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A C++ program that uses an installed slimhlo: builds a module of StableHLO ops through their C++
// classes, runs a pipeline of slimhlo's passes by name, and prints what comes of it.

#include "slimhlo-c/Slimhlo.h"
#include "slimhlo/AllDialects.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
namespace stablehlo = slimhlo::stablehlo;

int main(int argc, char **argv) {
  const char *pipeline = argc > 1 ? argv[1] : "func.func(slimhlo-dus-to-pad)";
  DialectRegistry registry;
  registry.insert<func::FuncDialect>();
  slimhlo::registerAllDialects(registry);
  slimhloRegisterPasses();
  MLIRContext context(registry);
  context.loadAllAvailableDialects();

  // func.func @place(%update: tensor<2xf32>) -> tensor<8xf32>: the update at 3, zeros around it.
  OpBuilder builder(&context);
  Location loc = builder.getUnknownLoc();
  auto small = RankedTensorType::get({2}, builder.getF32Type());
  auto large = RankedTensorType::get({8}, builder.getF32Type());
  auto index = RankedTensorType::get({}, builder.getI32Type());
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());
  auto func =
      func::FuncOp::create(builder, loc, "place", builder.getFunctionType({small}, {large}));
  Block *body = func.addEntryBlock();
  builder.setInsertionPointToEnd(body);
  Value zeros =
      stablehlo::ConstantOp::create(builder, loc, DenseElementsAttr::get(large, 0.0f)).getResult();
  Value start =
      stablehlo::ConstantOp::create(builder, loc, DenseElementsAttr::get(index, 3)).getResult();
  // The result type is inferred, in Rust.
  Value placed = stablehlo::DynamicUpdateSliceOp::create(builder, loc, zeros, body->getArgument(0),
                                                         ValueRange{start})
                     .getResult();
  func::ReturnOp::create(builder, loc, placed);
  if (failed(verify(*module)))
    return 1;

  PassManager manager(&context, ModuleOp::getOperationName());
  if (failed(parsePassPipeline(pipeline, manager)) || failed(manager.run(*module)))
    return 1;
  llvm::outs() << "// slimhlo " << slimhloVersion() << "\n" << *module << "\n";
  return 0;
}
