// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//! `cargo xtask bench`: measurements, in release mode.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;

use crate::setup;
use crate::shell::Shell;
use crate::test::CORPUS;

/// What to measure.
#[derive(clap::Args)]
pub struct Args {
    /// Benchmarks to run; all when none is named
    #[arg(value_enum)]
    benchmarks: Vec<Benchmark>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Benchmark {
    /// Parse, verify and print large modules, against jaxlib
    Parse,
    /// How --slimhlo-dus-to-pad scales
    DusToPad,
    /// Memory and run time of the reference programs under XLA: alone, after Enzyme-JAX, after slimhlo
    Memory,
    /// Run time of generated programs under XLA, before and after slimhlo
    RunTime,
    /// Time of the default pipeline: against Enzyme-JAX's, and per op up to 100,000 ops
    Passes,
    /// What slimhlo compile allocates for the reference programs, against their floors and XLA
    Plan,
    /// The machine code of the reference programs' kernels: instructions, widths of accesses and bytes in flight, against what
    /// full bandwidth takes
    Code,
    /// Time from StableHLO to PTX, against IREE's compiler and XLA's for the CPU
    Compile,
    /// Memory and run time of the reference programs on an NVIDIA GPU, against JAX; nothing where there is none
    Gpu,
}

impl Benchmark {
    /// The script below test/oracle, and what it is given besides the driver.
    fn script(self, corpus: &str) -> (&'static str, Vec<&str>) {
        match self {
            Benchmark::Parse => ("bench_parse.py", vec!["--corpus", corpus, "--only", "parse"]),
            Benchmark::DusToPad => ("bench_parse.py", vec!["--corpus", corpus, "--only", "dus-to-pad"]),
            Benchmark::Memory => ("bench_memory.py", vec![]),
            Benchmark::RunTime => ("bench_run_time.py", vec![]),
            Benchmark::Passes => ("bench_passes.py", vec![]),
            Benchmark::Plan => ("bench_plan.py", vec![]),
            Benchmark::Code => ("bench_code.py", vec![]),
            Benchmark::Compile => ("bench_compile.py", vec![]),
            Benchmark::Gpu => ("bench_gpu.py", vec![]),
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
    let all = Benchmark::value_variants();
    let mut missed = Vec::new();
    for &benchmark in if args.benchmarks.is_empty() { all } else { &args.benchmarks } {
        let (script, extra) = benchmark.script(&corpus);
        let path = format!("test/oracle/{script}");
        ensure!(shell.root.join(&path).is_file(), "{path} is missing");
        if extra.contains(&"--corpus") {
            // Its modules are made of the corpora's; this does nothing where they are current.
            let make = shell.command(setup::python(shell), ["-u", "test/oracle/corpus.py", &corpus]);
            shell.must("corpus", &make)?;
        }
        println!("{}", console::style(format!("==> {}", benchmark.name())).bold());
        if benchmark == Benchmark::Gpu {
            if !gpu(shell, &path)? {
                missed.push(benchmark.name());
            }
            continue;
        }
        if benchmark == Benchmark::Memory {
            setup::device_compilers(shell)?;
        }
        let slimhlo = shell.target.join("release/slimhlo").to_string_lossy().into_owned();
        let mut words = vec!["-u", &path, "--opt", &driver];
        if matches!(benchmark, Benchmark::Plan | Benchmark::Code | Benchmark::Compile) {
            setup::assembler_environment(shell)?;
            shell.show(&shell.cargo(["build", "--release", "--package=slimhlo"]))?;
            words = vec!["-u", &path, "--slimhlo", &slimhlo];
        }
        words.extend(extra);
        let done = shell.command(setup::python(shell), words).unchecked().run()?;
        if !done.status.success() {
            missed.push(benchmark.name());
        }
    }
    ensure!(missed.is_empty(), "not all goals are met: {}", missed.join(", "));
    Ok(())
}

/// Builds what compiles and what runs, and compares them with JAX on the GPU that is here; true if there is none.
fn gpu(shell: &Shell, script: &str) -> Result<bool> {
    let smi = which::which("nvidia-smi").ok();
    let found = smi.map(|smi| shell.command(smi, ["-L"]).stdout_null().stderr_null().unchecked().run());
    if !matches!(found, Some(Ok(done)) if done.status.success()) {
        println!("There is no NVIDIA GPU on this machine (nvidia-smi finds none): nothing is measured.");
        return Ok(true);
    }
    setup::gpu_environment(shell)?;
    shell.show(&shell.cargo(["build", "--release", "--package=slimhlo", "--package=slimhlo-runner"]))?;
    let path = |name: &str| shell.target.join(name).to_string_lossy().into_owned();
    let (slimhlo, runner, out) = (path("release/slimhlo"), path("release/slimhlo-run"), path("bench-gpu"));
    // Packages of an earlier build say nothing about this one.
    if Path::new(&out).exists() {
        fs::remove_dir_all(&out).with_context(|| out.clone())?;
    }
    let words = ["-u", script, "run", &out, "--slimhlo", &slimhlo, "--runner", &runner];
    let done = shell.command(setup::python(shell), words).unchecked().run()?;
    Ok(done.status.success())
}
