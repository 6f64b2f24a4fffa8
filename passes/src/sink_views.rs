// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-sink-views`: what a loop or a branch reads of an array that is there anyway is cut out where it is read.
//!
//! # What it matches
//!
//! A part of an array, or the same elements more often or wider, made before a loop and read in its body by ops that back ends
//! fuse: captured, or carried as it is (`lax.scan` passes what its body closes over so).
//!
//! ```mlir
//! %inner = stablehlo.slice %field [0:26, 0:64, 8:104]           // stored for as long as the loop lasts
//! %w:2 = stablehlo.while(%i = %zero, %f = %first) ... do {
//!   %all = stablehlo.dynamic_update_slice %inner, %f, %c8, %c8, %c0
//! ```
//!
//! becomes
//!
//! ```mlir
//! %w:2 = stablehlo.while(%i = %zero, %f = %first) ... do {
//!   %inner = stablehlo.slice %field [0:26, 0:64, 8:104]         // computed where it is read
//!   %all = stablehlo.dynamic_update_slice %inner, %f, %c8, %c8, %c0
//! ```
//!
//! The same goes for what the branches of an `if` or a `case` read. Where something else reads it, too, it stays there besides.
//!
//! # Why it is right
//!
//! The same op on the same operand, whose value does not change; it has no effects.
//!
//! # Why it pays
//!
//! What goes into a loop or a branch back ends store first, with a kernel of its own, and they hand in the memory. In the body it is a matter of
//! addresses within the kernel that reads it. Back ends that move what is invariant out of loops leave these alone unless
//! something is made of them alone: XLA does not move a slice, a broadcast, a reshape or a reverse for itself, XLA for GPUs
//! nothing that is larger than what it is made of. Reactant, on the other hand, moves all of it out: the time loop of an ocean model
//! reads 141 such parts of fields, and takes 585 us and 70 MiB of temporaries under XLA for an H100, and 438 and 63 so (docs/design.md).
//!
//! # What it costs
//!
//! Nothing but the ops, once for each loop or branch. One walk, and a look at the uses of each operand that is from outside.
//!
//! # When it must not fire
//!
//! * What it is made of would have to be kept for it, and is as large: an argument that is given away or another op's
//!   result, which nothing needs any more, or which the loop starts from and changes.
//! * Something that reads it stores its operands: a product, a sort, a call, a loop that carries it, and what only views it for
//!   such an op (a reshape or a transpose, which products take as they are).
//! * A conversion to narrower elements: XLA moves that out again, and each iteration would read more.
//! * Fewer than `least-bytes` bytes.
//! * Programs for more than one partition, but inside of manual computations over all axes: a part of what is cut into shards
//!   may have to be fetched, in each iteration then.

use crate::counted::{blocks, recarry};
use crate::framework::{Bytes, Changed, Pass, PassContext, PassResult, Statistic};
use crate::ir::{self, Builder, plain};
use crate::ops::class;
use crate::ops::written::written;
use crate::rewrite::{Use, defining_op, in_block, is_unused, ops_in, uses, walk};
use crate::shards::of_one_partition;
use crate::simplify::site::is_always_there;
use crate::tables::{Keys, Table};
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{BlockRef, OperationRef, RegionLike, Value, ValueLike};
use slimhlo_dialect::ffi::op_name;

crate::pass_options! {
    /// Cut out of arrays what loops and branches read where they read it.
    ///
    /// Parts of arrays that are there anyway, and what is made of these by repeating or widening elements, are stored before a loop or
    /// a branch that reads them. In it they are computed within what reads them.
    ///
    /// ```mlir
    /// %inner = stablehlo.slice %field ...
    /// stablehlo.while(...) do { ... %inner ... }
    /// // becomes
    /// stablehlo.while(...) do { %inner = stablehlo.slice %field ... }
    /// ```
    pub struct SinkViews {
        /// How large a value has to be. Not measured against others.
        pub least_bytes: Bytes = Bytes(4 << 10),
    }
}

const SUNK: Statistic =
    Statistic::new(c"num-sunk", c"values that are computed in a loop or a branch that reads them");

/// The longest way from a value to the array that it is a view of.
const MOST_OPS: usize = 16;

impl Pass for SinkViews {
    const ARGUMENT: &'static str = "slimhlo-sink-views";
    const STATISTICS: &'static [Statistic] = &[SUNK];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        let build = Builder::new(root);
        let least = i64::try_from(self.least_bytes.0).unwrap_or(i64::MAX);
        let mut sink = Sink { least, build, seen: Keys::default(), left: Vec::new(), count: 0 };
        for part in of_one_partition(root) {
            // Outer ones come first, and hand on to those inside.
            for op in with_regions(part) {
                match op_name(op) {
                    "stablehlo.while" => sink.sink_to_loop(op),
                    _ => {
                        let before = Before::new(op);
                        inner_blocks(op).for_each(|block| sink.sink_to_block(&before, block, &[]));
                    }
                }
            }
        }
        sink.clean();
        context.count(&SUNK, sink.count);
        Ok(Changed::from(sink.count > 0))
    }
}

/// Loops and branches, outer ones first.
fn with_regions<'c: 'a, 'a>(root: OperationRef<'c, 'a>) -> Vec<OperationRef<'c, 'a>> {
    let mut found = Vec::new();
    walk(root, |op| {
        if matches!(op_name(op), "stablehlo.while" | "stablehlo.if" | "stablehlo.case") {
            found.push(op);
        }
        WalkResult::Advance
    });
    found
}

fn inner_blocks<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> impl Iterator<Item = BlockRef<'c, 'a>> {
    (0..op.region_count()).filter_map(move |index| op.region(index).ok()?.first_block())
}

/// What is done, and with what.
struct Sink<'c, 'a> {
    /// How large a value has to be, in bytes.
    least: i64,
    build: Builder<'c, 'a>,
    /// Ops of which there are copies where they are read, by key, and in the order in which nothing needs them any more.
    seen: Keys,
    left: Vec<OperationRef<'c, 'a>>,
    count: u64,
}

impl<'c: 'a, 'a> Sink<'c, 'a> {
    fn sink_to_loop(&mut self, op: OperationRef<'c, 'a>) {
        let Some((condition, body)) = blocks(op) else { return };
        let before = Before::new(op);
        let carried: Vec<Carried> = (0..op.operand_count())
            .filter(|number| !before.changed.contains(number))
            .filter_map(|number| Carried::of(op, number, (condition, body)))
            .collect();
        self.sink_to_block(&before, body, &carried);
    }

    /// Has a block of an op compute what it reads of arrays from before the op.
    fn sink_to_block(
        &mut self,
        before: &Before<'c, 'a>,
        block: BlockRef<'c, 'a>,
        carried: &[Carried<'c, 'a>],
    ) {
        let Some(first) = block.first_operation() else { return };
        let mut found = captured(before, block);
        found.retain(|(value, inside)| before.is_sunk(*value, inside, self.least));
        let mut less = Vec::new();
        for Carried { number, argument, value } in carried {
            // Where it is handed on as itself; as something else, it is stored.
            let is_own =
                |used: &Use<'c, 'a>| Some(used.user) == block.terminator() && used.operand == *number;
            let inside: Vec<Use> = uses(*argument).filter(|used| !is_own(used)).collect();
            if !inside.is_empty() && before.is_sunk(*value, &inside, self.least) {
                found.push((*value, inside));
                less.push(*number);
            }
        }
        let mut made: Table<usize, Value<'c, 'a>> = Table::default();
        for (value, inside) in found {
            self.build.set_insertion_point_before(first);
            let own = self.copy(value, before, &mut made);
            inside.iter().for_each(|used| self.build.set_operand(used.user, used.operand, own));
            self.count += 1;
        }
        recarry(&self.build, before.op, &less, &[]);
    }

    /// The same value, made at the insertion point.
    fn copy(
        &mut self,
        value: Value<'c, 'a>,
        before: &Before<'c, 'a>,
        made: &mut Table<usize, Value<'c, 'a>>,
    ) -> Value<'c, 'a> {
        let chain: Vec<_> =
            before.views(value).take_while(|(_, value)| !made.contains_key(&ir::key(*value))).collect();
        for (view, value) in chain.into_iter().rev() {
            let of = view.operands().next().expect("views have an operand");
            let of = made.get(&ir::key(of)).copied().unwrap_or(of);
            let copy = self.build.copy_with(view, &[of], &[], &[value.r#type()]);
            made.insert(ir::key(value), copy.result(0).expect("views have a result").into());
            if self.seen.insert(ir::op_key(view)) {
                self.left.push(view);
            }
        }
        made[&ir::key(value)]
    }

    /// Erases what nothing reads any more. What an op is made of comes before it.
    fn clean(&mut self) {
        for op in self.left.drain(..).rev().filter(|op| is_unused(*op)) {
            self.build.erase(op);
        }
    }
}

/// What a loop carries as it is, and nothing asks for when it has ended.
struct Carried<'c, 'a> {
    number: usize,
    /// What the body calls it.
    argument: Value<'c, 'a>,
    /// What it is before the loop.
    value: Value<'c, 'a>,
}

impl<'c: 'a, 'a> Carried<'c, 'a> {
    fn of(
        op: OperationRef<'c, 'a>,
        number: usize,
        (condition, body): (BlockRef<'c, 'a>, BlockRef<'c, 'a>),
    ) -> Option<Self> {
        let argument = |block: BlockRef<'c, 'a>| block.argument(number).ok().map(Value::from);
        let is_free = |value: Value<'c, 'a>| uses(value).next().is_none();
        (is_free(op.result(number).ok()?.into()) && is_free(argument(condition)?)).then_some(())?;
        Some(Self { number, argument: argument(body)?, value: ir::operand(op, number)? })
    }
}

/// Views made right before an op that a block of it reads, in the order in which it does, and where.
fn captured<'c: 'a, 'a>(
    before: &Before<'c, 'a>,
    block: BlockRef<'c, 'a>,
) -> Vec<(Value<'c, 'a>, Vec<Use<'c, 'a>>)> {
    let mut numbers: Table<usize, usize> = Table::default();
    let mut found: Vec<(Value, Vec<Use>)> = Vec::new();
    for inner in ops_in(block) {
        walk(inner, |user| {
            for (operand, value) in user.operands().enumerate() {
                if before.view(value).is_none() {
                    continue;
                }
                let number = *numbers.entry(ir::key(value)).or_insert_with(|| {
                    found.push((value, Vec::new()));
                    found.len() - 1
                });
                found[number].1.push(Use { user, operand });
            }
            WalkResult::Advance
        });
    }
    found
}

/// Whether an op's result is nothing but elements of its operand, in other places, more often or wider.
fn is_view(op: OperationRef<'_, '_>) -> bool {
    match op_name(op) {
        "stablehlo.slice" | "stablehlo.broadcast_in_dim" | "stablehlo.reshape" | "stablehlo.reverse" => true,
        "stablehlo.convert" => {
            let wide =
                |value: Value<'_, '_>| plain(value).and_then(|tensor| ir::element_bytes(tensor.element));
            let result = ir::first_result(op).and_then(wide);
            op.operands().next().and_then(wide).zip(result).is_some_and(|(from, to)| from < to)
        }
        _ => false,
    }
}

/// What is there right before a loop or a branch.
struct Before<'c, 'a> {
    op: OperationRef<'c, 'a>,
    /// Operands that a loop starts from and changes.
    changed: Vec<usize>,
}

impl<'c: 'a, 'a> Before<'c, 'a> {
    fn new(op: OperationRef<'c, 'a>) -> Self {
        Self { op, changed: written(op) }
    }

    /// The view that makes a value right beside the op.
    fn view(&self, value: Value<'c, 'a>) -> Option<OperationRef<'c, 'a>> {
        defining_op(value).filter(|made| made.block() == self.op.block() && is_view(*made))
    }

    /// The views that a value is, one of the other, and what each of them makes: from the last one back.
    fn views(
        &self,
        value: Value<'c, 'a>,
    ) -> impl Iterator<Item = (OperationRef<'c, 'a>, Value<'c, 'a>)> + use<'_, 'c, 'a> {
        let made = |value| Some((self.view(value)?, value));
        std::iter::successors(made(value), move |(view, _)| made(view.operands().next()?))
    }

    /// Whether a value is better computed where a region of the op reads it.
    fn is_sunk(&self, value: Value<'c, 'a>, inside: &[Use<'c, 'a>], least: i64) -> bool {
        let views: Vec<OperationRef> = self.views(value).map(|(view, _)| view).take(MOST_OPS + 1).collect();
        let leaf = views.last().and_then(|first| first.operands().next()).unwrap_or(value);
        // What is only called otherwise is not stored.
        let is_stored = views.iter().any(|view| op_name(*view) != "stablehlo.reshape");
        is_stored
            && views.len() <= MOST_OPS
            && plain(value).is_some()
            && ir::bytes(value) >= least
            && (is_always_there(leaf) || ir::bytes(leaf) < ir::bytes(value) || self.is_needed_later(leaf))
            && inside.iter().all(|used| is_fused(used.user, &mut Keys::default()))
    }

    /// Whether the op, or what comes after it, reads a value otherwise. What a loop starts from and changes it may change in place: kept for
    /// something else, it would be copied first.
    fn is_needed_later(&self, value: Value<'c, 'a>) -> bool {
        uses(value).any(|used| match in_block(used.user, self.op.block()) {
            Some(user) if user != self.op => ir::is_before(self.op, user),
            Some(_) => used.user != self.op || !self.changed.contains(&used.operand),
            None => false,
        })
    }
}

/// Whether back ends compute what an op reads within it, and within what it is only another name for the operand of.
fn is_fused<'c: 'a, 'a>(op: OperationRef<'c, 'a>, seen: &mut Keys) -> bool {
    match op_name(op) {
        "stablehlo.concatenate" | "stablehlo.dynamic_update_slice" | "stablehlo.reduce" => true,
        // Products take these as they are.
        "stablehlo.reshape" | "stablehlo.transpose" => {
            !seen.insert(ir::op_key(op))
                || op.results().all(|result| uses(result.into()).all(|used| is_fused(used.user, seen)))
        }
        name => class::is_fusible(name),
    }
}
