// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "slimhlo-c/Support.h"

#include "mlir/CAPI/IR.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/WithColor.h"

#include <csignal>
#include <pthread.h>

using namespace mlir;

/// Opens the output that the command line names. Returns a descriptor of it, which stays the
/// caller's, or -1 after an error.
using OpenOutput = int (*)(void *user, const char *name, size_t length);

/// Threads of MLIR's pool run passes, which recurse along operands. Only what is used of a stack is
/// ever taken.
static void setStackOfThreads(size_t bytes) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes))
    return;
  if (!pthread_attr_setstacksize(&attributes, bytes))
    pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
}

/// Says what went wrong with a stream, if anything did; otherwise its destructor would, by an
/// abort.
static LogicalResult flushed(llvm::raw_fd_ostream &stream, const llvm::Twine &name) {
  stream.flush();
  if (!stream.has_error())
    return success();
  llvm::WithColor::error(llvm::errs(), "slimhlo-opt")
      << "cannot write " << name << ": " << stream.error().message() << "\n";
  stream.clear_error();
  return failure();
}

/// Runs the driver with MLIR's own dialects and passes and slimhlo's; `registerPasses` adds the
/// latter's passes. `openOutput` is called once, before the work, or not at all.
extern "C" int slimhloOptMain(int argc, char **argv, size_t stackOfThreads,
                              void (*registerPasses)(), OpenOutput openOutput, void *user) {
  // A pipe that is closed ends the program as it ends any other, by the system's own means. LLVM's
  // would run destructors while other threads work.
  llvm::InitLLVM init(argc, argv, /*InstallPipeSignalExitHandler=*/false);
  signal(SIGPIPE, SIG_DFL);
  setStackOfThreads(stackOfThreads);
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
  MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();
  // These write to standard output, and no file.
  if (config.shouldShowDialects() || config.shouldListPasses()) {
    LogicalResult done = MlirOptMain(argc, argv, input, "-", registry);
    return asMainReturnCode(
        success(succeeded(flushed(llvm::outs(), "to standard output")) && succeeded(done)));
  }

  int descriptor = openOutput(user, output.data(), output.size());
  if (descriptor < 0)
    return EXIT_FAILURE;
  if (input == "-" && llvm::sys::Process::StandardInIsUserInput())
    llvm::errs() << "slimhlo-opt: reading a module from standard input; --help shows more\n";
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> buffer = openInputFile(input, &message);
  if (!buffer) {
    llvm::errs() << message << "\n";
    return EXIT_FAILURE;
  }
  // MLIR would open the file itself, and have signals remove it even where they do not end the
  // program.
  llvm::raw_fd_ostream stream(descriptor, /*shouldClose=*/false);
  LogicalResult done = MlirOptMain(stream, std::move(buffer), registry, config);
  std::string name = output == "-" ? "to standard output" : output;
  bool whole = succeeded(flushed(stream, name));
  // Some passes print there.
  whole &= succeeded(flushed(llvm::outs(), "to standard output"));
  return succeeded(done) && whole ? EXIT_SUCCESS : EXIT_FAILURE;
}
