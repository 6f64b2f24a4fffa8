// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-merge-shards`: what each device does with its own shards between exchanges is part of the same manual computation.
//!
//! # What it matches
//!
//! In a program for several partitions, manual computations over all axes of the mesh (those of `--slimhlo-exchange-shards`, or of
//! `jax.shard_map`) and ops around and between them that each device does with its own shards: elementwise ones, broadcasts, moves
//! along dimensions that are not cut, reductions, constraints; and whole loops of such.
//!
//! ```mlir
//! // cut in two along dimension 1
//! %filled = sdy.manual_computation(%x) ... (%own: tensor<64x128xf32>) { ... }
//! %twice = stablehlo.multiply %filled, %two : tensor<64x256xf32>
//! %rolled = sdy.manual_computation(%twice) ... (%own: tensor<64x128xf32>) { ... }
//! ```
//!
//! becomes
//!
//! ```mlir
//! %rolled = sdy.manual_computation(%x) ... (%own: tensor<64x128xf32>) {
//!   ...
//!   %twice = stablehlo.multiply %filled, %two : tensor<64x128xf32>
//!   ...
//! }
//! ```
//!
//! # Why it is right
//!
//! How values are laid out is what all shardings that dimensions are related to agree on (`stream/cuts.rs`), and so what a partitioner
//! makes of these ops; where they do not agree, or parts do not come out even, an op stays where it is. An op that keeps the
//! dimensions that are cut does to a shard what it does to the whole. A sum over what is cut is one over the shard, then over devices.
//! The program's arguments come in even parts, whatever is said of them and of what is made of them: a computation that takes one so
//! agrees with that.
//!
//! Computations that are independent of each other become one as well: passes then see what is there at once, and may keep
//! one apart from the other in time (`take_turns.rs`).
//!
//! Parts of one array that go between the same devices are then sent at once (`shards/share.rs`), and what was reshaped
//! to dimensions of one element is moved without these (`shards/ones.rs`).
//!
//! # Why it pays
//!
//! A manual computation is a program for one device: what passes know of one device's programs they can do in it. A time
//! step that fills halos and then goes over its fields is done in slabs, in place, only if both are in one computation, and a loop of
//! such steps only if it is inside.
//!
//! # What it costs
//!
//! Ops are moved and get other types. The pass is linear, but for loops that stay outside, whose ops are asked once per level of nesting.
//!
//! # When it must not fire
//!
//! * Nothing but constraints is between or around a manual computation, and no other is independent of it.
//! * Products, convolutions, gathers, scatters, sorts: how these are best cut is for the partitioner to say, and chunks of them have
//!   computations of their own (`stream/own_shards.rs`).
//! * Floats narrower than 32 bits, which some back ends (XLA for CPU) update by way of a copy in a wider type: what is in a manual
//!   computation is not done in place then, either.
//! * Ops with discardable attributes other than `sdy.sharding` (which is gone inside), dynamic shapes, quantized types.
//! * Shardings that differ, are on several meshes, or not understood: `mhlo.sharding`, which the default pipeline reads as those of `sdy` first.

use crate::framework::{Anchor, Changed, Pass, PassContext, PassResult, Statistic};
use crate::ir::{self, Builder, is_narrow, remove_discardable_attributes};
use crate::ops::class;
use crate::ops::reducers::combiner;
use crate::rewrite::{arguments_of, defining_op, location_of, ops_in, set_attribute, uses, walk};
use crate::shards::{
    Layout, Mesh, all_reduce, constant_on_shards, counted, is_manual_throughout, manual_computation,
    next_channel, partitions, share_exchanges, taken, without_ones,
};
use crate::stream::cuts::{Cuts, is_simple, says_no_more};
use crate::stream::own_shards::levels;
use crate::tables::{Keys, Table};
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{BlockRef, OperationRef, RegionLike, Type, Value, ValueLike};
use petgraph::unionfind::UnionFind;
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::sdy::attrs::{TensorShardingPerValue, View};
use slimhlo_dialect::types::Tensor;

crate::pass_options! {
    /// Make what devices do with their own shards around exchanges part of the same manual computation.
    ///
    /// In programs for several partitions (`mhlo.num_partitions`, shardings of the `sdy` dialect), manual computations over
    /// all axes of the mesh become one with the ops between and around them that need nothing of other devices, loops included.
    /// Inside of it passes see a program for one device.
    ///
    /// ```mlir
    /// %filled = sdy.manual_computation(%x) ... (%own: tensor<64x128xf32>) { ... }
    /// %twice = stablehlo.multiply %filled, %two : tensor<64x256xf32>
    /// // becomes
    /// %twice = sdy.manual_computation(%x) ... (%own: tensor<64x128xf32>) {
    ///   ...
    ///   %1 = stablehlo.multiply %0, %c : tensor<64x128xf32>
    ///   sdy.return %1
    /// }
    /// ```
    pub struct MergeShards;
}

const MERGED: Statistic =
    Statistic::new(c"num-merged", c"computations made of others and of what is around them");

const SHARED: Statistic = Statistic::new(c"num-shared", c"exchanges that became part of another");
const LESS: Statistic = Statistic::new(c"num-less", c"moves done without dimensions of one element");

const MANUAL: &str = "sdy.manual_computation";
const CONSTRAINT: &str = "sdy.sharding_constraint";
const LOOP: &str = "stablehlo.while";
const CONSTANT: &str = "stablehlo.constant";

impl Pass for MergeShards {
    const ARGUMENT: &'static str = "slimhlo-merge-shards";
    const ANCHOR: Anchor = Anchor::Module;
    const STATISTICS: &'static [Statistic] = &[MERGED, SHARED, LESS];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        let mut manual = false;
        walk(root, |op| {
            manual |= op_name(op) == MANUAL;
            if manual { WalkResult::Interrupt } else { WalkResult::Advance }
        });
        if !manual || partitions(root).is_none_or(|partitions| partitions < 2) {
            return Ok(Changed::No);
        }
        let cuts = Cuts::new(root);
        let Some(mesh) = &cuts.mesh else { return Ok(Changed::No) };
        let build = Builder::new(root);
        let mut merge = Merge {
            build: &build,
            cuts: &cuts,
            mesh,
            channel: next_channel(root),
            made: Table::default(),
            taken: taken(root, mesh).into_iter().map(|(value, layout)| (ir::key(value), layout)).collect(),
            values: Table::default(),
            partition: None,
            dead: Vec::new(),
        };
        let mut wanted = Vec::new();
        walk(root, |op| {
            if op_name(op) == "func.func" {
                let block = op.region(0).ok().and_then(|region| region.first_block());
                if let Some(block) = block.filter(|block| block.next_in_region().is_none()) {
                    merge.find(block, &mut wanted);
                }
                return WalkResult::Skip;
            }
            WalkResult::Advance
        });
        let mut merged = 0;
        for (ops, own) in &wanted {
            merged += merge.make_all(ops, own);
        }
        // Not before: what is known of values is known by their addresses.
        merge.dead.iter().rev().for_each(|op| build.erase(*op));
        let mut computations = Vec::new();
        walk(root, |op| {
            if is_manual_throughout(op) {
                computations.push(op);
                return WalkResult::Skip;
            }
            WalkResult::Advance
        });
        let (mut shared, mut less) = (0, 0);
        for computation in computations {
            shared += share_exchanges(&build, &mesh.grid, computation);
            less += without_ones(&build, computation);
        }
        context.count(&MERGED, merged);
        context.count(&SHARED, shared);
        context.count(&LESS, less);
        Ok(Changed::from(merged + shared + less > 0))
    }
}

/// The ops of a block, and those of them that are to be merged.
type Wanted<'c, 'a> = (Vec<OperationRef<'c, 'a>>, Keys);

struct Merge<'c, 'a, 'r> {
    build: &'r Builder<'c, 'a>,
    cuts: &'r Cuts<'c>,
    mesh: &'r Mesh<'c>,
    channel: i64,
    /// Layouts of the results of computations made.
    made: Table<usize, Layout>,
    /// Layouts of the program's arguments, which come in even parts whatever is said of what is made of them.
    taken: Table<usize, Layout>,
    /// What stands for a value in the computation that is being made, if not itself.
    values: Table<usize, Value<'c, 'a>>,
    partition: Option<Value<'c, 'a>>,
    /// Ops of which nothing is needed any more.
    dead: Vec<OperationRef<'c, 'a>>,
}

impl<'c: 'a, 'a> Merge<'c, 'a, '_> {
    /// Finds what there is to merge in a block, and in loops that stay outside.
    fn find(&self, block: BlockRef<'c, 'a>, wanted: &mut Vec<Wanted<'c, 'a>>) {
        let mut ops: Vec<_> = ops_in(block).collect();
        ops.pop();
        let mut own: Keys = ops.iter().filter(|op| self.is_local(**op)).map(|op| ir::op_key(*op)).collect();
        let levels = levels(&ops, &own);
        // Those that are connected to a manual computation at their level.
        let mut connected = UnionFind::new(ops.len());
        let index: Table<usize, usize> =
            ops.iter().enumerate().map(|(index, op)| (ir::op_key(*op), index)).collect();
        for (at, op) in ops.iter().enumerate().filter(|(_, op)| own.contains(&ir::op_key(**op))) {
            walk(*op, |inner| {
                for from in inner.operands().filter_map(defining_op) {
                    if let Some(&from) =
                        index.get(&ir::op_key(from)).filter(|from| levels[**from] == levels[at])
                    {
                        connected.union(at, from);
                    }
                }
                WalkResult::Advance
            });
        }
        // How many manual computations there are in each, and whether there is something to go with them.
        let mut found = vec![(0, false); ops.len()];
        for (at, op) in ops.iter().enumerate().filter(|(_, op)| own.contains(&ir::op_key(**op))) {
            let (count, other) = &mut found[connected.find_mut(at)];
            match op_name(*op) {
                MANUAL => *count += 1,
                LOOP => {
                    *count += usize::from(has_manual(*op));
                    *other = true;
                }
                CONSTRAINT => {}
                _ => *other |= op.results().any(|result| !ir::is_rank_zero(result.into())),
            }
        }
        let mut alone: Table<u32, usize> = Table::default();
        for (at, op) in ops.iter().enumerate().filter(|(_, op)| own.contains(&ir::op_key(**op))) {
            *alone.entry(levels[at]).or_default() += usize::from(op_name(*op) == MANUAL);
        }
        for (at, op) in ops.iter().enumerate() {
            let (count, other) = found[connected.find_mut(at)];
            let is_alone = alone.get(&levels[at]).is_none_or(|count| *count < 2);
            if count == 0 || count == 1 && !other && is_alone {
                own.remove(&ir::op_key(*op));
            }
        }
        for op in ops.iter().filter(|op| op_name(**op) != MANUAL && !own.contains(&ir::op_key(**op))) {
            op.regions().filter_map(|region| region.first_block()).for_each(|block| self.find(block, wanted));
        }
        if !own.is_empty() {
            wanted.push((ops, own));
        }
    }

    /// Whether each device does an op with its own shards.
    fn is_local(&self, op: OperationRef<'c, 'a>) -> bool {
        let values = || op.operands().chain(op.results().map(Value::from));
        if !says_no_more(op) || values().any(is_narrow) {
            return false;
        }
        // Elsewhere an argument is laid out like what is made of it.
        let is_otherwise = |value: Value<'c, 'a>| {
            self.taken.get(&ir::key(value)).is_some_and(|own| *own != self.cuts.layout(value))
        };
        match op_name(op) {
            MANUAL => self.is_ours(op),
            _ if values().any(is_otherwise) => false,
            LOOP => {
                values().all(|value| self.local_type(value).is_some() && self.is_settled(value))
                    && op.regions().all(|region| {
                        let Some(block) = region.first_block() else { return false };
                        let mut ops: Vec<_> = ops_in(block).collect();
                        ops.pop();
                        ops.into_iter().all(|op| self.is_local(op) || self.is_made_again(op))
                    })
            }
            CONSTANT => false,
            name => {
                let known = class::is_elementwise(name) || name == CONSTRAINT || moves(name);
                known
                    && match self.cuts.is_own(op) {
                        Some(summed) => summed.is_empty() || name == "stablehlo.reduce",
                        None => {
                            is_simple(op, name)
                                && values().all(|value| self.is_settled(value) && self.is_whole(value))
                        }
                    }
            }
        }
    }

    /// Whether a manual computation leaves nothing to partitioners, and takes and gives what is laid out as everywhere else.
    fn is_ours(&self, op: OperationRef<'c, 'a>) -> bool {
        let agrees = |name: &str, values: Vec<Value<'c, 'a>>| {
            let shardings = ffi::attribute_of(op, name).and_then(TensorShardingPerValue::view);
            values.into_iter().enumerate().all(|(index, value)| {
                let layout = shardings
                    .and_then(|shardings| shardings.shardings().get(index))
                    .and_then(|sharding| self.mesh.layout(sharding));
                self.is_settled(value)
                    && layout.is_some_and(|layout| layout == self.layout(value))
                    && self.local_type(value).is_some()
            })
        };
        is_manual_throughout(op)
            && agrees("in_shardings", op.operands().collect())
            && agrees("out_shardings", op.results().map(Value::from).collect())
    }

    /// Whether all that is said of how a value is cut agrees.
    fn is_settled(&self, value: Value<'c, 'a>) -> bool {
        let layout = self.layout(value);
        self.taken.contains_key(&ir::key(value))
            || layout
                .0
                .iter()
                .enumerate()
                .all(|(dim, axes)| !axes.is_empty() || !self.cuts.is_cut(value, dim))
    }

    fn is_whole(&self, value: Value<'c, 'a>) -> bool {
        self.layout(value).0.iter().all(Vec::is_empty)
    }

    /// Whether an op is a constant that is made again on each device.
    fn is_made_again(&self, op: OperationRef<'c, 'a>) -> bool {
        op_name(op) == CONSTANT
            && ir::first_result(op).is_some_and(|value| {
                ir::real(value).is_some()
                    && says_no_more(op)
                    && (self.is_whole(value) || ir::splat_constant(value).is_some())
                    && self.local_type(value).is_some()
            })
    }

    fn layout(&self, value: Value<'c, 'a>) -> Layout {
        let known = self.made.get(&ir::key(value)).or_else(|| self.taken.get(&ir::key(value)));
        known.cloned().unwrap_or_else(|| self.cuts.layout(value))
    }

    fn local_type(&self, value: Value<'c, 'a>) -> Option<Type<'c>> {
        let tensor = ir::real(value)?;
        let local = self.layout(value).local_shape(tensor.shape, &self.mesh.grid)?;
        Some(Tensor::get(&local, tensor.element, None))
    }

    /// Makes manual computations of some ops of a block; says how many.
    fn make_all(&mut self, ops: &[OperationRef<'c, 'a>], own: &Keys) -> u64 {
        let Some(end) = ops.last().and_then(|op| op.next_in_block()) else { return 0 };
        let levels = levels(ops, own);
        let mut order: Vec<(u32, OperationRef<'c, 'a>)> =
            levels.iter().copied().zip(ops.iter().copied()).collect();
        if !levels.is_sorted() {
            order.sort_by_key(|(level, _)| *level);
            order.iter().for_each(|(_, op)| self.build.move_before(*op, end));
        }
        let mut made = 0;
        for group in order.chunk_by(|(left, _), (right, _)| left == right) {
            let group: Vec<_> = group.iter().map(|(_, op)| *op).collect();
            let is_more = |op: &OperationRef| op_name(*op) != CONSTRAINT;
            if own.contains(&ir::op_key(group[0])) && group.iter().filter(|op| is_more(op)).nth(1).is_some()
                || group.iter().any(|op| op_name(*op) == LOOP && own.contains(&ir::op_key(*op)))
            {
                made += u64::from(self.make(&group).is_some());
            }
        }
        made
    }

    /// The manual computation of a group of ops that follow each other.
    fn make(&mut self, group: &[OperationRef<'c, 'a>]) -> Option<()> {
        let build = self.build;
        let mut inside = Keys::default();
        let mut defined = Keys::default();
        for op in group {
            walk(*op, |inner| {
                inside.insert(ir::op_key(inner));
                defined.extend(inner.results().map(|result| ir::key(result.into())));
                for block in inner.regions().filter_map(|region| region.first_block()) {
                    defined.extend(arguments_of(block).map(ir::key));
                }
                WalkResult::Advance
            });
        }
        let mut inputs: Vec<Value<'c, 'a>> = Vec::new();
        let mut constants: Vec<OperationRef<'c, 'a>> = Vec::new();
        let mut known = Keys::default();
        for op in group {
            walk(*op, |inner| {
                for operand in inner.operands() {
                    if defined.contains(&ir::key(operand)) || !known.insert(ir::key(operand)) {
                        continue;
                    }
                    match defining_op(operand).filter(|op| self.is_made_again(*op)) {
                        Some(constant) => constants.push(constant),
                        None => inputs.push(operand),
                    }
                }
                WalkResult::Advance
            });
        }
        let mut outputs: Vec<Value<'c, 'a>> = Vec::new();
        let mut outside = Vec::new();
        for value in group.iter().flat_map(|op| op.results()).map(Value::from) {
            let before = outside.len();
            let number = outputs.len();
            outside.extend(
                uses(value)
                    .filter(|used| !inside.contains(&ir::op_key(used.user)))
                    .map(|used| (number, used.user, used.operand)),
            );
            if outside.len() > before {
                outputs.push(value);
            }
        }
        if outputs.is_empty() {
            return None;
        }
        let layouts = |values: &[Value<'c, 'a>]| values.iter().map(|value| self.layout(*value)).collect();
        let (taken, given): (Vec<Layout>, Vec<Layout>) = (layouts(&inputs), layouts(&outputs));
        let operands: Vec<_> = inputs.iter().copied().zip(&taken).collect();
        let types: Vec<_> = outputs.iter().map(|value| value.r#type()).zip(&given).collect();
        let location = location_of(group).unwrap_or(group[0].location());
        build.set_insertion_point_before(group[0]);
        let (made, block) = manual_computation(build, self.mesh, &operands, &types, location)?;
        self.values = inputs
            .iter()
            .enumerate()
            .map(|(index, value)| {
                (ir::key(*value), block.argument(index).expect("made with arguments").into())
            })
            .collect();
        self.partition = None;
        for constant in constants {
            self.constant(constant);
        }
        // Something to put ops before.
        let anchor = defining_op(build.i64_constant(0, location)).expect("just made");
        for op in group {
            self.enter(*op, anchor, true);
        }
        let results: Vec<_> = outputs.iter().map(|value| self.value(*value)).collect();
        build.set_insertion_point_to_end(block);
        build.terminator("sdy.return", &results, location);
        build.erase(anchor);
        let whole: Vec<Value<'c, 'a>> = made.results().map(Value::from).collect();
        for (number, user, operand) in outside {
            build.set_operand(user, operand, whole[number]);
        }
        self.made.extend(whole.into_iter().map(ir::key).zip(given));
        Some(())
    }

    /// What a value is in the computation.
    fn value(&self, value: Value<'c, 'a>) -> Value<'c, 'a> {
        self.values.get(&ir::key(value)).copied().unwrap_or(value)
    }

    /// Makes a constant, as a device has it, at the insertion point.
    fn constant(&mut self, constant: OperationRef<'c, 'a>) {
        let build = self.build;
        let value = ir::first_result(constant).expect("constants have one result");
        let ty = self.local_type(value).expect("asked before");
        let made = constant_on_shards(build, constant, ty);
        if let Some(made) = defining_op(made) {
            remove_discardable_attributes(made);
        }
        self.values.insert(ir::key(value), made);
    }

    /// Makes an op one on shards: before `anchor`, where it goes itself, or after which it is already.
    fn enter(&mut self, op: OperationRef<'c, 'a>, anchor: OperationRef<'c, 'a>, goes: bool) {
        let build = self.build;
        remove_discardable_attributes(op);
        let results: Vec<Value<'c, 'a>> = op.results().map(Value::from).collect();
        let local: Vec<Option<Type<'c>>> = results.iter().map(|value| self.local_type(*value)).collect();
        let name = op_name(op);
        match name {
            CONSTRAINT => {
                let operand = op.operand(0).expect("constraints have one");
                self.values.insert(ir::key(results[0]), self.value(operand));
                self.dead.push(op);
                return;
            }
            MANUAL => return self.open(op, anchor),
            CONSTANT if local[0] != Some(results[0].r#type()) => {
                build.set_insertion_point_before(anchor);
                self.constant(op);
                self.dead.push(op);
                return;
            }
            "stablehlo.iota" => {
                build.set_insertion_point_before(anchor);
                let layout = self.layout(results[0]);
                let mut partition = self.partition.filter(|_| goes);
                let ty = local[0].expect("asked before");
                if let Some(value) = counted(build, self.mesh, &layout, &mut partition, op, ty) {
                    if goes {
                        self.partition = partition;
                    }
                    self.values.insert(ir::key(results[0]), value);
                    self.dead.push(op);
                    return;
                }
            }
            _ => {}
        }
        // Sizes are asked for before any type changes.
        let sizes = |this: &Self, numbers: &[i64]| {
            let layout = this.layout(results[0]);
            let shape = local[0].and_then(|ty| ffi::shape(ty)).unwrap_or_default();
            let sizes: Vec<i64> = numbers
                .iter()
                .enumerate()
                .map(|(dim, &number)| if layout.0[dim].is_empty() { number } else { shape[dim] })
                .collect();
            build.i64_array(&sizes)
        };
        for list in [("stablehlo.slice", "limit_indices"), ("stablehlo.dynamic_slice", "slice_sizes")] {
            if name == list.0
                && let Some(numbers) = ir::i64_array(op, list.1)
            {
                set_attribute(op, list.1, sizes(self, numbers));
            }
        }
        if goes {
            build.move_before(op, anchor);
        }
        for (index, operand) in op.operands().enumerate().collect::<Vec<_>>() {
            build.set_operand(op, index, self.value(operand));
        }
        let summed = self.cuts.is_own(op).unwrap_or_default();
        if !summed.is_empty() {
            let ty = local[0].expect("asked before");
            let combine = combiner(op).unwrap_or("stablehlo.add");
            let location = op.location();
            build.set_type(results[0], ty);
            build.set_insertion_point_before(anchor);
            let what = (results[0], summed, combine);
            let sum = all_reduce(build, &self.mesh.grid, &mut self.channel, what, location);
            self.values.insert(ir::key(results[0]), ir::first_result(sum).expect("made with one result"));
            return;
        }
        if name == LOOP {
            for block in op.regions().filter_map(|region| region.first_block()) {
                for argument in arguments_of(block) {
                    if let Some(ty) = self.local_type(argument) {
                        build.set_type(argument, ty);
                    }
                }
                for inner in ops_in(block).collect::<Vec<_>>() {
                    match inner.next_in_block() {
                        Some(next) => self.enter(inner, next, false),
                        None => self.end(inner),
                    }
                }
            }
        }
        for (value, ty) in results.iter().zip(local) {
            if let Some(ty) = ty {
                build.set_type(*value, ty);
            }
        }
    }

    /// Makes a block's terminator return what values are in the computation.
    fn end(&self, op: OperationRef<'c, 'a>) {
        for (index, operand) in op.operands().enumerate().collect::<Vec<_>>() {
            self.build.set_operand(op, index, self.value(operand));
        }
    }

    /// Puts what is in a manual computation before `anchor`.
    fn open(&mut self, op: OperationRef<'c, 'a>, anchor: OperationRef<'c, 'a>) {
        let Some(block) = op.region(0).ok().and_then(|region| region.first_block()) else { return };
        for (index, operand) in op.operands().enumerate() {
            if let Ok(argument) = block.argument(index) {
                self.build.replace_all_uses_with(argument.into(), self.value(operand));
            }
        }
        let mut ops: Vec<_> = ops_in(block).collect();
        let Some(end) = ops.pop() else { return };
        ops.into_iter().for_each(|inner| self.build.move_before(inner, anchor));
        for (result, value) in op.results().zip(end.operands()) {
            self.values.insert(ir::key(result.into()), value);
        }
        self.dead.push(op);
    }
}

/// Whether an op puts elements elsewhere, repeats or reduces them.
fn moves(name: &str) -> bool {
    matches!(
        name,
        "stablehlo.broadcast_in_dim"
            | "stablehlo.concatenate"
            | "stablehlo.dynamic_slice"
            | "stablehlo.dynamic_update_slice"
            | "stablehlo.iota"
            | "stablehlo.pad"
            | "stablehlo.reduce"
            | "stablehlo.reshape"
            | "stablehlo.reverse"
            | "stablehlo.slice"
            | "stablehlo.transpose"
    )
}

fn has_manual(op: OperationRef<'_, '_>) -> bool {
    let found = walk(op, |inner| match op_name(inner) {
        MANUAL => WalkResult::Interrupt,
        _ => WalkResult::Advance,
    });
    found == WalkResult::Interrupt
}
