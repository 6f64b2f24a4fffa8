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
//! before it writes, so a branch that is always taken reads, as in `--slimhlo-inplace-updates`. What is computed around the loop comes before
//! it because the loop carries it, in one value with rows that change: what only passes through would be taken out of the loop again.
//!
//! What is between takes a slab where it took a field, and often stays in caches. What several stages read, and is not made of next to
//! nothing, goes through a branch that is always taken: back ends that fuse a stage into all that read it would do it many times over. A slab has at least four times, mostly eight times, as many
//! rows as the halo of all stages together; so arithmetic grows by an eighth or so. Results are written once more (the zeros they start
//! from). Ops of the cone are there three times. A walk over each block per dimension tried and per extent of fields, eight at most;
//! still the slowest pass on a transformer step of many layers.
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
//! * Programs for more than one partition, dynamic shapes, encodings, ops with discardable attributes.

use crate::framework::{Bytes, Changed, Pass, PassContext, PassResult, Statistic};
use crate::inplace_updates::{Place, function_places, loop_places};
use crate::ir::{self, Builder, discardable_attributes};
use crate::memory;
use crate::rewrite::{Use, defining_op, is_unused, uses, walk};
use crate::stream::plan::{self, Along, Source, bytes, is_elementwise, plain};
use crate::stream::{combiner, fresh_identity, is_costly, is_partitioned, turns};
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{BlockRef, OperationRef, TypeLike, Value, ValueLike};
use slimhlo_dialect::ffi::op_name;
use std::collections::{HashMap, HashSet};

mod emit;
mod rows;

use rows::{Inside, Needs, Rows};

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
        /// How much a slab of one field may take, about.
        pub slab_bytes: Bytes = Bytes(4 << 20),
        /// Smaller results are left alone.
        pub min_bytes: Bytes = Bytes(1 << 20),
        /// Only where something of what would be computed in slabs is there when a function needs most, by the memory model.
        pub at_peak: bool = false,
    }
}

const LOOPS: Statistic = Statistic::new(c"num-loops", c"loops over slabs");

/// Slabs have at least so many times as many rows as the halo, mostly ...
const LEAST: i64 = 4;
/// ... so many times.
const WANTED: i64 = 8;
/// A field falls into at least so many slabs.
const SLABS: i64 = 6;
/// A field that is overwritten for that alone is at least so many times as large as the slabs asked for: a smaller one stays in caches.
const LARGE: i64 = 4;
/// Extents of staggered fields differ by no more.
const STAGGER: i64 = 8;
/// What takes no more reads of other values is computed wherever it is needed.
const FEW_READS: u32 = 3;
/// Reads that take as long as a function.
const COSTLY: u32 = 4;
/// Ops before a loop that are looked at.
const FAR: usize = 256;
/// Dimensions and extents tried in one block.
const TRIES: usize = 8;

/// A value computed in slabs.
#[derive(Clone, Copy)]
pub(crate) struct Member<'c, 'a> {
    op: OperationRef<'c, 'a>,
    value: Value<'c, 'a>,
    /// The dimension along which it is.
    dim: usize,
}

/// Results to compute together, and the ops that make them.
pub(crate) struct Cone<'c, 'a> {
    targets: Vec<Member<'c, 'a>>,
    /// What each target takes the place of, where that may be overwritten.
    olds: Vec<Option<Value<'c, 'a>>>,
    /// Reductions along the dimension of the slabs: the loop adds them up. Their values are what they reduce.
    totals: Vec<Member<'c, 'a>>,
    /// In program order.
    members: Vec<Member<'c, 'a>>,
    /// The extent of the smallest target.
    units: i64,
}

impl Pass for Slabs {
    const ARGUMENT: &'static str = "slimhlo-slabs";
    const STATISTICS: &'static [Statistic] = &[LOOPS];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        if is_partitioned(root) {
            return Ok(Changed::No);
        }
        let limit = |bytes: Bytes| i64::try_from(bytes.0).unwrap_or(i64::MAX);
        let mut blocks = Vec::new();
        walk(root, |op| {
            blocks.extend(match op_name(op) {
                "func.func" => function_places(op),
                // What a loop that may vanish carries is an ordinary value then.
                "stablehlo.while" => loop_places(op).map(|(block, places)| match turns::may_vanish(op) {
                    true => (block, Vec::new()),
                    false => (block, places),
                }),
                _ => None,
            });
            WalkResult::Advance
        });
        let build = Builder::new(root);
        let mut peak = if self.at_peak { Peak::Unknown(root) } else { Peak::Any };
        let mut loops = 0;
        for (block, mut places) in blocks {
            name_moved(block, &mut places, &build, limit(self.min_bytes));
            let mut olds = Olds::new();
            for place in places {
                olds.entry(ir::key(place.new)).and_modify(|old| *old = None).or_insert(Some(place.old));
            }
            loops += in_block(block, &olds, &mut peak, &build, limit(self.slab_bytes), limit(self.min_bytes));
            forget_moved(block, &build);
        }
        context.count(&LOOPS, loops as u64);
        Ok(Changed::from(loops > 0))
    }
}

/// What of a function is there when it needs most.
enum Peak<'c, 'a> {
    /// Of this function; nobody has asked.
    Unknown(OperationRef<'c, 'a>),
    Known(Option<HashSet<usize>>),
    /// Nobody asks, or ops have been replaced since.
    Any,
}

impl<'c: 'a, 'a> Peak<'c, 'a> {
    /// Whether something of a cone, or the loop that it is in, is there as far as is known: else slabs would lower nothing.
    fn has(&mut self, cone: &Cone<'c, 'a>) -> bool {
        if let Self::Unknown(function) = *self {
            *self = Self::Known(memory::alive_at_peak(function));
        }
        let Self::Known(Some(alive)) = self else { return true };
        cone.members.iter().any(|member| {
            let around = std::iter::successors(Some(member.op), |op| op.parent_operation());
            around.into_iter().any(|op| alive.contains(&ir::op_key(op)))
        })
    }
}

/// What values take the place of; nothing for one that takes several.
type Olds<'c, 'a> = HashMap<usize, Option<Value<'c, 'a>>>;

/// Gives each field that takes the place of another one as it is, as in a leapfrog scheme where `(before, now)` becomes `(now, after)`, an
/// op that makes it: a slab of it is to be put in its place, too.
fn name_moved<'c: 'a, 'a>(
    block: BlockRef<'c, 'a>,
    places: &mut [Place<'c, 'a>],
    build: &Builder<'c, 'a>,
    min_bytes: i64,
) {
    let (Some(first), Some(end)) = (block.first_operation(), block.terminator()) else { return };
    let fields: HashSet<usize> = places.iter().map(|place| ir::key(place.old)).collect();
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
    build: &Builder<'c, 'a>,
    slab_bytes: i64,
    min_bytes: i64,
) -> usize {
    let mut loops = 0;
    let mut tried: HashSet<(usize, i64)> = HashSet::new();
    for _ in 0..TRIES {
        // What is left once loops have been made.
        let mut targets: Vec<Member<'c, 'a>> = Vec::new();
        let mut known = HashSet::new();
        let Some(end) = block.terminator() else { break };
        for value in end.operands() {
            let op = defining_op(value).filter(|op| op.block() == Some(block) && op.result_count() == 1);
            if let Some(op) = op.filter(|_| plain(value).is_some() && bytes(value) >= min_bytes)
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
        let slabs = cones.into_iter().filter_map(|cone| Some((cone.slabs(slab_bytes)?, cone)));
        let slabs: Vec<_> = slabs.collect();
        if !slabs.iter().any(|(_, cone)| peak.has(cone)) {
            continue;
        }
        for ((slab, low, count), cone) in slabs {
            emit::run(&cone, slab, (low, count), build);
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
    let made: HashSet<usize> = targets.iter().map(|target| ir::key(target.value)).collect();
    let mut of_olds: HashSet<usize> = olds.values().flatten().map(|old| ir::key(*old)).collect();
    let mut totals = Vec::new();
    for op in std::iter::successors(block.first_operation(), |op| op.next_in_block()) {
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
    let rounds = element.is_float() && plan::element_bytes(element).is_none_or(|bytes| bytes < 4);
    let orders = matches!(combine, "stablehlo.maximum" | "stablehlo.minimum");
    op.operand_count() == 2
        && along
        && (orders || !rounds)
        && ir::splat_constant(initial).is_some()
        && plan::is_closed(op)
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

/// Whether an op is done again wherever it is needed.
fn is_free(op: OperationRef<'_, '_>) -> bool {
    matches!(op_name(op), "stablehlo.constant" | "stablehlo.iota" | "stablehlo.broadcast_in_dim")
}

/// Whether an op may be done later.
fn moves_freely(op: OperationRef<'_, '_>) -> bool {
    const MORE: [&str; 5] = [
        "stablehlo.reduce",
        "stablehlo.dot_general",
        "stablehlo.pad",
        "stablehlo.concatenate",
        "stablehlo.dynamic_update_slice",
    ];
    ir::is_fusible(op_name(op)) || MORE.contains(&op_name(op))
}

/// For each operand along which dimension rows of an op's result are made of rows of it; none if it is used whole. `None` if
/// rows are not made of rows.
pub(crate) fn operand_dims(op: OperationRef<'_, '_>, dim: usize) -> Option<Vec<Option<usize>>> {
    let result = plain(ir::first_result(op)?)?;
    let name = op_name(op);
    match name {
        "stablehlo.constant" => return ir::splat_constant(ir::first_result(op)?).map(|_| Vec::new()),
        "stablehlo.iota" => return Some(Vec::new()),
        "stablehlo.slice" => return (ir::i64_array(op, "strides")?[dim] == 1).then(|| vec![Some(dim)]),
        "stablehlo.pad" => {
            return (ir::i64_array(op, "interior_padding")?[dim] == 0).then(|| vec![Some(dim), None]);
        }
        "stablehlo.concatenate" => return Some(vec![Some(dim); op.operand_count()]),
        "stablehlo.dynamic_update_slice" => {
            rows::updated(op, dim)?;
            return Some((0..op.operand_count()).map(|index| (index < 2).then_some(dim)).collect());
        }
        _ if ir::is_fusible(name) && name != "stablehlo.dynamic_slice" => {}
        "stablehlo.reduce" | "stablehlo.transpose" | "stablehlo.reshape" | "stablehlo.reverse" => {}
        _ => return None,
    }
    let along = Along { dim, run: 1, from: 0 };
    let Ok(Source::Op(operands)) = plan::source_of(op, 0, &result, along, result.shape[dim]) else {
        return None;
    };
    operands
        .iter()
        .map(|along| match along {
            Some(along) => (along.run == 1 && along.from == 0).then_some(Some(along.dim)),
            None => Some(None),
        })
        .collect()
}

impl<'c: 'a, 'a> Cone<'c, 'a> {
    /// What the targets are made of and nothing else needs; those that have ops in common together.
    fn all(
        block: BlockRef<'c, 'a>,
        targets: &[Member<'c, 'a>],
        totals: &[Member<'c, 'a>],
        olds: &Olds<'c, 'a>,
    ) -> Vec<Self> {
        let total: HashMap<usize, Member<'c, 'a>> =
            totals.iter().map(|total| (ir::op_key(total.op), *total)).collect();
        // The dimensions along which values are taken; none if they are taken in different ways.
        let mut taken: HashMap<usize, Option<usize>> =
            targets.iter().map(|target| (ir::key(target.value), Some(target.dim))).collect();
        let wanted: HashSet<usize> = targets.iter().map(|target| ir::key(target.value)).collect();
        let mut found: Vec<Member<'c, 'a>> = Vec::new();
        let mut places: HashMap<usize, usize> = HashMap::new();
        let mut retained: HashSet<usize> = HashSet::new();
        let ops: Vec<_> = std::iter::successors(block.first_operation(), |op| op.next_in_block()).collect();
        for op in ops.into_iter().rev() {
            let Some(value) = ir::first_result(op).filter(|_| op.result_count() == 1) else {
                continue;
            };
            if let Some(total) = total.get(&ir::op_key(op)) {
                taken.entry(ir::key(total.value)).or_insert(Some(total.dim));
                places.insert(ir::op_key(op), found.len());
                found.push(*total);
                continue;
            }
            let Some(Some(dim)) = taken.get(&ir::key(value)).copied() else { continue };
            let alone = uses(value).all(|used| {
                let user = ir::op_key(used.user);
                places.contains_key(&user) && !retained.contains(&user)
            });
            let is_target = wanted.contains(&ir::key(value));
            let fits = plain(value).is_some_and(|tensor| dim < tensor.rank())
                && discardable_attributes(op).is_empty()
                && (alone || is_target || is_free(op));
            let Some(dims) = fits.then(|| operand_dims(op, dim)).flatten() else { continue };
            if !alone && !is_target {
                retained.insert(ir::op_key(op));
            }
            for (operand, dim) in op.operands().zip(dims) {
                let known = taken.entry(ir::key(operand)).or_insert(dim);
                if *known != dim {
                    *known = None;
                }
            }
            places.insert(ir::op_key(op), found.len());
            found.push(Member { op, value, dim });
        }
        // Users are found before what they use.
        let mut group: Vec<usize> = (0..found.len()).collect();
        let operands = |at: usize| {
            let ops = found[at].op.operands().filter_map(defining_op);
            ops.filter_map(|op| places.get(&ir::op_key(op)).copied()).collect::<Vec<_>>()
        };
        for at in 0..found.len() {
            for operand in operands(at).into_iter().filter(|&operand| !is_free(found[operand].op)) {
                unite(&mut group, at, operand);
            }
        }
        // What reads a field is in the loop that overwrites it, or it could not.
        for at in 0..found.len() {
            let old = olds.get(&ir::key(found[at].value)).copied().flatten();
            let users = old.into_iter().flat_map(uses).map(|used| ir::op_key(used.user));
            for user in users.filter_map(|user| places.get(&user).copied()) {
                if wanted.contains(&ir::key(found[at].value)) && !is_free(found[user].op) {
                    unite(&mut group, at, user);
                }
            }
        }
        let mut cones: Vec<Self> = Vec::new();
        let mut numbers: HashMap<usize, usize> = HashMap::new();
        let mut users: Vec<Vec<usize>> = vec![Vec::new(); found.len()];
        for at in 0..found.len() {
            let member = found[at];
            if !is_free(member.op) || wanted.contains(&ir::key(member.value)) {
                let own = *numbers.entry(root(&mut group, at)).or_insert_with(|| {
                    cones.push(Self {
                        targets: Vec::new(),
                        olds: Vec::new(),
                        totals: Vec::new(),
                        members: Vec::new(),
                        units: i64::MAX,
                    });
                    cones.len() - 1
                });
                users[at].push(own);
            }
            let mut own = std::mem::take(&mut users[at]);
            own.sort_unstable();
            own.dedup();
            for operand in operands(at).into_iter().filter(|&operand| is_free(found[operand].op)) {
                users[operand].extend(&own);
            }
            for number in own {
                if total.contains_key(&ir::op_key(member.op)) {
                    cones[number].totals.push(member);
                    continue;
                }
                cones[number].members.push(member);
                if wanted.contains(&ir::key(member.value)) {
                    let extent = plain(member.value).map_or(0, |tensor| tensor.shape[member.dim]);
                    cones[number].units = cones[number].units.min(extent);
                    cones[number].targets.push(member);
                    cones[number].olds.push(olds.get(&ir::key(member.value)).copied().flatten());
                }
            }
        }
        cones.retain(|cone| !cone.targets.is_empty());
        cones.iter_mut().for_each(|cone| {
            cone.members.reverse();
            cone.totals.reverse();
            cone.keep_what_others_read();
        });
        // Totals are there for the fields that can be overwritten with them.
        let in_vain = |cone: &Self| {
            !cone.totals.is_empty() && (cone.olds.iter().all(Option::is_none) || !cone.stands_alone())
        };
        if cones.iter().any(in_vain) {
            return Self::all(block, targets, &[], olds);
        }
        cones.retain(Self::stands_alone);
        cones
    }

    /// Forgets about olds that may not be overwritten slab by slab: that something else reads, or as a whole. What the loop waits for may.
    fn keep_what_others_read(&mut self) {
        let members = self.members.iter().filter(|member| !is_free(member.op));
        let dims: HashMap<usize, usize> = members.map(|member| (ir::op_key(member.op), member.dim)).collect();
        let totals: HashMap<usize, usize> =
            self.totals.iter().map(|total| (ir::op_key(total.op), total.dim)).collect();
        let before = self.what_comes_before();
        let element = |value: Value<'c, 'a>| ir::element_of(value.r#type());
        // What is held is one value.
        let alike = self.targets.iter().all(|target| element(target.value) == element(self.targets[0].value));
        for (target, old) in self.targets.iter().zip(&mut self.olds) {
            let by_rows = |old: Value<'c, 'a>| {
                uses(old).all(|used| {
                    let user = ir::op_key(used.user);
                    let of_total = totals.get(&user).filter(|_| used.operand == 0).copied();
                    let of_member = || *operand_dims(used.user, *dims.get(&user)?)?.get(used.operand)?;
                    before.contains(&user) || of_total.or_else(of_member) == Some(target.dim)
                })
            };
            *old = old.filter(|old| alike && old.r#type() == target.value.r#type() && by_rows(*old));
        }
    }

    /// Whether rows are made of others than those in the same place: elementwise steps need no slabs to overwrite their fields.
    fn moves(&self) -> bool {
        self.members.iter().any(|member| {
            matches!(
                op_name(member.op),
                "stablehlo.slice"
                    | "stablehlo.pad"
                    | "stablehlo.concatenate"
                    | "stablehlo.dynamic_update_slice"
            )
        })
    }

    /// Whether something else reads a field that could be overwritten but for that.
    fn lacks_olds(&self, olds: &Olds<'c, 'a>) -> bool {
        let had = |target: &Member<'c, 'a>| olds.get(&ir::key(target.value)).copied().flatten().is_some();
        self.moves() && self.targets.iter().zip(&self.olds).any(|(target, old)| old.is_none() && had(target))
    }

    /// Ops around the cone that are done before the loop begins, wherever a back end fuses them: what waits for them is the loop alone, or
    /// they are reductions, which are done once. The time step that the fastest wave allows is made of fields so.
    fn what_comes_before(&self) -> HashSet<usize> {
        let own: HashSet<usize> =
            self.members.iter().chain(&self.totals).map(|member| ir::op_key(member.op)).collect();
        let block = self.anchor().block();
        let operands = self.members.iter().flat_map(|member| member.op.operands());
        let mut open: Vec<_> = operands.filter_map(defining_op).collect();
        let (mut seen, mut before) = (HashSet::new(), HashSet::new());
        if self.olds.iter().all(Option::is_none) || !self.moves() {
            return before;
        }
        while let Some(op) = open.pop() {
            let key = ir::op_key(op);
            if op.block() != block || own.contains(&key) || seen.len() >= FAR {
                continue;
            }
            let waits = |used: Use<'c, 'a>| {
                let user = ir::op_key(used.user);
                own.contains(&user) || before.contains(&user)
            };
            let comes_before = op_name(op) == "stablehlo.reduce"
                || op.results().flat_map(|result| uses(result.into())).all(waits);
            // Once when something needs it, and again when all of that comes before, too.
            if seen.insert(key) | (comes_before && before.insert(key)) {
                open.extend(op.operands().filter_map(defining_op));
            }
        }
        before
    }

    /// The last of the ops that compute results: the loop goes there.
    fn anchor(&self) -> OperationRef<'c, 'a> {
        let first = self.targets[0].op;
        let ops = self.targets.iter().chain(&self.totals).map(|member| member.op);
        ops.fold(first, |last, op| if ir::is_before(last, op) { op } else { last })
    }

    /// Whether the results can all be made where the last of them is: nothing that it takes needs one of them.
    fn stands_alone(&self) -> bool {
        self.users_before_anchor().is_some()
    }

    /// What needs a result and comes before the last of them: it can come after it as well, unless a result needs it in turn (`None`).
    pub fn users_before_anchor(&self) -> Option<Vec<OperationRef<'c, 'a>>> {
        let anchor = self.anchor();
        let own: HashSet<usize> =
            self.members.iter().chain(&self.totals).map(|member| ir::op_key(member.op)).collect();
        let totals: HashSet<usize> = self.totals.iter().map(|total| ir::op_key(total.op)).collect();
        let mut late = HashSet::new();
        let mut pending: Vec<OperationRef<'c, 'a>> =
            self.targets.iter().chain(&self.totals).map(|member| member.op).collect();
        let mut found = Vec::new();
        while let Some(op) = pending.pop() {
            for used in op.results().flat_map(|result| uses(result.into())) {
                let mut user = used.user;
                while user.block() != anchor.block() {
                    user = user.parent_operation()?;
                }
                let key = ir::op_key(user);
                if own.contains(&key) {
                    // Members read other targets' rows.
                    let by_rows = own.contains(&ir::op_key(op)) && !totals.contains(&ir::op_key(op));
                    by_rows.then_some(())?;
                } else if !ir::is_before(anchor, user) && late.insert(key) {
                    moves_freely(user).then_some(())?;
                    found.push(user);
                    pending.push(user);
                }
            }
        }
        found.sort_by(|left, right| match ir::is_before(*left, *right) {
            true => std::cmp::Ordering::Less,
            false => std::cmp::Ordering::Greater,
        });
        Some(found)
    }

    /// Whether much is stored between the fields and the results, as far as is easily seen: the memory model has the last word.
    fn stores(&self) -> bool {
        let results: HashSet<usize> = self.targets.iter().map(|target| ir::key(target.value)).collect();
        let between = self.members.iter().filter(|member| {
            !is_free(member.op)
                && !results.contains(&ir::key(member.value))
                && match op_name(member.op) {
                    "stablehlo.concatenate" | "stablehlo.dynamic_update_slice" | "stablehlo.reduce" => true,
                    "stablehlo.pad" => true,
                    name => is_elementwise(name) && uses(member.value).nth(1).is_some(),
                }
        });
        // A field that is updated from itself: each part of it is stored before the update.
        let members: HashSet<usize> = self.members.iter().map(|member| ir::op_key(member.op)).collect();
        let parts = self.members.iter().filter(|member| {
            let slice = op_name(member.op) == "stablehlo.slice";
            let base = member.op.operands().next().filter(|_| slice);
            base.into_iter().flat_map(uses).any(|used| {
                used.operand == 0
                    && op_name(used.user) == "stablehlo.dynamic_update_slice"
                    && members.contains(&ir::op_key(used.user))
            })
        });
        let all =
            |values: &mut dyn Iterator<Item = Value<'c, 'a>>| values.map(bytes).fold(0, i64::saturating_add);
        all(&mut between.chain(parts).map(|member| member.value))
            >= all(&mut self.targets.iter().map(|target| target.value))
    }

    /// Values that are stored in each slab: several read them, and computing them for each would take reading more of other values. A
    /// back end that fuses whatever it can would do all of a stage for each neighbour that the next one reads, and that again for
    /// each of its neighbours.
    fn stored(&self, needs: &Needs) -> HashSet<usize> {
        let mut stored = HashSet::new();
        let totals = !self.totals.is_empty();
        let results: HashSet<usize> = self.targets.iter().map(|target| ir::key(target.value)).collect();
        let members: HashSet<usize> = self.members.iter().map(|member| ir::op_key(member.op)).collect();
        let mut reads: HashMap<usize, u32> = HashMap::new();
        for member in self.members.iter().filter(|member| !needs.rows(member.value).is_empty()) {
            let name = op_name(member.op);
            let mut operands: Vec<Value<'c, 'a>> =
                member.op.operands().filter(|value| !ir::is_rank_zero(*value)).collect();
            operands.sort_by_key(|value| ir::key(*value));
            operands.dedup();
            let of = operands.iter().map(|value| reads.get(&ir::key(*value)).copied().unwrap_or(1));
            let mut own = match name {
                _ if is_free(member.op) => 0,
                "stablehlo.concatenate" => of.max().unwrap_or(0),
                _ => of.fold(u32::from(is_costly(name)) * COSTLY, u32::saturating_add),
            };
            let users = uses(member.value).map(|used| used.user).filter(|user| {
                let value = ir::first_result(*user);
                members.contains(&ir::op_key(*user))
                    && value.is_some_and(|value| !needs.rows(value).is_empty())
            });
            // What is a result and goes into a total is read by the update and by the reduction.
            let twice = totals && results.contains(&ir::key(member.value));
            if own > FEW_READS && is_elementwise(name) && users.count() + usize::from(twice) > 1 {
                stored.insert(ir::key(member.value));
                own = 1;
            }
            reads.insert(ir::key(member.value), own);
        }
        stored
    }

    /// Rows of a slab, where the first one begins that is like all others, and how many there are of these.
    fn slabs(&self, slab_bytes: i64) -> Option<(i64, i64, i64)> {
        // How far rows reach beyond a slab does not depend on how many it has.
        let mut inside = Inside::new(self.units);
        let needs = Needs::of(self, |_| Rows { from: 0, to: self.units }, Some(&mut inside));
        let halo = needs.halo(self.units);
        let reaches = |rows: &Rows| rows.from < 0 || rows.to > self.units;
        let overwrites = self.olds.iter().flatten().any(|old| {
            needs.rows(*old).iter().any(reaches) && bytes(*old) >= slab_bytes.saturating_mul(LARGE)
        });
        if !self.moves() || !overwrites && !self.stores() {
            return None;
        }
        let row = self.members.iter().filter(|member| !is_free(member.op)).map(|member| {
            let extent = plain(member.value).map_or(1, |tensor| tensor.shape[member.dim]);
            bytes(member.value) / extent.max(1)
        });
        let row = row.max().unwrap_or(1).max(1);
        let slab = (WANTED * halo).max(slab_bytes / row).min(self.units / SLABS);
        if slab < (LEAST * halo).max(2) {
            return None;
        }
        // Where a field is overwritten, turns hand on a row before the slab at least.
        let first = i64::from(self.olds.iter().any(Option::is_some));
        let (low, high) = (inside.low.max(first), inside.high.min(self.units));
        let count = (high - low) / slab;
        // What is left goes to the slabs: the last rows are done by themselves.
        let slab = if count > 0 { (high - low) / count } else { slab };
        // Ends are a slab together, at most two.
        let rest = self.units - count * slab;
        (count >= 2 && rest <= 2 * slab + 2 * halo).then_some((slab, low, count))
    }
}

fn unite(group: &mut [usize], left: usize, right: usize) {
    let (left, right) = (root(group, left), root(group, right));
    group[left.max(right)] = left.min(right);
}

fn root(group: &mut [usize], mut at: usize) -> usize {
    while group[at] != at {
        group[at] = group[group[at]];
        at = group[at];
    }
    at
}
