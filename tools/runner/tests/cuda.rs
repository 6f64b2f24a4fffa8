// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `slimhlo-run` with a driver that is not NVIDIA's: every call it makes, and what it says when the driver refuses.

#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use slimhlo_package::{
    Access, Argument, Counter, ElementType, FORMAT, Function, Kernel, Manifest, Output as ProgramResult,
    Package, Parameter, Slot, Step, Tensor,
};
use slimhlo_runner::npy;

/// Compiles the driver into a folder of its own; none if there is no C compiler.
fn driver(folder: &Path) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/driver.c");
    let library = folder.join("libcuda.so.1");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let done = Command::new(compiler).args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).status();
    match done {
        Ok(status) => {
            assert!(status.success());
            Some(folder.to_path_buf())
        }
        Err(_) => None,
    }
}

fn vector() -> Tensor {
    Tensor { element: ElementType::F32, shape: vec![1000] }
}

/// (argument 0 + constants) + argument 0, in place.
fn package() -> Package {
    let add = |buffers: [Slot; 3]| Step::Launch { kernel: "sum".into(), buffers: buffers.to_vec() };
    let parameter = |access| Parameter { bytes: 4000, access };
    let manifest = Manifest {
        format: FORMAT,
        producer: "test".into(),
        name: "sample".into(),
        chip: "sm_80".into(),
        arguments: vec![Argument { name: None, tensor: vector(), bytes: 4000, donated: true }],
        results: vec![ProgramResult { name: None, tensor: vector(), bytes: 4000, argument: Some(0) }],
        arena_bytes: 8192,
        constants_bytes: 4000,
        counters: vec![],
        kernels: vec![Kernel {
            name: "sum".into(),
            functions: vec![Function { name: "add".into(), grid: 7, block: 256, shared_bytes: 0 }],
            parameters: vec![parameter(Access::Read), parameter(Access::Read), parameter(Access::Write)],
            guarded: false,
            bytes_moved: None,
            location: None,
        }],
        buffers: vec![],
        steps: vec![
            add([Slot::Argument(0), Slot::Constant(0), Slot::Arena(0)]),
            Step::Copy { from: Slot::Arena(0), to: Slot::Arena(4096), bytes: 4000 },
            add([Slot::Arena(4096), Slot::Argument(0), Slot::Argument(0)]),
        ],
    };
    let constants = (0..1000).flat_map(|i| (i as f32).to_le_bytes()).collect();
    Package { manifest, ptx: ".version 8.0\n".into(), cubin: None, constants }
}

const JAX_SETTINGS: [&str; 6] = [
    "XLA_PYTHON_CLIENT_PREALLOCATE",
    "XLA_PYTHON_CLIENT_MEM_FRACTION",
    "XLA_CLIENT_MEM_FRACTION",
    "XLA_PYTHON_CLIENT_ALLOCATOR",
    "TF_GPU_ALLOCATOR",
    "TF_CUDA_MALLOC_ASYNC_SUPPORTED_PREALLOC",
];

struct Session {
    folder: tempfile::TempDir,
    driver: PathBuf,
}

impl Session {
    fn new() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let driver = driver(folder.path())?;
        Some(Self { folder, driver })
    }

    /// Runs the package with these settings of the driver and these further arguments.
    fn run(&self, package: &Package, settings: &[(&str, &str)], arguments: &[&str]) -> Output {
        let path = self.folder.path().join("package");
        package.write(&path).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_slimhlo-run"));
        command.arg(path).args(arguments).env("LD_LIBRARY_PATH", &self.driver);
        // What whoever runs the tests has set for JAX is not meant.
        for name in JAX_SETTINGS {
            command.env_remove(name);
        }
        command.envs(settings.iter().copied());
        command.output().unwrap()
    }

    #[track_caller]
    fn refused(&self, package: &Package, settings: &[(&str, &str)], arguments: &[&str], words: &[&str]) {
        let done = self.run(package, settings, arguments);
        let message = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(1), "{message}");
        for word in words {
            assert!(message.contains(word), "`{word}` is not in: {message}");
        }
    }
}

#[test]
fn a_program_runs_on_a_gpu() {
    let Some(session) = Session::new() else { return };
    let x = session.folder.path().join("x.npy");
    let values: Vec<u8> = (0..1000).flat_map(|i| (i as f32 / 4.0).to_le_bytes()).collect();
    npy::write(&x, &vector(), &values).unwrap();
    let out = session.folder.path().join("out");
    let arguments =
        ["--json", "--bench", "3", "--input", x.to_str().unwrap(), "--output-dir", out.to_str().unwrap()];
    let done = session.run(&package(), &[], &arguments);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let report: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(report["device"], "Fake GPU, sm_90");
    assert_eq!(report["memory"]["allocated"], 4000 + 8192 + 4000);
    assert_eq!(report["memory"]["device"], 1 << 30);
    // The fake's clock: a quarter of a millisecond for a launch, half of one for a copy.
    assert_eq!(report["seconds"], 0.001);
    assert_eq!(report["kernels"][0]["name"], "sum");
    assert_eq!(report["kernels"][0]["launches"], 2);
    assert_eq!(report["kernels"][0]["seconds"], 0.0005);
    assert_eq!(report["kernels"][0]["bandwidth"], 2.0 * 12000.0 / 0.0005);
    assert_eq!(report["kernels"][1]["name"], "(copies)");
    let copied = 2.0 * f64::from((((1 << 30) / 4) & !255) as u32) / 0.0005;
    assert_eq!(report["copy_bandwidth"], copied);
    let expected: Vec<u8> = (0..1000).flat_map(|i| (i as f32 * 1.5).to_le_bytes()).collect();
    assert_eq!(npy::read(&out.join("result0.npy"), &vector()).unwrap(), expected);
}

#[test]
fn code_is_chosen_by_the_chip() {
    let Some(session) = Session::new() else { return };
    let mut package = package();
    package.manifest.chip = "sm_90".into();
    let words = ["the package is for sm_90", "GPU 0 (Fake GPU, sm_80) does not run", "--chip sm_80"];
    session.refused(&package, &[("FAKE_CHIP", "80")], &[], &words);
    package.ptx = "nonsense".into();
    let words =
        ["loading the kernels on GPU 0 (Fake GPU, sm_90)", "CUDA_ERROR_INVALID_PTX", "line 1: syntax error"];
    session.refused(&package, &[], &[], &words);
    // Machine code of the same generation is preferred to PTX; that of another is not used.
    package.cubin = Some(b"\x7fELF".to_vec());
    assert!(session.run(&package, &[], &[]).status.success());
    session.refused(&package, &[("FAKE_CHIP", "100")], &[], &["CUDA_ERROR_INVALID_PTX"]);
    package.manifest.chip = "gfx942".into();
    session.refused(&package, &[], &[], &["`gfx942`, which is no NVIDIA chip"]);
}

#[test]
fn missing_gpus_and_functions_are_named() {
    let Some(session) = Session::new() else { return };
    let mut package = package();
    session.refused(&package, &[("FAKE_GPUS", "0")], &[], &["no NVIDIA GPU", "--device cpu"]);
    session.refused(&package, &[], &["--device", "1"], &["no GPU 1", "has 1"]);
    package.manifest.kernels[0].functions[0].name = "subtract".into();
    session.refused(&package, &[], &[], &["no function `subtract`"]);
    package.manifest.kernels[0].functions[0] =
        Function { name: "add".into(), grid: 8, block: 256, shared_bytes: 0 };
    session.refused(&package, &[], &[], &["launching kernel `sum`", "the CUDA driver says"]);
}

#[test]
fn memory_that_runs_out_is_explained() {
    let Some(session) = Session::new() else { return };
    let words = [
        "Fake GPU, sm_90: out of memory: 4000 bytes asked for, 808 free, for the constants",
        "the device has 12.7 KiB",
    ];
    session.refused(&package(), &[("FAKE_MEMORY", "13000")], &[], &words);
    // Just enough, with nothing left to measure a copy with.
    assert!(session.run(&package(), &[("FAKE_MEMORY", "16192")], &["--bench", "1"]).status.success());
}

/// How often the driver was called so, by its log.
fn calls(log: &Path, word: &str) -> usize {
    fs::read_to_string(log).unwrap_or_default().lines().filter(|line| *line == word).count()
}

#[test]
fn runs_are_launched_as_graphs() {
    let Some(session) = Session::new() else { return };
    let mut package = package();
    let step = package.manifest.steps.pop().unwrap();
    package.manifest.steps.push(Step::Repeat { turns: 5, counter: None, body: vec![step] });
    let log = session.folder.path().join("log");
    let done = session.run(&package, &[("FAKE_LOG", log.to_str().unwrap())], &["--json", "--bench", "2"]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let report: Value = serde_json::from_slice(&done.stdout).unwrap();
    // A copy is half a millisecond, a launch a quarter.
    assert_eq!(report["seconds"], 0.002);
    assert_eq!(report["asked"], serde_json::json!({"launches": 0, "graphs": 1, "waits": 0}));
    // Those before and between the timed ones go in graphs, too; launches are timed one by one in three runs.
    assert_eq!((calls(&log, "graph"), calls(&log, "launch")), (4, 3 * 6));
}

#[test]
fn turns_are_counted_without_launches() {
    let Some(session) = Session::new() else { return };
    let mut package = package();
    package.manifest.counters = vec![Counter { bytes: 4, start: 10, step: 3 }];
    let keep = Step::Copy { from: Slot::Counter(0), to: Slot::Argument(0), bytes: 4 };
    package.manifest.steps = vec![Step::Repeat { turns: 5, counter: Some(0), body: vec![keep] }];
    let out = session.folder.path().join("out");
    let arguments = ["--json", "--bench", "1", "--output-dir", out.to_str().unwrap()];
    // All turns in one graph; in two, with a table that is written before each; and three with one more.
    for (turns, graphs) in [(5_u64, 1), (2048, 2), (3000, 3)] {
        let Step::Repeat { turns: known, .. } = &mut package.manifest.steps[0] else { unreachable!() };
        *known = turns;
        let log = session.folder.path().join("log");
        let _ = fs::remove_file(&log);
        let done = session.run(&package, &[("FAKE_LOG", log.to_str().unwrap())], &arguments);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let report: Value = serde_json::from_slice(&done.stdout).unwrap();
        assert_eq!(report["asked"], serde_json::json!({"launches": 0, "graphs": graphs, "waits": 0}));
        let left = npy::read(&out.join("result0.npy"), &vector()).unwrap();
        assert_eq!(left[..4], (10 + 3 * (turns as i32 - 1)).to_le_bytes(), "{turns} turns");
    }
}

#[test]
fn rounds_are_launched_ahead() {
    let Some(session) = Session::new() else { return };
    let mut package = package();
    package.manifest.kernels.push(Kernel {
        name: "step".into(),
        functions: vec![Function { name: "step".into(), grid: 7, block: 256, shared_bytes: 0 }],
        parameters: vec![
            Parameter { bytes: 4, access: Access::ReadWrite },
            Parameter { bytes: 1, access: Access::Write },
        ],
        guarded: true,
        bytes_moved: None,
        location: None,
    });
    let step = || Step::Launch { kernel: "step".into(), buffers: vec![Slot::Argument(0), Slot::Arena(16)] };
    package.manifest.steps = vec![Step::While {
        condition: vec![step()],
        predicate: Slot::Arena(16),
        body: vec![],
        guarded: true,
    }];
    let x = session.folder.path().join("x.npy");
    let out = session.folder.path().join("out");
    let arguments =
        ["--json", "--bench", "1", "--input", x.to_str().unwrap(), "--output-dir", out.to_str().unwrap()];
    // A graph for what comes first, and one for each round, of which a third at most does nothing.
    for (rounds, graphs, waits) in [(0_i32, 2, 1), (1, 2, 1), (3, 3, 2), (20, 20, 8), (1000, 1067, 18)] {
        let numbers = [rounds].into_iter().chain(std::iter::repeat_n(7, 999));
        let values: Vec<u8> = numbers.flat_map(i32::to_le_bytes).collect();
        npy::write(&x, &vector(), &values).unwrap();
        let done = session.run(&package, &[], &arguments);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let report: Value = serde_json::from_slice(&done.stdout).unwrap();
        let asked = serde_json::json!({"launches": 0, "graphs": graphs, "waits": waits});
        assert_eq!(report["asked"], asked, "{rounds} rounds");
        let left = npy::read(&out.join("result0.npy"), &vector()).unwrap();
        // The condition counts, once even where there is no round.
        let expected = if rounds == 0 { -1_i32 } else { 0 };
        assert_eq!(left[..4], expected.to_le_bytes());
    }
}

/// What is reported of memory, with these settings of the environment, on a device of 64 KiB.
fn reported(session: &Session, settings: &[(&str, &str)]) -> Value {
    let settings = [&[("FAKE_MEMORY", "65536")], settings].concat();
    let done = session.run(&package(), &settings, &["--json"]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    serde_json::from_slice::<Value>(&done.stdout).unwrap()["memory"].clone()
}

#[test]
fn memory_is_asked_for_as_jax_users_say() {
    let Some(session) = Session::new() else { return };
    let log = session.folder.path().join("log");
    let made = |settings: &[(&str, &str)], word: &str| {
        let _ = fs::remove_file(&log);
        let memory = reported(&session, &[&[("FAKE_LOG", log.to_str().unwrap())], settings].concat());
        (memory["allocated"].as_u64().unwrap(), memory["reserved"].as_u64().unwrap(), calls(&log, word))
    };
    let planned = 4000 + 8192 + 4000;
    // Results lie in arguments, and so each of three buffers is an allocation.
    assert_eq!(made(&[], "malloc"), (planned, planned, 3));
    assert_eq!(made(&[("XLA_PYTHON_CLIENT_ALLOCATOR", "platform")], "malloc"), (planned, planned, 3));
    assert_eq!(made(&[("XLA_PYTHON_CLIENT_PREALLOCATE", "false")], "malloc"), (planned, planned, 3));
    // One allocation of three quarters, or of the share asked for; parts of it start at multiples of 256.
    let parts = 4096 + 8192 + 4096;
    assert_eq!(made(&[("XLA_PYTHON_CLIENT_PREALLOCATE", "true")], "malloc"), (parts, 49152, 1));
    assert_eq!(made(&[("XLA_PYTHON_CLIENT_MEM_FRACTION", ".5")], "malloc"), (parts, 32768, 1));
    let pool = ("TF_GPU_ALLOCATOR", "cuda_malloc_async");
    assert_eq!(made(&[pool], "malloc_async"), (planned, planned, 3));
    let start = ("TF_CUDA_MALLOC_ASYNC_SUPPORTED_PREALLOC", "20000");
    assert_eq!(made(&[pool, start], "malloc_async"), (planned, 20000, 4));
    assert_eq!(made(&[pool, start], "malloc"), (planned, 20000, 0));
    let text = session.run(&package(), &[pool, start], &[]).stdout;
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("the driver's pool, 19.5 KiB at the start"), "{text}");
}

#[test]
fn settings_that_leave_too_little_are_told() {
    let Some(session) = Session::new() else { return };
    let memory = ("FAKE_MEMORY", "65536");
    let share = ("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.2");
    let words = ["out of memory: 4000 bytes asked for", "for the constants"];
    session.refused(&package(), &[memory, share], &[], &words);
    session.refused(&package(), &[memory, share, ("XLA_PYTHON_CLIENT_PREALLOCATE", "false")], &[], &words);
    let start = ("TF_CUDA_MALLOC_ASYNC_SUPPORTED_PREALLOC", "70000");
    let pool = ("TF_GPU_ALLOCATOR", "cuda_malloc_async");
    session.refused(&package(), &[memory, pool, start], &[], &["filling the driver's pool", "70000 bytes"]);
    session.refused(&package(), &[pool, ("FAKE_POOLS", "0")], &[], &["no memory pools"]);
    session.refused(&package(), &[("XLA_CLIENT_MEM_FRACTION", "2")], &[], &["MEM_FRACTION=2", "at most 1"]);
}

#[test]
fn a_machine_without_a_driver_is_told() {
    let Some(session) = Session::new() else { return };
    // No library is one: it is there, but it is not loaded.
    fs::write(session.driver.join("libcuda.so.1"), "").unwrap();
    if Path::new("/proc/driver/nvidia").exists() {
        return;
    }
    session.refused(&package(), &[], &[], &["no NVIDIA driver", "`slimhlo run --device cpu`"]);
}
