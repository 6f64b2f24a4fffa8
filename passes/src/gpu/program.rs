// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! A planned module as plain data: what a package holds and a runner executes.
//!
//! [`program`] walks `@main` of a module after `--slimhlo-form-kernels` and `--slimhlo-plan-buffers` and translates each op
//! to a [`Step`], each buffer attribute to a [`Slot`]. Nothing is decided here. Launches that would store nothing are left out,
//! and those that would store what the schedule counts or what nobody needs.

use super::form_kernels::{Counts, TURNS, UNSET, attributes_at, entry, ops::size_of};
use super::plan_buffers::aliases;
use super::rounds::is_guarded;
use crate::framework::PassError;
use crate::functions::{callee, functions, name_of};
use crate::ir::{constant_attribute, i64_array, key, string_attribute};
use crate::memory::source_of;
use crate::rewrite::ops_in;
use melior::ir::attribute::{ArrayAttribute, IntegerAttribute, StringAttribute};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{BlockRef, Location, OperationRef, RegionLike, Type, Value, ValueLike};
use slimhlo_dialect::dense::Dense;
use slimhlo_dialect::ffi::{attribute_in, attribute_of, integer_value, op_name, string_value};
use slimhlo_dialect::types::Tensor;
use std::collections::HashMap;

/// Where the bytes of a value are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Slot {
    /// The buffer of this argument of the program.
    Argument(usize),
    /// The buffer of this result of the program. Results that lie in donated arguments are [`Slot::Argument`].
    Result(usize),
    /// Bytes from the start of the arena.
    Arena(u64),
    /// Bytes from the start of the constants.
    Constant(u64),
    /// What a counter is in this turn of its loop.
    Counter(usize),
}

/// An argument or result of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// What the front end called it; empty if it did not.
    pub name: String,
    /// Element type as MLIR spells it: `f32`, `bf16`, `i1`, `ui8`, `complex<f32>`, `f8E4M3FN`, ...
    pub element: String,
    /// Sizes of the dimensions, outermost first.
    pub shape: Vec<u64>,
    /// Bytes in memory.
    pub bytes: u64,
    /// Of a result: the donated argument whose buffer it lies in. Of an argument: the result that lies in it.
    pub donated: Option<usize>,
}

/// A number that grows with each turn of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// How long it is.
    pub bytes: u64,
    /// What it is in the first turn.
    pub start: i64,
    /// By how much it grows.
    pub step: i64,
}

/// A kernel function of the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Its symbol. The GPU functions made of it are called `name`, `name.1`, `name.2`, ..., launched in this order.
    pub name: String,
    /// `map`, `reduce`, `scatter`, ...
    pub kind: String,
    /// Whether it takes one more pointer, to the byte that says whether it does anything.
    pub guarded: bool,
}

/// A value that has memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// `argument 0`, `result 1`, else the name of the kernel (or op) that makes it, and which of its results it is.
    pub name: String,
    /// Its type, as MLIR spells it.
    pub ty: String,
    /// Where it is.
    pub slot: Slot,
    /// Bytes in memory.
    pub bytes: u64,
    /// The step that makes it; steps are numbered as they are written down, those of loops and branches included
    /// (see [`Program::count_steps`]).
    pub from: usize,
    /// The last step that needs it.
    pub to: usize,
    /// The user's source line, `file:line`; empty if unknown.
    pub source: String,
}

/// Something that a device does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Launches a kernel.
    Launch {
        /// Index into [`Program::kernels`].
        kernel: usize,
        /// Operands, results, then scratch buffers.
        buffers: Vec<Slot>,
    },
    /// Copies bytes from one buffer to another that does not overlap with it.
    Copy {
        /// From where.
        from: Slot,
        /// To where.
        to: Slot,
        /// How many.
        bytes: u64,
    },
    /// Runs the condition, and while its predicate (one byte, 0 or 1) is not 0, the body and the condition again.
    While {
        /// What computes the predicate.
        condition: Vec<Step>,
        /// Where the predicate is.
        predicate: Slot,
        /// What is repeated.
        body: Vec<Step>,
        /// Whether all kernels in it ask before they do anything, so that rounds may be launched ahead.
        guarded: bool,
    },
    /// Repeats its body so many times.
    Repeat {
        /// How often.
        turns: u64,
        /// Index into [`Program::counters`] of what it counts.
        counter: Option<usize>,
        /// What is repeated.
        body: Vec<Step>,
    },
    /// Runs one of its branches.
    Case {
        /// What decides.
        selector: Slot,
        /// The selector is a predicate of one byte: not 0 is the first branch, 0 the second. Else it is an i32, the number of the
        /// branch; one out of range is the last.
        predicate: bool,
        /// What may run.
        branches: Vec<Vec<Step>>,
    },
}

/// What a device runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// What it is given.
    pub arguments: Vec<Signature>,
    /// What it gives.
    pub results: Vec<Signature>,
    /// Bytes of its arena; to be aligned to 256.
    pub arena: u64,
    /// The constants that lie in memory, at the offsets of their slots.
    pub constants: Vec<u8>,
    /// What its loops count.
    pub counters: Vec<Counter>,
    /// The kernels that are launched.
    pub kernels: Vec<Kernel>,
    /// All values that have memory.
    pub buffers: Vec<Buffer>,
    /// What it does.
    pub steps: Vec<Step>,
}

impl Program {
    /// How many steps there are: loops and branches count as one each, besides the steps inside of them.
    pub fn count_steps(steps: &[Step]) -> usize {
        steps
            .iter()
            .map(|step| match step {
                Step::Launch { .. } | Step::Copy { .. } => 1,
                Step::While { condition, body, .. } => {
                    1 + Self::count_steps(condition) + Self::count_steps(body)
                }
                Step::Repeat { body, .. } => 1 + Self::count_steps(body),
                Step::Case { branches, .. } => {
                    1 + branches.iter().map(|branch| Self::count_steps(branch)).sum::<usize>()
                }
            })
            .sum()
    }

    /// Bytes on the device: arguments, results that do not lie in arguments, arena and constants.
    pub fn bytes(&self) -> u64 {
        let arguments: u64 = self.arguments.iter().map(|argument| argument.bytes).sum();
        let results: u64 =
            self.results.iter().filter(|result| result.donated.is_none()).map(|result| result.bytes).sum();
        arguments + results + self.arena + self.constants.len() as u64
    }
}

/// Walks a module after `--slimhlo-form-kernels` and `--slimhlo-plan-buffers`, whether kernels have been emitted or not.
///
/// # Errors
/// The module has no entry or has not been planned, or a step of the entry is none that a schedule has; at
/// the op.
pub fn program<'c: 'a, 'a>(module: OperationRef<'c, 'a>) -> Result<Program, PassError<'c>> {
    let main = entry(module)?;
    let number = |name: &str| {
        attribute_of(main, name)
            .and_then(|attribute| IntegerAttribute::try_from(attribute).ok())
            .and_then(|attribute| u64::try_from(integer_value(attribute)).ok())
    };
    let (Some(arena), Some(constants)) = (number("slimhlo.arena"), number("slimhlo.constants")) else {
        return Err(PassError::at(main, "has not been planned; run slimhlo-plan-buffers first"));
    };
    let block = main
        .region(0)
        .ok()
        .and_then(|region| region.first_block())
        .ok_or_else(|| PassError::at(main, "has no body"))?;
    let functions: HashMap<String, OperationRef<'c, 'a>> =
        functions(module).map(|function| (name_of(function), function)).collect();
    let mut walk = Walk {
        functions,
        program: Program {
            arena,
            constants: vec![0; usize::try_from(constants).unwrap_or(0)],
            ..Program::default()
        },
        kernels: HashMap::new(),
        slots: HashMap::new(),
        buffers: HashMap::new(),
        now: 0,
        runs_ahead: false,
    };
    let mut arguments = Vec::new();
    for index in 0..block.argument_count() {
        let argument: Value = block.argument(index)?.into();
        arguments.push(argument);
        let signature = signature(argument.r#type(), main, "arg_attrs", "jax.arg_info", index);
        walk.slots.insert(key(argument), Slot::Argument(index));
        walk.add_buffer(argument, format!("argument {index}"), Slot::Argument(index), 0, main.location());
        walk.program.arguments.push(signature);
    }
    let steps = walk.block(block)?;
    let last = block_end(block).ok_or_else(|| PassError::at(main, "has no end"))?;
    let types: Vec<Type> = last.operands().map(|operand| operand.r#type()).collect();
    let aliases = aliases(main, &arguments, &types);
    for (index, (ty, alias)) in types.iter().zip(aliases).enumerate() {
        let mut signature = signature(*ty, main, "res_attrs", "jax.result_info", index);
        signature.donated = alias;
        if let Some(argument) = alias {
            walk.program.arguments[argument].donated = Some(index);
        }
        walk.program.results.push(signature);
    }
    for operand in last.operands() {
        walk.read(operand);
    }
    // The caller's are there all the time.
    let end = walk.now;
    for buffer in &mut walk.program.buffers {
        if matches!(buffer.slot, Slot::Argument(_)) && buffer.name.starts_with("argument ") {
            buffer.to = end;
        }
    }
    walk.program.steps = steps;
    Ok(walk.program)
}

fn block_end<'c: 'a, 'a>(block: BlockRef<'c, 'a>) -> Option<OperationRef<'c, 'a>> {
    ops_in(block).last()
}

fn signature(ty: Type<'_>, main: OperationRef<'_, '_>, which: &str, name: &str, index: usize) -> Signature {
    let tensor = Tensor::new(ty);
    let text = attributes_at(main, which, index)
        .and_then(|attributes| attribute_in(attributes, name))
        .and_then(|name| StringAttribute::try_from(name).ok())
        .map_or_else(String::new, |name| string_value(name).to_owned());
    Signature {
        name: text,
        element: tensor.as_ref().map_or_else(String::new, |tensor| tensor.element.to_string()),
        shape: tensor.map_or_else(Vec::new, |tensor| {
            tensor.shape.iter().map(|&size| u64::try_from(size).unwrap_or(0)).collect()
        }),
        bytes: super::form_kernels::ops::size_of_type(ty).1,
        donated: None,
    }
}

/// Whether what a call would store is what the schedule counts.
pub(super) fn is_counted(op: OperationRef<'_, '_>) -> bool {
    let places = attribute_of(op, "slimhlo.buffers").and_then(|all| ArrayAttribute::try_from(all).ok());
    let first = places.filter(|places| !places.is_empty()).and_then(|places| places.element(0).ok());
    first
        .and_then(|first| StringAttribute::try_from(first).ok())
        .is_some_and(|first| matches!(slot(first.value()), Some(Slot::Counter(_))))
}

/// Reads `arena+256` and the like.
pub(super) fn slot(text: &str) -> Option<Slot> {
    if let Some(number) = text.strip_prefix("arg") {
        return number.parse().ok().map(Slot::Argument);
    }
    if let Some(number) = text.strip_prefix("counter") {
        return number.parse().ok().map(Slot::Counter);
    }
    if let Some(number) = text.strip_prefix("result") {
        return number.parse().ok().map(Slot::Result);
    }
    if let Some(number) = text.strip_prefix("arena+") {
        return number.parse().ok().map(Slot::Arena);
    }
    text.strip_prefix("const+")?.parse().ok().map(Slot::Constant)
}

struct Walk<'c, 'a> {
    functions: HashMap<String, OperationRef<'c, 'a>>,
    program: Program,
    /// By name.
    kernels: HashMap<String, usize>,
    /// By value.
    slots: HashMap<usize, Slot>,
    /// By value: its entry in the table.
    buffers: HashMap<usize, usize>,
    /// The number of the step that comes next.
    now: usize,
    /// Whether the steps are of a loop that runs ahead, in which copies have to ask, too.
    runs_ahead: bool,
}

impl<'c: 'a, 'a> Walk<'c, 'a> {
    fn add_buffer(
        &mut self,
        value: Value<'c, 'a>,
        name: String,
        slot: Slot,
        at: usize,
        location: Location<'c>,
    ) {
        let source = source_of(location).map_or_else(String::new, |source| source.to_string());
        self.buffers.insert(key(value), self.program.buffers.len());
        self.program.buffers.push(Buffer {
            name,
            ty: value.r#type().to_string(),
            slot,
            bytes: size_of(value).1,
            from: at,
            to: at,
            source,
        });
    }

    /// A step needs a value.
    fn read(&mut self, value: Value<'c, 'a>) {
        if let Some(&buffer) = self.buffers.get(&key(value)) {
            let buffer = &mut self.program.buffers[buffer];
            buffer.to = buffer.to.max(self.now);
        }
    }

    fn slot_of(&self, op: OperationRef<'c, 'a>, value: Value<'c, 'a>) -> Result<Slot, PassError<'c>> {
        self.slots
            .get(&key(value))
            .copied()
            .ok_or_else(|| PassError::at(op, "reads what has no buffer; run slimhlo-plan-buffers last"))
    }

    /// What `slimhlo.buffers` says: results, then scratch memory.
    fn planned(&self, op: OperationRef<'c, 'a>) -> Result<Vec<Slot>, PassError<'c>> {
        let Some(all) =
            attribute_of(op, "slimhlo.buffers").and_then(|all| ArrayAttribute::try_from(all).ok())
        else {
            return if op.result_count() == 0 {
                Ok(Vec::new())
            } else {
                Err(PassError::at(op, "has not been planned; run slimhlo-plan-buffers first"))
            };
        };
        let slots: Option<Vec<Slot>> = (0..all.len())
            .map(|index| slot(StringAttribute::try_from(all.element(index).ok()?).ok()?.value()))
            .collect();
        slots
            .filter(|slots| slots.len() >= op.result_count())
            .ok_or_else(|| PassError::at(op, "has an attribute slimhlo.buffers that is none"))
    }

    fn make(&mut self, op: OperationRef<'c, 'a>, name: &str, slots: &[Slot]) {
        for (index, (result, &slot)) in op.results().zip(slots).enumerate() {
            let name = if op.result_count() == 1 { name.to_owned() } else { format!("{name}#{index}") };
            let value: Value = result.into();
            self.slots.insert(key(value), slot);
            if matches!(slot, Slot::Counter(_)) {
                continue;
            }
            self.add_buffer(value, name, slot, self.now, op.location());
        }
    }

    fn block(&mut self, block: BlockRef<'c, 'a>) -> Result<Vec<Step>, PassError<'c>> {
        let mut steps = Vec::new();
        let mut next = block.first_operation();
        while let Some(op) = next {
            next = op.next_in_block();
            let name = op_name(op);
            if name.ends_with(".return") {
                for operand in op.operands() {
                    self.slot_of(op, operand)?;
                    self.read(operand);
                }
                continue;
            }
            let slots = self.planned(op)?;
            match name {
                "func.call" => {
                    if let Some(step) = self.launch(op, &slots)? {
                        steps.push(step);
                        self.now += 1;
                    }
                }
                "stablehlo.reshape" => {
                    let operand = op.operand(0)?;
                    self.read(operand);
                    let result: Value = op.result(0)?.into();
                    self.slots.insert(key(result), slots[0]);
                    // Needed as long as what it is a view of.
                    if let Some(&buffer) = self.buffers.get(&key(operand)) {
                        self.buffers.insert(key(result), buffer);
                    }
                }
                "stablehlo.constant" => {
                    let Slot::Constant(offset) = slots[0] else {
                        return Err(PassError::at(op, "does not lie among the constants"));
                    };
                    self.constant(op, offset)?;
                    self.make(op, "constant", &slots);
                }
                "stablehlo.while" => steps.push(self.while_loop(op, &slots)?),
                "stablehlo.if" | "stablehlo.case" => {
                    let selector = op.operand(0)?;
                    let slot = self.slot_of(op, selector)?;
                    self.read(selector);
                    self.now += 1;
                    let mut branches = Vec::new();
                    for index in 0..op.region_count() {
                        if let Some(block) = op.region(index)?.first_block() {
                            branches.push(self.block(block)?);
                        }
                    }
                    self.make(op, name, &slots);
                    steps.push(Step::Case { selector: slot, predicate: name == "stablehlo.if", branches });
                }
                _ => {
                    return Err(PassError::at(op, "is not what slimhlo-form-kernels leaves; run that first"));
                }
            }
        }
        Ok(steps)
    }

    fn launch(&mut self, op: OperationRef<'c, 'a>, slots: &[Slot]) -> Result<Option<Step>, PassError<'c>> {
        let name = callee(op).unwrap_or_default().to_owned();
        let mut buffers = Vec::with_capacity(op.operand_count() + slots.len());
        for operand in op.operands() {
            buffers.push(self.slot_of(op, operand)?);
            self.read(operand);
        }
        buffers.extend(slots);
        self.make(op, &name, slots);
        let stored: u64 = op.results().map(|result| size_of(result.into()).1).sum();
        if stored == 0 || is_counted(op) {
            return Ok(None);
        }
        let function = self
            .functions
            .get(&name)
            .copied()
            .ok_or_else(|| PassError::at(op, format!("calls @{name}, which is not there")))?;
        if attribute_of(function, UNSET).is_some() {
            return Ok(None);
        }
        // Scratch memory is alive just now.
        let scratch = i64_array(function, "slimhlo.scratch").unwrap_or(&[]);
        for (&bytes, &slot) in scratch.iter().zip(&slots[op.result_count()..]) {
            let source = source_of(op.location()).map_or_else(String::new, |source| source.to_string());
            self.program.buffers.push(Buffer {
                name: format!("{name} scratch"),
                ty: String::new(),
                slot,
                bytes: u64::try_from(bytes).unwrap_or(0),
                from: self.now,
                to: self.now,
                source,
            });
        }
        if attribute_of(function, "slimhlo.copy").is_some() {
            let (from, to) = (buffers[0], buffers[1]);
            if from == to {
                return Ok(None);
            }
            // In a loop that runs ahead a copy has to ask, too: by the kernel of the same name.
            if !self.runs_ahead {
                return Ok(Some(Step::Copy { from, to, bytes: stored }));
            }
        }
        let kernels = &mut self.program.kernels;
        let kernel = *self.kernels.entry(name.clone()).or_insert_with(|| {
            let kind = string_attribute(function, "slimhlo.kernel").unwrap_or_default().to_owned();
            kernels.push(Kernel { name, kind, guarded: is_guarded(function) });
            kernels.len() - 1
        });
        Ok(Some(Step::Launch { kernel, buffers }))
    }

    fn while_loop(&mut self, op: OperationRef<'c, 'a>, slots: &[Slot]) -> Result<Step, PassError<'c>> {
        for operand in op.operands() {
            self.read(operand);
        }
        let start = self.now;
        self.make(op, "while", slots);
        self.now += 1;
        // Nobody asks a loop whether it goes on if that is known.
        let turns = constant_attribute(op, TURNS).and_then(|turns| u64::try_from(turns).ok());
        let guarded = is_guarded(op);
        let around = self.runs_ahead;
        self.runs_ahead |= guarded;
        let mut blocks = Vec::new();
        let mut predicate = None;
        for index in usize::from(turns.is_some())..2 {
            let block = op
                .region(index)?
                .first_block()
                .ok_or_else(|| PassError::at(op, "has no condition or no body"))?;
            for (index, &slot) in slots.iter().enumerate() {
                let argument: Value = block.argument(index)?.into();
                self.slots.insert(key(argument), slot);
            }
            blocks.push(self.block(block)?);
            if index == 0 {
                let end =
                    block_end(block).ok_or_else(|| PassError::at(op, "has a condition without an end"))?;
                predicate = Some(self.slot_of(op, end.operand(0)?)?);
            }
        }
        self.runs_ahead = around;
        // Its state is needed while it runs, and what is used from outside until it ends.
        for result in op.results() {
            self.read(result.into());
        }
        let inside = start..self.now;
        crate::rewrite::walk(op, |nested| {
            for operand in nested.operands() {
                if let Some(&buffer) = self.buffers.get(&key(operand))
                    && self.program.buffers[buffer].from < inside.start
                {
                    let buffer = &mut self.program.buffers[buffer];
                    buffer.to = buffer.to.max(inside.end.saturating_sub(1));
                }
            }
            melior::ir::operation::WalkResult::Advance
        });
        let body = blocks.pop();
        match (turns, body, blocks.pop(), predicate) {
            (Some(turns), Some(body), ..) => {
                Ok(Step::Repeat { turns, counter: self.counter(op, slots), body })
            }
            (None, Some(body), Some(condition), Some(predicate)) => {
                Ok(Step::While { condition, predicate, body, guarded })
            }
            _ => Err(PassError::at(op, "has no condition or no body")),
        }
    }

    /// The counter that a loop drives.
    fn counter(&mut self, op: OperationRef<'c, 'a>, slots: &[Slot]) -> Option<usize> {
        let counts = Counts::of(op)?;
        let Some(&Slot::Counter(index)) = slots.get(counts.number) else { return None };
        let bytes = size_of(op.result(counts.number).ok()?.into()).1;
        let counters = &mut self.program.counters;
        let counter = Counter { bytes, start: counts.start, step: counts.step };
        // Those of loops inside have been seen before.
        counters.resize(counters.len().max(index + 1), counter);
        counters[index] = counter;
        Some(index)
    }

    fn constant(&mut self, op: OperationRef<'c, 'a>, offset: u64) -> Result<(), PassError<'c>> {
        let dense = attribute_of(op, "value")
            .and_then(Dense::new)
            .ok_or_else(|| PassError::at(op, "has elements that are not in the module"))?;
        let width = if dense.is_empty() { 0 } else { dense.element(0).len() };
        let mut at = usize::try_from(offset).unwrap_or(usize::MAX);
        for index in 0..dense.len() {
            let Some(place) = self.program.constants.get_mut(at..at.saturating_add(width)) else {
                return Err(PassError::at(op, "lies outside of the constants"));
            };
            place.copy_from_slice(dense.element(index));
            at += width;
        }
        Ok(())
    }
}
