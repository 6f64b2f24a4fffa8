// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `cholesky`, `triangular_solve` and `fft`.

use super::attrs::{FftType, Transpose};
use super::constraints::compatible_elements;
use crate::dims::Dim;
use crate::quant::{Number, complex_of, complex_part};
use crate::rules::{Rules, Table};
use crate::types::{Tensor, compatible_shape, compatible_size, display_shape, is_static};
use crate::view::{Inferred, OpError, OpView, Verdict};
use crate::{reject, require};
use melior::ir::Type;

/// Rules of this family.
pub const TABLE: Table = &[
    ("stablehlo.cholesky", Rules::NONE.verify(compatible_elements).infer(infer_cholesky)),
    ("stablehlo.triangular_solve", Rules::NONE.verify(compatible_elements).infer(infer_triangular_solve)),
    ("stablehlo.fft", Rules::NONE.infer(infer_fft)),
];

/// The last two dimensions of a tensor.
fn matrix(name: &str, tensor: &Tensor<'_>) -> Result<(i64, i64), OpError> {
    match *tensor.shape {
        [.., rows, columns] => Ok((rows, columns)),
        _ => reject!("{name} has rank {}, less than 2", tensor.rank()),
    }
}

fn square(name: &str, tensor: &Tensor<'_>) -> Verdict {
    let (rows, columns) = matrix(name, tensor)?;
    require!(
        compatible_size(rows, columns),
        "{name} has matrices of {rows} rows and {columns} columns, not square ones"
    );
    Ok(())
}

fn infer_cholesky<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    let a = op.operand_tensor(0)?;
    square("a", &a)?;
    Ok(vec![Tensor::of_dims(&a.dims(), a.element)])
}

fn infer_triangular_solve<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    let (a, b) = (op.operand_tensor(0)?, op.operand_tensor(1)?);
    square("a", &a)?;
    require!(a.rank() == b.rank(), "a has rank {}, but b has rank {}", a.rank(), b.rank());
    // Of a's two sizes, which are the same at run time, the last one is compared.
    let ((_, order), (rows, columns)) = (matrix("a", &a)?, matrix("b", &b)?);
    let (shared, what) = if op.boolean("left_side", true)? { (rows, "rows") } else { (columns, "columns") };
    require!(
        compatible_size(order, shared),
        "a has matrices of order {order}, but those of b have {shared} {what}"
    );
    let batch = |tensor: &Tensor<'c>| &tensor.shape[..tensor.rank() - 2];
    require!(
        compatible_shape(batch(&a), batch(&b)),
        "a has batch dimensions [{}], but b has [{}]",
        display_shape(batch(&a)),
        display_shape(batch(&b))
    );
    let transpose: Transpose = op.required("transpose_a")?;
    require!(transpose != Transpose::TransposeInvalid, "transpose_a = {transpose} is not a way to solve");
    Ok(vec![Tensor::of_dims(&b.dims(), b.element)])
}

fn infer_fft<'c>(op: &OpView<'c, '_>) -> Inferred<'c> {
    let operand = op.operand_tensor(0)?;
    let lengths = op.i64_array("fft_length")?;
    require!((1..=3).contains(&lengths.len()), "fft_length has {} entries, not 1 to 3", lengths.len());
    require!(
        operand.rank() >= lengths.len(),
        "fft_length has {} entries, but operand has rank {}",
        lengths.len(),
        operand.rank()
    );
    let fft_type: FftType = op.required("fft_type")?;
    let element = transformed_element(fft_type, operand.element)?;
    let mut dims = operand.dims();
    let last = dims.len() - 1;
    match fft_type {
        FftType::Fft | FftType::Ifft => {}
        FftType::Rfft => {
            transformed_sizes(&operand, lengths, |size, length| size == length)?;
            dims[last] = Dim::of(halved(lengths[lengths.len() - 1]));
        }
        FftType::Irfft => {
            // The transform of nothing may be given as one number as well as none.
            transformed_sizes(&operand, lengths, |size, length| {
                size == halved(length) || size == length / 2 + 1
            })?;
            dims[last] = Dim::of(lengths[lengths.len() - 1]);
        }
    }
    Tensor::try_of_dims(&dims, element).map(|ty| vec![ty])
}

/// How many complex numbers tell the transform of this many real ones.
fn halved(length: i64) -> i64 {
    if length == 0 { 0 } else { length / 2 + 1 }
}

/// The last dimensions of the operand have the sizes that are transformed; `last` says what the very last one must be.
fn transformed_sizes(operand: &Tensor<'_>, lengths: &[i64], last: fn(i64, i64) -> bool) -> Verdict {
    let first = operand.rank() - lengths.len();
    for (index, &length) in lengths.iter().enumerate() {
        let size = operand.shape[first + index];
        let fits = if index + 1 == lengths.len() { last(size, length) } else { size == length };
        require!(
            fits || !is_static(size),
            "fft_length[{index}] = {length} does not go with size {size} of dimension {} of operand",
            first + index
        );
    }
    Ok(())
}

/// What a transform makes of the element type: complex to complex, or from and to the real part.
fn transformed_element<'c>(fft_type: FftType, element: Type<'c>) -> Result<Type<'c>, OpError> {
    let part = complex_part(element);
    match (fft_type, part) {
        (FftType::Rfft, _) => {
            require!(
                matches!(Number::of(element), Number::Float { width: 32 | 64 }),
                "operand of RFFT has element type {element}, not f32 or f64"
            );
            Ok(complex_of(element))
        }
        (FftType::Irfft, Some(part)) => Ok(part),
        (FftType::Fft | FftType::Ifft, Some(_)) => Ok(element),
        (_, None) => reject!("operand of {fft_type} has element type {element}, which is not complex"),
    }
}
