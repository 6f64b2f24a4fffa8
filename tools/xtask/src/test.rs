// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//! `cargo xtask test`: all that CI checks, step by step.
//!
//! Everything is built once, in the dev profile: the profile compiles with optimisation (see the workspace's
//! Cargo.toml), and most of what runs is MLIR, which Debian has optimised already. A second, release build of
//! melior and the C++ half would cost more minutes than it saves. All cargo calls select the whole workspace,
//! because a smaller selection can unify features differently, and cargo would then build melior again.

mod cargo;
mod lit;
mod oracle;
mod pjrt;

pub use oracle::CORPUS;
pub(crate) use oracle::lower_small_corpus;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use clap::ValueEnum;
use console::{style, truncate_str};
use duct::Expression;

use crate::shell::{Finished, Shell};
use crate::{docs, setup, table};

/// Which steps to run.
#[derive(clap::Args)]
#[command(
    after_help = "Steps that a named step needs run before it. Output of each step: target/xtask/STEP.log"
)]
pub struct Args {
    /// Steps to run; all when none is named
    #[arg(value_enum)]
    steps: Vec<Step>,
    /// No samples: compile every program of the corpora that changes, and generate ten to twenty times as many programs
    #[arg(long)]
    all: bool,
}

/// The steps, in the order in which they run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Step {
    /// Rust is formatted (cargo fmt)
    Fmt,
    /// C++ is formatted (clang-format-22)
    ClangFormat,
    /// Clippy has nothing to say
    Clippy,
    /// Everything builds
    Build,
    /// Rust's unit, integration and documentation tests
    Rust,
    /// The lit tests by litcheck, as `cargo test` runs them
    Lit,
    /// The lit tests by LLVM's lit and FileCheck, which must agree with litcheck on every file
    LlvmLit,
    /// The lit tests once more, with slimhlo loaded into a stock mlir-opt
    Plugin,
    /// A C++ program uses the dialects through the CMake package
    Consumer,
    /// docs/ says what the sources say
    Docs,
    /// The Python environment of the oracle is there (target/venv)
    Python,
    /// jaxlib writes the corpora
    Corpus,
    /// slimhlo-opt and jaxlib agree on every program of the corpora
    Roundtrip,
    /// Modules come and go as text, bytecode and portable artifacts of all versions, and jaxlib sees no difference
    Forms,
    /// Broken bytecode and artifacts get an answer each, and never a crash, a hang or too much memory
    FuzzForms,
    /// slimhlo-opt and jaxlib agree on which broken programs are broken
    Mutate,
    /// They agree on text that nobody's printer writes, valid or broken
    Syntax,
    /// Programs with --slimhlo-dus-to-pad compute the same bits
    Differential,
    /// Folded programs do
    Folds,
    /// Programs computed in chunks do
    Stream,
    /// Programs with merged pads, concatenates and slices do
    Pads,
    /// Programs whose gathers share indices do
    Gathers,
    /// Programs that fill halos in place do
    Halos,
    /// Stages of stencils done a slab at a time do
    Slabs,
    /// Programs spread over devices do, with fewer collectives
    Shards,
    /// Fields on meshes that do not divide them, as Reactant writes them, do, with fewer collectives and bytes moved
    ShardedFields,
    /// Programs spread over devices and computed in chunks do, with no more collectives
    ShardedStreams,
    /// Networks and their gradients, spread over devices, do, with values computed again
    ShardedNetworks,
    /// Training steps whose batch is cut among devices compute what one device does, as one manual computation
    DataParallel,
    /// Gradients of loops do, with less stored for them
    Residuals,
    /// Loops whose values change places do, several turns at once
    Rotations,
    /// Loops that add up what is summed in the end do, carrying the sums
    EarlySums,
    /// Results that share what they are made of do, one after the other
    InTurn,
    /// Gradients of pooling do, by comparisons
    Pools,
    /// Sums of columns do, in two steps
    Sums,
    /// Networks and their gradients in slices of the batch do
    BatchSlices,
    /// Programs of all families do, through the default pipeline and through all passes
    Families,
    /// The default pipeline over JAX's own programs: same bits, never more memory, idempotent, deterministic
    Optimize,
    /// The memory model against XLA's buffer assignment
    MemoryModel,
    /// XLA for GPUs and TPUs compiles without them, and the estimate of time reads what comes out
    Referees,
    /// Small programs of JAX's libraries (test/corpus): compiled for an H100 before and after, and no worse, with a memory limit and without
    Libraries,
    /// Elementwise ops of kernels, on the CPU, are what they are in XLA
    Elementwise,
    /// Kernels whose threads work together, in blocks of 1, 64 and 256 threads on the CPU, agree with XLA
    Kernels,
    /// Every op of kernels with each dimension 0 in turn does
    Empty,
    /// Eigenvalues and singular values as kernels, on the CPU, are as good as LAPACK's own tests ask for
    Decompositions,
    /// JAX's own programs as kernels, on the CPU, agree with XLA
    Backend,
    /// NVIDIA's assembler takes the kernels' code
    Ptxas,
    /// The PJRT layer, alone and around XLA's plugins for GPUs and TPUs
    Pjrt,
    /// The Python package, built and installed
    Wheel,
}

impl Step {
    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    fn needs(self) -> &'static [Step] {
        match self {
            Step::Fmt | Step::ClangFormat | Step::Clippy | Step::Build | Step::Python => &[],
            Step::Rust | Step::Lit | Step::Plugin | Step::Consumer | Step::Docs => &[Step::Build],
            Step::LlvmLit => &[Step::Lit],
            Step::Corpus | Step::Referees => &[Step::Python],
            Step::Syntax
            | Step::Differential
            | Step::Folds
            | Step::Stream
            | Step::Pads
            | Step::Gathers
            | Step::Halos
            | Step::Slabs
            | Step::Shards
            | Step::ShardedFields
            | Step::ShardedStreams
            | Step::ShardedNetworks
            | Step::DataParallel
            | Step::Residuals
            | Step::Rotations
            | Step::EarlySums
            | Step::InTurn
            | Step::Pools
            | Step::Sums
            | Step::BatchSlices
            | Step::Families
            | Step::Elementwise
            | Step::Kernels
            | Step::Empty
            | Step::Decompositions
            | Step::Ptxas
            | Step::Pjrt
            | Step::Libraries
            | Step::Wheel => &[Step::Build, Step::Python],
            Step::Roundtrip
            | Step::Forms
            | Step::FuzzForms
            | Step::Mutate
            | Step::Optimize
            | Step::MemoryModel
            | Step::Backend => &[Step::Build, Step::Corpus],
        }
    }

    /// Whether a step leaves cores idle, and so goes beside others of its kind: scripts keep one busy, and cargo most of the time.
    fn goes_beside(self) -> bool {
        matches!(
            self,
            Step::Clippy
                | Step::Mutate
                | Step::Syntax
                | Step::Differential
                | Step::Folds
                | Step::Stream
                | Step::Gathers
                | Step::Halos
                | Step::Slabs
                | Step::Shards
                | Step::ShardedFields
                | Step::ShardedStreams
                | Step::ShardedNetworks
                | Step::DataParallel
                | Step::Residuals
                | Step::Rotations
                | Step::EarlySums
                | Step::InTurn
                | Step::Pools
                | Step::Sums
                | Step::BatchSlices
                | Step::Elementwise
                | Step::Referees
                | Step::Libraries
                | Step::Empty
                | Step::Decompositions
                | Step::Pjrt
                | Step::Wheel
        )
    }

    /// Adds what a step needs in the Python environment beyond the oracle.
    fn prepare(self, shell: &Shell) -> Result<()> {
        if matches!(self, Step::Referees | Step::Libraries | Step::Pjrt | Step::Wheel) {
            setup::device_compilers(shell)?;
        }
        if self == Step::Pjrt {
            setup::cpu_plugins(shell)?;
        }
        Ok(())
    }

    fn execute(self, run: &mut Run) -> Result<Outcome> {
        match self {
            Step::Fmt => cargo::fmt(run),
            Step::ClangFormat => cargo::clang_format(run),
            Step::Clippy => cargo::clippy(run),
            Step::Build => cargo::build(run),
            Step::Rust => cargo::tests(run),
            Step::Lit => lit::litcheck(run),
            Step::LlvmLit => lit::llvm(run),
            Step::Plugin => lit::plugin(run),
            Step::Consumer => cargo::consumer(run),
            Step::Docs => {
                let stale = docs::stale(run.shell)?;
                Ok(Outcome::check(
                    stale.is_empty(),
                    match stale.len() {
                        0 => "current".to_owned(),
                        _ => format!("{} not current; `cargo xtask docs` writes them", stale.join(", ")),
                    },
                ))
            }
            Step::Python => setup::environment(run.shell).map(|()| Outcome::check(true, "in place")),
            Step::Corpus => oracle::corpus(run),
            Step::Roundtrip => oracle::roundtrip(run),
            Step::Forms => oracle::forms(run),
            Step::FuzzForms => oracle::fuzz_forms(run),
            Step::Mutate => oracle::mutate(run),
            Step::Syntax => oracle::syntax(run),
            Step::Differential => oracle::differential(run),
            Step::Folds => oracle::generated(run, "folds.py", [900, 15_000]),
            Step::Stream => oracle::generated(run, "stream.py", [120, 2500]),
            Step::Pads => oracle::generated(run, "pads.py", [600, 10_000]),
            Step::Gathers => oracle::generated(run, "gathers.py", [120, 2500]),
            Step::Halos => oracle::generated(run, "halos.py", [180, 3000]),
            Step::Slabs => oracle::generated(run, "slabs.py", [40, 800]),
            Step::Shards => oracle::generated(run, "shards.py", [80, 1500]),
            Step::ShardedFields => oracle::sharded_fields(run),
            Step::ShardedStreams => oracle::generated(run, "sharded_streams.py", [60, 1000]),
            Step::ShardedNetworks => oracle::generated(run, "sharded_networks.py", [24, 400]),
            Step::DataParallel => oracle::generated(run, "data_parallel.py", [24, 400]),
            Step::Residuals => oracle::generated(run, "residuals.py", [40, 800]),
            Step::Rotations => oracle::generated(run, "rotations.py", [100, 1000]),
            Step::EarlySums => oracle::generated(run, "early_sums.py", [100, 1000]),
            Step::InTurn => oracle::generated(run, "in_turn.py", [60, 1000]),
            Step::Pools => oracle::generated(run, "pools.py", [60, 1000]),
            Step::Sums => oracle::generated(run, "sums.py", [40, 400]),
            Step::BatchSlices => oracle::generated(run, "batch_slices.py", [24, 400]),
            Step::Families => oracle::generated(run, "families.py", [1600, 16_000]),
            Step::Optimize => oracle::optimize(run),
            Step::MemoryModel => oracle::memory_model(run),
            Step::Referees => oracle::referees(run),
            Step::Libraries => oracle::libraries(run),
            Step::Elementwise => oracle::with_command(run, "elementwise.py", &[]),
            Step::Empty => oracle::with_command(run, "empty.py", &[]),
            Step::Decompositions => oracle::with_command(run, "decompositions.py", &[]),
            Step::Kernels => oracle::kernels(run),
            Step::Backend => oracle::backend(run),
            Step::Ptxas => oracle::ptxas(run),
            Step::Pjrt => pjrt::pjrt(run),
            Step::Wheel => pjrt::wheel(run),
        }
    }
}

/// What a step found. A step that is not a collection of tests counts as one test.
pub struct Outcome {
    passed: usize,
    failed: usize,
    figure: String,
}

impl Outcome {
    /// A collection of tests.
    fn tests(passed: usize, failed: usize, figure: impl Into<String>) -> Self {
        Self { passed, failed, figure: figure.into() }
    }

    /// A single check.
    fn check(ok: bool, figure: impl Into<String>) -> Self {
        Self::tests(ok.into(), (!ok).into(), figure)
    }

    fn ok(&self) -> bool {
        self.failed == 0
    }
}

/// The state that steps share.
struct Run<'a> {
    shell: &'a Shell,
    /// Tests take all that there is, not a sample.
    all: bool,
    /// Name of the step at work.
    step: String,
    /// All output of the step at work.
    log: String,
    /// Others run beside it: its output comes when it is done.
    beside: bool,
    /// litcheck's verdict on each file, for comparison with LLVM's.
    verdicts: BTreeMap<String, lit::Verdict>,
}

impl Run<'_> {
    /// Runs a command of the step at work, and keeps what it prints.
    fn run(&mut self, command: &Expression) -> Result<Finished> {
        // For builds that CMake asks cargo for; see the top of this file.
        let command = command.env("SLIMHLO_CARGO_FLAGS", cargo::BUILT.join(" "));
        let finished = self.shell.watch_beside(&self.step, &command, self.beside)?;
        self.log.push_str(&finished.output);
        Ok(finished)
    }

    /// Adds to what the step at work has to say.
    fn say(&mut self, line: &str) {
        if !self.shell.live && !self.beside {
            println!("{line}");
        }
        self.log.push_str(line);
        self.log.push('\n');
    }
}

impl Run<'_> {
    /// Runs a step, unless one of `rows` that it needs has failed.
    fn step(&mut self, step: Step, rows: &[Row]) -> Result<Row> {
        self.step = step.name();
        self.log.clear();
        if !self.shell.live && !self.beside {
            println!("\n==> {}", self.step);
        }
        let start = Instant::now();
        let broken = rows.iter().find(|row| step.needs().contains(&row.step) && !row.outcome.ok());
        // Steps need builds and corpora, and one that failed leaves nothing to work on. Only llvm-lit can do
        // with a lit that found failures: it compares them.
        let outcome = match broken {
            Some(row) if step != Step::LlvmLit || self.verdicts.is_empty() => {
                Outcome::check(false, format!("not run, because {} failed", row.step.name()))
            }
            _ => step.execute(self).unwrap_or_else(|error| {
                self.say(&format!("{error:#}"));
                Outcome::check(false, error.to_string().lines().next().unwrap_or_default())
            }),
        };
        let time = start.elapsed();
        let log = self.shell.target.join("xtask").join(format!("{}.log", self.step));
        fs::write(&log, &self.log).with_context(|| format!("cannot write {}", log.display()))?;
        self.report(&outcome, time);
        Ok(Row { step, outcome, time })
    }

    fn report(&self, outcome: &Outcome, time: Duration) {
        let mut text = String::new();
        if self.shell.live && !outcome.ok() {
            text = Finished { ok: false, output: self.log.clone() }.tail() + "\n";
        } else if !self.shell.live && self.beside {
            text = format!("\n==> {}\n{}", self.step, self.log);
        }
        let (verdict, figure) = (verdict(outcome), &outcome.figure);
        self.shell.say(&format!("{text}{verdict} {:<13} {:>7}  {figure}", self.step, seconds(time)));
    }
}

struct Row {
    step: Step,
    outcome: Outcome,
    time: Duration,
}

/// Runs the steps and prints what came of them; the last line is `N passed, M failed`.
pub fn main(shell: &Shell, args: &Args) -> Result<ExitCode> {
    let start = Instant::now();
    let steps = selected(&args.steps);
    setup::packages(shell, steps.contains(&Step::Python), steps.contains(&Step::Rust))?;
    let logs = shell.target.join("xtask");
    fs::create_dir_all(&logs).with_context(|| format!("cannot create {}", logs.display()))?;

    let run = |beside| Run {
        shell,
        all: args.all,
        step: String::new(),
        log: String::new(),
        beside,
        verdicts: BTreeMap::new(),
    };
    let (beside, alone): (Vec<Step>, Vec<Step>) = steps.into_iter().partition(|step| step.goes_beside());
    let mut rows: Vec<Row> = Vec::new();
    let mut first = run(false);
    for step in alone {
        let row = first.step(step, &rows)?;
        rows.push(row);
    }
    // What they compile with is there before any of them starts: others run in the environment into which it goes.
    if rows.iter().all(|row| row.step != Step::Python || row.outcome.ok()) {
        for step in &beside {
            step.prepare(shell)?;
        }
    }
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let lanes = cores.min(MOST_BESIDE).min(beside.len());
    let open = Mutex::new(turns(&beside).into_iter());
    let done: Vec<Row> = thread::scope(|scope| -> Result<_> {
        let lane = || -> Result<Vec<Row>> {
            let mut run = run(lanes > 1);
            let mut done = Vec::new();
            // A statement of its own, so that the lock is not held while the steps run.
            let next = || open.lock().ok().and_then(|mut open| open.next());
            while let Some(steps) = next() {
                for step in steps {
                    done.push(run.step(step, &rows)?);
                }
            }
            Ok(done)
        };
        let others: Vec<_> = (0..lanes).map(|_| scope.spawn(lane)).collect();
        let mut done = Vec::new();
        for other in others {
            done.extend(other.join().map_err(|_| anyhow!("a step ended by a panic"))??);
        }
        Ok(done)
    })?;
    rows.extend(done);
    rows.sort_by_key(|row| row.step);
    Ok(summarize(&rows, start.elapsed()))
}

/// What compiles for minutes, and goes first so that no lane waits for it at the end. What the wheel is made of is there once the
/// library for PJRT is (`pjrt::command` builds both).
const FIRST: [&[Step]; 2] = [&[Step::Pjrt, Step::Wheel], &[Step::Libraries]];

/// What lanes take, in this order: steps that one lane runs one after the other.
fn turns(beside: &[Step]) -> Vec<Vec<Step>> {
    let first = FIRST.map(|chain| chain.iter().copied().filter(|step| beside.contains(step)).collect());
    let others = beside.iter().filter(|step| !FIRST.concat().contains(step)).map(|&step| vec![step]);
    first.into_iter().chain(others).filter(|steps: &Vec<Step>| !steps.is_empty()).collect()
}

/// Steps side by side at most: each holds XLA and a program or two.
const MOST_BESIDE: usize = 4;

/// The named steps and all they need, in order; everything when none is named.
fn selected(named: &[Step]) -> BTreeSet<Step> {
    let mut steps = BTreeSet::new();
    let mut open: Vec<Step> = if named.is_empty() { Step::value_variants().to_vec() } else { named.to_vec() };
    while let Some(step) = open.pop() {
        if steps.insert(step) {
            open.extend(step.needs());
        }
    }
    steps
}

fn verdict(outcome: &Outcome) -> console::StyledObject<&'static str> {
    if outcome.ok() { style("pass").green() } else { style("FAIL").red().bold() }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

fn summarize(rows: &[Row], time: Duration) -> ExitCode {
    let lines: Vec<Vec<String>> = rows
        .iter()
        .map(|Row { step, outcome, time }| {
            let figure = truncate_str(&outcome.figure, 100, "...").into_owned();
            vec![step.name(), verdict(outcome).to_string(), seconds(*time), figure]
        })
        .collect();
    println!("\n{}", table::render(&["Step", "Verdict", "Time", "Result"], &[1, 3], &lines));
    let failed: usize = rows.iter().map(|row| row.outcome.failed).sum();
    println!("Total time {}", seconds(time));
    println!("{} passed, {failed} failed", rows.iter().map(|row| row.outcome.passed).sum::<usize>());
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
