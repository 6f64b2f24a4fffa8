// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Which dimensions of its results an op has from which of its operands, and along which it needs all there is.

use super::{Classes, body};
use crate::ir;
use crate::ops::class;
use crate::ops::products;
use crate::ops::reducers::{combiner, fresh_identity_of};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value, ValueLike};
use slimhlo_dialect::ffi;
use slimhlo_dialect::sdy::attrs::{TensorSharding, View};
use slimhlo_dialect::stablehlo::attrs::{GatherDimensionNumbers, ScatterDimensionNumbers};

impl<'c: 'a, 'a> Classes<'c, 'a> {
    /// Joins the dimensions that an op keeps; gives those along which it needs all there is.
    /// And whether the op is known.
    pub(super) fn relate(&mut self, op: OperationRef<'c, 'a>, name: &str) -> (Vec<u32>, bool) {
        match self.relate_known(op, name) {
            Some(along) => (along, true),
            None => {
                let values: Vec<_> = op.operands().chain(op.results().map(Value::from)).collect();
                let mut all: Vec<u32> = Vec::new();
                for value in values {
                    let (first, rank) = self.dims(value);
                    all.extend(first..first + rank as u32);
                }
                all.windows(2).for_each(|pair| self.join(pair[0], pair[1]));
                (all, false)
            }
        }
    }

    /// How many of the dimensions along which an op needs all there is it only sums up: they come first.
    pub(super) fn split_sums(&mut self, op: OperationRef<'c, 'a>, name: &str, along: &mut [u32]) -> usize {
        // What is there at first counts on each device.
        let counts_once = |init: usize| {
            let element = op.results().next().map(|result| ir::element_of(result.r#type()));
            let combine = combiner(op).zip(element).filter(|_| op.result_count() == 1);
            combine
                .is_some_and(|(combine, element)| fresh_identity_of(op, init, combine, element) == Some(None))
        };
        match name {
            "stablehlo.dot_general" => along.len(),
            "stablehlo.reduce" if counts_once(1) => along.len(),
            "stablehlo.scatter" if counts_once(0) => {
                // Updates come from all devices.
                let updates = op.operands().nth(2).map_or((0, 0), |updates| self.dims(updates));
                let is_update = |dim: u32| updates.0 <= dim && dim < updates.0 + updates.1 as u32;
                along.sort_by_key(|dim| !is_update(*dim));
                along.iter().take_while(|dim| is_update(**dim)).count()
            }
            _ => 0,
        }
    }

    /// As `relate`, if the op is known.
    fn relate_known(&mut self, op: OperationRef<'c, 'a>, name: &str) -> Option<Vec<u32>> {
        let operand = |index: usize| op.operands().nth(index);
        let result = || op.results().next().map(Value::from);
        let mut along = Vec::new();
        match name {
            "stablehlo.constant" | "stablehlo.iota" | "func.return" | "stablehlo.return" | "sdy.return"
            | "sdy.mesh" => {}
            "stablehlo.broadcast_in_dim" => self.broadcast(op)?,
            "stablehlo.transpose" => {
                let (from, to) = (operand(0)?, result()?);
                for (dim, &at) in ir::i64_array(op, "permutation")?.iter().enumerate() {
                    self.same_dim((from, usize::try_from(at).ok()?), (to, dim));
                }
            }
            "stablehlo.reshape" => self.reshape(operand(0)?, result()?, &mut along)?,
            "stablehlo.slice"
            | "stablehlo.pad"
            | "stablehlo.concatenate"
            | "stablehlo.reverse"
            | "stablehlo.dynamic_slice"
            | "stablehlo.dynamic_update_slice" => self.moved(op, name, &mut along)?,
            "stablehlo.reduce" => self.reduce(op, &mut along)?,
            "stablehlo.sort" => {
                let from = operand(0)?;
                let dim = usize::try_from(ir::constant_attribute(op, "dimension")?).ok()?;
                op.operands().skip(1).for_each(|other| self.same(from, other));
                op.results().for_each(|to| self.same(from, to.into()));
                along.extend(self.dim(from, dim));
            }
            // Partitioners do not cut it, whatever is around it.
            "chlo.top_k" => {
                let from = operand(0)?;
                op.results().for_each(|to| self.same(from, to.into()));
                let (first, rank) = self.dims(from);
                along.extend(first..first + rank as u32);
            }
            "stablehlo.dot_general" => self.dot(op, &mut along)?,
            "stablehlo.gather" => self.gather(op, &mut along)?,
            "stablehlo.scatter" => self.scatter(op, &mut along)?,
            "stablehlo.while" | "stablehlo.if" | "stablehlo.case" => self.regions(op, name, &mut along)?,
            "stablehlo.optimization_barrier" => {
                op.operands().zip(op.results()).for_each(|(from, to)| self.same(from, to.into()));
            }
            "sdy.sharding_constraint" | "sdy.reshard" => {
                let (from, to) = (operand(0)?, result()?);
                self.same(from, to);
                match ffi::attribute_of(op, "sharding").and_then(TensorSharding::view) {
                    Some(sharding) => {
                        self.say(op, to, sharding);
                    }
                    None => self.all_mixed(to),
                }
            }
            _ if class::is_elementwise(name) || name.starts_with("chlo.") => self.elementwise(op)?,
            _ => return None,
        }
        Some(along)
    }

    fn broadcast(&mut self, op: OperationRef<'c, 'a>) -> Option<()> {
        let (from, to): (_, Value<'c, 'a>) = (op.operands().next()?, op.results().next()?.into());
        let (from_shape, to_shape) = (shape(from)?, shape(to)?);
        for (dim, &at) in ir::i64_array(op, "broadcast_dimensions")?.iter().enumerate() {
            let at = usize::try_from(at).ok()?;
            if from_shape.get(dim)? == to_shape.get(at)? {
                self.same_dim((from, dim), (to, at));
            }
        }
        Some(())
    }

    fn reshape(&mut self, from: Value<'c, 'a>, to: Value<'c, 'a>, along: &mut Vec<u32>) -> Option<()> {
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
            let of = |classes: &mut Self, value, range: std::ops::Range<usize>, shape: &[i64]| {
                let dims = range.filter(|&dim| shape[dim] != 1);
                dims.filter_map(|dim| classes.dim(value, dim)).collect::<Vec<_>>()
            };
            let mut group = of(self, from, first..left, from_shape);
            let others = of(self, to, other..right, to_shape);
            let is_kept = group.len() <= 1 && others.len() <= 1;
            group.extend(others);
            group.windows(2).for_each(|pair| self.join(pair[0], pair[1]));
            if !is_kept {
                along.extend(group);
            }
        }
        Some(())
    }

    /// Ops that move elements along dimensions: those along which they do are needed whole.
    fn moved(&mut self, op: OperationRef<'c, 'a>, name: &str, along: &mut Vec<u32>) -> Option<()> {
        let to: Value<'c, 'a> = op.results().next()?.into();
        let to_shape = shape(to)?;
        let turned = if name == "stablehlo.reverse" { ir::i64_array(op, "dimensions")? } else { &[] };
        for from in op.operands() {
            let from_shape = shape(from)?;
            if from_shape.len() != to_shape.len() {
                continue;
            }
            self.same(from, to);
            for dim in 0..to_shape.len() {
                if from_shape[dim] != to_shape[dim] || turned.contains(&(dim as i64)) {
                    along.extend(self.dim(to, dim));
                }
            }
        }
        Some(())
    }

    fn reduce(&mut self, op: OperationRef<'c, 'a>, along: &mut Vec<u32>) -> Option<()> {
        let reduced = ir::i64_array(op, "dimensions")?;
        let count = op.operand_count() / 2;
        let from = op.operands().next()?;
        for (other, to) in op.operands().take(count).zip(op.results()) {
            self.same(from, other);
            let kept = (0..shape(from)?.len()).filter(|dim| !reduced.contains(&(*dim as i64)));
            kept.enumerate().for_each(|(at, dim)| self.same_dim((from, dim), (to.into(), at)));
        }
        for &dim in reduced {
            along.extend(self.dim(from, usize::try_from(dim).ok()?));
        }
        Some(())
    }

    fn regions(&mut self, op: OperationRef<'c, 'a>, name: &str, along: &mut Vec<u32>) -> Option<()> {
        let results: Vec<Value<'c, 'a>> = op.results().map(Value::from).collect();
        // What its body does with what is cut is not looked into.
        for value in &results {
            let (first, rank) = self.dims(*value);
            along.extend(first..first + rank as u32);
        }
        let is_loop = name == "stablehlo.while";
        if is_loop {
            op.operands().zip(&results).for_each(|(from, to)| self.same(from, *to));
        }
        for region in 0..op.region_count() {
            let block = body(op, region)?;
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

    fn dot(&mut self, op: OperationRef<'c, 'a>, along: &mut Vec<u32>) -> Option<()> {
        let numbers = products::dot_numbers(op)?;
        let (left, right) = (op.operands().next()?, op.operands().nth(1)?);
        let to: Value<'c, 'a> = op.results().next()?.into();
        let rank = |value: Value<'c, 'a>| ffi::shape(value.r#type()).map(<[i64]>::len);
        let batches = numbers.lhs_batching_dimensions().iter().zip(numbers.rhs_batching_dimensions());
        let mut at = 0;
        for (&own, &other) in batches {
            self.same_dim((left, usize::try_from(own).ok()?), (to, at));
            self.same_dim((right, usize::try_from(other).ok()?), (to, at));
            at += 1;
        }
        let pairs = numbers.lhs_contracting_dimensions().iter().zip(numbers.rhs_contracting_dimensions());
        for (&own, &other) in pairs {
            let own = usize::try_from(own).ok()?;
            self.same_dim((left, own), (right, usize::try_from(other).ok()?));
            along.extend(self.dim(left, own));
        }
        for (value, batch, contracted) in [
            (left, numbers.lhs_batching_dimensions(), numbers.lhs_contracting_dimensions()),
            (right, numbers.rhs_batching_dimensions(), numbers.rhs_contracting_dimensions()),
        ] {
            for dim in 0..rank(value)? {
                if !batch.contains(&(dim as i64)) && !contracted.contains(&(dim as i64)) {
                    self.same_dim((value, dim), (to, at));
                    at += 1;
                }
            }
        }
        Some(())
    }

    fn gather(&mut self, op: OperationRef<'c, 'a>, along: &mut Vec<u32>) -> Option<()> {
        let numbers = GatherDimensionNumbers::try_from(ffi::attribute_of(op, "dimension_numbers")?).ok()?;
        let (table, indices) = (op.operands().next()?, op.operands().nth(1)?);
        let to: Value<'c, 'a> = op.results().next()?.into();
        let (shape, out) = (ffi::shape(table.r#type())?, ffi::shape(to.r#type())?);
        let offset = numbers.offset_dims();
        let mut kept = (0..shape.len()).filter(|dim| {
            let dim = *dim as i64;
            !numbers.collapsed_slice_dims().contains(&dim) && !numbers.operand_batching_dims().contains(&dim)
        });
        let mut batch = 0;
        for (dim, &size) in out.iter().enumerate() {
            if offset.contains(&(dim as i64)) {
                let from = kept.next()?;
                self.same_dim((table, from), (to, dim));
                if shape[from] != size {
                    along.extend(self.dim(table, from));
                }
            } else {
                let from = batch + usize::from(batch as i64 >= numbers.index_vector_dim());
                self.same_dim((indices, from), (to, dim));
                batch += 1;
            }
        }
        let pairs = numbers.operand_batching_dims().iter().zip(numbers.start_indices_batching_dims());
        for (&own, &other) in pairs {
            self.same_dim((table, usize::try_from(own).ok()?), (indices, usize::try_from(other).ok()?));
        }
        for &dim in numbers.start_index_map() {
            along.extend(self.dim(table, usize::try_from(dim).ok()?));
        }
        if let Ok(dim) = usize::try_from(numbers.index_vector_dim()) {
            along.extend(self.dim(indices, dim));
        }
        Some(())
    }

    fn scatter(&mut self, op: OperationRef<'c, 'a>, along: &mut Vec<u32>) -> Option<()> {
        let numbers =
            ScatterDimensionNumbers::try_from(ffi::attribute_of(op, "scatter_dimension_numbers")?).ok()?;
        let count = op.operand_count() / 2;
        let indices = op.operands().nth(count)?;
        let paired = numbers.scatter_indices_batching_dims();
        for index in 0..count {
            let (into, updates) = (op.operands().nth(index)?, op.operands().nth(count + 1 + index)?);
            self.same(into, op.results().nth(index)?.into());
            let (shape, window) = (ffi::shape(into.r#type())?, ffi::shape(updates.r#type())?);
            let mut kept = (0..shape.len()).filter(|dim| {
                let dim = *dim as i64;
                !numbers.inserted_window_dims().contains(&dim)
                    && !numbers.input_batching_dims().contains(&dim)
            });
            let mut batch = 0;
            for (dim, &size) in window.iter().enumerate() {
                if numbers.update_window_dims().contains(&(dim as i64)) {
                    let from = kept.next()?;
                    self.same_dim((into, from), (updates, dim));
                    if shape[from] != size {
                        along.extend(self.dim(into, from));
                    }
                } else {
                    let from = batch + usize::from(batch as i64 >= numbers.index_vector_dim());
                    self.same_dim((indices, from), (updates, dim));
                    if !paired.contains(&(from as i64)) {
                        along.extend(self.dim(updates, dim));
                    }
                    batch += 1;
                }
            }
            for (&own, &other) in numbers.input_batching_dims().iter().zip(paired) {
                self.same_dim((into, usize::try_from(own).ok()?), (indices, usize::try_from(other).ok()?));
            }
            for &dim in numbers.scatter_dims_to_operand_dims() {
                along.extend(self.dim(into, usize::try_from(dim).ok()?));
            }
        }
        if let Ok(dim) = usize::try_from(numbers.index_vector_dim()) {
            along.extend(self.dim(indices, dim));
        }
        Some(())
    }
}

fn shape<'c>(value: Value<'c, '_>) -> Option<&'c [i64]> {
    ffi::shape(value.r#type())
}
