// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-slabs`: fields that are computed from fields of neighbouring places, in several stages, are computed a slab at a time.
//!
//! # What it matches
//!
//! Large results of a function or of a loop's body that slices, pads, concatenations (`jnp.roll`) and elementwise ops make of
//! fields, where back ends store what is between: right-hand sides of Runge-Kutta stages, fluxes and limiters, Laplacians of
//! Laplacians. And large results that take the place of a field (of a donated argument, of what a loop carries) and are made of
//! neighbouring places of it, be it in a single stage: explicit time steps, `x.at[1:-1, 1:-1].set(...)`.
//!
//! ```mlir
//! %east = stablehlo.concatenate (the last row of %x), (all others), dim = 0
//! %flux = ... %x, %east                                      // stored: two read it
//! %back = stablehlo.concatenate (all but the first row of %flux), (the first), dim = 0
//! %new = ... %flux, %back
//! ```
//!
//! becomes
//!
//! ```mlir
//! %loop:3 = stablehlo.while(%i = %first, %new = %zeros, %x_ = %x) do {
//!   ...                                                      // the same of rows %i - 1 to %i + 33 of %x_: 32 rows of %new
//!   stablehlo.return %i + 32, (dynamic_update_slice %new, %rows, %i, %c0), %x_
//! }
//! ...                                                        // the same of the rows at both ends, whatever is beyond
//! %new1 = stablehlo.dynamic_update_slice %loop#1, %rows_before, %c0, %c0
//! ```
//!
//! Where the result takes the place of `%x`, the loop overwrites it, and hands on what the next turn finds overwritten:
//!
//! ```mlir
//! %kept = stablehlo.concatenate (row %first - 1 of %x), (%new's rows at both ends), dim = 0
//! %loop:3 = stablehlo.while(%i = %first, %x_ = %x, %kept_ = %kept) do {
//!   %rows = "stablehlo.if"(%goes_on) ({ optimization_barrier of the first row of %kept_, then rows %i to %i + 33 of %x_ }, { zeros })
//!   ...                                                      // the same of %rows: 32 rows of %new
//!   %next = stablehlo.concatenate (row 32 of %rows), (all but the first row of %kept_), dim = 0
//!   stablehlo.return %i + 32, (dynamic_update_slice %x_, %new_rows, %i, %c0), %next
//! }
//! %new1 = stablehlo.dynamic_update_slice %loop#1, (rows of %loop#2), %c0, %c0
//! ```
//!
//! A field that takes the place of another one as it is (leapfrog schemes hand on `(before, now)` as `(now, after)`) is put there in the
//! same loop. So are reductions that need old fields: the loop adds them up, from those of both ends on.
//!
//! # How
//!
//! [`Cone`] finds what the results are made of and nothing else needs, along one dimension. From the results backwards each
//! value is told which rows of it a slab takes: as many as the slab has, and the halo that what follows needs of it ([`Needs`]). What several
//! users need is computed once. Away from the ends the rows of a slab come of one operand of each concatenation and of what a pad or
//! an update is of; so a turn of the loop is the same everywhere. At the ends rows are known at compile time, and each op is done on
//! just the parts it has there.
//!
//! # Why it is right
//!
//! Each element is computed by the same ops from the same elements; elements of the halo more than once. Only the order
//! in which a reduction adds up is the back end's, and may be another one for fewer rows; sums of floats of less than 32 bits are not taken
//! apart. A turn that overwrites rows reads those beyond its slab before their turn comes, and has those before it from the turn before; whatever is at the ends is
//! computed before the loop.
//!
//! # Why it pays, and what it costs
//!
//! A field that is overwritten needs no second one beside it, and no copy. Back ends that update in place store each shifted part of a field
//! that its own update reads: the heat equation takes five fields, and one by slabs. They have to know that all reads of a turn come
//! before it writes, so what a turn reads is held (`hold.rs`: by a barrier, or a branch that is always taken), as in `--slimhlo-inplace-updates`. What is computed around the loop comes before
//! it because the loop carries it, in one value with rows that change: what only passes through would be taken out of the loop again.
//!
//! What is between takes a slab where it took a field, and often stays in caches. What several stages read, and is not made of next to
//! nothing, is held, too: back ends that fuse a stage into all that read it would do it many times over. A slab has at least four times, mostly eight times, as many
//! rows as the halo of all stages together; so arithmetic grows by an eighth or so. Results are written once more (the zeros they start
//! from). Ops of the cone are there three times. A walk over each block per dimension tried and per extent of fields, eight at most,
//! and with `at-peak` the memory model once per function in which there would be loops.
//!
//! # When it must not fire
//!
//! * Nothing would be stored anyway: a single stencil fuses into one kernel, if its result takes no field's place; elementwise steps are
//!   in place.
//! * Single stencils of fields less than four times as large as a slab: they stay in caches, and turns cost microseconds.
//! * Fields that something else reads, or as a whole, are not overwritten, unless the loop waits for it in any case, as for a time step
//!   that follows from the largest velocity; nor those of several element types.
//! * Fields with too few rows for their halo, results of fewer than `min-bytes`.
//! * Results that are updates of small parts, or of what a loop carries and nothing else reads: they are in place.
//! * With `at-peak`: when a function needs most, nothing of what would be computed in slabs is there, by the memory model. Parameters of a
//!   network that are stacked for their update, say: making loops of them, for a pipeline to find that they save nothing, takes it long.
//! * Programs for more than one partition, but inside of manual computations over all axes of the mesh; dynamic shapes, encodings, ops with discardable attributes.

use crate::framework::{Bytes, Changed, Pass, PassContext, PassResult, Statistic};
use crate::inplace_updates::{Place, function_places, loop_places, manual_places};
use crate::ir::{self, Builder, bytes, discardable_attributes, plain};
use crate::memory;
use crate::ops::access;
use crate::ops::loops;
use crate::ops::reducers::{combiner, fresh_identity};
use crate::rewrite::{defining_op, is_unused, ops_in, uses, walk};
use crate::shards::of_one_partition;
use crate::target::{Storage, Target};
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{BlockRef, OperationRef, TypeLike, Value, ValueLike};
use rustc_hash::FxHashSet;
use slimhlo_dialect::ffi::op_name;

mod cone;
mod emit;
mod rows;

use cone::{Cone, Member, Olds, operand_dims};

crate::pass_options! {
    /// Compute fields that are made of neighbouring places of other fields a slab at a time.
    ///
    /// Results that slices, pads, concatenations and elementwise ops make of fields in several stages are computed by a loop over
    /// slabs of their rows, each from the rows of the fields that it needs: what is between the stages takes no more than a slab. Rows
    /// near the ends, where fields wrap around or are padded, are computed by themselves. A result that takes the place of a donated
    /// field, or of one that a loop carries, overwrites it; fields that change places are moved, and what is reduced of old
    /// fields is added up, in the same loop. Every bit is kept, but for the order in which a reduction adds up.
    ///
    /// ```mlir
    /// %flux = ... (rows of %x and of their neighbours)
    /// %new = ... (rows of %flux and of their neighbours)
    /// // becomes
    /// %loop:3 = stablehlo.while(%i = %first, %new = %zeros, %x_ = %x) ...
    /// ```
    pub struct Slabs {
        /// What compiles the module.
        pub target: Target = Target::default(),
        /// How much a slab of one field may take, about.
        pub slab_bytes: Bytes = Bytes(4 << 20),
        /// Smaller results are left alone.
        pub min_bytes: Bytes = Bytes(1 << 20),
        /// Only where something of what would be computed in slabs is there when a function needs most, by the memory model.
        pub at_peak: bool = false,
    }
}

const LOOPS: Statistic = Statistic::new(c"num-loops", c"loops over slabs");

/// A field falls into at least so many slabs.
const SLABS: i64 = 6;
/// Extents of staggered fields differ by no more.
const STAGGER: i64 = 8;
/// Dimensions and extents tried in one block.
const TRIES: usize = 8;

impl Pass for Slabs {
    const ARGUMENT: &'static str = "slimhlo-slabs";
    const STATISTICS: &'static [Statistic] = &[LOOPS];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        let limit = |bytes: Bytes| i64::try_from(bytes.0).unwrap_or(i64::MAX);
        let (slab, least) = (limit(self.slab_bytes), limit(self.min_bytes));
        let sizes = Sizes { slab, least, storage: self.target.storage() };
        let mut blocks = Vec::new();
        let mut find = |op| {
            blocks.extend(match op_name(op) {
                "func.func" => function_places(op),
                "sdy.manual_computation" => manual_places(op),
                // What a loop that may vanish carries is an ordinary value then.
                "stablehlo.while" => loop_places(op).map(|(block, places)| match loops::may_vanish(op) {
                    true => (block, Vec::new()),
                    false => (block, places),
                }),
                _ => None,
            });
            WalkResult::Advance
        };
        for part in of_one_partition(root) {
            walk(part, &mut find);
        }
        let build = Builder::new(root);
        let mut peak = if self.at_peak { Peak::Unknown(root, self.target) } else { Peak::Any };
        let mut loops = 0;
        for (block, mut places) in blocks {
            name_moved(block, &mut places, &build, sizes.least);
            let mut olds = Olds::default();
            for place in places {
                olds.entry(ir::key(place.new)).and_modify(|old| *old = None).or_insert(Some(place.old));
            }
            loops += in_block(block, &olds, &mut peak, &sizes, &build);
            forget_moved(block, &build);
        }
        context.count(&LOOPS, loops as u64);
        Ok(Changed::from(loops > 0))
    }
}

/// What slabs are made of, and for whom.
struct Sizes {
    /// Bytes of a slab of one field, about.
    slab: i64,
    /// Smaller results are left alone.
    least: i64,
    storage: &'static Storage,
}

/// What of a function is there when it needs most.
enum Peak<'c, 'a> {
    /// Of this function; nobody has asked.
    Unknown(OperationRef<'c, 'a>, Target),
    Known(FxHashSet<usize>),
    /// Nobody asks, the model does not know, or ops have been replaced since.
    Any,
}

impl<'c: 'a, 'a> Peak<'c, 'a> {
    /// Whether something of a cone, or the loop that it is in, is there as far as is known: else slabs would lower nothing.
    fn has(&mut self, cone: &Cone<'c, 'a>) -> bool {
        if let Self::Unknown(function, target) = *self {
            *self = memory::alive_at_peak(function, target).map_or(Self::Any, Self::Known);
        }
        let Self::Known(alive) = self else { return true };
        let mut around = std::iter::successors(cone.anchor().parent_operation(), |op| op.parent_operation());
        let mut members = cone.members.iter().map(|member| member.op);
        members.any(|op| alive.contains(&ir::op_key(op))) || around.any(|op| alive.contains(&ir::op_key(op)))
    }
}

/// Gives each field that takes the place of another one as it is, as in a leapfrog scheme where `(before, now)` becomes `(now, after)`, an
/// op that makes it: a slab of it is to be put in its place, too.
fn name_moved<'c: 'a, 'a>(
    block: BlockRef<'c, 'a>,
    places: &mut [Place<'c, 'a>],
    build: &Builder<'c, 'a>,
    min_bytes: i64,
) {
    let (Some(first), Some(end)) = (block.first_operation(), block.terminator()) else { return };
    let fields: FxHashSet<usize> = places.iter().map(|place| ir::key(place.old)).collect();
    build.set_insertion_point_before(first);
    for place in places.iter_mut().filter(|place| place.old != place.new) {
        let field = place.new;
        if !fields.contains(&ir::key(field)) || plain(field).is_none() || bytes(field) < min_bytes {
            continue;
        }
        let mut given_back = (0..end.operand_count()).filter(|&index| end.operand(index) == Ok(field));
        if let (Some(index), None) = (given_back.next(), given_back.next()) {
            place.new = build.reshape(field, field.r#type(), end.location());
            build.set_operand(end, index, place.new);
        }
    }
}

/// Takes these ops away where nothing came of it.
fn forget_moved<'c: 'a, 'a>(block: BlockRef<'c, 'a>, build: &Builder<'c, 'a>) {
    let Some(end) = block.terminator() else { return };
    for (index, value) in end.operands().enumerate() {
        let Some(op) = defining_op(value).filter(|op| op_name(*op) == "stablehlo.reshape") else { continue };
        let Some(field) = op.operands().next().filter(|field| field.r#type() == value.r#type()) else {
            continue;
        };
        build.set_operand(end, index, field);
        if is_unused(op) {
            build.erase(op);
        }
    }
}

/// Makes the loops of a block that pay; says how many.
fn in_block<'c: 'a, 'a>(
    block: BlockRef<'c, 'a>,
    olds: &Olds<'c, 'a>,
    peak: &mut Peak<'c, 'a>,
    sizes: &Sizes,
    build: &Builder<'c, 'a>,
) -> usize {
    let mut loops = 0;
    let mut tried: FxHashSet<(usize, i64)> = FxHashSet::default();
    for _ in 0..TRIES {
        // What is left once loops have been made.
        let mut targets: Vec<Member<'c, 'a>> = Vec::new();
        let mut known = FxHashSet::default();
        let Some(end) = block.terminator() else { break };
        for value in end.operands() {
            let op = defining_op(value).filter(|op| op.block() == Some(block) && op.result_count() == 1);
            if let Some(op) = op.filter(|_| plain(value).is_some() && bytes(value) >= sizes.least)
                && !is_updated_in_place(value)
                && known.insert(ir::key(value))
            {
                targets.push(Member { op, value, dim: 0 });
            }
        }
        let extent = |target: &Member<'c, 'a>, dim: usize| {
            // Rows of the last dimension lie nowhere in one piece.
            plain(target.value)?.shape.split_last()?.1.get(dim).copied()
        };
        let next = (0..4).find_map(|dim| {
            let extents = targets.iter().filter_map(|target| extent(target, dim));
            extents.filter(|&units| units >= SLABS).map(|units| (dim, units)).find(|key| !tried.contains(key))
        });
        let Some((dim, units)) = next else { break };
        tried.insert((dim, units));
        targets.retain(|target| extent(target, dim).is_some_and(|of| (of - units).abs() <= STAGGER));
        targets.iter_mut().for_each(|target| target.dim = dim);
        let mut cones = Cone::all(block, &targets, &[], olds);
        if cones.iter().any(|cone| cone.lacks_olds(olds)) {
            cones = Cone::all(block, &targets, &totals(block, olds, &targets), olds);
        }
        let slabs = cones.into_iter().filter_map(|cone| Some((cone.slabs(sizes.slab)?, cone)));
        let slabs: Vec<_> = slabs.collect();
        if !slabs.iter().any(|(_, cone)| peak.has(cone)) {
            continue;
        }
        for ((slab, low, count), cone) in slabs {
            emit::run(&cone, slab, (low, count), sizes.storage, build);
            *peak = Peak::Any;
            loops += 1;
        }
    }
    loops
}

/// Reductions along the dimension of the targets of what is made of fields that may be overwritten, and not just of targets: a
/// residual, the energy of the field before.
fn totals<'c: 'a, 'a>(
    block: BlockRef<'c, 'a>,
    olds: &Olds<'c, 'a>,
    targets: &[Member<'c, 'a>],
) -> Vec<Member<'c, 'a>> {
    let Some(dim) = targets.first().map(|target| target.dim) else { return Vec::new() };
    let extent = |value: Value<'c, 'a>| plain(value)?.shape.get(dim).copied();
    let made: FxHashSet<usize> = targets.iter().map(|target| ir::key(target.value)).collect();
    let mut of_olds: FxHashSet<usize> = olds.values().flatten().map(|old| ir::key(*old)).collect();
    let mut totals = Vec::new();
    for op in ops_in(block) {
        if op.result_count() != 1 || !op.operands().any(|operand| of_olds.contains(&ir::key(operand))) {
            continue;
        }
        let (Some(result), Some(operand)) = (ir::first_result(op), op.operands().next()) else { continue };
        if op_name(op) == "stablehlo.reduce" {
            let near = extent(operand)
                .zip(extent(targets[0].value))
                .is_some_and(|(of, units)| (of - units).abs() <= STAGGER);
            if near && is_total(op, dim) {
                totals.push(Member { op, value: operand, dim });
            }
        } else if !made.contains(&ir::key(result))
            && extent(result).is_some()
            && operand_dims(op, dim).is_some()
        {
            of_olds.insert(ir::key(result));
        }
    }
    totals
}

/// Whether a reduction along `dim` may be made of those of slabs: it combines in any order, and starts from what changes nothing.
fn is_total(op: OperationRef<'_, '_>, dim: usize) -> bool {
    let along = ir::i64_array(op, "dimensions").is_some_and(|dims| dims.contains(&(dim as i64)));
    let element = ir::first_result(op).map(|result| ir::element_of(result.r#type()));
    let (Some(combine), Some(element), Some(initial)) = (combiner(op), element, op.operands().nth(1)) else {
        return false;
    };
    // A sum of few bits loses more of them the more often it is rounded.
    let rounds = element.is_float() && ir::element_bytes(element).is_none_or(|bytes| bytes < 4);
    let orders = matches!(combine, "stablehlo.maximum" | "stablehlo.minimum");
    op.operand_count() == 2
        && along
        && (orders || !rounds)
        && ir::splat_constant(initial).is_some()
        && access::is_closed(op)
        && discardable_attributes(op).is_empty()
        && fresh_identity(op, combine, element) == Some(None)
}

/// Whether a value is something else but for some updates: of small parts, or of what the block was given and nothing else reads.
fn is_updated_in_place(value: Value<'_, '_>) -> bool {
    let mut current = value;
    let mut small = true;
    while let Some(op) = defining_op(current).filter(|op| op_name(*op) == "stablehlo.dynamic_update_slice") {
        let (Ok(operand), Ok(update)) = (op.operand(0), op.operand(1)) else { return false };
        small &= bytes(update) <= bytes(operand) / 2;
        current = operand;
    }
    current != value && (small || defining_op(current).is_none() && uses(current).nth(1).is_none())
}
