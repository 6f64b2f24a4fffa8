// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entry points by which a *-opt of MLIR 22 loads the dialects and passes.

#include "slimhlo-c/Slimhlo.h"

#include "mlir/CAPI/IR.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;

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
}

extern "C" DialectPluginLibraryInfo mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "slimhlo", slimhloVersion(), registerDialects};
}

extern "C" PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "slimhlo", slimhloVersion(), slimhloRegisterPasses};
}
