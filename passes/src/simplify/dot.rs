// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Dots of transposed values.

use super::site::Site;
use crate::ir::{self, discardable_attributes};
use crate::ops::products;
use crate::rewrite::{defining_op, users};
use crate::shards::is_partitioned;
use melior::ir::operation::OperationLike;
use melior::ir::{Attribute, OperationRef, Value, ValueLike};
use slimhlo_dialect::ffi::op_name;
use slimhlo_dialect::stablehlo::attrs::DotDimensionNumbers;

const DOT: &str = "stablehlo.dot_general";
/// Users of a transpose that are asked whether they can do without.
const MOST_USERS: usize = 16;

/// For each operand of a dot, the dimensions it batches over and those it sums over.
#[derive(Clone)]
struct Numbers {
    batching: [Vec<i64>; 2],
    contracting: [Vec<i64>; 2],
}

impl Numbers {
    fn of(op: OperationRef<'_, '_>) -> Option<Self> {
        let numbers = products::dot_numbers(op)?;
        Some(Self {
            batching: [numbers.lhs_batching_dimensions().into(), numbers.rhs_batching_dimensions().into()],
            contracting: [
                numbers.lhs_contracting_dimensions().into(),
                numbers.rhs_contracting_dimensions().into(),
            ],
        })
    }

    /// What is left of operand `index`'s dimensions in the result, in order.
    fn free(&self, index: usize, rank: usize) -> impl Iterator<Item = i64> {
        let taken = [&self.batching[index], &self.contracting[index]];
        (0..rank as i64).filter(move |dim| !taken.iter().any(|of| of.contains(dim)))
    }

    /// The same dot if operand `index` is what `permutation` was to make it from; `None` if its result would come in another order,
    /// or if the permutation moves what it batches over: back ends move that to the front, and would have to do it themselves.
    fn before(&self, index: usize, permutation: &[i64]) -> Option<Self> {
        let from = |dim: &i64| permutation.get(usize::try_from(*dim).ok()?).copied();
        let free: Option<Vec<_>> = self.free(index, permutation.len()).map(|dim| from(&dim)).collect();
        let moved = |dim: &i64| from(dim) != Some(*dim);
        if !free?.is_sorted() || self.batching[index].iter().any(moved) {
            return None;
        }
        let mut numbers = self.clone();
        numbers.batching[index] = self.batching[index].iter().map(from).collect::<Option<_>>()?;
        numbers.contracting[index] = self.contracting[index].iter().map(from).collect::<Option<_>>()?;
        Some(numbers)
    }

    fn attribute<'c>(&self, site: &Site<'c, '_>) -> Attribute<'c> {
        let [left, right] = &self.batching;
        let [from_left, from_right] = &self.contracting;
        DotDimensionNumbers::new(site.build.context(), left, right, from_left, from_right).into()
    }
}

/// A dot of a transposed value names other dimensions of what that was made from.
///
/// Back ends do the same in their own time, but not where a loop comes between the two.
pub fn dot_of_transpose<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let numbers = Numbers::of(site.op)?;
    (0..2).find_map(|index| {
        let inner = site.producer(index, "stablehlo.transpose")?;
        let source = inner.operands().next()?;
        let before = numbers.before(index, ir::i64_array(inner, "permutation")?)?;
        if !(site.may_skip(inner, source) || goes_with_all_its_users(inner)) || hands_on_shards(inner, source)
        {
            return None;
        }
        let mut operands: Vec<_> = site.op.operands().collect();
        operands[index] = source;
        let attribute = before.attribute(site);
        let result: Value = site.op.result(0).ok()?.into();
        let made = site.build.copy_with(
            site.op,
            &operands,
            &[("dot_dimension_numbers", attribute)],
            &[result.r#type()],
        );
        Some(made.result(0).ok()?.into())
    })
}

/// Whether a transpose may be cut as its source may not, so that what one of its users is cut by reaches the others. An argument that
/// says how it is cut hands nothing on, and neither does what has been given a sharding.
fn hands_on_shards(inner: OperationRef<'_, '_>, source: Value<'_, '_>) -> bool {
    let fixed = || match defining_op(source) {
        Some(op) => !discardable_attributes(op).is_empty() || op_name(op) == "sdy.sharding_constraint",
        None => true,
    };
    let several = || inner.result(0).is_ok_and(|value| users(value.into()).nth(1).is_some());
    is_partitioned(inner) && fixed() && several()
}

/// Whether nothing but dots beside it reads a transpose, and none of them needs it.
fn goes_with_all_its_users(inner: OperationRef<'_, '_>) -> bool {
    let Some(value) = inner.result(0).ok().map(Value::from) else { return false };
    let Some(permutation) = ir::i64_array(inner, "permutation") else { return false };
    let dispensable = |op: OperationRef| {
        let Some(numbers) =
            (op_name(op) == DOT && op.block() == inner.block()).then(|| Numbers::of(op)).flatten()
        else {
            return false;
        };
        op.operands()
            .enumerate()
            .all(|(index, operand)| operand != value || numbers.before(index, permutation).is_some())
    };
    let mut readers = users(value);
    readers.by_ref().take(MOST_USERS).all(dispensable) && readers.next().is_none()
}
