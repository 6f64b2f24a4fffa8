// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//! The steps about sources and builds.

use std::env;

use anyhow::{Result, ensure};

use super::{Outcome, Run};
use crate::shell::{Finished, llvm_prefix};

pub(super) fn fmt(run: &mut Run) -> Result<Outcome> {
    let finished = run.run(&run.shell.cargo(["fmt", "--all", "--", "--check"]))?;
    let hunks = finished.output.lines().filter(|line| line.starts_with("Diff in ")).count();
    Ok(Outcome::check(
        finished.ok,
        match (finished.ok, hunks) {
            (true, _) => "formatted".to_owned(),
            (false, 0) => "cargo fmt did not run".to_owned(),
            (false, hunks) => format!("{hunks} places; `cargo fmt --all` formats them"),
        },
    ))
}

pub(super) fn clang_format(run: &mut Run) -> Result<Outcome> {
    let patterns = ["*.h", "*.cpp"];
    let args = ["ls-files", "--cached", "--others", "--exclude-standard", "--"];
    let listed = run.shell.command("git", args.into_iter().chain(patterns)).read()?;
    // A file deleted but not staged is still listed.
    let files: Vec<&str> = listed.lines().filter(|file| run.shell.root.join(file).is_file()).collect();
    ensure!(!files.is_empty(), "found no C++ sources");
    let args = ["--dry-run", "-Werror"].into_iter().chain(files.iter().copied());
    let finished = run.run(&run.shell.command(run.shell.llvm("clang-format"), args))?;
    Ok(Outcome::check(
        finished.ok,
        match finished.ok {
            true => format!("{} files formatted", files.len()),
            false => "`/usr/lib/llvm-22/bin/clang-format -i` on the files above formats them".to_owned(),
        },
    ))
}

pub(super) fn clippy(run: &mut Run) -> Result<Outcome> {
    let args = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    let finished = run.run(&run.shell.cargo(args))?;
    Ok(compiled(&finished, "clean"))
}

pub(super) fn build(run: &mut Run) -> Result<Outcome> {
    let finished = run.run(&run.shell.cargo(["build", "--workspace", "--all-targets"]))?;
    Ok(compiled(&finished, "built"))
}

fn compiled(finished: &Finished, good: &str) -> Outcome {
    let errors = finished.output.lines().filter(|line| line.starts_with("error")).count();
    Outcome::check(finished.ok, if finished.ok { good.to_owned() } else { format!("{errors} errors") })
}

pub(super) fn tests(run: &mut Run) -> Result<Outcome> {
    // The lit tests are a step of their own. Documentation tests do not run together with named targets.
    let mut passed = 0;
    let mut failed = 0;
    for args in [
        ["test", "--workspace", "--no-fail-fast", "--exclude", "slimhlo-test", "--all-targets"].as_slice(),
        &["test", "--workspace", "--no-fail-fast", "--exclude", "slimhlo-test", "--doc"],
    ] {
        let finished = run.run(&run.shell.cargo(args.iter().copied()))?;
        let counts = cargo_counts(&finished.output);
        passed += counts.0;
        // What does not compile or dies has no count.
        failed += counts.1.max((!finished.ok).into());
    }
    Ok(Outcome::tests(passed, failed, format!("{} tests", passed + failed)))
}

/// Sums the `test result:` lines of cargo test: passed and failed.
pub(super) fn cargo_counts(output: &str) -> (usize, usize) {
    let count = |line: &str, what: &str| -> usize {
        line.split([';', '.'])
            .filter_map(|part| part.trim().strip_suffix(what))
            .filter_map(|number| number.trim().parse::<usize>().ok())
            .sum()
    };
    let results = output.lines().filter(|line| line.starts_with("test result: "));
    results.fold((0, 0), |(passed, failed), line| {
        (passed + count(line, "passed"), failed + count(line, "failed"))
    })
}

/// Installs slimhlo for C++ users, builds the program of one, and runs it.
pub(super) fn consumer(run: &mut Run) -> Result<Outcome> {
    let shell = run.shell;
    let folder = |name: &str| shell.target.join("xtask/consumer").join(name).to_string_lossy().into_owned();
    let (package, prefix, build) = (folder("package"), folder("prefix"), folder("build"));
    let cargo = env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let package_args = [
        "-S",
        "cmake",
        "-B",
        &package,
        &format!("-DCARGO={cargo}"),
        "-DSLIMHLO_CARGO_PROFILE=dev",
        // The selection of the build step, so that cargo finds all built.
        "-DSLIMHLO_CARGO_FLAGS=--workspace",
    ]
    .map(str::to_owned);
    let configure_args = [
        "-S",
        "test/consumer",
        "-B",
        &build,
        "-GNinja",
        &format!("-DCMAKE_CXX_COMPILER={}", shell.llvm("clang++").display()),
        &format!("-DCMAKE_PREFIX_PATH={prefix};{}", llvm_prefix().display()),
    ]
    .map(str::to_owned);
    for (what, command) in [
        ("the package does not configure", shell.command("cmake", package_args)),
        (
            "the package does not install",
            shell.command("cmake", ["--install", &package, "--prefix", &prefix]),
        ),
        ("the program does not find the package", shell.command("cmake", configure_args)),
        ("the program does not build", shell.command("cmake", ["--build", &build])),
    ] {
        if !run.run(&command)?.ok {
            return Ok(Outcome::check(false, what));
        }
    }
    // The program makes an update of zeros and runs dus-to-pad over it.
    let finished = run.run(&shell.command(format!("{build}/consumer"), [] as [&str; 0]))?;
    let rewritten = finished.output.contains("stablehlo.pad")
        && !finished.output.contains("stablehlo.dynamic_update_slice");
    Ok(match (finished.ok, rewritten) {
        (true, true) => Outcome::check(true, "installed, found, built and ran"),
        (true, false) => Outcome::check(false, "the program printed what no pass had rewritten"),
        (false, _) => Outcome::check(false, "the program failed"),
    })
}

#[cfg(test)]
mod tests {
    use super::cargo_counts;

    #[test]
    fn counts_of_all_targets_are_summed() {
        let output = "running 3 tests\ntest a::failed ... ok\n\
            test result: FAILED. 2 passed; 1 failed; 4 ignored; 0 measured; 0 filtered out; finished in 0.38s\n\
            test result: ok. 10 passed; 0 failed; 0 ignored; 0 measured; 5 filtered out; finished in 1.00s\n";
        assert_eq!(cargo_counts(output), (12, 1));
    }
}
