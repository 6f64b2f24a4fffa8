// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Arithmetic in the loops made, without dimensions of one element.
//!
//! Where a turn takes one head, or one row, all that it computes keeps that dimension:
//!
//! ```mlir
//! %weights = stablehlo.exponential %scores : tensor<2x1x256x512xf32>
//! %sums = stablehlo.reduce(%weights init: %zero) applies stablehlo.add across dimensions = [3]
//! ```
//!
//! becomes
//!
//! ```mlir
//! %matrices = stablehlo.reshape %scores : (tensor<2x1x256x512xf32>) -> tensor<2x256x512xf32>
//! %weights = stablehlo.exponential %matrices : tensor<2x256x512xf32>
//! %sums = stablehlo.reduce(%weights init: %zero) applies stablehlo.add across dimensions = [2]
//! ```
//!
//! A library that takes arithmetic and reductions of it at once (XLA for CPU's, for one) matches broadcasts with what is reduced by
//! their dimensions, which reshapes in between, by which a compiler leaves out some of those of one element, keep it from: a softmax's
//! gradient takes several times as long then. Reshapes that only add or leave out such dimensions move nothing.
//!
//! What a loop only adds products to is carried without such dimensions for the same reason: a product that a compiler has made one of
//! matrices is added to a matrix in place, and to what is none in a copy.
//!
//! Elements are computed by the same ops, in the same order. Products stay as they are: which of their dimensions are of the batch says how
//! back ends take them. Blocks without products of that kind are left alone.

use crate::ir::{self, Builder, discardable_attributes};
use crate::ops::access;
use crate::ops::class;
use crate::ops::products::dot_numbers;
use crate::rewrite::{Use, defining_op, is_unused, ops_in, uses};
use crate::splat::Splat;
use melior::ir::attribute::DenseElementsAttribute;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, RegionLike, Type, Value, ValueLike};
use rustc_hash::FxHashMap;
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::types::Tensor;

/// Leaves out dimensions of one element in the body of a loop.
pub fn run<'c: 'a, 'a>(made: OperationRef<'c, 'a>, build: &Builder<'c, 'a>) {
    let Some(body) = made.region(1).ok().and_then(|region| region.first_block()) else { return };
    let ops = || ops_in(body);
    if !ops().any(has_batch_of_one) {
        return;
    }
    (0..made.result_count()).for_each(|index| {
        thin_sum(made, index, build);
    });
    let ops: Vec<_> = ops().collect();
    let mut thin = Thin { build, known: FxHashMap::default(), made: Vec::new() };
    for op in ops {
        thin.rewrite(op);
    }
    for op in thin.made.into_iter().rev() {
        if is_unused(op) {
            build.erase(op);
        }
    }
}

/// Carries what a loop only adds a product to without dimensions of one element: a back end that leaves these out of the product has
/// the sum in a shape that is not the accumulator's, and copies it there.
fn thin_sum<'c: 'a, 'a>(made: OperationRef<'c, 'a>, index: usize, build: &Builder<'c, 'a>) -> Option<()> {
    let result: Value = made.result(index).ok()?.into();
    let tensor = ir::plain(result)?;
    let ty = thinned(&tensor).filter(|ty| *ty != result.r#type())?;
    let arguments: Vec<Value> = (0..made.region_count())
        .filter_map(|region| Some(made.region(region).ok()?.first_block()?.argument(index).ok()?.into()))
        .collect();
    let [condition, sum]: [Value; 2] = arguments.try_into().ok()?;
    let end = made.region(1).ok()?.first_block()?.terminator()?;
    let added = only_use(sum)?.user;
    let next = ir::first_result(added)?;
    let adds = op_name(added) == "stablehlo.add" && added.block() == end.block();
    let goes_on = only_use(next)?;
    if !adds || goes_on.user != end || goes_on.operand != index || uses(condition).next().is_some() {
        return None;
    }
    let other = added.operands().find(|operand| *operand != sum)?;
    let product = ["stablehlo.dot_general", "stablehlo.transpose"];
    defining_op(other).filter(|op| product.contains(&op_name(*op)))?;
    let (start, location) = (made.operands().nth(index)?, made.location());
    build.set_insertion_point_before(made);
    let splat = Splat::of(start).and_then(|splat| splat.bytes());
    let thin = splat
        .and_then(|bytes| build.splat_of_bytes(&bytes, ty, location))
        .unwrap_or_else(|| build.reshape(start, ty, location));
    build.set_operand(made, index, thin);
    if let Some(unused) = defining_op(start).filter(|op| is_unused(*op)) {
        build.erase(unused);
    }
    for value in [condition, sum, result] {
        build.set_type(value, ty);
    }
    build.set_insertion_point_before(added);
    let thin = build.reshape(other, ty, added.location());
    let operands: Vec<Value> =
        added.operands().map(|operand| if operand == sum { sum } else { thin }).collect();
    let next = build.insert("stablehlo.add", &operands, &[], ty, added.location());
    build.set_operand(end, index, next);
    build.erase(added);
    let readers: Vec<_> = uses(result).collect();
    build.set_insertion_point_before(made.next_in_block()?);
    let whole = build.reshape(result, Tensor::get(tensor.shape, tensor.element, None), location);
    readers.into_iter().for_each(|used| build.set_operand(used.user, used.operand, whole));
    Some(())
}

fn only_use<'c: 'a, 'a>(value: Value<'c, 'a>) -> Option<Use<'c, 'a>> {
    let mut all = uses(value);
    all.next().filter(|_| all.next().is_none())
}

/// Whether an op is a product with a batch dimension of one element.
fn has_batch_of_one(op: OperationRef<'_, '_>) -> bool {
    let has = || {
        let left = ir::plain(op.operands().next()?)?;
        Some(dot_numbers(op)?.lhs_batching_dimensions().iter().any(|&dim| left.shape[dim as usize] == 1))
    };
    op_name(op) == "stablehlo.dot_general" && has().unwrap_or(false)
}

/// The dimensions of more than one element.
fn long(shape: &[i64]) -> Vec<usize> {
    (0..shape.len()).filter(|&dim| shape[dim] != 1).collect()
}

/// A tensor's type without dimensions of one element; `None` if nothing would be left.
fn thinned<'c>(tensor: &Tensor<'c>) -> Option<Type<'c>> {
    let shape: Vec<i64> = tensor.shape.iter().copied().filter(|&size| size != 1).collect();
    (!shape.is_empty()).then(|| Tensor::get(&shape, tensor.element, None))
}

struct Thin<'c, 'a, 'r> {
    build: &'r Builder<'c, 'a>,
    /// Values without their dimensions of one element, by the values with them.
    known: FxHashMap<usize, Value<'c, 'a>>,
    /// Ops that may have become superfluous, in order.
    made: Vec<OperationRef<'c, 'a>>,
}

impl<'c: 'a, 'a> Thin<'c, 'a, '_> {
    /// A value without its dimensions of one element, before the op that takes it.
    fn value(&mut self, value: Value<'c, 'a>, user: OperationRef<'c, 'a>) -> Option<Value<'c, 'a>> {
        let tensor = ir::plain(value)?;
        if tensor.shape.iter().all(|&size| size != 1) {
            return Some(value);
        }
        if let Some(known) = self.known.get(&ir::key(value)) {
            return Some(*known);
        }
        let ty = thinned(&tensor)?;
        self.build.set_insertion_point_before(user);
        let constant = || {
            let op = defining_op(value).filter(|op| op_name(*op) == "stablehlo.constant")?;
            let elements = DenseElementsAttribute::try_from(ffi::attribute_of(op, "value")?).ok()?;
            let attributes = [("value", elements.reshape(ty).into())];
            Some(self.build.insert("stablehlo.constant", &[], &attributes, ty, op.location()))
        };
        let thin = constant().unwrap_or_else(|| self.build.reshape(value, ty, user.location()));
        self.made.extend(defining_op(thin));
        self.known.insert(ir::key(value), thin);
        Some(thin)
    }

    fn rewrite(&mut self, op: OperationRef<'c, 'a>) -> Option<()> {
        let name = op_name(op);
        let ones = |value: Value<'c, 'a>| ir::plain(value).is_some_and(|tensor| tensor.shape.contains(&1));
        if op.result_count() == 0
            || !discardable_attributes(op).is_empty()
            || !(op.operands().any(ones) || op.results().any(|result| ones(result.into())))
        {
            return None;
        }
        let result: Value<'c, 'a> = op.result(0).ok()?.into();
        let tensor = ir::plain(result)?;
        let ty = thinned(&tensor)?;
        let location = op.location();
        let kept = long(tensor.shape);
        let at = |dim: usize| kept.iter().position(|&kept| kept == dim);
        match name {
            "stablehlo.constant" => return None,
            "stablehlo.reshape" => {
                let from = op.operands().next()?;
                let thin = match self.known.get(&ir::key(from)) {
                    Some(known) => *known,
                    None if !ones(from) => from,
                    None => return None,
                };
                if thin.r#type() != ty || !ones(result) {
                    return None;
                }
                self.known.insert(ir::key(result), thin);
                self.made.push(op);
                return Some(());
            }
            "stablehlo.iota" => {
                let dim = at(access::iota_dimension(op)?)?;
                self.build.set_insertion_point_before(op);
                let thin = self.build.iota(ty, dim, location);
                self.replace(op, &[thin]);
            }
            "stablehlo.broadcast_in_dim" => {
                let from = op.operands().next()?;
                let shape = ir::plain(from)?.shape;
                let dims = ir::i64_array(op, "broadcast_dimensions")?;
                let dims: Option<Vec<usize>> =
                    long(shape).into_iter().map(|dim| at(dims[dim] as usize)).collect();
                let dims = dims?;
                // What is one element only is repeated as it is.
                let thin = if dims.is_empty() { from } else { self.value(from, op)? };
                self.build.set_insertion_point_before(op);
                if thin.r#type() == ty && dims.is_sorted() {
                    self.replace(op, &[thin]);
                } else if dims.is_empty() && !shape.is_empty() {
                    let scalar = Tensor::get(&[], tensor.element, None);
                    let scalar = self.build.reshape(from, scalar, location);
                    let thin = self.build.broadcast(scalar, &[], ty, location);
                    self.replace(op, &[thin]);
                } else {
                    let thin = self.build.broadcast(thin, &dims, ty, location);
                    self.replace(op, &[thin]);
                }
            }
            "stablehlo.reduce" => self.reduce(op)?,
            _ if class::is_elementwise(name) && op.result_count() == 1 => {
                let mut operands = Vec::with_capacity(op.operand_count());
                for operand in op.operands() {
                    let shape = ir::plain(operand)?.shape;
                    if shape.is_empty() {
                        operands.push(operand);
                    } else if shape == tensor.shape {
                        operands.push(self.value(operand, op)?);
                    } else {
                        return None;
                    }
                }
                self.build.set_insertion_point_before(op);
                let thin = self.build.copy_with(op, &operands, &[], &[ty]);
                self.replace(op, &[thin.result(0).ok()?.into()]);
            }
            _ => return None,
        }
        Some(())
    }

    /// A reduction of what has no dimensions of one element.
    fn reduce(&mut self, op: OperationRef<'c, 'a>) -> Option<()> {
        let inputs = op.result_count();
        let shape = ir::plain(op.operands().next()?)?.shape;
        let kept = long(shape);
        let dims = ir::i64_array(op, "dimensions")?;
        let dims: Vec<i64> =
            (0..kept.len()).filter(|&dim| dims.contains(&(kept[dim] as i64))).map(|dim| dim as i64).collect();
        if dims.is_empty() || op.operand_count() != 2 * inputs {
            return None;
        }
        let types: Option<Vec<_>> = op.results().map(|result| thinned(&ir::plain(result.into())?)).collect();
        let mut operands: Vec<Value<'c, 'a>> = Vec::with_capacity(2 * inputs);
        for (index, operand) in op.operands().enumerate() {
            operands.push(if index < inputs { self.value(operand, op)? } else { operand });
        }
        self.build.set_insertion_point_before(op);
        let attributes = [("dimensions", self.build.i64_array(&dims))];
        let thin = self.build.copy_with(op, &operands, &attributes, &types?);
        let results: Vec<Value<'c, 'a>> = thin.results().map(Value::from).collect();
        self.replace(op, &results);
        Some(())
    }

    /// Lets other values be an op's results, with their dimensions of one element where those are wanted.
    fn replace(&mut self, op: OperationRef<'c, 'a>, thin: &[Value<'c, 'a>]) {
        for (result, thin) in op.results().map(Value::from).zip(thin) {
            if result.r#type() == thin.r#type() {
                self.build.replace_all_uses_with(result, *thin);
                continue;
            }
            let back = self.build.reshape(*thin, result.r#type(), op.location());
            self.made.extend(defining_op(back));
            self.known.insert(ir::key(back), *thin);
            self.build.replace_all_uses_with(result, back);
        }
        self.build.erase(op);
    }
}
