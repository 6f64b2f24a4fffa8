// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `sort`.

use super::constraints::{argument_types, block, returned_types, same_shape};
use super::reducer::scalar_of;
use crate::quant::Number;
use crate::require;
use crate::rules::{Rules, Table};
use crate::types::Tensor;
use crate::view::{Inferred, OpView, Verdict};

/// Rules of this family.
pub const TABLE: Table = &[("stablehlo.sort", Rules::NONE.verify(verify_sort).infer(infer_sort))];

fn verify_sort(op: &OpView<'_, '_>) -> Verdict {
    require!(op.operand_count() > 0, "there must be at least one operand");
    same_shape(op)?;
    let rank = op.operand_tensor(0)?.rank() as i64;
    let dimension = op.optional_integer("dimension")?.unwrap_or(-1);
    require!(
        (-rank..rank).contains(&dimension),
        "dimension = {dimension} is not in [-{rank}, {rank}), the operands being of rank {rank}"
    );
    verify_comparator(op)
}

/// The comparator takes two elements of each operand in turn and returns a boolean.
fn verify_comparator(op: &OpView<'_, '_>) -> Verdict {
    let comparator = block(op, 0)?;
    let arguments = argument_types(comparator);
    let expected = 2 * op.operand_count();
    require!(
        arguments.len() == expected,
        "the comparator must take {expected} arguments, but takes {}",
        arguments.len()
    );
    for (index, argument) in arguments.iter().enumerate() {
        let element = scalar_of(&op.operand_tensor(index / 2)?)?;
        require!(
            *argument == element.ty,
            "argument #{index} of the comparator has type {argument}, not {element} as operand #{} asks for",
            index / 2
        );
    }
    let returned = returned_types(comparator);
    require!(returned.len() == 1, "the comparator must return 1 value, but returns {}", returned.len());
    let is_boolean = Tensor::new(returned[0])
        .is_some_and(|tensor| tensor.rank() == 0 && Number::of(tensor.element).is_integer_of_width(1));
    require!(is_boolean, "the comparator must return a tensor<i1>, but returns {}", returned[0]);
    Ok(())
}

fn infer_sort<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    Ok(op.operand_types())
}
