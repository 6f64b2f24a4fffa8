// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What back ends make of reductions, running sums and scatters.

use super::super::lists::Ids;
use super::{Class, Id, Map, Reduce, Scope, body, bytes_of};
use crate::ir::{self, element_bytes, i64_array, key};
use crate::ops::columns::Columns;
use crate::rewrite::{has_one_use, users};
use crate::splat::Splat;
use crate::target::{Reductions, Selects};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::r#type::IntegerType;
use melior::ir::{OperationRef, Type, TypeLike, Value, ValueLike};
use slimhlo_dialect::ffi::{attribute_of, op_name};
use slimhlo_dialect::stablehlo::attrs::ScatterDimensionNumbers;
use slimhlo_dialect::types::Tensor;
use smallvec::smallvec as ids;

impl<'c: 'a, 'a> Scope<'c, 'a> {
    /// What no library reduces is reduced in tiles, whose sums are stored.
    pub(super) fn reduce(&mut self, op: OperationRef<'c, 'a>) {
        let mut operands = self.operands(op);
        // Nothing is reduced along dimensions of size 1.
        let sizes = |ty: Type<'c>| Tensor::new(ty).and_then(|tensor| tensor.element_count());
        if let (1, Ok(input), Ok(result)) = (op.result_count(), op.operand(0), op.result(0))
            && sizes(input.r#type()).is_some()
            && sizes(input.r#type()) == sizes(result.r#type())
        {
            return self.forward(op, &operands[..1]);
        }
        let input = operands.first().and_then(|&input| Tensor::new(self.graph.values[input as usize].ty));
        let tile = match self.storage.reductions {
            Reductions::Library { tile } => tile,
            Reductions::Kernels { few, together } => {
                let count = |ty: Type<'c>| bytes_of(ty).1;
                let taken = op.operand(0).map_or(0, |value| count(value.r#type()));
                let made = op.result(0).map_or(1, |value| count(value.r#type()));
                let each = (taken / made.max(1)).max(1);
                let is_shared = together && few.is_multiple_of(each) && is_of_rows(op) && !goes_on(op);
                let reduce = if each < few && !is_shared { Reduce::Reader } else { Reduce::Kernel };
                self.add(Class::Reduce(reduce), op, operands, false);
                self.split(op);
                return;
            }
        };
        let (Some(input), true, false) = (input, op.result_count() == 1, is_library_reduce(op)) else {
            let reduce = if is_library_reduce(op) { Reduce::Library } else { Reduce::Tiles };
            operands[0] = self.widen(op, operands[0]);
            self.add(Class::Reduce(reduce), op, operands, false);
            return;
        };
        operands[0] = self.widen(op, operands[0]);
        let dims = i64_array(op, "dimensions").unwrap_or_default();
        let mut shape = input.shape.to_vec();
        let element =
            self.wide_type(op, input.ty).and_then(Tensor::new).map_or(input.element, |wide| wide.element);
        while input.is_static()
            && dims.iter().any(|&dim| shape.get(dim as usize).is_some_and(|&size| size > tile))
        {
            for &dim in dims {
                if let Some(size) = shape.get_mut(dim as usize) {
                    *size = (*size + tile - 1) / tile;
                }
            }
            operands[0] = self.one(Class::Opaque, op, operands.clone(), Tensor::get(&shape, element, None));
        }
        self.add(Class::Reduce(Reduce::Tiles), op, operands, false);
    }

    /// Notes into how many parts a sum is going to be written, if it is.
    fn split(&mut self, op: OperationRef<'c, 'a>) {
        let Some(rates) = self.splits_sums else { return };
        let parts = Columns::of(op).and_then(|columns| columns.parts(self.storage, rates));
        let made = op.result(0).ok().and_then(|made| self.known.get(&key(made.into())));
        if let (Some(parts), Some(&made)) = (parts, made) {
            let node = self.graph.values[made as usize].node;
            self.graph.nodes[node as usize].parts = u32::try_from(parts).unwrap_or(1);
        }
    }

    pub(super) fn reduce_window(&mut self, op: OperationRef<'c, 'a>) {
        let mut operands = self.operands(op);
        let input = op.operands().next().and_then(|input| Tensor::new(input.r#type()));
        let window = i64_array(op, "window_dimensions").unwrap_or_default();
        if let (Some(input), 1, true) = (input, op.result_count(), self.storage.stages_running_sums) {
            // A running sum: sums of tiles first, then those and their offsets.
            let running = (0..input.rank())
                .find(|&dim| window.get(dim) == Some(&input.shape[dim]) && input.shape[dim] > 32);
            if let Some(dim) = running
                && op.result(0).is_ok_and(|result| result.r#type() == input.ty)
            {
                operands[0] = self.widen(op, operands[0]);
                let ty = self.graph.values[operands[0] as usize].ty;
                if dim + 1 < input.rank() {
                    operands[0] = self.one(Class::Move, op, ids![operands[0]], ty);
                }
                let sums = self.one(Class::Opaque, op, operands, ty);
                self.add(Class::Move, op, ids![sums], false);
                return;
            }
        }
        if let Reductions::Kernels { .. } = self.storage.reductions {
            self.add(Class::Reduce(Reduce::Kernel), op, operands, false);
            return;
        }
        if is_library_reduce(op) {
            self.add(Class::Reduce(Reduce::Library), op, operands, false);
            return;
        }
        let operands = operands.into_iter().map(|operand| self.widen(op, operand)).collect();
        self.add_wide(Class::Opaque, op, operands);
    }

    /// 16-bit floats are accumulated in 32 bits.
    pub(super) fn scatter(&mut self, op: OperationRef<'c, 'a>) {
        let mut operands = self.operands(op);
        if let (&[base, indices, update], Ok(result)) = (&operands[..], op.result(0))
            && self.is_gathered_to_scatter(op)
        {
            let whole = result.r#type();
            let base = self.one(Class::Opaque, op, ids![base], whole);
            let done = self.one(Class::Update, op, ids![base, update, indices], whole);
            self.add(Class::Move, op, ids![done], false);
            return;
        }
        // In one place only, it is an update.
        let indices = ir::operand(op, operands.len() / 2).and_then(|indices| Tensor::new(indices.r#type()));
        let places =
            indices.zip(attribute_of(op, "scatter_dimension_numbers")).and_then(|(indices, attribute)| {
                let numbers = ScatterDimensionNumbers::try_from(attribute).ok()?;
                let vector = usize::try_from(numbers.index_vector_dim()).ok()?;
                let length = indices.shape.get(vector).copied().unwrap_or(1);
                Some(indices.element_count()? / length.max(1))
            });
        if let (Some(1), &[base, indices, update]) = (places, &operands[..]) {
            self.add(Class::Update, op, ids![base, update, indices], false);
            return;
        }
        if self.storage.chooses_single && self.chooses_by_place(op, &operands) {
            return;
        }
        let computes = body(op, 0)
            .and_then(|block| block.first_operation())
            .is_some_and(|first| first.result_count() > 0);
        if !computes {
            self.add(Class::Scatter, op, operands, false);
            return;
        }
        for operand in &mut operands {
            *operand = self.widen(op, *operand);
        }
        self.add_wide(Class::Scatter, op, operands);
    }

    /// Takes a scatter of one element into each row for a choice between that and what is there, by the place in the row; whether it is one.
    fn chooses_by_place(&mut self, op: OperationRef<'c, 'a>, operands: &[Id]) -> bool {
        let numbers = attribute_of(op, "scatter_dimension_numbers")
            .and_then(|numbers| ScatterDimensionNumbers::try_from(numbers).ok());
        let (Some(numbers), &[base, indices, update]) = (numbers, operands) else { return false };
        let content = self.graph.values[base as usize];
        let Some(tensor) = Tensor::new(content.ty) else { return false };
        let &[dim] = numbers.scatter_dims_to_operand_dims() else { return false };
        let each = usize::try_from(dim)
            .ok()
            .and_then(|dim| tensor.shape.get(dim))
            .map_or(0, |size| size.unsigned_abs());
        let rows = self.graph.values[update as usize].elements;
        if numbers.input_batching_dims().len() + 1 != tensor.rank()
            || rows.saturating_mul(each) != content.elements
        {
            return false;
        }
        let spread = [indices, update].map(|id| self.one(Class::Broadcast, op, ids![id], content.ty));
        let choice = Class::Map(Map { expensive: false, library: false });
        self.add(choice, op, ids![base, spread[0], spread[1]], false);
        true
    }

    /// Whether windows of a scatter cover some of a dimension that is cut, but not all: partitioners bring all pieces of what
    /// is written together, as a window may lie in two of them. Single elements, rows and planes each device picks out for itself.
    fn is_gathered_to_scatter(&self, op: OperationRef<'c, 'a>) -> bool {
        let (Ok(base), Ok(update)) = (op.operand(0), op.operand(2)) else { return false };
        let Some(pieces) = self.shards.of(base) else { return false };
        let (Some(base), Some(update)) = (Tensor::new(base.r#type()), Tensor::new(update.r#type())) else {
            return false;
        };
        let Some(numbers) = attribute_of(op, "scatter_dimension_numbers")
            .and_then(|attribute| ScatterDimensionNumbers::try_from(attribute).ok())
        else {
            return false;
        };
        let single = [numbers.inserted_window_dims(), numbers.input_batching_dims()];
        let spread = (0..base.rank()).filter(|dim| !single.iter().any(|dims| dims.contains(&(*dim as i64))));
        spread.zip(numbers.update_window_dims()).any(|(dim, &window)| {
            let size = usize::try_from(window).ok().and_then(|window| update.shape.get(window));
            pieces.get(dim).is_some_and(|&count| count > 1) && size != Some(&1) && size != base.shape.get(dim)
        })
    }

    /// Places are numbered, the chosen ones found, and their numbers scattered to.
    pub(super) fn select_and_scatter(&mut self, op: OperationRef<'c, 'a>) {
        let operands = self.operands(op);
        let (Ok(input), Ok(source)) = (op.operand(0), op.operand(1)) else { return };
        let (Some(input), Some(source)) = (Tensor::new(input.r#type()), Tensor::new(source.r#type())) else {
            self.add(Class::Opaque, op, operands, false);
            return;
        };
        if self.storage.selects == Selects::AsOne {
            self.add(Class::Opaque, op, operands, false);
            return;
        }
        let context = crate::rewrite::context_of(op);
        let i32 = IntegerType::new(context, 32).into();
        let numbered = || (0..input.rank()).map(|_| Tensor::get(source.shape, i32, None));
        if self.storage.selects == Selects::Places {
            // One kernel, which numbers places as it goes and keeps the values that it compares, wide; the scatter reads one number after another.
            let is_narrow =
                source.element.is_float() && element_bytes(source.element).is_some_and(|bytes| bytes < 4);
            let value = if is_narrow { Type::float32(context) } else { source.element };
            let found: Vec<Type> =
                std::iter::once(Tensor::get(source.shape, value, None)).chain(numbered()).collect();
            let found = self.push(Class::Reduce(Reduce::Kernel), Some(op), ids![operands[0]], &found);
            let base = self.one(Class::Broadcast, op, ids![operands[2]], input.ty);
            let mut reads: Ids = ids![base];
            reads.extend(self.graph.results_of(found).skip(1));
            reads.push(operands[1]);
            self.add(Class::Scatter, op, reads, false);
            return;
        }
        let numbers = Tensor::get(input.shape, i32, None);
        let mut reads: Ids = ids![operands[0]];
        for _ in 0..input.rank() {
            reads.push(self.one(Class::Opaque, op, Ids::new(), numbers));
        }
        let mut chosen = vec![source.ty];
        chosen.extend(numbered());
        let chosen = self.push(Class::Opaque, Some(op), reads, &chosen);
        let places: Ids = self.graph.results_of(chosen).skip(1).collect();
        let count = source.element_count().unwrap_or(0);
        let rank = input.rank() as i64;
        let places =
            self.one(Class::Join { alone: false }, op, places, Tensor::get(&[count, rank], i32, None));
        let base = self.one(Class::Broadcast, op, ids![operands[2]], input.ty);
        self.add(Class::Scatter, op, ids![base, places, operands[1]], false);
    }

    /// Whether an op adds something to what is scattered into zeros, and nothing else needs that: it is scattered into the
    /// something.
    pub(super) fn scatters_into(&mut self, op: OperationRef<'c, 'a>) -> bool {
        let (Ok(left), Ok(right)) = (op.operand(0), op.operand(1)) else { return false };
        for (scattered, other) in [(left, right), (right, left)] {
            let (id, other) = (self.operand(scattered), self.operand(other));
            let node = self.node_of(id);
            let Some(scatter) = node.op.filter(|_| node.class == Class::Scatter && node.count == 1) else {
                continue;
            };
            let sums = folds_with(scatter) == Some("stablehlo.add");
            let alone = has_one_use(scattered) && other != id;
            if !(sums && alone && scatter.operand(0).is_ok_and(Splat::is_zero)) {
                continue;
            }
            let operands: Ids = [other].into_iter().chain(node.operands.iter().skip(1).copied()).collect();
            let ty = self.graph.values[id as usize].ty;
            let sum = self.one(Class::Scatter, scatter, operands, ty);
            self.forward(op, &[sum]);
            return true;
        }
        false
    }
}

/// What a reduction folds with, if it is one op.
fn folds_with<'c>(op: OperationRef<'c, '_>) -> Option<&'c str> {
    let first = body(op, 0)?.first_operation()?;
    let next = first.next_in_block()?;
    (next.operand_count() == 1 && next.result_count() == 0).then(|| op_name(first))
}

/// Whether a reduction is along the last dimensions.
fn is_of_rows(op: OperationRef<'_, '_>) -> bool {
    let shape = op.operands().next().and_then(|input| Tensor::new(input.r#type())).map(|input| input.shape);
    let (Some(shape), Some(dims)) = (shape, i64_array(op, "dimensions")) else { return false };
    let kept = (0..shape.len()).rev().find(|&dim| shape[dim] != 1 && !dims.contains(&(dim as i64)));
    let first = (0..shape.len()).find(|&dim| shape[dim] != 1 && dims.contains(&(dim as i64)));
    kept.zip(first).is_none_or(|(kept, first)| kept < first)
}

/// Whether what is reduced is only reduced further in the same way: that is one reduction.
fn goes_on(op: OperationRef<'_, '_>) -> bool {
    let Some(result) = op.results().next().map(Value::from).filter(|&result| has_one_use(result)) else {
        return false;
    };
    let next = users(result).next().filter(|user| op_name(*user) == "stablehlo.reduce");
    next.is_some_and(|next| folds_with(next).is_some() && folds_with(next) == folds_with(op))
}

/// Whether a library does this reduction.
fn is_library_reduce(op: OperationRef<'_, '_>) -> bool {
    let Some(input) = op.operands().next().and_then(|input| Tensor::new(input.r#type())) else {
        return false;
    };
    let known = matches!(folds_with(op), Some("stablehlo.add" | "stablehlo.maximum" | "stablehlo.minimum"));
    // Sums of 16 bits are not what it computes; the largest of them is.
    let half = input.element.is_bf16() && folds_with(op) != Some("stablehlo.add");
    known && (input.element.is_f32() || input.element.is_f64() || half) && op.result_count() == 1
}
