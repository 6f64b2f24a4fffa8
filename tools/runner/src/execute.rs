// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The interpreter: a package's steps on a device.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use slimhlo_package::{Manifest, OFFSETS, Package, Selector};

use crate::device::{Buffer, Device, DeviceError, Region, Shape};
use crate::plan;
use crate::schedule::{self, Asked, Command, Guards, Places};

/// After so many timed launches their times are read, so that events do not pile up in long loops.
const EVENTS_AT_ONCE: usize = 4096;

/// Rounds of a loop that are asked for ahead, at most. Half as many as there have been are, so that of all rounds a third at most
/// does nothing, and the host waits as often as the logarithm of their number.
const MOST_AHEAD: u64 = 1024;

/// A package on a device: its memory is allocated, its constants are there, its steps are resolved to addresses.
///
/// Arguments are set with [`Self::set_argument`]; after [`Self::run`] results are read with [`Self::result`]. A donated argument
/// is overwritten by a run and must be set again before the next.
pub struct Executor<'a, D: Device> {
    manifest: &'a Manifest,
    device: &'a mut D,
    /// What was allocated, to be freed.
    allocations: Vec<Buffer>,
    arguments: Vec<Region>,
    results: Vec<Region>,
    /// By kernel, by function.
    functions: Vec<Vec<(D::Function, Shape)>>,
    schedule: Vec<Command<D::Graph>>,
    /// The same with graphs, once it has been asked for.
    recorded: Option<Vec<Command<D::Graph>>>,
    asked: Asked,
}

/// How often a kernel ran, and how long in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Launches, or copies.
    pub count: u64,
    /// The bytes that these moved.
    pub bytes: u64,
    /// From the start to the end of each, summed.
    pub time: Duration,
}

/// What a timed run took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// The whole run, by the device's clock.
    pub total: Duration,
    /// By kernel, in the manifest's order.
    pub kernels: Vec<Tally>,
    /// The copies.
    pub copies: Tally,
}

impl<'a, D: Device> Executor<'a, D> {
    /// Allocates what the package needs and uploads its constants.
    ///
    /// # Errors
    /// If the device has not enough memory (the message has the plan and its largest values), or lacks a function.
    pub fn new(package: &'a Package, device: &'a mut D) -> Result<Self> {
        let manifest = &package.manifest;
        // Regions are made of the manifest's numbers: they must have been checked.
        manifest.validate()?;
        let functions = manifest
            .kernels
            .iter()
            .map(|kernel| {
                let functions = kernel.functions.iter().map(|function| {
                    let shape = Shape {
                        grid: function.grid,
                        block: function.block,
                        shared_bytes: function.shared_bytes,
                    };
                    Ok((device.function(&function.name)?, shape))
                });
                functions.collect::<Result<Vec<_>, DeviceError>>()
            })
            .collect::<Result<Vec<_>, _>>()
            .context("the package's code and its manifest do not belong together")?;
        let mut executor = Self {
            manifest,
            device,
            allocations: Vec::new(),
            arguments: Vec::new(),
            results: Vec::new(),
            functions,
            schedule: Vec::new(),
            recorded: None,
            asked: Asked::default(),
        };
        for (number, argument) in manifest.arguments.iter().enumerate() {
            let region = executor.allocate(argument.bytes, || format!("argument {number}"))?;
            executor.arguments.push(region);
        }
        for (number, result) in manifest.results.iter().enumerate() {
            let region = match result.argument {
                Some(argument) => executor.arguments[argument],
                None => executor.allocate(result.bytes, || format!("result {number}"))?,
            };
            executor.results.push(region);
        }
        let arena = executor.allocate(manifest.arena_bytes, || "the arena".into())?;
        let constants = executor.allocate(manifest.constants_bytes, || "the constants".into())?;
        executor.device.upload(constants, &package.constants).context("uploading the constants")?;
        let guards = executor.guards()?;
        let counters = executor.counters()?;
        let places = Places {
            arguments: &executor.arguments,
            results: &executor.results,
            arena,
            constants,
            counters: &counters,
            guards,
        };
        executor.schedule = schedule::resolve(manifest, &places)?;
        Ok(executor)
    }

    /// The bytes that guarded kernels ask, if there are such kernels.
    fn guards(&mut self) -> Result<Option<Guards>> {
        if !self.manifest.kernels.iter().any(|kernel| kernel.guarded) {
            return Ok(None);
        }
        let both = self.allocate(2 * OFFSETS, || "what guards loops".into())?;
        let always = Region { bytes: 1, ..both };
        let going = Region { offset: OFFSETS, bytes: 1, ..both };
        self.device.upload(always, &[1])?;
        Ok(Some(Guards { always, going }))
    }

    /// What each counter is in a turn that is asked for by itself.
    fn counters(&mut self) -> Result<Vec<Region>> {
        let count = self.manifest.counters.len() as u64;
        if count == 0 {
            return Ok(Vec::new());
        }
        let all = self.allocate(count * OFFSETS, || "what loops count".into())?;
        Ok((0..count).map(|number| Region { offset: number * OFFSETS, bytes: OFFSETS, ..all }).collect())
    }

    fn allocate(&mut self, bytes: u64, what: impl Fn() -> String) -> Result<Region> {
        let buffer = match self.device.allocate(bytes) {
            Ok(buffer) => buffer,
            Err(error @ DeviceError::OutOfMemory { .. }) => {
                let memory = self.device.memory().ok();
                bail!(
                    "{}: {error}, for {}\n{}",
                    self.device.describe(),
                    what(),
                    plan::explain(self.manifest, memory)
                );
            }
            Err(error) => return Err(error).with_context(|| format!("allocating {}", what())),
        };
        self.allocations.push(buffer);
        Ok(Region { buffer, offset: 0, bytes })
    }

    /// The program's manifest.
    #[must_use]
    pub fn manifest(&self) -> &'a Manifest {
        self.manifest
    }

    /// The arguments that a run may overwrite, by number.
    #[must_use]
    pub fn donated(&self) -> Vec<usize> {
        let arguments = self.manifest.arguments.iter().enumerate();
        arguments.filter(|(_, argument)| argument.donated).map(|(number, _)| number).collect()
    }

    /// Puts copies of the donated arguments on the device, as many as it has memory for, from which
    /// [`Self::copy_to_argument`] sets them much faster than they are uploaded.
    ///
    /// # Errors
    /// If the device fails.
    pub(crate) fn keep_donated(&mut self, inputs: &[Vec<u8>]) -> Result<Vec<(usize, Option<Region>)>> {
        let mut kept = Vec::new();
        for number in self.donated() {
            let bytes = self.arguments[number].bytes;
            let region = match self.device.allocate(bytes) {
                Ok(buffer) => {
                    self.allocations.push(buffer);
                    let region = Region { buffer, offset: 0, bytes };
                    self.device.upload(region, &inputs[number])?;
                    Some(region)
                }
                Err(DeviceError::OutOfMemory { .. }) => None,
                Err(error) => return Err(error.into()),
            };
            kept.push((number, region));
        }
        Ok(kept)
    }

    /// Sets an argument from a copy on the device.
    ///
    /// # Errors
    /// If the device fails.
    pub(crate) fn copy_to_argument(&mut self, number: usize, from: Region) -> Result<()> {
        self.device.copy(from, self.arguments[number]).with_context(|| format!("copying argument {number}"))
    }

    /// The device it is on.
    pub fn device(&mut self) -> &mut D {
        self.device
    }

    /// Uploads an argument.
    ///
    /// # Errors
    /// If there is no such argument, it has another length, or the device fails.
    pub fn set_argument(&mut self, number: usize, bytes: &[u8]) -> Result<()> {
        let Some(&region) = self.arguments.get(number) else {
            bail!("there is no argument {number}, only {}", self.arguments.len());
        };
        if bytes.len() as u64 != region.bytes {
            bail!("argument {number} has {} bytes, not {}", region.bytes, bytes.len());
        }
        self.device.upload(region, bytes).with_context(|| format!("uploading argument {number}"))
    }

    /// Downloads a result.
    ///
    /// # Errors
    /// If there is no such result, or the device fails.
    pub fn result(&mut self, number: usize) -> Result<Vec<u8>> {
        let Some(&region) = self.results.get(number) else {
            bail!("there is no result {number}, only {}", self.results.len());
        };
        // It was allocated on the device; here it may still be too much.
        let mut bytes = Vec::new();
        let length = usize::try_from(region.bytes)?;
        bytes.try_reserve_exact(length).with_context(|| format!("no memory here for result {number}"))?;
        bytes.resize(length, 0);
        self.device.download(region, &mut bytes).with_context(|| format!("downloading result {number}"))?;
        Ok(bytes)
    }

    /// Runs the program once and waits for it; the time it took by the device's clock.
    ///
    /// # Errors
    /// If the device fails.
    pub fn run(&mut self) -> Result<Duration> {
        let (before, after) = self.start()?;
        self.device.synchronize()?;
        Ok(self.device.elapsed(&before, &after)?)
    }

    /// What the last run asked of the device.
    #[must_use]
    pub fn asked(&self) -> Asked {
        self.asked
    }

    /// Asks for a run without waiting for it, if the program has no control flow that has to be waited for; the points where it
    /// starts and ends. Launches go in graphs where the device has them.
    ///
    /// # Errors
    /// If the device fails.
    pub(crate) fn start(&mut self) -> Result<(D::Event, D::Event)> {
        let (manifest, functions) = (self.manifest, &self.functions);
        let schedule = match &mut self.recorded {
            Some(recorded) => recorded,
            unknown => {
                let recorded = schedule::with_graphs(&self.schedule, functions, self.device)?;
                self.allocations.extend(recorded.tables);
                unknown.insert(recorded.commands)
            }
        };
        // Where there are no graphs, or nothing to put into them.
        let schedule = if schedule.is_empty() { &self.schedule } else { schedule };
        let before = self.device.record()?;
        let mut machine =
            Machine { manifest, device: self.device, functions, timer: None, asked: Asked::default() };
        machine.run(schedule)?;
        self.asked = machine.asked;
        Ok((before, self.device.record()?))
    }

    /// Runs the program once, with every launch timed. Timing takes time itself, so that the total is more than that of
    /// [`Self::run`].
    ///
    /// # Errors
    /// If the device fails.
    pub fn profile(&mut self) -> Result<Profile> {
        let traffic = self.manifest.kernels.iter().map(slimhlo_package::Kernel::traffic).collect();
        let profile = Profile { kernels: vec![Tally::default(); self.functions.len()], ..Profile::default() };
        let timer = Timer { profile, traffic, pending: Vec::new() };
        let before = self.device.record()?;
        let (manifest, functions) = (self.manifest, &self.functions);
        let asked = Asked::default();
        let mut machine = Machine { manifest, device: self.device, functions, timer: Some(timer), asked };
        machine.run(&self.schedule)?;
        self.asked = machine.asked;
        let mut timer = machine.timer.take().context("timer")?;
        let after = self.device.record()?;
        self.device.synchronize()?;
        timer.read(self.device)?;
        timer.profile.total = self.device.elapsed(&before, &after)?;
        Ok(timer.profile)
    }
}

impl<D: Device> Drop for Executor<'_, D> {
    fn drop(&mut self) {
        for buffer in self.allocations.drain(..) {
            // There is nobody to tell, and what failed has been told before.
            let _ = self.device.free(buffer);
        }
    }
}

/// Runs commands.
struct Machine<'e, D: Device> {
    manifest: &'e Manifest,
    device: &'e mut D,
    functions: &'e [Vec<(D::Function, Shape)>],
    timer: Option<Timer<D::Event>>,
    asked: Asked,
}

/// Adds up what launches take.
struct Timer<E> {
    profile: Profile,
    /// Bytes that a launch moves, by kernel.
    traffic: Vec<u64>,
    /// Launches (by kernel) and copies whose times are not read yet.
    pending: Vec<(Option<usize>, E, E)>,
}

impl<E> Timer<E> {
    fn read<D: Device<Event = E>>(&mut self, device: &mut D) -> Result<()> {
        for (kernel, before, after) in self.pending.drain(..) {
            let tally = match kernel {
                Some(kernel) => &mut self.profile.kernels[kernel],
                None => &mut self.profile.copies,
            };
            tally.time += device.elapsed(&before, &after)?;
        }
        Ok(())
    }
}

impl<D: Device> Machine<'_, D> {
    fn run(&mut self, commands: &[Command<D::Graph>]) -> Result<()> {
        commands.iter().try_for_each(|command| self.command(command))
    }

    fn command(&mut self, command: &Command<D::Graph>) -> Result<()> {
        match command {
            Command::Launch { kernel, regions } => {
                let functions = &self.functions[*kernel];
                self.asked.launches += functions.len() as u64;
                self.timed(Some(*kernel), |device| {
                    functions
                        .iter()
                        .try_for_each(|(function, shape)| device.launch(function, *shape, regions))
                })?;
                if let Some(timer) = &mut self.timer {
                    let tally = &mut timer.profile.kernels[*kernel];
                    tally.count += 1;
                    tally.bytes = tally.bytes.saturating_add(timer.traffic[*kernel]);
                }
            }
            &Command::Copy { from, to } => {
                self.asked.launches += 1;
                self.timed(None, |device| device.copy(from, to))?;
                if let Some(timer) = &mut self.timer {
                    timer.profile.copies.count += 1;
                    let bytes = &mut timer.profile.copies.bytes;
                    *bytes = bytes.saturating_add(from.bytes.saturating_mul(2));
                }
            }
            Command::Graph(graph) => {
                self.asked.graphs += 1;
                self.device.launch_graph(graph).context("launching a graph")?;
            }
            Command::Repeat { turns, at_once, count, body } => {
                let mut first = 0;
                while first < *turns {
                    if let Some(count) = count {
                        let values = count.table(first, *at_once);
                        self.device.send(count.values, &values).context("counting turns")?;
                    }
                    self.run(body)?;
                    first += at_once;
                }
            }
            Command::While { condition, predicate, body } => loop {
                self.run(condition)?;
                self.asked.waits += 1;
                let mut byte = [0];
                self.device.download(*predicate, &mut byte)?;
                if byte == [0] {
                    break;
                }
                self.run(body)?;
            },
            Command::Rounds { first, round, going } => {
                self.run(first)?;
                let mut done = 0;
                // Where launches are timed, those that do nothing would be as well.
                let mut ahead = u64::from(self.timer.is_none());
                loop {
                    for _ in 0..ahead {
                        self.run(round)?;
                    }
                    self.asked.waits += 1;
                    let mut byte = [0];
                    self.device.download(*going, &mut byte)?;
                    if byte == [0] {
                        break;
                    }
                    done += ahead;
                    ahead = match self.timer {
                        Some(_) => 1,
                        None => (done / 2).clamp(1, MOST_AHEAD),
                    };
                }
            }
            Command::Case { selector, kind, branches } => {
                self.asked.waits += 1;
                let taken = match kind {
                    Selector::Predicate => {
                        let mut byte = [0];
                        self.device.download(*selector, &mut byte)?;
                        usize::from(byte == [0])
                    }
                    Selector::Index => {
                        let mut bytes = [0; 4];
                        self.device.download(*selector, &mut bytes)?;
                        usize::try_from(i32::from_le_bytes(bytes)).unwrap_or(usize::MAX)
                    }
                };
                let branch = branches.get(taken).or(branches.last());
                self.run(branch.context("a case without branches")?)?;
            }
        }
        Ok(())
    }

    fn timed(
        &mut self,
        kernel: Option<usize>,
        work: impl FnOnce(&mut D) -> Result<(), DeviceError>,
    ) -> Result<()> {
        let name = || match kernel {
            Some(kernel) => format!("kernel `{}`", self.manifest.kernels[kernel].name),
            None => "a copy".to_string(),
        };
        let Some(timer) = &mut self.timer else {
            return work(self.device).with_context(|| format!("launching {}", name()));
        };
        let before = self.device.record()?;
        work(self.device).with_context(|| format!("launching {}", name()))?;
        let after = self.device.record()?;
        timer.pending.push((kernel, before, after));
        if timer.pending.len() >= EVENTS_AT_ONCE {
            self.device.synchronize()?;
            timer.read(self.device)?;
        }
        Ok(())
    }
}
