// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Packages made by hand, run on the CPU with kernels made by hand; and on a device that has little memory.

use std::collections::HashMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use slimhlo_package::{
    Access, Argument, Buffer as Planned, Counter, ElementType, FORMAT, Function, Kernel, Live, Manifest,
    Output, Package, Parameter, Selector, Slot, Step, Tensor,
};
use slimhlo_runner::{
    Asked, Buffer, Device, DeviceError, Executor, HostDevice, HostKernel, Memory, Region, RunOptions, Shape,
    npy, run,
};

/// Elements of the vectors here.
const N: u64 = 1000;

/// The elements that blocks `first..end` of `grid` are for, as grid-stride loops of one thread per block would have it.
fn elements(first: u64, end: u64, grid: u64) -> impl Iterator<Item = usize> {
    (first..end).flat_map(move |block| (block..N).step_by(grid as usize)).map(|i| i as usize)
}

/// result = a + b
unsafe extern "C" fn add(arguments: *const *mut u8, first: u64, end: u64, grid: u64) {
    // SAFETY: the test's package gives three buffers of `N` floats.
    unsafe {
        let (a, b) = ((*arguments).cast::<f32>(), (*arguments.add(1)).cast::<f32>());
        let result = (*arguments.add(2)).cast::<f32>();
        for i in elements(first, end, grid) {
            result.add(i).write(a.add(i).read() + b.add(i).read());
        }
    }
}

/// The same as one of those below, if the byte that comes after its buffers is not 0.
macro_rules! guarded {
    ($name:ident, $plain:ident, $buffers:literal) => {
        unsafe extern "C" fn $name(arguments: *const *mut u8, first: u64, end: u64, grid: u64) {
            // SAFETY: the test's package says that it is guarded, so that there is one more buffer.
            unsafe {
                if (*arguments.add($buffers)).read() != 0 {
                    $plain(arguments, first, end, grid);
                }
            }
        }
    };
}
guarded!(add_if, add, 3);
guarded!(count_down_if, count_down, 1);
guarded!(positive_if, positive, 2);

/// counter -= 1; the second half of the kernel: predicate = counter > 0
unsafe extern "C" fn count_down(arguments: *const *mut u8, first: u64, end: u64, _grid: u64) {
    // SAFETY: a buffer of one i32.
    unsafe {
        let counter = (*arguments).cast::<i32>();
        for _ in first..end {
            counter.write(counter.read() - 1);
        }
    }
}

unsafe extern "C" fn positive(arguments: *const *mut u8, _first: u64, _end: u64, _grid: u64) {
    // SAFETY: a buffer of one i32, one of one byte.
    unsafe { (*arguments.add(1)).write(u8::from((*arguments).cast::<i32>().read() > 0)) };
}

/// number = 31 * number + a counter, and what another is.
unsafe extern "C" fn mix(arguments: *const *mut u8, _first: u64, _end: u64, _grid: u64) {
    // SAFETY: buffers of an i32, an i64, and a number of 64 bits.
    unsafe {
        let (outer, inner) = ((*arguments).cast::<i32>().read(), (*arguments.add(1)).cast::<i64>().read());
        let number = (*arguments.add(2)).cast::<u64>();
        number.write(mixed(number.read(), outer, inner));
    }
}

fn mixed(number: u64, outer: i32, inner: i64) -> u64 {
    number.wrapping_mul(31).wrapping_add_signed(i64::from(outer) * 1000 + inner)
}

fn device() -> HostDevice {
    let kernels: [(&str, HostKernel); 7] = [
        ("add", add),
        ("count_down", count_down),
        ("positive", positive),
        ("add_if", add_if),
        ("count_down_if", count_down_if),
        ("positive_if", positive_if),
        ("mix", mix),
    ];
    let kernels = kernels.into_iter().map(|(name, kernel)| (name.to_string(), kernel)).collect();
    // SAFETY: they touch what the packages of these tests say.
    unsafe { HostDevice::new(kernels) }
}

fn vector() -> Tensor {
    Tensor { element: ElementType::F32, shape: vec![N] }
}

fn scalar(element: ElementType) -> Tensor {
    Tensor { element, shape: vec![] }
}

fn argument(tensor: Tensor, donated: bool) -> Argument {
    Argument { name: None, bytes: tensor.bytes().unwrap(), tensor, donated }
}

fn output(tensor: Tensor, argument: Option<usize>) -> Output {
    Output { name: None, bytes: tensor.bytes().unwrap(), tensor, argument }
}

fn kernel(name: &str, functions: &[&str], grid: u32, parameters: &[(u64, Access)]) -> Kernel {
    let function = |name: &&str| Function { name: (*name).into(), grid, block: 256, shared_bytes: 0 };
    let parameter = |&(bytes, access): &(u64, Access)| Parameter { bytes, access };
    Kernel {
        name: name.into(),
        functions: functions.iter().map(function).collect(),
        parameters: parameters.iter().map(parameter).collect(),
        guarded: false,
        bytes_moved: None,
        location: None,
    }
}

fn package(arguments: Vec<Argument>, results: Vec<Output>, steps: Vec<Step>) -> Package {
    let bytes = 4 * N;
    let reads = (bytes, Access::Read);
    let manifest = Manifest {
        format: FORMAT,
        producer: "test".into(),
        name: "sample".into(),
        chip: "sm_80".into(),
        arguments,
        results,
        arena_bytes: 8192,
        constants_bytes: bytes,
        counters: vec![],
        kernels: vec![
            kernel("add", &["add"], 7, &[reads, reads, (bytes, Access::Write)]),
            kernel("count", &["count_down"], 1, &[(4, Access::ReadWrite)]),
            kernel("positive", &["positive"], 1, &[(4, Access::Read), (1, Access::Write)]),
            kernel("next", &["count_down", "positive"], 1, &[(4, Access::ReadWrite), (1, Access::Write)]),
            Kernel {
                guarded: true,
                ..kernel("add_if", &["add_if"], 7, &[reads, reads, (bytes, Access::Write)])
            },
            Kernel { guarded: true, ..kernel("count_if", &["count_down_if"], 1, &[(4, Access::ReadWrite)]) },
            Kernel {
                guarded: true,
                ..kernel("positive_if", &["positive_if"], 1, &[(4, Access::Read), (1, Access::Write)])
            },
        ],
        buffers: vec![Planned {
            name: "add".into(),
            slot: Slot::Arena(0),
            bytes: 4000,
            tensor: Some(vector()),
            live: Some(Live { from: 0, to: 1 }),
            location: Some("sample.py:7".into()),
        }],
        steps,
    };
    let constants = (0..N).flat_map(|i| (i as f32).to_le_bytes()).collect();
    Package { manifest, ptx: String::new(), cubin: None, constants }
}

fn repeat(turns: u64, counter: Option<usize>, body: Vec<Step>) -> Step {
    Step::Repeat { turns, counter, body }
}

fn launch(kernel: &str, buffers: &[Slot]) -> Step {
    Step::Launch { kernel: kernel.into(), buffers: buffers.to_vec() }
}

fn floats(value: impl Fn(usize) -> f32) -> Vec<u8> {
    (0..N as usize).flat_map(|i| value(i).to_le_bytes()).collect()
}

/// The results of running `package` with these arguments.
fn results(package: &Package, arguments: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut device = device();
    let mut executor = Executor::new(package, &mut device).unwrap();
    for (number, bytes) in arguments.iter().enumerate() {
        executor.set_argument(number, bytes).unwrap();
    }
    executor.run().unwrap();
    (0..package.manifest.results.len()).map(|number| executor.result(number).unwrap()).collect()
}

#[test]
fn launches_and_copies_follow_each_other() {
    let steps = vec![
        launch("add", &[Slot::Argument(0), Slot::Constant(0), Slot::Arena(4096)]),
        Step::Copy { from: Slot::Arena(4096), to: Slot::Arena(0), bytes: 4 * N },
        launch("add", &[Slot::Arena(0), Slot::Argument(0), Slot::Result(0)]),
    ];
    let package = package(vec![argument(vector(), false)], vec![output(vector(), None)], steps);
    let found = results(&package, &[floats(|i| i as f32 / 2.0)]);
    assert_eq!(found, [floats(|i| 2.0 * i as f32)]);
}

#[test]
fn results_lie_in_donated_arguments() {
    let steps = vec![launch("add", &[Slot::Argument(0), Slot::Constant(0), Slot::Argument(0)])];
    let package = package(vec![argument(vector(), true)], vec![output(vector(), Some(0))], steps);
    assert_eq!(results(&package, &[floats(|_| 1.0)]), [floats(|i| 1.0 + i as f32)]);
    let mut device = device();
    let before = device.memory().unwrap();
    let executor = Executor::new(&package, &mut device).unwrap();
    assert_eq!(executor.donated(), [0]);
    drop(executor);
    assert_eq!(device.memory().unwrap(), before);
}

#[test]
fn loops_run_until_their_predicate_is_zero() {
    // result 0 counts down from argument 0; the arena's vector grows by the constants each time.
    let steps = vec![
        Step::Copy { from: Slot::Argument(0), to: Slot::Result(0), bytes: 4 },
        Step::Copy { from: Slot::Argument(1), to: Slot::Result(1), bytes: 4 * N },
        Step::While {
            condition: vec![launch("positive", &[Slot::Result(0), Slot::Arena(0)])],
            predicate: Slot::Arena(0),
            body: vec![
                launch("count", &[Slot::Result(0)]),
                launch("add", &[Slot::Result(1), Slot::Constant(0), Slot::Result(1)]),
            ],
            guarded: false,
        },
    ];
    let arguments = vec![argument(scalar(ElementType::I32), false), argument(vector(), false)];
    let outputs = vec![output(scalar(ElementType::I32), None), output(vector(), None)];
    let package = package(arguments, outputs, steps);
    for (start, times) in [(5_i32, 5), (0, 0), (-3, 0)] {
        let found = results(&package, &[start.to_le_bytes().to_vec(), floats(|_| 0.5)]);
        assert_eq!(found[0], (start - times).to_le_bytes());
        assert_eq!(found[1], floats(|i| 0.5 + (i as i32 * times) as f32));
    }
    let mut device = device();
    let mut executor = Executor::new(&package, &mut device).unwrap();
    executor.set_argument(0, &5000_i32.to_le_bytes()).unwrap();
    executor.set_argument(1, &floats(|_| 0.0)).unwrap();
    let profile = executor.profile().unwrap();
    let counts: Vec<_> = profile.kernels.iter().map(|tally| tally.count).collect();
    assert_eq!((counts, profile.copies.count), (vec![5000, 5000, 5001, 0, 0, 0, 0], 2));
    assert_eq!(profile.kernels[0].bytes, 5000 * 3 * 4 * N);
    assert_eq!(profile.copies.bytes, 2 * (4 + 4 * N));
    assert!(profile.kernels[0].time > Duration::ZERO);
}

#[test]
fn guarded_loops_run_ahead() {
    // As the loop above, with the addition behind the loop once more, and the whole twice.
    let once = vec![
        Step::While {
            condition: vec![launch("positive_if", &[Slot::Result(0), Slot::Arena(0)])],
            predicate: Slot::Arena(0),
            body: vec![
                launch("count_if", &[Slot::Result(0)]),
                Step::Repeat {
                    turns: 2,
                    counter: None,
                    body: vec![launch("add_if", &[Slot::Result(1), Slot::Constant(0), Slot::Result(1)])],
                },
            ],
            guarded: true,
        },
        launch("add_if", &[Slot::Result(1), Slot::Constant(0), Slot::Result(1)]),
    ];
    let steps = vec![
        Step::Copy { from: Slot::Argument(0), to: Slot::Result(0), bytes: 4 },
        Step::Copy { from: Slot::Argument(1), to: Slot::Result(1), bytes: 4 * N },
        Step::Repeat { turns: 2, counter: None, body: once },
    ];
    let arguments = vec![argument(scalar(ElementType::I32), false), argument(vector(), false)];
    let outputs = vec![output(scalar(ElementType::I32), None), output(vector(), None)];
    let package = package(arguments, outputs, steps);
    // It is waited for after rounds 1, 2, 3, 4, 6, 9, 13, 19, 28, 42, 63, 94, 141, each half as many again.
    for (start, times, waits) in [(-3_i32, 0, 1), (0, 0, 1), (1, 1, 1), (5, 5, 5), (100, 100, 13)] {
        let mut device = device();
        let mut executor = Executor::new(&package, &mut device).unwrap();
        executor.set_argument(0, &start.to_le_bytes()).unwrap();
        executor.set_argument(1, &floats(|_| 0.5)).unwrap();
        executor.run().unwrap();
        let expected = floats(|i| 0.5 + (i as i32 * (2 * times + 2)) as f32);
        assert_eq!(executor.result(0).unwrap(), (start - times).to_le_bytes());
        assert_eq!(executor.result(1).unwrap(), expected);
        // The second time there is nothing to do.
        assert_eq!(executor.asked().waits, waits + 1, "{times} rounds");
        assert_eq!(executor.asked().launches, 0);
        // Timed, no round is one too many.
        let profile = executor.profile().unwrap();
        let counts: Vec<_> = profile.kernels[4..].iter().map(|tally| tally.count).collect();
        let times = times as u64;
        assert_eq!(counts, [2 * times + 2, times, times + 2]);
        assert_eq!(executor.result(1).unwrap(), expected);
    }
}

/// `turns` times, `inside` times: mix of both counters.
fn counting(turns: u64, inside: u64, waits: bool) -> Package {
    let once = launch("mix", &[Slot::Counter(1), Slot::Counter(0), Slot::Result(0)]);
    let mut body = vec![repeat(inside, Some(0), vec![once])];
    if waits {
        // The host has to ask in each turn.
        let branch = launch("mix", &[Slot::Counter(1), Slot::Constant(0), Slot::Result(0)]);
        let branches = vec![vec![branch], vec![]];
        body.push(Step::Case { selector: Slot::Counter(1), kind: Selector::Index, branches });
    }
    let steps = vec![
        Step::Copy { from: Slot::Argument(0), to: Slot::Result(0), bytes: 8 },
        repeat(turns, Some(1), body.clone()),
        // The same counters once more: what they count starts anew.
        repeat(turns / 2, Some(1), body),
    ];
    let number = || scalar(ElementType::I64);
    let mut package = package(vec![argument(number(), false)], vec![output(number(), None)], steps);
    package.manifest.counters =
        vec![Counter { bytes: 8, start: 1 << 40, step: -7 }, Counter { bytes: 4, start: -1, step: 1 }];
    let parameters = [(4, Access::Read), (8, Access::Read), (8, Access::ReadWrite)];
    package.manifest.kernels.push(kernel("mix", &["mix"], 1, &parameters));
    package
}

#[test]
fn loops_count_without_launches() {
    let zero = i64::from_le_bytes([0, 0, 0, 0, 0, 0, 128, 63]);
    for (turns, inside, waits) in
        [(0, 3, false), (3, 4, false), (40, 30, false), (2, 2000, false), (1500, 1, false), (5, 3, true)]
    {
        let package = counting(turns, inside, waits);
        let mut device = device();
        let mut executor = Executor::new(&package, &mut device).unwrap();
        executor.set_argument(0, &7_u64.to_le_bytes()).unwrap();
        let mut expected = 7;
        for outer in (0..turns).chain(0..turns / 2).map(|turn| turn as i32 - 1) {
            for turn in 0..inside as i64 {
                expected = mixed(expected, outer, (1 << 40) - 7 * turn);
            }
            // The first two floats of the constants, as one number.
            expected = if waits && outer == 0 { mixed(expected, outer, zero) } else { expected };
        }
        // Twice, with a run that is timed in between: tables are as they were.
        for _ in 0..2 {
            executor.run().unwrap();
            assert_eq!(executor.asked().launches, 0);
            assert_eq!(executor.result(0).unwrap(), expected.to_le_bytes(), "{turns} times {inside}");
            executor.profile().unwrap();
            assert_eq!(executor.result(0).unwrap(), expected.to_le_bytes(), "{turns} times {inside}, timed");
        }
    }
}

#[test]
fn counted_loops_are_graphs() {
    // result 0 counts down by 2 * turns + 1; nobody waits.
    let package = |turns: u64| {
        let count = || launch("count", &[Slot::Result(0)]);
        let steps = vec![
            Step::Copy { from: Slot::Argument(0), to: Slot::Result(0), bytes: 4 },
            repeat(turns, None, vec![count(), repeat(1, None, vec![count()])]),
            repeat(u64::MAX, None, vec![repeat(0, None, vec![count()])]),
            count(),
        ];
        package(
            vec![argument(scalar(ElementType::I32), false)],
            vec![output(scalar(ElementType::I32), None)],
            steps,
        )
    };
    // Graphs have at most 1024 launches.
    for (turns, graphs) in [(0, 1), (1, 1), (511, 1), (512, 3), (513, 4), (2000, 6)] {
        let package = package(turns);
        let mut device = device();
        let mut executor = Executor::new(&package, &mut device).unwrap();
        executor.set_argument(0, &0_i32.to_le_bytes()).unwrap();
        executor.run().unwrap();
        assert_eq!(executor.asked(), Asked { launches: 0, graphs, waits: 0 }, "{turns} turns");
        let found = executor.result(0).unwrap();
        assert_eq!(i32::from_le_bytes(found[..].try_into().unwrap()), -(2 * turns as i32 + 1));
        executor.profile().unwrap();
        assert_eq!(executor.asked(), Asked { launches: 2 * turns + 2, graphs: 0, waits: 0 });
        assert_eq!(executor.result(0).unwrap(), found);
    }
}

#[test]
fn one_branch_runs() {
    let mark = |times: usize| vec![launch("count", &[Slot::Result(0)]); times];
    let case = |kind, branches| {
        let steps = vec![
            Step::Copy { from: Slot::Argument(1), to: Slot::Result(0), bytes: 4 },
            Step::Case { selector: Slot::Argument(0), kind, branches },
        ];
        let element = if kind == Selector::Predicate { ElementType::I1 } else { ElementType::I32 };
        let arguments = vec![argument(scalar(element), false), argument(scalar(ElementType::I32), false)];
        package(arguments, vec![output(scalar(ElementType::I32), None)], steps)
    };
    let taken = |package: &Package, selector: &[u8]| {
        let found = results(package, &[selector.to_vec(), 0_i32.to_le_bytes().to_vec()]);
        -i32::from_le_bytes(found[0][..].try_into().unwrap())
    };
    let either = case(Selector::Predicate, vec![mark(1), mark(2)]);
    assert_eq!((taken(&either, &[1]), taken(&either, &[0])), (1, 2));
    let one_of = case(Selector::Index, vec![mark(1), mark(2), mark(3)]);
    let index = |index: i32| taken(&one_of, &index.to_le_bytes());
    assert_eq!([0, 1, 2, 3, -1, i32::MAX, i32::MIN].map(index), [1, 2, 3, 3, 3, 3, 3]);
}

#[test]
fn functions_of_a_kernel_are_launched_in_order() {
    let steps = vec![
        Step::Copy { from: Slot::Argument(0), to: Slot::Result(0), bytes: 4 },
        launch("next", &[Slot::Result(0), Slot::Result(1)]),
    ];
    let outputs = vec![output(scalar(ElementType::I32), None), output(scalar(ElementType::I1), None)];
    let package = package(vec![argument(scalar(ElementType::I32), false)], outputs, steps);
    let run = |start: i32| results(&package, &[start.to_le_bytes().to_vec()]).swap_remove(1);
    assert_eq!((run(2), run(1)), (vec![1], vec![0]));
}

#[test]
fn blocks_can_be_spread_over_threads() {
    let steps = vec![launch("add", &[Slot::Argument(0), Slot::Constant(0), Slot::Result(0)])];
    let package = package(vec![argument(vector(), false)], vec![output(vector(), None)], steps);
    for threads in [2, 3, 100] {
        // SAFETY: each block writes other elements.
        let mut device = unsafe { device().with_threads(NonZeroUsize::new(threads).unwrap()) };
        let mut executor = Executor::new(&package, &mut device).unwrap();
        executor.set_argument(0, &floats(|_| 1.0)).unwrap();
        executor.run().unwrap();
        assert_eq!(executor.result(0).unwrap(), floats(|i| 1.0 + i as f32));
    }
}

#[test]
fn regions_are_checked() {
    let mut device = device();
    let buffer = device.allocate(10).unwrap();
    let region = |offset, bytes| Region { buffer, offset, bytes };
    assert!(device.upload(region(0, 10), &[0; 10]).is_ok());
    assert!(device.upload(region(1, 10), &[0; 10]).is_err());
    assert!(device.upload(region(0, 5), &[0; 10]).is_err());
    assert!(device.download(region(u64::MAX, 2), &mut [0; 2]).is_err());
    assert!(device.copy(region(0, 4), region(4, 5)).is_err());
    assert!(device.copy(region(0, 4), region(2, 4)).is_ok());
    assert!(device.download(Region { buffer: Buffer(7), offset: 0, bytes: 1 }, &mut [0]).is_err());
    device.free(buffer).unwrap();
    assert!(device.free(buffer).is_err());
    assert!(device.download(region(0, 1), &mut [0]).is_err());
    assert!(matches!(device.allocate(u64::MAX), Err(DeviceError::OutOfMemory { .. })));
    let empty = device.allocate(0).unwrap();
    device.upload(Region { buffer: empty, offset: 0, bytes: 0 }, &[]).unwrap();
}

#[test]
fn new_memory_does_not_look_initialised() {
    let mut device = device();
    let buffer = device.allocate(4).unwrap();
    let mut bytes = [0; 4];
    device.download(Region { buffer, offset: 0, bytes: 4 }, &mut bytes).unwrap();
    assert!(f32::from_le_bytes(bytes).is_nan());
}

/// The sum of the argument and the constants.
fn sum() -> Package {
    let steps = vec![launch("add", &[Slot::Argument(0), Slot::Constant(0), Slot::Argument(0)])];
    package(vec![argument(vector(), true)], vec![output(vector(), Some(0))], steps)
}

/// What [`run`] prints.
fn printed(package: &Package, options: &RunOptions) -> Result<String, String> {
    let mut out = Vec::new();
    run(package, &mut device(), options, &mut out).map_err(|error| format!("{error:#}"))?;
    Ok(String::from_utf8(out).unwrap())
}

fn input(folder: &Path, name: &str, tensor: &Tensor, bytes: &[u8]) -> PathBuf {
    let file = folder.join(name);
    npy::write(&file, tensor, bytes).unwrap();
    file
}

#[test]
fn results_go_to_files() {
    let folder = tempfile::tempdir().unwrap();
    let x = input(folder.path(), "x.npy", &vector(), &floats(|_| 0.25));
    let output_dir = folder.path().join("some/where");
    for bench in [None, Some(3)] {
        let options = RunOptions {
            input: vec![x.clone()],
            output_dir: Some(output_dir.clone()),
            bench,
            ..RunOptions::default()
        };
        let text = printed(&sum(), &options).unwrap();
        let file = output_dir.join("result0.npy");
        // Not the sum of several runs, though the argument is overwritten by each.
        assert_eq!(npy::read(&file, &vector()).unwrap(), floats(|i| i as f32 + 0.25));
        assert!(text.contains("result 0"), "{text}");
        assert!(text.contains("1000xf32  [0.25, 1.25, 2.25, 3.25, 4.25, 5.25, 6.25, 7.25, ...]"), "{text}");
        assert_eq!(text.contains("median of 3"), bench.is_some(), "{text}");
        assert_eq!(text.contains("of a device copy"), bench.is_some(), "{text}");
    }
}

#[test]
fn json_has_memory_times_and_bandwidths() {
    let options = RunOptions { bench: Some(2), json: true, ..RunOptions::default() };
    let report: Value = serde_json::from_str(&printed(&sum(), &options).unwrap()).unwrap();
    let number = |pointer: &str| report.pointer(pointer).and_then(Value::as_f64).expect(pointer);
    assert_eq!(number("/memory/planned/total"), 4000.0 + 8192.0 + 4000.0);
    assert!(number("/memory/allocated") >= 16192.0);
    assert_eq!(number("/bytes"), 12000.0);
    assert_eq!(number("/runs"), 2.0);
    assert!(number("/seconds") > 0.0 && number("/bandwidth") > 0.0 && number("/copy_bandwidth") > 0.0);
    assert_eq!(report["kernels"].as_array().unwrap().len(), sum().manifest.kernels.len());
    assert_eq!(report["kernels"][0]["name"], "add");
    assert_eq!(number("/kernels/0/launches"), 1.0);
    assert_eq!(report["results"][0]["type"], "1000xf32");
    let again: Value = serde_json::from_str(&printed(&sum(), &options).unwrap()).unwrap();
    assert_eq!(report["results"], again["results"], "the same seed gives the same inputs");
}

#[test]
fn wrong_inputs_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let x = input(folder.path(), "x.npy", &vector(), &floats(|_| 0.25));
    let short = Tensor { element: ElementType::F32, shape: vec![2] };
    let y = input(folder.path(), "y.npy", &short, &[0; 8]);
    let error = |input: &[&PathBuf]| {
        let input = input.iter().map(|&file| file.clone()).collect();
        printed(&sum(), &RunOptions { input, ..RunOptions::default() }).unwrap_err()
    };
    let message = error(&[&x, &y]);
    assert!(
        message.contains("2 input files for 1 arguments") && message.contains("argument 0: 1000xf32"),
        "{message}"
    );
    let message = error(&[&y]);
    assert!(message.contains("y.npy: expected 1000xf32 (in NumPy <f4), found 2x<f4"), "{message}");
    let message = error(&[&folder.path().join("z.npy")]);
    assert!(message.contains("argument 0: ") && message.contains("z.npy"), "{message}");
}

#[test]
fn code_of_another_package_is_refused() {
    let mut package = sum();
    package.manifest.kernels[0].functions[0].name = "subtract".into();
    let message = printed(&package, &RunOptions::default()).unwrap_err();
    assert!(
        message.contains("do not belong together") && message.contains("no function `subtract`"),
        "{message}"
    );
}

#[test]
fn a_package_that_was_not_checked_is_checked() {
    let mut package = sum();
    package.manifest.steps = vec![launch("add", &[Slot::Argument(9); 3])];
    let message = printed(&package, &RunOptions::default()).unwrap_err();
    assert!(message.contains("no `arg9`"), "{message}");
}

/// A device with little memory that cannot do anything else.
struct Small {
    free: u64,
    taken: HashMap<usize, u64>,
}

impl Device for Small {
    type Function = ();
    type Event = ();
    type Graph = ();

    fn describe(&self) -> String {
        "small".into()
    }
    fn function(&self, _: &str) -> Result<(), DeviceError> {
        Ok(())
    }
    fn allocate(&mut self, bytes: u64) -> Result<Buffer, DeviceError> {
        if bytes > self.free {
            return Err(DeviceError::OutOfMemory { requested: bytes, free: Some(self.free) });
        }
        self.free -= bytes;
        self.taken.insert(self.taken.len(), bytes);
        Ok(Buffer(self.taken.len() - 1))
    }
    fn free(&mut self, buffer: Buffer) -> Result<(), DeviceError> {
        self.free += std::mem::take(self.taken.get_mut(&buffer.0).unwrap());
        Ok(())
    }
    fn upload(&mut self, _: Region, _: &[u8]) -> Result<(), DeviceError> {
        Ok(())
    }
    fn download(&mut self, _: Region, _: &mut [u8]) -> Result<(), DeviceError> {
        Err(DeviceError::Failed("lost".into()))
    }
    fn copy(&mut self, _: Region, _: Region) -> Result<(), DeviceError> {
        Ok(())
    }
    fn launch(&mut self, (): &(), _: Shape, _: &[Region]) -> Result<(), DeviceError> {
        Err(DeviceError::Failed("no such instruction".into()))
    }
    fn launch_graph(&mut self, (): &()) -> Result<(), DeviceError> {
        Ok(())
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
        Ok(Memory { used: 10_000_u64.saturating_sub(self.free), total: Some(10_000) })
    }
}

#[test]
fn what_does_not_fit_is_explained() {
    let mut device = Small { free: 10_000, taken: HashMap::new() };
    let message = run(&sum(), &mut device, &RunOptions::default(), &mut Vec::new()).unwrap_err().to_string();
    let lines: Vec<_> = message.lines().collect();
    assert_eq!(lines[0], "small: out of memory: 8192 bytes asked for, 6000 free, for the arena");
    assert!(
        lines[1].starts_with("the program needs 15.8 KiB (arguments 3.9 KiB + results 0 B + arena 8.0 KiB")
    );
    assert!(lines[1].ends_with("the device has 9.8 KiB, of which 3.9 KiB are in use"), "{message}");
    assert_eq!(lines[2], "its largest values:");
    assert_eq!(lines[4], "  arena+0  3.9 KiB  1000xf32  steps 0 to 1  add    sample.py:7");
    assert_eq!(device.free, 10_000, "what was allocated is freed");
}

#[test]
fn failing_kernels_are_named() {
    let mut device = Small { free: 20_000, taken: HashMap::new() };
    let error = run(&sum(), &mut device, &RunOptions::default(), &mut Vec::new()).unwrap_err();
    assert_eq!(format!("{error:#}"), "launching kernel `add`: no such instruction");
    assert_eq!(device.free, 20_000);
}

#[test]
#[cfg(target_os = "linux")]
fn the_binary_needs_no_compiler_libraries() {
    let Ok(done) = Command::new("ldd").arg(env!("CARGO_BIN_EXE_slimhlo-run")).output() else { return };
    let libraries = String::from_utf8_lossy(&done.stdout).to_lowercase();
    for library in ["llvm", "mlir", "cuda", "stdc++"] {
        assert!(!libraries.contains(library), "{library}: {libraries}");
    }
}

#[test]
fn the_plan_is_printed_without_a_gpu() {
    let folder = tempfile::tempdir().unwrap();
    sum().write(folder.path()).unwrap();
    let done =
        Command::new(env!("CARGO_BIN_EXE_slimhlo-run")).arg(folder.path()).arg("--plan").output().unwrap();
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(done.status.success() && text.starts_with("planned 15.8 KiB (arguments 3.9 KiB"), "{text}");
    assert!(text.ends_with("  arena+0   4000  1000xf32  steps 0 to 1  add    sample.py:7\n"), "{text}");
}

/// The error of the binary, run with these arguments.
fn refused(arguments: &[&str]) -> String {
    let done = Command::new(env!("CARGO_BIN_EXE_slimhlo-run")).args(arguments).output().unwrap();
    assert_eq!(done.status.code(), Some(1));
    assert!(done.stdout.is_empty());
    String::from_utf8(done.stderr).unwrap()
}

#[test]
fn the_binary_says_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_string_lossy().into_owned();
    assert!(refused(&[&path]).contains("manifest.json: No such file"));
    sum().write(folder.path()).unwrap();
    // With or without a GPU: there are not that many, and the sample has no code.
    let message = refused(&[&path, "--device", "4000"]);
    assert!(
        message.contains("no NVIDIA driver")
            || message.contains("no GPU 4000")
            || message.contains("no NVIDIA GPU")
    );
    fs::write(folder.path().join("manifest.json"), r#"{"format": 7}"#).unwrap();
    assert!(refused(&[&path]).contains("format version 7"));
}
