// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What `slimhlo-run` does, on any device.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;
use slimhlo_package::{Manifest, Package};

use crate::device::{Device, Region};
use crate::execute::{Executor, Profile, Tally};
use crate::npy;
use crate::plan::{Planned, explain};
use crate::schedule::Asked;
use crate::text::{Align, bandwidth, bytes, gigabytes, table, time};
use crate::values::{preview, random};

/// So many elements of a result are printed.
const SHOWN: usize = 8;
/// The longest buffer that the bandwidth of a copy is measured with: much longer than any cache.
const COPIED_BYTES: u64 = 1 << 30;
/// As long on a device that does not say how much memory it has.
const COPIED_BYTES_UNKNOWN: u64 = 64 << 20;
/// Copies of which the median is taken.
const COPIES: usize = 7;

/// So many runs are asked for before one waits for them.
const RUNS_AT_ONCE: usize = 64;

/// What to run a package with; for the command lines of `slimhlo-run` and `slimhlo run`.
#[derive(Clone, Debug, clap::Args)]
pub struct RunOptions {
    /// The arguments, one .npy file for each, in order [default: random values]
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub input: Vec<PathBuf>,

    /// Write the results there, as result0.npy, result1.npy, ...
    #[arg(long, value_name = "DIR")]
    pub output_dir: Option<PathBuf>,

    /// What random arguments are made from: the same seed gives the same values
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,

    /// Random integers are less than this, and at least 0
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..))]
    pub below: u32,

    /// Run so many times after a warm-up, print medians, and measure a device copy for comparison
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub bench: Option<u32>,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self { input: Vec::new(), output_dir: None, seed: 0, below: 8, bench: None, json: false }
    }
}

/// Reads the arguments from the files named, or makes random ones.
///
/// # Errors
/// If there are more or fewer files than arguments, or one does not hold what the argument is.
pub fn inputs(manifest: &Manifest, options: &RunOptions) -> Result<Vec<Vec<u8>>> {
    let arguments = &manifest.arguments;
    let files = &options.input;
    if files.is_empty() {
        let make = |(number, argument): (usize, &slimhlo_package::Argument)| {
            random(&argument.tensor, options.below, options.seed, number)
                .with_context(|| format!("no memory for argument {number}: {}", argument.tensor))
        };
        return arguments.iter().enumerate().map(make).collect();
    }
    let named = |number: usize| {
        let argument = &arguments[number];
        let name = argument.name.as_ref().map_or_else(String::new, |name| format!(" ({name})"));
        format!("argument {number}{name}")
    };
    let expected = || {
        let types =
            (0..arguments.len()).map(|number| format!("\n  {}: {}", named(number), arguments[number].tensor));
        types.collect::<String>()
    };
    ensure!(
        files.len() == arguments.len(),
        "{} input files for {} arguments; the program takes{}",
        files.len(),
        arguments.len(),
        if arguments.is_empty() { " none".into() } else { expected() }
    );
    let read =
        |(number, file): (usize, &PathBuf)| npy::read(file, &arguments[number].tensor).context(named(number));
    files.iter().enumerate().map(read).collect()
}

/// Runs a package on a device and reports to `out`: memory, times, results.
///
/// # Errors
/// If an input is missing or of another type or shape, the device has not enough memory or fails, or a file cannot be written.
pub fn run<D: Device>(
    package: &Package,
    device: &mut D,
    options: &RunOptions,
    out: &mut dyn Write,
) -> Result<()> {
    let manifest = &package.manifest;
    // What no memory of this device could hold is not made here, either.
    let (arguments, memory) = (Planned::of(manifest).arguments, device.memory()?);
    if let Some(total) = memory.total.filter(|total| *total < arguments) {
        bail!(
            "{}: out of memory: {arguments} bytes of arguments, {total} in all\n{}",
            device.describe(),
            explain(manifest, Some(memory))
        );
    }
    // Inputs first: a wrong file is found out before anything is allocated.
    let mut inputs = inputs(manifest, options)?;
    if let Some(folder) = &options.output_dir {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    let described = device.describe();
    let before = device.memory()?;
    let mut executor = Executor::new(package, device)?;
    let allocated = executor.device().memory()?;
    let unused = executor.device().unused();
    for (number, bytes) in inputs.iter_mut().enumerate() {
        executor.set_argument(number, bytes)?;
        // Only what runs overwrite is needed here again.
        if options.bench.is_none() || !manifest.arguments[number].donated {
            *bytes = Vec::new();
        }
    }
    let mut times = Times::default();
    // What the report is about is also what the results are of: the first run, with the arguments as they were given.
    let first = executor.profile()?;
    let after = executor.device().memory()?;
    let results = save_results(&mut executor, options)?;
    let runs = options.bench.unwrap_or(0);
    let originals = if runs > 0 { executor.keep_donated(&inputs)? } else { Vec::new() };
    let mut pending = Vec::new();
    for number in 1..=runs {
        restore(&mut executor, &originals, &inputs)?;
        pending.push(executor.start()?);
        // Nobody waits in between, so that the device has its work at hand and its clock counts no time spent here.
        if number == runs || pending.len() == RUNS_AT_ONCE {
            let device = executor.device();
            device.synchronize()?;
            for (before, after) in pending.drain(..) {
                times.totals.push(device.elapsed(&before, &after)?);
            }
        }
    }
    let asked = executor.asked();
    if runs == 0 {
        times.totals.push(first.total);
        times.profiles.push(first);
    }
    for _ in 0..runs {
        // The run before keeps the device busy until all launches of this one are asked for.
        restore(&mut executor, &originals, &inputs)?;
        executor.start()?;
        restore(&mut executor, &originals, &inputs)?;
        times.profiles.push(executor.profile()?);
    }
    drop(executor);
    let copy = if runs > 0 { copy_bandwidth(device)? } else { None };
    let report = Report {
        program: &manifest.name,
        chip: &manifest.chip,
        device: &described,
        runs: runs.max(1),
        memory: MemoryReport {
            planned: Planned::of(manifest),
            allocated: allocated.used.saturating_sub(before.used),
            allocated_after_run: after.used.saturating_sub(before.used),
            reserved: allocated.used.saturating_sub(before.used) + unused,
            allocator: device.allocator(),
            device: before.total,
        },
        asked,
        copy_bandwidth: copy,
        ..times.report(manifest)
    };
    let report = Report { results, ..report };
    let mut text = if options.json { serde_json::to_string_pretty(&report)? } else { report.text() };
    if options.json {
        text.push('\n');
    }
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("cannot write the report")
}

/// Sets the arguments that a run has overwritten: from their copies on the device, or else from here.
fn restore<D: Device>(
    executor: &mut Executor<'_, D>,
    originals: &[(usize, Option<Region>)],
    inputs: &[Vec<u8>],
) -> Result<()> {
    for &(number, original) in originals {
        match original {
            Some(original) => executor.copy_to_argument(number, original)?,
            None => executor.set_argument(number, &inputs[number])?,
        }
    }
    Ok(())
}

fn save_results<D: Device>(
    executor: &mut Executor<'_, D>,
    options: &RunOptions,
) -> Result<Vec<ResultReport>> {
    let mut results = Vec::new();
    for (number, output) in executor.manifest().results.iter().enumerate() {
        let bytes = executor.result(number)?;
        let file = options.output_dir.as_ref().map(|folder| folder.join(format!("result{number}.npy")));
        if let Some(file) = &file {
            npy::write(file, &output.tensor, &bytes)?;
        }
        results.push(ResultReport {
            r#type: output.tensor.to_string(),
            name: output.name.clone(),
            file,
            preview: preview(&output.tensor, &bytes, SHOWN),
        });
    }
    Ok(results)
}

/// Bytes read and written per second by a copy on the device, if there is memory to measure it with.
fn copy_bandwidth<D: Device>(device: &mut D) -> Result<Option<f64>> {
    let memory = device.memory()?;
    let length = memory.total.map_or(COPIED_BYTES_UNKNOWN, |total| {
        (total.saturating_sub(memory.used) / 4).min(COPIED_BYTES) & !255
    });
    let Ok(from) = device.allocate(length) else { return Ok(None) };
    let Ok(to) = device.allocate(length) else {
        device.free(from)?;
        return Ok(None);
    };
    let region = |buffer| Region { buffer, offset: 0, bytes: length };
    let mut times = Vec::new();
    for _ in 0..=COPIES {
        let before = device.record()?;
        device.copy(region(from), region(to))?;
        let after = device.record()?;
        device.synchronize()?;
        times.push(device.elapsed(&before, &after)?);
    }
    device.free(from)?;
    device.free(to)?;
    // The first one is the warm-up.
    Ok(bandwidth(2 * length, median(times.split_off(1))))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    match times.len() {
        0 => Duration::ZERO,
        length if length % 2 == 1 => times[length / 2],
        length => (times[length / 2 - 1] + times[length / 2]) / 2,
    }
}

/// The times of several runs.
#[derive(Default)]
struct Times {
    /// Of runs without events between launches.
    totals: Vec<Duration>,
    profiles: Vec<Profile>,
}

/// What is printed; with `--json` as it stands here.
#[derive(Default, Serialize)]
struct Report<'m> {
    program: &'m str,
    chip: &'m str,
    device: &'m str,
    memory: MemoryReport,
    /// How many runs the times are medians of.
    runs: u32,
    /// The program from start to end.
    seconds: f64,
    /// The bytes that it reads and writes in device memory.
    bytes: u64,
    /// Bytes per second.
    bandwidth: Option<f64>,
    /// Bytes per second that a plain copy on the device reads and writes.
    copy_bandwidth: Option<f64>,
    /// What a run asks of the device: a timed one, or with --bench one that is timed as a whole.
    asked: Asked,
    kernels: Vec<KernelReport<'m>>,
    results: Vec<ResultReport>,
}

/// Bytes of device memory.
#[derive(Serialize)]
struct MemoryReport {
    planned: Planned,
    /// What the driver counted for the allocations.
    allocated: u64,
    /// The same after the runs: with what the driver itself took for them.
    allocated_after_run: u64,
    /// The same with what was set aside for us and is not in use.
    reserved: u64,
    /// How memory is asked for.
    allocator: String,
    /// All that the device has.
    device: Option<u64>,
}

impl Default for MemoryReport {
    fn default() -> Self {
        let planned = Planned { arguments: 0, results: 0, arena: 0, constants: 0, total: 0 };
        Self {
            planned,
            allocated: 0,
            allocated_after_run: 0,
            reserved: 0,
            allocator: String::new(),
            device: None,
        }
    }
}

/// A kernel, or the copies.
#[derive(Serialize)]
struct KernelReport<'m> {
    name: &'m str,
    /// Per run.
    launches: u64,
    /// All launches of a run.
    seconds: f64,
    bytes: u64,
    bandwidth: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<&'m str>,
}

#[derive(Serialize)]
struct ResultReport {
    r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<PathBuf>,
    /// The first elements, as text.
    preview: String,
}

impl Times {
    fn report<'m>(self, manifest: &'m Manifest) -> Report<'m> {
        let row = |name: &'m str, location: Option<&'m str>, pick: &dyn Fn(&Profile) -> Tally| {
            let tallies: Vec<_> = self.profiles.iter().map(pick).collect();
            let time = median(tallies.iter().map(|tally| tally.time).collect());
            let Tally { count, bytes, .. } = tallies.first().copied().unwrap_or_default();
            let (seconds, bandwidth) = (time.as_secs_f64(), bandwidth(bytes, time));
            KernelReport { name, launches: count, seconds, bytes, bandwidth, location }
        };
        let kernels = manifest.kernels.iter().enumerate().map(|(number, kernel)| {
            row(&kernel.name, kernel.location.as_deref(), &|profile| {
                profile.kernels.get(number).copied().unwrap_or_default()
            })
        });
        let copies = row("(copies)", None, &|profile| profile.copies);
        let mut kernels: Vec<_> = kernels.chain((copies.launches > 0).then_some(copies)).collect();
        kernels.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        let total = median(self.totals);
        let bytes = kernels.iter().fold(0_u64, |sum, kernel| sum.saturating_add(kernel.bytes));
        Report {
            seconds: total.as_secs_f64(),
            bytes,
            bandwidth: bandwidth(bytes, total),
            kernels,
            ..Report::default()
        }
    }
}

impl Report<'_> {
    fn text(&self) -> String {
        let mut text = String::new();
        let mut line = |label: &str, value: String| text.push_str(&format!("{label:<10} {value}\n"));
        line(
            "program",
            format!(
                "{}, for {}",
                if self.program.is_empty() { "(unnamed)" } else { self.program },
                self.chip
            ),
        );
        line("device", self.device.to_string());
        line("planned", self.memory.planned.describe());
        let mut allocated = format!("{} by the driver's count", bytes(self.memory.allocated));
        if self.memory.allocated_after_run > self.memory.allocated {
            allocated.push_str(&format!(", {} after running", bytes(self.memory.allocated_after_run)));
        }
        if self.memory.reserved > self.memory.allocated {
            allocated.push_str(&format!(", of {} set aside", bytes(self.memory.reserved)));
        }
        allocated.push_str(&format!(" ({})", self.memory.allocator));
        line("allocated", allocated);
        let Asked { launches, graphs, waits } = self.asked;
        line("asked", format!("{launches} launches and copies, {graphs} graphs, {waits} waits"));
        let seconds = |seconds: f64| time(Duration::from_secs_f64(seconds.max(0.0)));
        let runs = if self.runs > 1 { format!(", median of {}", self.runs) } else { String::new() };
        let mut took = format!(
            "{}{runs}: {} moved, {}",
            seconds(self.seconds),
            bytes(self.bytes),
            gigabytes(self.bandwidth)
        );
        if let (Some(own), Some(copy)) = (self.bandwidth, self.copy_bandwidth) {
            took.push_str(&format!(
                " ({:.0}% of a device copy's {})",
                100.0 * own / copy,
                gigabytes(Some(copy))
            ));
        }
        line("time", took);
        let share = |bandwidth: Option<f64>| match (bandwidth, self.copy_bandwidth) {
            (Some(own), Some(copy)) => format!("{:.0}%", 100.0 * own / copy),
            _ => String::new(),
        };
        if !self.kernels.is_empty() {
            let last = if self.copy_bandwidth.is_some() { "of a copy" } else { "" };
            let head = ["kernel", "launches", "time", "moved", "bandwidth", last].map(String::from).to_vec();
            let rows = self.kernels.iter().map(|kernel| {
                vec![
                    kernel.name.to_string(),
                    kernel.launches.to_string(),
                    seconds(kernel.seconds),
                    bytes(kernel.bytes),
                    gigabytes(kernel.bandwidth),
                    share(kernel.bandwidth),
                ]
            });
            let right = Align::Right;
            text.push('\n');
            text.push_str(&table(
                &[Align::Left, right, right, right, right, right],
                [head].into_iter().chain(rows),
            ));
        }
        if !self.results.is_empty() {
            let rows = self.results.iter().enumerate().map(|(number, result)| {
                let place = result.file.as_ref().map_or_else(String::new, |file| file.display().to_string());
                let name = result.name.clone().unwrap_or_default();
                vec![format!("result {number}"), name, result.r#type.clone(), result.preview.clone(), place]
            });
            text.push('\n');
            text.push_str(&table(&[Align::Left; 5], rows));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        let ms = |list: &[u64]| list.iter().map(|&time| Duration::from_millis(time)).collect();
        assert_eq!(median(ms(&[])), Duration::ZERO);
        assert_eq!(median(ms(&[3, 1, 2])), Duration::from_millis(2));
        assert_eq!(median(ms(&[4, 1, 2, 3])), Duration::from_micros(2500));
    }
}
