// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Eigenvalues of Hermitian matrices and singular values, by Jacobi's rotations.
//!
//! * `syevd`, `heevd`: eigenvectors in columns, eigenvalues from the least on, of the matrix that one triangle says.
//! * `gesdd`, `gesvd`, `gesvdj`, `gesvdp`: singular values from the largest on, and the vectors of both sides, as many as the
//!   results have room for.
//!
//! A step rotates all columns at once, in pairs of one from the left and one from the right: column `j` with column `n - 1 - j`, so
//! that the product of both becomes zero (of a Hermitian matrix rows as well, and the element where they cross). Then all columns but the
//! first go on by one place, and after `n - 1` steps each has met each and is where it was: a sweep. Sweeps go on until what
//! is off the diagonal is nothing beside the matrix, which takes some more than the logarithm of `n`. Where `n` is odd a column
//! of zeros comes last, with which nothing is rotated.
//!
//! Singular vectors of the left come of a QR decomposition of the rotated columns (`reflectors.rs`), which has as many as are asked for and is
//! orthogonal even where singular values are zero.
//!
//! The vectors are others than a library's where it is free to choose: by a factor of size one, or any of a space with one eigenvalue. `info` is
//! 1 where no sweep helped, as where an element is not finite.
//!
//! It takes twice the matrix and the vectors, as each step reads them elsewhere than it writes them, and some launches for each step. A library,
//! which works in blocks, is faster for large matrices.

use super::matrices::Matrices;
use super::{reflectors, replace};
use crate::framework::PassError;
use crate::ir::Builder;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, TypeLike, Value, ValueLike};
use slimhlo_dialect::ffi;
use slimhlo_dialect::stablehlo::attrs::ComparisonDirection::{self, Eq, Ge, Gt, Le, Lt, Ne};

/// Sweeps after which it is given up; 6 to 12 are usual.
const MOST_SWEEPS: i64 = 30;

/// What is known of the floats that a matrix is made of.
struct Precision {
    /// The distance from 1 to the next.
    epsilon: f64,
    /// Largest elements between which squares neither overflow nor vanish.
    least: f64,
    most: f64,
}

impl Precision {
    /// `None` for floats that no library has decompositions of.
    fn of(matrices: &Matrices<'_, '_, '_>) -> Option<Self> {
        match () {
            () if matrices.part().is_f32() => {
                Some(Self { epsilon: f64::from(f32::EPSILON), least: 1e-9, most: 1e9 })
            }
            () if matrices.part().is_f64() => {
                Some(Self { epsilon: f64::EPSILON, least: 1e-100, most: 1e100 })
            }
            () => None,
        }
    }
}

/// A rotation of each pair of columns.
struct Rotation<'c, 'a> {
    /// For each column, how much of itself it becomes, and how much of the other one of its pair.
    own: Value<'c, 'a>,
    other: Value<'c, 'a>,
    /// What the square of its length, or its diagonal element, grows by.
    growth: Value<'c, 'a>,
}

/// What brings the largest element of each matrix to where squares are numbers; 1 where it is there.
fn scale<'c: 'a, 'a>(
    of: &Matrices<'_, 'c, 'a>,
    matrix: Value<'c, 'a>,
    precision: &Precision,
) -> Result<Value<'c, 'a>, PassError<'c>> {
    let (real, imaginary) = of.parts(matrix);
    let mut size = of.op("stablehlo.abs", &[real]);
    if let Some(imaginary) = imaginary {
        size = of.op("stablehlo.maximum", &[size, of.op("stablehlo.abs", &[imaginary])]);
    }
    let largest = of.reduce("stablehlo.maximum", size, 0, 0.0)?;
    let largest = of.reduce("stablehlo.maximum", largest, 0, 0.0)?;
    let is_large = of.compare(Ge, largest, of.fill(precision.least, largest));
    let is_small = of.compare(Le, largest, of.fill(precision.most, largest));
    let is_zero = of.compare(Eq, largest, of.fill(0.0, largest));
    let is_between = of.op("stablehlo.and", &[is_large, is_small]);
    let stays = of.op("stablehlo.or", &[is_between, is_zero]);
    Ok(of.select(stays, of.fill(1.0, largest), largest))
}

/// A matrix divided by a number for each.
fn scaled<'c: 'a, 'a>(
    of: &Matrices<'_, 'c, 'a>,
    matrix: Value<'c, 'a>,
    scale: Value<'c, 'a>,
) -> Value<'c, 'a> {
    let shape = [of.rows(matrix), of.columns(matrix)];
    let scale = of.spread(scale, &[], &shape);
    let (real, imaginary) = of.parts(matrix);
    let divided = |value| of.op("stablehlo.divide", &[value, scale]);
    of.complex(divided(real), imaginary.map(divided))
}

/// Rotations that make columns of each pair orthogonal, of which are given the squares of their lengths, and for the left ones
/// their products with the right ones.
fn rotation<'c: 'a, 'a>(
    of: &Matrices<'_, 'c, 'a>,
    squares: Value<'c, 'a>,
    products: Value<'c, 'a>,
) -> Rotation<'c, 'a> {
    let count = of.rows(squares);
    let half = of.everywhere(of.count(count / 2), &[count]);
    let is_left = of.compare(Lt, of.numbers(0, &[count]), half);
    // The same for both of a pair, or the rotation would not be one.
    let mirrored = of.conjugate(of.reverse(products, 0));
    let products = of.select(is_left, products, mirrored);
    let size = of.size(products);
    let (zero, one) = (of.fill(0.0, size), of.fill(1.0, size));
    let is_there = of.compare(Ne, size, zero);
    let divisor = of.select(is_there, size, one);
    let others = of.reverse(squares, 0);
    let difference = of.op("stablehlo.subtract", &[others, squares]);
    let difference = of.select(is_left, difference, of.op("stablehlo.negate", &[difference]));
    let twice = of.op("stablehlo.add", &[divisor, divisor]);
    let cotangent = of.op("stablehlo.divide", &[difference, twice]);
    let length = |value| {
        let square = of.op("stablehlo.multiply", &[value, value]);
        of.op("stablehlo.sqrt", &[of.op("stablehlo.add", &[one, square])])
    };
    let positive = of.op("stablehlo.abs", &[cotangent]);
    let tangent = of.op("stablehlo.add", &[positive, length(cotangent)]);
    let tangent = of.op("stablehlo.divide", &[one, tangent]);
    let is_negative = of.compare(Lt, cotangent, zero);
    let tangent = of.select(is_negative, of.op("stablehlo.negate", &[tangent]), tangent);
    let tangent = of.select(is_there, tangent, zero);
    let cosine = of.op("stablehlo.divide", &[one, length(tangent)]);
    let sine = of.op("stablehlo.multiply", &[tangent, cosine]);
    let (real, imaginary) = of.parts(products);
    let quotient = |value| of.op("stablehlo.divide", &[value, divisor]);
    let phase = of.complex(quotient(real), imaginary.map(quotient));
    let phase = of.select(is_there, phase, of.fill(1.0, phase));
    let (cosines, sines) = (of.complex(cosine, None), of.complex(sine, None));
    let turned = of.op("stablehlo.multiply", &[cosines, phase]);
    let back = of.op("stablehlo.multiply", &[of.op("stablehlo.negate", &[sines]), of.conjugate(phase)]);
    let growth = of.op("stablehlo.multiply", &[tangent, size]);
    Rotation {
        own: of.select(is_left, cosines, turned),
        other: of.select(is_left, back, sines),
        growth: of.select(is_left, of.op("stablehlo.negate", &[growth]), growth),
    }
}

impl<'c: 'a, 'a> Rotation<'c, 'a> {
    /// Rotates columns (1); of rows (0) the adjoint does.
    fn along(&self, of: &Matrices<'_, 'c, 'a>, matrix: Value<'c, 'a>, along: usize) -> Value<'c, 'a> {
        let shape = [of.rows(matrix), of.columns(matrix)];
        let part = |value: Value<'c, 'a>, factor: Value<'c, 'a>| {
            let factor = if along == 0 { of.conjugate(factor) } else { factor };
            of.op("stablehlo.multiply", &[value, of.spread(factor, &[along], &shape)])
        };
        let (own, other) = (part(matrix, self.own), part(of.reverse(matrix, along), self.other));
        of.op("stablehlo.add", &[own, other])
    }
}

/// Has all rows (0) or columns (1) but the first go on by one place, so that others are pairs.
fn move_on<'c: 'a, 'a>(of: &Matrices<'_, 'c, 'a>, matrix: Value<'c, 'a>, along: usize) -> Value<'c, 'a> {
    let count = [of.rows(matrix), of.columns(matrix)][along];
    if count == 2 {
        return matrix;
    }
    let parts = [(0, 1), (count - 1, 1), (1, count - 2)];
    of.joined(&parts.map(|(first, size)| of.part_along(matrix, along, first, size)), along)
}

/// Zeros, and ones in the diagonal.
fn unit<'c: 'a, 'a>(of: &Matrices<'_, 'c, 'a>, shape: &[i64; 2]) -> Result<Value<'c, 'a>, PassError<'c>> {
    let diagonal = of.on_diagonal(shape);
    let zeros = of.zeros(of.of_elements(shape))?;
    Ok(of.select(diagonal, of.fill(1.0, zeros), zeros))
}

/// The real parts of a diagonal.
fn diagonal<'c: 'a, 'a>(
    of: &Matrices<'_, 'c, 'a>,
    matrix: Value<'c, 'a>,
) -> Result<Value<'c, 'a>, PassError<'c>> {
    let shape = [of.rows(matrix), of.columns(matrix)];
    let on_diagonal = of.on_diagonal(&shape);
    let (real, _) = of.parts(matrix);
    of.reduce("stablehlo.add", of.select(on_diagonal, real, of.fill(0.0, real)), 0, 0.0)
}

/// The squares of the sizes of all elements.
fn squares<'c: 'a, 'a>(of: &Matrices<'_, 'c, 'a>, value: Value<'c, 'a>) -> Value<'c, 'a> {
    let (real, imaginary) = of.parts(value);
    let square = |value| of.op("stablehlo.multiply", &[value, value]);
    let first = square(real);
    imaginary.map_or(first, |imaginary| of.op("stablehlo.add", &[first, square(imaginary)]))
}

/// How what is off the diagonal of each matrix compares with a share of all, in squares.
fn off_diagonal<'c: 'a, 'a>(
    of: &Matrices<'_, 'c, 'a>,
    matrix: Value<'c, 'a>,
    direction: ComparisonDirection,
    share: f64,
) -> Result<Value<'c, 'a>, PassError<'c>> {
    let shape = [of.rows(matrix), of.columns(matrix)];
    let on_diagonal = of.on_diagonal(&shape);
    let all = squares(of, matrix);
    let off = of.select(on_diagonal, of.fill(0.0, all), all);
    let sum = |value| of.reduce("stablehlo.add", of.reduce("stablehlo.add", value, 0, 0.0)?, 0, 0.0);
    let (off, all) = (sum(off)?, sum(all)?);
    Ok(of.compare(direction, off, of.op("stablehlo.multiply", &[all, of.fill(share, all)])))
}

/// The matrix that one triangle of a Hermitian one says.
fn mirrored<'c: 'a, 'a>(of: &Matrices<'_, 'c, 'a>, matrix: Value<'c, 'a>, is_lower: bool) -> Value<'c, 'a> {
    let shape = [of.rows(matrix), of.columns(matrix)];
    let (row, column) = (of.numbers(0, &shape), of.numbers(1, &shape));
    let is_given = of.compare(if is_lower { Ge } else { Le }, row, column);
    let whole = of.select(is_given, matrix, of.adjoint(matrix));
    if !of.is_complex {
        return whole;
    }
    let (real, _) = of.parts(whole);
    of.select(of.compare(Eq, row, column), of.complex(real, None), whole)
}

/// Rotates rows and columns of Hermitian matrices once, and columns of their vectors.
fn hermitian_step<'c: 'a, 'a>(
    of: &Matrices<'_, 'c, 'a>,
    [matrix, vectors]: [Value<'c, 'a>; 2],
) -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
    let shape = [of.rows(matrix), of.columns(matrix)];
    let (row, column) = (of.numbers(0, &shape), of.numbers(1, &shape));
    let last = of.everywhere(of.count(shape[0] - 1), &shape);
    let is_pair = of.compare(Eq, of.op("stablehlo.add", &[row, column]), last);
    let zeros = of.fill(0.0, matrix);
    let products = of.reduce("stablehlo.add", of.select(is_pair, matrix, zeros), 1, 0.0)?;
    let values = diagonal(of, matrix)?;
    let rotation = rotation(of, values, products);
    let rotated = rotation.along(of, rotation.along(of, matrix, 1), 0);
    let rotated = of.select(is_pair, zeros, rotated);
    let values = of.complex(of.op("stablehlo.add", &[values, rotation.growth]), None);
    let on_diagonal = of.compare(Eq, row, column);
    let rotated = of.select(on_diagonal, of.spread(values, &[1], &shape), rotated);
    let rotated = move_on(of, move_on(of, rotated, 1), 0);
    Ok(vec![rotated, move_on(of, rotation.along(of, vectors, 1), 1)])
}

/// Eigenvectors and eigenvalues of Hermitian matrices, of which one triangle is read.
pub fn hermitian<'c: 'a, 'a>(
    builder: &Builder<'c, 'a>,
    op: OperationRef<'c, 'a>,
    is_lower: bool,
) -> Result<(), PassError<'c>> {
    let (1, 3) = (op.operand_count(), op.result_count()) else { return Ok(()) };
    let operand = op.operand(0)?;
    let Some((of, rows, columns)) = Matrices::of(builder, operand, op.location()) else { return Ok(()) };
    let Some(precision) = Precision::of(&of) else { return Ok(()) };
    let info = op.result(2)?.r#type();
    if rows != columns
        || op.result(0)?.r#type() != operand.r#type()
        || op.result(1)?.r#type() != of.ty(&[rows], of.part())
        || info != of.ty(&[], ffi::element_type(info).unwrap_or(info))
    {
        return Ok(());
    }
    if rows == 0 {
        let results = [operand, of.zeros(op.result(1)?.r#type())?, of.zeros(info)?];
        replace(builder, op, &results);
        return Ok(());
    }
    let even = rows + rows % 2;
    let scale = scale(&of, operand, &precision)?;
    let begun = scaled(&of, mirrored(&of, operand, is_lower), scale);
    let state = [of.widened(begun, &[even, even])?, unit(&of, &[rows, even])?];
    let share = precision.epsilon * precision.epsilon;
    let goes_on = of.any(off_diagonal(&of, state[0], Gt, share)?)?;
    let state = of.rounds(MOST_SWEEPS, goes_on, &state, |state| {
        let swept = of.steps(even - 1, state, |_, state| hermitian_step(&of, [state[0], state[1]]))?;
        let goes_on = of.any(off_diagonal(&of, swept[0], Gt, share)?)?;
        Ok((goes_on, swept))
    })?;
    let [matrix, vectors] = state[..] else { return Ok(()) };
    // Nor is what is no number.
    let failed = of.op("stablehlo.not", &[off_diagonal(&of, matrix, Le, precision.epsilon)?]);
    let values = of.part_along(diagonal(&of, matrix)?, 0, 0, rows);
    let values = of.op("stablehlo.multiply", &[values, of.spread(scale, &[], &[rows])]);
    let vectors = of.part_along(vectors, 1, 0, rows);
    let vectors = of.sorted(of.spread(values, &[1], &[rows, rows]), Some(vectors), Lt)?;
    let values = of.sorted(values, None, Lt)?;
    replace(builder, op, &[vectors, values, builder.convert(failed, info, op.location())]);
    Ok(())
}

/// Rotates columns once, and those of the vectors. With what the products of pairs were at most, beside the columns' lengths.
fn one_sided_step<'c: 'a, 'a>(
    of: &Matrices<'_, 'c, 'a>,
    [worst, matrix, vectors]: [Value<'c, 'a>; 3],
) -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
    let products = of.op("stablehlo.multiply", &[of.conjugate(matrix), of.reverse(matrix, 1)]);
    let products = of.reduce("stablehlo.add", products, 0, 0.0)?;
    let lengths = of.reduce("stablehlo.add", squares(of, matrix), 0, 0.0)?;
    let rotation = rotation(of, lengths, products);
    let root = of.op("stablehlo.sqrt", &[lengths]);
    let both = of.op("stablehlo.multiply", &[root, of.reverse(root, 0)]);
    let zero = of.fill(0.0, both);
    let is_there = of.compare(Ne, both, zero);
    let share =
        of.op("stablehlo.divide", &[of.size(products), of.select(is_there, both, of.fill(1.0, both))]);
    let most = of.reduce("stablehlo.maximum", of.select(is_there, share, zero), 0, 0.0)?;
    let worst = of.op("stablehlo.maximum", &[worst, most]);
    let next = |value| move_on(of, rotation.along(of, value, 1), 1);
    Ok(vec![worst, next(matrix), next(vectors)])
}

/// Columns that are orthogonal to each other, the longest first, their lengths, the vectors of the right, and whether there are such.
struct Decomposed<'c, 'a> {
    columns: Value<'c, 'a>,
    values: Value<'c, 'a>,
    right: Value<'c, 'a>,
    failed: Value<'c, 'a>,
}

/// Makes the columns of matrices that have at least as many rows orthogonal.
fn one_sided<'c: 'a, 'a>(
    of: &Matrices<'_, 'c, 'a>,
    matrix: Value<'c, 'a>,
    precision: &Precision,
) -> Result<Decomposed<'c, 'a>, PassError<'c>> {
    let (rows, columns) = (of.rows(matrix), of.columns(matrix));
    let even = columns + columns % 2;
    let scale = scale(of, matrix, precision)?;
    let begun = of.widened(scaled(of, matrix, scale), &[rows, even])?;
    let worst = of.fill(1.0, scale);
    let state = [worst, begun, unit(of, &[columns, even])?];
    // As far as sums of so many products are known.
    let bound = 4.0 * precision.epsilon * (rows as f64).sqrt();
    let goes_on = of.any(of.compare(Gt, worst, of.fill(bound, worst)))?;
    let state = of.rounds(MOST_SWEEPS, goes_on, &state, |state| {
        let begun = [of.fill(0.0, state[0]), state[1], state[2]];
        let swept =
            of.steps(even - 1, &begun, |_, state| one_sided_step(of, [state[0], state[1], state[2]]))?;
        let goes_on = of.any(of.compare(Gt, swept[0], of.fill(bound, swept[0])))?;
        Ok((goes_on, swept))
    })?;
    // Nor is what is no number.
    let done = of.compare(Le, state[0], of.fill(precision.epsilon.sqrt(), state[0]));
    let failed = of.op("stablehlo.not", &[done]);
    let kept = |value| of.part_along(value, 1, 0, columns);
    let (matrix, vectors) = (kept(state[1]), kept(state[2]));
    let lengths = of.op("stablehlo.sqrt", &[of.reduce("stablehlo.add", squares(of, matrix), 0, 0.0)?]);
    let by_length = |value: Value<'c, 'a>| {
        let keys = of.spread(lengths, &[1], &[of.rows(value), columns]);
        of.sorted(keys, Some(value), Gt)
    };
    let values = of.sorted(lengths, None, Gt)?;
    let values = of.op("stablehlo.multiply", &[values, of.spread(scale, &[], &[columns])]);
    Ok(Decomposed { columns: by_length(matrix)?, values, right: by_length(vectors)?, failed })
}

/// So many vectors of the left: those of orthogonal columns, and any that are orthogonal to these.
fn left<'c: 'a, 'a>(
    of: &Matrices<'_, 'c, 'a>,
    orthogonal: Value<'c, 'a>,
    count: i64,
) -> Result<Value<'c, 'a>, PassError<'c>> {
    let (rows, columns) = (of.rows(orthogonal), of.columns(orthogonal));
    let (factored, taus) = reflectors::factored(of, orthogonal)?;
    let factors = diagonal(of, of.part_along(factored, 0, 0, columns))?;
    let unitary = reflectors::unitary(of, of.widened(factored, &[rows, count])?, taus)?;
    // Reflectors are free to turn a column around.
    let is_turned = of.compare(Lt, factors, of.fill(0.0, factors));
    let one = of.fill(1.0, factors);
    let signs = of.select(is_turned, of.op("stablehlo.negate", &[one]), one);
    let ones = of.fill(1.0, of.zeros(of.ty(&[count], of.part()))?);
    let signs = match count > columns {
        true => of.joined(&[signs, of.part_along(ones, 0, 0, count - columns)], 0),
        false => signs,
    };
    let signs = of.complex(signs, None);
    Ok(of.op("stablehlo.multiply", &[unitary, of.spread(signs, &[1], &[rows, count])]))
}

/// In which form a call wants singular vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// None; the results are there nevertheless.
    Values,
    /// Left ones in columns, right ones in rows.
    Adjoint,
    /// Both in columns.
    Columns,
    /// Right ones in rows, then left ones in columns.
    AdjointFirst,
}

/// Singular values and vectors.
pub fn singular<'c: 'a, 'a>(
    builder: &Builder<'c, 'a>,
    op: OperationRef<'c, 'a>,
    wanted: Wanted,
) -> Result<(), PassError<'c>> {
    let (1, 5) = (op.operand_count(), op.result_count()) else { return Ok(()) };
    let operand = op.operand(0)?;
    let Some((of, rows, columns)) = Matrices::of(builder, operand, op.location()) else { return Ok(()) };
    let Some(precision) = Precision::of(&of) else { return Ok(()) };
    let types: Vec<_> = op.results().map(|result| result.r#type()).collect();
    let (least, info) = (rows.min(columns), types[4]);
    if least == 0
        || types[0] != operand.r#type()
        || types[1] != of.ty(&[least], of.part())
        || info != of.ty(&[], ffi::element_type(info).unwrap_or(info))
    {
        return Ok(());
    }
    // As many vectors of each side as there is room for: all, or one for each value.
    let room = |count: i64, shape: &dyn Fn(i64) -> [i64; 2], ty| {
        [least, count].into_iter().find(|&vectors| of.of_elements(&shape(vectors)) == ty)
    };
    let in_columns = |length: i64| move |count: i64| [length, count];
    let in_rows = |length: i64| move |count: i64| [count, length];
    let (left_type, right_type) = match wanted {
        Wanted::AdjointFirst => (types[3], types[2]),
        _ => (types[2], types[3]),
    };
    let right_room = match wanted {
        Wanted::Columns => room(columns, &in_columns(columns), right_type),
        _ => room(columns, &in_rows(columns), right_type),
    };
    let counts = (room(rows, &in_columns(rows), left_type), right_room);
    let (lefts, rights) = match (wanted, counts) {
        (Wanted::Values, _) => (0, 0),
        (_, (Some(lefts), Some(rights))) => (lefts, rights),
        _ => return Ok(()),
    };
    let is_tall = rows >= columns;
    let tall = if is_tall { operand } else { of.adjoint(operand) };
    let found = one_sided(&of, tall, &precision)?;
    let info = builder.convert(found.failed, info, op.location());
    if wanted == Wanted::Values {
        let results = [operand, found.values, of.zeros(types[2])?, of.zeros(types[3])?, info];
        replace(builder, op, &results);
        return Ok(());
    }
    let (left, right) = match is_tall {
        true => (left(&of, found.columns, lefts)?, found.right),
        false => (found.right, left(&of, found.columns, rights)?),
    };
    let vectors = match wanted {
        Wanted::Columns => [left, right],
        Wanted::AdjointFirst => [of.adjoint(right), left],
        Wanted::Adjoint | Wanted::Values => [left, of.adjoint(right)],
    };
    replace(builder, op, &[operand, found.values, vectors[0], vectors[1], info]);
    Ok(())
}
