// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//! `cargo xtask bench`: measurements, in release mode.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;

use crate::shell::Shell;
use crate::test::{self, CORPUS};
use crate::{setup, wheel};

/// What to measure.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo xtask bench memory                             under XLA for an H100, which need not be here
  cargo xtask bench memory --target tpu --write-docs   for a v5p, and the table goes into docs/benchmarks.md
  cargo xtask bench memory --target cpu                with run times
  cargo xtask bench corpus --write-docs                programs of 30 libraries, with memory limits
  cargo xtask bench model --target h100                how far the memory model and its times are from XLA's
  cargo xtask bench plan                               what slimhlo compile allocates, against XLA for an H100
  cargo xtask bench choices                            what other values of its constants would give
  cargo xtask bench calibrate                          how far the estimates are from what the GPU here takes")]
pub struct Args {
    /// Benchmarks to run; all but `corpus` when none is named
    #[arg(value_enum)]
    benchmarks: Vec<Benchmark>,
    /// What `memory`, `corpus`, `model`, `plan` and the benchmarks of sharded programs ask XLA for: gpu (h100, a100, b200), tpu (v5p) or
    /// cpu
    #[arg(long, default_value = "gpu", value_parser = ["gpu", "tpu", "cpu", "h100", "a100", "b200", "v5p", "xla-gpu", "xla-tpu", "xla-cpu"])]
    target: String,
    /// `memory`, `corpus` and `plan` write their tables into docs/benchmarks.md; for gpu and tpu
    #[arg(long)]
    write_docs: bool,
    /// `plan` takes the programs of libraries at their real sizes, as `corpus` does, and no others
    #[arg(long, conflicts_with = "write_docs")]
    real_sizes: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Benchmark {
    /// Parse, verify and print large modules, against jaxlib
    Parse,
    /// How --slimhlo-dus-to-pad scales
    DusToPad,
    /// Memory and time of the reference programs under XLA for --target: alone, after Enzyme-JAX, after slimhlo
    Memory,
    /// Programs of some 30 of JAX's libraries under XLA for --target: alone, after slimhlo, and with memory limits; hours
    Corpus,
    /// The memory model and its times against XLA for --target: reference programs, 500 of JAX's tests, generated programs,
    /// before and after the pipeline; every miss by its size
    Model,
    /// The estimates of time against what the NVIDIA GPU here takes; nothing where there is none
    Calibrate,
    /// Run time of generated programs under XLA, before and after slimhlo
    RunTime,
    /// Time of the default pipeline: against Enzyme-JAX's, and per op up to 100,000 ops
    Passes,
    /// What slimhlo compile allocates for the reference programs, some larger ones, a sample of JAX's tests and programs of libraries at
    /// small sizes, against their floors and XLA for --target; launches and read-backs of each
    Plan,
    /// What other values of the constants that slimhlo compile plans by would give for the reference programs: bytes and estimated time
    Choices,
    /// The machine code of the reference programs' kernels: instructions, widths of accesses and bytes in flight, against what
    /// full bandwidth takes
    Code,
    /// Time from StableHLO to PTX, against IREE's compiler and XLA's for the CPU
    Compile,
    /// What slimhlo.jit adds to the time from a function to an executable, against jax.jit, on the CPU
    Jit,
    /// Memory and run time of the reference programs on an NVIDIA GPU, against JAX; nothing where there is none
    Gpu,
    /// Generated programs of sharded fields under XLA for --target, 8 devices: collectives, bytes moved and memory, alone and after slimhlo
    ShardedFields,
    /// A step of an ocean model on 2 by 4 devices under XLA for --target: the same, and time
    OceanStep,
    /// What XLA's partitioner for --target sends for single ops, against what the passes expect of it
    Partitioner,
}

/// How close the model is to be: its peak within 10% and 1 MiB of XLA's for 90 in 100 modules, times within 1.5 times the estimate's
/// for 80, and 98 in 100 changes seen in the right direction.
const MODEL: &str = "--harnesses 500 --families 100 --pipeline=default --show 1000 --jobs 1 \
                     --within 10 --at-least 90 --times 80 --directions 98";

impl Benchmark {
    /// The script below test/oracle, and what it is given besides the driver.
    fn script(self, corpus: &str) -> (&'static str, Vec<&str>) {
        match self {
            Benchmark::Parse => ("bench_parse.py", vec!["--corpus", corpus, "--only", "parse"]),
            Benchmark::DusToPad => ("bench_parse.py", vec!["--corpus", corpus, "--only", "dus-to-pad"]),
            Benchmark::Memory => ("bench_target.py", vec![]),
            Benchmark::Corpus => ("bench_corpus.py", vec![]),
            Benchmark::Model => ("memory_model.py", MODEL.split(' ').collect()),
            Benchmark::Calibrate => ("calibrate.py", vec![]),
            Benchmark::RunTime => ("bench_run_time.py", vec![]),
            Benchmark::Passes => ("bench_passes.py", vec![]),
            Benchmark::Plan => ("bench_plan.py", vec![]),
            Benchmark::Choices => ("plan_choices.py", vec![]),
            Benchmark::Code => ("bench_code.py", vec![]),
            Benchmark::Compile => ("bench_compile.py", vec![]),
            Benchmark::Jit => ("jit.py", vec!["--time"]),
            Benchmark::Gpu => ("bench_gpu.py", vec![]),
            Benchmark::ShardedFields => {
                ("sharded_fields.py", vec!["--most", "8", "--count", "100", "--seed", "2"])
            }
            Benchmark::OceanStep => ("ocean_step.py", vec![]),
            Benchmark::Partitioner => ("partitioner_ops.py", vec![]),
        }
    }

    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

/// Builds in release mode and prints the table of each benchmark; fails if one of them misses a goal.
pub fn main(shell: &Shell, args: &Args) -> Result<()> {
    setup::ensure(shell, true)?;
    setup::bench_environment(shell)?;
    shell.show(&shell.cargo(["build", "--release", "--package=slimhlo-opt"]))?;
    let driver = shell.target.join("release/slimhlo-opt").to_string_lossy().into_owned();
    let corpus = shell.target.join(CORPUS).to_string_lossy().into_owned();
    let answers = shell.target.join("bench-memory.jsonl").to_string_lossy().into_owned();
    let known = shell.target.join("bench-model.jsonl").to_string_lossy().into_owned();
    let docs = shell.root.join("docs/benchmarks.md").to_string_lossy().into_owned();
    let all = Benchmark::value_variants();
    let mut missed = Vec::new();
    let usual: Vec<Benchmark> =
        all.iter().copied().filter(|benchmark| *benchmark != Benchmark::Corpus).collect();
    for &benchmark in if args.benchmarks.is_empty() { &usual } else { &args.benchmarks } {
        let (script, extra) = match benchmark {
            Benchmark::Memory => memory(args, &answers, &docs)?,
            // What is lowered and asked for is kept, so that a run that was cut goes on.
            Benchmark::Corpus => {
                let folder = lowered_corpus(shell, &args.target)?;
                if !measured_corpus(shell, args, &folder, &driver, &docs)? {
                    missed.push(benchmark.name());
                }
                continue;
            }
            Benchmark::Model => {
                let (script, mut words) = benchmark.script(&corpus);
                words.extend(["--target", args.target.as_str(), "--cache", known.as_str()]);
                (script, words)
            }
            _ => benchmark.script(&corpus),
        };
        let path = format!("test/oracle/{script}");
        ensure!(shell.root.join(&path).is_file(), "{path} is missing");
        if extra.contains(&"--corpus") {
            // Its modules are made of the corpora's; this does nothing where they are current.
            let make = shell.command(setup::python(shell), ["-u", "test/oracle/corpus.py", &corpus]);
            shell.must("corpus", &make)?;
        }
        println!("{}", console::style(format!("==> {}", benchmark.name())).bold());
        if matches!(benchmark, Benchmark::Gpu | Benchmark::Calibrate) {
            if !gpu(shell, &path, benchmark)? {
                missed.push(benchmark.name());
            }
            continue;
        }
        if matches!(benchmark, Benchmark::Jit) {
            let mut words = vec!["-u", &path];
            words.extend(extra);
            let python = wheel::built_and_installed(shell)?;
            if !shell.command(python, words).unchecked().run()?.status.success() {
                missed.push(benchmark.name());
            }
            continue;
        }
        let of_shards = [Benchmark::ShardedFields, Benchmark::OceanStep, Benchmark::Partitioner];
        let of_programs = [Benchmark::Memory, Benchmark::Model, Benchmark::Plan];
        if of_programs.contains(&benchmark) || of_shards.contains(&benchmark) {
            setup::device_compilers(shell)?;
        }
        let slimhlo = shell.target.join("release/slimhlo").to_string_lossy().into_owned();
        let mut words = vec!["-u", &path, "--opt", &driver];
        if of_shards.contains(&benchmark) {
            words.extend(["--target", args.target.as_str()]);
        }
        if matches!(benchmark, Benchmark::Partitioner) {
            shell.show(&shell.cargo(["build", "--release", "--package=slimhlo"]))?;
            words = vec!["-u", &path, "--slimhlo", &slimhlo, "--target", args.target.as_str()];
        }
        if matches!(benchmark, Benchmark::Plan | Benchmark::Code | Benchmark::Compile) {
            setup::assembler_environment(shell)?;
            shell.show(&shell.cargo(["build", "--release", "--package=slimhlo"]))?;
            words = vec!["-u", &path, "--slimhlo", &slimhlo];
        }
        words.extend(extra);
        let libraries = match (benchmark, args.real_sizes) {
            (Benchmark::Plan, true) => lowered_corpus(shell, &args.target)?,
            _ => shell.target.join("corpus/small").to_string_lossy().into_owned(),
        };
        if matches!(benchmark, Benchmark::Plan) {
            words.extend(["--target", args.target.as_str(), "--cache", answers.as_str()]);
            if args.real_sizes {
                words.extend(["--corpus", libraries.as_str(), "--libraries-only"]);
            } else if !matches!(args.target.as_str(), "cpu" | "xla-cpu") {
                let lowered = test::lower_small_corpus(shell, &libraries)?.unchecked().run()?;
                ensure!(lowered.status.success(), "not all programs of libraries can be lowered");
                words.extend(["--corpus", &libraries]);
            }
            if args.write_docs {
                words.extend(["--write-docs", docs.as_str()]);
            }
        }
        let done = shell.command(setup::python(shell), words).unchecked().run()?;
        if !done.status.success() {
            missed.push(benchmark.name());
        }
    }
    ensure!(missed.is_empty(), "not all goals are met: {}", missed.join(", "));
    Ok(())
}

/// Has the corpus lowered for a target's platform; returns the folder of its modules, which `corpus` measures.
fn lowered_corpus(shell: &Shell, target: &str) -> Result<String> {
    setup::corpus_environment(shell)?;
    setup::device_compilers(shell)?;
    let platform = if matches!(target, "cpu" | "xla-cpu") { "cpu" } else { "cuda" };
    let folder = shell.target.join("corpus").join(platform).to_string_lossy().into_owned();
    let words = ["-u", "test/corpus/lower.py", &folder, "--platform", platform];
    // A library that fails costs its own programs; the bench says which.
    shell.command(setup::corpus_python(shell), words).unchecked().run()?;
    Ok(folder)
}

/// Measures the corpus; true if it is all that it is to be.
fn measured_corpus(shell: &Shell, args: &Args, folder: &str, driver: &str, docs: &str) -> Result<bool> {
    println!("{}", console::style("==> corpus").bold());
    let cache = shell.target.join("bench-corpus.jsonl").to_string_lossy().into_owned();
    let mut words = vec!["-u", "test/oracle/bench_corpus.py", folder, "--opt", driver];
    words.extend(["--target", args.target.as_str(), "--cache", &cache]);
    if args.write_docs {
        words.extend(["--write-docs", docs]);
    }
    Ok(shell.command(setup::python(shell), words).unchecked().run()?.status.success())
}

/// The script for `memory`, and what it is given besides the driver: for CPUs it is another one, which also runs the programs.
fn memory<'a>(args: &'a Args, answers: &'a str, docs: &'a str) -> Result<(&'static str, Vec<&'a str>)> {
    if matches!(args.target.as_str(), "cpu" | "xla-cpu") {
        ensure!(
            !args.write_docs,
            "--write-docs is for gpu and tpu: the figures for CPUs are run times, of one machine"
        );
        return Ok(("bench_memory.py", vec![]));
    }
    let mut words = vec!["--target", args.target.as_str(), "--cache", answers];
    if args.write_docs {
        words.extend(["--write-docs", docs]);
    }
    Ok(("bench_target.py", words))
}

/// Compares with JAX on the GPU that is here: what slimhlo compiles, or the referee's estimates; true if there is none.
fn gpu(shell: &Shell, script: &str, benchmark: Benchmark) -> Result<bool> {
    let smi = which::which("nvidia-smi").ok();
    let found = smi.map(|smi| shell.command(smi, ["-L"]).stdout_null().stderr_null().unchecked().run());
    if !matches!(found, Some(Ok(done)) if done.status.success()) {
        println!("There is no NVIDIA GPU on this machine (nvidia-smi finds none): nothing is measured.");
        return Ok(true);
    }
    setup::gpu_environment(shell)?;
    if benchmark == Benchmark::Calibrate {
        let driver = shell.target.join("release/slimhlo-opt").to_string_lossy().into_owned();
        let words = ["-u", script, "--opt", &driver];
        let done = shell.command(setup::python(shell), words).unchecked().run()?;
        return Ok(done.status.success());
    }
    shell.show(&shell.cargo(["build", "--release", "--package=slimhlo", "--package=slimhlo-runner"]))?;
    let path = |name: &str| shell.target.join(name).to_string_lossy().into_owned();
    let (slimhlo, runner, out) = (path("release/slimhlo"), path("release/slimhlo-run"), path("bench-gpu"));
    // Packages of an earlier build say nothing about this one.
    if Path::new(&out).exists() {
        fs::remove_dir_all(&out).with_context(|| out.clone())?;
    }
    let words = ["-u", script, "run", &out, "--slimhlo", &slimhlo, "--runner", &runner];
    let fast = shell.command(setup::python(shell), words).unchecked().run()?;
    // Each kind of kernel, right on this GPU.
    let words = ["-u", "test/oracle/kernels.py", "--slimhlo", &slimhlo, "--gpu"];
    let right = shell.command(setup::python(shell), words).unchecked().run()?;
    Ok(fast.status.success() && right.status.success())
}
