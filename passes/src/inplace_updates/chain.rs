// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Chains of updates of one array, its versions, and what reads them.
//!
//! Update `k` (from 1) makes version `k` of the array out of version `k - 1`; version 0 is what the chain starts from.

use super::sweep::manual_places;
use crate::ir;
use crate::ir::{bytes, plain};
use crate::ops::class;
use crate::rewrite::{defining_op, has_one_use, in_block, uses};
use melior::ir::attribute::{ArrayAttribute, IntegerAttribute};
use melior::ir::operation::OperationLike;
use melior::ir::{AttributeLike, BlockLike, OperationRef, RegionLike, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::stablehlo::attrs::ComparisonDirection;

const UPDATE: &str = "stablehlo.dynamic_update_slice";

/// Ops between a read and what it is for: further than this it is not followed.
const LONGEST: usize = 128;
/// Versions over which a read may be moved.
pub const FURTHEST: usize = 64;
/// How deep the values of an update are looked into.
const DEPTH: usize = 8;

/// A box of an array, whatever the strides within it.
#[derive(Clone, Debug)]
pub struct Region {
    /// First place, per dimension.
    pub start: Vec<i64>,
    /// Past the last one.
    pub limit: Vec<i64>,
}

impl Region {
    fn of_window(start: Vec<i64>, sizes: &[i64]) -> Self {
        let limit = start.iter().zip(sizes).map(|(start, size)| start + size).collect();
        Self { start, limit }
    }

    /// Whether the two have a place in common.
    pub fn intersects(&self, other: &Self) -> bool {
        (0..self.start.len())
            .all(|dim| self.start[dim] < other.limit[dim] && other.start[dim] < self.limit[dim])
    }
}

/// One update.
pub struct Update<'c, 'a> {
    /// The op.
    pub op: OperationRef<'c, 'a>,
    /// What it overwrites; `None` if that is not known.
    pub window: Option<Region>,
    /// Whether a back end sees it as the old array and nothing else, see [`Chain::is_recomputed`].
    slight: bool,
}

/// A read of a part of a version.
pub struct Read<'c, 'a> {
    /// The slice.
    pub op: OperationRef<'c, 'a>,
    /// What it reads; `None` if not every element there.
    pub region: Option<Region>,
    /// The version it reads.
    pub version: usize,
    /// The first version that has the same contents there.
    pub earliest: usize,
    /// The last one.
    pub latest: usize,
    /// The first update whose value comes of it; `None` if none does, as far as it was followed.
    pub feeds: Option<usize>,
    /// What is computed from it, up to updates of the chain; `None` if that is too much to follow.
    pub cone: Option<Vec<OperationRef<'c, 'a>>>,
}

/// Updates of one array, each the only one of the version before.
pub struct Chain<'c, 'a> {
    /// What version 0 is.
    pub base: Value<'c, 'a>,
    /// All updates; number 0 here makes version 1.
    pub updates: Vec<Update<'c, 'a>>,
    /// All reads of versions but the last.
    pub reads: Vec<Read<'c, 'a>>,
}

impl<'c: 'a, 'a> Chain<'c, 'a> {
    /// The chain that starts with an update, with nothing known of reads yet. Updates are added to `seen`.
    pub fn starting(first: OperationRef<'c, 'a>, seen: &mut FxHashSet<usize>) -> Option<Self> {
        let base = first.operands().next()?;
        plain(base)?;
        let mut updates = Vec::new();
        let mut next = Some(first);
        while let Some(op) = next {
            seen.insert(ir::op_key(op));
            updates.push(Update { op, window: window_of(op), slight: is_slight(op) });
            let result: Value = op.result(0).ok()?.into();
            let mut following = uses(result).filter(|used| used.operand == 0 && op_name(used.user) == UPDATE);
            next = following.next().map(|used| used.user).filter(|user| user.block() == op.block());
            if following.next().is_some() {
                next = None;
            }
        }
        Some(Self { base, updates, reads: Vec::new() })
    }

    /// A version of the array.
    pub fn version(&self, number: usize) -> Value<'c, 'a> {
        match number.checked_sub(1) {
            None => self.base,
            Some(index) => self.updates[index].op.result(0).expect("updates have a result").into(),
        }
    }

    /// The update that makes a version.
    pub fn update(&self, number: usize) -> OperationRef<'c, 'a> {
        self.updates[number - 1].op
    }

    /// Bytes of the array.
    pub fn bytes(&self) -> i64 {
        bytes(self.base)
    }

    /// Whether back ends would rather compute a part of this version from the one before than read it.
    ///
    /// They fuse an op into each of its users where that reads no more arrays than before: an update with a value that is
    /// broadcast, or has a dimension of size 1 where the array has more, reads the old array and hardly anything else. What
    /// then reads the old array keeps it alive.
    pub fn is_recomputed(&self, version: usize) -> bool {
        version > 0 && self.updates[version - 1].slight
    }

    /// Whether the last version can be where version 0 was: that may be overwritten, and the last version is what takes its
    /// place in the end.
    ///
    /// Where something else is computed of the last version to take that place, an array is needed to compute it into; then
    /// nothing is gained by doing without a copy before.
    pub fn stays_in_place(&self) -> bool {
        let last = self.version(self.updates.len());
        let returned = |number: Option<usize>| {
            uses(last).any(|used| match op_name(used.user) {
                "func.return" | "stablehlo.return" | "sdy.return" => {
                    number.is_none_or(|number| number == used.operand)
                }
                // What a loop starts from becomes what it carries.
                "stablehlo.while" => true,
                _ => false,
            })
        };
        let Some(argument) = ffi::as_block_argument(self.base) else {
            return defining_op(self.base).is_some_and(|op| op_name(op) != "stablehlo.constant")
                && returned(None);
        };
        let Some(parent) = argument.owner().parent_operation() else { return false };
        let number = argument.argument_number();
        match op_name(parent) {
            "func.func" => {
                let result = argument_attribute(parent, number, "tf.aliasing_output")
                    .and_then(|attribute| IntegerAttribute::try_from(attribute).ok())
                    .and_then(|result| usize::try_from(ffi::integer_value(result)).ok());
                is_donated(parent, number) && returned(result)
            }
            // Shards of an argument are in its memory, and those of what takes its place should be.
            "sdy.manual_computation" => {
                let from = ir::operand(parent, number);
                match from.filter(|from| ffi::as_block_argument(*from).is_none()) {
                    Some(from) => has_one_use(from) && returned(None),
                    None => manual_places(parent).is_some_and(|(_, places)| {
                        places.iter().any(|place| place.old == self.base && place.new == last)
                    }),
                }
            }
            // What a loop carries belongs to it. A loop that runs once is none to a back end, and what it starts from
            // may belong to someone else.
            "stablehlo.while" => {
                let body = parent.region(1).ok().and_then(|region| region.first_block());
                body.is_some_and(|block| block == argument.owner())
                    && returned(Some(number))
                    && !runs_once(parent)
            }
            _ => false,
        }
    }

    /// Finds all reads; `None` if some use keeps a version alive whatever is done.
    pub fn find_reads(&mut self) -> Option<()> {
        let own: FxHashMap<usize, usize> = self
            .updates
            .iter()
            .enumerate()
            .map(|(index, update)| (ir::op_key(update.op), index + 1))
            .collect();
        let mut reads = Vec::new();
        for version in 0..self.updates.len() {
            let next = self.updates[version].op;
            let mut seen = FxHashSet::default();
            for used in uses(self.version(version)) {
                if used.user == next && used.operand == 0 || !seen.insert(ir::op_key(used.user)) {
                    continue;
                }
                if used.user.block() != next.block() {
                    return None;
                }
                let (feeds, cone) = if used.user == next {
                    (Some(version + 1), Some(Vec::new()))
                } else {
                    match cone_of(used.user, &own) {
                        Some((reached, cone)) => (reached, Some(cone)),
                        None => (None, None),
                    }
                };
                let region = (used.operand == 0).then(|| region_of(used.user)).flatten();
                let Some(region) = region else {
                    // It needs just this version, and the update of it has to wait.
                    if feeds != Some(version + 1) {
                        return None;
                    }
                    continue;
                };
                let touches =
                    |update: &Update| update.window.as_ref().is_none_or(|window| window.intersects(&region));
                let before = self.updates[..version].iter().rev().take(FURTHEST);
                let after = self.updates[version..].iter().take(FURTHEST);
                let earliest = version - before.take_while(|update| !touches(update)).count();
                let latest = version + after.take_while(|update| !touches(update)).count();
                let dense = ir::i64_array(used.user, "strides")
                    .is_none_or(|strides| strides.iter().all(|&by| by == 1));
                let region = dense.then_some(region);
                reads.push(Read { op: used.user, region, version, earliest, latest, feeds, cone });
            }
        }
        // Uses come in no order to rely on; programs must.
        reads.sort_by(|left, right| {
            left.version.cmp(&right.version).then_with(|| match left.op == right.op {
                true => std::cmp::Ordering::Equal,
                false if ir::is_before(left.op, right.op) => std::cmp::Ordering::Less,
                false => std::cmp::Ordering::Greater,
            })
        });
        self.reads = reads;
        Some(())
    }
}

/// What an op's result leads to within its block: the first of the numbered ops that is reached, and all ops on the way
/// to those, in block order. `None` if that is too much.
fn cone_of<'c: 'a, 'a>(
    op: OperationRef<'c, 'a>,
    ends: &FxHashMap<usize, usize>,
) -> Option<(Option<usize>, Vec<OperationRef<'c, 'a>>)> {
    let block = op.block();
    let (mut reached, mut cone) = (None::<usize>, Vec::new());
    let mut seen = FxHashSet::from_iter([ir::op_key(op)]);
    let mut pending = vec![op];
    while let Some(op) = pending.pop() {
        for result in op.results() {
            for used in uses(result.into()) {
                // What is nested in an op of the block happens where that op does.
                let user = in_block(used.user, block)?;
                if !seen.insert(ir::op_key(user)) {
                    continue;
                }
                if seen.len() > LONGEST {
                    return None;
                }
                if let Some(&end) = ends.get(&ir::op_key(user)) {
                    reached = Some(reached.map_or(end, |first| first.min(end)));
                } else {
                    cone.push(user);
                    pending.push(user);
                }
            }
        }
    }
    cone.sort_by(|left, right| match ir::is_before(*left, *right) {
        true => std::cmp::Ordering::Less,
        false => std::cmp::Ordering::Greater,
    });
    Some((reached, cone))
}

/// What an update overwrites, if its starts are constants.
fn window_of(op: OperationRef<'_, '_>) -> Option<Region> {
    let (array, update) = (plain(op.operands().next()?)?, plain(op.operands().nth(1)?)?);
    let start = ir::window_starts(op, 2, update.shape, array.shape)?;
    Some(Region::of_window(start, update.shape))
}

/// What a slice reads, whatever its strides, if that is known.
fn region_of(slice: OperationRef<'_, '_>) -> Option<Region> {
    let result = plain(slice.result(0).ok()?.into())?;
    match op_name(slice) {
        "stablehlo.slice" => {
            let numbers = |name: &str| ir::i64_array(slice, name).map(<[i64]>::to_vec);
            Some(Region { start: numbers("start_indices")?, limit: numbers("limit_indices")? })
        }
        "stablehlo.dynamic_slice" => {
            let array = plain(slice.operands().next()?)?;
            let start = ir::window_starts(slice, 1, result.shape, array.shape)?;
            Some(Region::of_window(start, result.shape))
        }
        _ => None,
    }
}

/// Whether the value of an update is hardly anything to read beside the array.
fn is_slight(update: OperationRef<'_, '_>) -> bool {
    let rank = |index: usize| {
        let tensor = update.operands().nth(index).and_then(plain);
        tensor.map_or(0, |tensor| tensor.shape.iter().filter(|&&size| size > 1).count())
    };
    rank(1) < rank(0) || update.operand(1).is_ok_and(|value| is_spread(value, DEPTH))
}

/// Whether a value is hardly anything to read: a broadcast, or computed from such alone.
fn is_spread(value: Value<'_, '_>, depth: usize) -> bool {
    let Some(op) = defining_op(value) else { return false };
    match op_name(op) {
        "stablehlo.broadcast_in_dim" | "stablehlo.broadcast" | "stablehlo.iota" => true,
        "stablehlo.constant" => ir::splat_constant(value).is_some(),
        "stablehlo.slice" | "stablehlo.reverse" | "stablehlo.transpose" | "stablehlo.reshape" => {
            depth > 0 && op.operand(0).is_ok_and(|operand| is_spread(operand, depth - 1))
        }
        name if class::is_fusible(name) && !name.ends_with("dynamic_slice") && !name.ends_with("pad") => {
            depth > 0 && op.operands().all(|operand| is_spread(operand, depth - 1))
        }
        _ => false,
    }
}

/// Whether an argument of a function is donated to it.
pub fn is_donated(function: OperationRef<'_, '_>, argument: usize) -> bool {
    argument_attribute(function, argument, "tf.aliasing_output").is_some()
        || argument_attribute(function, argument, "jax.buffer_donor").is_some()
}

/// An attribute of an argument of a function.
pub fn argument_attribute<'c>(
    function: OperationRef<'c, '_>,
    argument: usize,
    name: &str,
) -> Option<melior::ir::Attribute<'c>> {
    let all = ArrayAttribute::try_from(ffi::attribute_of(function, "arg_attrs")?).ok()?;
    let own = all.element(argument).ok().filter(|attribute| attribute.is_dictionary())?;
    ffi::attribute_in(own.try_into().ok()?, name)
}

/// Whether a `while` counts up to a constant, and is there after one run.
fn runs_once(op: OperationRef<'_, '_>) -> bool {
    let block = |number| op.region(number).ok().and_then(|region| region.first_block());
    let last = |number| block(number).and_then(|block| block.terminator());
    let found = || {
        let test = defining_op(last(0)?.operand(0).ok()?).filter(|op| op_name(*op) == "stablehlo.compare")?;
        let less = ComparisonDirection::try_from(ffi::attribute_of(test, "comparison_direction")?).ok()?;
        let counter = ffi::as_block_argument(ir::operand(test, 0)?)?;
        let step = defining_op(last(1)?.operand(counter.argument_number()).ok()?)
            .filter(|op| op_name(*op) == "stablehlo.add")?;
        let is_counter = |value| {
            ffi::as_block_argument(value)
                .is_some_and(|argument| argument.argument_number() == counter.argument_number())
        };
        let first = ir::constant_integer(op.operand(counter.argument_number()).ok()?)?;
        let limit = ir::constant_integer(ir::operand(test, 1)?)?;
        let added = ir::constant_integer(ir::operand(step, 1)?)?;
        Some(
            less == ComparisonDirection::Lt
                && is_counter(ir::operand(step, 0)?)
                && first.checked_add(added)? >= limit,
        )
    };
    found().unwrap_or(false)
}
