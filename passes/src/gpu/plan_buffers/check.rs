// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Runs a planned program without computing anything: which value is in which bytes, step by step.
//!
//! Independent of how the plan was made: each read has to find, in every byte, the value that the program means. Loops run twice,
//! so that what a second round finds is seen as well; each branch runs from the same start. What a loop counts is in its place from the
//! start of a turn to its end, whenever it is said to be computed.

use super::super::program::Slot;
use super::super::program::slot;
use crate::framework::PassError;
use crate::functions::{callee, functions, name_of};
use crate::ir::{i64_array, key};
use melior::ir::attribute::{ArrayAttribute, StringAttribute};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{BlockRef, OperationRef, RegionLike, Value};
use slimhlo_dialect::ffi::{attribute_of, op_name};
use std::collections::{BTreeMap, HashMap};

use super::super::form_kernels::{entry, ops::size_of};

/// What is in memory: by buffer, ranges of bytes by where they start, with where they end and what is there.
type Memory = BTreeMap<(usize, u64), (u64, usize)>;

struct Check<'c, 'a> {
    functions: HashMap<String, OperationRef<'c, 'a>>,
    memory: Memory,
    /// What a value is: views and loop-carried values are what they were made of.
    identity: HashMap<usize, usize>,
    slots: HashMap<usize, Slot>,
    fresh: usize,
}

fn buffer_of(slot: Slot) -> (usize, u64) {
    match slot {
        Slot::Arena(offset) => (0, offset),
        Slot::Constant(offset) => (1, offset),
        Slot::Argument(index) => (2 + 2 * index, 0),
        Slot::Result(index) => (3 + 2 * index, 0),
        Slot::Counter(index) => (usize::MAX - index, 0),
    }
}

/// Fails where a step would read what is no longer, or not yet, there.
pub fn check<'c: 'a, 'a>(module: OperationRef<'c, 'a>) -> Result<(), PassError<'c>> {
    let main = entry(module)?;
    let mut check = Check {
        functions: functions(module).map(|function| (name_of(function), function)).collect(),
        memory: Memory::new(),
        identity: HashMap::new(),
        slots: HashMap::new(),
        fresh: 0,
    };
    let block = main
        .region(0)
        .ok()
        .and_then(|region| region.first_block())
        .ok_or_else(|| PassError::at(main, "has no body"))?;
    for index in 0..block.argument_count() {
        let argument: Value = block.argument(index)?.into();
        check.make(argument, Slot::Argument(index));
    }
    check.block(block)?;
    Ok(())
}

impl<'c: 'a, 'a> Check<'c, 'a> {
    fn make(&mut self, value: Value<'c, 'a>, slot: Slot) {
        self.fresh += 1;
        let what = self.fresh;
        self.place(value, slot, what);
    }

    fn place(&mut self, value: Value<'c, 'a>, slot: Slot, what: usize) {
        self.identity.insert(key(value), what);
        self.slots.insert(key(value), slot);
        if !matches!(slot, Slot::Counter(_)) {
            self.write(slot, size_of(value).1, what);
        }
    }

    fn write(&mut self, slot: Slot, bytes: u64, what: usize) {
        if bytes == 0 {
            return;
        }
        let (buffer, from) = buffer_of(slot);
        let to = from + bytes;
        let hit: Vec<((usize, u64), (u64, usize))> = self
            .memory
            .range((buffer, 0)..(buffer, to))
            .filter(|(_, (end, _))| *end > from)
            .map(|(start, end)| (*start, *end))
            .collect();
        for ((_, start), (end, old)) in hit {
            self.memory.remove(&(buffer, start));
            if start < from {
                self.memory.insert((buffer, start), (from, old));
            }
            if end > to {
                self.memory.insert((buffer, to), (end, old));
            }
        }
        self.memory.insert((buffer, from), (to, what));
    }

    fn read(&self, op: OperationRef<'c, 'a>, value: Value<'c, 'a>) -> Result<(), PassError<'c>> {
        let bytes = size_of(value).1;
        let (Some(&slot), Some(&what)) = (self.slots.get(&key(value)), self.identity.get(&key(value))) else {
            return Err(PassError::at(op, "reads a value that has no buffer"));
        };
        let (buffer, from) = buffer_of(slot);
        match self.memory.get(&(buffer, from)) {
            _ if bytes == 0 => Ok(()),
            Some(&(end, found)) if end >= from + bytes && found == what => Ok(()),
            _ => Err(PassError::at(op, format!("reads {slot:?} when something else is there"))),
        }
    }

    fn planned(&self, op: OperationRef<'c, 'a>) -> Vec<Slot> {
        let Some(all) =
            attribute_of(op, "slimhlo.buffers").and_then(|all| ArrayAttribute::try_from(all).ok())
        else {
            return Vec::new();
        };
        (0..all.len())
            .filter_map(|index| slot(StringAttribute::try_from(all.element(index).ok()?).ok()?.value()))
            .collect()
    }

    /// Runs a block; gives what is in what it ends with.
    fn block(&mut self, block: BlockRef<'c, 'a>) -> Result<Vec<(Slot, usize)>, PassError<'c>> {
        let mut next = block.first_operation();
        while let Some(op) = next {
            next = op.next_in_block();
            let slots = self.planned(op);
            let operands: Vec<Value> = op.operands().collect();
            let hands_on = matches!(op_name(op), "stablehlo.while" | "stablehlo.return");
            for operand in &operands {
                if hands_on && matches!(self.slots.get(&key(*operand)), Some(Slot::Counter(_))) {
                    continue;
                }
                self.read(op, *operand)?;
            }
            match op_name(op) {
                "func.return" | "stablehlo.return" => {
                    return Ok(operands
                        .iter()
                        .map(|operand| (self.slots[&key(*operand)], self.identity[&key(*operand)]))
                        .collect());
                }
                "stablehlo.reshape" => {
                    let result: Value = op.result(0)?.into();
                    if slots.first() != self.slots.get(&key(operands[0])) {
                        return Err(PassError::at(op, "is not where its operand is"));
                    }
                    let what = self.identity[&key(operands[0])];
                    self.identity.insert(key(result), what);
                    self.slots.insert(key(result), slots[0]);
                }
                "stablehlo.constant" => self.make(op.result(0)?.into(), slots[0]),
                "func.call" => self.call(op, &operands, &slots)?,
                "stablehlo.while" => self.while_loop(op, &operands, &slots)?,
                _ => self.branch(op, &slots)?,
            }
        }
        Ok(Vec::new())
    }

    fn call(
        &mut self,
        op: OperationRef<'c, 'a>,
        operands: &[Value<'c, 'a>],
        slots: &[Slot],
    ) -> Result<(), PassError<'c>> {
        let function = callee(op).and_then(|name| self.functions.get(name)).copied();
        let numbers = |name| function.and_then(|function| i64_array(function, name)).unwrap_or(&[]).to_vec();
        let (in_place, may_share, scratch) =
            (numbers("slimhlo.in_place"), numbers("slimhlo.may_share"), numbers("slimhlo.scratch"));
        let mut written: Vec<(usize, u64, u64)> = Vec::new();
        let sizes: Vec<u64> = op
            .results()
            .map(|result| size_of(result.into()).1)
            .chain(scratch.iter().map(|&bytes| u64::try_from(bytes).unwrap_or(0)))
            .collect();
        for (index, (&slot, &bytes)) in slots.iter().zip(&sizes).enumerate() {
            let (buffer, from) = buffer_of(slot);
            if bytes == 0 {
                continue;
            }
            if matches!(slot, Slot::Constant(_)) {
                return Err(PassError::at(op, "writes to a constant"));
            }
            if written.iter().any(|&(other, low, high)| other == buffer && low < from + bytes && from < high)
            {
                return Err(PassError::at(op, "writes two values to one place"));
            }
            written.push((buffer, from, from + bytes));
            let must = in_place.get(index).and_then(|&operand| usize::try_from(operand).ok());
            let may = may_share.get(index).and_then(|&operand| usize::try_from(operand).ok());
            if let Some(operand) = must
                && self.slots.get(&key(operands[operand])) != Some(&slot)
            {
                return Err(PassError::at(op, "is not in place"));
            }
            for (number, operand) in operands.iter().enumerate() {
                let (other, low) = buffer_of(self.slots[&key(*operand)]);
                let high = low + size_of(*operand).1;
                let meets = other == buffer && low < from + bytes && from < high;
                if meets && !(Some(number) == must || Some(number) == may && low == from) {
                    return Err(PassError::at(op, format!("writes over its operand {number}")));
                }
            }
        }
        for (result, &slot) in op.results().zip(slots) {
            self.make(result.into(), slot);
        }
        for (&slot, &bytes) in slots.iter().zip(&sizes).skip(op.result_count()) {
            self.fresh += 1;
            self.write(slot, bytes, self.fresh);
        }
        Ok(())
    }

    fn while_loop(
        &mut self,
        op: OperationRef<'c, 'a>,
        operands: &[Value<'c, 'a>],
        slots: &[Slot],
    ) -> Result<(), PassError<'c>> {
        let mut state: Vec<(Slot, usize)> = operands
            .iter()
            .map(|operand| (self.slots[&key(*operand)], self.identity[&key(*operand)]))
            .collect();
        for round in 0..3 {
            if state.iter().zip(slots).any(|((found, _), wanted)| found != wanted) {
                return Err(PassError::at(op, "has state that does not stay where it is"));
            }
            for index in 0..2 {
                let Some(block) = op.region(index)?.first_block() else { continue };
                for (index, &(slot, what)) in state.iter().enumerate() {
                    let argument: Value = block.argument(index)?.into();
                    self.slots.insert(key(argument), slot);
                    self.identity.insert(key(argument), what);
                    if matches!(slot, Slot::Counter(_)) {
                        self.write(slot, size_of(argument).1, what);
                    }
                }
                if index == 1 && round == 2 {
                    break;
                }
                let returned = self.block(block)?;
                if index == 1 {
                    state = returned;
                }
            }
        }
        for (result, (slot, what)) in op.results().zip(state) {
            let value: Value = result.into();
            self.slots.insert(key(value), slot);
            self.identity.insert(key(value), what);
        }
        Ok(())
    }

    fn branch(&mut self, op: OperationRef<'c, 'a>, slots: &[Slot]) -> Result<(), PassError<'c>> {
        let before = self.memory.clone();
        let mut after: Option<Memory> = None;
        for index in 0..op.region_count() {
            let Some(block) = op.region(index)?.first_block() else { continue };
            self.memory = before.clone();
            let returned = self.block(block)?;
            if returned.iter().zip(slots).any(|((found, _), wanted)| found != wanted) {
                return Err(PassError::at(op, "has a branch with results elsewhere"));
            }
            // What is left is what all branches leave.
            after = Some(match after.take() {
                None => std::mem::take(&mut self.memory),
                Some(mut other) => {
                    other.retain(|at, what| self.memory.get(at) == Some(what));
                    other
                }
            });
        }
        self.memory = after.unwrap_or(before);
        for (result, &slot) in op.results().zip(slots) {
            self.make(result.into(), slot);
        }
        Ok(())
    }
}
