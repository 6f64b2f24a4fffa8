// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! QR decompositions, as loops over columns.
//!
//! LAPACK, cuSOLVER and XLA's own calls agree on what a decomposition is: R in the upper triangle, and below it the vectors `v` of
//! reflectors `H = 1 - tau v v^H` whose product is Q; the element of `v` on the diagonal is 1.
//!
//! * `geqrf`, `Qr`: each step reflects what is left of a column onto its first element, and all columns behind it likewise.
//! * `orgqr`, `ungqr`, `ProductOfElementaryHouseholderReflectors`: Q from the last reflector to the first, where they are.
//! * `ormqr`, `unmqr`: Q, or its adjoint, times a matrix, from either side.
//!
//! A step changes the whole matrix, element by element and where it is. What else it needs of the matrix (the vector of its reflector)
//! the step before has made, so that no step reads elsewhere what it writes over, and no copy is needed: the loops take memory for a
//! few rows and columns. They launch some kernels per column and do not work in blocks; for large matrices a library is faster.

use super::matrices::Matrices;
use super::replace;
use crate::framework::PassError;
use crate::ir::Builder;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value, ValueLike};
use slimhlo_dialect::ffi;
use slimhlo_dialect::stablehlo::attrs::ComparisonDirection;

/// A reflector that makes zeros of a column from a row on.
struct Reflector<'c, 'a> {
    /// 0 above that row and 1 in it.
    vector: Value<'c, 'a>,
    /// What becomes of the element in that row.
    beta: Value<'c, 'a>,
    tau: Value<'c, 'a>,
}

/// The reflector of a column of each of `matrices`, from the row of the same number on. What it is made of is scaled, so that no square overflows.
fn reflector<'c: 'a, 'a>(
    of: &Matrices<'_, 'c, 'a>,
    matrix: Value<'c, 'a>,
    at: Value<'c, 'a>,
) -> Result<Reflector<'c, 'a>, PassError<'c>> {
    use ComparisonDirection::{Eq, Gt, Lt, Ne};
    let column = of.line(matrix, 1, at);
    let rows = of.rows(matrix);
    let (row, pivot) = (of.numbers(0, &[rows]), of.everywhere(at, &[rows]));
    let below = of.compare(Gt, row, pivot);
    let alpha = of.line(column, 0, at);
    let (real, imaginary) = of.parts(alpha);
    let (reals, imaginaries) = of.parts(column);

    let zeros = of.fill(0.0, reals);
    let size = |real, imaginary: Option<Value<'c, 'a>>| {
        let real = of.op("stablehlo.abs", &[real]);
        imaginary.map_or(real, |other| of.op("stablehlo.maximum", &[real, of.op("stablehlo.abs", &[other])]))
    };
    let sizes = of.select(below, size(reals, imaginaries), zeros);
    let largest = of.reduce("stablehlo.maximum", sizes, 0, 0.0)?;
    let (zero, one) = (of.fill(0.0, real), of.fill(1.0, real));
    let mut changes = of.compare(Ne, largest, zero);
    if let Some(imaginary) = imaginary {
        changes = of.op("stablehlo.or", &[changes, of.compare(Ne, imaginary, zero)]);
    }
    let scale = of.op("stablehlo.maximum", &[largest, size(real, imaginary)]);
    let scale = of.select(of.compare(Eq, scale, zero), one, scale);
    let scales = of.spread(scale, &[], &[rows]);
    let square = |value, scale| {
        let scaled = of.op("stablehlo.divide", &[value, scale]);
        of.op("stablehlo.multiply", &[scaled, scaled])
    };
    let norm = |real, imaginary: Option<Value<'c, 'a>>, scale| {
        let first = square(real, scale);
        imaginary.map_or(first, |other| of.op("stablehlo.add", &[first, square(other, scale)]))
    };
    let squares = of.select(below, norm(reals, imaginaries, scales), zeros);
    let squares = of.reduce("stablehlo.add", squares, 0, 0.0)?;
    let squares = of.op("stablehlo.add", &[squares, norm(real, imaginary, scale)]);
    let length = of.op("stablehlo.multiply", &[scale, of.op("stablehlo.sqrt", &[squares])]);
    // Away from the element, so that nothing cancels.
    let away = of.select(of.compare(Lt, real, zero), length, of.op("stablehlo.negate", &[length]));
    let beta = of.select(changes, away, real);
    let divisor = of.select(changes, beta, one);
    let of_beta = |value| {
        let quotient = of.op("stablehlo.divide", &[value, divisor]);
        of.select(changes, quotient, zero)
    };
    let tau = of.complex(
        of_beta(of.op("stablehlo.subtract", &[beta, real])),
        imaginary.map(|imaginary| of_beta(of.op("stablehlo.negate", &[imaginary]))),
    );
    let beta = of.complex(beta, None);
    let rest = of.op("stablehlo.subtract", &[alpha, beta]);
    let rest = of.select(changes, rest, of.fill(1.0, rest));
    let quotient = of.op("stablehlo.divide", &[column, of.spread(rest, &[], &[rows])]);
    let rest = of.select(below, quotient, of.fill(0.0, column));
    let vector = of.select(of.compare(Eq, row, pivot), of.fill(1.0, column), rest);
    Ok(Reflector { vector, beta, tau })
}

/// The vector of a reflector that is below the diagonal of a column already.
fn stored_vector<'c: 'a, 'a>(
    of: &Matrices<'_, 'c, 'a>,
    matrix: Value<'c, 'a>,
    at: Value<'c, 'a>,
) -> Value<'c, 'a> {
    let column = of.line(matrix, 1, at);
    let rows = of.rows(matrix);
    let (row, pivot) = (of.numbers(0, &[rows]), of.everywhere(at, &[rows]));
    let below = of.compare(ComparisonDirection::Gt, row, pivot);
    let rest = of.select(below, column, of.fill(0.0, column));
    of.select(of.compare(ComparisonDirection::Eq, row, pivot), of.fill(1.0, column), rest)
}

/// What a reflector takes off each element of a matrix that it is applied to from the left: `tau v (v^H A)`.
fn from_the_left<'c: 'a, 'a>(
    of: &Matrices<'_, 'c, 'a>,
    matrix: Value<'c, 'a>,
    vector: Value<'c, 'a>,
    tau: Value<'c, 'a>,
) -> Result<Value<'c, 'a>, PassError<'c>> {
    let shape = [of.rows(matrix), of.columns(matrix)];
    let conjugate = of.spread(of.conjugate(vector), &[0], &shape);
    let products = of.op("stablehlo.multiply", &[conjugate, matrix]);
    let sums = of.reduce("stablehlo.add", products, 0, 0.0)?;
    let row = of.op("stablehlo.multiply", &[of.spread(tau, &[], &shape[1..]), sums]);
    Ok(of.op("stablehlo.multiply", &[of.spread(vector, &[0], &shape), of.spread(row, &[1], &shape)]))
}

/// The same from the right: `tau (A v) v^H`.
fn from_the_right<'c: 'a, 'a>(
    of: &Matrices<'_, 'c, 'a>,
    matrix: Value<'c, 'a>,
    vector: Value<'c, 'a>,
    tau: Value<'c, 'a>,
) -> Result<Value<'c, 'a>, PassError<'c>> {
    let shape = [of.rows(matrix), of.columns(matrix)];
    let products = of.op("stablehlo.multiply", &[matrix, of.spread(vector, &[1], &shape)]);
    let sums = of.reduce("stablehlo.add", products, 1, 0.0)?;
    let column = of.op("stablehlo.multiply", &[of.spread(tau, &[], &shape[..1]), sums]);
    let conjugate = of.conjugate(vector);
    Ok(of.op("stablehlo.multiply", &[of.spread(column, &[0], &shape), of.spread(conjugate, &[1], &shape)]))
}

/// How the elements of a matrix lie to those of a row and column of the same number.
struct Places<'c, 'a> {
    is_behind: Value<'c, 'a>,
    is_column: Value<'c, 'a>,
    is_below: Value<'c, 'a>,
    is_row: Value<'c, 'a>,
}

impl<'c: 'a, 'a> Places<'c, 'a> {
    fn new(of: &Matrices<'_, 'c, 'a>, shape: &[i64], at: Value<'c, 'a>) -> Self {
        let (row, column) = (of.numbers(0, shape), of.numbers(1, shape));
        let at = of.everywhere(at, shape);
        Self {
            is_behind: of.compare(ComparisonDirection::Gt, column, at),
            is_column: of.compare(ComparisonDirection::Eq, column, at),
            is_below: of.compare(ComparisonDirection::Gt, row, at),
            is_row: of.compare(ComparisonDirection::Eq, row, at),
        }
    }

    /// What is in the row and below it.
    fn is_touched(&self, of: &Matrices<'_, 'c, 'a>) -> Value<'c, 'a> {
        of.op("stablehlo.or", &[self.is_row, self.is_below])
    }
}

/// A matrix as R and the reflectors of Q, and their factors.
pub fn decomposition<'c: 'a, 'a>(
    builder: &Builder<'c, 'a>,
    op: OperationRef<'c, 'a>,
) -> Result<(), PassError<'c>> {
    let (1, 2) = (op.operand_count(), op.result_count()) else { return Ok(()) };
    let operand = op.operand(0)?;
    let Some((of, rows, columns)) = Matrices::of(builder, operand, op.location()) else { return Ok(()) };
    let given = [of.of_elements(&[rows, columns]), of.of_elements(&[rows.min(columns)])];
    if op.result(0)?.r#type() != given[0] || op.result(1)?.r#type() != given[1] {
        return Ok(());
    }
    let (matrix, taus) = factored(&of, operand)?;
    replace(builder, op, &[matrix, taus]);
    Ok(())
}

/// R and the reflectors of Q, and their factors.
///
/// # Errors
/// Elements are not numbers.
pub fn factored<'c: 'a, 'a>(
    of: &Matrices<'_, 'c, 'a>,
    operand: Value<'c, 'a>,
) -> Result<(Value<'c, 'a>, Value<'c, 'a>), PassError<'c>> {
    let shape = [of.rows(operand), of.columns(operand)];
    let steps = shape[0].min(shape[1]);
    let taus = of.zeros(of.of_elements(&[steps]))?;
    if steps == 0 {
        return Ok((operand, taus));
    }
    let first = reflector(of, operand, of.count(0))?;
    let state = [operand, taus, first.vector, first.beta, first.tau];
    let results = of.steps(steps, &state, |step, state| {
        let &[matrix, taus, vector, beta, tau] = state else { return Ok(Vec::new()) };
        let place = Places::new(of, &shape, step);
        let less = from_the_left(of, matrix, vector, of.conjugate(tau))?;
        let reflected = of.op("stablehlo.subtract", &[matrix, less]);
        let inside = of.op("stablehlo.and", &[place.is_behind, place.is_touched(of)]);
        let others = of.select(inside, reflected, matrix);
        let diagonal = of.op("stablehlo.and", &[place.is_column, place.is_row]);
        let others = of.select(diagonal, of.spread(beta, &[], &shape), others);
        let under = of.op("stablehlo.and", &[place.is_column, place.is_below]);
        let next = of.select(under, of.spread(vector, &[0], &shape), others);
        let taus = of.put(taus, tau, step);
        // Past the last column there is none: the slice stays inside, and nobody reads what comes of it.
        let then = reflector(of, next, of.op("stablehlo.add", &[step, of.count(1)]))?;
        Ok(vec![next, taus, then.vector, then.beta, then.tau])
    })?;
    Ok((results[0], results[1]))
}

/// Q from its reflectors.
pub fn product<'c: 'a, 'a>(builder: &Builder<'c, 'a>, op: OperationRef<'c, 'a>) -> Result<(), PassError<'c>> {
    let (2, 1) = (op.operand_count(), op.result_count()) else { return Ok(()) };
    let (operand, taus) = (op.operand(0)?, op.operand(1)?);
    let Some((of, rows, columns)) = Matrices::of(builder, operand, op.location()) else { return Ok(()) };
    let steps = ffi::shape(taus.r#type()).and_then(|shape| shape.last().copied()).unwrap_or(0);
    if op.result(0)?.r#type() != operand.r#type()
        || taus.r#type() != of.of_elements(&[steps])
        || steps > columns
        || columns > rows
    {
        return Ok(());
    }
    let made = unitary(&of, operand, taus)?;
    replace(builder, op, &[made]);
    Ok(())
}

/// As many columns of Q as the matrix has that its reflectors are in; of which there may be fewer.
///
/// # Errors
/// Elements are not numbers.
pub fn unitary<'c: 'a, 'a>(
    of: &Matrices<'_, 'c, 'a>,
    operand: Value<'c, 'a>,
    taus: Value<'c, 'a>,
) -> Result<Value<'c, 'a>, PassError<'c>> {
    let shape = [of.rows(operand), of.columns(operand)];
    let steps = of.rows(taus);
    // Columns that have no reflector are those of the unit matrix.
    let (row, column) = (of.numbers(0, &shape), of.numbers(1, &shape));
    let is_own = of.compare(ComparisonDirection::Lt, column, of.everywhere(of.count(steps), &shape));
    let diagonal = of.compare(ComparisonDirection::Eq, row, column);
    let (zeros, ones) = (of.fill(0.0, operand), of.fill(1.0, operand));
    let begun = of.select(is_own, operand, of.select(diagonal, ones, zeros));
    if steps == 0 {
        return Ok(begun);
    }
    let state = [begun, stored_vector(of, operand, of.count(steps - 1))];
    let results = of.steps(steps, &state, |step, state| {
        let &[matrix, vector] = state else { return Ok(Vec::new()) };
        let at = of.op("stablehlo.subtract", &[of.count(steps - 1), step]);
        let tau = of.line(taus, 0, at);
        let place = Places::new(of, &shape, at);
        let less = from_the_left(of, matrix, vector, tau)?;
        let reflected = of.op("stablehlo.subtract", &[matrix, less]);
        let inside = of.op("stablehlo.and", &[place.is_behind, place.is_touched(of)]);
        let others = of.select(inside, reflected, matrix);
        // The reflector's own column is what it makes of a unit vector.
        let negative = of.spread(of.op("stablehlo.negate", &[tau]), &[], &shape);
        let scaled = of.op("stablehlo.multiply", &[negative, of.spread(vector, &[0], &shape)]);
        let first = of.op("stablehlo.add", &[of.fill(1.0, scaled), negative]);
        let own = of.select(place.is_below, scaled, of.fill(0.0, scaled));
        let own = of.select(place.is_row, first, own);
        let next = of.select(place.is_column, own, others);
        let before = of.op("stablehlo.subtract", &[at, of.count(1)]);
        Ok(vec![next, stored_vector(of, next, before)])
    })?;
    Ok(results[0])
}

/// Q or its adjoint, of which reflectors are given, times a matrix from the left or the right.
pub fn multiplication<'c: 'a, 'a>(
    builder: &Builder<'c, 'a>,
    op: OperationRef<'c, 'a>,
    is_left: bool,
    is_adjoint: bool,
) -> Result<(), PassError<'c>> {
    let (3, 1) = (op.operand_count(), op.result_count()) else { return Ok(()) };
    let (reflectors, taus, operand) = (op.operand(0)?, op.operand(1)?, op.operand(2)?);
    let Some((of, rows, _)) = Matrices::of(builder, operand, op.location()) else { return Ok(()) };
    let columns = of.columns(operand);
    let steps = ffi::shape(taus.r#type()).and_then(|shape| shape.last().copied()).unwrap_or(0);
    let length = if is_left { rows } else { columns };
    if op.result(0)?.r#type() != operand.r#type()
        || taus.r#type() != of.of_elements(&[steps])
        || reflectors.r#type() != of.of_elements(&[length, steps])
        || steps > length
    {
        return Ok(());
    }
    let results = of.steps(steps, &[operand], |step, state| {
        let matrix = state[0];
        // The reflector next to the matrix comes first.
        let is_forward = is_left == is_adjoint;
        let back = of.op("stablehlo.subtract", &[of.count(steps - 1), step]);
        let at = if is_forward { step } else { back };
        let vector = stored_vector(&of, reflectors, at);
        let tau = of.line(taus, 0, at);
        let tau = if is_adjoint { of.conjugate(tau) } else { tau };
        let less = match is_left {
            true => from_the_left(&of, matrix, vector, tau)?,
            false => from_the_right(&of, matrix, vector, tau)?,
        };
        Ok(vec![of.op("stablehlo.subtract", &[matrix, less])])
    })?;
    replace(builder, op, &results);
    Ok(())
}
