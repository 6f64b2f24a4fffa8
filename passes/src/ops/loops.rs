// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Loops in chunks: all turns of a loop are done for one chunk of what it carries, then for the next.
//!
//! # What it matches
//!
//! A `while` whose body computes what it carries on element by element, so that no element needs what others become: the
//! rounds of a random number generator (JAX's dropout masks), a fixed number of Newton steps, an ensemble that is stepped on, a
//! binary search for each element in a small table.
//!
//! ```mlir
//! %bits:3 = stablehlo.while(%i = %c0, %x = %counts, %y = %keys)        // tensor<4x1024x1024xui32>
//!   cond { %i < 5 } do { ... %y + %x, %x ^ (%y << %r) ... }
//! ```
//!
//! is, for a chunk, the same loop with `tensor<4x16x1024xui32>`.
//!
//! # Why it is right
//!
//! Each element goes through the same ops as often as before: what decides whether another turn follows, and all else that
//! each chunk needs whole, depends on nothing that is taken in chunks.
//!
//! # When it must not fire
//!
//! Where a chunk would need what is beyond it (slices, pads and reductions along the dimension), count its place (iota), or where the
//! body uses values from around it that are no constants; with ops that back ends do not fuse, other than gathers from small
//! tables, which are done in each turn for as many chunks as there are.

use super::access::{Along, Source, source_of};
use crate::counted::{Counter, blocks};
use crate::ir::{self, bytes};
use crate::ops::class;
use crate::rewrite::{defining_op, ops_in, users, uses};
use crate::tables::Keys;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{BlockRef, OperationRef, Value};
use rustc_hash::FxHashMap;
use slimhlo_dialect::ffi::op_name;

/// How much smaller than what is made of it a value has to be to be little.
const LITTLE: i64 = 4;

/// Ops of a body that are looked at.
const LONGEST: usize = 512;

/// How a loop is done for a chunk.
pub struct Turns {
    /// For each value that it carries how that is streamed, or none if each chunk needs it whole.
    pub carried: Vec<Option<Along>>,
    /// How values of its body are streamed, by key; those not in it are the same for all chunks.
    pub inside: FxHashMap<usize, Along>,
    /// The constants of which ops of the body, by key, take chunks as which of their operands.
    pub splats: FxHashMap<(usize, usize), Along>,
}

/// An op of the body, the number of one of its operands, and how that is wanted.
type Wanted<'c, 'a> = (OperationRef<'c, 'a>, usize, Option<Along>);

struct Search<'c, 'a> {
    body: BlockRef<'c, 'a>,
    arguments: FxHashMap<usize, usize>,
    end: OperationRef<'c, 'a>,
    carried: Vec<Option<Option<Along>>>,
    known: FxHashMap<usize, Option<Along>>,
    splats: FxHashMap<(usize, usize), Along>,
    pending: Vec<Wanted<'c, 'a>>,
}

/// How the loop `op` is done for `units` chunks along a dimension of one of its results, given by its number; `None` if it
/// cannot.
pub fn of<'c: 'a, 'a>(op: OperationRef<'c, 'a>, result: usize, along: Along, units: i64) -> Option<Turns> {
    let (condition, body) = blocks(op)?;
    if along.from != 0 || !is_plain(condition) || !is_plain(body) {
        return None;
    }
    let end = body.terminator()?;
    let count = end.operand_count();
    let argument = |block: BlockRef<'c, 'a>, index| block.argument(index).ok().map(Value::from);
    let arguments: Option<FxHashMap<_, _>> =
        (0..count).map(|index| Some((ir::key(argument(body, index)?), index))).collect();
    let mut search = Search {
        body,
        arguments: arguments?,
        carried: vec![None; count],
        end,
        known: FxHashMap::default(),
        splats: FxHashMap::default(),
        pending: Vec::new(),
    };
    for index in 0..count {
        if uses(argument(condition, index)?).next().is_some() {
            search.carry(index, None)?;
        }
    }
    search.carry(result, Some(along))?;
    search.settle(units)?;
    // What is left has nothing to do with it, but is as large, perhaps: it goes the same way, if it can.
    let wanted = ir::plain(argument(body, result)?)?;
    for index in 0..count {
        let value = argument(body, index)?;
        if search.carried[index].is_none() {
            let like = ir::plain(value).is_some_and(|tensor| tensor.shape == wanted.shape);
            search.carry(index, like.then_some(along))?;
            search.settle(units)?;
        }
    }
    let inside = search.known.into_iter().filter_map(|(key, along)| Some((key, along?))).collect();
    let carried = search.carried.into_iter().map(Option::flatten).collect();
    Some(Turns { carried, inside, splats: search.splats })
}

/// Whether what a loop carries can be done in chunks and need not be stored at all, so that it is no matter whether it is updated
/// in place: because it is made of little, or made into little.
pub fn may_vanish<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> bool {
    is_of_little(op)
        || op.results().map(Value::from).enumerate().any(|(number, value)| {
            uses(value).next().is_some() && is_made_into_little(value) && falls_apart(op, number, value)
        })
}

/// Whether a loop makes something large out of little, in a way that can be done in chunks.
pub fn is_of_little<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> bool {
    op.results().map(Value::from).enumerate().any(|(number, value)| {
        uses(value).next().is_some()
            && op.operand(number).is_ok_and(|value| is_made_of_little(value, None))
            && falls_apart(op, number, value)
    })
}

fn falls_apart<'c: 'a, 'a>(op: OperationRef<'c, 'a>, number: usize, value: Value<'c, 'a>) -> bool {
    ir::plain(value).is_some_and(|tensor| {
        (0..tensor.rank()).any(|dim| {
            let along = Along { dim, run: 1, from: 0 };
            tensor.shape[dim] > 1 && of(op, number, along, tensor.shape[dim]).is_some()
        })
    })
}

/// Whether all that is computed of a value on the fly is reduced to something small.
fn is_made_into_little<'c: 'a, 'a>(value: Value<'c, 'a>) -> bool {
    const MOST: usize = 64;
    let most = bytes(value) / LITTLE;
    let mut seen = Keys::default();
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        for user in users(value) {
            if !seen.insert(ir::op_key(user)) {
                continue;
            }
            let results: Vec<_> = user.results().map(Value::from).collect();
            let small = results.iter().all(|result| bytes(*result) <= most);
            match op_name(user) {
                "stablehlo.reduce" | "stablehlo.dot_general" | "stablehlo.scatter" if small => {}
                name if class::is_fusible(name) && !small && seen.len() <= MOST => pending.extend(results),
                _ => return false,
            }
        }
    }
    true
}

/// How many ops a loop's turns do on each element together, if it is known how many turns there are: its condition compares a
/// counter with a constant.
pub fn operations<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Option<i64> {
    let counter = Counter::of(op)?;
    let (_, body) = blocks(op)?;
    let ops = ops_in(body).count();
    Some(counter.turns().saturating_mul(i64::try_from(ops).ok()?))
}

/// Whether a value is computed on the fly from nothing but small ones, and results of an op.
pub fn is_made_of_little<'c: 'a, 'a>(value: Value<'c, 'a>, of: Option<OperationRef<'c, 'a>>) -> bool {
    const MOST: usize = 64;
    let most = bytes(value) / LITTLE;
    let mut seen = Keys::default();
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        if bytes(value) <= most || !seen.insert(ir::key(value)) {
            continue;
        }
        match defining_op(value) {
            Some(op) if of == Some(op) => {}
            Some(op) if class::is_fusible(op_name(op)) && seen.len() <= MOST => pending.extend(op.operands()),
            _ => return false,
        }
    }
    true
}

impl<'c: 'a, 'a> Search<'c, 'a> {
    /// Wants what is carried at a place this way.
    fn carry(&mut self, index: usize, along: Option<Along>) -> Option<()> {
        match self.carried[index] {
            Some(known) => (known == along).then_some(()),
            None => {
                self.carried[index] = Some(along);
                self.known.insert(ir::key(self.body.argument(index).ok()?.into()), along);
                self.pending.push((self.end, index, along));
                Some(())
            }
        }
    }

    /// Follows all that is wanted to what it is computed from.
    fn settle(&mut self, units: i64) -> Option<()> {
        while let Some((user, number, along)) = self.pending.pop() {
            let value = ir::operand(user, number)?;
            if let Some(&index) = self.arguments.get(&ir::key(value)) {
                self.carry(index, along)?;
                continue;
            }
            let tensor = ir::plain(value)?;
            if along.is_some_and(|along| along.from != 0 || along.run * units != tensor.shape[along.dim]) {
                return None;
            }
            let op = defining_op(value)?;
            if op_name(op) == "stablehlo.constant" {
                if let Some(along) = along {
                    ir::splat_constant(value)?;
                    self.splats.insert((ir::op_key(user), number), along);
                }
                continue;
            }
            if op.block() != Some(self.body) || op.result_count() != 1 {
                return None;
            }
            match self.known.insert(ir::key(value), along) {
                Some(known) if known == along => continue,
                Some(_) => return None,
                None => {}
            }
            let Some(along) = along else {
                self.pending.extend((0..op.operand_count()).map(|number| (op, number, None)));
                continue;
            };
            let Ok(Source::Op(from)) = source_of(op, 0, &tensor, along, units) else { return None };
            self.pending.extend(from.iter().enumerate().map(|(number, along)| (op, number, *along)));
        }
        Some(())
    }
}

/// Whether an op picks from a table that is small beside what it picks, as each step of a binary search does.
fn is_look_up(op: OperationRef<'_, '_>) -> bool {
    op_name(op) == "stablehlo.gather"
        && op.operand(0).is_ok_and(|table| {
            op.results().all(|result| bytes(table).saturating_mul(LITTLE) <= bytes(result.into()))
        })
}

/// Whether a block has nothing but what back ends fuse, and small enough a number of that.
fn is_plain(block: BlockRef<'_, '_>) -> bool {
    let mut count = 0;
    let mut current = block.first_operation();
    while let Some(op) = current {
        let fine =
            (class::is_fusible(op_name(op)) || is_look_up(op)) && ir::discardable_attributes(op).is_empty();
        if count == LONGEST || !(fine || op_name(op) == "stablehlo.return") {
            return false;
        }
        count += 1;
        current = op.next_in_block();
    }
    true
}
