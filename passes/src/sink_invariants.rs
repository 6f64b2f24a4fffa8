// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-sink-invariants`: what a loop computes of values that no iteration changes is computed in each iteration, not stored for all of them.
//!
//! # What it matches
//!
//! In the body of a `while`, a large value that cheap ops make of what all iterations have alike, and that something else reads:
//!
//! ```mlir
//! %w:2 = stablehlo.while(%i = %zero, %f = %field) ... do {
//!   %a = stablehlo.broadcast_in_dim %rows, dims = [1, 2]      // tensor<512x512xf64>, from outside of the loop
//!   %b = stablehlo.broadcast_in_dim %levels, dims = [0]       // tensor<64xf64>, too
//!   %volume = stablehlo.multiply %a, %b                       // tensor<64x512x512xf64>
//!   %next = stablehlo.multiply %f, %volume
//! ```
//!
//! becomes
//!
//! ```mlir
//!   %late = stablehlo.clamp %c0, %i, %c0                      // 0, whatever the iteration
//!   %never = stablehlo.compare NE, %late, %c0
//!   %own = stablehlo.select %never, %nothing, %rows
//!   %a = stablehlo.broadcast_in_dim %own, dims = [1, 2]
//!   ...
//! ```
//!
//! # Why it is right
//!
//! What is between two equal integers is that integer, so that the `select` hands on the second value, bit by bit.
//!
//! # Why it pays
//!
//! XLA for CPU moves what is invariant out of the loop and stores it there, however much larger it is than what it is made of: above 128 MiB
//! for a field's volumes, which else are a product within the kernel that reads them. What follows from the iteration's number stays where it is.
//! XLA for GPUs leaves out what is larger than what it is made of.
//!
//! # What it costs
//!
//! The ops, once per iteration, instead of reading what they make; one choice per element of what they read. One walk; constant time per operand.
//!
//! # When it must not fire
//!
//! * Values that take no more than what would have to be kept for them, being of no other use: operands that are no arguments, and that nothing else
//!   reads in the loop.
//! * What is costly to do again (elementary functions, reductions, products): that is made before the loop, and what is made of it may be done again.
//! * Fewer than `least-bytes` bytes; loops without a number that changes; constants alone, which stay where they are.
//! * Programs for more than one partition, but inside of manual computations over all axes.

use crate::framework::{Bytes, Changed, Pass, PassContext, PassResult, Statistic};
use crate::ir::{self, Builder, plain};
use crate::ops::class;
use crate::ops::written::written;
use crate::rewrite::{defining_op, ops_in, ops_named, users};
use crate::shards::of_one_partition;
use crate::tables::{Keys, Table};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::r#type::IntegerType;
use melior::ir::{BlockRef, OperationRef, RegionLike, TypeLike, Value, ValueLike};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::stablehlo::attrs::ComparisonDirection;
use std::collections::BTreeSet;

crate::pass_options! {
    /// Compute in each iteration of a loop what XLA for CPU would store for all of them.
    ///
    /// Large values that cheap ops make of what no iteration changes are moved out of loops by XLA for CPU, and stored until
    /// the loop ends. What they are made of goes through a choice that asks the iteration's number, so that they are
    /// computed where they are read.
    ///
    /// ```mlir
    /// %a = stablehlo.broadcast_in_dim %rows, dims = [1, 2]
    /// // becomes
    /// %own = stablehlo.select %never, %nothing, %rows
    /// %a = stablehlo.broadcast_in_dim %own, dims = [1, 2]
    /// ```
    pub struct SinkInvariants {
        /// How large a value has to be.
        pub least_bytes: Bytes = Bytes(64 << 10),
    }
}

const SUNK: Statistic = Statistic::new(c"num-sunk", c"values that are computed in each iteration");

/// Ops that are done again for one value, at most.
const MOST_OPS: usize = 64;

impl Pass for SinkInvariants {
    const ARGUMENT: &'static str = "slimhlo-sink-invariants";
    const STATISTICS: &'static [Statistic] = &[SUNK];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        let build = Builder::new(root);
        let least = i64::try_from(self.least_bytes.0).unwrap_or(i64::MAX);
        let mut count = 0;
        for part in of_one_partition(root) {
            for op in ops_named(part, "stablehlo.while") {
                if let Some(body) = Body::of(op) {
                    count += body.sink(least, &build);
                }
            }
        }
        context.count(&SUNK, count);
        Ok(Changed::from(count > 0))
    }
}

/// A loop's body.
struct Body<'c, 'a> {
    op: OperationRef<'c, 'a>,
    block: BlockRef<'c, 'a>,
    /// All but the one that ends it, in order.
    ops: Vec<OperationRef<'c, 'a>>,
    end: OperationRef<'c, 'a>,
    /// Arguments that all iterations have alike.
    alike: Keys,
    /// An integer that iterations have each their own of.
    number: Value<'c, 'a>,
}

/// What is computed of values that all iterations have alike.
#[derive(Default)]
struct Invariants<'c, 'a> {
    /// Ops that are cheap to do again, by key: the values from outside that they are made of, operands and all before them.
    made: Table<usize, Vec<Value<'c, 'a>>>,
    /// Results of ops that are not.
    costly: Keys,
}

impl<'c: 'a, 'a> Body<'c, 'a> {
    fn of(op: OperationRef<'c, 'a>) -> Option<Self> {
        let block = op.region(1).ok()?.first_block()?;
        let end = block.terminator()?;
        let all = ops_in(block);
        let ops = all.filter(|op| *op != end).collect();
        let argument = |index: usize| block.argument(index).ok().map(Value::from);
        let changed: Vec<Value> = written(op).into_iter().filter_map(argument).collect();
        let number = changed.iter().copied().find(|argument| is_number(*argument));
        let mut alike: Keys = (0..block.argument_count()).filter_map(argument).map(ir::key).collect();
        changed.iter().for_each(|argument| {
            alike.remove(&ir::key(*argument));
        });
        Some(Self { op, block, ops, end, alike, number: number? })
    }

    /// Whether a value is there before the loop, the same for all iterations.
    fn is_outside(&self, value: Value<'c, 'a>) -> bool {
        match ffi::as_block_argument(value) {
            Some(argument) if argument.owner() == self.block => self.alike.contains(&ir::key(value)),
            Some(_) => true,
            None => defining_op(value).is_some_and(|op| op.block() != Some(self.block)),
        }
    }

    /// Whether an invariant value is there whatever is done in the loop. Constants are not: back ends put them back where they are read.
    fn is_leaf(&self, value: Value<'c, 'a>, found: &Invariants<'c, 'a>) -> bool {
        let constant = defining_op(value).is_some_and(|op| op_name(op) == "stablehlo.constant");
        !constant && self.is_outside(value) || found.costly.contains(&ir::key(value))
    }

    fn invariants(&self) -> Invariants<'c, 'a> {
        let mut found = Invariants::default();
        for &op in &self.ops {
            let name = op_name(op);
            if op.region_count() > 0 || op.result_count() != 1 || !name.starts_with("stablehlo.") {
                continue;
            }
            let mut leaves: Vec<Value> = Vec::new();
            let invariant = op.operands().all(|operand| {
                if self.is_leaf(operand, &found) {
                    leaves.push(operand);
                    return true;
                }
                if self.is_outside(operand) {
                    return true;
                }
                let before = defining_op(operand).and_then(|op| found.made.get(&ir::op_key(op)));
                leaves.extend(before.into_iter().flatten());
                before.is_some()
            });
            if !invariant {
                continue;
            }
            leaves.sort_by_key(|leaf| ir::key(*leaf));
            leaves.dedup();
            let cheap = class::is_fusible(name) && !class::is_costly(name) && leaves.len() <= MOST_OPS;
            if cheap {
                found.made.insert(ir::op_key(op), leaves);
            } else {
                found.costly.extend(op.results().map(|result| ir::key(result.into())));
            }
        }
        found
    }

    /// Values that would be stored for all iterations, and are better done in each.
    fn sunk(&self, found: &Invariants<'c, 'a>, least: i64) -> Vec<OperationRef<'c, 'a>> {
        let is_made = |op: OperationRef<'c, 'a>| found.made.contains_key(&ir::op_key(op));
        let wanted = |op: &OperationRef<'c, 'a>| {
            let Some(leaves) = found.made.get(&ir::op_key(*op)).filter(|leaves| !leaves.is_empty()) else {
                return false;
            };
            let Some(result) = ir::first_result(*op) else { return false };
            // Another op of these is made in its place, and takes it along.
            if ir::bytes(result) < least || is_moved_with_users(op_name(*op)) || users(result).all(is_made) {
                return false;
            }
            let kept = leaves.iter().filter(|leaf| !self.stays(**leaf, found)).map(|leaf| ir::bytes(*leaf));
            kept.sum::<i64>().saturating_mul(2) <= ir::bytes(result)
        };
        self.ops.iter().copied().filter(wanted).collect()
    }

    /// Whether a value takes memory for as long as the loop lasts whatever is made of it.
    fn stays(&self, value: Value<'c, 'a>, found: &Invariants<'c, 'a>) -> bool {
        let is_read = users(value).any(|user| {
            user.block() == Some(self.block)
                && user != self.end
                && !found.made.contains_key(&ir::op_key(user))
        });
        let Some(argument) = ffi::as_block_argument(value) else {
            return is_read || self.is_read_after(value);
        };
        if argument.owner() != self.block {
            return true;
        }
        let number = argument.argument_number();
        let left = self.op.result(number).is_ok_and(|result| users(result.into()).next().is_some());
        let before = ir::operand(self.op, number);
        is_read
            || left
            || before
                .is_some_and(|before| ffi::as_block_argument(before).is_some() || self.is_read_after(before))
    }

    /// Whether something reads a value after the loop.
    fn is_read_after(&self, value: Value<'c, 'a>) -> bool {
        users(value).any(|user| user.block() == self.op.block() && ir::is_before(self.op, user))
    }

    /// The ops that a value is made of in the loop, itself included.
    fn before(
        &self,
        op: OperationRef<'c, 'a>,
        found: &Invariants<'c, 'a>,
    ) -> Option<Vec<OperationRef<'c, 'a>>> {
        let (mut all, mut seen, mut pending) = (Vec::new(), BTreeSet::new(), vec![op]);
        while let Some(op) = pending.pop() {
            if !seen.insert(ir::op_key(op)) {
                continue;
            }
            all.push(op);
            if all.len() > MOST_OPS {
                return None;
            }
            let made = op.operands().filter_map(defining_op);
            pending.extend(made.filter(|op| found.made.contains_key(&ir::op_key(*op))));
        }
        Some(all)
    }

    fn sink(&self, least: i64, build: &Builder<'c, 'a>) -> u64 {
        let found = self.invariants();
        let mut count = 0;
        // What each value from outside is for ops that are done in each iteration.
        let mut own: Table<usize, Value<'c, 'a>> = Table::default();
        let mut never = None;
        for op in self.sunk(&found, least) {
            let Some(all) = self.before(op, &found) else { continue };
            let mut changed = false;
            for op in all {
                for (index, operand) in op.operands().enumerate() {
                    if !self.is_leaf(operand, &found) || !is_of_numbers(operand) {
                        continue;
                    }
                    let never = *never.get_or_insert_with(|| self.never(build));
                    let tied =
                        *own.entry(ir::key(operand)).or_insert_with(|| self.tie(operand, never, build));
                    build.set_operand(op, index, tied);
                    changed = true;
                }
            }
            count += u64::from(changed);
        }
        count
    }

    /// A condition that does not hold in any iteration, at the body's beginning.
    fn never(&self, build: &Builder<'c, 'a>) -> Value<'c, 'a> {
        let location = self.op.location();
        if let Some(first) = self.block.first_operation() {
            build.set_insertion_point_before(first);
        }
        let zero = build.zeros(self.number.r#type(), location);
        let late = build.insert("stablehlo.clamp", &[zero, self.number, zero], &[], zero.r#type(), location);
        build.compare(ComparisonDirection::Ne, late, zero, location)
    }

    /// A value as each iteration has it: after what it is made of, and what tells iterations apart.
    fn tie(&self, value: Value<'c, 'a>, never: Value<'c, 'a>, build: &Builder<'c, 'a>) -> Value<'c, 'a> {
        let made = defining_op(value).filter(|op| op.block() == Some(self.block));
        let after = made.or_else(|| defining_op(never)).and_then(|op| op.next_in_block());
        if let Some(next) = after {
            build.set_insertion_point_before(next);
        }
        let location = made.map_or(self.op.location(), |op| op.location());
        let nothing = build.zeros(value.r#type(), location);
        build.select(never, nothing, value, location)
    }
}

/// Whether a value is one integer, of a byte or more.
fn is_number(value: Value<'_, '_>) -> bool {
    let tensor = plain(value).filter(|tensor| tensor.rank() == 0);
    let integer = tensor.and_then(|tensor| IntegerType::try_from(tensor.element).ok());
    integer.is_some_and(|integer| integer.width() >= 8 && integer.is_signless())
}

/// Whether elements are numbers of which one is all zeros.
fn is_of_numbers(value: Value<'_, '_>) -> bool {
    plain(value).is_some_and(|tensor| {
        let element = tensor.element;
        element.is_integer() || element.is_f64() || element.is_f32() || element.is_f16() || element.is_bf16()
    })
}

/// What a back end moves out of a loop only together with what is made of it.
fn is_moved_with_users(name: &str) -> bool {
    matches!(
        name,
        "stablehlo.broadcast_in_dim"
            | "stablehlo.broadcast"
            | "stablehlo.constant"
            | "stablehlo.iota"
            | "stablehlo.reshape"
            | "stablehlo.reverse"
            | "stablehlo.slice"
            | "stablehlo.transpose"
    )
}
