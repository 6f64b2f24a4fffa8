// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Which dimensions of its results an op has from which of its operands, and along which it needs all there is.

use super::class;
use super::products;
use super::reducers::{combiner, fresh_identity_of};
use crate::ir;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{BlockRef, OperationRef, RegionLike, Value, ValueLike};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::stablehlo::attrs::{
    ConvDimensionNumbers, GatherDimensionNumbers, ScatterDimensionNumbers,
};

/// A dimension of a value.
pub type Dim<'c, 'a> = (Value<'c, 'a>, usize);

/// What an op does to dimensions.
#[derive(Default)]
pub struct Related<'c, 'a> {
    /// Dimensions that are one: of an operand and a result, or of two operands.
    pub pairs: Vec<(Dim<'c, 'a>, Dim<'c, 'a>)>,
    /// Dimensions that become others, major to minor each: those of an operand, and of a result with as many elements.
    pub regrouped: Vec<(Vec<Dim<'c, 'a>>, Vec<Dim<'c, 'a>>)>,
    /// Dimensions along which elements are summed up.
    pub summed: Vec<Dim<'c, 'a>>,
    /// Other dimensions along which all there is is needed; not those that are regrouped.
    pub along: Vec<Dim<'c, 'a>>,
}

/// What an op does to dimensions, if that is known.
///
/// Of what is in regions nothing is said but what comes in and goes out. Whether initial values count once is asked where sums are told from
/// what else is needed whole: where one counts on each device, a sum over shards of each is not the sum.
pub fn related<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Option<Related<'c, 'a>> {
    let mut of = Related::default();
    of.read(op, op_name(op))?;
    Some(of)
}

impl<'c: 'a, 'a> Related<'c, 'a> {
    fn read(&mut self, op: OperationRef<'c, 'a>, name: &str) -> Option<()> {
        let operand = |index: usize| op.operands().nth(index);
        let result = || op.results().next().map(Value::from);
        match name {
            "stablehlo.constant" | "stablehlo.iota" | "func.return" | "stablehlo.return" | "sdy.return"
            | "sdy.mesh" => {}
            "stablehlo.broadcast_in_dim" => self.broadcast(op)?,
            "stablehlo.transpose" => {
                let (from, to) = (operand(0)?, result()?);
                for (dim, &at) in ir::i64_array(op, "permutation")?.iter().enumerate() {
                    self.pair((from, index(at)?), (to, dim));
                }
            }
            "stablehlo.reshape" => self.reshape(operand(0)?, result()?)?,
            "stablehlo.slice"
            | "stablehlo.pad"
            | "stablehlo.concatenate"
            | "stablehlo.reverse"
            | "stablehlo.dynamic_slice"
            | "stablehlo.dynamic_update_slice" => self.moved(op, name)?,
            "stablehlo.reduce" => self.reduce(op)?,
            "stablehlo.reduce_window" | "stablehlo.select_and_scatter" => self.windows(op)?,
            "stablehlo.sort" => {
                let from = operand(0)?;
                op.operands().skip(1).for_each(|other| self.same(from, other));
                op.results().for_each(|to| self.same(from, to.into()));
                let dim = index(ir::constant_attribute(op, "dimension")?)?;
                self.along.extend((dim < shape(from)?.len()).then_some((from, dim)));
            }
            // Partitioners do not cut it, whatever is around it.
            "chlo.top_k" => {
                let from = operand(0)?;
                op.results().for_each(|to| self.same(from, to.into()));
                self.all(from);
            }
            "stablehlo.dot_general" => self.dot(op)?,
            "stablehlo.convolution" => self.convolution(op)?,
            "stablehlo.gather" => self.gather(op)?,
            "stablehlo.scatter" => self.scatter(op)?,
            "stablehlo.while" | "stablehlo.if" | "stablehlo.case" => self.regions(op, name)?,
            "stablehlo.optimization_barrier" => {
                op.operands().zip(op.results()).for_each(|(from, to)| self.same(from, to.into()));
            }
            "sdy.sharding_constraint" | "sdy.reshard" => self.same(operand(0)?, result()?),
            _ if class::is_elementwise(name) || name.starts_with("chlo.") => self.elementwise(op)?,
            _ => return None,
        }
        Some(())
    }

    fn pair(&mut self, one: Dim<'c, 'a>, other: Dim<'c, 'a>) {
        self.pairs.push((one, other));
    }

    /// All dimensions of one value are those of another, if it has as many.
    fn same(&mut self, one: Value<'c, 'a>, other: Value<'c, 'a>) {
        let rank = |value| shape(value).map_or(0, <[i64]>::len);
        if rank(one) == rank(other) {
            self.pairs.extend((0..rank(one)).map(|dim| ((one, dim), (other, dim))));
        }
    }

    /// All of a value is needed.
    fn all(&mut self, value: Value<'c, 'a>) {
        self.along.extend((0..shape(value).map_or(0, <[i64]>::len)).map(|dim| (value, dim)));
    }

    fn broadcast(&mut self, op: OperationRef<'c, 'a>) -> Option<()> {
        let (from, to): (_, Value<'c, 'a>) = (op.operands().next()?, op.results().next()?.into());
        let (from_shape, to_shape) = (shape(from)?, shape(to)?);
        for (dim, &at) in ir::i64_array(op, "broadcast_dimensions")?.iter().enumerate() {
            let at = index(at)?;
            if from_shape.get(dim)? == to_shape.get(at)? {
                self.pair((from, dim), (to, at));
            }
        }
        Some(())
    }

    fn reshape(&mut self, from: Value<'c, 'a>, to: Value<'c, 'a>) -> Option<()> {
        let (from_shape, to_shape) = (shape(from)?, shape(to)?);
        let (mut left, mut right) = (0, 0);
        while left < from_shape.len() || right < to_shape.len() {
            // The fewest dimensions of each that hold as many elements.
            let (first, other) = (left, right);
            let (mut have, mut want) = (1_i64, 1_i64);
            loop {
                if have <= want && left < from_shape.len() && (have < want || left == first) {
                    have = have.checked_mul(from_shape[left])?;
                    left += 1;
                } else if have >= want && right < to_shape.len() && (want < have || right == other) {
                    want = want.checked_mul(to_shape[right])?;
                    right += 1;
                } else {
                    break;
                }
            }
            (have == want).then_some(())?;
            let of = |value, range: std::ops::Range<usize>, shape: &[i64]| -> Vec<Dim<'c, 'a>> {
                range.filter(|&dim| shape[dim] != 1).map(|dim| (value, dim)).collect()
            };
            let (group, others) = (of(from, first..left, from_shape), of(to, other..right, to_shape));
            match (&group[..], &others[..]) {
                ([], []) => {}
                (&[one], &[other]) => self.pair(one, other),
                _ => self.regrouped.push((group, others)),
            }
        }
        Some(())
    }

    /// Ops that move elements along dimensions: those along which they do are needed whole.
    fn moved(&mut self, op: OperationRef<'c, 'a>, name: &str) -> Option<()> {
        let to: Value<'c, 'a> = op.results().next()?.into();
        let to_shape = shape(to)?;
        let turned = if name == "stablehlo.reverse" { ir::i64_array(op, "dimensions")? } else { &[] };
        for from in op.operands() {
            let from_shape = shape(from)?;
            if from_shape.len() != to_shape.len() {
                continue;
            }
            self.same(from, to);
            let is_moved =
                |dim: &usize| from_shape[*dim] != to_shape[*dim] || turned.contains(&(*dim as i64));
            self.along.extend((0..to_shape.len()).filter(is_moved).map(|dim| (to, dim)));
        }
        Some(())
    }

    fn reduce(&mut self, op: OperationRef<'c, 'a>) -> Option<()> {
        let reduced = ir::i64_array(op, "dimensions")?;
        let count = op.operand_count() / 2;
        let from = op.operands().next()?;
        let rank = shape(from)?.len();
        for (other, to) in op.operands().take(count).zip(op.results()) {
            self.same(from, other);
            let kept = (0..rank).filter(|dim| !reduced.contains(&(*dim as i64)));
            self.pairs.extend(kept.enumerate().map(|(at, dim)| ((from, dim), (to.into(), at))));
        }
        let over: Option<Vec<Dim>> = reduced.iter().map(|&dim| Some((from, index(dim)?))).collect();
        if counts_once(op, 1) {
            self.summed = over?
        } else {
            self.along = over?
        }
        Some(())
    }

    /// Windows of one element along a dimension leave it as it is.
    fn windows(&mut self, op: OperationRef<'c, 'a>) -> Option<()> {
        let from = op.operands().next()?;
        let window = ir::i64_array(op, "window_dimensions")?;
        for other in op.operands().chain(op.results().map(Value::from)) {
            for dim in 0..shape(other)?.len() {
                if other != from
                    && window.get(dim) == Some(&1)
                    && shape(other)?[dim] == *shape(from)?.get(dim)?
                {
                    self.pair((from, dim), (other, dim));
                }
            }
        }
        let moved = (0..shape(from)?.len()).filter(|&dim| window.get(dim) != Some(&1));
        self.along.extend(moved.map(|dim| (from, dim)));
        Some(())
    }

    fn regions(&mut self, op: OperationRef<'c, 'a>, name: &str) -> Option<()> {
        let results: Vec<Value<'c, 'a>> = op.results().map(Value::from).collect();
        // What its body does with what is cut is not looked into.
        results.iter().for_each(|value| self.all(*value));
        let is_loop = name == "stablehlo.while";
        if is_loop {
            op.operands().zip(&results).for_each(|(from, to)| self.same(from, *to));
        }
        for region in 0..op.region_count() {
            let block: BlockRef<'c, 'a> = op.region(region).ok()?.first_block()?;
            for (index, to) in results.iter().enumerate() {
                if let Ok(argument) = block.argument(index) {
                    self.same(argument.into(), *to);
                }
            }
            if !is_loop || region == 1 {
                let end = block.terminator()?;
                end.operands().zip(&results).for_each(|(from, to)| self.same(from, *to));
            }
        }
        Some(())
    }

    fn elementwise(&mut self, op: OperationRef<'c, 'a>) -> Option<()> {
        let to: Value<'c, 'a> = op.results().next()?.into();
        let own = shape(to)?;
        for from in op.operands() {
            let shape = shape(from)?;
            (shape == own || shape.is_empty()).then_some(())?;
        }
        (op.region_count() == 0).then_some(())?;
        op.operands().for_each(|from| self.same(from, to));
        for other in op.results().skip(1) {
            (shape(other.into())? == own).then_some(())?;
            self.same(other.into(), to);
        }
        Some(())
    }

    fn dot(&mut self, op: OperationRef<'c, 'a>) -> Option<()> {
        let numbers = products::dot_numbers(op)?;
        let (left, right) = (op.operands().next()?, op.operands().nth(1)?);
        let to: Value<'c, 'a> = op.results().next()?.into();
        let batches = numbers.lhs_batching_dimensions().iter().zip(numbers.rhs_batching_dimensions());
        let mut at = 0;
        for (&own, &other) in batches {
            self.pair((left, index(own)?), (to, at));
            self.pair((right, index(other)?), (to, at));
            at += 1;
        }
        let pairs = numbers.lhs_contracting_dimensions().iter().zip(numbers.rhs_contracting_dimensions());
        for (&own, &other) in pairs {
            self.sum((left, index(own)?), (right, index(other)?));
        }
        for (value, batch, contracted) in [
            (left, numbers.lhs_batching_dimensions(), numbers.lhs_contracting_dimensions()),
            (right, numbers.rhs_batching_dimensions(), numbers.rhs_contracting_dimensions()),
        ] {
            for dim in 0..shape(value)?.len() {
                if !batch.contains(&(dim as i64)) && !contracted.contains(&(dim as i64)) {
                    self.pair((value, dim), (to, at));
                    at += 1;
                }
            }
        }
        Some(())
    }

    /// Two dimensions of operands, over whose products sums are made.
    fn sum(&mut self, left: Dim<'c, 'a>, right: Dim<'c, 'a>) {
        self.pair(left, right);
        self.summed.push(left);
    }

    /// Places are needed with what is around them; what is in groups is not looked into.
    fn convolution(&mut self, op: OperationRef<'c, 'a>) -> Option<()> {
        let numbers = ConvDimensionNumbers::try_from(ffi::attribute_of(op, "dimension_numbers")?).ok()?;
        let (left, right) = (op.operands().next()?, op.operands().nth(1)?);
        let to: Value<'c, 'a> = op.results().next()?.into();
        let is_one = |name: &str| ir::constant_attribute(op, name).is_none_or(|groups: i64| groups == 1);
        let batch = (left, index(numbers.input_batch_dimension())?);
        let read = (left, index(numbers.input_feature_dimension())?);
        let filter = (right, index(numbers.kernel_input_feature_dimension())?);
        let makes = (right, index(numbers.kernel_output_feature_dimension())?);
        let (to_batch, made) = (
            (to, index(numbers.output_batch_dimension())?),
            (to, index(numbers.output_feature_dimension())?),
        );
        if is_one("batch_group_count") {
            self.pair(batch, to_batch);
        } else {
            self.along.push(batch);
        }
        if is_one("batch_group_count") && is_one("feature_group_count") {
            self.pair(makes, made);
            self.sum(read, filter);
        } else {
            self.along.extend([read, filter, makes]);
        }
        let places = |dims: &[i64], value| -> Option<Vec<Dim<'c, 'a>>> {
            dims.iter().map(|&dim| Some((value, index(dim)?))).collect()
        };
        self.along.extend(places(numbers.input_spatial_dimensions(), left)?);
        self.along.extend(places(numbers.kernel_spatial_dimensions(), right)?);
        self.along.extend(places(numbers.output_spatial_dimensions(), to)?);
        Some(())
    }

    fn gather(&mut self, op: OperationRef<'c, 'a>) -> Option<()> {
        let numbers = GatherDimensionNumbers::try_from(ffi::attribute_of(op, "dimension_numbers")?).ok()?;
        let (table, indices) = (op.operands().next()?, op.operands().nth(1)?);
        let to: Value<'c, 'a> = op.results().next()?.into();
        let (from, out) = (shape(table)?, shape(to)?);
        let mut kept = (0..from.len()).filter(|dim| {
            let dim = *dim as i64;
            !numbers.collapsed_slice_dims().contains(&dim) && !numbers.operand_batching_dims().contains(&dim)
        });
        let mut batch = 0;
        for (dim, &size) in out.iter().enumerate() {
            if numbers.offset_dims().contains(&(dim as i64)) {
                let own = kept.next()?;
                self.pair((table, own), (to, dim));
                if from[own] != size {
                    self.along.push((table, own));
                }
            } else {
                let own = batch + usize::from(batch as i64 >= numbers.index_vector_dim());
                self.pair((indices, own), (to, dim));
                batch += 1;
            }
        }
        let pairs = numbers.operand_batching_dims().iter().zip(numbers.start_indices_batching_dims());
        for (&own, &other) in pairs {
            self.pair((table, index(own)?), (indices, index(other)?));
        }
        for &dim in numbers.start_index_map() {
            self.along.push((table, index(dim)?));
        }
        self.index_vectors(indices, numbers.index_vector_dim());
        Some(())
    }

    fn scatter(&mut self, op: OperationRef<'c, 'a>) -> Option<()> {
        let numbers =
            ScatterDimensionNumbers::try_from(ffi::attribute_of(op, "scatter_dimension_numbers")?).ok()?;
        let count = op.operand_count() / 2;
        let indices = op.operands().nth(count)?;
        let paired = numbers.scatter_indices_batching_dims();
        let counts_once = counts_once(op, 0);
        for number in 0..count {
            let (into, updates) = (op.operands().nth(number)?, op.operands().nth(count + 1 + number)?);
            self.same(into, op.results().nth(number)?.into());
            let (from, window) = (shape(into)?, shape(updates)?);
            let mut kept = (0..from.len()).filter(|dim| {
                let dim = *dim as i64;
                !numbers.inserted_window_dims().contains(&dim)
                    && !numbers.input_batching_dims().contains(&dim)
            });
            let mut batch = 0;
            for (dim, &size) in window.iter().enumerate() {
                if numbers.update_window_dims().contains(&(dim as i64)) {
                    let own = kept.next()?;
                    self.pair((into, own), (updates, dim));
                    if from[own] != size {
                        self.along.push((into, own));
                    }
                } else {
                    let own = batch + usize::from(batch as i64 >= numbers.index_vector_dim());
                    self.pair((indices, own), (updates, dim));
                    if !paired.contains(&(own as i64)) {
                        // Updates come from all devices.
                        let needed = if counts_once { &mut self.summed } else { &mut self.along };
                        needed.push((updates, dim));
                    }
                    batch += 1;
                }
            }
            for (&own, &other) in numbers.input_batching_dims().iter().zip(paired) {
                self.pair((into, index(own)?), (indices, index(other)?));
            }
            for &dim in numbers.scatter_dims_to_operand_dims() {
                self.along.push((into, index(dim)?));
            }
        }
        self.index_vectors(indices, numbers.index_vector_dim());
        Some(())
    }

    /// What an index is of is needed whole.
    fn index_vectors(&mut self, indices: Value<'c, 'a>, dim: i64) {
        let dim = index(dim).filter(|&dim| dim < shape(indices).map_or(0, <[i64]>::len));
        self.along.extend(dim.map(|dim| (indices, dim)));
    }
}

fn index(dim: i64) -> Option<usize> {
    usize::try_from(dim).ok()
}

fn shape<'c>(value: Value<'c, '_>) -> Option<&'c [i64]> {
    ffi::shape(value.r#type())
}

/// Whether what is there at first, which counts on each device, adds nothing.
pub(crate) fn counts_once(op: OperationRef<'_, '_>, init: usize) -> bool {
    let element = op.results().next().map(|result| ir::element_of(result.r#type()));
    let combine = combiner(op).zip(element).filter(|_| op.result_count() == 1);
    combine.is_some_and(|(combine, element)| fresh_identity_of(op, init, combine, element) == Some(None))
}
