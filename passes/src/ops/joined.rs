// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What is put together again.

use crate::ir;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value, ValueLike};
use slimhlo_dialect::types::Tensor;
use smallvec::SmallVec;

/// Which dimension a concatenate goes along, and how many elements of it each operand has.
pub fn sizes(op: OperationRef<'_, '_>) -> Option<(usize, SmallVec<[i64; 8]>)> {
    let dim = usize::try_from(ir::constant_attribute(op, "dimension")?).ok()?;
    let size = |operand: Value<'_, '_>| Tensor::new(operand.r#type())?.shape.get(dim).copied();
    Some((dim, op.operands().map(size).collect::<Option<_>>()?))
}

/// What a concatenate has all slices of, side by side, of its type or not; `slices` are what makes its operands, and what each is a slice
/// of. Back ends take that instead, whoever else reads the slices: the members of a population, which evolution strategies keep
/// in one array, taken apart into weights and put together again.
pub fn whole_of_slices<'c: 'a, 'a, T: PartialEq + Copy>(
    op: OperationRef<'c, 'a>,
    slices: impl Iterator<Item = Option<(OperationRef<'c, 'a>, T)>>,
) -> Option<T> {
    let dim = usize::try_from(ir::constant_attribute(op, "dimension")?).ok()?;
    let (mut whole, mut at) = (None, 0);
    for slice in slices {
        let (slice, of) = slice?;
        let steps = ir::i64_array(slice, "strides")?.iter().all(|&by| by == 1);
        let follows = *ir::i64_array(slice, "start_indices")?.get(dim)? == at;
        (steps && follows && *whole.get_or_insert(of) == of).then_some(())?;
        at = *ir::i64_array(slice, "limit_indices")?.get(dim)?;
    }
    whole
}
