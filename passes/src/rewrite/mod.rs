// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What passes need of MLIR's rewriting beyond what melior has: patterns as closures that may borrow and fail, use
//! lists, walks, and replacing an op without losing what hangs on it.
//!
//! The rewriting itself is MLIR's: [`Patterns`] are run by its greedy driver, [`Rewriter`] is its `RewriterBase`.

mod ffi;

pub use ffi::{
    Use, borrowed, context_of, copy_of, defining_op, erase_argument, fused_location, move_body, put_in_place,
    remove_attribute, set_attribute, set_discardable_attribute, take_body, uses,
};

use crate::framework::{Changed, PassError};
use melior::RewriterBase;
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{BlockRef, Location, Operation, OperationRef, RegionLike, Value, ValueLike};
use rustc_hash::FxHashSet;

/// Visits `root` and every op nested in it, parents first. The callback must not erase or move ops; collect them, or
/// use [`Patterns`].
pub fn walk<'c: 'a, 'a>(
    root: OperationRef<'c, 'a>,
    mut visit: impl FnMut(OperationRef<'c, 'a>) -> WalkResult,
) -> WalkResult {
    /// An iterator over ops that owns no borrow: the next op in line, and the way up, is found from the op itself.
    fn go<'c: 'a, 'a>(
        op: OperationRef<'c, 'a>,
        visit: &mut impl FnMut(OperationRef<'c, 'a>) -> WalkResult,
    ) -> WalkResult {
        match visit(op) {
            WalkResult::Advance => {}
            WalkResult::Skip => return WalkResult::Advance,
            WalkResult::Interrupt => return WalkResult::Interrupt,
        }
        for index in 0..op.region_count() {
            let mut block = op.region(index).ok().and_then(|region| region.first_block());
            while let Some(current) = block {
                let mut nested = current.first_operation();
                while let Some(child) = nested {
                    if go(child, visit) == WalkResult::Interrupt {
                        return WalkResult::Interrupt;
                    }
                    nested = child.next_in_block();
                }
                block = current.next_in_region();
            }
        }
        WalkResult::Advance
    }
    go(root, &mut visit)
}

/// The op of a block that is, or has inside, another op.
pub fn in_block<'c: 'a, 'a>(
    op: OperationRef<'c, 'a>,
    block: Option<BlockRef<'c, 'a>>,
) -> Option<OperationRef<'c, 'a>> {
    std::iter::successors(Some(op), OperationLike::parent_operation).find(|op| op.block() == block)
}

/// The ops of a block, in order; those nested in them are not visited.
pub fn ops_in<'c: 'a, 'a>(block: BlockRef<'c, 'a>) -> impl Iterator<Item = OperationRef<'c, 'a>> {
    std::iter::successors(block.first_operation(), |op| op.next_in_block())
}

/// The arguments of a block, in order.
pub fn arguments_of<'c: 'a, 'a>(block: BlockRef<'c, 'a>) -> impl Iterator<Item = Value<'c, 'a>> {
    (0..block.argument_count()).filter_map(move |index| block.argument(index).ok()).map(Value::from)
}

/// All ops of this name in `root`, itself included, parents first.
pub fn ops_named<'c: 'a, 'a>(root: OperationRef<'c, 'a>, name: &str) -> Vec<OperationRef<'c, 'a>> {
    let mut found = Vec::new();
    walk(root, |op| {
        if slimhlo_dialect::ffi::op_name(op) == name {
            found.push(op);
        }
        WalkResult::Advance
    });
    found
}

/// Values from outside that the regions of `op` use.
pub fn captures<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Vec<Value<'c, 'a>> {
    let mut found = Vec::new();
    if op.region_count() == 0 {
        return found;
    }
    let mut inside = crate::tables::Keys::default();
    let mut used = Vec::new();
    walk(op, |nested| {
        for index in 0..nested.region_count() {
            let mut block = nested.region(index).ok().and_then(|region| region.first_block());
            while let Some(current) = block {
                inside.extend(arguments_of(current).map(crate::ir::key));
                block = current.next_in_region();
            }
        }
        if crate::ir::op_key(nested) != crate::ir::op_key(op) {
            inside.extend(nested.results().map(|result| crate::ir::key(result.into())));
            used.extend(nested.operands());
        }
        WalkResult::Advance
    });
    for value in used {
        if inside.insert(crate::ir::key(value)) {
            found.push(value);
        }
    }
    found
}

/// The ops that use `value`, once per use.
pub fn users<'c: 'a, 'a>(value: Value<'c, 'a>) -> impl Iterator<Item = OperationRef<'c, 'a>> {
    uses(value).map(|used| used.user)
}

/// Whether `value` has exactly one use.
pub fn has_one_use(value: Value<'_, '_>) -> bool {
    let mut uses = uses(value);
    uses.next().is_some() && uses.next().is_none()
}

/// Whether no result of `op` is used.
pub fn is_unused(op: OperationRef<'_, '_>) -> bool {
    op.results().all(|result| uses(result.into()).next().is_none())
}

/// Gives `to` the discardable attributes of `from` (shardings, frontend attributes and the like) that it has not got.
/// Each pair of names in `renamed` moves one from the first name to the second; an empty second name drops it.
pub fn carry_attributes(from: OperationRef<'_, '_>, to: OperationRef<'_, '_>, renamed: &[(&str, &str)]) {
    for index in 0..from.discardable_attribute_count() {
        let Ok((name, attribute)) = from.discardable_attribute_at(index) else { continue };
        let Ok(name) = name.as_string_ref().as_str() else { continue };
        let name = renamed.iter().find(|(old, _)| *old == name).map_or(name, |(_, new)| new);
        if !name.is_empty() && to.discardable_attribute(name).is_err() {
            set_discardable_attribute(to, name, attribute);
        }
    }
}

/// Changes IR so that whoever drives the rewrite hears of it.
#[derive(Clone, Copy)]
pub struct Rewriter<'c, 'r> {
    base: RewriterBase<'c, 'r>,
}

impl<'c: 'r, 'r> Rewriter<'c, 'r> {
    /// MLIR's rewriter, for what is not below.
    pub fn base(&self) -> RewriterBase<'c, 'r> {
        self.base
    }

    /// Next, insert before `op`.
    pub fn before(&self, op: OperationRef<'c, '_>) -> &Self {
        self.base.set_insertion_point_before(op);
        self
    }

    /// Next, insert after `op`.
    pub fn after(&self, op: OperationRef<'c, '_>) -> &Self {
        self.base.set_insertion_point_after(op);
        self
    }

    /// Next, insert where `value` has just come to be.
    pub fn after_value(&self, value: Value<'c, '_>) -> &Self {
        self.base.set_insertion_point_after_value(value);
        self
    }

    /// Inserts an op, where a pattern's is by default before the op it matched.
    pub fn insert(&self, op: impl Into<Operation<'c>>) -> OperationRef<'c, 'r> {
        ffi::insert(self, op.into())
    }

    /// Inserts an op of one result and returns that.
    ///
    /// # Errors
    /// The op has no result.
    pub fn insert_value(&self, op: impl Into<Operation<'c>>) -> Result<Value<'c, 'r>, PassError<'c>> {
        Ok(self.insert(op).result(0)?.into())
    }

    /// Replaces all results of `op` and erases it. Fails, with nothing changed, unless the values are as many as the
    /// results and of their types.
    ///
    /// # Errors
    /// Values are not as many as results or not of their types.
    pub fn replace<'a>(&self, op: OperationRef<'c, 'a>, values: &[Value<'c, '_>]) -> Result<(), PassError<'c>>
    where
        'c: 'a,
    {
        self.check(op, values)?;
        self.base.replace_op_with_values(op, values);
        Ok(())
    }

    /// Replaces `op` by `with`, which takes its discardable attributes over.
    ///
    /// # Errors
    /// Results of the two are not alike.
    pub fn replace_with<'a>(
        &self,
        op: OperationRef<'c, 'a>,
        with: OperationRef<'c, 'a>,
    ) -> Result<(), PassError<'c>>
    where
        'c: 'a,
    {
        let values: Vec<Value> = with.results().map(Value::from).collect();
        self.check(op, &values)?;
        self.modify(with, || carry_attributes(op, with, &[]));
        self.base.replace_op_with_values(op, &values);
        Ok(())
    }

    fn check<'a>(&self, op: OperationRef<'c, 'a>, values: &[Value<'c, '_>]) -> Result<(), PassError<'c>>
    where
        'c: 'a,
    {
        if op.result_count() != values.len() {
            return Err(PassError::at(
                op,
                format!("has {} results but {} replacements", op.result_count(), values.len()),
            ));
        }
        for (index, (result, value)) in op.results().zip(values).enumerate() {
            if result.r#type() != value.r#type() {
                return Err(PassError::at(
                    op,
                    format!("result {index} is {} but its replacement {}", result.r#type(), value.r#type()),
                ));
            }
        }
        Ok(())
    }

    /// Erases `op`. Fails, with nothing changed, if a result of it is used.
    ///
    /// # Errors
    /// A result is used.
    pub fn erase<'a>(&self, op: OperationRef<'c, 'a>) -> Result<(), PassError<'c>>
    where
        'c: 'a,
    {
        if !is_unused(op) {
            return Err(PassError::at(op, "is used and cannot be erased"));
        }
        self.base.erase_op(op);
        Ok(())
    }

    /// Lets `change` change attributes, operands or the location of `op` in place.
    pub fn modify<T>(&self, op: OperationRef<'c, '_>, change: impl FnOnce() -> T) -> T {
        self.base.start_op_modification(op);
        let result = change();
        self.base.finalize_op_modification(op);
        result
    }
}

/// How [`Patterns`] are applied.
#[derive(Clone, Copy, Debug)]
pub struct Greedy {
    /// Times the whole of it is gone over again because something changed; `None` for no limit.
    pub max_iterations: Option<u32>,
    /// Rewrites within one iteration; `None` for no limit.
    pub max_rewrites: Option<u32>,
    /// Whether ops are first visited from the top.
    pub top_down: bool,
    /// Whether ops are folded, too.
    pub fold: bool,
    /// Whether constants are merged and moved to the top before, which does not count as a change.
    pub merge_constants: bool,
}

impl Greedy {
    /// Patterns and folds, top down, until nothing changes; or once, for somebody who sees to constants and goes on until no pass
    /// says that it changed something.
    pub fn folding(settle: bool) -> Self {
        let all = Self { fold: true, merge_constants: settle, ..Self::default() };
        if settle { all } else { Self { max_iterations: Some(1), ..all } }
    }
}

impl Default for Greedy {
    /// Patterns only, top down.
    fn default() -> Self {
        Self {
            max_iterations: Some(10),
            max_rewrites: None,
            top_down: true,
            fold: false,
            merge_constants: false,
        }
    }
}

/// How an application of [`Patterns`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Applied {
    /// Whether the IR was touched, by a pattern or by removing ops that had become dead.
    pub changed: Changed,
    /// Whether a fixed point was reached within the limits.
    pub converged: bool,
}

/// Called with an op to match and rewrite. `Ok(true)` means it was rewritten; after `Ok(false)` and `Err` the IR must
/// be as it was.
type Callback<'c, 'p> =
    Box<dyn for<'a> FnMut(OperationRef<'c, 'a>, &Rewriter<'c, 'a>) -> Result<bool, PassError<'c>> + 'p>;

struct Pattern<'c, 'p> {
    op_name: String,
    benefit: u16,
    callback: Callback<'c, 'p>,
}

/// Patterns on ops, applied together until nothing matches.
///
/// ```no_run
/// # use melior::ir::{OperationRef, operation::OperationLike};
/// # use slimhlo_passes::{PassResult, Patterns, Greedy, rewrite};
/// # fn run<'c>(op: OperationRef<'c, '_>) -> PassResult<'c> {
/// let applied = Patterns::new()
///     .on("stablehlo.negate", |op, rewriter| {
///         let Some(inner) = rewrite::defining_op(op.operand(0)?) else { return Ok(false) };
///         if slimhlo_dialect::ffi::op_name(inner) != "stablehlo.negate" {
///             return Ok(false);
///         }
///         rewriter.replace(op, &[inner.operand(0)?])?;
///         Ok(true)
///     })
///     .apply(op, &Greedy::default())?;
/// # Ok(applied.changed)
/// # }
/// ```
#[derive(Default)]
pub struct Patterns<'c, 'p> {
    patterns: Vec<Pattern<'c, 'p>>,
}

impl<'c, 'p> Patterns<'c, 'p> {
    /// No patterns yet.
    pub fn new() -> Self {
        Self { patterns: Vec::new() }
    }

    /// Adds a pattern on ops of this name.
    pub fn on(
        self,
        op_name: &str,
        callback: impl for<'a> FnMut(OperationRef<'c, 'a>, &Rewriter<'c, 'a>) -> Result<bool, PassError<'c>> + 'p,
    ) -> Self {
        self.on_with_benefit(op_name, 1, callback)
    }

    /// Adds a pattern on ops of this name. Of those that match an op, the one of the most benefit is used.
    pub fn on_with_benefit(
        mut self,
        op_name: &str,
        benefit: u16,
        callback: impl for<'a> FnMut(OperationRef<'c, 'a>, &Rewriter<'c, 'a>) -> Result<bool, PassError<'c>> + 'p,
    ) -> Self {
        self.patterns.push(Pattern { op_name: op_name.into(), benefit, callback: Box::new(callback) });
        self
    }

    /// Applies the patterns to everything nested in `op`, which must be isolated from above (a function, a module).
    /// The first error or panic of a pattern stops them all.
    ///
    /// # Errors
    /// The first error or panic of a pattern.
    pub fn apply(self, op: OperationRef<'c, '_>, config: &Greedy) -> Result<Applied, PassError<'c>> {
        ffi::apply(self.patterns, op, config)
    }
}

/// The location for what replaces `ops`: theirs, fused if they differ.
pub fn location_of<'c: 'a, 'a>(ops: &[OperationRef<'c, 'a>]) -> Option<Location<'c>> {
    let mut seen = FxHashSet::with_capacity_and_hasher(ops.len(), Default::default());
    let locations: Vec<Location<'c>> = ops
        .iter()
        .map(OperationLike::location)
        // Locations are uniqued: the same one has the same address.
        .filter(|location| seen.insert(location.to_raw().ptr))
        .collect();
    match locations[..] {
        [] => None,
        [only] => Some(only),
        _ => Some(fused_location(&locations)),
    }
}
