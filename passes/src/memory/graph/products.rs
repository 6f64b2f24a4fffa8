// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Products and convolutions: operands in the order and width that libraries want, and products in parts.
//!
//! Products whose result is too small to keep all of a chip busy fall into parts: back ends let several groups of
//! threads each add up a part of what is contracted, and add their sums up in another kernel.

use super::classes::class_of;
use super::{Class, Id, Ids, Reduce, Scope, bytes_of, element_bytes, is_transpose, key};
use crate::ir::{self, constant_attribute};
use crate::ops::products::{contracted, dot_numbers, is_matrix_product, makes_filter};
use crate::rewrite::defining_op;
use crate::target::Reductions;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Type, TypeLike, Value, ValueLike};
use slimhlo_dialect::ffi::{attribute_of, op_name};
use slimhlo_dialect::stablehlo::attrs::{ConvDimensionNumbers, DotDimensionNumbers};
use slimhlo_dialect::types::Tensor;
use smallvec::smallvec as ids;

impl<'c: 'a, 'a> Scope<'c, 'a> {
    /// Products of 16-bit floats are computed in 32 bits, and operands of batched ones are brought into order.
    pub(super) fn dot(&mut self, op: OperationRef<'c, 'a>, name: &str) {
        let mut operands = self.operands(op);
        if operands.len() != 2 || op.result(0).ok().and_then(|result| Tensor::new(result.r#type())).is_none()
        {
            self.add(Class::Opaque, op, operands, false);
            return;
        }
        let numbers = (name == "dot_general")
            .then(|| attribute_of(op, "dot_dimension_numbers"))
            .flatten()
            .and_then(|attribute| DotDimensionNumbers::try_from(attribute).ok());
        if contracted(op) == Some(1) {
            return self.scaled(op, operands);
        }
        for (index, operand) in operands.iter_mut().enumerate() {
            let Ok(value) = op.operand(index) else { continue };
            let Some(tensor) = Tensor::new(value.r#type()) else { continue };
            // A product reads a transposed matrix as well.
            let node = self.node_of(*operand);
            if tensor.rank() == 2 && node.class == Class::Move && node.op.is_some_and(is_transpose) {
                *operand = node.operands[0];
            }
            *operand = self.widen(op, *operand);
            if let Some(numbers) = numbers {
                let (batch, contracted) = if index == 0 {
                    (numbers.lhs_batching_dimensions(), numbers.lhs_contracting_dimensions())
                } else {
                    (numbers.rhs_batching_dimensions(), numbers.rhs_contracting_dimensions())
                };
                if self.storage.orders_products && !self.is_ordered(tensor.shape, batch, contracted) {
                    *operand = self.in_order(op, *operand);
                }
            }
        }
        if !self.split_product(op, &operands) {
            self.add_wide(Class::Dot { joins: is_matrix_product(op) }, op, operands);
        }
    }

    /// A product that sums nothing is one of elements, for which back ends repeat what has fewer of them. It is computed in
    /// the order of an operand that has as many as the result: nothing is moved for it.
    fn scaled(&mut self, op: OperationRef<'c, 'a>, mut operands: Ids) {
        let Some(ty) = self.local_types(op).first().copied() else { return };
        let elements = |scope: &Self, id: Id| scope.graph.values[id as usize].elements;
        let all = operands.iter().map(|&id| elements(self, id)).max().unwrap_or_default();
        for operand in &mut operands {
            if elements(self, *operand) < all {
                *operand = self.one(Class::Broadcast, op, ids![*operand], ty);
            }
        }
        let class = class_of(op, "multiply", self.storage);
        self.add(class, op, operands, false);
    }

    /// Convolutions want features innermost, and libraries for GPUs the features that a filter makes outermost.
    pub(super) fn convolution(&mut self, op: OperationRef<'c, 'a>) {
        let mut operands = self.operands(op);
        for operand in &mut operands {
            *operand = self.widen(op, *operand);
        }
        let numbers = attribute_of(op, "dimension_numbers")
            .and_then(|attribute| ConvDimensionNumbers::try_from(attribute).ok());
        let (Some(numbers), [input, kernel]) = (numbers, &mut operands[..]) else {
            return self.add_wide(Class::Dot { joins: true }, op, operands);
        };
        let orders_filters = self.storage.library_convolves && is_one_group(op);
        // The gradient of a filter reads what the layer read and the gradient of what it made as they lie.
        let makes_filter = orders_filters && makes_filter(&numbers);
        if !makes_filter {
            let batch = Some(numbers.input_batch_dimension());
            let feature = Some(numbers.input_feature_dimension());
            if !goes_up(batch, numbers.input_spatial_dimensions(), feature) {
                *input = self.in_order(op, *input);
            }
            let features =
                [numbers.kernel_input_feature_dimension(), numbers.kernel_output_feature_dimension()];
            if orders_filters {
                *kernel = self.filter(op, *kernel, &numbers);
            } else if !goes_up(None, numbers.kernel_spatial_dimensions(), features) {
                *kernel = self.in_order(op, *kernel);
            }
        }
        let (first, last) = match makes_filter {
            true => (numbers.output_feature_dimension(), numbers.output_batch_dimension()),
            false => (numbers.output_batch_dimension(), numbers.output_feature_dimension()),
        };
        let result_in_order = goes_up(Some(first), numbers.output_spatial_dimensions(), Some(last));
        self.add_wide(Class::Dot { joins: true }, op, operands);
        if !result_in_order && let Ok(result) = op.result(0) {
            let product = self.operand(result.into());
            self.add(Class::Move, op, ids![product], false);
        }
    }

    /// A copy whose elements lie in another order.
    pub(super) fn in_order(&mut self, op: OperationRef<'c, 'a>, value: Id) -> Id {
        let ty = self.graph.values[value as usize].ty;
        self.one(Class::Move, op, ids![value], ty)
    }

    /// A filter as libraries for GPUs read it: made features, places, read features. The gradient of what a layer read
    /// takes the filter from its other end, and reads the very copy that the layer did.
    fn filter(&mut self, op: OperationRef<'c, 'a>, mut kernel: Id, numbers: &ConvDimensionNumbers<'c>) -> Id {
        let Ok(mut value) = op.operand(1) else { return kernel };
        let mut ends = (numbers.kernel_output_feature_dimension(), numbers.kernel_input_feature_dimension());
        if let Some(reverse) = defining_op(value).filter(|op| op_name(*op) == "stablehlo.reverse")
            && let Ok(filter) = reverse.operand(0)
        {
            (value, kernel, ends) = (filter, self.operand(filter), (ends.1, ends.0));
        }
        if goes_up(Some(ends.0), numbers.kernel_spatial_dimensions(), Some(ends.1)) {
            return kernel;
        }
        if let Some(&known) = self.filters.get(&key(value)) {
            return known;
        }
        let copy = self.in_order(op, kernel);
        self.filters.insert(key(value), copy);
        copy
    }

    /// What is computed with a filter that was given, its update mostly, is in the order of its gradient, and reads the
    /// copy that is there.
    pub(super) fn take_filters(&self, op: OperationRef<'c, 'a>, operands: &mut [Id]) {
        if self.filters.is_empty() {
            return;
        }
        for (operand, value) in operands.iter_mut().zip(op.operands()) {
            let given = self.node_of(*operand).class == Class::Parameter;
            if let Some(&filter) = self.filters.get(&key(value)).filter(|_| given) {
                *operand = filter;
            }
        }
    }

    /// Whether an operand of a dot is three groups of dimensions side by side: those of the batch, contracted and free ones.
    fn is_ordered(&self, shape: &[i64], batch: &[i64], contracted: &[i64]) -> bool {
        let kind = |dim: i64| {
            if batch.contains(&dim) {
                0
            } else if contracted.contains(&dim) {
                1
            } else {
                2
            }
        };
        let mut groups: Vec<i32> =
            (0..shape.len() as i64).filter(|&dim| shape[dim as usize] != 1).map(kind).collect();
        groups.dedup();
        let is_first = !self.storage.batches_first || groups.iter().skip(1).all(|&kind| kind != 0);
        is_first && (0..3).all(|kind| groups.iter().filter(|&&other| other == kind).count() <= 1)
    }

    /// Adds a product that falls into parts, the sums of each, and their sum; false if it is done as a whole.
    fn split_product(&mut self, op: OperationRef<'c, 'a>, operands: &[Id]) -> bool {
        let Some(rule) = &self.storage.splits_products else { return false };
        let (Some(numbers), &[left, right]) = (dot_numbers(op), operands) else { return false };
        let Some(ty) = self.local_types(op).first().copied() else { return false };
        let Some(result) = Tensor::new(ty).filter(Tensor::is_static) else { return false };
        let [Some(left_type), Some(right_type)] = [0, 1]
            .map(|index| ir::operand(op, index).and_then(|operand: Value| Tensor::new(operand.r#type())))
        else {
            return false;
        };
        let sides = [
            (left, left_type, numbers.lhs_contracting_dimensions()),
            (right, right_type, numbers.rhs_contracting_dimensions()),
        ];
        if !left_type.is_static() || !right_type.is_static() || !result.element.is_float() {
            return false;
        }
        let count =
            |dims: &[i64]| dims.iter().map(|&dim| left_type.shape[dim as usize]).fold(1, i64::saturating_mul);
        let (batch, contracted) = (count(numbers.lhs_batching_dimensions()), count(sides[0].2));
        // Those of 64 bits are a library's.
        let bytes = element_bytes(result.element);
        let parts = rule.parts(batch.unsigned_abs(), bytes_of(ty).1, contracted.unsigned_abs());
        if parts < 2 || bytes > 4 {
            return false;
        }
        // Parts begin where 16 bytes do: what does not fall into such is filled up with zeros before.
        let mut taken = Ids::new();
        for (operand, of, dims) in sides {
            let whole = parts as i64 * (16 / element_bytes(of.element).clamp(1, 16) as i64);
            let (Some(&last), true) = (dims.last(), contracted % whole != 0) else {
                taken.push(operand);
                continue;
            };
            // What is contracted is one dimension by then.
            let mut shape = of.shape.to_vec();
            dims.iter().for_each(|&dim| shape[dim as usize] = 1);
            shape[last as usize] = (contracted + whole - 1) / whole * whole;
            taken.push(self.one(Class::Pad, op, ids![operand], Tensor::get(&shape, of.element, None)));
        }
        let f32_type = Type::float32(crate::rewrite::context_of(op));
        let mut shape = vec![parts as i64];
        shape.extend(result.shape);
        let sums = self.one(Class::Dot { joins: false }, op, taken, Tensor::get(&shape, f32_type, None));
        let reduce = match self.storage.reductions {
            Reductions::Kernels { few, .. } if parts >= few => Reduce::Kernel,
            _ => Reduce::Reader,
        };
        let sum = self.one(Class::Reduce(reduce), op, ids![sums], ty);
        self.forward(op, &[sum]);
        true
    }
}

/// Where each dimension of the result of a dot that contracts none is in one of its operands, which has them all.
pub(super) fn order_of(op: OperationRef<'_, '_>) -> Option<Vec<i64>> {
    let numbers = dot_numbers(op)?;
    let rank =
        |at: usize| ir::operand(op, at).and_then(|value| Tensor::new(value.r#type())).map(|of| of.rank());
    let all = op.result(0).ok().and_then(|result| Tensor::new(result.r#type()))?.rank();
    let at = (0..2).find(|&at| rank(at) == Some(all))?;
    let batch = if at == 0 { numbers.lhs_batching_dimensions() } else { numbers.rhs_batching_dimensions() };
    let free = (0..all as i64).filter(|dim| !batch.contains(dim));
    Some(batch.iter().copied().chain(free).collect())
}

/// Whether dimensions come in the order in which they are named.
fn goes_up(first: Option<i64>, spatial: &[i64], last: impl IntoIterator<Item = i64>) -> bool {
    first.into_iter().chain(spatial.iter().copied()).chain(last).enumerate().all(|(at, dim)| at as i64 == dim)
}

/// Whether a convolution is of all features with all.
fn is_one_group(op: OperationRef<'_, '_>) -> bool {
    let count = |name| constant_attribute(op, name).unwrap_or(1);
    count("feature_group_count") == 1 && count("batch_group_count") == 1
}
