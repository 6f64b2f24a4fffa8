// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entry points by which a *-opt of MLIR 22 loads the dialects and passes.

#include "slimhlo-c/Slimhlo.h"

#include "mlir/CAPI/IR.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

using namespace mlir;

static void registerDialects(DialectRegistry *registry) { slimhloRegisterDialects(wrap(registry)); }

extern "C" DialectPluginLibraryInfo mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "slimhlo", slimhloVersion(), registerDialects};
}

extern "C" PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "slimhlo", slimhloVersion(), slimhloRegisterPasses};
}
