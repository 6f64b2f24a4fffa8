// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The layer around a plugin that writes down how it is called (`examples/fake_plugin.rs`), used by a program
//! that is not JAX (`examples/compile.rs`). Each test is a process of its own, since all that is said to the
//! layer is said in the environment.
//!
//! `SLIMHLO_TEST_LAYER` names another build of the library to test.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The bytes that the fake says `gather.mlir` takes.
const CAME: u64 = 256 << 20;

/// A program that the fake was given, or an executable of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// As it came.
    Came,
    /// As slimhlo leaves it: how much it takes is not for these tests to say, but it is less than a quarter.
    Smaller,
}
use Form::{Came, Smaller};

impl Form {
    #[track_caller]
    fn of(bytes: u64) -> Self {
        assert!(bytes == CAME || bytes < CAME / 4, "{bytes} bytes");
        if bytes == CAME { Came } else { Smaller }
    }
}

/// Where cargo has built the examples.
fn examples() -> PathBuf {
    let test = std::env::current_exe().expect("a test is a file");
    test.parent().and_then(Path::parent).expect("target/<profile>/deps/<test>").join("examples")
}

fn layer() -> PathBuf {
    std::env::var_os("SLIMHLO_TEST_LAYER").map_or_else(
        || examples().parent().expect("target/<profile>").join("deps/libslimhlo_pjrt.so"),
        PathBuf::from,
    )
}

fn fake() -> PathBuf {
    examples().join("libfake_plugin.so")
}

/// A program that has the fake, through the layer, compile a module.
struct Run {
    command: Command,
    folder: tempfile::TempDir,
}

/// What came of it.
struct Ran {
    output: Output,
    /// What the fake wrote down.
    calls: Vec<String>,
    folder: tempfile::TempDir,
}

impl Run {
    fn new(variables: &[(&str, &str)]) -> Self {
        Self::of(include_str!("gather.mlir"), variables)
    }

    fn of(module: &str, variables: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("module.mlir");
        fs::write(&path, module).expect("written");
        let mut command = Command::new(examples().join("compile"));
        command.arg(layer()).arg(path).env("SLIMHLO_PJRT_PLUGIN", fake());
        command.env("FAKE_LOG", folder.path().join("calls")).envs(variables.iter().copied());
        Self { command, folder }
    }

    fn args(mut self, args: &[&str]) -> Self {
        self.command.args(args);
        self
    }

    fn run(mut self) -> Ran {
        let output = self.command.output().expect("cargo has built the examples");
        let calls = fs::read_to_string(self.folder.path().join("calls")).unwrap_or_default();
        Ran { output, calls: calls.lines().map(str::to_owned).collect(), folder: self.folder }
    }
}

impl Ran {
    #[track_caller]
    fn said(&self) -> Value {
        assert!(self.output.status.success(), "{}", self.errors());
        serde_json::from_slice(&self.output.stdout).expect("JSON")
    }

    /// What was handed out.
    #[track_caller]
    fn got(&self) -> Form {
        Form::of(self.said()["compiled"][0]["temp"].as_u64().expect("a number"))
    }

    fn errors(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    /// What the fake was given to compile.
    #[track_caller]
    fn compiled(&self) -> Vec<Form> {
        let sizes = self.calls.iter().filter_map(|call| call.strip_prefix("compile mlir "));
        sizes.map(|size| Form::of(size.parse().expect("a number"))).collect()
    }

    fn count(&self, what: &str) -> usize {
        self.calls.iter().filter(|call| call.starts_with(what)).count()
    }

    /// Whatever the fake made was destroyed, once.
    #[track_caller]
    fn leaks_nothing(&self) {
        for what in ["executable", "error"] {
            let (made, gone) = (self.count(&format!("make {what}")), self.count(&format!("destroy {what}")));
            assert_eq!(made, gone, "{what}s: {:?}", self.calls);
        }
    }
}

#[test]
fn what_fits_is_left_alone() {
    let ran = Run::new(&[("FAKE_MEMORY", "268435456")]).run();
    assert_eq!(ran.got(), Came);
    assert_eq!(ran.compiled(), [Came]);
    assert_eq!(ran.errors(), "");
    ran.leaks_nothing();
}

#[test]
fn what_does_not_fit_is_made_smaller() {
    let ran = Run::new(&[("FAKE_MEMORY", "268435455")]).run();
    assert_eq!(ran.got(), Smaller);
    assert_eq!(ran.compiled(), [Came, Smaller]);
    assert_eq!(ran.errors(), "");
    ran.leaks_nothing();
}

#[test]
fn a_stated_limit_comes_first() {
    let variables = [("FAKE_MEMORY", "268435455"), ("SLIMHLO_MEMORY_LIMIT", "1GiB")];
    assert_eq!(Run::new(&variables).run().compiled(), [Came]);
    assert_eq!(Run::new(&[("SLIMHLO_MEMORY_LIMIT", "100MiB")]).run().compiled(), [Came, Smaller]);
}

#[test]
fn nothing_is_done_without_a_limit() {
    let ran = Run::new(&[]).run();
    assert_eq!(ran.compiled(), [Came]);
    assert_eq!(ran.errors(), "");
}

#[test]
fn modes() {
    let compiled = |mode| Run::new(&[("SLIMHLO_PJRT_MODE", mode), ("FAKE_MEMORY", "1")]).run().compiled();
    assert_eq!(compiled("never"), [Came]);
    assert_eq!(compiled("always"), [Smaller]);
    assert_eq!(compiled("verify"), [Came, Smaller]);
    assert_eq!(compiled("needed"), [Came, Smaller]);
}

#[test]
fn programs_for_a_topology_are_compiled_likewise() {
    let ran = Run::new(&[("SLIMHLO_PJRT_MODE", "verify")]).args(&["--topology", "any"]).run();
    assert_eq!(ran.got(), Smaller);
    assert_eq!(ran.compiled(), [Came, Smaller]);
}

#[test]
fn a_compiler_that_runs_out_of_memory_is_asked_again() {
    let ran = Run::new(&[("FAKE_EXHAUSTED", "100000000")]).run();
    assert_eq!(ran.got(), Smaller);
    assert_eq!(ran.compiled(), [Came, Smaller]);
    ran.leaks_nothing();
}

#[test]
fn what_does_not_fit_in_any_form_is_the_callers_error() {
    let ran = Run::new(&[("FAKE_EXHAUSTED", "1")]).run();
    assert!(!ran.output.status.success());
    assert!(ran.errors().contains("error 8: the fake has no 268435456 bytes"), "{}", ran.errors());
    assert_eq!(ran.compiled(), [Came, Smaller]);
    ran.leaks_nothing();
}

#[test]
fn other_errors_are_the_callers() {
    let module = include_str!("gather.mlir").replace("@jit_gather", "@fake_fails");
    // Modes that compile slimhlo's form in any case ask whether the plugin fails on that, too.
    for (mode, times) in [("needed", 1), ("verify", 2), ("always", 2)] {
        let ran = Run::of(&module, &[("SLIMHLO_PJRT_MODE", mode)]).run();
        assert!(ran.errors().ends_with("error 13: the fake fails\n"), "{}", ran.errors());
        assert_eq!(ran.compiled().len(), times);
        ran.leaks_nothing();
    }
}

#[test]
fn what_cannot_be_read_goes_on_as_it_came() {
    let module = "module @odd { some.thing tensor<1048576x64xf32> }";
    let ran = Run::of(module, &[("SLIMHLO_PJRT_MODE", "always")]).run();
    assert_eq!(ran.compiled(), [Came]);
    let errors = ran.errors();
    assert!(errors.starts_with("slimhlo: a program goes on as it came: it cannot be read: "), "{errors}");
    assert_eq!(errors.lines().count(), 1, "{errors}");
}

#[test]
fn what_takes_too_long_goes_on_as_it_came() {
    let ran = Run::new(&[("SLIMHLO_PJRT_MODE", "always"), ("SLIMHLO_TIME_LIMIT", "0")]).run();
    assert_eq!(ran.compiled(), [Came]);
    assert_eq!(ran.errors().lines().count(), 1, "{}", ran.errors());
    assert!(ran.errors().contains("goes on as it came: it "), "{}", ran.errors());
}

#[test]
fn small_programs_are_left_alone() {
    let ran = Run::new(&[("SLIMHLO_PJRT_MODE", "always"), ("SLIMHLO_THRESHOLD", "1GiB")]).run();
    assert_eq!(ran.compiled(), [Came]);
    assert_eq!(ran.errors(), "");
}

#[test]
fn several_processes_have_to_agree() {
    let ran = Run::new(&[("FAKE_PROCESSES", "2"), ("FAKE_MEMORY", "1")]).args(&["--threads", "3"]).run();
    assert_eq!(ran.compiled(), [Came; 3]);
    assert_eq!(ran.errors().matches("several processes").count(), 1, "{}", ran.errors());
    // How long slimhlo takes is no ground for a decision, either.
    let variables = [("FAKE_PROCESSES", "2"), ("SLIMHLO_PJRT_MODE", "always"), ("SLIMHLO_TIME_LIMIT", "0")];
    assert_eq!(Run::new(&variables).run().compiled(), [Smaller]);
}

#[test]
fn threads_compile_at_the_same_time() {
    let ran = Run::new(&[("SLIMHLO_PJRT_MODE", "verify")]).args(&["--threads", "8"]).run();
    let compiled = ran.said()["compiled"].clone();
    let bytes = |one: &Value| one["temp"].as_u64().expect("a number");
    let got: Vec<Form> =
        compiled.as_array().expect("a list").iter().map(|one| Form::of(bytes(one))).collect();
    assert_eq!(got, [Smaller; 8]);
    assert_eq!(ran.compiled().len(), 16);
    ran.leaks_nothing();
}

#[test]
fn the_table_is_as_long_as_the_plugins_and_extensions_are_its_own() {
    for functions in [200, 97, 90] {
        let text = functions.min(150).to_string();
        let ran = Run::new(&[("FAKE_FUNCTIONS", &text), ("SLIMHLO_MEMORY_LIMIT", "1")]).run();
        let said = ran.said();
        assert_eq!(said["struct_size"], 40 + 8 * functions.min(150));
        assert_eq!(said["extensions"], 0xE5);
        // The oldest of them does not say what a program takes.
        let compiled = if functions > 96 { vec![Came, Smaller] } else { vec![Came] };
        assert_eq!(ran.compiled(), compiled);
    }
}

#[test]
fn the_version_says_what_was_done_on_the_last_line() {
    let ran = Run::new(&[("SLIMHLO_PJRT_MODE", "always"), ("SLIMHLO_MEMORY_LIMIT", "1GiB")]).run();
    let said = ran.said();
    let version = said["version"].as_str().expect("a text");
    let last = version.lines().last().expect("lines");
    assert!(version.starts_with("PJRT C API\nFAKE v1 (1698660263) slimhlo/"), "{version}");
    assert!(last.contains(" mode=always limit=1073741824 "), "{version}");
    // JAX takes what is in the only parentheses for a date.
    assert_eq!(last.matches('(').count(), 1, "{version}");
}

/// JAX's cache must not hand a program that was made for much memory to a device with little.
#[test]
fn the_version_says_what_programs_may_take() {
    let ran = Run::new(&[("FAKE_MEMORY", "268435456")]).run();
    let version = ran.said()["version"].as_str().expect("a text").to_owned();
    assert!(version.contains(" mode=needed limit=268435456 "), "{version}");
}

#[test]
fn a_summary_and_modules_are_kept_on_demand() {
    let folder = tempfile::tempdir().expect("a folder");
    let summary = folder.path().join("summary.jsonl");
    let dump = folder.path().join("modules");
    let variables = [
        ("SLIMHLO_PJRT_MODE", "verify"),
        ("SLIMHLO_SUMMARY", summary.to_str().expect("text")),
        ("SLIMHLO_DUMP", dump.to_str().expect("text")),
    ];
    let ran = Run::new(&variables).run();
    assert_eq!(ran.errors(), "");
    let text = fs::read_to_string(&summary).expect("written");
    let line: Value = serde_json::from_str(text.trim_end()).expect("one line of JSON");
    assert_eq!(line["program"], "jit_gather");
    assert_eq!(line["outcome"], "optimized");
    assert_eq!(line["before"]["total"], CAME);
    assert_eq!(line["after"]["total"].as_u64().map(Form::of), Some(Smaller));
    assert!(line["stages"][0]["saved"].as_u64() > Some(CAME / 2), "{line}");
    let mut names: Vec<String> = fs::read_dir(&dump)
        .expect("made")
        .map(|entry| entry.expect("readable").file_name().into_string().expect("text"))
        .collect();
    names.sort();
    assert_eq!(names.len(), 2);
    assert!(names[0].ends_with("-0000-jit_gather-after.mlir"), "{names:?}");
    assert!(names[1].ends_with("-0000-jit_gather-before.mlir"), "{names:?}");
    let after = fs::read_to_string(dump.join(&names[0])).expect("text");
    assert!(after.contains("stablehlo.while"));
}

#[test]
fn a_summary_that_cannot_be_written_is_no_error() {
    let ran = Run::new(&[("SLIMHLO_PJRT_MODE", "always"), ("SLIMHLO_SUMMARY", "/no/such/folder")]).run();
    assert_eq!(ran.compiled(), [Smaller]);
    assert!(ran.errors().contains("cannot write the summary /no/such/folder"), "{}", ran.errors());
}

#[test]
fn a_plugin_that_cannot_be_loaded_is_named() {
    let own = layer();
    for (path, why) in [
        ("/no/such/plugin.so", "cannot load the PJRT plugin /no/such/plugin.so: "),
        ("", "SLIMHLO_PJRT_PLUGIN is not set"),
        (own.to_str().expect("text"), "slimhlo's own layer"),
        ("libc.so.6", "no function GetPjrtApi"),
    ] {
        let ran = Run::new(&[("SLIMHLO_PJRT_PLUGIN", path)]).run();
        assert!(!ran.output.status.success());
        assert!(
            ran.errors().contains("error 9: slimhlo: ") && ran.errors().contains(why),
            "{}",
            ran.errors()
        );
    }
}

#[test]
fn nonsense_in_the_environment_is_named() {
    let ran = Run::new(&[("SLIMHLO_PJRT_MODE", "alway")]).run();
    assert!(ran.errors().contains("SLIMHLO_PJRT_MODE=alway is none of needed"), "{}", ran.errors());
    drop(ran.folder);
}
