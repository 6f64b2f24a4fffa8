// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//! The steps about sources and builds.

use anyhow::{Result, ensure};

use super::{Outcome, Run};
use crate::shell::Finished;

/// What is built, once.
pub(super) const BUILT: [&str; 2] = ["--workspace", "--all-targets"];

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
    let finished = run.run(&run.shell.cargo(["build"].into_iter().chain(BUILT)))?;
    Ok(compiled(&finished, "built"))
}

fn compiled(finished: &Finished, good: &str) -> Outcome {
    let errors = finished.output.lines().filter(|line| line.starts_with("error")).count();
    Outcome::check(finished.ok, if finished.ok { good.to_owned() } else { format!("{errors} errors") })
}

pub(super) fn tests(run: &mut Run) -> Result<Outcome> {
    // The lit tests are a step of their own: they are skipped by their names, since to leave their crate out would be a smaller
    // selection. Documentation tests do not run together with named targets, and `--all-targets` would build tests of crates that say
    // they have none.
    let mut passed = 0;
    let mut failed = 0;
    for args in [
        ["test", "--workspace", "--no-fail-fast", "--tests", "--", "--skip", ".mlir"].as_slice(),
        &["test", "--workspace", "--no-fail-fast", "--doc"],
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

pub(super) fn consumer(run: &mut Run) -> Result<Outcome> {
    let script = run.shell.root.join("test/consumer/run.sh");
    let folder = run.shell.target.join("consumer").to_string_lossy().into_owned();
    let finished = run.run(&run.shell.command(script, [folder, "dev".to_owned()]))?;
    Ok(Outcome::check(finished.ok, if finished.ok { "installed, found, built and ran" } else { "failed" }))
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
