// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Packages and inputs broken in many ways: each run is an error or gives what the manifest means, never a crash or an access
//! beyond a buffer. A sample here; `cargo xtask fuzz package` runs 50,000.
//!
//! The device keeps each allocation apart and looks at every region. What a manifest means is computed a second time, by a few lines
//! over plain vectors that share nothing with the interpreter but the manifest.

use std::convert::Infallible;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use slimhlo_package::{
    Access, Argument, Counter, ElementType, FORMAT, Function, Kernel, Manifest, Output, Package, Parameter,
    Selector, Slot, Step, Tensor,
};
use slimhlo_runner::{Buffer, Device, DeviceError, Memory, Region, RunOptions, Shape, npy, run};

/// Mutants without the variable SLIMHLO_FUZZ_COUNT.
const SAMPLE: u64 = 2000;
/// What the device has; what a mutant may ask for, therefore.
const TOTAL: u64 = 1 << 20;
/// Loops of mutants need not end.
const PATIENCE: u32 = 300;

/// Splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    fn pick<'v, T>(&mut self, values: &'v [T]) -> &'v T {
        &values[self.below(values.len())]
    }
}

/// What every kernel does: each byte that it writes is made of the bytes that it reads, of the old ones where it updates.
fn kernel(name: &str, buffers: &mut [(Access, Vec<u8>)]) {
    let mut sum = name.bytes().fold(7u8, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte));
    for (access, bytes) in buffers.iter() {
        if matches!(access, Access::Read | Access::ReadWrite) {
            sum = bytes.iter().fold(sum, |sum, byte| sum.wrapping_mul(5).wrapping_add(*byte));
        }
    }
    for (access, bytes) in buffers.iter_mut().filter(|(access, _)| access.writes()) {
        for (place, byte) in bytes.iter_mut().enumerate() {
            let old = if *access == Access::ReadWrite { *byte } else { 0 };
            // Often 0, so that loops end.
            *byte = old.wrapping_add(sum).wrapping_add(place as u8) & 3;
        }
    }
}

/// A device that checks.
struct Checked {
    memory: Vec<Vec<u8>>,
    used: u64,
    left: u32,
    /// By function, of which each kernel here has one: what it does to its parameters.
    accesses: Vec<(String, Vec<Access>)>,
}

impl Checked {
    fn region(&mut self, region: Region) -> Result<&mut [u8], DeviceError> {
        let range = usize::try_from(region.offset).ok().zip(usize::try_from(region.bytes).ok());
        let bytes = self.memory.get_mut(region.buffer.0);
        bytes
            .zip(range)
            .and_then(|(bytes, (start, count))| bytes.get_mut(start..start.checked_add(count)?))
            // The interpreter is to refuse it before.
            .ok_or_else(|| panic!("{region:?} is not there"))
    }

    fn wait(&mut self) -> Result<(), DeviceError> {
        self.left = self.left.checked_sub(1).ok_or_else(|| DeviceError::Failed("it does not end".into()))?;
        Ok(())
    }
}

impl Device for Checked {
    type Function = String;
    type Event = ();
    type Graph = Infallible;

    fn describe(&self) -> String {
        "checked".into()
    }
    fn function(&self, name: &str) -> Result<String, DeviceError> {
        let mut known = self.accesses.iter().filter(|(known, _)| known == name).map(|(_, accesses)| accesses);
        let first = known.next().ok_or_else(|| DeviceError::Failed(format!("no function {name}")))?;
        // Code has one list of parameters. That a manifest has two for it, only who has the code can tell.
        match known.all(|other| other == first) {
            true => Ok(name.into()),
            false => Err(DeviceError::Failed(format!("{name} is not what the manifest says"))),
        }
    }
    fn allocate(&mut self, bytes: u64) -> Result<Buffer, DeviceError> {
        if self.used.checked_add(bytes).is_none_or(|sum| sum > TOTAL) {
            return Err(DeviceError::OutOfMemory { requested: bytes, free: Some(TOTAL - self.used) });
        }
        self.used += bytes;
        self.memory.push(vec![0; bytes as usize]);
        Ok(Buffer(self.memory.len() - 1))
    }
    fn free(&mut self, _: Buffer) -> Result<(), DeviceError> {
        Ok(())
    }
    fn upload(&mut self, to: Region, bytes: &[u8]) -> Result<(), DeviceError> {
        self.region(to)?[..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }
    fn download(&mut self, from: Region, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.wait()?;
        bytes.copy_from_slice(&self.region(from)?[..bytes.len()]);
        Ok(())
    }
    fn copy(&mut self, from: Region, to: Region) -> Result<(), DeviceError> {
        self.wait()?;
        let bytes = self.region(from)?.to_vec();
        self.region(to)?.copy_from_slice(&bytes);
        Ok(())
    }
    fn launch(&mut self, function: &String, _: Shape, regions: &[Region]) -> Result<(), DeviceError> {
        self.wait()?;
        let accesses = self.accesses.iter().find(|(name, _)| name == function).expect("asked for").1.clone();
        // One more is the byte that says whether a guarded kernel does anything.
        let is_guarded = regions.len() == accesses.len() + 1;
        assert!(is_guarded || accesses.len() == regions.len());
        if is_guarded && self.region(regions[accesses.len()])?[0] == 0 {
            return Ok(());
        }
        let mut buffers = Vec::new();
        for (access, region) in accesses.into_iter().zip(regions) {
            buffers.push((access, self.region(*region)?.to_vec()));
        }
        kernel(function, &mut buffers);
        for ((access, bytes), region) in buffers.into_iter().zip(regions) {
            if access.writes() {
                self.region(*region)?.copy_from_slice(&bytes);
            }
        }
        Ok(())
    }
    fn launch_graph(&mut self, graph: &Infallible) -> Result<(), DeviceError> {
        match *graph {}
    }
    fn synchronize(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }
    fn record(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }
    fn elapsed(&mut self, (): &(), (): &()) -> Result<Duration, DeviceError> {
        Ok(Duration::ZERO)
    }
    fn memory(&mut self) -> Result<Memory, DeviceError> {
        Ok(Memory { used: self.used, total: Some(TOTAL) })
    }
}

/// What a manifest means, by itself.
struct Meaning<'m> {
    manifest: &'m Manifest,
    arguments: Vec<Vec<u8>>,
    results: Vec<Vec<u8>>,
    arena: Vec<u8>,
    constants: Vec<u8>,
    /// What each counter is now.
    counters: Vec<Vec<u8>>,
}

impl Meaning<'_> {
    fn place(&mut self, slot: Slot) -> &mut [u8] {
        match slot {
            Slot::Argument(number) => &mut self.arguments[number],
            Slot::Result(number) => match self.manifest.results[number].argument {
                Some(argument) => &mut self.arguments[argument],
                None => &mut self.results[number],
            },
            Slot::Arena(offset) => &mut self.arena[offset as usize..],
            Slot::Constant(offset) => &mut self.constants[offset as usize..],
            Slot::Counter(number) => &mut self.counters[number],
        }
    }

    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Launch { kernel: name, buffers } => {
                    let found = self.manifest.kernels.iter().find(|kernel| kernel.name == *name);
                    let described = found.expect("it was checked").clone();
                    for function in &described.functions {
                        let mut given: Vec<_> = buffers
                            .iter()
                            .zip(&described.parameters)
                            .map(|(slot, parameter)| {
                                (parameter.access, self.place(*slot)[..parameter.bytes as usize].to_vec())
                            })
                            .collect();
                        kernel(&function.name, &mut given);
                        for ((access, bytes), slot) in given.into_iter().zip(buffers) {
                            if access.writes() {
                                self.place(*slot)[..bytes.len()].copy_from_slice(&bytes);
                            }
                        }
                    }
                }
                Step::Copy { from, to, bytes } => {
                    let moved = self.place(*from)[..*bytes as usize].to_vec();
                    self.place(*to)[..moved.len()].copy_from_slice(&moved);
                }
                Step::While { condition, predicate, body, guarded: _ } => loop {
                    self.steps(condition);
                    if self.place(*predicate)[0] == 0 {
                        break;
                    }
                    self.steps(body);
                },
                Step::Repeat { turns, counter, body } => {
                    // The device has run it, so that there are few turns of anything.
                    let turns = if body.iter().all(is_idle) { 0 } else { *turns };
                    for turn in 0..turns {
                        if let Some(number) = *counter {
                            let Counter { bytes, start, step } = self.manifest.counters[number];
                            let value = i128::from(start) + i128::from(step) * i128::from(turn);
                            self.counters[number] = value.to_le_bytes()[..bytes as usize].to_vec();
                        }
                        self.steps(body);
                    }
                }
                Step::Case { selector, kind, branches } => {
                    let place = self.place(*selector);
                    let last = branches.len() - 1;
                    let taken = match kind {
                        Selector::Predicate => usize::from(place[0] == 0),
                        Selector::Index => {
                            let index = i32::from_le_bytes([place[0], place[1], place[2], place[3]]);
                            usize::try_from(index).unwrap_or(last)
                        }
                    };
                    self.steps(&branches[taken.min(last)]);
                }
            }
        }
    }
}

/// Whether a step repeats nothing, be it ever so often.
fn is_idle(step: &Step) -> bool {
    matches!(step, Step::Repeat { turns, body, .. } if *turns == 0 || body.iter().all(is_idle))
}

fn tensor(element: ElementType, shape: &[u64]) -> Tensor {
    Tensor { element, shape: shape.to_vec() }
}

/// A package with every kind of step, and types of several sizes.
fn seed() -> Package {
    let taken = |name: &str, types: &[(u64, Access)]| Kernel {
        name: name.into(),
        functions: vec![Function { name: name.into(), grid: 2, block: 32, shared_bytes: 0 }],
        parameters: types.iter().map(|&(bytes, access)| Parameter { bytes, access }).collect(),
        guarded: false,
        bytes_moved: None,
        location: None,
    };
    let launch =
        |name: &str, buffers: &[Slot]| Step::Launch { kernel: name.into(), buffers: buffers.to_vec() };
    let repeat = |turns, counter, body| Step::Repeat { turns, counter, body };
    use Access::{Read, ReadWrite, Write};
    use Slot::{Arena, Argument as Arg, Constant, Result};
    let argument = |element, shape: &[u64], donated| {
        let tensor = tensor(element, shape);
        let bytes = tensor.bytes().expect("small");
        Argument { name: None, tensor, bytes, donated }
    };
    let result = |element, shape: &[u64], argument| {
        let tensor = tensor(element, shape);
        let bytes = tensor.bytes().expect("small");
        Output { name: None, tensor, bytes, argument }
    };
    let manifest = Manifest {
        format: FORMAT,
        producer: "test".into(),
        name: "seed".into(),
        chip: "sm_90".into(),
        arguments: vec![
            argument(ElementType::F32, &[4, 2], true),
            argument(ElementType::F32, &[4, 2], false),
            argument(ElementType::Complex64, &[3], false),
            argument(ElementType::I32, &[], false),
        ],
        results: vec![
            result(ElementType::F32, &[4, 2], Some(0)),
            result(ElementType::Complex64, &[3], None),
            result(ElementType::I1, &[5], None),
        ],
        arena_bytes: 1024,
        constants_bytes: 300,
        counters: vec![Counter { bytes: 4, start: 5, step: -2 }, Counter { bytes: 8, start: 0, step: 3 }],
        kernels: vec![
            taken("sum", &[(32, Read), (32, Read), (32, Write)]),
            taken("flags", &[(4, Read), (5, Write)]),
            taken("update", &[(32, ReadWrite), (24, Read)]),
            Kernel { guarded: true, ..taken("flags-if", &[(4, Read), (5, Write)]) },
            Kernel { guarded: true, ..taken("update-if", &[(32, ReadWrite), (24, Read)]) },
        ],
        buffers: vec![],
        steps: vec![
            launch("sum", &[Arg(1), Constant(256), Arena(0)]),
            Step::Copy { from: Arg(2), to: Result(1), bytes: 24 },
            Step::While {
                condition: vec![launch("flags", &[Arena(0), Arena(256)])],
                predicate: Arena(256),
                body: vec![
                    launch("update", &[Arena(0), Arg(2)]),
                    launch("sum", &[Arena(0), Arg(1), Arena(512)]),
                ],
                guarded: false,
            },
            Step::While {
                condition: vec![launch("flags-if", &[Arena(0), Arena(256)])],
                predicate: Arena(256),
                body: vec![repeat(
                    3,
                    Some(1),
                    vec![
                        launch("flags-if", &[Slot::Counter(1), Arena(768)]),
                        launch("update-if", &[Arena(0), Arg(2)]),
                    ],
                )],
                guarded: true,
            },
            Step::Case {
                selector: Arg(3),
                kind: Selector::Index,
                branches: vec![
                    vec![launch("update", &[Arg(0), Arena(0)])],
                    vec![],
                    vec![launch("flags", &[Arena(0), Result(2)])],
                ],
            },
            repeat(
                3,
                Some(0),
                vec![
                    launch("update", &[Arena(0), Arg(2)]),
                    repeat(2, Some(1), vec![launch("flags", &[Slot::Counter(1), Arena(0)])]),
                    Step::Copy { from: Slot::Counter(0), to: Arena(8), bytes: 3 },
                    launch("update", &[Arg(0), Arena(0)]),
                ],
            ),
            Step::Copy { from: Arena(0), to: Arena(768), bytes: 32 },
        ],
    };
    Package {
        manifest,
        ptx: ".version 8.0\n".into(),
        cubin: None,
        constants: (0..300).map(|i| i as u8).collect(),
    }
}

/// Changes one place of a document.
fn mutate(value: &mut Value, whole: &Value, random: &mut Random) {
    let children = match value {
        Value::Array(values) => values.len(),
        Value::Object(values) => values.len(),
        _ => 0,
    };
    // Mostly somewhere inside.
    if children > 0 && random.below(8) > 0 {
        let inner = random.below(children);
        match value {
            Value::Array(values) => return mutate(&mut values[inner], whole, random),
            Value::Object(values) => {
                return mutate(values.values_mut().nth(inner).expect("counted"), whole, random);
            }
            _ => {}
        }
    }
    match value {
        Value::Number(number) => {
            let old = number.as_u64().unwrap_or(0);
            let near = [old.wrapping_add(1), old.wrapping_sub(1), old.wrapping_mul(2), old / 2, old ^ 256];
            let far = [0, 1, 3, 256, 1 << 16, 1 << 31, 1 << 32, 1 << 40, 1 << 62, 1 << 63, u64::MAX];
            *value = match random.below(20) {
                0 => json!(-1),
                1 => json!(0.5),
                2..12 => json!(random.pick(&near)),
                _ => json!(random.pick(&far)),
            };
        }
        Value::String(text) => {
            let names =
                ["sum", "flags", "update", "arg0", "arg3", "result1", "result2", "arena+0", "arena+256"];
            let types = ["f32", "f64", "i1", "bf16", "complex<f64>", "ui4", "i64", "read", "write", "index"];
            let odd = ["", "\u{0}", "arena+18446744073709551615", "arena+-1", "const+256", "arg99999999999"];
            let list: &[&str] = match random.below(3) {
                0 => &names,
                1 => &types,
                _ => &odd,
            };
            *text = (*random.pick(list)).into();
        }
        Value::Array(values) if !values.is_empty() => {
            let at = random.below(values.len());
            match random.below(4) {
                0 => drop(values.remove(at)),
                1 => values.insert(at, values[at].clone()),
                2 => values.swap(at, 0),
                _ => values.clear(),
            }
        }
        Value::Object(values) if !values.is_empty() => {
            let key = values.keys().nth(random.below(values.len())).expect("counted").clone();
            match random.below(3) {
                0 => drop(values.remove(&key)),
                1 => drop(values.insert(key, whole["steps"].clone())),
                _ => drop(values.insert("unknown".into(), json!(1))),
            }
        }
        other => *other = json!([other.clone()]),
    }
}

/// Changes bytes of a file.
fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len() + 1);
        match random.below(5) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, random.next() as u8),
            2 if at < bytes.len() => drop(bytes.remove(at)),
            3 => bytes.extend_from_within(at..),
            _ if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            _ => {}
        }
    }
}

/// A header of a .npy file that somebody might have thought of.
fn header(random: &mut Random) -> Vec<u8> {
    let kind = random.pick(&["<f4", ">f4", "<c8", "|b1", "<i4", "|V2", "<f99999999999", "", "f"]);
    let order = random.pick(&["True", "False", "None"]);
    let shapes = [
        "(4, 2)",
        "(4, 2,)",
        "(3,)",
        "()",
        "(18446744073709551615, 2)",
        "(9223372036854775807, 4, 0)",
        "(-1,)",
        "(2",
    ];
    let text =
        format!("{{'descr': '{kind}', 'fortran_order': {order}, 'shape': {}, }}\n", random.pick(&shapes));
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    let length = if random.below(5) == 0 { random.next() as u16 } else { text.len() as u16 };
    bytes.extend(length.to_le_bytes());
    bytes.extend(text.bytes());
    bytes.extend(vec![1; 32]);
    bytes
}

/// Writes a mutant of the seed and its inputs to a folder.
fn write(folder: &Path, random: &mut Random) -> RunOptions {
    let package = seed();
    let mut manifest = serde_json::to_value(&package.manifest).expect("a document");
    let whole = manifest.clone();
    let (kind, mut text) = (random.below(10), None);
    if kind < 7 {
        (0..=random.below(3)).for_each(|_| mutate(&mut manifest, &whole, random));
    } else if kind == 7 {
        let mut bytes = manifest.to_string().into_bytes();
        damage(&mut bytes, random);
        text = Some(bytes);
    }
    fs::write(folder.join("manifest.json"), text.unwrap_or_else(|| manifest.to_string().into_bytes()))
        .expect("a file");
    let mut files = [("kernels.ptx", package.ptx.into_bytes()), ("constants.bin", package.constants)];
    for (name, bytes) in &mut files {
        if random.below(20) == 0 {
            damage(bytes, random);
        }
        fs::write(folder.join(*name), bytes).expect("a file");
    }
    let mut options = RunOptions { output_dir: Some(folder.join("out")), ..RunOptions::default() };
    if random.below(3) > 0 {
        for (number, argument) in package.manifest.arguments.iter().enumerate() {
            let path = folder.join(format!("{number}.npy"));
            let bytes: Vec<u8> = (0..argument.bytes).map(|_| random.next() as u8 & 1).collect();
            npy::write(&path, &argument.tensor, &bytes).expect("a file");
            if kind >= 8 && random.below(3) == 0 {
                let mut bytes = fs::read(&path).expect("a file");
                match random.below(2) {
                    0 => damage(&mut bytes, random),
                    _ => bytes = header(random),
                }
                fs::write(&path, bytes).expect("a file");
            }
            options.input.push(path);
        }
    }
    options
}

/// Runs what is in a folder. The error, or nothing if the results are right.
fn attempt(folder: &Path, options: &RunOptions) -> Result<(), String> {
    let package = Package::read(folder).map_err(|error| error.to_string())?;
    let accesses = package.manifest.kernels.iter().flat_map(|kernel| {
        let all: Vec<_> = kernel.parameters.iter().map(|parameter| parameter.access).collect();
        kernel.functions.iter().map(move |function| (function.name.clone(), all.clone()))
    });
    let accesses: Vec<_> = accesses.collect();
    let mut device = Checked { memory: vec![], used: 0, left: PATIENCE, accesses };
    run(&package, &mut device, options, &mut Vec::new()).map_err(|error| format!("{error:#}"))?;

    let inputs = slimhlo_runner::inputs(&package.manifest, options).map_err(|error| error.to_string())?;
    let manifest = &package.manifest;
    let mut meaning = Meaning {
        manifest,
        arguments: inputs,
        results: manifest.results.iter().map(|result| vec![0; result.bytes as usize]).collect(),
        arena: vec![0; manifest.arena_bytes as usize],
        constants: package.constants.clone(),
        counters: vec![vec![]; manifest.counters.len()],
    };
    meaning.steps(&manifest.steps);
    for (number, result) in manifest.results.iter().enumerate() {
        let file = options.output_dir.as_ref().expect("asked for").join(format!("result{number}.npy"));
        let have = npy::read(&file, &result.tensor).expect("what was written is read");
        let mut want = meaning.place(Slot::Result(number))[..result.bytes as usize].to_vec();
        if result.tensor.element == ElementType::I1 {
            want.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
        }
        assert_eq!(have, want, "result {number}");
    }
    Ok(())
}

#[test]
fn mutants_are_errors_or_right() {
    let count =
        std::env::var("SLIMHLO_FUZZ_COUNT").ok().map_or(SAMPLE, |count| count.parse().expect("a number"));
    let start: u64 =
        std::env::var("SLIMHLO_FUZZ_SEED").ok().map_or(0, |seed| seed.parse().expect("a number"));
    let (mut right, mut errors) = (0u64, 0u64);
    for number in 0..count {
        let folder = tempfile::tempdir().expect("a folder");
        let mut random = Random(start.wrapping_add(number).wrapping_mul(0x5851_f42d_4c95_7f2d));
        let options = write(folder.path(), &mut random);
        match catch_unwind(AssertUnwindSafe(|| attempt(folder.path(), &options))) {
            Ok(Ok(())) => right += 1,
            Ok(Err(message)) => {
                assert!(!message.is_empty(), "mutant {number}: an error that says nothing");
                errors += 1;
            }
            Err(_) => {
                let kept = folder.keep();
                panic!("mutant {number} of seed {start}: a panic, see above; it is in {}", kept.display());
            }
        }
        // The command itself, without a device.
        if number % 100 == 0 {
            let command =
                Command::new(env!("CARGO_BIN_EXE_slimhlo-run")).arg(folder.path()).arg("--plan").output();
            let status = command.expect("it runs").status.code();
            assert!(matches!(status, Some(0 | 1)), "mutant {number}: {status:?}");
        }
    }
    println!("{} passed, 0 failed: {right} mutants gave right results, {errors} an error", right + errors);
    // Neither kind is rare, or the mutants would test nothing.
    assert!(right * 20 > count && errors * 20 > count, "{right} right, {errors} errors of {count}");
}

#[test]
fn the_seed_itself_is_right() {
    let folder = tempfile::tempdir().expect("a folder");
    let package = folder.path().join("package");
    seed().write(&package).expect("a package");
    let options = RunOptions { output_dir: Some(folder.path().join("out")), ..RunOptions::default() };
    attempt(&package, &options).expect("results");
}
