// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Folding: what an op is without computing it, or what it computes from constants.
//!
//! Every bit is kept. Elements that only change place are moved as bytes, so that NaN payloads and signed zeros survive;
//! arithmetic is done on integers and bools alone, where it wraps around as on every device; a float is converted or
//! compared only if it is zero, infinite or normal, which no device rounds or flushes. A value stands in for a result
//! only if their types are equal, so that no bound or encoding is lost.
//!
//! Constants stay small: results of more than [`LIMIT`] elements are built only if all their elements are the same.

use super::attrs::{ComparisonDirection, ComparisonType};
use super::constraints::producer;
use super::float::Format;
use crate::dense::{Dense, bits, bytes, element_bytes, sign_extend};
use crate::quant::Number;
use crate::rules::{Folded, Rules, Table};
use crate::types::Tensor;
use crate::view::OpView;
use melior::ir::{Attribute, OperationRef, Value, ValueLike};

/// Elements a folded constant may have if they are not all the same.
pub const LIMIT: usize = 64;

/// Rules of one result from a function of [`Folding`].
macro_rules! fold {
    ($rule:expr) => {
        Rules::NONE.fold(|op, operands| {
            let folding = Folding { op, view: OpView::Op(op), operands };
            $rule(&folding).map(|folded| vec![folded])
        })
    };
}

/// Rules of an op on integers of one type.
macro_rules! unary {
    ($compute:expr) => {
        Rules::NONE.fold(|op, operands| {
            let folding = Folding { op, view: OpView::Op(op), operands };
            folding.unary($compute).map(|folded| vec![folded])
        })
    };
}

/// Rules of an op on two integers of one type.
macro_rules! binary {
    ($rule:expr) => {
        Rules::NONE.fold(|op, operands| {
            let folding = Folding { op, view: OpView::Op(op), operands };
            folding.binary(&$rule).map(|folded| vec![folded])
        })
    };
}

/// Folding rules.
pub const TABLE: Table = &[
    ("stablehlo.abs", unary!(|ty, x| Some(if ty.signed(x) < 0 { ty.wrap(x.wrapping_neg()) } else { x }))),
    ("stablehlo.add", binary!(ADD)),
    ("stablehlo.and", binary!(AND)),
    ("stablehlo.bitcast_convert", fold!(fold_bitcast_convert)),
    ("stablehlo.broadcast", fold!(fold_broadcast)),
    ("stablehlo.broadcast_in_dim", fold!(fold_broadcast_in_dim)),
    ("stablehlo.clamp", fold!(fold_clamp)),
    ("stablehlo.compare", fold!(fold_compare)),
    ("stablehlo.concatenate", fold!(fold_concatenate)),
    ("stablehlo.constant", fold!(fold_constant)),
    ("stablehlo.convert", fold!(fold_convert)),
    ("stablehlo.count_leading_zeros", unary!(|ty, x| Some(u64::from(x.leading_zeros() - (64 - ty.width))))),
    ("stablehlo.divide", binary!(DIVIDE)),
    ("stablehlo.dynamic_reshape", fold!(fold_static_identity)),
    ("stablehlo.dynamic_slice", fold!(fold_static_identity)),
    ("stablehlo.dynamic_update_slice", fold!(fold_dynamic_update_slice)),
    ("stablehlo.get_dimension_size", fold!(fold_get_dimension_size)),
    ("stablehlo.get_tuple_element", fold!(fold_get_tuple_element)),
    ("stablehlo.imag", fold!(fold_imag)),
    ("stablehlo.iota", fold!(fold_iota)),
    ("stablehlo.maximum", binary!(MAXIMUM)),
    ("stablehlo.minimum", binary!(MINIMUM)),
    ("stablehlo.multiply", binary!(MULTIPLY)),
    ("stablehlo.negate", unary!(|ty, x| Some(ty.wrap(x.wrapping_neg())))),
    ("stablehlo.not", fold!(fold_not)),
    ("stablehlo.or", binary!(OR)),
    ("stablehlo.pad", fold!(fold_pad)),
    ("stablehlo.popcnt", unary!(|_, x| Some(u64::from(x.count_ones())))),
    ("stablehlo.real", fold!(fold_real)),
    ("stablehlo.remainder", binary!(REMAINDER)),
    ("stablehlo.reshape", fold!(fold_reshape)),
    ("stablehlo.reverse", fold!(fold_reverse)),
    ("stablehlo.select", fold!(fold_select)),
    ("stablehlo.shift_left", binary!(SHIFT_LEFT)),
    ("stablehlo.shift_right_arithmetic", binary!(SHIFT_RIGHT_ARITHMETIC)),
    ("stablehlo.shift_right_logical", binary!(SHIFT_RIGHT_LOGICAL)),
    ("stablehlo.sign", unary!(|ty, x| Some(ty.wrap(ty.signed(x).signum() as u64)))),
    ("stablehlo.slice", fold!(fold_slice)),
    ("stablehlo.subtract", binary!(SUBTRACT)),
    ("stablehlo.transpose", fold!(fold_transpose)),
    ("stablehlo.xor", binary!(XOR)),
];

//===----------------------------------------------------------------------===//
// Integer arithmetic
//===----------------------------------------------------------------------===//

/// An integer type; a bool is one bit, unsigned.
#[derive(Clone, Copy)]
struct Int {
    width: u32,
    unsigned: bool,
}

impl Int {
    fn of(tensor: &Tensor<'_>) -> Option<Self> {
        match Number::of(tensor.element) {
            Number::Integer { width, unsigned } if width <= 64 => {
                Some(Self { width, unsigned: unsigned || width == 1 })
            }
            _ => None,
        }
    }

    fn is_bool(self) -> bool {
        self.width == 1
    }

    /// All bits set.
    fn ones(self) -> u64 {
        u64::MAX >> (64 - self.width)
    }

    /// The low bits that an element of this type keeps.
    fn wrap(self, bits: u64) -> u64 {
        bits & self.ones()
    }

    fn signed(self, bits: u64) -> i64 {
        sign_extend(bits, self.width)
    }

    fn less(self, left: u64, right: u64) -> bool {
        if self.unsigned { left < right } else { self.signed(left) < self.signed(right) }
    }
}

/// What two equal operands give.
enum Same {
    /// Nothing in particular.
    Unknown,
    /// Either of them.
    Operand,
    /// Zero.
    Zero,
}

/// An elementwise op on two integers.
struct Binary {
    /// The op itself, on elements without their sign; `None` leaves the op as it is.
    compute: fn(Int, u64, u64) -> Option<u64>,
    /// What `rhs` may be for the result to be `lhs`.
    neutral: Option<fn(Int) -> u64>,
    /// What `rhs` may be for the result to be `rhs`.
    absorbing: Option<fn(Int) -> u64>,
    /// Whether operands may change places.
    commutes: bool,
    same: Same,
}

const ZERO: fn(Int) -> u64 = |_| 0;
const ONE: fn(Int) -> u64 = |_| 1;
const ONES: fn(Int) -> u64 = |ty| ty.ones();
/// What shifts have in common.
const SHIFT: Binary = Binary {
    compute: |_, _, _| None,
    neutral: Some(ZERO),
    absorbing: None,
    commutes: false,
    same: Same::Unknown,
};

/// The sum. That of two true bools is true by the specification and false by XLA, and so left alone.
const ADD: Binary = Binary {
    compute: |ty, x, y| (!ty.is_bool() || x & y == 0).then(|| ty.wrap(x.wrapping_add(y))),
    neutral: Some(ZERO),
    absorbing: None,
    commutes: true,
    same: Same::Unknown,
};

const SUBTRACT: Binary = Binary {
    compute: |ty, x, y| (!ty.is_bool()).then(|| ty.wrap(x.wrapping_sub(y))),
    neutral: Some(ZERO),
    absorbing: None,
    commutes: false,
    same: Same::Zero,
};

/// The product; of bools, whether both hold.
const MULTIPLY: Binary = Binary {
    compute: |ty, x, y| Some(ty.wrap(x.wrapping_mul(y))),
    neutral: Some(ONE),
    absorbing: Some(ZERO),
    commutes: true,
    same: Same::Unknown,
};

/// The quotient, unless it divides by zero or overflows.
const DIVIDE: Binary = Binary {
    compute: |ty, x, y| {
        if ty.unsigned {
            x.checked_div(y)
        } else {
            let quotient = ty.signed(x).checked_div(ty.signed(y))?;
            // The least number divided by -1 is beyond narrower types too.
            (ty.signed(ty.wrap(quotient as u64)) == quotient).then(|| ty.wrap(quotient as u64))
        }
    },
    neutral: Some(ONE),
    absorbing: None,
    commutes: false,
    same: Same::Unknown,
};

/// The remainder, with the sign of the dividend, unless the quotient does not exist.
const REMAINDER: Binary = Binary {
    compute: |ty, x, y| {
        (DIVIDE.compute)(ty, x, y)?;
        if ty.unsigned {
            x.checked_rem(y)
        } else {
            ty.signed(x).checked_rem(ty.signed(y)).map(|remainder| ty.wrap(remainder as u64))
        }
    },
    neutral: None,
    absorbing: None,
    commutes: false,
    same: Same::Unknown,
};

const MINIMUM: Binary = Binary {
    compute: |ty, x, y| Some(if ty.less(y, x) { y } else { x }),
    neutral: None,
    absorbing: None,
    commutes: true,
    same: Same::Operand,
};

const MAXIMUM: Binary = Binary {
    compute: |ty, x, y| Some(if ty.less(x, y) { y } else { x }),
    neutral: None,
    absorbing: None,
    commutes: true,
    same: Same::Operand,
};

const AND: Binary = Binary {
    compute: |_, x, y| Some(x & y),
    neutral: Some(ONES),
    absorbing: Some(ZERO),
    commutes: true,
    same: Same::Operand,
};

const OR: Binary = Binary {
    compute: |_, x, y| Some(x | y),
    neutral: Some(ZERO),
    absorbing: Some(ONES),
    commutes: true,
    same: Same::Operand,
};

const XOR: Binary = Binary {
    compute: |_, x, y| Some(x ^ y),
    neutral: Some(ZERO),
    absorbing: None,
    commutes: true,
    same: Same::Zero,
};

/// Shifts by less than the width; what happens beyond is for the compiler to say.
const SHIFT_LEFT: Binary =
    Binary { compute: |ty, x, y| (y < u64::from(ty.width)).then(|| ty.wrap(x << y)), ..SHIFT };

const SHIFT_RIGHT_LOGICAL: Binary =
    Binary { compute: |ty, x, y| (y < u64::from(ty.width)).then(|| x >> y), ..SHIFT };

const SHIFT_RIGHT_ARITHMETIC: Binary = Binary {
    compute: |ty, x, y| (y < u64::from(ty.width)).then(|| ty.wrap((ty.signed(x) >> y) as u64)),
    ..SHIFT
};

//===----------------------------------------------------------------------===//
// One op to fold
//===----------------------------------------------------------------------===//

struct Folding<'c, 'a, 'o> {
    op: OperationRef<'c, 'a>,
    view: OpView<'c, 'a>,
    operands: &'o [Option<Attribute<'c>>],
}

impl<'c: 'a, 'a> Folding<'c, 'a, '_> {
    /// The result's type.
    fn result(&self) -> Option<Tensor<'c>> {
        self.view.result_tensor(0).ok()
    }

    /// An operand's type.
    fn operand(&self, index: usize) -> Option<Tensor<'c>> {
        self.view.operand_tensor(index).ok()
    }

    /// An operand's value, if it is a constant small enough to look at.
    fn constant(&self, index: usize) -> Option<Dense<'c>> {
        let dense = Dense::small((*self.operands.get(index)?)?, LIMIT)?;
        // Stored integers of quantized constants are not what they stand for.
        (dense.tensor.element == self.operand(index)?.element).then_some(dense)
    }

    /// The one element of a constant operand.
    fn splat(&self, index: usize) -> Option<Vec<u8>> {
        self.constant(index)?.splat().map(<[u8]>::to_vec)
    }

    /// Operand `index` in place of the result.
    fn forward(&self, index: usize) -> Option<Folded<'c, 'a>> {
        self.forward_value(self.view.operand(index).ok()?)
    }

    /// `value` in place of the result, if it is of its type.
    fn forward_value(&self, value: Value<'c, 'a>) -> Option<Folded<'c, 'a>> {
        let result: Value<'c, 'a> = self.op.result(0).ok()?.into();
        // A value that is its own operand, in a cycle of dead code, would never settle.
        (value.r#type() == result.r#type() && value != result).then_some(Folded::Value(value))
    }

    /// A constant of the result's type: one element for all, or all of them.
    fn build(&self, elements: Vec<u8>) -> Option<Folded<'c, 'a>> {
        let result = self.result()?;
        element_bytes(result.element)?;
        Dense::from_elements(result, elements)?.attribute().map(Folded::Constant)
    }

    /// A constant whose elements are some of `source`, at the places `from` gives in row-major order.
    fn gather(&self, source: &Dense<'c>, from: impl Fn(&[i64]) -> usize) -> Option<Folded<'c, 'a>> {
        if let Some(element) = source.splat() {
            return self.build(element.to_vec());
        }
        let result = self.result()?;
        let mut elements = Vec::new();
        for_each_index(&result, |index| elements.extend_from_slice(source.element(from(index))))?;
        self.build(elements)
    }

    /// Maps integers of one type to that type.
    fn unary(&self, compute: fn(Int, u64) -> Option<u64>) -> Option<Folded<'c, 'a>> {
        let result = self.result()?;
        let ty = Int::of(&result)?;
        self.map(&[self.constant(0)?], |elements| compute(ty, bits(elements[0])?))
    }

    /// Maps the elements at each place of `constants`, which are of one shape or one value, to the bits of an element.
    fn map(
        &self,
        constants: &[Dense<'c>],
        compute: impl Fn(&[&[u8]]) -> Option<u64>,
    ) -> Option<Folded<'c, 'a>> {
        let result = self.result()?;
        let width = element_bytes(result.element).filter(|&width| width <= 8)?;
        let count = usize::try_from(result.element_count()?).ok()?;
        let places = if constants.iter().all(Dense::is_splat) {
            1
        } else if count <= LIMIT && constants.iter().all(|dense| dense.is_splat() || dense.len() == count) {
            count
        } else {
            return None;
        };
        let mut elements = Vec::with_capacity(places * width);
        for place in 0..places {
            let at: Vec<&[u8]> = constants.iter().map(|dense| dense.element(place)).collect();
            elements.extend(bytes(compute(&at)?, width));
        }
        self.build(elements)
    }

    fn binary(&self, rule: &Binary) -> Option<Folded<'c, 'a>> {
        let ty = Int::of(&self.result()?)?;
        let splat = |index: usize| self.splat(index).and_then(|element| bits(&element));
        let orders: &[(usize, usize)] = if rule.commutes { &[(0, 1), (1, 0)] } else { &[(0, 1)] };
        for &(left, right) in orders {
            let Some(value) = splat(right) else { continue };
            if rule.neutral.is_some_and(|neutral| neutral(ty) == value)
                && let Some(folded) = self.forward(left)
            {
                return Some(folded);
            }
            if rule.absorbing.is_some_and(|absorbing| absorbing(ty) == value)
                && let Some(folded) = self.forward(right)
            {
                return Some(folded);
            }
        }
        if self.view.operand(0).ok()? == self.view.operand(1).ok()? {
            match rule.same {
                Same::Operand => return self.forward(0),
                Same::Zero if !ty.is_bool() || matches!(self.view.name(), "stablehlo.xor") => {
                    return self.build(bytes(0, element_bytes(self.result()?.element)?));
                }
                _ => {}
            }
        }
        let constants = [self.constant(0)?, self.constant(1)?];
        self.map(&constants, |elements| (rule.compute)(ty, bits(elements[0])?, bits(elements[1])?))
    }

    /// The op that computes operand `index`, if it is a `name` whose operand 0 may take the result's place.
    fn undone_by(&self, name: &str, matches: impl Fn(&OpView<'c, 'a>) -> bool) -> Option<Folded<'c, 'a>> {
        let inner = producer(self.view.operand(0).ok()?).filter(|inner| inner.name() == name)?;
        if matches(&inner) { self.forward_value(inner.operand(0).ok()?) } else { None }
    }
}

/// Calls `visit` with every index of a static tensor of at most [`LIMIT`] elements, in row-major order.
fn for_each_index(tensor: &Tensor<'_>, mut visit: impl FnMut(&[i64])) -> Option<()> {
    let count = usize::try_from(tensor.element_count()?).ok().filter(|&count| count <= LIMIT)?;
    let mut index = vec![0i64; tensor.rank()];
    for _ in 0..count {
        visit(&index);
        for (place, &size) in index.iter_mut().zip(tensor.shape).rev() {
            *place += 1;
            if *place < size {
                break;
            }
            *place = 0;
        }
    }
    Some(())
}

/// Where an index lies in row-major order.
fn place_of(shape: &[i64], index: impl IntoIterator<Item = i64>) -> usize {
    shape.iter().zip(index).fold(0, |place, (&size, index)| place * size as usize + index as usize)
}

//===----------------------------------------------------------------------===//
// Elements that change place
//===----------------------------------------------------------------------===//

type Rule<'c, 'a> = Option<Folded<'c, 'a>>;

fn fold_constant<'c: 'a, 'a>(folding: &Folding<'c, 'a, '_>) -> Rule<'c, 'a> {
    folding.view.attribute("value").map(Folded::Constant)
}

fn fold_reshape<'c: 'a, 'a>(folding: &Folding<'c, 'a, '_>) -> Rule<'c, 'a> {
    if let Some(folded) = folding.forward(0).or_else(|| folding.undone_by("stablehlo.reshape", |_| true)) {
        return Some(folded);
    }
    let source = folding.constant(0)?;
    let elements = match source.splat() {
        Some(element) => element.to_vec(),
        None => (0..source.len()).flat_map(|place| source.element(place).to_vec()).collect(),
    };
    folding.build(elements)
}

/// An op that copies its first operand if that is as large as the result.
fn fold_static_identity<'c: 'a, 'a>(folding: &Folding<'c, 'a, '_>) -> Rule<'c, 'a> {
    if folding.result()?.is_static() { folding.forward(0) } else { None }
}

/// An update as large as the operand starts at zero, wherever it was to start.
fn fold_dynamic_update_slice<'c: 'a, 'a>(folding: &Folding<'c, 'a, '_>) -> Rule<'c, 'a> {
    let (operand, update) = (folding.operand(0)?, folding.operand(1)?);
    if update.is_static() && update.shape.contains(&0) {
        return folding.forward(0);
    }
    if operand.is_static() && operand.shape == update.shape { folding.forward(1) } else { None }
}

fn fold_transpose<'c: 'a, 'a>(folding: &Folding<'c, 'a, '_>) -> Rule<'c, 'a> {
    let permutation = folding.view.i64_array("permutation").ok()?;
    if (0..).zip(permutation).all(|(place, &from)| place == from) {
        return folding.forward(0);
    }
    let undoes = |inner: &OpView<'c, 'a>| {
        inner.i64_array("permutation").is_ok_and(|inner| {
            (0..).zip(permutation).all(|(place, &from)| {
                usize::try_from(from).ok().and_then(|from| inner.get(from)) == Some(&place)
            })
        })
    };
    if let Some(folded) = folding.undone_by("stablehlo.transpose", undoes) {
        return Some(folded);
    }
    let source = folding.constant(0)?;
    let shape = source.tensor.shape;
    folding.gather(&source, |index| {
        let mut from = vec![0; shape.len()];
        for (&dimension, &place) in permutation.iter().zip(index) {
            from[dimension as usize] = place;
        }
        place_of(shape, from)
    })
}

fn fold_broadcast<'c: 'a, 'a>(folding: &Folding<'c, 'a, '_>) -> Rule<'c, 'a> {
    folding.forward(0).or_else(|| folding.build(folding.splat(0)?))
}

fn fold_broadcast_in_dim<'c: 'a, 'a>(folding: &Folding<'c, 'a, '_>) -> Rule<'c, 'a> {
    let dimensions = folding.view.i64_array("broadcast_dimensions").ok()?;
    if (0..).zip(dimensions).all(|(place, &to)| place == to)
        && folding.result()?.is_static()
        && let Some(folded) = folding.forward(0)
    {
        return Some(folded);
    }
    folding.build(folding.splat(0)?)
}

fn fold_reverse<'c: 'a, 'a>(folding: &Folding<'c, 'a, '_>) -> Rule<'c, 'a> {
    let operand = folding.operand(0)?;
    let dimensions = folding.view.i64_array("dimensions").ok()?;
    let size = |dimension: i64| operand.shape.get(usize::try_from(dimension).ok()?).copied();
    if dimensions.iter().all(|&dimension| matches!(size(dimension), Some(0 | 1))) {
        return folding.forward(0);
    }
    let undoes =
        |inner: &OpView<'c, 'a>| inner.i64_array("dimensions").is_ok_and(|inner| inner == dimensions);
    if let Some(folded) = folding.undone_by("stablehlo.reverse", undoes) {
        return Some(folded);
    }
    let source = folding.constant(0)?;
    let shape = source.tensor.shape;
    folding.gather(&source, |index| {
        let from = (0..).zip(index.iter().zip(shape)).map(|(dimension, (&place, &size))| {
            if dimensions.contains(&dimension) { size - 1 - place } else { place }
        });
        place_of(shape, from)
    })
}

fn fold_slice<'c: 'a, 'a>(folding: &Folding<'c, 'a, '_>) -> Rule<'c, 'a> {
    let operand = folding.operand(0)?;
    // As large as a static operand is all of it.
    if operand.is_static()
        && let Some(folded) = folding.forward(0)
    {
        return Some(folded);
    }
    let starts = folding.view.i64_array("start_indices").ok()?;
    let strides = folding.view.i64_array("strides").ok()?;
    let source = folding.constant(0)?;
    folding.gather(&source, |index| {
        let from = index
            .iter()
            .zip(starts.iter().zip(strides))
            .map(|(&place, (&start, &stride))| start + place * stride);
        place_of(operand.shape, from)
    })
}

fn fold_pad<'c: 'a, 'a>(folding: &Folding<'c, 'a, '_>) -> Rule<'c, 'a> {
    let lows = folding.view.i64_array("edge_padding_low").ok()?;
    let highs = folding.view.i64_array("edge_padding_high").ok()?;
    let interiors = folding.view.i64_array("interior_padding").ok()?;
    if [lows, highs, interiors].concat().iter().all(|&padding| padding == 0)
        && let Some(folded) = folding.forward(0)
    {
        return Some(folded);
    }
    let value = folding.splat(1)?;
    let result = folding.result()?;
    let operand = folding.operand(0)?;
    if operand.is_static() && operand.shape.contains(&0) {
        return folding.build(value);
    }
    let source = folding.constant(0)?;
    if source.splat() == Some(&value) {
        return folding.build(value);
    }
    let mut elements = Vec::new();
    for_each_index(&result, |index| {
        let mut from = Vec::with_capacity(index.len());
        for (dimension, &place) in index.iter().enumerate() {
            let step = interiors[dimension].saturating_add(1);
            let offset = place.wrapping_sub(lows[dimension]);
            let inside = offset >= 0 && offset % step == 0 && offset / step < operand.shape[dimension];
            from.extend(inside.then(|| offset / step));
        }
        let inside = from.len() == index.len();
        elements.extend_from_slice(if inside {
            source.element(place_of(operand.shape, from))
        } else {
            &value
        });
    })?;
    folding.build(elements)
}

fn fold_concatenate<'c: 'a, 'a>(folding: &Folding<'c, 'a, '_>) -> Rule<'c, 'a> {
    let dimension = usize::try_from(folding.view.integer("dimension").ok()?).ok()?;
    let count = folding.view.operand_count();
    let sizes: Vec<i64> = (0..count)
        .map(|index| folding.operand(index)?.shape.get(dimension).copied())
        .collect::<Option<_>>()?;
    // Empty operands add nothing.
    let mut filled = (0..count).filter(|&index| sizes[index] != 0);
    match (filled.next(), filled.next()) {
        (Some(only), None) => return folding.forward(only),
        (None, _) => return folding.forward(0),
        _ => {}
    }
    let sources: Vec<Dense<'c>> = (0..count).map(|index| folding.constant(index)).collect::<Option<_>>()?;
    let first = sources[0].splat();
    if first.is_some() && sources.iter().all(|source| source.splat() == first) {
        return folding.build(first?.to_vec());
    }
    let mut elements = Vec::new();
    for_each_index(&folding.result()?, |index| {
        let mut from = index.to_vec();
        let mut source = 0;
        while source + 1 < count && from[dimension] >= sizes[source] {
            from[dimension] -= sizes[source];
            source += 1;
        }
        let source = &sources[source];
        elements.extend_from_slice(source.element(place_of(source.tensor.shape, from)));
    })?;
    folding.build(elements)
}

fn fold_iota<'c: 'a, 'a>(folding: &Folding<'c, 'a, '_>) -> Rule<'c, 'a> {
    let result = folding.result()?;
    let ty = Int::of(&result)?;
    let dimension = usize::try_from(folding.view.integer("iota_dimension").ok()?).ok()?;
    let width = element_bytes(result.element)?;
    if result.shape.get(dimension)? == &1 {
        return folding.build(bytes(0, width));
    }
    let mut elements = Vec::new();
    for_each_index(&result, |index| elements.extend(bytes(ty.wrap(index[dimension] as u64), width)))?;
    folding.build(elements)
}

fn fold_get_dimension_size<'c: 'a, 'a>(folding: &Folding<'c, 'a, '_>) -> Rule<'c, 'a> {
    let dimension = usize::try_from(folding.view.integer("dimension").ok()?).ok()?;
    let size = i32::try_from(*folding.operand(0)?.shape.get(dimension)?).ok().filter(|&size| size >= 0)?;
    folding.build(bytes(size as u64, 4))
}

fn fold_get_tuple_element<'c: 'a, 'a>(folding: &Folding<'c, 'a, '_>) -> Rule<'c, 'a> {
    let tuple = producer(folding.view.operand(0).ok()?).filter(|tuple| tuple.name() == "stablehlo.tuple")?;
    let index = usize::try_from(folding.view.integer("index").ok()?).ok()?;
    folding.forward_value(tuple.operand(index).ok()?)
}

/// The bytes of a constant read as other elements. Narrow elements that make up a wide one follow each other with the
/// lowest first, as the bytes of a little-endian machine do.
fn fold_bitcast_convert<'c: 'a, 'a>(folding: &Folding<'c, 'a, '_>) -> Rule<'c, 'a> {
    let same = |inner: &OpView<'c, 'a>| inner.operand_count() == 1;
    if let Some(folded) = folding.forward(0).or_else(|| folding.undone_by("stablehlo.bitcast_convert", same))
    {
        return Some(folded);
    }
    let (operand, result) = (folding.operand(0)?, folding.result()?);
    let whole_bytes = |tensor: &Tensor<'_>| {
        Number::of(tensor.element).width().filter(|width| width % 8 == 0 && cfg!(target_endian = "little"))
    };
    let (from, to) = (whole_bytes(&operand)?, whole_bytes(&result)?);
    let source = folding.constant(0)?;
    if let Some(element) = source.splat().filter(|_| from == to) {
        return folding.build(element.to_vec());
    }
    (source.len() <= LIMIT && usize::try_from(result.element_count()?).ok()? <= LIMIT).then_some(())?;
    folding.build((0..source.len()).flat_map(|place| source.element(place).to_vec()).collect())
}

/// `real` and `imag` of a number made of parts.
fn fold_part<'c: 'a, 'a>(folding: &Folding<'c, 'a, '_>, part: usize) -> Rule<'c, 'a> {
    let operand = folding.view.operand(0).ok()?;
    let complex = producer(operand).filter(|complex| complex.name() == "stablehlo.complex")?;
    folding.forward_value(complex.operand(part).ok()?)
}

fn fold_real<'c: 'a, 'a>(folding: &Folding<'c, 'a, '_>) -> Rule<'c, 'a> {
    fold_part(folding, 0)
}

fn fold_imag<'c: 'a, 'a>(folding: &Folding<'c, 'a, '_>) -> Rule<'c, 'a> {
    fold_part(folding, 1)
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

fn fold_not<'c: 'a, 'a>(folding: &Folding<'c, 'a, '_>) -> Rule<'c, 'a> {
    folding.undone_by("stablehlo.not", |_| true).or_else(|| folding.unary(|ty, x| Some(ty.wrap(!x))))
}

fn fold_select<'c: 'a, 'a>(folding: &Folding<'c, 'a, '_>) -> Rule<'c, 'a> {
    if folding.view.operand(1).ok()? == folding.view.operand(2).ok()? {
        return folding.forward(1);
    }
    let pred = folding.constant(0)?;
    if let Some(chosen) = pred.splat().and_then(bits)
        && let Some(folded) = folding.forward(if chosen != 0 { 1 } else { 2 })
    {
        return Some(folded);
    }
    let choices = [folding.constant(1)?, folding.constant(2)?];
    let mut elements = Vec::new();
    let mut place = 0;
    for_each_index(&folding.result()?, |_| {
        let chosen = if pred.element(place)[0] != 0 { &choices[0] } else { &choices[1] };
        elements.extend_from_slice(chosen.element(place));
        place += 1;
    })?;
    folding.build(elements)
}

fn fold_clamp<'c: 'a, 'a>(folding: &Folding<'c, 'a, '_>) -> Rule<'c, 'a> {
    let ty = Int::of(&folding.result()?)?;
    let constants = [folding.constant(0)?, folding.constant(1)?, folding.constant(2)?];
    folding.map(&constants, |elements| {
        let (low, x, high) = (bits(elements[0])?, bits(elements[1])?, bits(elements[2])?);
        // The upper limit is applied last, should the two contradict each other.
        let raised = if ty.less(x, low) { low } else { x };
        Some(if ty.less(high, raised) { high } else { raised })
    })
}

fn fold_compare<'c: 'a, 'a>(folding: &Folding<'c, 'a, '_>) -> Rule<'c, 'a> {
    use std::cmp::Ordering;
    let direction = ComparisonDirection::try_from(folding.view.attribute("comparison_direction")?).ok()?;
    let holds = move |order: Ordering| match direction {
        ComparisonDirection::Eq => order.is_eq(),
        ComparisonDirection::Ne => order.is_ne(),
        ComparisonDirection::Ge => order.is_ge(),
        ComparisonDirection::Gt => order.is_gt(),
        ComparisonDirection::Le => order.is_le(),
        ComparisonDirection::Lt => order.is_lt(),
    };
    let operand = folding.operand(0)?;
    let kind = match folding.view.attribute("compare_type") {
        Some(kind) => ComparisonType::try_from(kind).ok()?,
        None => ComparisonType::NoType,
    };
    let Some(ty) = Int::of(&operand) else {
        let format = Format::of(operand.element)?;
        // Zeros of either sign are equal here, and in no total order.
        if !matches!(kind, ComparisonType::NoType | ComparisonType::Float) {
            return None;
        }
        return folding.map(&[folding.constant(0)?, folding.constant(1)?], |elements| {
            let order = format.read(bits(elements[0])?)?.partial_cmp(&format.read(bits(elements[1])?)?)?;
            Some(u64::from(holds(order)))
        });
    };
    // A comparison that reads the elements as another type is left to those who know what it means.
    let expected = if ty.unsigned { ComparisonType::Unsigned } else { ComparisonType::Signed };
    if kind != ComparisonType::NoType && kind != expected {
        return None;
    }
    if folding.view.operand(0).ok()? == folding.view.operand(1).ok()? {
        return folding.build(vec![u8::from(holds(Ordering::Equal))]);
    }
    folding.map(&[folding.constant(0)?, folding.constant(1)?], |elements| {
        let (left, right) = (bits(elements[0])?, bits(elements[1])?);
        let order = if ty.unsigned { left.cmp(&right) } else { ty.signed(left).cmp(&ty.signed(right)) };
        Some(u64::from(holds(order)))
    })
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

/// Integers wrap around; floats are converted if nothing is rounded.
fn fold_convert<'c: 'a, 'a>(folding: &Folding<'c, 'a, '_>) -> Rule<'c, 'a> {
    if let Some(folded) = folding.forward(0) {
        return Some(folded);
    }
    let (operand, result) = (folding.operand(0)?, folding.result()?);
    let source = folding.constant(0)?;
    let convert: Box<dyn Fn(u64) -> Option<u64>> = match (Int::of(&operand), Int::of(&result)) {
        (Some(from), Some(to)) => Box::new(move |x| {
            Some(if to.is_bool() {
                u64::from(x != 0)
            } else if from.unsigned {
                to.wrap(x)
            } else {
                to.wrap(from.signed(x) as u64)
            })
        }),
        (Some(from), None) => {
            let format = Format::of(result.element)?;
            Box::new(move |x| {
                let value = if from.unsigned { i128::from(x) } else { i128::from(from.signed(x)) };
                // Beyond 2^53 not every integer is a number of the widest format.
                (value.unsigned_abs() <= 1 << 53).then(|| format.write(value as f64))?
            })
        }
        (None, Some(to)) => {
            let format = Format::of(operand.element)?;
            Box::new(move |x| {
                let value = format.read(x)?;
                if to.is_bool() {
                    return Some(u64::from(value != 0.0));
                }
                let (low, high) = if to.unsigned {
                    (0, to.ones() as i128)
                } else {
                    (-(1i128 << (to.width - 1)), (1i128 << (to.width - 1)) - 1)
                };
                // Casts saturate, so that infinities fall outside.
                let whole = value.trunc() as i128;
                (low..=high).contains(&whole).then(|| to.wrap(whole as u64))
            })
        }
        (None, None) => {
            let (from, to) = (Format::of(operand.element)?, Format::of(result.element)?);
            Box::new(move |x| to.write(from.read(x)?))
        }
    };
    folding.map(&[source], |elements| convert(bits(elements[0])?))
}
