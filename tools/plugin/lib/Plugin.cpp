// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entry points by which a *-opt of MLIR 22 loads the dialects and passes.

#include "slimhlo-c/Slimhlo.h"

#include "slimhlo/AllDialects.h"

#include "mlir/CAPI/IR.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;

/// MLIR's parser, which no plugin comes before, takes no large constants of booleans as jaxlib
/// prints them. Where it complains of one, this says what to do.
static LogicalResult explain(Diagnostic &diagnostic) {
  std::string text = diagnostic.str();
  if (StringRef(text).starts_with("elements hex data size is invalid") &&
      StringRef(text).contains("i1>"))
    diagnostic.attachNote()
        << "jaxlib prints large constants of booleans with a byte per element, which MLIR 22 reads "
           "with a bit; `slimhlo-opt --boolean-constants=bits INPUT -o OUTPUT` makes bits of bytes";
  // Not ours to print.
  return failure();
}

/// MLIR ends the process where a second dialect of a name is registered. A program that has one
/// already, slimhlo-opt for one, keeps what it has.
static void registerDialects(DialectRegistry *registry) {
  for (StringRef name : {"stablehlo", "chlo", "sdy"}) {
    if (!registry->getDialectAllocator(name))
      continue;
    llvm::WithColor::warning(llvm::errs(), "slimhlo")
        << "this program has a dialect named '" << name
        << "'; the dialects of the plugin are not used\n";
    return;
  }
  slimhloRegisterDialects(wrap(registry));
  registry->addExtension(+[](MLIRContext *context, slimhlo::stablehlo::StablehloDialect *) {
    context->getDiagEngine().registerHandler(explain);
  });
}

extern "C" DialectPluginLibraryInfo mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "slimhlo", slimhloVersion(), registerDialects};
}

extern "C" PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "slimhlo", slimhloVersion(), slimhloRegisterPasses};
}
