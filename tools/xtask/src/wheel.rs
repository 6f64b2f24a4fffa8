// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//! `cargo xtask wheel`: the Python package, with all that it needs of MLIR in it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use duct::Expression;

use crate::shell::Shell;
use crate::{pjrt, setup};

/// What to build.
#[derive(clap::Args)]
pub struct Args {}

/// Builds the wheel and says where it is.
pub fn main(shell: &Shell, _: &Args) -> Result<()> {
    setup::ensure(shell, true)?;
    tools(shell)?;
    shell.show(&command(shell))?;
    println!("{}", find(shell)?.display());
    Ok(())
}

/// Makes the environment with what builds and tests the wheel, once per state of python/*requirements.txt.
pub fn tools(shell: &Shell) -> Result<()> {
    let file = shell.root.join("python/requirements.txt");
    let used_in_tests = shell.root.join("python/test-requirements.txt");
    let read =
        |file: &Path| fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()));
    let wanted = read(&file)? + &read(&used_in_tests)?;
    let folder = shell.target.join("wheel-tools");
    let stamp = folder.join("requirements.txt");
    if fs::read_to_string(&stamp).is_ok_and(|made_from| made_from == wanted) {
        return Ok(());
    }
    environment(shell, &folder)?;
    install(shell, &folder, &["-r", &file.to_string_lossy()])?;
    install(shell, &folder, &["--no-deps", "-r", &used_in_tests.to_string_lossy()])?;
    // Last, so that an environment that was not finished is made again.
    fs::write(&stamp, wanted)?;
    Ok(())
}

/// An empty environment of the Python that the oracle has.
fn environment(shell: &Shell, folder: &Path) -> Result<()> {
    let folder = folder.to_string_lossy().into_owned();
    let make = shell.command(setup::python(shell), ["-m", "venv", "--clear", &folder]);
    shell.must("python -m venv", &make).map(drop)
}

fn install(shell: &Shell, folder: &Path, what: &[&str]) -> Result<()> {
    let mut words = vec!["-m", "pip", "install", "--disable-pip-version-check", "--progress-bar=off"];
    words.extend(what);
    shell.must("pip install", &shell.command(folder.join("bin/python"), words)).map(drop)
}

/// What builds the wheel.
pub fn command(shell: &Shell) -> Expression {
    let maturin = shell.target.join("wheel-tools/bin/maturin");
    let path = |name: &str| shell.target.join(name).to_string_lossy().into_owned();
    let words = [
        "build".to_owned(),
        "--release".into(),
        "--locked".into(),
        // What it needs of the system is in docs/pjrt.md; no container of old libraries is at hand to link
        // with.
        "--compatibility".into(),
        "linux".into(),
        "--manifest-path".into(),
        "python/Cargo.toml".into(),
        "--target-dir".into(),
        path("standalone"),
        "--out".into(),
        path("wheels"),
    ];
    pjrt::alone(shell.command(maturin, words))
}

/// The wheel that was built last.
pub fn find(shell: &Shell) -> Result<PathBuf> {
    let folder = shell.target.join("wheels");
    let mut wheels: Vec<_> = fs::read_dir(&folder)?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "whl"))
        .collect();
    wheels.sort_by_key(|path| fs::metadata(path).and_then(|metadata| metadata.modified()).ok());
    let last = wheels.pop();
    ensure!(last.is_some(), "no wheel in {}", folder.display());
    Ok(last.unwrap_or_default())
}

/// Builds the wheel and installs it for a benchmark; returns that Python.
pub fn built_and_installed(shell: &Shell) -> Result<PathBuf> {
    tools(shell)?;
    shell.show(&command(shell))?;
    installed(shell)
}

/// Installs the wheel into an environment of its own, which sees JAX in the oracle's, and returns its Python.
pub fn installed(shell: &Shell) -> Result<PathBuf> {
    let folder = shell.target.join("wheel-test");
    environment(shell, &folder)?;
    let wheel = find(shell)?.to_string_lossy().into_owned();
    install(shell, &folder, &["--no-deps", &wheel])?;
    let python = folder.join("bin/python");
    let packages = |python: &Path| -> Result<String> {
        let line = "import sysconfig; print(sysconfig.get_path('purelib'))";
        Ok(shell.command(python, ["-c", line]).read()?)
    };
    let others = [packages(&setup::python(shell))?, packages(&shell.target.join("wheel-tools/bin/python"))?];
    let list = Path::new(&packages(&python)?).join("others.pth");
    fs::write(&list, others.join("\n")).with_context(|| format!("cannot write {}", list.display()))?;
    Ok(python)
}
