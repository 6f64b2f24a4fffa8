// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! 16-bit floats, for back ends that compute in 32 bits.

use super::super::lists::Ids;
use super::{CONVERT, Class, Id, Scope, Types};
use melior::ir::{OperationRef, Type, TypeLike};
use slimhlo_dialect::types::Tensor;
use smallvec::smallvec as ids;

impl<'c: 'a, 'a> Scope<'c, 'a> {
    /// Converts a 16-bit float to 32 bits.
    pub(super) fn widen(&mut self, op: OperationRef<'c, 'a>, value: Id) -> Id {
        let Some(ty) = self.wide_type(op, self.graph.values[value as usize].ty) else { return value };
        if let Some(&known) = self.wide.get(&value) {
            return known;
        }
        let wider = self.one(Class::Map(CONVERT), op, ids![value], ty);
        self.wide.insert(value, wider);
        wider
    }

    /// The type with 32-bit floats where it has 16-bit ones, for a back end that computes in no others.
    pub(super) fn wide_type(&self, op: OperationRef<'c, 'a>, ty: Type<'c>) -> Option<Type<'c>> {
        self.storage.widens.then(|| wide(op, ty)).flatten()
    }

    /// Adds an op whose result is computed in 32 bits where it has 16.
    pub(super) fn add_wide(&mut self, class: Class, op: OperationRef<'c, 'a>, operands: Ids) {
        let types = self.local_types(op);
        let wider: Types<'c> = types.iter().map(|&ty| self.wide_type(op, ty).unwrap_or(ty)).collect();
        if types == wider {
            self.add(class, op, operands, false);
            return;
        }
        let node = self.push(class, Some(op), operands, &wider);
        let values: Vec<Id> = self
            .graph
            .results_of(node)
            .zip(types.iter().zip(&wider))
            .map(
                |(value, (&ty, &wider))| {
                    if ty == wider { value } else { self.one(Class::Map(CONVERT), op, ids![value], ty) }
                },
            )
            .collect();
        self.forward(op, &values);
    }
}

/// The type with 32-bit floats where it has 16-bit ones.
fn wide<'c>(op: OperationRef<'c, '_>, ty: Type<'c>) -> Option<Type<'c>> {
    let tensor = Tensor::new(ty)?;
    let half = tensor.element.is_bf16() || tensor.element.is_f16();
    half.then(|| Tensor::get(tensor.shape, Type::float32(crate::rewrite::context_of(op)), None))
}
