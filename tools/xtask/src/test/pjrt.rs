// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//! The step about the PJRT layer: the library that stands alone, around a plugin that writes down how it is
//! called, around XLA's for GPUs and TPUs, which compile without a device, and around XLA's for CPUs, which run what they compile.

use std::path::Path;

use anyhow::Result;

use super::cargo::cargo_counts;
use super::{Outcome, Run, oracle};
use crate::{pjrt, wheel};

/// Bytes that the library, and the wheel, may have.
const LARGEST: u64 = 100 << 20;

/// Libraries that every Linux has which runs Python's wheels.
const EVERYWHERE: [&str; 7] = [
    "libc.so.6",
    "libm.so.6",
    "libgcc_s.so.1",
    "libstdc++.so.6",
    "libpthread.so.0",
    "libdl.so.2",
    "ld-linux-x86-64.so.2",
];

/// What the library shows: PJRT's function, Python's, and the C functions through which the dialects' C++ asks Rust,
/// which are bound inside.
const SHOWN: [&str; 3] = ["GetPjrtApi", "PyInit__slimhlo", "slimhlo"];

pub(super) fn pjrt(run: &mut Run) -> Result<Outcome> {
    if !run.run(&pjrt::command(run.shell))?.ok {
        return Ok(Outcome::check(false, "does not build alone"));
    }
    let library = pjrt::library(run.shell);
    let mut failed = alone(run, &library)?;
    let size = library.metadata()?.len();
    if size > LARGEST {
        run.say(&format!("{} has {size} bytes, more than {LARGEST}", library.display()));
        failed += 1;
    }
    let args = ["test", "--workspace", "--test", "layer", "--no-fail-fast"];
    let finished = run.run(&run.shell.cargo(args).env("SLIMHLO_TEST_LAYER", &library))?;
    let (passed, broken) = cargo_counts(&finished.output);
    failed += broken.max((!finished.ok).into());

    let compile = run.shell.target.join("debug/examples/compile");
    let words = [
        "--library".to_owned(),
        library.to_string_lossy().into_owned(),
        "--compile".to_owned(),
        compile.to_string_lossy().into_owned(),
    ];
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    let found = run.shell.target.join("xtask/pjrt.jsonl").to_string_lossy().into_owned();
    words.extend(run.all.then_some(["--all", "--journal", &found]).into_iter().flatten());
    let with_xla = oracle::with_driver(run, "pjrt.py", &words)?;
    let library = library.to_string_lossy();
    let mut words = vec!["--library", &library];
    words.extend(run.all.then_some("--all"));
    let ran = oracle::script(run, "pjrt_run.py", &words)?;
    let figure = format!("{} MiB; {}; run: {}", size >> 20, with_xla.figure, ran.figure);
    let passed = passed + with_xla.passed + ran.passed;
    Ok(Outcome::tests(passed, failed + with_xla.failed + ran.failed, figure))
}

/// Harnesses of JAX's that `slimhlo.jit` is held against `jax.jit` on: a sample, and when all is asked for.
const HARNESSES: [&str; 2] = ["60", "1000"];

/// Builds the wheel, installs it, runs its tests, and compares with `jax.jit` on JAX's programs.
pub(super) fn wheel(run: &mut Run) -> Result<Outcome> {
    wheel::tools(run.shell)?;
    if !run.run(&wheel::command(run.shell))?.ok {
        return Ok(Outcome::check(false, "does not build"));
    }
    let size = wheel::find(run.shell)?.metadata()?.len();
    let python = wheel::installed(run.shell)?;
    let path = ["-c", "import slimhlo; print(slimhlo.library_path())"];
    let needing = alone(run, Path::new(&run.shell.command(&python, path).read()?))?;
    let oracle = run.shell.root.join("test/oracle");
    let words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "python/tests"];
    let finished = run.run(&run.shell.command(&python, words).env("SLIMHLO_ORACLE", oracle))?;
    let last = finished.output.lines().rfind(|line| line.contains(" in ")).unwrap_or_default();
    let count = |what: &str| -> usize {
        let words: Vec<&str> = last.split([' ', ',']).collect();
        let place = words.iter().position(|word| word.trim_matches('=') == what);
        place.and_then(|place| words.get(place.checked_sub(1)?)?.parse().ok()).unwrap_or(0)
    };
    let (passed, failed) = (count("passed"), count("failed") + count("error") + count("errors"));
    let too_large = usize::from(size > LARGEST);
    let failed = (failed + too_large + needing).max((!finished.ok).into());
    let mut words = vec!["-u", "test/oracle/jit.py", "--count", HARNESSES[usize::from(run.all)]];
    words.extend((!run.all).then_some("--no-references"));
    let compared = oracle::judged(run, &run.shell.command(&python, words))?;
    let python = python.to_string_lossy();
    let mib = if run.all { "1024" } else { "64" };
    let large = oracle::with_driver(run, "large_constants.py", &["--mib", mib, "--python", &python])?;
    let figure = format!("{passed} tests, wheel of {} MiB; slimhlo.jit: {}", size >> 20, compared.figure);
    let passed = passed + compared.passed + large.passed;
    Ok(Outcome::tests(passed, failed + compared.failed + large.failed, figure))
}

/// How many libraries it needs that are not everywhere, and how many symbols it shows that it should not.
fn alone(run: &mut Run, library: &Path) -> Result<usize> {
    let library = library.to_string_lossy().into_owned();
    let needed = run.run(&run.shell.command(run.shell.llvm("llvm-readelf"), ["--needed-libs", &library]))?;
    let shown = ["-D", "--defined-only", "--format=just-symbols", &library];
    let shown = run.run(&run.shell.command(run.shell.llvm("llvm-nm"), shown))?;
    let mut odd = 0;
    let libraries = needed.output.lines().map(str::trim).filter(|line| line.contains(".so"));
    for name in libraries.filter(|name| !EVERYWHERE.contains(name)) {
        run.say(&format!("{library} needs {name}"));
        odd += 1;
    }
    let symbols: Vec<&str> = shown.output.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    for name in symbols.iter().filter(|name| !SHOWN.iter().any(|prefix| name.starts_with(prefix))) {
        run.say(&format!("{library} shows {name}"));
        odd += 1;
    }
    if !needed.ok || !shown.ok || !symbols.contains(&"GetPjrtApi") {
        run.say(&format!("{library} is no PJRT plugin"));
        odd += 1;
    }
    Ok(odd)
}
