// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Products whose result is too small to keep all of a chip busy: back ends let several groups of threads each add up a part of what is
//! contracted, and add their sums up in another kernel.

use super::{Class, Ids, Reduce, Scope, bytes_of, element_bytes};
use crate::ops::products::dot_numbers;
use crate::target::Reductions;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Type, TypeLike, Value, ValueLike};
use slimhlo_dialect::types::Tensor;
use smallvec::smallvec as ids;

impl<'c: 'a, 'a> Scope<'c, 'a> {
    /// Adds a product that falls into parts, the sums of each, and their sum; false if it is done as a whole.
    pub(super) fn split_product(&mut self, op: OperationRef<'c, 'a>, operands: &[super::Id]) -> bool {
        let Some(rule) = &self.storage.splits_products else { return false };
        let (Some(numbers), &[left, right]) = (dot_numbers(op), operands) else { return false };
        let Some(ty) = self.local_types(op).first().copied() else { return false };
        let Some(result) = Tensor::new(ty).filter(Tensor::is_static) else { return false };
        let [Some(left_type), Some(right_type)] = [0, 1]
            .map(|index| op.operand(index).ok().and_then(|operand: Value| Tensor::new(operand.r#type())))
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
        let contracted =
            sides[0].2.iter().map(|&dim| left_type.shape[dim as usize]).fold(1, i64::saturating_mul);
        // Those of 64 bits are a library's.
        let bytes = element_bytes(result.element);
        let parts = rule.parts(bytes_of(ty).1, u64::try_from(contracted).unwrap_or(0));
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
            let mut shape = of.shape.to_vec();
            let dim = &mut shape[last as usize];
            *dim = (*dim + whole - 1) / whole * whole;
            taken.push(self.one(Class::Pad, op, ids![operand], Tensor::get(&shape, of.element, None)));
        }
        let f32_type = Type::float32(crate::rewrite::context_of(op));
        let mut shape = vec![parts as i64];
        shape.extend(result.shape);
        let sums = self.one(Class::Dot { joins: false }, op, taken, Tensor::get(&shape, f32_type, None));
        let reduce = match self.storage.reductions {
            Reductions::Kernels { few } if parts >= few => Reduce::Kernel,
            _ => Reduce::Reader,
        };
        let sum = self.one(Class::Reduce(reduce), op, ids![sums], ty);
        self.forward(op, &[sum]);
        true
    }
}
