// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//! The lit tests: by litcheck, by LLVM's lit, and through the plugin.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::{Outcome, Run};
use crate::shell::Shell;

/// What both runners can say about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Pass,
    Fail,
    Unsupported,
}

pub(super) fn litcheck(run: &mut Run) -> Result<Outcome> {
    let command = run
        .shell
        .cargo(["test", "--workspace", "--test", "lit"])
        // The step before has built all.
        .env("SLIMHLO_TEST_NO_BUILD", "1");
    let finished = run.run(&command)?;
    run.verdicts = litcheck_verdicts(&finished.output);
    let mut outcome = counted(&run.verdicts);
    if !finished.ok && outcome.ok() {
        outcome.failed = 1;
        outcome.figure = "did not run to the end".to_owned();
    }
    Ok(outcome)
}

/// The programs of LLVM's run: its own FileCheck, and `slimhlo-opt` as it is or through the plugin.
pub(super) fn llvm(run: &mut Run) -> Result<Outcome> {
    let bin = programs(run.shell, "llvm")?;
    symlink(run.shell.target.join("debug/slimhlo-opt"), bin.join("slimhlo-opt"))?;
    let verdicts = llvm_lit(run, "llvm", &bin, &[])?;
    let expected = run.verdicts.clone();
    let mut differ = 0;
    for file in expected.keys().chain(verdicts.keys().filter(|file| !expected.contains_key(*file))) {
        let (ours, theirs) = (expected.get(file), verdicts.get(file));
        if ours != theirs {
            differ += 1;
            run.say(&format!("{file}: litcheck says {}, LLVM's lit says {}", word(ours), word(theirs)));
        }
    }
    let agree = expected.len().max(verdicts.len()) - differ;
    Ok(Outcome::tests(
        agree,
        differ,
        match differ {
            0 => format!("{agree} files, verdicts agree"),
            _ => format!("verdicts differ on {differ} files"),
        },
    ))
}

/// All lit tests, with a `slimhlo-opt` that is a stock mlir-opt with the plugin. A test of what only the driver has
/// says `UNSUPPORTED: plugin`.
pub(super) fn plugin(run: &mut Run) -> Result<Outcome> {
    let plugin = library(run.shell)?;
    let mlir_opt = run.shell.llvm("mlir-opt");
    // mlir-opt goes on without a plugin that it cannot load, and tests that expect errors might then pass.
    let load = [format!("--load-dialect-plugin={plugin}"), format!("--load-pass-plugin={plugin}")];
    let loaded =
        run.run(&run.shell.command(&mlir_opt, load.into_iter().chain(["--show-dialects".to_owned()])))?;
    if loaded.output.contains("Failed to load") || !loaded.output.contains("stablehlo") {
        return Ok(Outcome::check(false, "mlir-opt does not load the plugin"));
    }
    let bin = programs(run.shell, "plugin")?;
    let script = format!(
        "#!/usr/bin/env bash\nmlir_opt='{}'\nplugin='{plugin}'\n{}",
        mlir_opt.display(),
        include_str!("plugin-opt.sh")
    );
    let wrapper = bin.join("slimhlo-opt");
    fs::write(&wrapper, script)?;
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755))?;
    let verdicts = llvm_lit(run, "plugin", &bin, &["-Dthrough=plugin"])?;
    Ok(counted(&verdicts))
}

fn library(shell: &Shell) -> Result<String> {
    let plugin = shell.target.join("debug/libslimhlo.so");
    ensure!(plugin.is_file(), "{} is missing", plugin.display());
    Ok(plugin.to_string_lossy().into_owned())
}

/// A fresh folder for the programs of a run, with LLVM's in it.
fn programs(shell: &Shell, run: &str) -> Result<PathBuf> {
    let bin = shell.target.join("xtask/lit").join(run).join("bin");
    if bin.exists() {
        fs::remove_dir_all(&bin)?;
    }
    fs::create_dir_all(&bin).with_context(|| format!("cannot create {}", bin.display()))?;
    for tool in ["FileCheck", "not", "split-file", "count", "mlir-opt", "mlir-translate"] {
        symlink(shell.llvm(tool), bin.join(tool))?;
    }
    Ok(bin)
}

fn llvm_lit(run: &mut Run, name: &str, bin: &Path, params: &[&str]) -> Result<BTreeMap<String, Verdict>> {
    let output = run.shell.target.join("xtask/lit").join(name).join("output");
    fs::create_dir_all(&output)?;
    let results = output.join("results.json");
    if results.exists() {
        fs::remove_file(&results)?;
    }
    let mut args = vec![
        "-v".to_owned(),
        // A limit for each test would need a Python module that Debian does not install with lit.
        "--max-time=1200".to_owned(),
        format!("-Dpath={}", bin.display()),
        format!("-Dplugin={}", library(run.shell)?),
        format!("-Doutput={}", output.display()),
        format!("--output={}", results.display()),
    ];
    args.extend(params.iter().map(|&param| param.to_owned()));
    args.push("test".to_owned());
    run.run(&run.shell.command(run.shell.llvm("lit"), args))?;
    let text = fs::read_to_string(&results).context("LLVM's lit wrote no results")?;
    llvm_verdicts(&text)
}

fn counted(verdicts: &BTreeMap<String, Verdict>) -> Outcome {
    let count = |wanted| verdicts.values().filter(|&&verdict| verdict == wanted).count();
    let (passed, failed, unsupported) =
        (count(Verdict::Pass), count(Verdict::Fail), count(Verdict::Unsupported));
    if passed + failed == 0 {
        return Outcome::check(false, "no test ran");
    }
    Outcome::tests(
        passed,
        failed,
        match unsupported {
            0 => format!("{passed} of {} files", passed + failed),
            _ => format!("{passed} of {} files, {unsupported} unsupported", passed + failed),
        },
    )
}

fn word(verdict: Option<&Verdict>) -> &'static str {
    match verdict {
        Some(Verdict::Pass) => "pass",
        Some(Verdict::Fail) => "fail",
        Some(Verdict::Unsupported) => "unsupported",
        None => "there is no such test",
    }
}

/// Reads `test NAME ... ok`.
fn litcheck_verdicts(output: &str) -> BTreeMap<String, Verdict> {
    output
        .lines()
        .filter_map(|line| {
            let (name, outcome) = line.strip_prefix("test ")?.split_once(" ... ")?;
            let verdict = match outcome.split_whitespace().next()? {
                "ok" => Verdict::Pass,
                "FAILED" => Verdict::Fail,
                "ignored" => Verdict::Unsupported,
                _ => return None,
            };
            Some((name.trim().to_owned(), verdict))
        })
        .collect()
}

#[derive(Deserialize)]
struct LitResults {
    tests: Vec<LitTest>,
}

#[derive(Deserialize)]
struct LitTest {
    name: String,
    code: String,
}

/// Reads the file of `lit --output`, whose names are `SUITE :: FILE`.
fn llvm_verdicts(text: &str) -> Result<BTreeMap<String, Verdict>> {
    let results: LitResults = serde_json::from_str(text).context("cannot read the results of LLVM's lit")?;
    results
        .tests
        .into_iter()
        .map(|LitTest { name, code }| {
            let (_, file) = name.split_once(" :: ").with_context(|| format!("'{name}' names no file"))?;
            let verdict = match code.as_str() {
                "PASS" | "FLAKYPASS" | "XFAIL" => Verdict::Pass,
                "UNSUPPORTED" => Verdict::Unsupported,
                _ => Verdict::Fail,
            };
            Ok((file.to_owned(), verdict))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_reports_are_read_alike() -> Result<()> {
        let litcheck = "test a/ok.mlir       ... ok\ntest a/bad.mlir      ... FAILED\n\
            test a/other.mlir    ... ignored (needs more)\ntest result: FAILED. 1 passed; 1 failed\n";
        let llvm = r#"{"tests": [{"code": "XFAIL", "name": "slimhlo :: a/ok.mlir"},
            {"code": "UNRESOLVED", "name": "slimhlo :: a/bad.mlir"},
            {"code": "UNSUPPORTED", "name": "slimhlo :: a/other.mlir"}]}"#;
        assert_eq!(litcheck_verdicts(litcheck), llvm_verdicts(llvm)?);
        assert_eq!(litcheck_verdicts(litcheck).len(), 3);
        Ok(())
    }
}
