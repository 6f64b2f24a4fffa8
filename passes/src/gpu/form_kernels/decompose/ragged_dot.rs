// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Dot products whose left operand is cut into groups (`chlo.ragged_dot`), as plain ones.
//!
//! The ends of the groups are the running sums of their sizes, of which there are few.
//!
//! * Rows in groups: a row's group is the number of groups that end at or before it. Its slice of the right operand is gathered,
//!   on the fly, and rows become a batch dimension: no row is multiplied with more than one slice. For rows behind the last group
//!   both operands are taken for zero, since a zero times an infinity would not be zero.
//! * What is contracted in groups: for each group both operands are taken for zero outside of it. Groups are a batch dimension
//!   where the operands are small, else a loop writes one after the other: what is zero outside of a group may be stored, but of
//!   one group at a time.
//! * A batch in groups: the product does not depend on them.

use super::replace;
use crate::framework::PassError;
use crate::ir::Builder;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::r#type::IntegerType;
use melior::ir::{Location, OperationRef, RegionLike, Type, Value, ValueLike};
use slimhlo_dialect::chlo::attrs::RaggedDotDimensionNumbers;
use slimhlo_dialect::dense;
use slimhlo_dialect::ffi::attribute_of;
use slimhlo_dialect::stablehlo::attrs::{ComparisonDirection, DotDimensionNumbers, GatherDimensionNumbers};
use slimhlo_dialect::types::Tensor;

/// Bytes of both operands, for all groups, up to which groups are a batch.
const SMALL: i64 = 4 << 20;

/// What all kinds have in common.
struct Ragged<'c, 'a, 'b> {
    builder: &'b Builder<'c, 'a>,
    op: OperationRef<'c, 'a>,
    lhs: Tensor<'c>,
    rhs: Tensor<'c>,
    numbers: RaggedDotDimensionNumbers<'c>,
    /// The dimension of the left operand that is cut.
    ragged: i64,
    groups: i64,
    location: Location<'c>,
}

/// Replaces a dot product of groups; one of dynamic shape is left for others to refuse.
pub fn ragged_dot<'c: 'a, 'a>(
    builder: &Builder<'c, 'a>,
    op: OperationRef<'c, 'a>,
) -> Result<(), PassError<'c>> {
    let mut tensors = Vec::new();
    for value in op.operands().chain([op.result(0)?.into()]) {
        let Some(tensor) = Tensor::new(value.r#type()).filter(Tensor::is_static) else { return Ok(()) };
        tensors.push(tensor);
    }
    let numbers = attribute_of(op, "ragged_dot_dimension_numbers").and_then(RaggedDotDimensionNumbers::view);
    let Some(numbers) = numbers else { return Ok(()) };
    let (&[lhs, rhs, sizes, _], &[ragged]) = (tensors.as_slice(), numbers.lhs_ragged()) else {
        return Ok(());
    };
    let Some(&groups) = sizes.shape.last() else { return Ok(()) };
    builder.set_insertion_point_before(op);
    let dot = Ragged { builder, op, lhs, rhs, numbers, ragged, groups, location: op.location() };
    let contracted = numbers.lhs_contracting().iter().position(|&dim| dim == ragged);
    let result = if numbers.lhs_batching().contains(&ragged) {
        let dims = [
            numbers.lhs_batching(),
            numbers.rhs_batching(),
            numbers.lhs_contracting(),
            numbers.rhs_contracting(),
        ];
        dot.dot(op.operand(0)?, op.operand(1)?, dims, op.result(0)?.r#type())
    } else if let Some(place) = contracted {
        dot.contracted(place, sizes.rank() == 1)?
    } else {
        dot.rows(sizes.rank() == 1)?
    };
    replace(builder, op, &[result]);
    Ok(())
}

/// Numbers from `from` on to below `to`.
fn range(from: usize, to: usize) -> Vec<i64> {
    (from..to).map(|number| number as i64).collect()
}

/// Where `label` is in a list that has it.
fn place_of(list: &[i64], label: i64) -> i64 {
    list.iter().position(|&other| other == label).unwrap_or_default() as i64
}

impl<'c: 'a, 'a> Ragged<'c, 'a, '_> {
    /// A number of a group, or of a place in the ragged dimension.
    fn number(&self) -> Type<'c> {
        IntegerType::new(self.builder.context(), 32).into()
    }

    fn sizes_of(&self, tensor: &Tensor<'c>, dims: &[i64]) -> Vec<i64> {
        dims.iter().map(|&dim| tensor.shape[dim as usize]).collect()
    }

    fn broadcast(&self, value: Value<'c, 'a>, dims: &[i64], shape: &[i64]) -> Value<'c, 'a> {
        let element = crate::ir::element_of(value.r#type());
        self.builder.broadcast_in_dim(value, dims, Tensor::get(shape, element, None), self.location)
    }

    fn numbers_along(&self, dim: usize, shape: &[i64]) -> Value<'c, 'a> {
        self.builder.iota(Tensor::get(shape, self.number(), None), dim, self.location)
    }

    fn zeros(&self, shape: &[i64], element: Type<'c>) -> Result<Value<'c, 'a>, PassError<'c>> {
        let ty = Tensor::get(shape, element, None);
        dense::element_bytes(element)
            .and_then(|bytes| self.builder.splat_of_bytes(&vec![0; bytes], ty, self.location))
            .ok_or_else(|| PassError::at(self.op, "has elements that there is no zero of"))
    }

    fn compare(
        &self,
        direction: ComparisonDirection,
        left: Value<'c, 'a>,
        right: Value<'c, 'a>,
    ) -> Value<'c, 'a> {
        self.builder.compare(direction, left, right, self.location)
    }

    /// The sum of numbers along their last dimension.
    fn sum(&self, value: Value<'c, 'a>, shape: &[i64]) -> Result<Value<'c, 'a>, PassError<'c>> {
        let (builder, location) = (self.builder, self.location);
        let last = shape.len() - 1;
        let operands = [value, self.zeros(&[], self.number())?];
        let result = Tensor::get(&shape[..last], self.number(), None);
        Ok(builder.reduce("stablehlo.add", operands, &[last as i64], result, location))
    }

    /// Sizes and ends of the groups, of shape `[outer..., groups]`; the sizes given have no outer dimensions if `is_common`.
    fn groups(&self, outer: &[i64], is_common: bool) -> Result<[Value<'c, 'a>; 2], PassError<'c>> {
        let rank = outer.len();
        let mut shape = outer.to_vec();
        shape.push(self.groups);
        let given = self.op.operand(2)?;
        let given_shape = slimhlo_dialect::ffi::shape(given.r#type()).unwrap_or(&[]);
        let numbers = Tensor::get(given_shape, self.number(), None);
        let mut sizes = self.builder.convert(given, numbers, self.location);
        if is_common && rank > 0 {
            sizes = self.broadcast(sizes, &[rank as i64], &shape);
        }
        // Of each end, the sizes up to it.
        let mut pairs = shape.clone();
        pairs.push(self.groups);
        let mut dims = range(0, rank);
        dims.push(rank as i64 + 1);
        let each = self.broadcast(sizes, &dims, &pairs);
        let (end, group) = (self.numbers_along(rank, &pairs), self.numbers_along(rank + 1, &pairs));
        let is_before = self.compare(ComparisonDirection::Le, group, end);
        let zeros = self.zeros(&pairs, self.number())?;
        let counted = self.builder.select(is_before, each, zeros, self.location);
        Ok([sizes, self.sum(counted, &pairs)?])
    }

    fn dot(
        &self,
        lhs: Value<'c, 'a>,
        rhs: Value<'c, 'a>,
        [lhs_batching, rhs_batching, lhs_contracting, rhs_contracting]: [&[i64]; 4],
        result: Type<'c>,
    ) -> Value<'c, 'a> {
        let context = self.builder.context();
        let numbers =
            DotDimensionNumbers::new(context, lhs_batching, rhs_batching, lhs_contracting, rhs_contracting);
        let attributes = [("dot_dimension_numbers", numbers.into())];
        self.builder.insert("stablehlo.dot_general", &[lhs, rhs], &attributes, result, self.location)
    }

    /// Each row with its group's slice of the right operand.
    fn rows(&self, is_common: bool) -> Result<Value<'c, 'a>, PassError<'c>> {
        let (builder, numbers, location) = (self.builder, self.numbers, self.location);
        let result = self.op.result(0)?.r#type();
        let (batching, contracting) = (numbers.lhs_batching(), numbers.lhs_contracting());
        let free: Vec<i64> = range(0, self.lhs.rank())
            .into_iter()
            .filter(|dim| !batching.contains(dim) && !contracting.contains(dim))
            .collect();
        let Some(&group_dim) = numbers.rhs_group().first() else {
            return Err(PassError::at(self.op, "has no dimension of groups"));
        };
        // The dimensions of the left operand that groups depend on.
        let mut outer = batching.to_vec();
        if !is_common {
            outer.extend(free.iter().filter(|dim| **dim < self.ragged));
        }
        let rank = outer.len();
        let [_, ends] = self.groups(&self.sizes_of(&self.lhs, &outer), is_common)?;

        let mut places = outer.clone();
        places.push(self.ragged);
        let rows = self.sizes_of(&self.lhs, &places);
        let mut pairs = rows.clone();
        pairs.push(self.groups);
        let mut dims = range(0, rank);
        dims.push(rank as i64 + 1);
        let ends = self.broadcast(ends, &dims, &pairs);
        let ended = self.compare(ComparisonDirection::Le, ends, self.numbers_along(rank, &pairs));
        let ended = builder.convert(ended, Tensor::get(&pairs, self.number(), None), location);
        let group = self.sum(ended, &pairs)?;

        let rest: Vec<i64> = range(0, self.rhs.rank())
            .into_iter()
            .filter(|dim| *dim != group_dim && !numbers.rhs_batching().contains(dim))
            .collect();
        let mut shape = rows.clone();
        shape.extend(self.sizes_of(&self.rhs, &rest));
        let sizes: Vec<i64> = range(0, self.rhs.rank())
            .into_iter()
            .map(|dim| if rest.contains(&dim) { self.rhs.shape[dim as usize] } else { 1 })
            .collect();
        let mut batches: Vec<(i64, i64)> = numbers.rhs_batching().iter().copied().zip(0..).collect();
        batches.sort_unstable();
        let (of_rhs, of_rows): (Vec<i64>, Vec<i64>) = batches.into_iter().unzip();
        let offsets = range(rows.len(), shape.len());
        let context = builder.context();
        let gathering = GatherDimensionNumbers::new(
            context,
            &offsets,
            &[group_dim],
            &of_rhs,
            &of_rows,
            &[group_dim],
            rows.len() as i64,
        );
        let slices = builder.insert(
            "stablehlo.gather",
            &[self.op.operand(1)?, group],
            &[("dimension_numbers", gathering.into()), ("slice_sizes", builder.i64_array(&sizes))],
            Tensor::get(&shape, self.rhs.element, None),
            location,
        );

        let contracted: Vec<i64> =
            numbers.rhs_contracting().iter().map(|dim| rows.len() as i64 + place_of(&rest, *dim)).collect();
        // The dimensions of what that comes to, and those of the result; the right operand's are the last ones of both.
        let mut made = places.clone();
        made.extend(free.iter().filter(|dim| !places.contains(dim)));
        let mut wanted = batching.to_vec();
        wanted.extend(&free);
        let wanted_shape = slimhlo_dialect::ffi::shape(result).unwrap_or(&[]);
        let permutation: Vec<i64> = (0..wanted_shape.len() as i64)
            .map(|dim| wanted.get(dim as usize).map_or(dim, |label| place_of(&made, *label)))
            .collect();
        let mut made_shape = vec![0; wanted_shape.len()];
        for (&from, &size) in permutation.iter().zip(wanted_shape) {
            made_shape[from as usize] = size;
        }
        let count = builder.number(self.groups as f64, self.number(), location);
        let count = builder.broadcast_scalar(count, Tensor::get(&rows, self.number(), None), location);
        let is_in_group = self.compare(ComparisonDirection::Lt, group, count);
        let lhs = self.op.operand(0)?;
        let lhs = self.zero_unless(self.broadcast(is_in_group, &places, self.lhs.shape), lhs)?;
        let rhs = self.zero_unless(self.broadcast(is_in_group, &range(0, rows.len()), &shape), slices)?;
        let made_type = Tensor::get(&made_shape, crate::ir::element_of(result), None);
        let dims = [&places[..], &range(0, rows.len()), contracting, &contracted];
        let product = self.dot(lhs, rhs, dims, made_type);
        Ok(match permutation.is_sorted() {
            true => product,
            false => builder.transpose(product, &permutation, result, location),
        })
    }

    /// A product for each group; the ragged dimension is the contracting one of that number.
    fn contracted(&self, place: usize, is_common: bool) -> Result<Value<'c, 'a>, PassError<'c>> {
        let numbers = self.numbers;
        let outer = |batching: &[i64], contracting: &[i64]| {
            if is_common { vec![] } else { [batching, &contracting[..place]].concat() }
        };
        let outers = [
            outer(numbers.lhs_batching(), numbers.lhs_contracting()),
            outer(numbers.rhs_batching(), numbers.rhs_contracting()),
        ];
        let ragged = [self.ragged, numbers.rhs_contracting()[place]];
        let [sizes, ends] = self.groups(&self.sizes_of(&self.lhs, &outers[0]), is_common)?;
        let starts = self.builder.binary("stablehlo.subtract", ends, sizes, self.location);
        let bytes = [&self.lhs, &self.rhs].map(|tensor| {
            let each = dense::element_bytes(tensor.element).unwrap_or(16) as i64;
            tensor.shape.iter().fold(each, |bytes, size| bytes.saturating_mul(*size))
        });
        let bytes = bytes[0].saturating_add(bytes[1]).saturating_mul(self.groups);
        if bytes <= SMALL {
            self.at_once(outers, ragged, [starts, ends])
        } else {
            self.in_turn(outers, ragged, [starts, ends])
        }
    }

    /// Products of all groups, as a batch.
    fn at_once(
        &self,
        outers: [Vec<i64>; 2],
        ragged: [i64; 2],
        [starts, ends]: [Value<'c, 'a>; 2],
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        let mut operands = Vec::new();
        for (number, tensor) in [&self.lhs, &self.rhs].into_iter().enumerate() {
            let mut shape = vec![self.groups];
            shape.extend(tensor.shape);
            let mut dims: Vec<i64> = outers[number].iter().map(|dim| dim + 1).collect();
            dims.push(0);
            let bounds = [starts, ends].map(|bound| self.broadcast(bound, &dims, &shape));
            let each = self.broadcast(self.op.operand(number)?, &range(1, shape.len()), &shape);
            operands.push(self.zero_outside(each, &shape, ragged[number] as usize + 1, bounds)?);
        }
        let after = |first: &[i64], dims: &[i64]| -> Vec<i64> {
            first.iter().copied().chain(dims.iter().map(|dim| dim + 1)).collect()
        };
        let dims = [
            after(&[0], self.numbers.lhs_batching()),
            after(&[0], self.numbers.rhs_batching()),
            after(&[], self.numbers.lhs_contracting()),
            after(&[], self.numbers.rhs_contracting()),
        ];
        let dims = [&dims[0][..], &dims[1], &dims[2], &dims[3]];
        Ok(self.dot(operands[0], operands[1], dims, self.op.result(0)?.r#type()))
    }

    /// Products of the groups, one after the other.
    fn in_turn(
        &self,
        outers: [Vec<i64>; 2],
        ragged: [i64; 2],
        bounds: [Value<'c, 'a>; 2],
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        let (builder, location, numbers) = (self.builder, self.location, self.numbers);
        let result = self.op.result(0)?.r#type();
        let shape = slimhlo_dialect::ffi::shape(result).unwrap_or(&[]);
        let element = crate::ir::element_of(result);
        let integer = |value: i64| builder.number(value as f64, self.number(), location);
        let state = [integer(0), self.zeros(shape, element)?];
        let types = [state[0].r#type(), result];
        let name = "stablehlo.while";
        let looped = builder.op_with_regions(name, &state, &[], &types, &[&types, &types], location);
        let block = |region| {
            let block = looped.region(region).ok().and_then(|region| region.first_block());
            block.ok_or_else(|| PassError::at(self.op, "cannot become a loop"))
        };
        let (condition, body) = (block(0)?, block(1)?);
        builder.set_insertion_point_to_end(condition);
        let goes_on =
            self.compare(ComparisonDirection::Lt, condition.argument(0)?.into(), integer(self.groups));
        builder.terminator("stablehlo.return", &[goes_on], location);

        builder.set_insertion_point_to_end(body);
        let (group, whole): (Value, Value) = (body.argument(0)?.into(), body.argument(1)?.into());
        let zero = integer(0);
        let outer = self.sizes_of(&self.lhs, &outers[0]);
        let mut slice = outer.clone();
        slice.push(1);
        let mut starts = vec![zero; outer.len()];
        starts.push(group);
        let bounds = bounds.map(|bound| {
            let slice = Tensor::get(&slice, self.number(), None);
            let bound = builder.dynamic_slice(bound, &starts, slice, location);
            builder.reshape(bound, Tensor::get(&outer, self.number(), None), location)
        });
        let mut operands = Vec::new();
        for (number, tensor) in [&self.lhs, &self.rhs].into_iter().enumerate() {
            let bounds = bounds.map(|bound| self.broadcast(bound, &outers[number], tensor.shape));
            let each = self.op.operand(number)?;
            operands.push(self.zero_outside(each, tensor.shape, ragged[number] as usize, bounds)?);
        }
        let dims = [
            numbers.lhs_batching(),
            numbers.rhs_batching(),
            numbers.lhs_contracting(),
            numbers.rhs_contracting(),
        ];
        let product = self.dot(operands[0], operands[1], dims, Tensor::get(&shape[1..], element, None));
        let mut one = shape.to_vec();
        one[0] = 1;
        let product = builder.reshape(product, Tensor::get(&one, element, None), location);
        let mut starts = vec![zero; shape.len()];
        starts[0] = group;
        let whole = builder.dynamic_update_slice(whole, product, &starts, location);
        let next = builder.binary("stablehlo.add", group, integer(1), location);
        builder.terminator("stablehlo.return", &[next, whole], location);
        builder.set_insertion_point_before(self.op);
        Ok(looped.result(1)?.into())
    }

    fn zero_unless(
        &self,
        condition: Value<'c, 'a>,
        value: Value<'c, 'a>,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        let ty = value.r#type();
        let shape = slimhlo_dialect::ffi::shape(ty).unwrap_or(&[]);
        let zeros = self.zeros(shape, crate::ir::element_of(ty))?;
        Ok(self.builder.select(condition, value, zeros, self.location))
    }

    /// A value that is zero where its place along a dimension is not between a group's start and end.
    fn zero_outside(
        &self,
        value: Value<'c, 'a>,
        shape: &[i64],
        dim: usize,
        [start, end]: [Value<'c, 'a>; 2],
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        let at = self.numbers_along(dim, shape);
        let begun = self.compare(ComparisonDirection::Le, start, at);
        let goes_on = self.compare(ComparisonDirection::Lt, at, end);
        self.zero_unless(self.builder.binary("stablehlo.and", begun, goes_on, self.location), value)
    }
}
