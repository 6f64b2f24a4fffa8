// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Packages written and read back, and packages that must be refused.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use slimhlo_package::{
    Access, Argument, Buffer, CONSTANTS_FILE, Counter, ElementType, Error, FORMAT, Function, Kernel, Live,
    MANIFEST_FILE, Manifest, Output, Package, Parameter, Selector, Slot, Step, Tensor,
};

fn vector(extent: u64) -> Tensor {
    Tensor { element: ElementType::F32, shape: vec![extent] }
}

fn launch(buffers: &[Slot]) -> Step {
    Step::Launch { kernel: "add".into(), buffers: buffers.to_vec() }
}

/// Uses every part of the format.
fn sample() -> Package {
    let parameter = |access| Parameter { bytes: 32, access };
    let manifest = Manifest {
        format: FORMAT,
        producer: "test".into(),
        name: "sample".into(),
        chip: "sm_90".into(),
        arguments: vec![
            Argument { name: Some("x".into()), tensor: vector(8), bytes: 32, donated: true },
            Argument { name: None, tensor: vector(8), bytes: 32, donated: false },
        ],
        results: vec![
            Output { name: None, tensor: vector(8), bytes: 32, argument: Some(0) },
            Output { name: Some("y".into()), tensor: vector(8), bytes: 32, argument: None },
        ],
        arena_bytes: 1024,
        constants_bytes: 32,
        counters: vec![Counter { bytes: 4, start: -3, step: 2 }, Counter { bytes: 8, start: 0, step: 1 }],
        kernels: vec![Kernel {
            name: "add".into(),
            functions: vec![Function { name: "add".into(), grid: 1, block: 256, shared_bytes: 0 }],
            parameters: vec![parameter(Access::Read), parameter(Access::Read), parameter(Access::Write)],
            guarded: false,
            bytes_moved: None,
            location: Some("loc(\"sample.py\":1:2)".into()),
        }],
        buffers: vec![Buffer {
            name: "add".into(),
            slot: Slot::Arena(256),
            bytes: 32,
            tensor: Some(vector(8)),
            live: Some(Live { from: 0, to: 3 }),
            location: None,
        }],
        steps: vec![
            launch(&[Slot::Argument(0), Slot::Constant(0), Slot::Arena(256)]),
            Step::While {
                condition: vec![launch(&[Slot::Argument(1), Slot::Argument(1), Slot::Arena(0)])],
                predicate: Slot::Arena(0),
                body: vec![Step::Copy { from: Slot::Arena(256), to: Slot::Arena(512), bytes: 32 }],
                guarded: false,
            },
            Step::Case {
                selector: Slot::Arena(512),
                kind: Selector::Index,
                branches: vec![vec![], vec![launch(&[Slot::Argument(1), Slot::Arena(256), Slot::Result(1)])]],
            },
            Step::Repeat {
                turns: 12,
                counter: Some(1),
                body: vec![
                    Step::Copy { from: Slot::Arena(256), to: Slot::Arena(512), bytes: 32 },
                    Step::Copy { from: Slot::Counter(1), to: Slot::Arena(512), bytes: 8 },
                ],
            },
        ],
    };
    Package { manifest, ptx: ".version 8.0\n".into(), cubin: Some(vec![1, 2, 3]), constants: vec![7; 32] }
}

#[test]
fn what_is_written_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/package");
    assert!(!Package::is_at(&path));
    sample().write(&path).unwrap();
    assert!(Package::is_at(&path));
    assert_eq!(Package::read(&path).unwrap(), sample());
}

#[test]
fn nothing_is_left_beside_a_package() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("package");
    let mut package = sample();
    package.write(&path).unwrap();
    package.cubin = None;
    package.write(&path).unwrap();
    assert_eq!(Package::read(&path).unwrap(), package);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    package.constants.clear();
    assert!(matches!(package.write(&path), Err(Error::Invalid(_))));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    assert_eq!(Package::read(&path).unwrap().constants.len(), 32);
}

#[test]
fn other_folders_are_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("thesis.tex"), "years of work").unwrap();
    assert!(matches!(sample().write(folder.path()), Err(Error::Occupied(_))));
    assert!(folder.path().join("thesis.tex").exists());
    let file = folder.path().join("thesis.tex");
    assert!(matches!(sample().write(&file), Err(Error::File { .. })));
    let empty = folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    sample().write(&empty).unwrap();
}

#[test]
fn steps_are_counted_and_memory_summed() {
    let manifest = sample().manifest;
    assert_eq!(manifest.steps.iter().map(Step::count).sum::<u64>(), 9);
    assert_eq!(manifest.planned_bytes(), 32 + 32 + 32 + 1024 + 32);
    assert_eq!(manifest.kernel("add").unwrap().traffic(), 96);
    assert_eq!(Tensor { element: ElementType::F64, shape: vec![u64::MAX, 2] }.bytes(), None);
    assert_eq!(Tensor { element: ElementType::F64, shape: vec![u64::MAX, 2, 0] }.bytes(), Some(0));
    assert_eq!(Tensor { element: ElementType::Complex64, shape: vec![2, 3] }.to_string(), "2x3xcomplex<f32>");
}

#[test]
fn types_are_read_as_they_are_written() {
    let complex = Tensor { element: ElementType::Complex64, shape: vec![2, 3] };
    assert_eq!("tensor<2x3xcomplex<f32>>".parse(), Ok(complex.clone()));
    assert_eq!("2x3xcomplex<f32>".parse(), Ok(complex));
    assert_eq!("tensor<f8E4M3FN>".parse(), Ok(Tensor { element: ElementType::F8E4M3FN, shape: vec![] }));
    for text in [
        "",
        "tensor<?xf32>",
        "tensor<4>",
        "4x",
        "-1xf32",
        "4x4xfloat",
        "99999999999999999999xf32",
        "tensor<*xf32>",
    ] {
        assert!(text.parse::<Tensor>().is_err(), "{text}");
    }
}

#[test]
fn slots_are_read_as_they_are_written() {
    for slot in
        [Slot::Argument(0), Slot::Result(12), Slot::Arena(u64::MAX), Slot::Constant(256), Slot::Counter(3)]
    {
        assert_eq!(slot.to_string().parse(), Ok(slot));
    }
    for text in [
        "",
        "arg",
        "arg-1",
        "counter",
        "counter+0",
        "arg+1",
        "arena",
        "arena256",
        "arena+",
        "const+1x",
        "arena+99999999999999999999",
    ] {
        assert!(text.parse::<Slot>().is_err(), "{text}");
    }
}

/// The error of reading the sample after its manifest was changed.
fn error(change: impl FnOnce(&mut Value)) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("package");
    sample().write(&path).unwrap();
    let manifest = path.join(MANIFEST_FILE);
    let mut value: Value = serde_json::from_slice(&fs::read(&manifest).unwrap()).unwrap();
    change(&mut value);
    fs::write(&manifest, value.to_string()).unwrap();
    Package::read(&path).unwrap_err().to_string()
}

/// Sets one value of the manifest, by JSON pointer, and expects the error to mention all of `words`.
#[track_caller]
fn refused(pointer: &str, value: Value, words: &[&str]) {
    let message = error(|manifest| *manifest.pointer_mut(pointer).unwrap() = value);
    for word in words {
        assert!(message.contains(word), "`{word}` is not in: {message}");
    }
}

#[test]
fn unknown_versions_are_refused() {
    refused("/format", json!(1), &["version 1", "reads version 4", "compile the program again"]);
    refused("/format", json!("2"), &["manifest.json", "invalid type"]);
    // Even if the rest of the manifest has another shape.
    let message = error(|manifest| *manifest = json!({ "format": 99, "anything": [] }));
    assert!(message.contains("version 99"), "{message}");
}

#[test]
fn what_a_guarded_loop_does_unasked_is_refused() {
    let guarded = |condition: Value, body: Value| {
        error(|manifest| {
            manifest["steps"][1]["guarded"] = json!(true);
            manifest["steps"][1]["condition"] = condition;
            manifest["steps"][1]["body"] = body;
        })
    };
    let launch = json!({ "do": "launch", "kernel": "add", "buffers": ["arg1", "arg1", "arena+0"] });
    let copy = json!({ "do": "copy", "from": "arena+256", "to": "arena+512", "bytes": 32 });
    let message = guarded(json!([launch]), json!([]));
    assert!(message.contains("step 1: a guarded loop launches `add`, which is not guarded"), "{message}");
    let repeated = json!([{ "do": "repeat", "turns": 2, "body": [copy] }]);
    assert!(guarded(json!([]), repeated).contains("step 1: a guarded loop copies"));
    let inner = json!([{ "do": "while", "condition": [], "predicate": "arena+0", "body": [] }]);
    assert!(guarded(inner, json!([])).contains("step 1: a guarded loop has control flow"));
}

#[test]
fn unknown_fields_are_refused() {
    for pointer in
        ["", "/arguments/0", "/results/0", "/kernels/0", "/kernels/0/functions/0", "/steps/0", "/steps/1"]
    {
        let message = error(|manifest| {
            manifest.pointer_mut(pointer).unwrap().as_object_mut().unwrap().insert("colour".into(), json!(1));
        });
        assert!(message.contains("colour"), "{pointer}: {message}");
    }
}

#[test]
fn contradictions_are_refused() {
    refused("/chip", json!("sm 90"), &["chip"]);
    refused("/arguments/1/bytes", json!(31), &["argument 1", "8xf32", "32", "31"]);
    refused("/arguments/0/type/shape", json!([u64::MAX, 2]), &["argument 0", "too many"]);
    refused("/arguments/0/type/element", json!("f33"), &["f33"]);
    refused("/results/0/argument", json!(2), &["result 0", "argument 2 of 2"]);
    refused("/results/0/argument", json!(1), &["not donated"]);
    refused("/results/0/argument", json!(-1), &["manifest.json"]);
    assert!(error(|manifest| manifest["results"][1]["argument"] = json!(0)).contains("two results"));
    refused("/constants_bytes", json!(64), &[CONSTANTS_FILE, "32", "64"]);
}

#[test]
fn kernels_that_cannot_be_launched_are_refused() {
    refused("/kernels/0/name", json!("mul"), &["no kernel `add`"]);
    refused("/kernels/0/functions", json!([]), &["no functions"]);
    refused("/kernels/0/functions/0/name", json!("a\u{0}b"), &["function name"]);
    refused("/kernels/0/functions/0/grid", json!(0), &["grid of 0"]);
    refused("/kernels/0/functions/0/grid", json!(u32::MAX), &["grid of 4294967295"]);
    refused("/kernels/0/functions/0/block", json!(2048), &["block of 2048"]);
    let message = error(|manifest| {
        let kernels = manifest["kernels"].as_array_mut().unwrap();
        kernels.push(kernels[0].clone());
    });
    assert!(message.contains("two kernels"), "{message}");
}

#[test]
fn buffers_that_do_not_exist_are_refused() {
    refused("/steps/0/buffers/0", json!("arg2"), &["step 0", "no `arg2`"]);
    refused("/steps/0/buffers/0", json!("result9"), &["step 0", "no `result9`"]);
    refused("/steps/0/buffers/2", json!("arena+1024"), &["step 0", "arena+1024", "1024 bytes"]);
    refused("/steps/0/buffers/2", json!("arena+18446744073709551360"), &["step 0", "end beyond"]);
    refused("/steps/0/buffers/2", json!("arena+8"), &["multiple of 16"]);
    refused("/steps/0/buffers/1", json!("const+256"), &["step 0", "end beyond"]);
    refused("/steps/0/buffers", json!(["arg0"]), &["takes 3 buffers, not 1"]);
    refused("/steps/1/condition/0/buffers/0", json!("arg7"), &["step 2", "no `arg7`"]);
    refused("/steps/1/predicate", json!("arena+1024"), &["step 1", "end beyond"]);
    refused("/steps/1/body/0/bytes", json!(257), &["step 3", "overlapping"]);
    refused("/steps/1/body/0/bytes", json!(u64::MAX), &["step 3", "end beyond"]);
    refused("/steps/2/selector", json!("arena+1021"), &["step 4", "end beyond"]);
    refused("/steps/3/body/0/bytes", json!(257), &["step 7", "overlapping"]);
    refused("/steps/3/turns", json!(-1), &["line"]);
    refused("/steps/2/branches", json!([]), &["step 4", "0 branches"]);
    refused("/steps/2/branches/1/0/buffers/2", json!("nowhere"), &["nowhere"]);
    refused("/buffers/0/bytes", json!(4096), &["buffer `add`", "end beyond"]);
    refused("/buffers/0/live/from", json!(9), &["live from 9 to 3"]);
}

#[test]
fn counters_that_nobody_drives_are_refused() {
    refused("/counters/0/bytes", json!(3), &["counter 0 of 3 bytes"]);
    refused("/counters/0/step", json!(u64::MAX), &["manifest.json"]);
    refused("/steps/3/counter", json!(2), &["step 6", "no counter 2"]);
    refused("/steps/3/counter", json!(0), &["step 8", "no loop around it drives `counter1`"]);
    refused("/steps/3/body/1/bytes", json!(9), &["step 8", "end beyond its 8 bytes"]);
    refused("/steps/3/body/1/from", json!("counter0"), &["step 8", "no loop around it drives `counter0`"]);
    refused("/steps/3/body/1/to", json!("counter1"), &["step 8", "writes to `counter1`"]);
    refused("/steps/0/buffers/0", json!("counter0"), &["step 0", "no loop around it drives `counter0`"]);
    // Behind its loop, and in a loop within that drives it again.
    refused("/steps/2/selector", json!("counter1"), &["step 4", "no loop around it drives"]);
    let again = json!([{ "do": "repeat", "turns": 2, "counter": 1, "body": [] }]);
    refused("/steps/3/body", again, &["step 7", "counter 1 is driven twice"]);
}

#[test]
fn counters_wrap() {
    let counter = |bytes, start, step| Counter { bytes, start, step };
    assert_eq!(counter(4, -3, 2).at(0), (-3_i32).to_le_bytes());
    assert_eq!(counter(4, -3, 2).at(12), 21_i32.to_le_bytes());
    assert_eq!(counter(1, 200, 100).at(1), [44]);
    assert_eq!(counter(8, i64::MAX, 1).at(1), i64::MIN.to_le_bytes());
}

#[test]
fn what_is_read_only_is_not_written() {
    refused("/steps/0/buffers/2", json!("arg1"), &["step 0", "writes to `arg1`"]);
    refused("/steps/0/buffers/2", json!("const+0"), &["step 0", "writes to `const+0`"]);
    refused("/steps/1/body/0/to", json!("arg1"), &["step 3", "writes to `arg1`"]);
}

#[test]
fn steps_nested_without_end_are_refused() {
    let message = error(|manifest| {
        let nested = (0..1000).fold(
            json!([]),
            |inner, _| json!([{ "do": "while", "condition": [], "predicate": "arena+0", "body": inner }]),
        );
        manifest["steps"] = nested;
    });
    assert!(message.contains("recursion limit"), "{message}");
}

/// All places in a JSON value, as pointers.
fn places(value: &Value, pointer: &str, found: &mut Vec<String>) {
    found.push(pointer.to_string());
    match value {
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(i, inner)| places(inner, &format!("{pointer}/{i}"), found));
        }
        Value::Object(map) => {
            map.iter().for_each(|(key, inner)| places(inner, &format!("{pointer}/{key}"), found));
        }
        _ => {}
    }
}

#[test]
fn no_value_anywhere_makes_reading_panic() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("package");
    sample().write(&path).unwrap();
    let manifest: Value = serde_json::from_slice(&fs::read(path.join(MANIFEST_FILE)).unwrap()).unwrap();
    let mut pointers = Vec::new();
    places(&manifest, "", &mut pointers);
    assert!(pointers.len() > 100);
    let values = [
        json!(null),
        json!(-1),
        json!(0),
        json!(1.5),
        json!(u64::MAX),
        json!(""),
        json!("\u{0}"),
        json!("arena+18446744073709551615"),
        json!("const+18446744073709551360"),
        json!("arg18446744073709551615"),
        json!([]),
        json!([u64::MAX, u64::MAX]),
        json!({}),
    ];
    for pointer in &pointers {
        for value in &values {
            let mut changed = manifest.clone();
            *changed.pointer_mut(pointer).unwrap() = value.clone();
            fs::write(path.join(MANIFEST_FILE), changed.to_string()).unwrap();
            if let Ok(package) = Package::read(&path) {
                let manifest = package.manifest;
                let _ = manifest.planned_bytes();
                manifest.kernels.iter().for_each(|kernel| _ = kernel.traffic());
                manifest.steps.iter().for_each(|step| _ = step.count());
            }
        }
    }
}

#[test]
fn missing_files_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let read = |path: &Path| Package::read(path).unwrap_err().to_string();
    assert!(read(&folder.path().join("none")).contains("none/manifest.json"));
    let path = folder.path().join("package");
    sample().write(&path).unwrap();
    fs::remove_file(path.join(CONSTANTS_FILE)).unwrap();
    assert!(read(&path).contains(CONSTANTS_FILE));
    fs::write(path.join(MANIFEST_FILE), "{").unwrap();
    assert!(read(&path).contains("line 1"));
}
