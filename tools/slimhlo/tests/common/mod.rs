// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Runs the command in a folder of its own.

#![allow(dead_code, reason = "each test binary uses its part")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// What came of a run.
pub struct Run {
    pub status: i32,
    pub out: Vec<u8>,
    pub err: String,
}

impl Run {
    /// Standard output as text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.out).expect("text")
    }

    /// Standard output as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.out)
            .unwrap_or_else(|error| panic!("{error}: {}\n{}", self.text(), self.err))
    }

    /// The same, after a look at the exit status.
    pub fn exits(self, status: i32) -> Self {
        assert_eq!(self.status, status, "{}\n{}", String::from_utf8_lossy(&self.out), self.err);
        self
    }
}

/// A folder that goes away with the test.
pub struct Folder(TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).expect("a file");
        path
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("a text file")
    }

    /// All names in it.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).expect("a folder");
        let mut names: Vec<_> = entries
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
            .collect();
        names.sort();
        names
    }

    /// Runs `slimhlo` here, with nothing on standard input.
    pub fn run(&self, arguments: &[&str]) -> Run {
        self.feed(arguments, b"")
    }

    /// Runs `slimhlo` here with `input` on standard input.
    pub fn feed(&self, arguments: &[&str], input: &[u8]) -> Run {
        self.start(arguments, &[], input)
    }

    /// Runs `slimhlo` here with variables in its environment.
    pub fn run_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Run {
        self.start(arguments, variables, b"")
    }

    fn start(&self, arguments: &[&str], variables: &[(&str, &str)], input: &[u8]) -> Run {
        let mut child = Command::new(env!("CARGO_BIN_EXE_slimhlo"))
            .args(arguments)
            .env_remove("XLA_CLIENT_MEM_FRACTION")
            .env_remove("XLA_PYTHON_CLIENT_MEM_FRACTION")
            .envs(variables.iter().copied())
            .current_dir(self.0.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("slimhlo runs");
        let mut pipe = child.stdin.take().expect("a pipe");
        let input = input.to_vec();
        // It may end before it has read all.
        let writer = std::thread::spawn(move || drop(pipe.write_all(&input)));
        let done = child.wait_with_output().expect("slimhlo ends");
        writer.join().expect("the writer ends");
        let status = done.status.code().unwrap_or_else(|| panic!("ended by a signal: {:?}", done.status));
        Run { status, out: done.stdout, err: String::from_utf8_lossy(&done.stderr).into_owned() }
    }
}

/// A module of test/data.
pub fn data(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../test/data").join(name);
    fs::canonicalize(&path).expect("test data").into_os_string().into_string().expect("a name")
}

/// A chain of elementwise ops.
pub fn chain(ops: usize) -> String {
    use std::fmt::Write;
    let mut text = String::from("func.func @main(%v0: tensor<1024xf32>) -> tensor<1024xf32> {\n");
    for op in 0..ops {
        let name = ["sine", "cosine", "tanh", "exponential"][op % 4];
        writeln!(text, "  %v{} = stablehlo.{name} %v{op} : tensor<1024xf32>", op + 1).expect("text");
    }
    write!(text, "  return %v{ops} : tensor<1024xf32>\n}}\n").expect("text");
    text
}
