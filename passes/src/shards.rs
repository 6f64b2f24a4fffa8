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
//! itself, in place. What a device gets beside all that it needs of its own is joined to it, as partitioners do: of pads that are
//! chosen from, XLA for CPU stores each.
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
//! Rows that are repeated are moved first, where devices differ in where they go, and repeated then: in less memory. What is read
//! twice at one distance is one array.
//!
//! A part that a device moves over itself is moved in up to four parts that it does not meet, in the order that leaves
//! none overwritten too early; if that would be more, or the array need not be stored, it is chosen by place. What a
//! loop carries is updated, too, where parts are then taken of what is computed of it. A part
//! that would be more to have at once, sent and received, than what a partitioner has for the same update is sent in as
//! many as it takes, each put where it belongs before the next.
//!
//! An array whose layout nobody says is laid out like the array of its size that it is joined from, or whose parts are joined to it,
//! or as a manual computation takes it; where nobody but functions says how anything is laid out, the inside of a field around which
//! halos are joined is laid out like the field, if it comes out even. A slice whose layout is only inferred so is left to the partitioner.
//! What several ops read is exchanged once: they read it as it then is, where a single reader looks through to what it is made of. So is a
//! pad of what is computed, or a slice of it that begins elsewhere, where ops say their layouts: a stencil of a stencil of a stencil is
//! three computations, not one that computes the first for each part of the last.
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
//! An update of which parts are of more widths than there are steps for is made of tables, too, and not in place then. One of an array's inside,
//! whose parts come out even, is one update in another corner of each shard; one of levels that are computed one by one and joined
//! puts what they are joined to.
//!
//! In such modules a scalar that is put across borders is chosen by place, nothing exchanged. What is only computed for
//! one reader, of one array, is computed there, from what that array's neighbours send, also where ops in between say
//! nothing of their layouts: several slices of a field are one exchange in each direction. An op that says another layout
//! than what it is made of and all that reads it is laid out like them. `sdy.constant` becomes an ordinary constant. A slice
//! of a padded array that takes nothing of what was padded is one of the array; so is one of joined arrays that takes just of one of them, if that is asked for: it is more or less that is sent then, and
//! the pipeline tries both. A loop carries an array with what is beyond its ends
//! (`shards/loops.rs`). A scalar that is put only beyond the ends of what is updated in place (the last pad of a
//! program that takes and gives even arrays) is one more update of it, also where dimensions change places or some of
//! one element come or go in between. At the program's boundary, where parts must be even, a result is made as it has
//! to be there, if no more is to be sent for that than a device holds. An op that says nothing of its layout is laid
//! out like what it is made of, and one of which the program gives away less than the op would have devices make is laid out
//! as it is given.
//!
//! Leaves of an expression that read one array at several distances share what it is joined to where several read the
//! result; where one kernel does, each joins a part of its own, for back ends store what several leaves share.
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
//! * What a partitioner does with no more exchanges of no more elements, where ops say how they are laid out
//!   (`shards/partitioner.rs`), and where it sends nothing, but for updates of what the program takes that have a
//!   constant beyond their ends; what would have more stored at once, sent and received, than it has, if that is a good part of a tile. A slice alone has to send less, or less often: most are part of what is left alone.
//! * What is left unreduced: devices have sums of it that are added up later, by whoever asks for that, and what is done with it
//!   before is done with less, or with more, but is never to be added up twice.
//! * Layouts that are not known or open, or do not come out even where ops do not say so themselves; meshes
//!   that do not count up, or are not what the module is partitioned for; shardings in `mhlo.sharding`, which the default pipeline reads
//!   as those of `sdy` first (`gspmd.rs`).
//! * What is assembled would be received in more elements than a device holds of the result: a slice that leaves shards
//!   of another size moves every border, and takes a part from each neighbour in turn.
//! * A result that every device needs whole from one, on a large mesh; more classes than a few, but where places are looked up by device.
//!   What a dimension cut differently needs is a collective of its own.
//! * Ops with discardable attributes other than `sdy.sharding`, dynamic shapes, quantized types, strides and interior padding.
//! * Chains of `dynamic_update_slice` that repeat one row of a cut dimension (an edge's halo), if the array is then read: a partitioner
//!   sends one row by an all-reduce, which also keeps several fields apart in time. Without it XLA CPU has all of them
//!   filled before the first stencil, and each update that a stencil computes again keeps a copy of its field.
//! * What is inside a manual computation already.
//! * Where each op says how it is laid out: ops that move nothing along what is cut, but add or leave away something at an array's ends; slices
//!   of a concatenation that is left alone (partitioners know a rotation by them); what is made of what an op had replicated.

mod assemble;
mod calls;
mod chain;
mod classes;
pub(crate) mod emit;
mod layout;
mod loops;
mod manual;
mod mesh;
mod moves;
mod ones;
mod partitioner;
mod settle;
mod share;
mod uneven;
mod worth;

use crate::framework::{Anchor, Changed, Pass, PassContext, PassResult, Statistic};
use crate::ir::{self, Builder};
use crate::ops::class;
use crate::rewrite::{defining_op, has_one_use, is_unused, walk};
use crate::splat::{Splat, Splats};
pub(crate) use calls::laid_out_alike;
pub(crate) use emit::next_channel;
pub(crate) use layout::Known;
pub use layout::partitions;
pub(crate) use layout::{
    is_entry, is_manual_throughout, is_partitioned, is_zero_bits, of_one_partition, only_returned,
    shardings_at, taken,
};
pub(crate) use manual::{
    all_gather, all_reduce, collective_permute, constant_on_shards, counted, looked_up, manual_computation,
    partition_id,
};
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{OperationRef, Value, ValueLike};
pub(crate) use mesh::{Layout, Mesh, parts_in};
use moves::{Moves, Piece, is_bare, is_move, is_update, plain, unconstrained};
pub(crate) use ones::without_ones;
pub(crate) use partitioner::rotation;
pub use partitioner::{Traffic, traffic};
use rustc_hash::FxHashSet;
pub(crate) use settle::has_slices_of_joined;
use settle::{with_pads_behind_updates, with_plain_constants, with_slices_of_parts};
pub(crate) use share::share_exchanges;
use slimhlo_dialect::ffi::op_name;
pub(crate) use uneven::is_trim;
use worth::{is_computed_anew, is_fill_of_computed};

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
    pub struct ExchangeShards {
        /// Read slices of one of several joined arrays from that, where arrays are joined for nothing but slices.
        pub slices_of_joined: bool = false,
    }
}

const COMPUTATIONS: Statistic = Statistic::new(c"num-computations", c"manual computations made");
const EXCHANGES: Statistic = Statistic::new(c"num-exchanges", c"exchanges between devices in them");

/// Of how many classes a value may be made where each is a step of its own.
const CLASSES: usize = 16;
/// Of how many for each device where places are looked up: its own part, what comes from both sides, and a part from elsewhere.
const PER_DEVICE: usize = 4;

impl Pass for ExchangeShards {
    const ARGUMENT: &'static str = "slimhlo-exchange-shards";
    const ANCHOR: Anchor = Anchor::Module;
    const STATISTICS: &'static [Statistic] = &[COMPUTATIONS, EXCHANGES];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        let Some(partitions) = partitions(root).filter(|&partitions| partitions > 1) else {
            return Ok(Changed::No);
        };
        let plain = with_plain_constants(root);
        let Some(mut known) = Known::new(root, partitions) else { return Ok(Changed::from(plain)) };
        let moved = known.by_op && with_pads_behind_updates(root, &mut known);
        let taken = known.by_op && with_slices_of_parts(root, &mut known, self.slices_of_joined);
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
            changed: plain || moved || taken,
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
    /// The scalar that is put beyond the ends of what the move makes: the root pads it to what comes out even.
    beyond: Option<Splat<'c, 'a>>,
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
            let to_end = self.to_end(&target);
            for target in to_end.into_iter().chain([target]) {
                if let Some((value, exchanges)) = self.replacement(&target) {
                    self.replace(&target, value, exchanges);
                    return;
                }
            }
        }
        // Partitioners know a rotation by its slices.
        if self.known.by_op && op_name(op) == "stablehlo.concatenate" {
            let parts = op.operands().filter(|part| has_one_use(*part)).filter_map(defining_op);
            // A part that is joined itself may be a rotation.
            let known = parts.filter(|part| op_name(*part) != "stablehlo.concatenate");
            self.done.extend(known.map(ir::op_key));
        }
    }

    /// The result of a target made by a computation, and its exchanges.
    fn replacement(&mut self, target: &Target<'c, 'a>) -> Option<(Value<'c, 'a>, u64)> {
        let is_chain = is_update(target.op) && {
            let base = target.op.operands().next();
            let mut moves = Moves::new(&self.known, &mut self.splats);
            !base.is_some_and(|base| moves.is_splat(bottom(base)))
        };
        if target.beyond.is_some() {
            let is_put = is_chain && !is_fill_of_computed(target) && !is_computed_anew(target);
            return is_put.then(|| self.chain(target)).flatten();
        }
        // What is too much to be assembled is put into the splat piece by piece.
        match (is_chain, is_update(target.op)) {
            (true, _) if is_fill_of_computed(target) && self.is_joined_with_made(target) => {
                self.assemble(target)
            }
            (true, _) if is_computed_anew(target) => self.assemble(target).or_else(|| self.chain(target)),
            // Parts of more widths than there are steps for come from tables.
            (true, _) if self.known.by_op => self.chain(target).or_else(|| self.assemble(target)),
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
            let is_other = |layout: &Layout| *layout != target.layout || operand.r#type() != value.r#type();
            if self.known.layout(operand).is_some_and(is_other) {
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
        // A partitioner makes a slice of an array's inside of what neighbours send.
        if op_name(op) == "stablehlo.slice" && self.known.is_inferred(result) {
            return None;
        }
        // What constraints between the two ask for is lost.
        let is_partial = |value| self.known.is_partial(value);
        let mut between = Some(root);
        while let Some(constraint) = between.filter(|between| *between != op) {
            between = constraint.operands().find(|value| !is_partial(*value)).and_then(defining_op);
        }
        (between.is_some() && !is_partial(result)).then_some(())?;
        let grid = &self.known.mesh.grid;
        let mut layout = self.known.layout(result)?.clone();
        let is_returned = only_returned(result);
        if at_boundary {
            let even = layout.at_boundary(tensor.shape, &self.known.mesh).filter(|_| is_returned)?;
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
            beyond: None,
        })
    }

    /// Of a pad that only puts a constant beyond the ends of an array that is updated in place: the array and the pad as
    /// one, for the constant is then put there in place as well. A back end would choose it in a kernel that writes all of
    /// the array anew.
    fn to_end(&self, target: &Target<'c, 'a>) -> Option<Target<'c, 'a>> {
        let pad = target.op;
        (self.known.by_op && op_name(pad) == "stablehlo.pad").then_some(())?;
        let mut operands = pad.operands();
        let (array, scalar) = (operands.next()?, operands.next()?);
        let beyond = Splat::of(scalar).filter(Splat::is_constant)?;
        let is_none =
            |name: &str| ir::i64_array(pad, name).is_some_and(|sizes| sizes.iter().all(|&s| s == 0));
        let op =
            defining_op(array).filter(|op| is_update(*op) && is_bare(*op) && op.block() == pad.block())?;
        let shape = plain(array)?.shape;
        let is_same_tile = self.known.layout(array) == Some(&target.layout)
            && self.known.tile(&target.layout, shape).as_ref() == Some(&target.local);
        let is_end = is_none("edge_padding_low") && is_none("interior_padding") && is_same_tile;
        (is_end && has_one_use(array)).then(|| Target {
            op,
            shape,
            layout: target.layout.clone(),
            local: target.local.clone(),
            beyond: Some(beyond),
            ..*target
        })
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
