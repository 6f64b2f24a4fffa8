// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `batch_norm_training`, `batch_norm_inference` and `batch_norm_grad`.

use super::constraints::compatible_elements;
use super::dim_lists::one_in_range;
use crate::dims::Dim;
use crate::require;
use crate::rules::{Rules, Table};
use crate::types::{Tensor, compatible_shape, compatible_size, display_shape};
use crate::view::{Inferred, OpError, OpView, Verdict};

/// Rules of this family.
pub const TABLE: Table = &[
    ("stablehlo.batch_norm_training", Rules::NONE.verify(compatible_elements).infer(infer_training)),
    ("stablehlo.batch_norm_inference", Rules::NONE.verify(compatible_elements).infer(infer_inference)),
    ("stablehlo.batch_norm_grad", Rules::NONE.verify(compatible_elements).infer(infer_grad)),
];

type Operand<'a> = (&'a str, usize);

/// Verifies the operands, some of the shape of the first and some with one number per feature; gives the dimension of
/// the first operand that features run along.
fn feature_dim(
    op: &OpView<'_, '_>,
    whole: &[Operand<'_>],
    per_feature: &[Operand<'_>],
) -> Result<Dim, OpError> {
    same_shapes(op, whole)?;
    let operand = op.operand_tensor(whole[0].1)?;
    let index = one_in_range("feature_index", op.integer("feature_index")?, operand.rank(), "operand")?;
    same_shapes(op, per_feature)?;
    let (name, first) = (per_feature[0].0, op.operand_tensor(per_feature[0].1)?);
    require!(first.rank() == 1, "{name} has rank {}, not 1", first.rank());
    let features = operand.dims()[index];
    require!(
        compatible_size(first.shape[0], features.size),
        "{name} has {} elements, but operand has {features} features in dimension {index}",
        first.shape[0]
    );
    Ok(features)
}

/// No two operands have shapes that cannot be the same at run time.
fn same_shapes(op: &OpView<'_, '_>, operands: &[Operand<'_>]) -> Verdict {
    for (number, &(name, index)) in operands.iter().enumerate() {
        for &(other_name, other) in &operands[..number] {
            let (tensor, other) = (op.operand_tensor(index)?, op.operand_tensor(other)?);
            require!(
                compatible_shape(tensor.shape, other.shape),
                "{name} has shape [{}], but {other_name} has [{}]",
                display_shape(tensor.shape),
                display_shape(other.shape)
            );
        }
    }
    Ok(())
}

fn infer_training<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    let features = feature_dim(op, &[("operand", 0)], &[("scale", 1), ("offset", 2)])?;
    with_statistics(op, features)
}

fn infer_inference<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    feature_dim(op, &[("operand", 0)], &[("scale", 1), ("offset", 2), ("mean", 3), ("variance", 4)])?;
    Ok(vec![op.operand_type(0)?])
}

fn infer_grad<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    let per_feature = [("scale", 1), ("mean", 2), ("variance", 3)];
    let features = feature_dim(op, &[("operand", 0), ("grad_output", 4)], &per_feature)?;
    with_statistics(op, features)
}

/// The type of the first operand, and twice that of one number per feature.
fn with_statistics<'c>(op: &OpView<'c, '_>, features: Dim) -> Inferred<'c> {
    let operand = op.operand_tensor(0)?;
    let statistic = Tensor::of_dims(&[features], operand.element);
    Ok(vec![operand.ty, statistic, statistic])
}
