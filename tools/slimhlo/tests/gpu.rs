// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `slimhlo compile` and `slimhlo run`: from a module to a package, and to results on the CPU.

mod common;

use common::Folder;
use serde_json::Value;
use slimhlo_package::{ElementType, Package, Tensor};
use slimhlo_runner::npy;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A strip of a donated field is set to twice another field's first columns.
const STRIP: &str = "
func.func @main(%field: tensor<64x1024xf32> {tf.aliasing_output = 0 : i32}, %other: tensor<64x1024xf32>) -> tensor<64x1024xf32> {
  %columns = stablehlo.slice %other [0:64, 0:8] : (tensor<64x1024xf32>) -> tensor<64x8xf32>
  %twice = stablehlo.add %columns, %columns : tensor<64x8xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %place = stablehlo.constant dense<16> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %field, %twice, %zero, %place :
      (tensor<64x1024xf32>, tensor<64x8xf32>, tensor<i32>, tensor<i32>) -> tensor<64x1024xf32>
  return %0 : tensor<64x1024xf32>
}
";

fn field() -> Tensor {
    Tensor { element: ElementType::F32, shape: vec![64, 1024] }
}

fn floats(value: impl Fn(usize) -> f32) -> Vec<u8> {
    (0..64 * 1024).flat_map(|i| value(i).to_le_bytes()).collect()
}

#[test]
fn a_package_has_the_plan_and_what_kernels_move() {
    let folder = Folder::new();
    folder.write("strip.mlir", STRIP);
    folder.run(&["compile", "strip.mlir", "-o", "strip", "--chip", "sm_80"]).exits(0);
    let Package { manifest, ptx, .. } = Package::read(&folder.path("strip")).expect("a package");
    assert!(ptx.contains(".target sm_80"), "{ptx}");
    assert_eq!((manifest.name.as_str(), manifest.chip.as_str()), ("strip", "sm_80"));
    assert!(manifest.arguments[0].donated && !manifest.arguments[1].donated);
    assert_eq!(manifest.results[0].argument, Some(0));
    assert_eq!(manifest.planned_bytes(), 2 * 64 * 1024 * 4);
    // Eight columns are read and eight are written, not the fields.
    let moved: Vec<_> = manifest.kernels.iter().map(slimhlo_package::Kernel::traffic).collect();
    assert_eq!(moved, [2 * 64 * 8 * 4]);
}

#[test]
fn results_on_the_cpu_are_those_of_the_module() {
    let folder = Folder::new();
    folder.write("strip.mlir", STRIP);
    npy::write(&folder.path("a.npy"), &field(), &floats(|i| i as f32)).expect("a file");
    npy::write(&folder.path("b.npy"), &field(), &floats(|i| -(i as f32))).expect("a file");
    let arguments = ["run", "strip.mlir", "--device", "cpu", "--json", "--bench", "2", "--output-dir", "out"];
    let run = folder.run(&[&arguments[..], &["--input", "a.npy", "b.npy"]].concat()).exits(0);
    let report = run.json();
    assert_eq!(report["memory"]["planned"]["total"], 2 * 64 * 1024 * 4);
    assert_eq!(report["kernels"].as_array().map(Vec::len), Some(1));
    assert!(report["copy_bandwidth"].as_f64().is_some_and(|bandwidth| bandwidth > 0.0));
    assert_eq!(report["results"][0]["type"], Value::from("64x1024xf32"));
    let expected = floats(|i| match i % 1024 {
        column @ 16..24 => -2.0 * (i - column + column - 16) as f32,
        _ => i as f32,
    });
    assert_eq!(npy::read(&folder.path("out/result0.npy"), &field()).expect("a result"), expected);
}

#[test]
fn nothing_is_written_for_what_cannot_be_compiled() {
    let folder = Folder::new();
    folder.write(
        "dynamic.mlir",
        "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
           %0 = stablehlo.negate %x : tensor<?xf32>
           return %0 : tensor<?xf32>
         }",
    );
    let run = folder.run(&["compile", "dynamic.mlir", "-o", "package"]).exits(1);
    assert!(run.err.contains("dynamic.mlir:"), "{}", run.err);
    assert_eq!(folder.names(), ["dynamic.mlir"]);
    // Nor for a wrong input.
    folder.write("strip.mlir", STRIP);
    npy::write(&folder.path("a.npy"), &Tensor { element: ElementType::F32, shape: vec![2] }, &[0; 8])
        .expect("a file");
    let arguments =
        ["run", "strip.mlir", "--device", "cpu", "--output-dir", "out", "--input", "a.npy", "a.npy"];
    let run = folder.run(&arguments).exits(1);
    assert!(run.err.contains("a.npy: expected 64x1024xf32 (in NumPy <f4), found 2x<f4"), "{}", run.err);
    assert_eq!(folder.names(), ["a.npy", "dynamic.mlir", "strip.mlir"]);
}

/// A module that needs one of CUDA's functions.
const SINE: &str = "
func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = stablehlo.sine %x : tensor<64xf32>
  return %0 : tensor<64xf32>
}
";

fn sine() -> Folder {
    let folder = Folder::new();
    folder.write("sine.mlir", SINE);
    folder
}

/// A module that compiles where there is no CUDA, too.
fn twice() -> Folder {
    let folder = Folder::new();
    folder.write("twice.mlir", SINE.replace("stablehlo.sine %x", "stablehlo.add %x, %x"));
    folder
}

/// A command fails, says all of this and writes nothing.
fn refused(folder: &Folder, arguments: &[&str], status: i32, words: &[&str]) {
    let before = folder.names();
    let run = folder.run(arguments).exits(status);
    for word in words {
        assert!(run.err.contains(word), "{arguments:?}: no {word:?} in {}", run.err);
    }
    assert!(run.out.is_empty(), "{}", run.text());
    assert_eq!(folder.names(), before, "{arguments:?}");
}

#[test]
fn libdevice_is_asked_for() {
    let folder = sine();
    folder.write("text.bc", "no bitcode");
    let arguments = ["compile", "sine.mlir", "-o", "package", "--libdevice"];
    refused(&folder, &[&arguments[..], &["none.bc"]].concat(), 1, &["libdevice", "none.bc", "No such file"]);
    refused(&folder, &[&arguments[..], &["text.bc"]].concat(), 1, &["libdevice", "text.bc", "bitcode"]);
    if ["/usr/local/cuda", "/opt/cuda"].iter().any(|place| Path::new(place).exists()) {
        return;
    }
    // From elsewhere, and without variables, there is nowhere to look.
    let program = folder.path("slimhlo");
    if fs::hard_link(env!("CARGO_BIN_EXE_slimhlo"), &program).is_err() {
        fs::copy(env!("CARGO_BIN_EXE_slimhlo"), &program).expect("a copy");
    }
    let before = folder.names();
    let run = Command::new(&program)
        .args(["compile", "sine.mlir", "-o", "package"])
        .current_dir(folder.path(""))
        .env_clear()
        .output()
        .expect("slimhlo runs");
    let err = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(1), "{err}");
    for word in ["__nv_sinf", "--libdevice", "CUDA_HOME", "nvidia-cuda-nvcc"] {
        assert!(err.contains(word), "no {word} in {err}");
    }
    assert_eq!(folder.names(), before);
}

#[test]
fn unknown_chips_are_refused() {
    let folder = sine();
    let arguments = ["compile", "sine.mlir", "-o", "package", "--chip"];
    refused(&folder, &[&arguments[..], &["sm_42"]].concat(), 2, &["sm_42", "sm_70", "sm_90", "sm_120"]);
    let arguments = [&arguments[..], &["sm_120", "--ptx-version"]].concat();
    refused(&folder, &[&arguments[..], &["3.2"]].concat(), 2, &["3.2", "8.7"]);
    refused(&folder, &[&arguments[..], &["7.0"]].concat(), 1, &["PTX 7.0", "sm_120", "8.7"]);
}

#[test]
fn wrong_arguments_are_refused() {
    let folder = sine();
    let vector = |element, extent| Tensor { element, shape: vec![extent] };
    npy::write(&folder.path("long.npy"), &vector(ElementType::F32, 65), &[0; 260]).expect("a file");
    npy::write(&folder.path("wide.npy"), &vector(ElementType::F64, 64), &[0; 512]).expect("a file");
    npy::write(&folder.path("whole.npy"), &vector(ElementType::F32, 64), &[0; 256]).expect("a file");
    let whole = fs::read(folder.path("whole.npy")).expect("a file");
    folder.write("half.npy", &whole[..whole.len() - 100]);
    folder.write("text.npy", "no array");
    let cases: [(&[&str], &[&str]); 6] = [
        (&["long.npy"], &["argument 0", "long.npy", "expected 64xf32", "found 65x<f4"]),
        (&["wide.npy"], &["argument 0", "wide.npy", "expected 64xf32", "found 64x<f8"]),
        (&["half.npy"], &["argument 0", "half.npy", "has 256 bytes", "ends after 156"]),
        (&["text.npy"], &["argument 0", "text.npy", "not a .npy file"]),
        (&["none.npy"], &["argument 0", "none.npy", "No such file"]),
        (&["whole.npy", "whole.npy"], &["2 input files for 1 arguments", "argument 0: 64xf32"]),
    ];
    for (input, words) in cases {
        let arguments = ["run", "sine.mlir", "--device", "cpu", "--output-dir", "out", "--input"];
        refused(&folder, &[&arguments[..], input].concat(), 1, words);
    }
}

#[test]
fn damaged_packages_are_refused() {
    let folder = twice();
    folder.run(&["compile", "twice.mlir", "-o", "package"]).exits(0);
    let manifest = folder.read("package/manifest.json");
    let run = |words: &[&str]| refused(&folder, &["run", "package", "--output-dir", "out"], 1, words);
    folder.write("package/manifest.json", manifest.replace("\"format\": 4", "\"format\": 1"));
    run(&["package/manifest.json", "format version 1", "reads version 4", "compile the program again"]);
    folder.write("package/manifest.json", &manifest[..manifest.len() / 2]);
    run(&["package/manifest.json", "EOF", "line"]);
    folder
        .write("package/manifest.json", manifest.replace("\"constants_bytes\": 0", "\"constants_bytes\": 8"));
    run(&["package/constants.bin", "No such file"]);
    folder.write("package/constants.bin", "four");
    run(&["constants.bin has 4 bytes, not 8"]);
    folder.write("package/manifest.json", &manifest);
    fs::remove_file(folder.path("package/kernels.ptx")).expect("it was there");
    run(&["package/kernels.ptx", "No such file"]);
    fs::remove_file(folder.path("package/manifest.json")).expect("it was there");
    run(&["package/manifest.json", "No such file"]);
    // A package has no code for the CPU.
    refused(&folder, &["run", "package", "--device", "cpu"], 1, &["package", "the CPU needs the module"]);
}

#[test]
fn what_cannot_be_written_leaves_nothing() {
    let folder = twice();
    folder.write("file", "mine");
    fs::create_dir(folder.path("papers")).expect("a folder");
    folder.write("papers/thesis.tex", "mine");
    let compile =
        |output, words: &[&str]| refused(&folder, &["compile", "twice.mlir", "-o", output], 1, words);
    compile("file", &["cannot write file", "Not a directory"]);
    compile("file/package", &["cannot write file/package", "Not a directory"]);
    compile("papers", &["papers", "is no package, so it is not replaced"]);
    assert_eq!((folder.read("file"), folder.read("papers/thesis.tex")), ("mine".into(), "mine".into()));
    let ptx = ["compile", "twice.mlir", "--emit", "ptx", "-o"];
    refused(&folder, &[&ptx[..], &["papers"]].concat(), 1, &["cannot write papers", "directory"]);
    refused(&folder, &[&ptx[..], &["none/code.ptx"]].concat(), 1, &["cannot write none/code.ptx"]);
    for output in ["file", "file/out"] {
        refused(&folder, &["run", "twice.mlir", "--device", "cpu", "--output-dir", output], 1, &[output]);
    }
}
