// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `dot`, `dot_general`, `convolution` and `dynamic_conv`: constraints on precision and quantization that they share,
//! and the shapes of dots.

use super::attrs::{DotDimensionNumbers, Precision};
use super::dim_lists::{distinct, in_range, others, same_length};
use crate::dims::Dim;
use crate::quant::{Granularity, Quantized};
use crate::rules::{Rules, Table};
use crate::types::{Tensor, compatible_shape, compatible_size, display_shape};
use crate::view::{OpError, OpView, Verdict};
use crate::{reject, require};
use melior::ir::attribute::ArrayAttribute;

/// Rules of this family.
pub const TABLE: Table = &[
    ("stablehlo.dot", Rules::NONE.verify(verify_dot)),
    ("stablehlo.dot_general", Rules::NONE.verify(verify_dot_general)),
];

/// Left operand, right operand and result.
pub(super) struct Contraction<'c> {
    pub(super) lhs: Tensor<'c>,
    pub(super) rhs: Tensor<'c>,
    pub(super) result: Tensor<'c>,
}

impl<'c> Contraction<'c> {
    pub(super) fn read(op: &OpView<'c, '_>) -> Result<Self, OpError> {
        Ok(Self { lhs: op.operand_tensor(0)?, rhs: op.operand_tensor(1)?, result: op.result_tensor(0)? })
    }

    fn quantized(&self) -> [Option<Quantized<'c>>; 3] {
        [self.lhs, self.rhs, self.result].map(|tensor| Quantized::new(tensor.element))
    }

    /// Either the right operand alone is quantized, or all three are, the operands stored alike.
    pub(super) fn verify_quantization(&self) -> Verdict {
        match self.quantized() {
            [None, None, None] => Ok(()),
            [None, Some(rhs), None] => self.verify_hybrid(&rhs),
            [Some(lhs), Some(rhs), Some(result)] => verify_all_quantized(&lhs, &rhs, &result),
            _ => reject!(
                "element types {}, {} and {} mix quantized and other numbers: either all are quantized, or rhs alone",
                self.lhs.element,
                self.rhs.element,
                self.result.element
            ),
        }
    }

    /// expressed_type(rhs) = element_type(lhs) = element_type(result)
    fn verify_hybrid(&self, rhs: &Quantized<'_>) -> Verdict {
        for (name, element) in [("lhs", self.lhs.element), ("result", self.result.element)] {
            require!(
                rhs.expressed() == Some(element),
                "{name} has element type {element}, which is not what rhs expresses: {}",
                rhs.ty
            );
        }
        Ok(())
    }

    /// The result's shape may be this one at run time.
    pub(super) fn verify_result_shape(&self, shape: &[i64]) -> Verdict {
        require!(
            compatible_shape(shape, self.result.shape),
            "result has shape [{}], but the operands make that [{}]",
            display_shape(self.result.shape),
            display_shape(shape)
        );
        Ok(())
    }
}

fn verify_all_quantized(lhs: &Quantized<'_>, rhs: &Quantized<'_>, result: &Quantized<'_>) -> Verdict {
    require!(
        lhs.storage() == rhs.storage(),
        "lhs is stored as {}, but rhs as {}",
        lhs.storage(),
        rhs.storage()
    );
    require!(
        lhs.expressed() == rhs.expressed() && lhs.expressed() == result.expressed(),
        "lhs, rhs and result must express the same type, but are {}, {} and {}",
        lhs.ty,
        rhs.ty,
        result.ty
    );
    require!(
        rhs.is_per_axis() || !result.is_per_axis(),
        "result is quantized per axis ({}), but rhs is not ({})",
        result.ty,
        rhs.ty
    );
    Ok(())
}

/// precision_config has at most one entry per operand; gives the entries.
pub(super) fn precision_config(op: &OpView<'_, '_>) -> Result<Vec<Precision>, OpError> {
    let Some(config) = op.optional::<ArrayAttribute>("precision_config")? else { return Ok(Vec::new()) };
    require!(
        config.len() <= 2,
        "precision_config has {} entries, more than there are operands",
        config.len()
    );
    let precision = |index| {
        let entry = config.element(index).ok().and_then(|entry| Precision::try_from(entry).ok());
        entry.ok_or_else(|| OpError(format!("precision_config[{index}] is not a precision")))
    };
    (0..config.len()).map(precision).collect()
}

fn verify_dot(op: &OpView<'_, '_>) -> Verdict {
    precision_config(op)?;
    let dot = Contraction::read(op)?;
    for (name, tensor) in [("lhs", &dot.lhs), ("rhs", &dot.rhs)] {
        require!((1..=2).contains(&tensor.rank()), "{name} has rank {}, not 1 or 2", tensor.rank());
    }
    let (Some((&left, left_rest)), Some((&right, right_rest))) =
        (dot.lhs.shape.split_last(), dot.rhs.shape.split_first())
    else {
        reject!("an operand has rank 0")
    };
    require!(
        compatible_size(left, right),
        "lhs ends in a dimension of size {left}, but rhs starts with {right}"
    );
    dot.verify_result_shape(&[left_rest, right_rest].concat())
}

fn verify_dot_general(op: &OpView<'_, '_>) -> Verdict {
    let precision = precision_config(op)?;
    require!(
        op.attribute("algorithm").is_none() || precision.iter().all(|&entry| entry == Precision::Default),
        "precision_config must be DEFAULT where there is an algorithm"
    );
    let dot = Contraction::read(op)?;
    let numbers: DotDimensionNumbers = op.required("dot_dimension_numbers")?;
    let (shape, rhs_contracting) = (dot_shape(&dot, numbers)?, numbers.rhs_contracting_dimensions());
    dot.verify_result_shape(&shape)?;
    dot.verify_quantization()?;
    match Quantized::new(dot.rhs.element) {
        Some(rhs) => verify_rhs_quantization(&rhs, rhs_contracting),
        None => Ok(()),
    }
}

/// The shape of a dot: batching dimensions, then what else lhs has, then what else rhs has.
fn dot_shape(dot: &Contraction<'_>, numbers: DotDimensionNumbers<'_>) -> Result<Vec<i64>, OpError> {
    let lhs_batching = ("lhs_batching_dimensions", numbers.lhs_batching_dimensions());
    let rhs_batching = ("rhs_batching_dimensions", numbers.rhs_batching_dimensions());
    let lhs_contracting = ("lhs_contracting_dimensions", numbers.lhs_contracting_dimensions());
    let rhs_contracting = ("rhs_contracting_dimensions", numbers.rhs_contracting_dimensions());
    same_length(lhs_batching, rhs_batching)?;
    same_length(lhs_contracting, rhs_contracting)?;
    distinct(&[lhs_batching, lhs_contracting])?;
    distinct(&[rhs_batching, rhs_contracting])?;
    for list in [lhs_batching, lhs_contracting] {
        in_range(list, dot.lhs.rank(), "lhs")?;
    }
    for list in [rhs_batching, rhs_contracting] {
        in_range(list, dot.rhs.rank(), "rhs")?;
    }
    let (lhs, rhs) = (dot.lhs.dims(), dot.rhs.dims());
    for (&left, &right) in lhs_contracting.1.iter().zip(rhs_contracting.1) {
        let (left_size, right_size) = (lhs[left as usize].size, rhs[right as usize].size);
        require!(
            compatible_size(left_size, right_size),
            "contracting dimension {left} of lhs has size {left_size}, but its pair {right} of rhs has {right_size}"
        );
    }
    let batching = |(&left, &right): (&i64, &i64)| {
        lhs[left as usize].meet(rhs[right as usize]).map_err(|why| {
            OpError(format!("batching dimension {left} of lhs does not fit {right} of rhs: {why}"))
        })
    };
    let rest = |dims: &[Dim], lists: &[&[i64]]| -> Vec<i64> {
        others(dims.len(), lists).into_iter().map(|dimension| dims[dimension].size).collect()
    };
    let batch = lhs_batching.1.iter().zip(rhs_batching.1).map(batching).collect::<Result<Vec<Dim>, _>>()?;
    let batch: Vec<i64> = batch.iter().map(|dim| dim.size).collect();
    Ok([
        batch,
        rest(&lhs, &[lhs_batching.1, lhs_contracting.1]),
        rest(&rhs, &[rhs_batching.1, rhs_contracting.1]),
    ]
    .concat())
}

/// zero_points(rhs) = 0, and rhs is not scaled along what is summed over.
fn verify_rhs_quantization(rhs: &Quantized<'_>, contracting: &[i64]) -> Verdict {
    if rhs.granularity() == Granularity::Other {
        return Ok(());
    }
    if let Some((index, point)) = rhs.zero_points().into_iter().enumerate().find(|&(_, point)| point != 0) {
        reject!("zero point #{index} of rhs is {point}, not 0");
    }
    if let Some(dimension) = rhs.quantized_dimension() {
        require!(
            !contracting.contains(&dimension),
            "rhs is quantized along dimension {dimension}, which is contracted"
        );
    }
    Ok(())
}
