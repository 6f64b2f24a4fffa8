// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `slimhlo compile` and `slimhlo run`: from a module to a package, and to results on the CPU.

mod common;

use common::Folder;
use serde_json::Value;
use slimhlo_package::{ElementType, Package, Tensor};
use slimhlo_runner::npy;

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
