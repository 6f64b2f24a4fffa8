// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "slimhlo-c/Support.h"

#include "mlir/CAPI/IR.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;

/// An output file that is written under another name and becomes `target` once it is complete.
struct Staged {
  std::string name, target;
};

/// Nothing where that cannot be, as for standard output or a device.
static std::optional<Staged> stage(StringRef output) {
  if (output == "-")
    return std::nullopt;
  SmallString<128> target(output), name;
  llvm::sys::fs::file_status status;
  if (!llvm::sys::fs::status(output, status) && llvm::sys::fs::exists(status)) {
    // Replacing a link would leave what it points to as it was.
    if (!llvm::sys::fs::is_regular_file(status) || llvm::sys::fs::real_path(output, target))
      return std::nullopt;
  }
  // An error about a missing folder should name the file that was asked for.
  StringRef folder = llvm::sys::path::parent_path(target);
  if (!folder.empty() && !llvm::sys::fs::is_directory(folder))
    return std::nullopt;
  llvm::sys::fs::createUniquePath(target + ".%%%%%%%%.tmp", name, /*MakeAbsolute=*/false);
  return Staged{name.str().str(), target.str().str()};
}

/// Runs the driver with MLIR's own dialects and passes and slimhlo's; `registerPasses` adds the
/// latter's passes.
extern "C" int slimhloOptMain(int argc, char **argv, void (*registerPasses)()) {
  llvm::InitLLVM init(argc, argv);
  llvm::cl::AddExtraVersionPrinter(
      [](llvm::raw_ostream &os) { os << "slimhlo version " SLIMHLO_VERSION "\n"; });

  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registerAllGPUToLLVMIRTranslations(registry);
  registerAllPasses();
  slimhloRegisterDialects(wrap(&registry));
  registerPasses();

  auto [input, output] = registerAndParseCLIOptions(
      argc, argv, "slimhlo: StableHLO programs that fit in memory\n", registry);
  // Written under another name first: what was there before stays until all is well, and may be the
  // input.
  std::optional<Staged> staged = stage(output);
  if (failed(MlirOptMain(argc, argv, input, staged ? staged->name : output, registry)))
    return EXIT_FAILURE;
  // Flags such as --show-dialects write no file.
  if (!staged || !llvm::sys::fs::exists(staged->name))
    return EXIT_SUCCESS;
  if (std::error_code error = llvm::sys::fs::rename(staged->name, staged->target)) {
    llvm::WithColor::error(llvm::errs(), "slimhlo-opt")
        << "cannot write " << output << ": " << error.message() << "\n";
    llvm::sys::fs::remove(staged->name);
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
