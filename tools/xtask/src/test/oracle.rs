// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//! The steps that ask jaxlib (test/oracle).

use std::fs::{self, File};
use std::io::{BufRead, BufReader};

use anyhow::{Result, ensure};
use duct::Expression;

use super::{Outcome, Run};
use crate::setup;
use crate::shell::Shell;

/// Folder of the corpora, below the target directory.
pub const CORPUS: &str = "oracle";

pub(super) fn corpus(run: &mut Run) -> Result<Outcome> {
    let path = run.shell.target.join(CORPUS);
    let folder = path.to_string_lossy().into_owned();
    let mut outcome = script(run, "corpus.py", &[&folder])?;
    let mut modules = 0;
    for entry in fs::read_dir(&path)? {
        let file = entry?.path();
        let corpus = file.extension().is_some_and(|extension| extension == "jsonl");
        if corpus && file.file_stem().is_some_and(|stem| !stem.to_string_lossy().ends_with("skipped")) {
            modules += BufReader::new(File::open(&file)?).lines().count();
        }
    }
    outcome.figure = format!("{modules} modules");
    Ok(outcome)
}

pub(super) fn roundtrip(run: &mut Run) -> Result<Outcome> {
    let folder = run.shell.target.join(CORPUS).to_string_lossy().into_owned();
    with_driver(run, "roundtrip.py", &["--corpus", &folder])
}

pub(super) fn forms(run: &mut Run) -> Result<Outcome> {
    let folder = run.shell.target.join(CORPUS).to_string_lossy().into_owned();
    let mut args = vec!["--corpus", &folder];
    let found = run.shell.target.join("xtask/forms.jsonl").to_string_lossy().into_owned();
    // What takes minutes goes on where it was ended.
    args.extend(run.all.then_some(["--all", "--journal", &found]).into_iter().flatten());
    let mut outcome = with_converter(run, "forms.py", &args)?;
    let mib = if run.all { "1024" } else { "64" };
    let large = with_driver(run, "large_constants.py", &["--mib", mib])?;
    outcome.passed += large.passed;
    outcome.failed += large.failed;
    Ok(outcome)
}

/// Text of StableHLO and of VHLO.
pub(super) fn syntax(run: &mut Run) -> Result<Outcome> {
    let count = (if run.all { 15_000 } else { 1500 }).to_string();
    let mut outcome = with_driver(run, "syntax.py", &["--count", &count, "--seed", "1"])?;
    let vhlo = with_converter(run, "vhlo_syntax.py", &["--count", &count, "--seed", "1"])?;
    outcome.passed += vhlo.passed;
    outcome.failed += vhlo.failed;
    Ok(outcome)
}

pub(super) fn fuzz_forms(run: &mut Run) -> Result<Outcome> {
    let folder = run.shell.target.join(CORPUS).to_string_lossy().into_owned();
    let count = if run.all { "100000" } else { "10000" };
    with_converter(run, "fuzz_forms.py", &["--corpus", &folder, "--count", count, "--seed", "0"])
}

/// A script that runs `convert-forms`.
fn with_converter(run: &mut Run, name: &str, args: &[&str]) -> Result<Outcome> {
    let converter = run.shell.target.join("debug/convert-forms").to_string_lossy().into_owned();
    let mut all = vec!["--convert", &converter];
    all.extend(args);
    script(run, name, &all)
}

pub(super) fn mutate(run: &mut Run) -> Result<Outcome> {
    let folder = run.shell.target.join(CORPUS).to_string_lossy().into_owned();
    with_driver(run, "mutate.py", &["--corpus", &folder, "--count", "5000", "--seed", "0"])
}

pub(super) fn differential(run: &mut Run) -> Result<Outcome> {
    // With `=`, since the value looks like a flag.
    let args = ["--pipeline=--slimhlo-dus-to-pad", "--count", "1500", "--seed", "0"];
    with_driver(run, "differential.py", &args)
}

/// A differential test that generates programs: so many of them, and so many when all is asked for.
///
/// What takes the time is XLA's compiler, before and after; the first numbers are a sample, so that the whole of `cargo xtask test`
/// may end within 50 minutes on two cores.
pub(super) fn generated(run: &mut Run, name: &str, counts: [usize; 2]) -> Result<Outcome> {
    let count = counts[usize::from(run.all)].to_string();
    with_driver(run, name, &["--count", &count, "--seed", "1"])
}

/// Generated modules, 2,000 of them in a long run, some of them for an H100, and some with sums that are left
/// unreduced; and a step of an ocean model.
pub(super) fn sharded_fields(run: &mut Run) -> Result<Outcome> {
    let (count, more) = if run.all { ("2000", "200") } else { ("60", "20") };
    let mut outcome = with_driver(run, "sharded_fields.py", &["--count", count, "--seed", "1"])?;
    let gpu = ["--target", "h100", "--most", "8", "--count", more, "--seed", "3"];
    let partial = ["--kinds", "partial", "--count", "20", "--seed", "2"];
    let mut steps = Vec::with_capacity(3);
    for arguments in [gpu.as_slice(), &partial] {
        steps.push(with_driver(run, "sharded_fields.py", arguments)?);
    }
    steps.push(with_driver(run, "ocean_step.py", &["--check"])?);
    for step in steps {
        outcome.passed += step.passed;
        outcome.failed += step.failed;
    }
    Ok(outcome)
}

pub(super) fn optimize(run: &mut Run) -> Result<Outcome> {
    let folder = run.shell.target.join(CORPUS).to_string_lossy().into_owned();
    let mut args = vec!["--corpus", &folder];
    args.extend(if run.all { ["--all"].as_slice() } else { &["--sample", "160"] });
    with_driver(run, "optimize.py", &args)
}

pub(super) fn memory_model(run: &mut Run) -> Result<Outcome> {
    let folder = run.shell.target.join(CORPUS).to_string_lossy().into_owned();
    let mut args = vec!["--corpus", &folder, "--pipeline=--slimhlo-optimize=target=xla-cpu"];
    if !run.all {
        args.extend(["--sample", "250"]);
    }
    let mut outcome = with_driver(run, "memory_model.py", &args)?;
    let joins = with_driver(run, "joins.py", &[])?;
    outcome.passed += joins.passed;
    outcome.failed += joins.failed;
    Ok(outcome)
}

pub(super) fn backend(run: &mut Run) -> Result<Outcome> {
    let folder = run.shell.target.join(CORPUS).to_string_lossy().into_owned();
    let mut args = vec!["--corpus", &folder];
    args.extend(run.all.then_some("--all"));
    with_command(run, "backend.py", &args)
}

pub(super) fn kernels(run: &mut Run) -> Result<Outcome> {
    let args = if run.all { ["--all"].as_slice() } else { &[] };
    with_command(run, "kernels.py", args)
}

/// A script that runs `slimhlo`.
pub(super) fn with_command(run: &mut Run, name: &str, args: &[&str]) -> Result<Outcome> {
    let command = run.shell.target.join("debug/slimhlo").to_string_lossy().into_owned();
    let mut all = vec!["--slimhlo", &command];
    all.extend(args);
    script(run, name, &all)
}

pub(super) fn referees(run: &mut Run) -> Result<Outcome> {
    script(run, "referees.py", &[])
}

/// The command that lowers the sample of the corpus into a folder, at small sizes; what is there stays.
pub(crate) fn lower_small_corpus(shell: &Shell, folder: &str) -> Result<Expression> {
    setup::sample_environment(shell)?;
    let lower = ["-u", "test/corpus/lower.py", folder, "--small", "--installed"];
    Ok(shell.command(setup::sample_python(shell), lower))
}

/// A sample of the corpus, of libraries that come as a few packages.
pub(super) fn libraries(run: &mut Run) -> Result<Outcome> {
    let folder = run.shell.target.join("corpus/small").to_string_lossy().into_owned();
    let lowered = run.run(&lower_small_corpus(run.shell, &folder)?)?;
    ensure!(lowered.ok, "not all programs of the sample can be lowered");
    with_driver(run, "bench_corpus.py", &[&folder, "--check", "--shares", "4"])
}

pub(super) fn ptxas(run: &mut Run) -> Result<Outcome> {
    setup::assembler_environment(run.shell)?;
    with_command(run, "ptxas.py", &[])
}

pub(super) fn with_driver(run: &mut Run, name: &str, args: &[&str]) -> Result<Outcome> {
    let driver = run.shell.target.join("debug/slimhlo-opt").to_string_lossy().into_owned();
    let mut all = vec!["--opt", &driver];
    all.extend(args);
    script(run, name, &all)
}

/// Runs a script of the oracle; its exit status is the verdict and its last line the figure.
pub(super) fn script(run: &mut Run, name: &str, args: &[&str]) -> Result<Outcome> {
    let path = format!("test/oracle/{name}");
    ensure!(run.shell.root.join(&path).is_file(), "{path} is missing");
    // -u: lines are progress, and a pipe would hold them back.
    let mut all = vec!["-u", &path];
    all.extend(args);
    let command = run.shell.command(setup::python(run.shell), all);
    judged(run, &command)
}

/// Runs what says at last what passed and what failed.
pub(super) fn judged(run: &mut Run, command: &Expression) -> Result<Outcome> {
    let finished = run.run(command)?;
    let figure = finished.output.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("");
    Ok(match counts(figure) {
        Some((passed, failed)) => {
            // Whatever ended a script early is a failure besides those that it counted.
            Outcome::tests(passed, failed.max((!finished.ok).into()), figure)
        }
        None => Outcome::check(finished.ok, figure),
    })
}

/// Reads `N passed, M failed` at the start of a line.
fn counts(line: &str) -> Option<(usize, usize)> {
    let (passed, rest) = line.split_once(" passed, ")?;
    let (failed, _) = rest.split_once(" failed")?;
    Some((passed.parse().ok()?, failed.parse().ok()?))
}
