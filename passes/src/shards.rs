// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-exchange-shards`: what moves along a sharded dimension moves by an exchange of just what crosses a border.
//!
//! # What it matches
//!
//! In a program for several partitions, with shardings of the `sdy` dialect: `pad`, `slice`, `concatenate`, `reverse`, and
//! `dynamic_update_slice` at constant starts (or a `scatter` that sets one window at a constant place, which is what JAX's
//! `x.at[...].set(...)` becomes), alone or one in another, with elementwise ops, broadcasts and constraints in between, from values with known layouts to one with a known layout.
//!
//! ```mlir
//! // %x: tensor<64x256xf32>, cut in two along dimension 1
//! %east = stablehlo.slice %x [0:64, 240:248]
//! %r = stablehlo.dynamic_update_slice %x, %east, %zero, %zero
//! ```
//!
//! becomes
//!
//! ```mlir
//! %r = sdy.manual_computation(%x) ... (%own: tensor<64x128xf32>) {
//!   %some = stablehlo.dynamic_slice %own, %zero, %from, sizes = [64, 8]   // %from: 0 on the first device, 112 on the last
//!   %got = "stablehlo.collective_permute"(%some) <{source_target_pairs = dense<[[1, 0]]> ...}>
//!   %kept = stablehlo.dynamic_slice %own, %zero, %at, sizes = [64, 8]     // %at: 0 on the first device, 120 on the last
//!   %new = stablehlo.select %is_first, %got, %kept
//!   %s = stablehlo.dynamic_update_slice %own, %new, %zero, %at
//!   sdy.return %s
//! }
//! ```
//!
//! # How
//!
//! The result is taken apart into boxes, each of which is read from one place (at a constant distance, perhaps
//! backwards or always from the same index), computed element by element from such, or filled with a scalar
//! (`shards/moves.rs`). Boxes are cut where a shard ends, of the result or of what is read. What is left is sorted into
//! classes: the same box of the shard, from the same place of another (or the same) shard, on some devices
//! (`shards/classes.rs`). All devices run one program, so each class is a slice, an exchange if the devices have not got it
//! themselves, and a choice by device between the classes that fill one place (`shards/emit.rs`). Shards in the middle of a
//! mesh are all alike: the program does not grow with the mesh.
//!
//! An update that writes most of an array, of what is computed (a stencil on all but the edges), is assembled for the whole shard; every other
//! chain of updates of an array that is there becomes one computation that updates the shard in place, and so does an array
//! that devices keep most of where it is, however it is written down (an edge's halo by `concatenate`). Everything else
//! is assembled: a box or two by concatenation or one pad; more by laying what is received over what the device has, operand by
//! operand, then computing the expression once for the whole shard (`shards/emit/whole.rs`). Pads, slices and selects are what
//! back ends fuse into what reads the result. A result that several ops read, or another computation of this pass, is stored
//! anyway, and is made by updates of the largest part: for a fill of halos by `concatenate` that is an update of the array
//! itself, in place.
//!
//! Scalars that only some devices put somewhere (an edge of zeros, a pad of a constant) are selected by device and place, in the kernel
//! that computes the rest. Gradients are full of them: what goes back through a fill of halos is zero there, and added where
//! it came from. They are made only if the moves that they are joined with, element by element, are made as well: what is left to the
//! partitioner in between would be a border between two computations, at which all of it is stored.
//!
//! What different devices do may be one step: a first device that fills its low edge and a last one that fills its high edge
//! are one update at a place that is looked up by device, and what they send each other is one exchange (a periodic halo is one
//! exchange and one update, whichever of its ends came first). Updates of a chain become one if the second does not read what
//! the first writes. Parts that go from the same devices to the same and lie in or next to one another are sent once.
//!
//! An array whose layout nobody says is laid out like the array of its size that it is joined from, or whose parts are joined to it,
//! or as a manual computation takes it.
//! What several ops read is exchanged once: they read it as it then is, where a single reader looks through to what it is made of.
//!
//! # Where each op says how it is laid out
//!
//! Reactant writes a sharding on every op, of arrays that the mesh does not divide as well: 1519 rows on 4 devices. Partitioners hold those
//! in tiles that are all as large as the first, and nobody reads what is beyond the end. A manual computation takes even parts, so
//! such arrays are padded before it and cut off after it (`shards/uneven.rs`), which costs nothing where one undoes the other or where
//! what is between is computed element by element: ops between two computations are done before the ends are cut off.
//!
//! Tiles of 1519 rows and of 1520 begin at other rows: how far away a device finds what it needs then differs from device to device, as
//! does where what it receives goes, and how wide that is. All of it is one exchange, as wide as the widest, and places come from tables
//! (`shards/emit/by_device.rs`): a rotation by two columns is one exchange of two columns, on any mesh. What lies just before or behind
//! a device's own part on all devices is joined to it, and read by one slice.
//!
//! In such modules a scalar that is put across borders is chosen by place, nothing exchanged. What is only computed for one reader, of one
//! array, is computed there, from what that array's neighbours send: several slices of a field are one exchange in each direction. An
//! op that says another layout than what it is made of and all that reads it is laid out like them. `sdy.constant` becomes an ordinary
//! constant. At the program's boundary, where parts must be even, a result is made as it has to be there, if no more is to be sent for
//! that than a device holds.
//!
//! # Why it is right
//!
//! Nothing is computed but what was computed before, element by element from the same elements. Layouts are those that the
//! program asks for; the result has the one it had. At the entry function's boundary shardings that do not divide a
//! dimension fall away (partitioners replicate along these axes), so a result that is only returned is made without them.
//!
//! # Why it pays
//!
//! Partitioners know each op by itself: a slice that is smaller than a shard is first spread over all devices, an update
//! gathers it, a wide pad materialises what it reads in the shape of what it writes. Here what is received is what is
//! needed, each element once.
//!
//! # What it costs
//!
//! Constant tables of a bit or a number per device. Each value is taken apart within a fixed number of steps, and a chain of updates
//! as a whole, so the pass is linear in its module.
//!
//! # What it relies on
//!
//! That a back end fuses selects, slices and pads, updates in place what nothing else needs, and gives zeros to devices that
//! nobody sends to, as StableHLO says. Parts side by side are concatenated if they are read or received as they are, which
//! back ends fuse. Elements that a device does not need are computed from whatever is there, so no elementwise op may trap. Where
//! a back end widens bfloat16 for an update, it is not in place; chains of those are made only in a form that selects over the whole
//! shard, and otherwise left alone.
//!
//! That places looked up by device are not known to a back end. XLA CPU writes a whole array again where an update at a known
//! place is chosen from what is there, and computes an update again inside of a slice at a known place that reads the array after
//! it, for which it keeps a copy of the array before it. So what is sent, and what is kept, is sliced at a place from a table,
//! also where all devices have the same one; and so is a row that a chain reads of what it has written.
//!
//! # When it must not fire
//!
//! * No result element comes from another device and all devices do the same: the partitioner has nothing to do either.
//! * Scalars put into narrow floats, or joined with what is left to the partitioner.
//! * Layouts that are not known or open, cut along parts of axes, or do not come out even where ops do not say so themselves; meshes
//!   that do not count up, or are not what the module is partitioned for; shardings in `mhlo.sharding`.
//! * What is assembled would be received in more elements than a device holds of the result: a slice that leaves shards
//!   of another size moves every border, and takes a part from each neighbour in turn.
//! * A result that every device needs whole from one, on a large mesh; more classes than a few. What a dimension cut
//!   differently needs is a collective of its own.
//! * Ops with discardable attributes other than `sdy.sharding`, dynamic shapes, quantized types, strides and interior padding.
//! * Chains of `dynamic_update_slice` that repeat one row of a cut dimension (an edge's halo), if the array is then read: a partitioner
//!   sends one row by an all-reduce, which also keeps several fields apart in time. Without it XLA CPU has all of them
//!   filled before the first stencil, and each update that a stencil computes again keeps a copy of its field.
//! * What is inside a manual computation already.
//! * Where each op says how it is laid out: ops that move nothing along what is cut, but add or leave away something at an array's ends; slices
//!   of a concatenation that is left alone (partitioners know a rotation by them); what is made of what an op had replicated.

mod classes;
mod emit;
mod layout;
mod manual;
mod moves;
mod uneven;

use crate::framework::{Anchor, Changed, Pass, PassContext, PassResult, Statistic};
use crate::ir::is_narrow;
use crate::ir::{self, Builder};
use crate::ops::class;
use crate::rewrite::{
    carry_attributes, defining_op, has_one_use, is_unused, location_of, ops_named, users, walk,
};
use crate::splat::{Splat, Splats};
use classes::{Class, Made, classes};
use emit::Body;
pub(crate) use emit::next_channel;
pub use layout::partitions;
use layout::{Known, only_returned};
pub(crate) use layout::{Layout, Mesh, SHARDING};
pub(crate) use layout::{is_manual_throughout, is_partitioned, of_one_partition};
pub(crate) use manual::{all_reduce, constant_on_shards, counted, manual_computation};
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{Location, OperationRef, TypeLike, Value, ValueLike};
use moves::{
    Box_, Index, Moves, Piece, Source, is_bare, is_computed_on_shared, is_move, is_update, plain, starts_of,
    unconstrained, update_of,
};
use rustc_hash::{FxHashMap, FxHashSet};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::types::Tensor;

crate::pass_options! {
    /// Move data along sharded dimensions by exchanging just what crosses a border.
    ///
    /// In programs for several partitions (`mhlo.num_partitions`, shardings of the `sdy` dialect), pads, slices,
    /// concatenations, reversals and updates at constant starts that move elements along a sharded dimension become
    /// an `sdy.manual_computation`: each device fills its shard from its own and from what others send it by
    /// `stablehlo.collective_permute`, which is what crosses a shard border and nothing else. Chains of updates of one
    /// array become one computation, which updates it in place.
    ///
    /// ```mlir
    /// %east = stablehlo.slice %x [0:64, 240:248] : (tensor<64x256xf32>) -> tensor<64x8xf32>
    /// %r = stablehlo.dynamic_update_slice %x, %east, %zero, %zero
    ///     : (tensor<64x256xf32>, tensor<64x8xf32>, tensor<i32>, tensor<i32>) -> tensor<64x256xf32>
    /// // becomes, with %x cut in two along dimension 1
    /// %r = sdy.manual_computation(%x) ... (%own: tensor<64x128xf32>) {
    ///   ... a collective_permute of tensor<64x8xf32>, and an update of %own
    /// }
    /// ```
    pub struct ExchangeShards;
}

const COMPUTATIONS: Statistic = Statistic::new(c"num-computations", c"manual computations made");
const EXCHANGES: Statistic = Statistic::new(c"num-exchanges", c"exchanges between devices in them");

/// Of how many classes a value may be made.
const CLASSES: usize = 16;

impl Pass for ExchangeShards {
    const ARGUMENT: &'static str = "slimhlo-exchange-shards";
    const ANCHOR: Anchor = Anchor::Module;
    const STATISTICS: &'static [Statistic] = &[COMPUTATIONS, EXCHANGES];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        let Some(partitions) = partitions(root).filter(|&partitions| partitions > 1) else {
            return Ok(Changed::No);
        };
        let plain = with_plain_constants(root);
        let Some(known) = Known::new(root, partitions) else { return Ok(Changed::from(plain)) };
        let mut candidates = Vec::new();
        walk(root, |op| match op_name(op) {
            "sdy.manual_computation" => WalkResult::Skip,
            name => {
                if is_move(op) || name == "sdy.sharding_constraint" {
                    candidates.push(op);
                }
                WalkResult::Advance
            }
        });
        let mut rewrite = Rewrite {
            build: Builder::new(root),
            known,
            splats: Splats::default(),
            channel: emit::next_channel(root),
            gone: FxHashSet::default(),
            fresh: FxHashSet::default(),
            done: FxHashSet::default(),
            context,
            changed: plain,
        };
        if rewrite.known.by_op {
            rewrite.agree(root);
        }
        // From the last upwards: what is further down takes along what it is made of.
        for op in candidates.into_iter().rev() {
            if !rewrite.gone.contains(&ir::op_key(op)) {
                rewrite.visit(op);
            }
        }
        rewrite.settle(root);
        Ok(Changed::from(rewrite.changed))
    }
}

/// An update of the array that is the subject of a chain.
struct Update<'c, 'a> {
    op: OperationRef<'c, 'a>,
    pieces: Vec<Piece<'c, 'a>>,
}

/// An update and its starts.
type Link<'c, 'a> = (OperationRef<'c, 'a>, Vec<i64>);

/// Values that a computation takes, with their layouts.
type Inputs<'c, 'a> = Vec<(Value<'c, 'a>, Layout)>;

/// A result to be made: what, and how it is laid out.
struct Target<'c, 'a> {
    /// The op whose result is replaced.
    root: OperationRef<'c, 'a>,
    /// The move that makes it, itself or under constraints.
    op: OperationRef<'c, 'a>,
    shape: &'c [i64],
    layout: Layout,
    local: Vec<i64>,
    /// Whether it is made as the program's boundary wants it, which is not what the op says.
    at_boundary: bool,
}

struct Rewrite<'c, 'a, 'r> {
    build: Builder<'c, 'a>,
    known: Known<'c>,
    splats: Splats<'c, 'a>,
    channel: i64,
    gone: FxHashSet<usize>,
    /// Ops made here that are there, perhaps where one was that is gone.
    fresh: FxHashSet<usize>,
    /// Moves that were looked at.
    done: FxHashSet<usize>,
    context: &'r PassContext<'r>,
    changed: bool,
}

impl<'c: 'a, 'a> Rewrite<'c, 'a, '_> {
    fn visit(&mut self, root: OperationRef<'c, 'a>) {
        // What is only returned is best made as it has to be then; if that is too much, partitioners make it so.
        let targets = [true, false].map(|at_boundary| self.target(root, at_boundary));
        let Some(op) = targets.iter().flatten().next().map(|target| target.op) else { return };
        if !self.done.insert(ir::op_key(op)) {
            return;
        }
        for target in targets.into_iter().flatten() {
            if let Some((value, exchanges)) = self.replacement(&target) {
                self.replace(&target, value, exchanges);
                return;
            }
        }
        // Partitioners know a rotation by its slices.
        if self.known.by_op && op_name(op) == "stablehlo.concatenate" {
            let parts = op.operands().filter(|part| has_one_use(*part)).filter_map(defining_op);
            self.done.extend(parts.map(ir::op_key));
        }
    }

    /// The result of a target made by a computation, and its exchanges.
    fn replacement(&mut self, target: &Target<'c, 'a>) -> Option<(Value<'c, 'a>, u64)> {
        let is_chain = is_update(target.op) && {
            let base = target.op.operands().next();
            let mut moves = Moves::new(&self.known, &mut self.splats);
            !base.is_some_and(|base| moves.is_splat(bottom(base)))
        };
        // What is too much to be assembled is put into the splat piece by piece.
        match (is_chain, is_update(target.op)) {
            (true, _) if is_fill_of_computed(target) && self.is_joined_with_made(target) => {
                self.assemble(target)
            }
            (true, _) if is_computed_anew(target) => self.assemble(target).or_else(|| self.chain(target)),
            (true, _) => self.chain(target),
            (false, true) => self.assemble(target).or_else(|| self.chain(target)),
            (false, false) => self.assemble(target),
        }
    }

    fn replace(&mut self, target: &Target<'c, 'a>, value: Value<'c, 'a>, exchanges: u64) {
        self.changed = true;
        self.context.count(&COMPUTATIONS, 1);
        self.context.count(&EXCHANGES, exchanges);
        // What is under constraints that ask for the same is the same value.
        let mut dead = Vec::new();
        let mut replaced: Value<'c, 'a> = target.root.result(0).expect("targets have one result").into();
        loop {
            self.build.replace_all_uses_with(replaced, value);
            let Some(op) = defining_op(replaced) else { break };
            dead.push(op);
            if op == target.op {
                break;
            }
            let Ok(operand) = op.operand(0) else { break };
            if self.known.layout(operand).is_some_and(|layout| *layout != target.layout) {
                break;
            }
            replaced = operand;
        }
        self.known.set(value, target.layout.clone());
        for op in dead {
            if !self.gone.contains(&ir::op_key(op)) && is_unused(op) {
                self.erase(op);
            }
        }
    }

    /// What comes of an op: how it is laid out at the program's boundary, if it only goes there, or as it says.
    fn target(&self, root: OperationRef<'c, 'a>, at_boundary: bool) -> Option<Target<'c, 'a>> {
        let result: Value<'c, 'a> = root.result(0).ok()?.into();
        let tensor = plain(result)?;
        let op = defining_op(unconstrained(result)).filter(|op| is_move(*op))?;
        if !is_bare(root) || !is_bare(op) || op.block() != root.block() || is_unused(root) {
            return None;
        }
        let grid = &self.known.mesh.grid;
        let mut layout = self.known.layout(result)?.clone();
        let is_returned = only_returned(result);
        if at_boundary {
            let even = layout.at_boundary(tensor.shape, grid).filter(|_| is_returned)?;
            if even == layout {
                return None;
            }
            layout = even;
        } else if is_returned && !self.known.by_op && layout.local_shape(tensor.shape, grid).is_none() {
            return None;
        }
        let local = self.known.tile(&layout, tensor.shape)?;
        Some(Target {
            root,
            op,
            shape: tensor.shape,
            layout,
            local,
            at_boundary: at_boundary && self.known.by_op,
        })
    }

    /// Makes a result anew from what it is made of.
    fn assemble(&mut self, target: &Target<'c, 'a>) -> Option<(Value<'c, 'a>, u64)> {
        let mut moves = Moves::new(&self.known, &mut self.splats);
        let pieces = moves.of_op(target.op)?;
        let Moves { inputs, fills, .. } = moves;
        let locals = self.locals(&inputs)?;
        let classes = self.classes(&pieces, target, |source| match source {
            Source::Input(input) => (&inputs[input].1, &locals[input]),
            Source::Version(_) => (&target.layout, &target.local),
        })?;
        if !self.is_worth_it(&classes, &pieces, &inputs, target)
            && !self.is_worth_filling(&classes, &pieces, target)
        {
            return None;
        }
        let location = location_of(&[target.op, target.root]).unwrap_or(target.op.location());
        let element = ir::element_of(target.root.result(0).ok()?.r#type());
        let exprs: Vec<_> = pieces.iter().map(|(_, expr)| expr).collect();
        self.build.set_insertion_point_before(target.op);
        let scalars: Vec<_> = fills.iter().map(|fill| fill.materialize(&self.build, location)).collect();
        let taken = inputs;
        let (inputs, made) = self.even(&taken, &scalars, location)?;
        let ty = Tensor::get(target.shape, element, None);
        let is_filled = classes.iter().all(|class| class.reads.is_empty()) || is_fill_of_computed(target);
        let is_stored = !is_filled && is_computed_on_shared(target.op.result(0).ok()?.into());
        let mut body = Body::open(
            &self.build,
            &self.known.mesh,
            target.op,
            location,
            &inputs,
            &scalars,
            (ty, &target.layout),
            exprs,
            &mut self.channel,
        )?;
        body.may_slide = self.known.by_op;
        body.is_uneven |= taken.iter().zip(&inputs).any(|((taken, _), (even, _))| taken != even);
        let scalars = made;
        let held: i64 = target.local.iter().product();
        let value = body.assemble(&classes, &target.local, is_stored);
        // What one exchange brings is as wide as the widest part.
        let most = if body.is_uneven { 2 * held } else { held };
        let Some(value) = value.filter(|_| body.received <= most) else {
            body.abandon();
            self.sweep(&scalars);
            return None;
        };
        let exchanges = body.exchanges;
        let whole = body.close(value);
        let result = self.trimmed(whole, target, location);
        self.sweep(&scalars);
        Some((result, exchanges))
    }

    /// What a computation takes, with parts that come out even; and all that was made for it.
    fn even(
        &mut self,
        inputs: &[(Value<'c, 'a>, Layout)],
        scalars: &[Value<'c, 'a>],
        location: Location<'c>,
    ) -> Option<(Inputs<'c, 'a>, Vec<Value<'c, 'a>>)> {
        let mut made = scalars.to_vec();
        let mut even = Vec::with_capacity(inputs.len());
        for input in inputs {
            let value = uneven::padded(&self.build, &self.known, input, &mut made, location)?;
            self.known.set(value, input.1.clone());
            even.push((value, input.1.clone()));
        }
        self.fresh.extend(made.iter().filter_map(|value| defining_op(*value)).map(ir::op_key));
        Some((even, made))
    }

    /// The result of a computation without what is beyond its ends.
    fn trimmed(
        &mut self,
        whole: Value<'c, 'a>,
        target: &Target<'c, 'a>,
        location: Location<'c>,
    ) -> Value<'c, 'a> {
        if ffi::shape(whole.r#type()) == Some(target.shape) {
            return whole;
        }
        self.known.set(whole, target.layout.clone());
        let ty = Tensor::get(target.shape, ir::element_of(whole.r#type()), None);
        self.build.set_insertion_point_before(target.op);
        let left = uneven::trimmed(&self.build, &self.known.mesh, (whole, &target.layout), ty, location);
        self.fresh.extend(defining_op(left).map(ir::op_key));
        left
    }

    /// Updates an array that is there in place.
    fn chain(&mut self, target: &Target<'c, 'a>) -> Option<(Value<'c, 'a>, u64)> {
        let (mut ops, free) = self.links(target);
        // Whatever becomes of them, they are not looked at again.
        self.done.extend(ops.iter().take(free.max(1)).map(|(op, _)| ir::op_key(*op)));
        let mut moves = Moves::new(&self.known, &mut self.splats);
        let count = ops.len();
        ops.reverse();
        // Which version each value of the chain is; the first one is what is under all of it.
        for (version, (op, _)) in ops.iter().enumerate() {
            let mut value = op.operands().next()?;
            loop {
                moves.versions.insert(ir::key(value), version);
                match defining_op(value).filter(|op| op_name(*op) == "sdy.sharding_constraint") {
                    Some(op) if version > 0 => value = op.operands().next()?,
                    _ => break,
                }
            }
        }
        let mut updates: Vec<Update<'c, 'a>> = Vec::with_capacity(free);
        for (op, starts) in ops.iter().rev().take(free) {
            moves.rest();
            let Some(pieces) = moves.of_update(update_of(*op)?, starts) else { break };
            updates.push(Update { op: *op, pieces });
        }
        updates.reverse();
        // What could not be taken apart together may be by itself.
        for (op, _) in ops.iter().rev().take(free).skip(updates.len().max(1)) {
            self.done.remove(&ir::op_key(*op));
        }
        let skipped = count - updates.len();
        let first = updates.first()?;
        let base = first.op.operands().next()?;

        let Moves { mut inputs, fills, .. } = moves;
        // Versions from before the first update: where the base holds the same, it is read, else they are values from
        // outside.
        let windows: Vec<Box_> = ops
            .iter()
            .map(|(op, starts)| {
                let sizes = plain(update_of(*op)?)?.shape;
                Some(starts.iter().zip(sizes).map(|(start, size)| (*start, start + size)).collect())
            })
            .collect::<Option<_>>()?;
        let mut renumbered = FxHashMap::default();
        for update in &mut updates {
            for (window, expr) in &mut update.pieces {
                expr.for_each_read(&mut |source, index| {
                    let Source::Version(version) = *source else { return };
                    let since = windows.get(version..skipped).unwrap_or_default();
                    *source = if since.iter().all(|written| !meets(window, index, written)) {
                        Source::Version(version.saturating_sub(skipped))
                    } else {
                        let input = *renumbered.entry(version).or_insert_with(|| {
                            inputs
                                .push((ops[version].0.operand(0).expect("an update"), target.layout.clone()));
                            inputs.len() - 1
                        });
                        Source::Input(input)
                    };
                });
            }
        }
        let base_input = inputs.len();
        inputs.push((base, target.layout.clone()));
        let locals = self.locals(&inputs)?;
        let mut steps = Vec::with_capacity(updates.len());
        for update in &updates {
            steps.push(self.classes(&update.pieces, target, |source| match source {
                Source::Input(input) => (&inputs[input].1, &locals[input]),
                Source::Version(_) => (&target.layout, &target.local),
            })?);
        }
        let is_worth = |(update, classes): (&Update<'c, 'a>, &Vec<Class>)| {
            self.is_worth_it(classes, &update.pieces, &inputs, target)
        };
        if !updates.iter().zip(&steps).any(is_worth) {
            return None;
        }
        if is_read_on(target.root)
            && updates.iter().zip(&steps).any(|(update, classes)| self.is_row_of_few(update, classes))
        {
            return None;
        }
        let location = location_of(&[target.op, target.root]).unwrap_or(target.op.location());
        let ty = base.r#type();
        // Back ends that widen bfloat16 update it in place only where they select, which devices that differ do.
        let devices = self.known.mesh.grid.devices();
        let is_kept = free < count
            || skipped > 0
            || [target.root, target.op]
                .iter()
                .any(|op| op.results().any(|result| users(result.into()).nth(1).is_some()));
        let alike = || steps.iter().flatten().any(|class| class.devices.count() == devices);
        if ir::element_of(ty).is_bf16() && (is_kept || alike()) {
            return None;
        }
        let mut exprs = Vec::new();
        for (update, classes) in updates.iter().zip(&mut steps) {
            // Pieces of all updates are in one list.
            let offset = exprs.len();
            exprs.extend(update.pieces.iter().map(|(_, expr)| expr));
            classes.iter_mut().for_each(|class| class.piece += offset);
        }
        self.build.set_insertion_point_before(target.op);
        let scalars: Vec<_> = fills.iter().map(|fill| fill.materialize(&self.build, location)).collect();
        let (inputs, made) = self.even(&inputs, &scalars, location)?;
        let mut body = Body::open(
            &self.build,
            &self.known.mesh,
            target.op,
            location,
            &inputs,
            &scalars,
            (ty, &target.layout),
            exprs,
            &mut self.channel,
        )?;
        body.update(base_input);
        let mut value = None;
        for classes in &emit::merged(steps, ty, devices) {
            value = Some(body.write(classes));
        }
        let exchanges = body.exchanges;
        let whole = body.close(value?);
        let result = self.trimmed(whole, target, location);
        self.sweep(&made);
        Some((result, exchanges))
    }

    /// The updates that lead to a target, last to first, with their starts, each laid out like the target; and how many of
    /// them are of no use to anything but the next and what that is made of.
    fn links(&mut self, target: &Target<'c, 'a>) -> (Vec<Link<'c, 'a>>, usize) {
        // How far it is looked beyond those that can be made, for what they read.
        const FURTHER: usize = 16;
        const LONGEST: usize = 512;
        let mut links: Vec<Link<'c, 'a>> = Vec::new();
        let mut free: Option<usize> = None;
        let mut inside: FxHashSet<usize> = FxHashSet::default();
        let mut next = Some(target.op);
        while let Some(op) =
            next.filter(|op| links.len() < LONGEST && is_bare(*op) && op.block() == target.op.block())
        {
            let (Some(starts), Ok(base)) = (starts_of(op), op.operand(0)) else { break };
            if self.known.layout(base) != Some(&target.layout)
                || free.is_some_and(|free| links.len() >= free + FURTHER)
            {
                break;
            }
            if free.is_none() {
                let mut moves = Moves::new(&self.known, &mut self.splats);
                if update_of(op).and_then(|update| moves.of_update(update, &starts)).is_none() {
                    free = Some(links.len());
                }
            }
            links.push((op, starts));
            inside.insert(ir::op_key(op));
            // Through constraints that ask for nothing new.
            let mut value = base;
            next = loop {
                let Some(op) = defining_op(value) else { break None };
                match op_name(op) {
                    _ if is_update(op) => break Some(op),
                    "sdy.sharding_constraint" if self.known.layout(value) == Some(&target.layout) => {
                        inside.insert(ir::op_key(op));
                        match op.operand(0) {
                            Ok(operand) => value = operand,
                            Err(_) => break None,
                        }
                    }
                    _ => break None,
                }
            };
            // A version that is needed for something else has to stay.
            let last = links.len();
            if free.is_none() && !self.is_internal(base, value, &mut inside) {
                free = Some(last);
            }
        }
        let free = free.unwrap_or(links.len());
        (links, free)
    }

    /// Whether all that `top`, `bottom` and the constraints between them are used for goes into ops that are `inside`.
    /// Finds out by following moves and elementwise ops for a fixed number of steps.
    fn is_internal(&self, top: Value<'c, 'a>, bottom: Value<'c, 'a>, inside: &mut FxHashSet<usize>) -> bool {
        const STEPS: usize = 64;
        let mut found: Vec<OperationRef<'c, 'a>> = Vec::new();
        let mut value = top;
        let mut pending = vec![top];
        while value != bottom {
            let Some(Ok(operand)) = defining_op(value).map(|op| op.operand(0)) else { return false };
            value = operand;
            pending.push(value);
        }
        for _ in 0..STEPS {
            let Some(value) = pending.pop() else {
                inside.extend(found.iter().map(|op| ir::op_key(*op)));
                return true;
            };
            for user in users(value).take(STEPS) {
                if inside.contains(&ir::op_key(user)) || found.contains(&user) {
                    continue;
                }
                if !self.is_seen_through(user) || found.len() >= STEPS {
                    return false;
                }
                found.push(user);
                pending.extend(user.results().map(Value::from));
            }
            if users(value).nth(STEPS).is_some() {
                return false;
            }
        }
        false
    }

    /// Whether reading what `user` makes is reading what it is made of.
    fn is_seen_through(&self, user: OperationRef<'c, 'a>) -> bool {
        let name = op_name(user);
        if !is_bare(user) || is_update(user) {
            return false;
        }
        // Anything else whose layout is known is read as it is.
        is_move(user)
            || (matches!(name, "stablehlo.broadcast_in_dim" | "stablehlo.reshape" | "stablehlo.transpose")
                || moves::is_elementwise(user))
                && user.results().all(|result| self.known.layout(result.into()).is_none())
    }

    fn locals(&self, inputs: &[(Value<'c, 'a>, Layout)]) -> Option<Vec<Vec<i64>>> {
        inputs.iter().map(|(value, layout)| self.known.tile(layout, plain(*value)?.shape)).collect()
    }

    fn classes<'l>(
        &self,
        pieces: &[Piece<'c, 'a>],
        target: &Target<'c, 'a>,
        layouts: impl Fn(Source) -> (&'l Layout, &'l Vec<i64>),
    ) -> Option<Vec<Class>> {
        let layouts = |source| {
            let (layout, tile) = layouts(source);
            (layout, tile.as_slice())
        };
        let grid = &self.known.mesh.grid;
        let made = Made { shape: target.shape, layout: &target.layout, tile: &target.local };
        let classes = classes(pieces, made, grid, layouts, CLASSES)?;
        let can = classes.iter().flat_map(|class| &class.reads).all(|read| read.rounds().is_some());
        can.then_some(classes)
    }

    /// Whether an update repeats one index along a dimension on some devices only: a partitioner sends such a row with a
    /// cheap reduction over all devices, and it needs no array gathered.
    fn is_row_of_few(&self, update: &Update<'c, 'a>, classes: &[Class]) -> bool {
        let devices = self.known.mesh.grid.devices();
        // Scatters are gathered whole.
        op_name(update.op) == "stablehlo.dynamic_update_slice"
            && classes.iter().any(|class| {
                let mut expr = update.pieces[class.piece].1.clone();
                let mut is_row = false;
                expr.for_each_read(&mut |_, index| {
                    is_row |= index.iter().any(|at| matches!(at, Index::At(_)));
                });
                is_row && class.devices.count() < devices
            })
    }

    /// Whether devices differ in what they do with what they have, or have to talk.
    fn is_worth_it(
        &self,
        classes: &[Class],
        pieces: &[Piece<'c, 'a>],
        inputs: &[(Value<'c, 'a>, Layout)],
        target: &Target<'c, 'a>,
    ) -> bool {
        let devices = self.known.mesh.grid.devices();
        let mut reads = classes.iter().flat_map(|class| &class.reads);
        // What partitioners replicate they may find another way to.
        let is_near =
            |(value, layout): &(Value<'c, 'a>, Layout)| *layout == target.layout || value.is_block_argument();
        target.at_boundary
            || reads.any(|read| !read.is_local())
            || (!self.known.by_op || !self.is_of_each(target, pieces) && inputs.iter().all(is_near))
                && classes.iter().any(|class| {
                    let is_filled = self.known.by_op && is_update(target.op);
                    (is_filled || !class.reads.is_empty()) && class.devices.count() < devices
                })
    }

    /// Whether an op other than an update moves nothing along dimensions that are cut, but for what it adds or leaves away at an array's
    /// ends: partitioners do that on each device, in whatever reads the result.
    fn is_of_each(&self, target: &Target<'c, 'a>, pieces: &[Piece<'c, 'a>]) -> bool {
        let stays = |index: &[Index], dim: usize| index.contains(&Index::Plus { dim, offset: 0 });
        let cut: Vec<usize> =
            (0..target.shape.len()).filter(|&dim| !target.layout.0[dim].is_empty()).collect();
        !is_update(target.op)
            && pieces.iter().all(|(_, expr)| {
                let mut reads = Vec::new();
                expr.reads(&mut reads);
                reads.iter().all(|(_, index)| cut.iter().all(|&dim| stays(index, dim)))
            })
    }

    /// Whether devices differ in what they fill with scalars, and all of what that is joined with comes into one computation with it.
    fn is_worth_filling(
        &mut self,
        classes: &[Class],
        pieces: &[Piece<'c, 'a>],
        target: &Target<'c, 'a>,
    ) -> bool {
        let devices = self.known.mesh.grid.devices();
        !(self.known.by_op && self.is_of_each(target, pieces))
            && classes.iter().any(|class| class.devices.count() < devices)
            && self.is_joined_with_made(target)
    }

    /// Whether the moves that a result is joined with, element by element, are made here as well. If one is left to the partitioner
    /// (the padded sum of an edge's halo), a computation would end before it, and what one kernel computed would be stored.
    fn is_joined_with_made(&mut self, target: &Target<'c, 'a>) -> bool {
        let Ok(result) = target.root.result(0) else { return false };
        if is_narrow(result.into()) {
            return false;
        }
        let mut is_made = |operand: Value<'c, 'a>| {
            let Some(op) = defining_op(unconstrained(operand)).filter(|op| is_move(*op)) else { return true };
            let mut moves = Moves::new(&self.known, &mut self.splats);
            moves.of_op(op).is_some()
                && moves.inputs.iter().all(|(input, _)| self.known.layout(*input).is_some())
        };
        users(result.into()).all(|user| !moves::is_elementwise(user) || user.operands().all(&mut is_made))
    }

    /// Lays what an op makes out like what it is made of, if all that reads it is laid out like that as well: what it says of itself would
    /// only have it gathered and cut again.
    fn agree(&mut self, root: OperationRef<'c, 'a>) {
        walk(root, |op| {
            if op_name(op) == "sdy.manual_computation" {
                return WalkResult::Skip;
            }
            if let Some((value, layout)) = self.like_neighbours(op)
                && uneven::annotate(&self.build, &self.known.mesh, value, &layout).is_some()
            {
                self.known.set(value, layout);
                self.changed = true;
            }
            WalkResult::Advance
        });
    }

    /// The result of an op that says another layout than all around it, and that layout.
    fn like_neighbours(&self, op: OperationRef<'c, 'a>) -> Option<(Value<'c, 'a>, Layout)> {
        let result =
            ir::first_result(op).filter(|_| is_bare(op) && (is_move(op) || moves::is_elementwise(op)))?;
        let layout = self.known.layout(op.operands().next()?)?;
        let own = self.known.layout(result).filter(|own| *own != layout && own.0.len() == layout.0.len())?;
        let agrees = |user: OperationRef<'c, 'a>| {
            (is_move(user) || moves::is_elementwise(user))
                && ir::first_result(user).is_some_and(|result| self.known.layout(result) == Some(layout))
        };
        let all = op_name(op) != "sdy.sharding_constraint" && !is_unused(op) && users(result).all(agrees);
        // Only what is less cut: more of it would have to be sent otherwise.
        let parts = |layout: &Layout| -> i64 {
            layout.0.iter().map(|axes| self.known.mesh.grid.parts(axes)).product()
        };
        (all && parts(own) <= parts(layout)).then(|| (result, layout.clone()))
    }

    /// Takes back pads of what is cut off, and cuts off as late as can be: what is between computations then has even parts, too.
    fn settle(&mut self, root: OperationRef<'c, 'a>) {
        let mut ops = Vec::new();
        walk(root, |op| match op_name(op) {
            "sdy.manual_computation" => WalkResult::Skip,
            _ => {
                ops.push(op);
                WalkResult::Advance
            }
        });
        let mut trims = Vec::new();
        for op in ops {
            let is_pad = op_name(op) == "stablehlo.pad" && self.fresh.contains(&ir::op_key(op));
            let (Some(operand), Some(result)) = (op.operands().next(), ir::first_result(op)) else {
                continue;
            };
            if is_pad {
                let whole = uneven::trimmed_from(operand).filter(|whole| {
                    whole.r#type() == result.r#type()
                        && self.known.layout(*whole) == self.known.layout(result)
                });
                let Some(whole) = whole else { continue };
                trims.extend(defining_op(operand));
                trims.extend(op.operands().nth(1).and_then(defining_op));
                self.build.replace_all_uses_with(result, whole);
            } else {
                let made = uneven::computed_whole(&self.build, &self.known, op);
                let Some((whole, left, layout)) = made else { continue };
                let cut = op.operands().filter_map(|operand| {
                    defining_op(operand).filter(|_| uneven::trimmed_from(operand).is_some())
                });
                trims.extend(cut);
                self.fresh.extend(defining_op(left).map(ir::op_key));
                self.known.set(whole, layout.clone());
                self.known.set(left, layout);
                self.build.replace_all_uses_with(result, left);
                self.changed = true;
            }
            self.fresh.remove(&ir::op_key(op));
            self.build.erase(op);
        }
        for op in trims {
            // Several may have read one.
            if self.fresh.contains(&ir::op_key(op)) && is_unused(op) {
                self.fresh.remove(&ir::op_key(op));
                self.build.erase(op);
            }
        }
    }

    /// Erases scalars that were made in vain.
    fn sweep(&mut self, scalars: &[Value<'c, 'a>]) {
        // Some go with others: whether one is there still is asked by its address.
        let ops: Vec<_> = scalars.iter().filter_map(|scalar| defining_op(*scalar)).collect();
        for op in ops {
            if self.fresh.contains(&ir::op_key(op)) && is_unused(op) {
                self.erase(op);
            }
        }
    }

    /// Erases an unused op, and what was made only for it.
    fn erase(&mut self, op: OperationRef<'c, 'a>) {
        let mut pending = vec![op];
        while let Some(op) = pending.pop() {
            let producers: Vec<_> = op.operands().filter_map(defining_op).collect();
            for result in op.results() {
                self.splats.forget(result.into());
                self.known.forget(result.into());
            }
            self.gone.insert(ir::op_key(op));
            self.fresh.remove(&ir::op_key(op));
            self.build.erase(op);
            for producer in producers {
                let name = op_name(producer);
                let removable =
                    class::is_fusible(name) || is_move(producer) || name == "sdy.sharding_constraint";
                if removable && is_unused(producer) && !pending.contains(&producer) {
                    pending.push(producer);
                }
            }
        }
    }
}

/// Makes constants of the `sdy` dialect, which are others' but for their name, ordinary ones; says whether there are any.
fn with_plain_constants<'c: 'a, 'a>(root: OperationRef<'c, 'a>) -> bool {
    let constants = ops_named(root, "sdy.constant");
    let build = Builder::new(root);
    for op in &constants {
        let (Some(result), Some(value)) = (ir::first_result(*op), ffi::attribute_of(*op, "value")) else {
            continue;
        };
        build.set_insertion_point_before(*op);
        let value =
            build.insert("stablehlo.constant", &[], &[("value", value)], result.r#type(), op.location());
        if let Some(made) = defining_op(value) {
            carry_attributes(*op, made, &[]);
        }
        build.replace_all_uses_with(result, value);
        build.erase(*op);
    }
    !constants.is_empty()
}

/// Whether an update writes most of an array, of what is computed element by element: a stencil on all but the edges.
fn is_computed_anew(target: &Target<'_, '_>) -> bool {
    let Some(update) = update_of(target.op) else { return false };
    let Some(tensor) = plain(update) else { return false };
    let (all, some): (i64, i64) = (target.shape.iter().product(), tensor.shape.iter().product());
    some > all / 2 && defining_op(update).is_some_and(moves::is_elementwise)
}

/// Whether an update puts a scalar into what is computed element by element: the edges of a gradient that goes back through a fill of
/// halos. A select does it in the kernel that computes the rest, where an update would want all of it stored.
fn is_fill_of_computed(target: &Target<'_, '_>) -> bool {
    let Some(update) = update_of(target.op).filter(|update| !is_narrow(*update)) else { return false };
    let base = target.op.operands().next().map(bottom);
    Splat::of(update).is_some() && base.and_then(defining_op).is_some_and(moves::is_elementwise)
}

/// The value under a chain of updates and constraints.
fn bottom<'c: 'a, 'a>(mut value: Value<'c, 'a>) -> Value<'c, 'a> {
    const LONGEST: usize = 4096;
    for _ in 0..LONGEST {
        value = unconstrained(value);
        match defining_op(value).filter(|op| is_update(*op)) {
            Some(op) => match op.operand(0) {
                Ok(operand) => value = operand,
                Err(_) => break,
            },
            None => break,
        }
    }
    value
}

/// Whether what `op` makes is needed for something other than to be returned.
fn is_read_on<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> bool {
    op.results().any(|result| users(result.into()).any(|user| !op_name(user).ends_with(".return")))
}

/// Whether what a box of the result reads meets a box of the array it is read from.
fn meets(window: &Box_, index: &[Index], other: &Box_) -> bool {
    index.iter().zip(other).all(|(at, (low, high))| {
        let (from, to) = at.dim().map_or((0, 1), |dim| window[dim]);
        let lowest = at.lowest(from, to);
        lowest < *high && *low < lowest + (to - from)
    })
}
