// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Indices of elements, their row-major positions, and bounds.

use super::{Kernel, MOST_NEIGHBOURS, count_of};
use crate::gpu::emit::code::{Int, common_divisor};
use crate::ir;
use crate::rewrite::walk;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::r#type::IntegerType;
use melior::ir::{OperationRef, Type, Value, ValueLike};
use slimhlo_dialect::types::Tensor;

/// Elements of a tensor up to which indices have 32 bits: the rest of 2^31 is what a thread's last step may overshoot by.
const MOST_NARROW: i64 = (1 << 31) - (1 << 26);

impl<'c: 'a, 'a> Kernel<'c, 'a> {
    /// Row-major position of an element.
    pub fn linear(&self, shape: &[i64], index: &[Value<'c, 'a>]) -> Value<'c, 'a> {
        if let Some(position) = self.known_position(shape, index) {
            return position;
        }
        let code = &self.code;
        let keys: Vec<usize> = index.iter().map(|index| ir::key(*index)).collect();
        let mut position = code.index(0);
        for (&size, &at) in shape.iter().zip(index) {
            position = if size == 1 { position } else { code.add(code.mul(position, code.index(size)), at) };
        }
        self.positions.borrow_mut().insert((code.scope(), shape.to_vec(), keys), position);
        position
    }

    /// The row-major position that an index was made from, if it was.
    pub fn known_position(&self, shape: &[i64], index: &[Value<'c, 'a>]) -> Option<Value<'c, 'a>> {
        let keys: Vec<usize> = index.iter().map(|index| ir::key(*index)).collect();
        let mut place = (0, shape.to_vec(), keys);
        let positions = self.positions.borrow();
        self.code.scopes().into_iter().find_map(|scope| {
            place.0 = scope;
            positions.get(&place).copied()
        })
    }

    /// A position that may be out of bounds as one that is not. Neighbours within a run whose length divides the count stay
    /// neighbours.
    pub(super) fn held(&self, position: Value<'c, 'a>, count: i64) -> Value<'c, 'a> {
        let code = &self.code;
        let (Some(base), number) = code.parts(position) else {
            let known = code.known(position).unwrap_or(0);
            return code.index(known.clamp(0, count - 1));
        };
        let mut run = common_divisor(code.multiple(base), count);
        if !(1..=MOST_NEIGHBOURS).contains(&run) {
            run = common_divisor(run, MOST_NEIGHBOURS).max(1);
        }
        let place = number.rem_euclid(run);
        let first = code.sum(Some(base), number - place);
        let held = code.binary("arith.minui", first, code.index(count - run));
        code.assume_multiple(held, run);
        code.sum(Some(held), place)
    }

    /// Index of the element at a row-major position.
    pub fn indices(&self, shape: &[i64], position: Value<'c, 'a>) -> Vec<Value<'c, 'a>> {
        let code = &self.code;
        let mut index = vec![code.index(0); shape.len()];
        let first = shape.iter().position(|size| *size != 1);
        let mut rest = position;
        for (dim, &size) in shape.iter().enumerate().rev().filter(|(_, size)| **size > 1) {
            // What is left for the first dimension is within it.
            let last = Some(dim) == first;
            index[dim] = if last { rest } else { code.rem(rest, size) };
            if !last {
                rest = code.div(rest, size);
            }
        }
        let keys = index.iter().map(|index| ir::key(*index)).collect();
        self.positions.borrow_mut().insert((code.scope(), shape.to_vec(), keys), position);
        index
    }

    /// An integer as an index, held within `0..=limit` as starts of slices are.
    pub fn clamped_index(&self, start: Value<'c, 'a>, ty: Type<'c>, limit: i64) -> Value<'c, 'a> {
        let code = &self.code;
        if limit == 0 {
            return code.index(0);
        }
        let unsigned = IntegerType::try_from(ty).is_ok_and(|ty| ty.is_unsigned() || ty.width() == 1);
        let width = |ty: Type<'c>| IntegerType::try_from(ty).map_or(64, |ty| ty.width());
        let wide = width(start.r#type()) >= width(code.index_type());
        let start = if wide { start } else { code.resize(start, code.index_type(), !unsigned) };
        let number = |number| code.integer(number, start.r#type());
        let clamped = if unsigned {
            code.binary("arith.minui", start, number(limit))
        } else {
            code.binary("arith.minsi", code.binary("arith.maxsi", start, number(0)), number(limit))
        };
        code.resize(clamped, code.index_type(), !unsigned)
    }

    /// Whether `number <= index < number + size` for the index, of which it is known that it is within `0..of`.
    pub fn is_within(&self, index: Value<'c, 'a>, from: i64, size: i64, of: i64) -> Option<Value<'c, 'a>> {
        let code = &self.code;
        let offset = code.sub(index, code.index(from));
        match (from > 0, from.saturating_add(size) < of) {
            (false, false) => None,
            (false, true) => Some(code.compare(Int::Slt, index, code.index(from + size))),
            (true, false) => Some(code.compare(Int::Sge, index, code.index(from))),
            (true, true) => Some(code.compare(Int::Ult, offset, code.index(size))),
        }
    }

    /// The conjunction of conditions; `None` for none.
    pub fn all(&self, conditions: &[Value<'c, 'a>]) -> Option<Value<'c, 'a>> {
        conditions.iter().copied().reduce(|left, right| self.code.binary("arith.andi", left, right))
    }
}

/// Bits of indices that every tensor in a function can be indexed with.
pub(super) fn index_bits(function: OperationRef<'_, '_>) -> u32 {
    let mut most = 0;
    let mut note = |ty: Type<'_>| {
        if let Some(tensor) = Tensor::new(ty) {
            most = most.max(count_of(tensor.shape));
        }
    };
    walk(function, |op| {
        op.operands().for_each(|value| note(value.r#type()));
        op.results().for_each(|value| note(value.r#type()));
        WalkResult::Advance
    });
    if most <= MOST_NARROW { 32 } else { 64 }
}
