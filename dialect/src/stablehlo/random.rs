// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `rng` and `rng_bit_generator`.

use super::attrs::RngDistribution;
use super::constraints::constant_integers;
use crate::dims::Dim;
use crate::quant::is_float;
use crate::rules::{Rules, Table};
use crate::types::{Tensor, compatible_shape, display_shape, is_static};
use crate::view::{Inferred, OpView, Verdict};
use crate::{reject, require};

/// Rules of this family.
pub const TABLE: Table = &[
    ("stablehlo.rng", Rules::NONE.verify(verify_rng).infer(infer_rng)),
    ("stablehlo.rng_bit_generator", Rules::NONE.verify(verify_rng_bit_generator)),
];

/// More dimensions than any tensor has: where reading a constant shape stops.
const MAX_RANK: usize = 1 << 16;

/// element_type(a) = element_type(b) = element_type(result)
fn verify_rng(op: &OpView<'_, '_>) -> Verdict {
    let (a, b, result) = (op.operand_tensor(0)?, op.operand_tensor(1)?, op.result_tensor(0)?);
    for (name, tensor) in [("b", b), ("result", result)] {
        require!(
            tensor.element == a.element,
            "{name} has element type {}, but a has {}",
            tensor.element,
            a.element
        );
    }
    Ok(())
}

fn infer_rng<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    let (a, shape) = (op.operand_tensor(0)?, op.operand_tensor(2)?);
    let distribution: RngDistribution = op.required("rng_distribution")?;
    require!(
        distribution != RngDistribution::Normal || is_float(a.element),
        "a has element type {}, but only floating point numbers can be distributed normally",
        a.element
    );
    let &[rank] = shape.shape else { reject!("shape has rank {}, not 1", shape.rank()) };
    let Some(rank) = usize::try_from(rank).ok().filter(|&rank| is_static(rank as i64) && rank <= MAX_RANK)
    else {
        reject!("shape has {rank} elements, which cannot be the rank of a tensor")
    };
    let dims: Vec<Dim> = match constant_integers(op.operand(2)?, rank) {
        Some(sizes) => sizes.into_iter().map(Dim::of).collect(),
        None => vec![Dim::UNKNOWN; rank],
    };
    Tensor::try_of_dims(&dims, a.element).map(|ty| vec![ty])
}

/// shape(initial_state) = shape(output_state)
fn verify_rng_bit_generator(op: &OpView<'_, '_>) -> Verdict {
    let (initial, output) = (op.operand_tensor(0)?, op.result_tensor(0)?);
    require!(
        compatible_shape(initial.shape, output.shape),
        "output_state has shape [{}], but initial_state has [{}]",
        display_shape(output.shape),
        display_shape(initial.shape)
    );
    Ok(())
}
