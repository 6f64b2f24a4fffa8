// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What `slimhlo-opt` leaves of its output where something comes in between: signals, full disks, closed pipes.

use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const MODULE: &str = "func.func @f(%a: tensor<2xf32>) -> tensor<2xf32> {\n  return %a : tensor<2xf32>\n}\n";

fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("in.mlir"), MODULE).expect("a file");
    folder
}

fn command(folder: &TempDir, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slimhlo-opt"));
    command.args(arguments).current_dir(folder.path());
    command
}

/// All names in a folder.
fn names(folder: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(folder.path()).expect("a folder");
    let mut names: Vec<_> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Waits until a program that reads standard input has opened its output, and so has passed all preparations.
fn wait_for_output(child: &Child, folder: &Path) {
    let folder = fs::canonicalize(folder).expect("a folder");
    let open = || {
        let files = fs::read_dir(format!("/proc/{}/fd", child.id())).into_iter().flatten();
        files
            .flatten()
            .filter_map(|file| fs::read_link(file.path()).ok())
            .any(|file| file.starts_with(&folder))
    };
    let start = Instant::now();
    while !open() {
        assert!(start.elapsed() < Duration::from_secs(60), "no output was opened");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Runs the driver, sends it a signal while it waits for its input, then gives it the input. Returns how it ended.
fn interrupted(folder: &TempDir, signal: Signal, ignored: bool) -> std::process::ExitStatus {
    let driver = env!("CARGO_BIN_EXE_slimhlo-opt");
    // What a shell does to programs in the background, and nohup to all, these tests among them.
    let kind = if ignored { "ignore" } else { "default" };
    let mut child = Command::new("env")
        .arg(format!("--{kind}-signal=INT,HUP"))
        .args([driver, "-", "-o", "out.mlir"])
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .spawn()
        .expect("env");
    let mut input = child.stdin.take().expect("a pipe");
    wait_for_output(&child, folder.path());
    kill_process(Pid::from_child(&child), signal).expect("a signal is sent");
    if !ignored {
        // While its input is open.
        return child.wait().expect("it ends");
    }
    input.write_all(MODULE.as_bytes()).expect("it reads on");
    drop(input);
    child.wait().expect("it ends")
}

#[test]
fn a_signal_ends_the_run_and_leaves_what_was_there() {
    let folder = folder();
    for (signal, number) in [(Signal::INT, 2), (Signal::TERM, 15), (Signal::HUP, 1), (Signal::KILL, 9)] {
        fs::write(folder.path().join("out.mlir"), "what was there").expect("a file");
        let status = interrupted(&folder, signal, false);
        assert_eq!(status.signal(), Some(number));
        let left = fs::read_to_string(folder.path().join("out.mlir")).expect("a file");
        assert_eq!((left.as_str(), names(&folder).len()), ("what was there", 2));
    }
}

#[test]
fn a_signal_that_is_ignored_changes_nothing() {
    for signal in [Signal::INT, Signal::HUP] {
        let folder = folder();
        assert_eq!(interrupted(&folder, signal, true).code(), Some(0));
        let text = fs::read_to_string(folder.path().join("out.mlir")).expect("a file");
        assert!(text.contains("func.func @f"), "{text}");
        assert_eq!(names(&folder), ["in.mlir", "out.mlir"]);
    }
}

#[test]
fn mode_and_links_stay() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("real.mlir"), "old").expect("a file");
    fs::set_permissions(path("real.mlir"), Permissions::from_mode(0o640)).expect("a mode");
    symlink("real.mlir", path("link.mlir")).expect("a link");
    symlink("new.mlir", path("dangling.mlir")).expect("a link");
    for output in ["link.mlir", "dangling.mlir"] {
        assert!(command(&folder, &["in.mlir", "-o", output]).status().expect("it runs").success());
    }
    assert_eq!(fs::metadata(path("real.mlir")).expect("a file").permissions().mode() & 0o7777, 0o640);
    for (link, file) in [("link.mlir", "real.mlir"), ("dangling.mlir", "new.mlir")] {
        assert_eq!(fs::read_link(path(link)).expect("still a link"), Path::new(file));
        assert!(fs::read_to_string(path(file)).expect("a file").contains("func.func @f"));
    }
    assert_eq!(names(&folder).len(), 5);
}

#[test]
fn a_full_disk_is_named() {
    let folder = folder();
    let full = || fs::OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
    for (arguments, named) in [
        (&["in.mlir"][..], "cannot write to standard output: No space left on device"),
        (&["in.mlir", "-o", "/dev/full"], "cannot write /dev/full: No space left on device"),
        (&["--show-dialects"], "cannot write to standard output: No space left on device"),
    ] {
        let done = command(&folder, arguments).stdout(full()).output().expect("it runs");
        assert_eq!(done.status.code(), Some(1), "{arguments:?}");
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(said.contains(named) && said.lines().count() == 1, "{said}");
    }
}

#[test]
fn a_closed_pipe_ends_quietly() {
    use std::fmt::Write;
    let folder = folder();
    let mut module = String::from("func.func @f(%v0: tensor<2xf32>) -> tensor<2xf32> {\n");
    for op in 0..20_000 {
        writeln!(module, "  %v{} = stablehlo.sine %v{op} : tensor<2xf32>", op + 1).expect("text");
    }
    module.push_str("  return %v20000 : tensor<2xf32>\n}\n");
    fs::write(folder.path().join("in.mlir"), module).expect("a file");
    let mut child = command(&folder, &["in.mlir"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    drop(child.stdout.take());
    let done = child.wait_with_output().expect("it ends");
    // As `cat` does.
    assert_eq!(done.status.signal(), Some(13));
    assert_eq!(String::from_utf8_lossy(&done.stderr), "");
}

/// Regions in regions, each of which takes frames of the parser, the verifier, the printer and the passes.
#[test]
fn deep_modules_have_the_stack_they_take() {
    const DEPTH: usize = 3000;
    let folder = folder();
    let mut module = String::from("func.func @f(%p: tensor<i1>, %a: tensor<2xf32>) -> tensor<2xf32> {\n");
    for level in 0..DEPTH {
        module.push_str(&format!("%r{level} = \"stablehlo.if\"(%p) ({{\n"));
    }
    module.push_str("%s = stablehlo.sine %a : tensor<2xf32>\nstablehlo.return %s : tensor<2xf32>\n");
    for level in (0..DEPTH).rev() {
        let name = if level == 0 { "return" } else { "stablehlo.return" };
        module.push_str("}, {stablehlo.return %a : tensor<2xf32>}) : (tensor<i1>) -> tensor<2xf32>\n");
        module.push_str(&format!("{name} %r{level} : tensor<2xf32>\n"));
    }
    module.push('}');
    fs::write(folder.path().join("in.mlir"), module).expect("a file");
    let arguments = ["in.mlir", "--pass-pipeline=builtin.module(func.func(cse))", "-o", "out.mlirbc"];
    let done = command(&folder, &arguments).arg("--emit-bytecode").output().expect("it runs");
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(fs::read(folder.path().join("out.mlirbc")).expect("a file").starts_with(b"ML\xefR"));
}
