// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-dus-to-pad`: a `dynamic_update_slice` into a splat at constant starts becomes a `pad`.
//!
//! # What it matches
//!
//! ```mlir
//! %zero = stablehlo.constant dense<0.0> : tensor<f32>
//! %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<10xf32>
//! %at = stablehlo.constant dense<3> : tensor<i32>
//! %r = stablehlo.dynamic_update_slice %zeros, %x, %at : (tensor<10xf32>, tensor<4xf32>, tensor<i32>) -> tensor<10xf32>
//! ```
//!
//! becomes
//!
//! ```mlir
//! %r = stablehlo.pad %x, %zero, low = [3], high = [3], interior = [0]
//! ```
//!
//! The splat may be a constant, or a scalar seen through any chain of broadcast, reshape, transpose and convert; converts
//! are applied to the scalar. Starts are clamped as the spec of `dynamic_update_slice` says, read by the signedness of
//! their type. Only the starts of dimensions that the update does not fill have to be constant: the others clamp to 0.
//!
//! Further:
//! * an update as large as the operand *is* the result (rank 0 included), an empty update leaves the operand;
//! * an update that is itself a pad with the same padding value becomes one pad;
//! * in a chain of updates, an update that covers the earlier pieces replaces them, and pieces that tile a box are
//!   concatenated and padded once.
//!
//! # Why it is right
//!
//! `pad` with non-negative edges and no interior padding puts the operand at `low` and the padding value everywhere else:
//! element for element what the update leaves. No arithmetic is done, so NaN payloads, infinities and signed zeros keep
//! their bits. Padding values are "the same" only if they are the same SSA value or constants with the same bits.
//!
//! # Why it pays
//!
//! A pad is a map from result indices to values: every back end fuses it into its consumers. The update is a write into a
//! buffer that first has to exist, and to be filled.
//!
//! # What it costs
//!
//! One walk, then constant time per update: chains are merged as a whole from their last update, pieces in a deque, and
//! what a value is as a splat is remembered per value. No new bytes: a pad reads what the update read.
//!
//! # When it must not fire
//!
//! * Operands that are not splats and starts that are not constant: these updates happen in place today.
//! * An intermediate of a chain with another use: merging would compute its pieces twice.
//! * Pieces that are costly temporaries (a dot's result, say) are not merged: the concatenation would keep all of them
//!   alive until the last is there, where the update lets go of each. They stay updates of a pad.
//! * Dynamic shapes and encodings (bounds), and element types quantized per axis: a scalar has no axis.
//! * Where the op carries a sharding or other discardable attributes they move to the pad; a rewrite that would leave no
//!   op to carry them does not happen, nor does one that would merge ops which disagree about them.

use crate::framework::{Changed, Pass, PassContext, PassResult, Statistic};
use crate::ir::{self, Attributes, Builder, discardable_attributes};
use crate::ops::class;
use crate::rewrite::{carry_attributes, defining_op, has_one_use, location_of, ops_named};
use crate::splat::{Splat, Splats};
use melior::ir::operation::OperationLike;
use melior::ir::{Location, OperationRef, Value, ValueLike};
use rustc_hash::FxHashSet;
use slimhlo_dialect::ffi::op_name;
use slimhlo_dialect::types::Tensor;
use std::collections::VecDeque;
use std::ops::Range;

const DYNAMIC_UPDATE_SLICE: &str = "stablehlo.dynamic_update_slice";
const PAD: &str = "stablehlo.pad";

crate::pass_options! {
    /// Turn updates of splats at constant starts into pads.
    ///
    /// A `dynamic_update_slice` into a splat (a constant, or a scalar seen through any chain of broadcast, reshape,
    /// transpose and convert) at constant starts becomes a `pad`. Starts are clamped as the spec says. An update as large
    /// as its operand is its own result, an empty one leaves the operand, and in a chain of updates those that cover
    /// earlier ones replace them and those that tile a box are concatenated and padded once. Every bit is kept;
    /// shardings, frontend attributes and locations move to the new op.
    ///
    /// ```mlir
    /// %r = stablehlo.dynamic_update_slice %zeros, %x, %three
    ///     : (tensor<10xf32>, tensor<4xf32>, tensor<i32>) -> tensor<10xf32>
    /// // becomes
    /// %r = stablehlo.pad %x, %zero, low = [3], high = [3], interior = [0]
    ///     : (tensor<4xf32>, tensor<f32>) -> tensor<10xf32>
    /// ```
    pub struct DusToPad;
}

const PADS: Statistic = Statistic::new(c"num-pads", c"pads and concatenations made of updates");
const MERGED: Statistic = Statistic::new(c"num-merged", c"updates merged with an earlier one");
const FORWARDED: Statistic = Statistic::new(c"num-forwarded", c"updates that changed nothing or everything");

/// Where an update goes: clamped starts, and the sizes of what is put there.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Window {
    start: Vec<i64>,
    size: Vec<i64>,
}

impl Window {
    fn covers(&self, other: &Self) -> bool {
        (0..self.start.len()).all(|dim| {
            self.start[dim] <= other.start[dim]
                && other.start[dim] + other.size[dim] <= self.start[dim] + self.size[dim]
        })
    }

    /// The dimension along which `next` continues this window to a larger box, and whether it comes after it.
    fn adjacent(&self, next: &Self) -> Option<(usize, Side)> {
        let mut differing = (0..self.start.len())
            .filter(|&dim| self.start[dim] != next.start[dim] || self.size[dim] != next.size[dim]);
        let dim = differing.next()?;
        if differing.next().is_some() {
            return None;
        }
        if self.start[dim] + self.size[dim] == next.start[dim] {
            Some((dim, Side::After))
        } else if next.start[dim] + next.size[dim] == self.start[dim] {
            Some((dim, Side::Before))
        } else {
            None
        }
    }

    fn is_disjoint(&self, other: &Self) -> bool {
        (0..self.start.len()).any(|dim| {
            self.start[dim] + self.size[dim] <= other.start[dim]
                || other.start[dim] + other.size[dim] <= self.start[dim]
        })
    }

    fn is_empty(&self) -> bool {
        self.size.contains(&0)
    }

    /// The whole of an array of this shape.
    fn whole(shape: &[i64]) -> Self {
        Self { start: vec![0; shape.len()], size: shape.to_vec() }
    }

    /// This window as seen from outside the array that was put at `origin`.
    fn moved(mut self, origin: &[i64]) -> Self {
        for (start, origin) in self.start.iter_mut().zip(origin) {
            *start += origin;
        }
        self
    }
}

/// On which side of a window the next one continues it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Before,
    After,
}

/// Values that tile a box.
#[derive(Clone)]
enum Tiles<'c, 'a> {
    One(Value<'c, 'a>),
    Along(usize, VecDeque<Tiles<'c, 'a>>),
}

/// A box of the array and what fills it.
#[derive(Clone)]
struct Pieces<'c, 'a> {
    window: Window,
    tiles: Tiles<'c, 'a>,
    /// Whether keeping all the values alive until the last is there costs nothing.
    cheap: bool,
}

impl<'c: 'a, 'a> Pieces<'c, 'a> {
    fn one(window: Window, value: Value<'c, 'a>) -> Self {
        Self { window, tiles: Tiles::One(value), cheap: is_cheap_to_keep(value) }
    }

    /// Both boxes as one, if they make one and it is worth it; otherwise the first again.
    fn join(mut self, next: Self) -> Result<Self, Self> {
        let Some((dim, side)) = self.window.adjacent(&next.window).filter(|_| self.cheap && next.cheap)
        else {
            return Err(self);
        };
        let mut row = match self.tiles {
            Tiles::Along(along, row) if along == dim => row,
            tiles => VecDeque::from([tiles]),
        };
        match side {
            Side::After => row.push_back(next.tiles),
            Side::Before => row.push_front(next.tiles),
        }
        self.window.start[dim] = self.window.start[dim].min(next.window.start[dim]);
        self.window.size[dim] += next.window.size[dim];
        Ok(Self { window: self.window, tiles: Tiles::Along(dim, row), cheap: true })
    }
}

/// Whether keeping `value` alive for longer costs no memory worth speaking of: it is an argument, or a back end computes
/// it on the fly from arguments and constants.
fn is_cheap_to_keep(value: Value<'_, '_>) -> bool {
    // Deep producers are rare among pieces; where they occur, no answer is the safe answer.
    const BUDGET: usize = 32;
    let mut pending = vec![value];
    for _ in 0..BUDGET {
        let Some(value) = pending.pop() else { return true };
        let Some(op) = defining_op(value) else { continue };
        if !class::is_fusible(op_name(op)) {
            return false;
        }
        pending.extend(op.operands());
    }
    pending.is_empty()
}

/// An update whose window is known.
struct Update<'c, 'a> {
    op: OperationRef<'c, 'a>,
    window: Window,
    value: Value<'c, 'a>,
}

impl<'c: 'a, 'a> Update<'c, 'a> {
    fn new(op: OperationRef<'c, 'a>) -> Option<Self> {
        let operand = op.operands().next()?;
        let value = op.operands().nth(1)?;
        let (array, update) = (plain_tensor(operand)?, plain_tensor(value)?);
        let start = ir::window_starts(op, 2, update.shape, array.shape)?;
        Some(Self { op, window: Window { start, size: update.shape.to_vec() }, value })
    }

    fn result(&self) -> Option<Value<'c, 'a>> {
        self.op.result(0).ok().map(Value::from)
    }
}

/// A static tensor without encoding whose elements mean the same in every place.
fn plain_tensor<'c>(value: Value<'c, '_>) -> Option<Tensor<'c>> {
    let tensor = Tensor::new(value.r#type())?;
    (tensor.is_static() && tensor.encoding().is_none() && !ir::is_quantized_per_axis(tensor.element))
        .then_some(tensor)
}

/// What the array holds at some point of a chain.
#[derive(Clone)]
enum Contents<'c, 'a> {
    /// A value that is not taken apart.
    Value(Value<'c, 'a>),
    /// A splat, but for some pieces. `whole` is the value that is just this, if there is one already.
    Filled { fill: Splat<'c, 'a>, pieces: Option<Pieces<'c, 'a>>, whole: Option<Value<'c, 'a>> },
}

impl<'c: 'a, 'a> Contents<'c, 'a> {
    /// The value that already holds this, if an op need not be made for it.
    fn existing(&self, shape: &[i64]) -> Option<Value<'c, 'a>> {
        match self {
            Self::Value(value) | Self::Filled { whole: Some(value), .. } => Some(*value),
            Self::Filled { pieces: Some(Pieces { window, tiles: Tiles::One(value), .. }), .. }
                if *window == Window::whole(shape) =>
            {
                Some(*value)
            }
            Self::Filled { .. } => None,
        }
    }
}

impl Pass for DusToPad {
    const ARGUMENT: &'static str = "slimhlo-dus-to-pad";
    const STATISTICS: &'static [Statistic] = &[PADS, MERGED, FORWARDED];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        let updates = ops_named(root, DYNAMIC_UPDATE_SLICE);
        let mut rewrite =
            Rewrite { build: Builder::new(root), splats: Splats::default(), context, changed: false };
        // From the last update of each chain upwards, so that a chain is met whole.
        let mut seen = FxHashSet::with_capacity_and_hasher(updates.len(), Default::default());
        for &op in updates.iter().rev() {
            if seen.contains(&ir::op_key(op)) {
                continue;
            }
            let chain = chain_of(op);
            seen.extend(chain.iter().map(|update| ir::op_key(update.op)));
            rewrite.chain(&chain);
        }
        Ok(Changed::from(rewrite.changed))
    }
}

/// The updates that lead to `last`, first to last: each the only user of the one before, in the same block, and of one
/// mind with `last` about discardable attributes. Empty if `last` cannot be read.
fn chain_of<'c: 'a, 'a>(last: OperationRef<'c, 'a>) -> Vec<Update<'c, 'a>> {
    let attributes = discardable_attributes(last);
    let mut chain = Vec::new();
    let mut next = Update::new(last);
    while let Some(update) = next {
        next = update
            .op
            .operand(0)
            .ok()
            .and_then(defining_op)
            .filter(|op| {
                op_name(*op) == DYNAMIC_UPDATE_SLICE
                    && op.block() == last.block()
                    && op.result(0).is_ok_and(|result| has_one_use(result.into()))
                    && agrees(*op, &attributes)
            })
            .and_then(Update::new);
        chain.push(update);
    }
    chain.reverse();
    chain
}

/// Whether an op that disappears into one with `attributes` takes nothing with it.
fn agrees(op: OperationRef<'_, '_>, attributes: &Attributes<'_>) -> bool {
    let own = discardable_attributes(op);
    own.is_empty() || own == *attributes
}

struct Rewrite<'c, 'a, 'r> {
    build: Builder<'c, 'a>,
    splats: Splats<'c, 'a>,
    context: &'r PassContext<'r>,
    changed: bool,
}

impl<'c: 'a, 'a> Rewrite<'c, 'a, '_> {
    fn chain(&mut self, chain: &[Update<'c, 'a>]) {
        let Some(plan) = self.plan(chain) else { return };
        let mut dead = Vec::new();
        for (group, contents) in plan {
            self.changed = true;
            self.replace(&chain[group.clone()], contents);
            dead.extend(chain[group].iter().map(|update| update.op));
        }
        // Users before what they use.
        for op in dead.into_iter().rev() {
            let splats = &mut self.splats;
            self.build.erase_with_dead_producers(op, |value| splats.forget(value));
        }
    }

    /// Groups of consecutive updates and what each group amounts to. Updates in no group stay. `None` if all do.
    fn plan(&mut self, chain: &[Update<'c, 'a>]) -> Option<Vec<(Range<usize>, Contents<'c, 'a>)>> {
        let base = chain.first()?.op.operands().next()?;
        let shape = Tensor::new(base.r#type())?.shape;
        let attributes = discardable_attributes(chain.last()?.op);

        let mut plan = Vec::new();
        let mut contents = self.contents_of(base, &attributes);
        let mut group = 0..0;
        for (index, update) in chain.iter().enumerate() {
            match self.put(contents, update, shape) {
                Ok(next) => {
                    contents = next;
                    group.end = index + 1;
                }
                Err(before) => {
                    if !group.is_empty() {
                        plan.push((group, before));
                    }
                    contents = Contents::Value(update.result()?);
                    group = index + 1..index + 1;
                }
            }
        }
        if !group.is_empty() {
            plan.push((group, contents));
        }
        // What has attributes to carry needs an op to carry them.
        let carried = plan.iter().all(|(group, contents)| {
            contents.existing(shape).is_none() || discardable_attributes(chain[group.end - 1].op).is_empty()
        });
        (carried && !plan.is_empty()).then_some(plan)
    }

    /// What `value` holds, as far as this pass takes values apart. A pad is taken apart only where nothing else needs
    /// it and nothing is lost with it.
    fn contents_of(&mut self, value: Value<'c, 'a>, attributes: &Attributes<'c>) -> Contents<'c, 'a> {
        if let Some(fill) = self.splats.of(value) {
            return Contents::Filled { fill, pieces: None, whole: Some(value) };
        }
        let opaque = Contents::Value(value);
        let Some(pad) = defining_op(value)
            .filter(|op| op_name(*op) == PAD && has_one_use(value) && agrees(*op, attributes))
        else {
            return opaque;
        };
        let (Ok(operand), Ok(padding)) = (pad.operand(0), pad.operand(1)) else { return opaque };
        let (Some(tensor), Some(_)) = (plain_tensor(operand), plain_tensor(value)) else { return opaque };
        let (Some(low), Some(high), Some(interior)) = (
            ir::i64_array(pad, "edge_padding_low"),
            ir::i64_array(pad, "edge_padding_high"),
            ir::i64_array(pad, "interior_padding"),
        ) else {
            return opaque;
        };
        let crops = low.iter().chain(high).any(|&edge| edge < 0);
        // Interior padding of a dimension with at most one element is none.
        let spreads = interior.iter().zip(tensor.shape).any(|(&interior, &size)| interior != 0 && size > 1);
        let Some(fill) = self.splats.of(padding).filter(|_| !crops && !spreads) else { return opaque };
        let window = Window { start: low.to_vec(), size: tensor.shape.to_vec() };
        let pieces = (!window.is_empty()).then(|| Pieces::one(window, operand));
        Contents::Filled { fill, pieces, whole: Some(value) }
    }

    /// What the array holds after `update`, or, where that is not worth knowing, what it held before.
    #[expect(clippy::result_large_err, reason = "either way it is the one value, moved in and out")]
    fn put(
        &mut self,
        contents: Contents<'c, 'a>,
        update: &Update<'c, 'a>,
        shape: &[i64],
    ) -> Result<Contents<'c, 'a>, Contents<'c, 'a>> {
        let Update { op, window, value } = update;
        if window.is_empty() {
            return Ok(contents);
        }
        let attributes = discardable_attributes(*op);
        if *window == Window::whole(shape) {
            let fits = update.result().is_some_and(|result| result.r#type() == value.r#type());
            return if fits { Ok(self.contents_of(*value, &attributes)) } else { Err(contents) };
        }
        let Contents::Filled { fill, pieces, whole } = contents else { return Err(contents) };
        let covered = pieces.as_ref().is_none_or(|pieces| window.covers(&pieces.window));
        let disjoint = pieces.as_ref().is_none_or(|pieces| window.is_disjoint(&pieces.window));

        // More of the same splat is no more than the pieces in it, as long as what is splat overwrites all or nothing.
        let brought = match self.contents_of(*value, &attributes) {
            Contents::Filled { fill: same, pieces: inner, .. } if same == fill && (covered || disjoint) => {
                match (inner, covered) {
                    (None, false) => return Ok(Contents::Filled { fill, pieces, whole }),
                    (None, true) => {
                        let whole = whole.filter(|_| pieces.is_none());
                        return Ok(Contents::Filled { fill, pieces: None, whole });
                    }
                    (Some(inner), _) => Pieces { window: inner.window.moved(&window.start), ..inner },
                }
            }
            _ => Pieces::one(window.clone(), *value),
        };
        match pieces {
            Some(pieces) if !covered => match pieces.join(brought) {
                Ok(joined) => Ok(Contents::Filled { fill, pieces: Some(joined), whole: None }),
                Err(pieces) => Err(Contents::Filled { fill, pieces: Some(pieces), whole }),
            },
            _ => Ok(Contents::Filled { fill, pieces: Some(brought), whole: None }),
        }
    }

    /// Makes the op for `contents` where the last update of `group` stands, and lets it take that update's place.
    fn replace(&mut self, group: &[Update<'c, 'a>], contents: Contents<'c, 'a>) {
        let Some(last) = group.last() else { return };
        let (Some(result), location) = (last.result(), last.op.location()) else { return };
        let Some(array) = Tensor::new(result.r#type()) else { return };
        self.build.set_insertion_point_before(last.op);

        if let Some(existing) = contents.existing(array.shape) {
            self.context.count(&FORWARDED, group.len() as u64);
            self.build.replace_all_uses_with(result, existing);
            return;
        }
        let Contents::Filled { fill, pieces, .. } = contents else { return };
        let replacement = match pieces {
            // The last update painted over all pieces.
            None => {
                let scalar = fill.materialize(&self.build, location);
                self.build.broadcast_scalar(scalar, result.r#type(), location)
            }
            Some(Pieces { window, tiles, .. }) => {
                let ops: Vec<_> = group.iter().map(|update| update.op).collect();
                let tiled = self.tile(&tiles, location_of(&ops).unwrap_or(location));
                if window == Window::whole(array.shape) {
                    tiled
                } else {
                    let padding = fill.materialize(&self.build, location);
                    let low = &window.start;
                    let high: Vec<i64> =
                        (0..array.rank()).map(|dim| array.shape[dim] - low[dim] - window.size[dim]).collect();
                    self.build.pad(
                        tiled,
                        padding,
                        [low, &high, &vec![0; array.rank()]],
                        result.r#type(),
                        location,
                    )
                }
            }
        };
        if let Some(op) = defining_op(replacement) {
            carry_attributes(last.op, op, &[]);
        }
        self.context.count(&PADS, 1);
        self.context.count(&MERGED, group.len() as u64 - 1);
        self.build.replace_all_uses_with(result, replacement);
    }

    /// One value of all tiles.
    fn tile(&mut self, tiles: &Tiles<'c, 'a>, location: Location<'c>) -> Value<'c, 'a> {
        match tiles {
            Tiles::One(value) => *value,
            Tiles::Along(dim, row) => {
                let row: Vec<Value> = row.iter().map(|tiles| self.tile(tiles, location)).collect();
                self.build.concatenate(&row, *dim, location)
            }
        }
    }
}
