// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The contract between a pass or pipeline written in Rust and the one C++ class that carries it.
// All pointers handed over at registration must stay valid until the process ends. Nothing below
// may unwind.

#ifndef SLIMHLO_C_PASSHOOKS_H
#define SLIMHLO_C_PASSHOOKS_H

#include "mlir-c/IR.h"
#include "mlir-c/Rewrite.h"
#include "mlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

/// One option of a pass or pipeline. Values cross over as text; Rust owns their meaning.
typedef struct {
  MlirStringRef name;
  MlirStringRef description;
  /// What `--help` shows for a value: "bytes", "fast|small", ...
  MlirStringRef valueName;
  MlirStringRef defaultText;
  /// Whether the name alone, without a value, says something (flags).
  bool valueOptional;
} SlimhloOption;

/// Options of a pass or pipeline. `normalize` checks `text` for the option at `index`: what it
/// accepts goes to `sink` in the spelling that pipelines are printed with; what it rejects goes to
/// `sink` as a message, and false comes back.
typedef struct {
  const void *owner;
  intptr_t nOptions;
  const SlimhloOption *options;
  bool (*normalize)(const void *owner, intptr_t index, MlirStringRef text, MlirStringCallback sink,
                    void *userData);
} SlimhloOptions;

typedef struct {
  const char *name;
  const char *description;
} SlimhloStatistic;

enum SlimhloPassOutcome { SlimhloPassFailed = 0, SlimhloPassChanged = 1, SlimhloPassUnchanged = 2 };

typedef struct {
  /// Identifies the pass (its TypeID); at least 8-byte aligned.
  const void *self;
  MlirStringRef name;
  MlirStringRef argument;
  MlirStringRef description;
  /// Name of the op the pass runs on; empty if it runs on any.
  MlirStringRef anchor;
  SlimhloOptions options;
  intptr_t nStatistics;
  const SlimhloStatistic *statistics;

  /// Inserts the dialects whose entities the pass creates.
  void (*insertDialects)(const void *self, MlirDialectRegistry registry);

  /// Builds the pass from one text per option, all of them normalized. The instance is used by many
  /// threads at once. Null if that fails; a message has then gone to `sink`. `report` asks Rust to
  /// print the statistics when the process ends, because MLIR will not.
  void *(*create)(const void *self, const MlirStringRef *values, bool report,
                  MlirStringCallback sink, void *userData);
  void (*destroy)(void *instance);

  /// Runs the pass on `op` and adds to `counts`, one per statistic. Diagnostics have been emitted
  /// when it fails. `host` is for slimhloRunPipeline, and valid until `run` returns.
  enum SlimhloPassOutcome (*run)(void *instance, void *host, MlirOperation op, uint64_t *counts);
} SlimhloPass;

typedef struct {
  MlirStringRef argument;
  MlirStringRef description;
  SlimhloOptions options;

  /// Hands the pipeline, in textual form, to `sink`; or a message, and false comes back.
  bool (*expand)(const void *owner, const MlirStringRef *values, MlirStringCallback sink,
                 void *userData);
} SlimhloPipeline;

/// Adds a pass to MLIR's registry. A pass of that argument already there, from a second copy of
/// this library in the process, stays.
void slimhloRegisterPass(const SlimhloPass *pass);

/// Adds a pipeline to MLIR's registry, under the same rule.
void slimhloRegisterPipeline(const SlimhloPipeline *pipeline);

/// Runs a pipeline in textual form on `op`, which the running pass `host` is at work on or which is
/// nested in that. What is wrong with the text goes to `sink`; a pass that fails emits diagnostics.
MlirLogicalResult slimhloRunPipeline(void *host, MlirOperation op, MlirStringRef pipeline,
                                     MlirStringCallback sink, void *userData);

/// A hash of `op` and all that is nested in it: names, attributes, types, and which operand is
/// which result; neither locations nor addresses of ops. Equal for equal IR within one process.
uint64_t slimhloFingerprint(MlirOperation op);

enum SlimhloSeverity { SlimhloError = 0, SlimhloWarning = 1, SlimhloRemark = 2 };

/// Emits a diagnostic. MLIR's own C API emits errors only.
void slimhloEmitDiagnostic(MlirLocation location, enum SlimhloSeverity severity,
                           MlirStringRef message);

/// Knobs of the greedy driver; see mlir/Transforms/GreedyPatternRewriteDriver.h.
typedef struct {
  int64_t maxIterations;
  int64_t maxRewrites;
  bool topDown;
  bool fold;
  bool cseConstants;
} SlimhloGreedyConfig;

/// Applies `patterns` to everything nested in `op` until nothing matches, and destroys them.
/// `changed` says whether the IR was touched at all, which MLIR's own C function does not tell.
MlirLogicalResult slimhloApplyPatternsGreedily(MlirOperation op,
                                               MlirFrozenRewritePatternSet patterns,
                                               const SlimhloGreedyConfig *config, bool *changed);

#ifdef __cplusplus
}
#endif

#endif // SLIMHLO_C_PASSHOOKS_H
