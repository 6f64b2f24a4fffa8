// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! LU decompositions with exchanged rows, as loops over columns.
//!
//! `getrf` leaves L below the diagonal and U above, the number (from 1) of the row that each row was exchanged with, and the number of
//! the first pivot that is zero (0 if none is). A step changes the whole matrix where it is; the two rows and the column that it needs of
//! it the step before has made, so that no copy is needed (`reflectors.rs` works in the same way). `lu_pivots_to_permutation` does the exchanges to
//! the numbers of the rows.

use super::matrices::Matrices;
use super::replace;
use crate::framework::PassError;
use crate::ir::{self, Builder};
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, TypeLike, Value, ValueLike};
use slimhlo_dialect::stablehlo::attrs::ComparisonDirection::{Eq, Ge, Gt};
use slimhlo_dialect::types::Tensor;

/// What a step of the elimination needs of a matrix.
struct Pivot<'c, 'a> {
    /// The row that has it.
    row: Value<'c, 'a>,
    /// What is in that row, and what is in the row that it belongs into.
    found: Value<'c, 'a>,
    moved: Value<'c, 'a>,
    /// By how much of it the rows below are reduced.
    factors: Value<'c, 'a>,
    is_zero: Value<'c, 'a>,
}

/// The largest element of a column from the row of the same number on; of equals the first.
fn pivot<'c: 'a, 'a>(
    of: &Matrices<'_, 'c, 'a>,
    matrix: Value<'c, 'a>,
    at: Value<'c, 'a>,
) -> Result<Pivot<'c, 'a>, PassError<'c>> {
    let shape = [of.rows(matrix), of.columns(matrix)];
    let rows = shape[0];
    let column = of.line(matrix, 1, at);
    let (row, own) = (of.numbers(0, &[rows]), of.everywhere(at, &[rows]));
    let (real, imaginary) = of.parts(column);
    let size = of.op("stablehlo.abs", &[real]);
    let size = imaginary.map_or(size, |imaginary| {
        let other = of.op("stablehlo.abs", &[imaginary]);
        of.op("stablehlo.add", &[size, other])
    });
    let size = of.select(of.compare(Ge, row, own), size, of.fill(-1.0, size));
    let largest = of.reduce("stablehlo.maximum", size, 0, -1.0)?;
    let is_largest = of.compare(Eq, size, of.spread(largest, &[], &[rows]));
    let none = of.everywhere(of.count(rows), &[rows]);
    let place = of.reduce("stablehlo.minimum", of.select(is_largest, row, none), 0, rows as f64)?;
    // Where there is something that is no number, nothing is the largest.
    let own_place = of.everywhere(at, &[]);
    let is_none = of.compare(Eq, place, of.everywhere(of.count(rows), &[]));
    let place = of.select(is_none, own_place, place);

    let moved = of.line(matrix, 0, at);
    let is_found = of.compare(Eq, of.numbers(0, &shape), of.spread(place, &[], &shape));
    let there = of.select(is_found, matrix, of.fill(0.0, matrix));
    let found = of.reduce("stablehlo.add", there, 0, 0.0)?;
    let value = of.line(found, 0, at);
    let zero = of.fill(0.0, value);
    let is_zero = of.compare(Eq, value, zero);
    let divisor = of.select(is_zero, of.fill(1.0, value), value);
    let is_found = of.compare(Eq, row, of.spread(place, &[], &[rows]));
    let exchanged = of.select(is_found, of.spread(of.line(moved, 0, at), &[], &[rows]), column);
    let factors = of.op("stablehlo.divide", &[exchanged, of.spread(divisor, &[], &[rows])]);
    Ok(Pivot { row: place, found, moved, factors, is_zero })
}

/// A matrix as L and U, the rows exchanged, and the first pivot that is zero.
pub fn decomposition<'c: 'a, 'a>(
    builder: &Builder<'c, 'a>,
    op: OperationRef<'c, 'a>,
) -> Result<(), PassError<'c>> {
    let (1, 3) = (op.operand_count(), op.result_count()) else { return Ok(()) };
    let operand = op.operand(0)?;
    let Some((of, rows, columns)) = Matrices::of(builder, operand, op.location()) else { return Ok(()) };
    let steps = rows.min(columns);
    let (pivots, info) = (op.result(1)?.r#type(), op.result(2)?.r#type());
    let integer = ir::element_of(pivots);
    if op.result(0)?.r#type() != operand.r#type()
        || pivots != of.ty(&[steps], integer)
        || info != of.ty(&[], ir::element_of(info))
        || integer.is_float()
        || ir::element_of(info).is_float()
    {
        return Ok(());
    }
    let state = [operand, of.zeros(pivots)?, of.zeros(info)?];
    if steps == 0 {
        replace(builder, op, &state);
        return Ok(());
    }
    let shape = [rows, columns];
    let first = pivot(&of, operand, of.count(0))?;
    let state = [&state[..], &[first.row, first.found, first.moved, first.factors, first.is_zero]].concat();
    let results = of.steps(steps, &state, |step, state| {
        let &[matrix, pivots, info, place, found, moved, factors, is_zero] = state else {
            return Ok(Vec::new());
        };
        let (row, column) = (of.numbers(0, &shape), of.numbers(1, &shape));
        let at = of.everywhere(step, &shape);
        let (found, moved) = (of.spread(found, &[1], &shape), of.spread(moved, &[1], &shape));
        let factors = of.spread(factors, &[0], &shape);
        // Where both are one row, it is the same.
        let exchanged = of.select(of.compare(Eq, row, of.spread(place, &[], &shape)), moved, matrix);
        let exchanged = of.select(of.compare(Eq, row, at), found, exchanged);
        let less = of.op("stablehlo.multiply", &[factors, found]);
        let reduced = of.op("stablehlo.subtract", &[exchanged, less]);
        let inside = of.select(of.compare(Gt, column, at), reduced, exchanged);
        let inside = of.select(of.compare(Eq, column, at), factors, inside);
        let next = of.select(of.compare(Gt, row, at), inside, exchanged);
        let number = |value, like: Value<'c, 'a>| {
            let one = of.op("stablehlo.add", &[value, of.fill(1.0, value)]);
            builder.convert(one, like.r#type(), op.location())
        };
        let pivots_now = of.put(pivots, number(place, info), step);
        let is_first = of.op("stablehlo.and", &[is_zero, of.compare(Eq, info, of.fill(0.0, info))]);
        let info = of.select(is_first, number(of.everywhere(step, &[]), info), info);
        let then = pivot(&of, next, of.op("stablehlo.add", &[step, of.count(1)]))?;
        Ok(vec![next, pivots_now, info, then.row, then.found, then.moved, then.factors, then.is_zero])
    })?;
    replace(builder, op, &results[..3]);
    Ok(())
}

/// Which row comes to each place by exchanges, which count from 0.
pub fn permutation<'c: 'a, 'a>(
    builder: &Builder<'c, 'a>,
    op: OperationRef<'c, 'a>,
) -> Result<(), PassError<'c>> {
    let (1, 1) = (op.operand_count(), op.result_count()) else { return Ok(()) };
    let (pivots, result) = (op.operand(0)?, op.result(0)?.r#type());
    let (Some(given), Some(wanted)) = (Tensor::new(pivots.r#type()), Tensor::new(result)) else {
        return Ok(());
    };
    let (Some((&steps, batch)), Some((&rows, same))) = (given.shape.split_last(), wanted.shape.split_last())
    else {
        return Ok(());
    };
    if batch != same || given.element != wanted.element || given.element.is_float() || steps > rows {
        return Ok(());
    }
    let of = Matrices::of_integers(builder, batch, given.element, op.location());
    let row = of.numbers(0, &[rows]);
    let results = of.steps(steps, &[row], |step, state| {
        let other = of.spread(of.line(pivots, 0, step), &[], &[rows]);
        let is_other = of.compare(Eq, row, other);
        let is_own = of.compare(Eq, row, of.everywhere(step, &[rows]));
        let own = of.spread(of.line(state[0], 0, step), &[], &[rows]);
        let there = of.select(is_other, state[0], of.fill(0.0, row));
        let there = of.spread(of.reduce("stablehlo.add", there, 0, 0.0)?, &[], &[rows]);
        let moved = of.select(is_other, own, state[0]);
        Ok(vec![of.select(is_own, there, moved)])
    })?;
    replace(builder, op, &results);
    Ok(())
}
