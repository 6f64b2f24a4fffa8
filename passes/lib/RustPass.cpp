// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one C++ class that carries a pass written in Rust, and its like for pipelines. What a pass is
// called, what options and statistics it has and what it does all come from the descriptors of
// slimhlo-c/PassHooks.h.

#include "slimhlo-c/PassHooks.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Rewrite.h"
#include "mlir/CAPI/Support.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

#include <memory>
#include <string>
#include <vector>

using namespace mlir;

namespace {

/// Collects what Rust sends to a MlirStringCallback.
struct Text {
  std::string value;

  static void append(MlirStringRef piece, void *userData) {
    static_cast<Text *>(userData)->value.append(piece.data, piece.length);
  }
};

/// Parses an option's value by asking Rust. The value itself stays text, in its normal spelling.
class RustOptionParser : public llvm::cl::parser<std::string> {
public:
  using parser::parser;

  void describe(const SlimhloOptions &of, intptr_t at) {
    options = &of;
    index = at;
  }

  bool parse(llvm::cl::Option &option, StringRef name, StringRef text, std::string &value) {
    Text out;
    if (!options->normalize(options->owner, index, wrap(text), Text::append, &out))
      return option.error(out.value, name);
    value = std::move(out.value);
    return false;
  }

  StringRef getValueName() const override { return unwrap(options->options[index].valueName); }

  llvm::cl::ValueExpected getValueExpectedFlagDefault() const {
    return options->options[index].valueOptional ? llvm::cl::ValueOptional
                                                 : llvm::cl::ValueRequired;
  }

private:
  const SlimhloOptions *options = nullptr;
  intptr_t index = 0;
};

/// The options of one pass or pipeline instance, made from their descriptors.
template <typename OptionT> class RustOptions {
public:
  template <typename Parent> RustOptions(Parent &parent, const SlimhloOptions &descriptors) {
    for (intptr_t i = 0; i < descriptors.nOptions; ++i) {
      const SlimhloOption &option = descriptors.options[i];
      values.push_back(std::make_unique<OptionT>(parent, unwrap(option.name),
                                                 llvm::cl::desc(unwrap(option.description)),
                                                 llvm::cl::init(unwrap(option.defaultText).str())));
      values.back()->getParser().describe(descriptors, i);
    }
  }

  /// One text per option, valid until the options change.
  std::vector<MlirStringRef> texts() const {
    std::vector<MlirStringRef> result;
    for (const auto &value : values)
      result.push_back(wrap(StringRef(value->getValue())));
    return result;
  }

private:
  std::vector<std::unique_ptr<OptionT>> values;
};

/// Whether this process is a tool that was given --mlir-pass-statistics, with an MLIR that was
/// built without them and prints an empty report.
bool mustReportStatistics() {
#if LLVM_ENABLE_STATS
  return false;
#endif
  auto &options = llvm::cl::getRegisteredOptions();
  auto found = options.find("mlir-pass-statistics");
  return found != options.end() && found->second->getNumOccurrences() > 0;
}

class RustPass : public Pass {
public:
  explicit RustPass(const SlimhloPass &pass)
      : Pass(TypeID::getFromOpaquePointer(pass.self), anchorOf(pass)), pass(pass),
        options(*this, pass.options) {
    for (intptr_t i = 0; i < pass.nStatistics; ++i)
      statistics.push_back(std::make_unique<Statistic>(this, pass.statistics[i].name,
                                                       pass.statistics[i].description));
  }

  StringRef getName() const override { return unwrap(pass.name); }
  StringRef getArgument() const override { return unwrap(pass.argument); }
  StringRef getDescription() const override { return unwrap(pass.description); }

  void getDependentDialects(DialectRegistry &registry) const override {
    pass.insertDialects(pass.self, wrap(&registry));
  }

  bool canScheduleOn(RegisteredOperationName opName) const override {
    return pass.anchor.length == 0 || opName.getStringRef() == unwrap(pass.anchor);
  }

  LogicalResult initialize(MLIRContext *context) override {
    std::vector<MlirStringRef> texts = options.texts();
    Text error;
    void *created =
        pass.create(pass.self, texts.data(), mustReportStatistics(), Text::append, &error);
    if (!created)
      return emitError(UnknownLoc::get(context)) << getArgument() << ": " << error.value;
    instance.reset(created, pass.destroy);
    return success();
  }

  void runOnOperation() override {
    SmallVector<uint64_t> counts(statistics.size(), 0);
    SlimhloPassOutcome outcome =
        pass.run(instance.get(), this, wrap(getOperation()), counts.data());
    nested.clear();
    for (auto [statistic, count] : llvm::zip_equal(statistics, counts))
      *statistic += count;
    if (outcome == SlimhloPassFailed)
      signalPassFailure();
    else if (outcome == SlimhloPassUnchanged)
      markAllAnalysesPreserved();
  }

  /// Runs another pipeline on the op at hand, or on one nested in it.
  LogicalResult runNested(Operation *op, StringRef text, llvm::raw_ostream &errors) {
#ifdef SLIMHLO_RELEASE
    // What comes between the passes of a pass is verified by those who develop them: whoever runs
    // the pass itself verifies what comes of it. MLIR verifies what is nested as it does the rest,
    // so such pipelines get a manager of their own, unless somebody watches each pass.
    if (!getAnalysisManager().getPassInstrumentor()) {
      std::unique_ptr<PassManager> &manager = nested[text];
      if (!manager) {
        auto fresh = std::make_unique<PassManager>(op->getContext(), op->getName().getStringRef(),
                                                   PassManager::Nesting::Implicit);
        fresh->enableVerifier(false);
        if (failed(parsePassPipeline(text, *fresh, errors)))
          return failure();
        manager = std::move(fresh);
      }
      if (manager->getOpAnchorName() == op->getName().getStringRef())
        return manager->run(op);
    }
#endif
    OpPassManager manager(op->getName().getStringRef(), OpPassManager::Nesting::Implicit);
    if (failed(parsePassPipeline(text, manager, errors)))
      return failure();
    return runPipeline(manager, op);
  }

  std::unique_ptr<Pass> clonePass() const override {
    auto clone = std::make_unique<RustPass>(pass);
    // The pass manager clones for its threads what it has initialized before. The Rust half is
    // never mutated by a run, so all of them can share it.
    clone->instance = instance;
    return clone;
  }

private:
  static std::optional<StringRef> anchorOf(const SlimhloPass &pass) {
    if (pass.anchor.length == 0)
      return std::nullopt;
    return unwrap(pass.anchor);
  }

  const SlimhloPass &pass;
  RustOptions<Option<std::string, RustOptionParser>> options;
  std::vector<std::unique_ptr<Statistic>> statistics;
  std::shared_ptr<void> instance;
  /// Pipelines that one run goes through several times.
  llvm::StringMap<std::unique_ptr<PassManager>> nested;
};

class RustPipelineOptions : public PassPipelineOptions<RustPipelineOptions> {
public:
  explicit RustPipelineOptions(const SlimhloPipeline &pipeline)
      : options(*this, pipeline.options) {}

  RustOptions<Option<std::string, RustOptionParser>> options;
};

} // namespace

void slimhloRegisterPass(const SlimhloPass *pass) {
  if (PassInfo::lookup(unwrap(pass->argument)))
    return;
  registerPass([pass] { return std::make_unique<RustPass>(*pass); });
}

void slimhloRegisterPipeline(const SlimhloPipeline *pipeline) {
  if (PassPipelineInfo::lookup(unwrap(pipeline->argument)))
    return;
  registerPassPipeline(
      unwrap(pipeline->argument), unwrap(pipeline->description),
      [pipeline](OpPassManager &manager, StringRef text,
                 function_ref<LogicalResult(const Twine &)> errorHandler) -> LogicalResult {
        RustPipelineOptions parsed(*pipeline);
        if (failed(parsed.parseFromString(text)))
          return failure();
        std::vector<MlirStringRef> texts = parsed.options.texts();
        Text expanded;
        if (!pipeline->expand(pipeline->options.owner, texts.data(), Text::append, &expanded))
          return errorHandler(expanded.value);
        return parsePassPipeline(expanded.value, manager);
      },
      [pipeline](function_ref<void(const detail::PassOptions &)> handle) {
        handle(RustPipelineOptions(*pipeline));
      });
}

MlirLogicalResult slimhloRunPipeline(void *host, MlirOperation op, MlirStringRef pipeline,
                                     MlirStringCallback sink, void *userData) {
  std::string errors;
  llvm::raw_string_ostream stream(errors);
  LogicalResult result =
      static_cast<RustPass *>(host)->runNested(unwrap(op), unwrap(pipeline), stream);
  if (!errors.empty())
    sink(wrap(StringRef(errors)), userData);
  return wrap(result);
}

namespace {

/// A hash that takes one part after the other. All that is hashed of an op are addresses of what
/// the context has once, and small numbers.
class Fingerprint {
public:
  void add(uint64_t part) {
    // Of a product the upper half depends on all of both.
    hash = (hash ^ part) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  }
  void add(const void *part) { add(reinterpret_cast<uintptr_t>(part)); }

  uint64_t value() const { return hash; }

private:
  uint64_t hash = 0x243f6a8885a308d3;
};

} // namespace

uint64_t slimhloFingerprint(MlirOperation op) {
  // Tables that grow step by step cost as much as all else: what is hashed is mostly as large as
  // the last time.
  static thread_local llvm::DenseMap<Value, unsigned> numbers;
  static thread_local llvm::DenseMap<Block *, unsigned> blocks;
  numbers.clear();
  blocks.clear();
  Fingerprint hash;
  auto number = [](Value value) {
    return numbers.try_emplace(value, numbers.size()).first->second;
  };
  auto place = [](Block *block) { return blocks.try_emplace(block, blocks.size()).first->second; };
  unwrap(op)->walk<WalkOrder::PreOrder>([&](Operation *nested) {
    hash.add(nested->getName().getAsOpaquePointer());
    hash.add(nested->getDiscardableAttrDictionary().getAsOpaquePointer());
    hash.add(size_t(nested->hashProperties()));
    // How many there are of each tells `a(b) -> c` from `a -> (b, c)`.
    hash.add(nested->getNumOperands());
    for (Value operand : nested->getOperands())
      hash.add(number(operand));
    hash.add(nested->getNumResults());
    for (Value result : nested->getResults()) {
      hash.add(number(result));
      hash.add(result.getType().getAsOpaquePointer());
    }
    for (Block *successor : nested->getSuccessors())
      hash.add(place(successor));
    // Where regions and blocks begin tells `a { b } c` from `a { b c }`.
    for (Region &region : nested->getRegions()) {
      hash.add(llvm::range_size(region));
      for (Block &block : region) {
        hash.add(place(&block));
        hash.add(llvm::range_size(block));
        for (BlockArgument argument : block.getArguments()) {
          hash.add(number(argument));
          hash.add(argument.getType().getAsOpaquePointer());
        }
      }
    }
  });
  return hash.value();
}

void slimhloEmitDiagnostic(MlirLocation location, SlimhloSeverity severity, MlirStringRef message) {
  switch (severity) {
  case SlimhloError:
    emitError(unwrap(location), unwrap(message));
    return;
  case SlimhloWarning:
    emitWarning(unwrap(location), unwrap(message));
    return;
  case SlimhloRemark:
    emitRemark(unwrap(location), unwrap(message));
    return;
  }
}

MlirLogicalResult slimhloApplyPatternsGreedily(MlirOperation op,
                                               MlirFrozenRewritePatternSet patterns,
                                               const SlimhloGreedyConfig *config, bool *changed) {
  std::unique_ptr<FrozenRewritePatternSet> owned(unwrap(patterns));
  GreedyRewriteConfig driver;
  driver.setMaxIterations(config->maxIterations)
      .setMaxNumRewrites(config->maxRewrites)
      .setUseTopDownTraversal(config->topDown)
      .setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled)
      .enableFolding(config->fold)
      .enableConstantCSE(config->cseConstants);
  *changed = false;
  return wrap(applyPatternsGreedily(unwrap(op), *owned, driver, changed));
}
