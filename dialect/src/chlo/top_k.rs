// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `top_k`.

use crate::dims::Dim;
use crate::quant::signless;
use crate::rules::{Rules, Table};
use crate::types::{Tensor, is_static};
use crate::view::{Inferred, OpView};
use crate::{ffi, require};
use melior::ir::TypeLike;

/// Rules of `top_k`.
pub const TABLE: Table = &[("chlo.top_k", Rules::NONE.infer(infer_top_k))];

/// The operand's shape with the last dimension `k` long, twice: values and 32-bit indices.
fn infer_top_k<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    let (operand, k) = (op.operand_type(0)?, op.integer("k")?);
    let index = signless(op.context(), 32);
    if operand.is_unranked_tensor() {
        return Ok([Some(operand), ffi::unranked_tensor(index)].into_iter().flatten().collect());
    }
    let tensor = op.operand_tensor(0)?;
    require!(k >= 0, "k = {k} is negative");
    require!(tensor.rank() >= 1, "operand must have a dimension to search along, but is of rank 0");
    let mut dims = tensor.dims();
    if let (Some(last), Some(&size)) = (dims.last_mut(), tensor.shape.last()) {
        require!(
            !is_static(size) || k <= size,
            "k = {k} exceeds the operand's last dimension of size {size}"
        );
        *last = Dim::of(k);
    }
    Ok(vec![Tensor::of_dims(&dims, tensor.element), Tensor::of_dims(&dims, index)])
}
