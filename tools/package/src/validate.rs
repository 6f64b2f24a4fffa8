// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What must be true of a manifest, whoever wrote it.

use std::collections::{HashMap, HashSet};

use crate::{Error, FORMAT, Kernel, Manifest, OFFSETS, Result, Selector, Slot, Step, Tensor};

/// The largest block that any chip takes.
const MAX_BLOCK: u32 = 1024;
/// The largest grid (in its first dimension) that any chip takes.
const MAX_GRID: u32 = i32::MAX as u32;
/// More buffers than this, and the byte of a guarded kernel, do not fit into the 4 KiB of parameters that a kernel has on every chip.
const MAX_PARAMETERS: usize = 4096 / 8 - 1;
/// Deeper than this no `while` and `case` is nested; keeps recursion over steps shallow.
const MAX_DEPTH: usize = 100;

macro_rules! check {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(Error::Invalid(format!($($message)+)));
        }
    };
}

impl Manifest {
    /// Checks that the manifest is consistent: what [`crate::Package::read`] and [`crate::Package::write`] check.
    ///
    /// # Errors
    /// [`Error::Invalid`], naming the first thing that is wrong.
    pub fn validate(&self) -> Result<()> {
        check!(self.format == FORMAT, "format version {} instead of {FORMAT}", self.format);
        check!(is_name(&self.chip), "chip `{}`", self.chip.escape_debug());
        for (number, argument) in self.arguments.iter().enumerate() {
            check_length(&format!("argument {number}"), &argument.tensor, argument.bytes)?;
        }
        self.check_results()?;
        let kernels = self.check_kernels()?;
        for buffer in &self.buffers {
            let what = || format!("buffer `{}`", buffer.name.escape_debug());
            self.check_inside(buffer.slot, buffer.bytes, what)?;
            if let Some(live) = buffer.live {
                check!(live.from <= live.to, "{} is live from {} to {}", what(), live.from, live.to);
            }
        }
        self.check_counters()?;
        Checker { manifest: self, kernels, number: 0, driven: HashSet::new() }.steps(&self.steps, 0)
    }

    fn check_results(&self) -> Result<()> {
        let mut taken = HashSet::new();
        for (number, result) in self.results.iter().enumerate() {
            check_length(&format!("result {number}"), &result.tensor, result.bytes)?;
            let Some(index) = result.argument else { continue };
            let Some(argument) = self.arguments.get(index) else {
                return Err(Error::Invalid(format!(
                    "result {number} lies in argument {index} of {}",
                    self.arguments.len()
                )));
            };
            check!(argument.donated, "result {number} lies in argument {index}, which is not donated");
            check!(
                argument.bytes == result.bytes,
                "result {number} of {} bytes lies in argument {index} of {} bytes",
                result.bytes,
                argument.bytes
            );
            check!(taken.insert(index), "two results lie in argument {index}");
        }
        Ok(())
    }

    fn check_kernels(&self) -> Result<HashMap<&str, &Kernel>> {
        let mut kernels = HashMap::new();
        for kernel in &self.kernels {
            let name = kernel.name.as_str();
            check!(is_name(name), "kernel name `{}`", name.escape_debug());
            check!(kernels.insert(name, kernel).is_none(), "two kernels are named `{name}`");
            check!(!kernel.functions.is_empty(), "kernel `{name}` has no functions");
            check!(
                kernel.parameters.len() <= MAX_PARAMETERS,
                "kernel `{name}` has {} parameters, more than {MAX_PARAMETERS}",
                kernel.parameters.len()
            );
            for function in &kernel.functions {
                check!(
                    is_name(&function.name),
                    "function name `{}` of kernel `{name}`",
                    function.name.escape_debug()
                );
                check!(
                    (1..=MAX_GRID).contains(&function.grid),
                    "grid of {} blocks of function `{}`",
                    function.grid,
                    function.name
                );
                check!(
                    (1..=MAX_BLOCK).contains(&function.block),
                    "block of {} threads of function `{}`",
                    function.block,
                    function.name
                );
            }
        }
        Ok(kernels)
    }

    fn check_counters(&self) -> Result<()> {
        for (number, counter) in self.counters.iter().enumerate() {
            let bytes = counter.bytes;
            check!(matches!(bytes, 1 | 2 | 4 | 8), "counter {number} of {bytes} bytes");
        }
        Ok(())
    }

    /// Checks that `bytes` bytes from `slot` on exist.
    fn check_inside(&self, slot: Slot, bytes: u64, what: impl Fn() -> String) -> Result<()> {
        let (offset, limit) = match slot {
            Slot::Argument(number) => (0, self.arguments.get(number).map(|argument| argument.bytes)),
            Slot::Result(number) => (0, self.results.get(number).map(|result| result.bytes)),
            Slot::Arena(offset) => (offset, Some(self.arena_bytes)),
            Slot::Constant(offset) => (offset, Some(self.constants_bytes)),
            Slot::Counter(number) => (0, self.counters.get(number).map(|counter| counter.bytes)),
        };
        let Some(limit) = limit else {
            return Err(Error::Invalid(format!("{}: there is no `{slot}`", what())));
        };
        check!(
            offset.checked_add(bytes).is_some_and(|end| end <= limit),
            "{}: {bytes} bytes at `{slot}` end beyond its {limit} bytes",
            what()
        );
        Ok(())
    }

    /// Checks that the program may write to `slot`.
    fn check_writable(&self, slot: Slot, what: impl Fn() -> String) -> Result<()> {
        let writable = match slot {
            Slot::Argument(number) => self.arguments.get(number).is_some_and(|argument| argument.donated),
            Slot::Result(_) | Slot::Arena(_) => true,
            Slot::Constant(_) | Slot::Counter(_) => false,
        };
        check!(writable, "{}: writes to `{slot}`, which is not the program's to write", what());
        Ok(())
    }
}

/// Names are ASCII without blanks: they are looked up in PTX and printed in tables.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= 1024 && name.bytes().all(|byte| byte.is_ascii_graphic())
}

fn check_length(what: &str, tensor: &Tensor, bytes: u64) -> Result<()> {
    let expected = tensor.bytes();
    check!(
        expected == Some(bytes),
        "{what} of type {tensor} takes {} bytes, not {bytes}",
        expected.map_or_else(|| "too many".to_string(), |bytes| bytes.to_string())
    );
    Ok(())
}

struct Checker<'m> {
    manifest: &'m Manifest,
    kernels: HashMap<&'m str, &'m Kernel>,
    /// The number of the next step.
    number: u64,
    /// Counters that loops around the next step drive.
    driven: HashSet<usize>,
}

impl Checker<'_> {
    /// Checks that nothing in the steps of a guarded loop does anything unasked.
    fn runs_ahead(&self, steps: &[Step], number: u64) -> Result<()> {
        for step in steps {
            let fault = match step {
                Step::Launch { kernel, .. } => match self.kernels.get(kernel.as_str()) {
                    // One that is not there is told of where it stands.
                    None => None,
                    Some(kernel) if kernel.guarded => None,
                    Some(kernel) => Some(format!("launches `{}`, which is not guarded", kernel.name)),
                },
                Step::Repeat { body, .. } => {
                    self.runs_ahead(body, number)?;
                    None
                }
                Step::Copy { .. } => Some("copies".into()),
                Step::While { .. } | Step::Case { .. } => Some("has control flow".into()),
            };
            if let Some(fault) = fault {
                return Err(Error::Invalid(format!("step {number}: a guarded loop {fault}")));
            }
        }
        Ok(())
    }

    fn steps(&mut self, steps: &[Step], depth: usize) -> Result<()> {
        check!(depth <= MAX_DEPTH, "steps nested deeper than {MAX_DEPTH}");
        for step in steps {
            self.step(step)?;
            let counter = match step {
                Step::Repeat { counter, .. } => *counter,
                _ => None,
            };
            self.driven.extend(counter);
            for block in step.blocks() {
                self.steps(block, depth + 1)?;
            }
            counter.map(|counter| self.driven.remove(&counter));
        }
        Ok(())
    }

    /// Checks that what a step reads is there: bytes of a buffer, or a counter that a loop around the step drives.
    fn readable(&self, slot: Slot, bytes: u64, what: impl Fn() -> String) -> Result<()> {
        if let Slot::Counter(counter) = slot {
            check!(self.driven.contains(&counter), "{}: no loop around it drives `{slot}`", what());
        }
        self.manifest.check_inside(slot, bytes, what)
    }

    fn step(&mut self, step: &Step) -> Result<()> {
        let (manifest, number) = (self.manifest, self.number);
        self.number += 1;
        let what = || format!("step {number}");
        match step {
            Step::Launch { kernel: name, buffers } => {
                let Some(kernel) = self.kernels.get(name.as_str()) else {
                    return Err(Error::Invalid(format!(
                        "step {number}: there is no kernel `{}`",
                        name.escape_debug()
                    )));
                };
                check!(
                    buffers.len() == kernel.parameters.len(),
                    "step {number}: kernel `{name}` takes {} buffers, not {}",
                    kernel.parameters.len(),
                    buffers.len()
                );
                for (&slot, parameter) in buffers.iter().zip(&kernel.parameters) {
                    self.readable(slot, parameter.bytes, what)?;
                    if let Slot::Arena(offset) | Slot::Constant(offset) = slot {
                        check!(
                            offset % OFFSETS == 0,
                            "step {number}: `{slot}` is not at a multiple of {OFFSETS} bytes"
                        );
                    }
                    // Nothing is written to a buffer without bytes, wherever it is.
                    if parameter.access.writes() && parameter.bytes > 0 {
                        manifest.check_writable(slot, what)?;
                    }
                }
            }
            &Step::Copy { from, to, bytes } => {
                self.readable(from, bytes, what)?;
                manifest.check_inside(to, bytes, what)?;
                if bytes > 0 {
                    manifest.check_writable(to, what)?;
                }
                if let (Slot::Arena(from), Slot::Arena(to)) = (from, to) {
                    check!(
                        from == to || from.abs_diff(to) >= bytes,
                        "step {number}: copies {bytes} bytes between overlapping places of the arena"
                    );
                }
            }
            Step::Repeat { counter, .. } => {
                if let &Some(counter) = counter {
                    check!(counter < manifest.counters.len(), "step {number}: there is no counter {counter}");
                    check!(
                        !self.driven.contains(&counter),
                        "step {number}: counter {counter} is driven twice"
                    );
                }
            }
            Step::While { condition, predicate, body, guarded } => {
                self.readable(*predicate, 1, what)?;
                if *guarded {
                    self.runs_ahead(condition, number)?;
                    self.runs_ahead(body, number)?;
                }
            }
            Step::Case { selector, kind, branches } => {
                self.readable(*selector, kind.bytes(), what)?;
                let branches = branches.len();
                let right = match kind {
                    Selector::Predicate => branches == 2,
                    Selector::Index => branches >= 1,
                };
                check!(right, "step {number}: a case with {branches} branches");
            }
        }
        Ok(())
    }
}
