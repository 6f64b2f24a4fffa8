// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//! Runs other programs and shows how they get on.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use duct::Expression;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

/// Lines of a failed command that are shown where its output was not.
const TAIL: usize = 80;

/// Where this checkout and its target directory are, and what kind of terminal listens.
pub struct Shell {
    /// The repository.
    pub root: PathBuf,
    /// Cargo's target directory; all that xtask makes is below it.
    pub target: PathBuf,
    /// Somebody watches: a line that moves per command, instead of all the output.
    pub live: bool,
    /// Those lines.
    progress: MultiProgress,
}

/// How a command ended.
pub struct Finished {
    /// It exited with 0.
    pub ok: bool,
    /// Its standard output and error, in the order they came.
    pub output: String,
}

impl Shell {
    /// Finds out about this checkout and this terminal.
    pub fn new() -> Result<Self> {
        // By cargo, which runs this: a target directory may have been copied from another checkout, with an xtask built
        // there.
        let own = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
        let root =
            Path::new(&own).ancestors().nth(2).context("xtask was not built in tools/xtask of a checkout")?;
        // Cargo puts executables in <target>/<profile>; this follows CARGO_TARGET_DIR and build.target-dir.
        let this = env::current_exe().context("cannot find xtask's own path")?;
        let target = this.ancestors().nth(2).context("xtask does not sit in a target directory")?;
        let ci = env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false");
        let live = !ci && std::io::stderr().is_terminal();
        Ok(Self { root: root.to_owned(), target: target.to_owned(), live, progress: MultiProgress::new() })
    }

    /// A command to be run in the repository.
    pub fn command<I, S>(&self, program: impl AsRef<OsStr>, args: I) -> Expression
    where
        I: IntoIterator<Item = S>,
        S: Into<OsString>,
    {
        // Cargo, maturin and CMake all get to build scripts, whose libraries of C++ are kept there (build/cxx.rs).
        duct::cmd(program.as_ref().to_owned(), args)
            .dir(&self.root)
            .env("SLIMHLO_CXX_STORE", self.target.join("cxx"))
    }

    /// `cargo` with these arguments.
    pub fn cargo<I, S>(&self, args: I) -> Expression
    where
        I: IntoIterator<Item = S>,
        S: Into<OsString>,
    {
        self.command(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()), args)
    }

    /// A program of LLVM 22.
    pub fn llvm(&self, tool: &str) -> PathBuf {
        llvm_prefix().join("bin").join(tool)
    }

    /// Runs a command to its end, whatever that is. On a terminal its last line moves behind `title`; otherwise
    /// all lines are printed.
    pub fn watch(&self, title: &str, command: &Expression) -> Result<Finished> {
        self.watch_beside(title, command, false)
    }

    /// The same, but what it prints is not shown if others run `beside` it.
    pub fn watch_beside(&self, title: &str, command: &Expression, beside: bool) -> Result<Finished> {
        let reader = command
            .stdin_null()
            .stderr_to_stdout()
            .unchecked()
            .reader()
            .with_context(|| format!("cannot start {command:?}"))?;
        let spinner = self.live.then(|| self.progress.add(spinner(title)));
        let mut lines = BufReader::new(&reader);
        let mut output = String::new();
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line)? > 0 {
            let text = String::from_utf8_lossy(&line);
            match &spinner {
                Some(spinner) => spinner.set_message(text.trim().to_owned()),
                None if beside => {}
                None => print!("{text}"),
            }
            output.push_str(&text);
            line.clear();
        }
        if let Some(spinner) = spinner {
            spinner.finish_and_clear();
        }
        let status = reader.try_wait()?.context("a command closed its output but did not end")?.status;
        Ok(Finished { ok: status.success(), output })
    }

    /// Prints a line or more, above the lines that move.
    pub fn say(&self, text: &str) {
        self.progress.suspend(|| println!("{text}"));
    }

    /// Runs a command that must succeed.
    pub fn must(&self, title: &str, command: &Expression) -> Result<String> {
        let finished = self.watch(title, command)?;
        if !finished.ok {
            if self.live {
                eprintln!("{}", finished.tail());
            }
            bail!("{title} failed");
        }
        Ok(finished.output)
    }

    /// Runs a command on this very terminal, for those that show their own progress.
    pub fn show(&self, command: &Expression) -> Result<()> {
        command.run().map(drop).with_context(|| format!("{command:?} failed"))
    }
}

impl Finished {
    /// The end of the output.
    pub fn tail(&self) -> String {
        let lines: Vec<&str> = self.output.lines().collect();
        lines[lines.len().saturating_sub(TAIL)..].join("\n")
    }
}

/// Where LLVM is; .cargo/config.toml sets the variable for all that cargo runs.
pub fn llvm_prefix() -> PathBuf {
    env::var_os("MLIR_SYS_220_PREFIX").unwrap_or_else(|| "/usr/lib/llvm-22".into()).into()
}

fn spinner(title: &str) -> ProgressBar {
    let spinner = ProgressBar::new_spinner().with_prefix(title.to_owned());
    if let Ok(style) = ProgressStyle::with_template("{spinner:.cyan} {prefix} {elapsed:.dim} {wide_msg:.dim}")
    {
        spinner.set_style(style);
    }
    spinner.enable_steady_tick(Duration::from_millis(120));
    spinner
}
