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
#include "llvm/Support/Errno.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/WithColor.h"

#include <csignal>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace mlir;

/// Of the crate slimhlo-forms: the dialect of portable artifacts, and what bytecode of others is.
extern "C" void slimhloRegisterForms(MlirDialectRegistry registry);

struct Bytes {
  const char *data;
  size_t size;
};
using WriteBytes = void (*)(void *user, const char *bytes, size_t size);
/// What Rust does: tools/slimhlo-opt/src/callbacks.rs.
struct Callbacks {
  size_t stackOfThreads;
  void (*registerPasses)();
  void *opened;
  int (*open)(void *opened, const char *path);
  bool (*read)(const char *path, Bytes *bytes);
  bool (*isVhlo)(const Bytes *bytes);
  bool (*convert)(MlirContext context, const char *path, Bytes *bytes);
  bool (*emit)(MlirContext context, int descriptor, const char *version, bool text,
               WriteBytes write, void *user);
  void (*print)(void *printer, const char *text, size_t size);
  void *(*begin)(WriteBytes write, void *user);
  void (*end)(void *printer);
};

static void writeTo(void *to, const char *bytes, size_t size) {
  static_cast<llvm::raw_ostream *>(to)->write(bytes, size);
}

/// Hands all that is printed to Rust, which writes it to another stream in the form of jaxlib.
class Printer : public llvm::raw_ostream {
public:
  Printer(const Callbacks &callbacks, llvm::raw_ostream &to)
      : callbacks(callbacks), printer(callbacks.begin(writeTo, &to)) {}
  ~Printer() override {
    flush();
    callbacks.end(printer);
  }

private:
  void write_impl(const char *text, size_t size) override {
    callbacks.print(printer, text, size);
    written += size;
  }
  uint64_t current_pos() const override { return written; }

  const Callbacks &callbacks;
  void *printer;
  uint64_t written = 0;
};

/// How large constants of booleans are printed.
enum class Booleans { bytes, bits };
static llvm::cl::opt<Booleans> booleans(
    "boolean-constants", llvm::cl::desc("How large constants of booleans are printed"),
    llvm::cl::values(clEnumValN(Booleans::bytes, "bytes",
                                "a byte per element, as jaxlib 0.10.2 reads and writes them"),
                     clEnumValN(Booleans::bits, "bits",
                                "a bit per element, as MLIR 22 reads and writes them")),
    llvm::cl::init(Booleans::bytes));

static llvm::cl::opt<std::string> artifactVersion(
    "emit-portable-artifact", llvm::cl::ValueOptional, llvm::cl::value_desc("version"),
    llvm::cl::desc("Write a StableHLO portable artifact, of the newest version or of that given"));
static llvm::cl::opt<std::string>
    vhloVersion("emit-vhlo", llvm::cl::ValueOptional, llvm::cl::value_desc("version"),
                llvm::cl::desc("Print what a portable artifact would hold, as text"));

/// A context for what is read and written outside of MLIR's driver.
static std::unique_ptr<MLIRContext> makeContext(DialectRegistry &registry,
                                                const MlirOptMainConfig &config) {
  auto context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->allowUnregisteredDialects(config.shouldAllowUnregisteredDialects());
  return context;
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

/// Runs, and writes VHLO of what comes of it.
static LogicalResult runToVhlo(std::unique_ptr<llvm::MemoryBuffer> buffer, llvm::raw_ostream &to,
                               DialectRegistry &registry, MlirOptMainConfig config,
                               const Callbacks &callbacks) {
  if (!config.inputSplitMarker().empty()) {
    llvm::errs() << "error: a portable artifact is one module; the input is not to be split\n";
    return failure();
  }
  // Pages that are mapped afterwards: a string would grow by copies of what may be gigabytes.
  int descriptor = memfd_create("slimhlo-opt", MFD_CLOEXEC);
  if (descriptor < 0) {
    llvm::errs() << "error: no memory for what is written: " << llvm::sys::StrError() << "\n";
    return failure();
  }
  {
    llvm::raw_fd_ostream stream(descriptor, /*shouldClose=*/false);
    config.emitBytecode(true);
    LogicalResult ran = MlirOptMain(stream, std::move(buffer), registry, config);
    if (failed(flushed(stream, "what is written")) || failed(ran)) {
      close(descriptor);
      return failure();
    }
  }
  bool text = vhloVersion.getNumOccurrences() > 0;
  const std::string &version = text ? vhloVersion : artifactVersion;
  return success(callbacks.emit(wrap(makeContext(registry, config).get()), descriptor,
                                version.c_str(), text, writeTo, &to));
}

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

/// Reads `input`, runs, and writes to `to`.
static LogicalResult run(StringRef input, llvm::raw_ostream &to, DialectRegistry &registry,
                         const MlirOptMainConfig &config, const Callbacks &callbacks) {
  Bytes bytes;
  if (!callbacks.read(input.str().c_str(), &bytes))
    return failure();
  if (callbacks.isVhlo(&bytes)) {
    std::unique_ptr<MLIRContext> context = makeContext(registry, config);
    if (!callbacks.convert(wrap(context.get()), input.str().c_str(), &bytes))
      return failure();
  }
  // Locations and diagnostics name standard input as MLIR's own reader does.
  auto buffer = llvm::MemoryBuffer::getMemBuffer(StringRef(bytes.data, bytes.size),
                                                 input == "-" ? "<stdin>" : input);
  if (artifactVersion.getNumOccurrences() > 0 || vhloVersion.getNumOccurrences() > 0)
    return runToVhlo(std::move(buffer), to, registry, config, callbacks);
  if (config.shouldEmitBytecode() || booleans == Booleans::bits)
    return MlirOptMain(to, std::move(buffer), registry, config);
  Printer printer(callbacks, to);
  return MlirOptMain(printer, std::move(buffer), registry, config);
}

/// Runs the driver with MLIR's own dialects and passes and slimhlo's.
extern "C" int slimhloOptMain(int argc, char **argv, const Callbacks *callbacks) {
  // A pipe that is closed ends the program as it ends any other, by the system's own means. LLVM's
  // would run destructors while other threads work.
  llvm::InitLLVM init(argc, argv, /*InstallPipeSignalExitHandler=*/false);
  signal(SIGPIPE, SIG_DFL);
  setStackOfThreads(callbacks->stackOfThreads);
  slimhloPrintConstantsInPieces();
  llvm::cl::AddExtraVersionPrinter(
      [](llvm::raw_ostream &os) { os << "slimhlo version " SLIMHLO_VERSION "\n"; });

  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registerAllGPUToLLVMIRTranslations(registry);
  registerAllPasses();
  slimhloRegisterDialects(wrap(&registry));
  slimhloRegisterForms(wrap(&registry));
  callbacks->registerPasses();

  auto [input, output] = registerAndParseCLIOptions(
      argc, argv, "slimhlo: StableHLO programs that fit in memory\n", registry);
  MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();
  // These write to standard output, and no file.
  if (config.shouldShowDialects() || config.shouldListPasses()) {
    LogicalResult done = MlirOptMain(argc, argv, input, "-", registry);
    return asMainReturnCode(
        success(succeeded(flushed(llvm::outs(), "to standard output")) && succeeded(done)));
  }

  int descriptor = callbacks->open(callbacks->opened, output.c_str());
  if (descriptor < 0)
    return EXIT_FAILURE;
  // MLIR would open the file itself, and have signals remove it even where they do not end the
  // program.
  llvm::raw_fd_ostream stream(descriptor, /*shouldClose=*/false);
  LogicalResult done = run(input, stream, registry, config, *callbacks);
  std::string name = output == "-" ? "to standard output" : output;
  bool whole = succeeded(flushed(stream, name));
  // Some passes print there.
  whole &= succeeded(flushed(llvm::outs(), "to standard output"));
  return succeeded(done) && whole ? EXIT_SUCCESS : EXIT_FAILURE;
}
