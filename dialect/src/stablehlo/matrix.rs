// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Integer elements attributes of two dimensions: padding, replica groups, pairs of devices.

use crate::quant::Number;
use crate::types::{Tensor, display_shape};
use crate::view::{OpError, OpView};
use crate::{reject, require};
use melior::ir::AttributeLike;
use melior::ir::attribute::DenseElementsAttribute;

/// A 64-bit integer elements attribute whose numbers are read one at a time: it may be a splat of any size.
pub struct Matrix<'c> {
    /// Its shape.
    pub shape: &'c [i64],
    elements: DenseElementsAttribute<'c>,
}

impl<'c> Matrix<'c> {
    /// Reads the attribute; `None` where it is missing.
    pub fn read(op: &OpView<'c, '_>, name: &str) -> Result<Option<Self>, OpError> {
        let Some(attribute) = op.attribute(name) else { return Ok(None) };
        let elements = DenseElementsAttribute::try_from(attribute).ok();
        let tensor = elements.and_then(|elements| Tensor::new(elements.r#type()));
        match (elements, tensor) {
            (Some(elements), Some(tensor)) if Number::of(tensor.element).is_integer_of_width(64) => {
                Ok(Some(Self { shape: tensor.shape, elements }))
            }
            _ => reject!("attribute '{name}' must hold i64 elements, but is {attribute}"),
        }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether there are several elements and all are stored as one.
    pub fn is_splat(&self) -> bool {
        self.len() > 1 && self.elements.is_splat()
    }

    /// Numbers in row-major order.
    pub fn values(&self) -> impl Iterator<Item = i64> + '_ {
        (0..self.len()).map_while(|index| self.elements.i64_element(index).ok())
    }
}

/// Low and high padding of each dimension, from a `Nx2` attribute that has a row for each of `dimensions` dimensions or
/// for none; `None` where it is missing.
pub fn padding(
    op: &OpView<'_, '_>,
    name: &str,
    dimensions: usize,
) -> Result<Option<Vec<(i64, i64)>>, OpError> {
    let Some(matrix) = Matrix::read(op, name)? else { return Ok(None) };
    let &[rows, 2] = matrix.shape else {
        reject!("{name} must have shape Nx2, but has shape {}", display_shape(matrix.shape))
    };
    require!(
        rows == 0 || usize::try_from(rows) == Ok(dimensions),
        "{name} has {rows} rows, but the window has {dimensions} dimensions"
    );
    let values: Vec<i64> = matrix.values().collect();
    Ok(Some(values.chunks_exact(2).map(|row| (row[0], row[1])).collect()))
}
