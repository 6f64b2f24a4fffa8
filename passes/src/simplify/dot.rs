// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Dots of transposed values, and those that sum nothing.

use super::site::{Site, plain};
use crate::ir::{self, discardable_attributes};
use crate::ops::products;
use crate::rewrite::{defining_op, users};
use crate::shards::is_partitioned;
use melior::ir::operation::OperationLike;
use melior::ir::{Attribute, OperationRef, TypeLike, Value, ValueLike};
use slimhlo_dialect::dense::element_bytes;
use slimhlo_dialect::ffi::op_name;
use slimhlo_dialect::stablehlo::attrs::DotDimensionNumbers;
use slimhlo_dialect::types::Tensor;

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

/// A dot that contracts no dimension is a product of elements, in the order of the operand that has all of them, if one has.
///
/// XLA makes it one for every back end, whatever precision is asked for, and fuses it then; in flax a mask of attention's
/// heads comes as such a dot, in the midst of the softmax. The sum of one product of -0 would be +0, which XLA does not keep
/// either. Where an algorithm is named, that says how operands are rounded.
pub fn dot_of_nothing<'c, 'a>(site: &Site<'c, 'a>) -> Option<Value<'c, 'a>> {
    let numbers = products::dot_numbers(site.op)?;
    if !numbers.lhs_contracting_dimensions().is_empty() || !products::multiplies_as_it_is(site.op) {
        return None;
    }
    let element = site.result.element;
    let operands = [site.operand(0)?, site.operand(1)?];
    let tensors = [plain(operands[0])?, plain(operands[1])?];
    // Widened, no element is another one.
    let widens = |tensor: &Tensor| {
        tensor.element == element
            || tensor.element.is_float() == element.is_float()
                && element_bytes(tensor.element) < element_bytes(element)
    };
    if !tensors.iter().all(widens) {
        return None;
    }
    let places = [products::places(site.op, 0)?, products::places(site.op, 1)?];
    // The result's dimensions in the order in which they are made.
    let whole = (0..2).find(|&index| tensors[index].rank() == site.result.rank());
    let order = whole.map_or_else(|| (0..site.result.rank() as i64).collect(), |index| places[index].clone());
    let made = |place: &i64| order.iter().position(|at| at == place).map(|at| at as i64);
    let dims: Vec<Vec<i64>> =
        places.iter().map(|places| places.iter().map(made).collect::<Option<_>>()).collect::<Option<_>>()?;
    if !dims.iter().all(|dims| dims.is_sorted()) {
        return None;
    }
    let shape: Vec<i64> = order.iter().map(|&place| site.result.shape[place as usize]).collect();
    let ty = Tensor::get(&shape, element, None);
    let spread = |index: usize| {
        let (value, shape) = (operands[index], &tensors[index].shape);
        let wide = match tensors[index].element == element {
            true => value,
            false => site.build.convert(value, Tensor::get(shape, element, None), site.location),
        };
        match shape.len() == order.len() {
            true => wide,
            false => site.build.broadcast_in_dim(wide, &dims[index], ty, site.location),
        }
    };
    let (left, right) = (spread(0), spread(1));
    let product = site.build.binary("stablehlo.multiply", left, right, site.location);
    if order.is_sorted() {
        return Some(product);
    }
    let permutation: Vec<i64> = (0..order.len() as i64).map(|place| made(&place)).collect::<Option<_>>()?;
    Some(site.build.transpose(product, &permutation, site.result.ty, site.location))
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
