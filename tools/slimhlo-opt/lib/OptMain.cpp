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
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/ToolOutputFile.h"
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

/// Of the crate slimhlo-forms: the dialect of portable artifacts, and what bytecode of others is.
extern "C" void slimhloRegisterForms(MlirDialectRegistry registry);

/// What Rust does: tools/slimhlo-opt/src/input.rs.
struct Bytes {
  const char *data;
  size_t size;
};
using WriteBytes = void (*)(void *user, const char *bytes, size_t size);
struct Callbacks {
  void (*registerPasses)();
  bool (*read)(const char *path, Bytes *bytes);
  bool (*isVhlo)(const Bytes *bytes);
  bool (*convert)(MlirContext context, const char *path, Bytes *bytes);
  bool (*emit)(MlirContext context, const Bytes *bytes, const char *version, bool text,
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

/// Runs, and writes VHLO of what comes of it.
static LogicalResult runToVhlo(std::unique_ptr<llvm::MemoryBuffer> buffer, llvm::raw_ostream &to,
                               DialectRegistry &registry, MlirOptMainConfig config,
                               const Callbacks &callbacks) {
  if (!config.inputSplitMarker().empty()) {
    llvm::errs() << "error: a portable artifact is one module; the input is not to be split\n";
    return failure();
  }
  std::string bytecode;
  llvm::raw_string_ostream stream(bytecode);
  config.emitBytecode(true);
  if (failed(MlirOptMain(stream, std::move(buffer), registry, config)))
    return failure();
  Bytes bytes{bytecode.data(), bytecode.size()};
  bool text = vhloVersion.getNumOccurrences() > 0;
  const std::string &version = text ? vhloVersion : artifactVersion;
  return success(callbacks.emit(wrap(makeContext(registry, config).get()), &bytes, version.c_str(),
                                text, writeTo, &to));
}

/// Reads `input`, runs, and writes to the file `output`.
static LogicalResult run(StringRef input, StringRef output, DialectRegistry &registry,
                         const MlirOptMainConfig &config, const Callbacks &callbacks) {
  if (input == "-" && llvm::sys::Process::StandardInIsUserInput())
    llvm::errs() << "(processing input from stdin now, hit ctrl-c/ctrl-d to interrupt)\n";
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
  std::string error;
  std::unique_ptr<llvm::ToolOutputFile> file = openOutputFile(output, &error);
  if (!file) {
    llvm::errs() << error << "\n";
    return failure();
  }
  LogicalResult result = failure();
  if (artifactVersion.getNumOccurrences() > 0 || vhloVersion.getNumOccurrences() > 0) {
    result = runToVhlo(std::move(buffer), file->os(), registry, config, callbacks);
  } else if (config.shouldEmitBytecode() || booleans == Booleans::bits) {
    result = MlirOptMain(file->os(), std::move(buffer), registry, config);
  } else {
    Printer printer(callbacks, file->os());
    result = MlirOptMain(printer, std::move(buffer), registry, config);
  }
  if (succeeded(result))
    file->keep();
  return result;
}

/// Runs the driver with MLIR's own dialects and passes and slimhlo's.
extern "C" int slimhloOptMain(int argc, char **argv, const Callbacks *callbacks) {
  llvm::InitLLVM init(argc, argv);
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
  // These read and write no file.
  if (config.shouldShowDialects() || config.shouldListPasses())
    return asMainReturnCode(MlirOptMain(argc, argv, input, output, registry));
  // Written under another name first: what was there before stays until all is well, and may be the
  // input.
  std::optional<Staged> staged = stage(output);
  if (failed(run(input, staged ? staged->name : output, registry, config, *callbacks)))
    return EXIT_FAILURE;
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
