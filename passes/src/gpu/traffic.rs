// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The bytes that a kernel moves: what its time is to be held against.
//!
//! Counted is each element of device memory once that the kernel has to read or write, whatever caches make of it: of an operand
//! what is asked of it, at most all, and of a result all, or what an update in place touches. What is asked is followed from the
//! results back to the operands: an elementwise op asks as many elements of its operands as are asked of it, and so do slices and
//! gathers (a slice of a large operand asks little of it); reductions and the like ask for everything. Scratch memory counts for
//! nothing: a kernel with less of it is better, not slower.

use super::form_kernels::ops::{Class, size_of};
use crate::ir;
use crate::rewrite::{captures, ops_in};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, RegionLike, Value};
use slimhlo_dialect::ffi::{attribute_of, dense_i64_array, op_name};
use std::collections::HashMap;

/// The bytes that a launch of this kernel function moves. `None` if it has no body, or ops that no kernel has.
pub fn traffic<'c: 'a, 'a>(function: OperationRef<'c, 'a>) -> Option<u64> {
    let block = function.region(0).ok()?.first_block()?;
    let in_place = attribute_of(function, "slimhlo.in_place").and_then(dense_i64_array).unwrap_or(&[]);
    let is_in_place = |result: usize| in_place.get(result).is_some_and(|argument| *argument >= 0);
    let updates = (0..in_place.len()).any(is_in_place);
    let ops: Vec<_> = ops_in(block).collect();
    let mut written = 0_u64;
    let mut old = 0_u64;
    let mut asked = Asked(HashMap::new());
    for &op in ops.iter().rev() {
        match (op_name(op), Class::of(op).ok()?) {
            (_, Class::Terminator) => {
                let results = op.operands().enumerate().filter(|(number, _)| !is_in_place(*number));
                for (_, value) in results {
                    written = written.saturating_add(size_of(value).1);
                    asked.all(value);
                }
            }
            ("stablehlo.scatter", _) if updates => {
                let targets = op.result_count();
                let body = op.region(0).ok()?.first_block()?;
                for (number, value) in op.operands().enumerate().skip(targets) {
                    asked.all(value);
                    let Some(target) = number.checked_sub(targets + 1) else { continue };
                    let touched = size_of(value).1.min(size_of(ir::operand(op, target)?).1);
                    written = written.saturating_add(touched);
                    if body
                        .argument(target)
                        .is_ok_and(|argument| crate::rewrite::uses(argument.into()).next().is_some())
                    {
                        old = old.saturating_add(touched);
                    }
                }
            }
            ("stablehlo.dynamic_update_slice", Class::Root(_)) if updates => {
                let update = op.operands().nth(1)?;
                written = written.saturating_add(size_of(update).1);
                op.operands().skip(1).for_each(|value| asked.all(value));
            }
            (_, class) => {
                let most = op.results().map(|result| asked.of(result.into())).max().unwrap_or(0);
                if most == 0 {
                    continue;
                }
                let passes_on = match class {
                    Class::Constant | Class::Table | Class::Iota | Class::Terminator => continue,
                    Class::Pointwise
                    | Class::Move
                    | Class::View
                    | Class::Pad
                    | Class::Join
                    | Class::Put
                    | Class::Gather => true,
                    Class::Root(_) | Class::Control => false,
                };
                for (number, value) in op.operands().enumerate() {
                    // Indices of a gather have components, and are needed whatever is gathered.
                    match passes_on && !(class == Class::Gather && number > 0) {
                        true => asked.some(value, most),
                        false => asked.all(value),
                    }
                }
                captures(op).into_iter().for_each(|value| asked.all(value));
            }
        }
    }
    let mut read = old;
    for index in 0..block.argument_count() {
        let argument: Value<'c, 'a> = block.argument(index).ok()?.into();
        let (elements, bytes) = size_of(argument);
        let width = bytes.checked_div(elements).unwrap_or(0);
        read = read.saturating_add(asked.of(argument).saturating_mul(width));
    }
    Some(read.saturating_add(written))
}

/// How many elements are asked of each value.
struct Asked(HashMap<usize, u64>);

impl Asked {
    fn of(&self, value: Value<'_, '_>) -> u64 {
        self.0.get(&ir::key(value)).copied().unwrap_or(0)
    }

    /// Asks for so many more elements, as far as there are.
    fn some(&mut self, value: Value<'_, '_>, count: u64) {
        let asked = self.0.entry(ir::key(value)).or_default();
        *asked = asked.saturating_add(count).min(size_of(value).0);
    }

    fn all(&mut self, value: Value<'_, '_>) {
        self.some(value, u64::MAX);
    }
}
