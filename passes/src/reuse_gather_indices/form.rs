// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What an index array is, column by column: which number of which array, and what was done to it on the way.
//!
//! Numbers are followed as numbers, not as bits: a range goes along with each, so that it is known which converts change
//! nothing, which additions cannot wrap around and which clamps have nothing to do.

use crate::ir::{self, discardable_attributes, element_of};
use crate::rewrite::defining_op;
use melior::ir::operation::OperationLike;
use melior::ir::r#type::IntegerType;
use melior::ir::{OperationRef, Type, Value, ValueLike};
use slimhlo_dialect::dense::Dense;
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::stablehlo::attrs::ComparisonDirection;
use slimhlo_dialect::types::Tensor;

/// Ops followed from an index array upwards, per column.
const LONGEST: usize = 64;
/// Operands of a concatenation that are looked through: an index vector has a number per dimension of a table.
const MOST_PIECES: usize = 64;
/// Elements of a constant that is read.
const MOST_ELEMENTS: usize = 4096;

/// An integer type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kind {
    /// Bits.
    pub width: u32,
    /// Whether it has no negative numbers.
    pub unsigned: bool,
}

impl Kind {
    /// The kind of an element type of 2 to 64 bits; booleans are not numbers here.
    pub fn of(element: Type<'_>) -> Option<Self> {
        let integer = IntegerType::try_from(element).ok()?;
        (2..=64)
            .contains(&integer.width())
            .then(|| Self { width: integer.width(), unsigned: integer.is_unsigned() })
    }

    /// All its numbers.
    pub fn range(self) -> Range {
        if self.unsigned {
            Range { low: 0, high: (1 << self.width) - 1 }
        } else {
            Range { low: -(1 << (self.width - 1)), high: (1 << (self.width - 1)) - 1 }
        }
    }

    fn wrap(self, value: i128) -> i128 {
        let low = value & ((1 << self.width) - 1);
        if !self.unsigned && low >> (self.width - 1) == 1 { low - (1 << self.width) } else { low }
    }
}

/// Numbers from `low` to `high`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Range {
    /// The least.
    pub low: i128,
    /// The greatest.
    pub high: i128,
}

impl Range {
    /// Whether all of `other` is in it.
    pub fn contains(self, other: Self) -> bool {
        self.low <= other.low && other.high <= self.high
    }

    /// One number.
    pub fn only(value: i128) -> Self {
        Self { low: value, high: value }
    }

    /// What is in either, and between.
    pub fn hull(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }
}

/// Something that is done to a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// This is added to negative numbers.
    Fix(i128),
    /// This is added.
    Add(i128),
    /// It is raised to the first, then lowered to the second.
    Clamp(i128, i128),
    /// It is wrapped around to fit this type.
    Wrap(Kind),
}

impl Step {
    /// What numbers of a range become, not wrapped around.
    pub fn range(self, of: Range) -> Range {
        match self {
            Self::Fix(_) if of.low >= 0 => of,
            Self::Fix(size) if of.high < 0 => Range { low: of.low + size, high: of.high + size },
            Self::Fix(size) => {
                Range { low: of.low + size, high: size - 1 }.hull(Range { low: 0, high: of.high })
            }
            Self::Add(by) => Range { low: of.low + by, high: of.high + by },
            Self::Clamp(low, high) => {
                Range { low: of.low.max(low).min(high), high: of.high.max(low).min(high) }
            }
            Self::Wrap(kind) if kind.range().contains(of) => of,
            Self::Wrap(kind) if of.low == of.high => Range::only(kind.wrap(of.low)),
            Self::Wrap(kind) => kind.range(),
        }
    }

    /// Whether it can be computed in a type that holds the range it is applied to, without wrapping around.
    pub fn fits(self, of: Range, kind: Kind) -> bool {
        let all = kind.range();
        let constants = match self {
            Self::Fix(size) | Self::Add(size) => Range::only(size),
            Self::Clamp(low, high) => Range::only(low).hull(Range::only(high)),
            Self::Wrap(_) => return true,
        };
        all.contains(constants) && all.contains(self.range(of))
    }

    /// The same for numbers of this range, told as plainly as can be; nothing if it changes none of them.
    fn plain(self, of: Range) -> Option<Self> {
        match self {
            Self::Fix(size) if of.low >= 0 || size == 0 => None,
            Self::Add(0) => None,
            Self::Clamp(low, high) if low <= of.low && of.high <= high => None,
            Self::Clamp(low, high) if low <= high && low <= of.high && of.low <= high => {
                Some(Self::Clamp(low.max(of.low), high.min(of.high)))
            }
            Self::Wrap(kind) if kind.range().contains(of) => None,
            step => Some(step),
        }
    }
}

/// Where along a dimension of an array a number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum At {
    /// Always here. Dimensions of size 1 are always at 0.
    Fixed(i64),
    /// Where the index vector is along this dimension, counted without those of size 1 and that of the vectors.
    Batch(usize),
}

/// What a number is before anything is done to it.
#[derive(Clone, Copy, PartialEq)]
pub enum Source<'c, 'a> {
    /// An element of an array.
    Array(Value<'c, 'a>),
    /// This.
    Number(i128),
}

/// One number of each index vector.
#[derive(Clone)]
pub struct Column<'c, 'a> {
    /// The array it is from.
    pub source: Source<'c, 'a>,
    /// Where in that; empty for a number.
    pub at: Vec<At>,
    /// What was done to it, first to last.
    pub steps: Vec<Step>,
    /// What it is before that.
    pub start: Range,
    /// What it may be.
    pub range: Range,
    /// Ops that did something to it, other than converting it, as the program has them.
    pub written: usize,
}

/// An index array.
#[derive(Clone)]
pub struct Form<'c, 'a> {
    /// Sizes of its dimensions other than that of the vectors, without those that are 1.
    pub batch: Vec<i64>,
    /// Its columns.
    pub columns: Vec<Column<'c, 'a>>,
    /// Whether the program puts it together from columns.
    pub joined: bool,
}

/// What each number of an index vector is clamped to: the least and the greatest.
pub type Bounds = Vec<(i128, i128)>;

/// What tells two forms apart.
pub type Key = (Vec<i64>, Vec<(Option<usize>, Vec<At>, Vec<Step>, i128)>);

impl<'c: 'a, 'a> Form<'c, 'a> {
    /// The form of an index array whose vectors are along `vectors`; that may be one past its last dimension.
    pub fn of(value: Value<'c, 'a>, vectors: usize) -> Option<Self> {
        let tensor = plain(value)?;
        let count = tensor.shape.get(vectors).copied().unwrap_or(1);
        if !(1..=64).contains(&count) || tensor.element_count()? == 0 {
            return None;
        }
        let batch = (0..tensor.rank()).filter(|&dim| dim != vectors && tensor.shape[dim] != 1);
        let batch: Vec<i64> = batch.map(|dim| tensor.shape[dim]).collect();
        let mut joined = false;
        let columns = (0..count)
            .map(|column| {
                let mut number = 0;
                let at = (0..tensor.rank()).map(|dim| match tensor.shape[dim] {
                    _ if dim == vectors => At::Fixed(column),
                    1 => At::Fixed(0),
                    _ => {
                        number += 1;
                        At::Batch(number - 1)
                    }
                });
                let (column, through_join) = trace(value, at.collect())?;
                joined |= through_join;
                Some(column)
            })
            .collect::<Option<_>>()?;
        Some(Self { batch, columns, joined })
    }

    /// What tells it from other forms.
    pub fn key(&self) -> Key {
        let columns = self.columns.iter().map(|column| match column.source {
            Source::Array(value) => (Some(ir::key(value)), column.at.clone(), column.steps.clone(), 0),
            Source::Number(number) => (None, Vec::new(), Vec::new(), number),
        });
        (self.batch.clone(), columns.collect())
    }

    /// Whether nothing is done to any number.
    pub fn is_unchanged(&self) -> bool {
        self.columns.iter().all(|column| column.steps.is_empty())
    }

    /// The same without the last clamp of each column, and those.
    pub fn without_clamp(&self) -> Option<(Self, Bounds)> {
        let mut form = self.clone();
        let mut clamps = Vec::with_capacity(form.columns.len());
        for column in &mut form.columns {
            let Some(Step::Clamp(low, high)) = column.steps.pop() else { return None };
            clamps.push((low, high));
            column.range = column.steps.iter().fold(column.start, |range, step| step.range(range));
        }
        Some((form, clamps))
    }
}

/// A static tensor of integers without encoding.
pub fn plain<'c>(value: Value<'c, '_>) -> Option<Tensor<'c>> {
    let tensor = Tensor::new(value.r#type())?;
    (tensor.is_static() && tensor.encoding().is_none() && Kind::of(tensor.element).is_some())
        .then_some(tensor)
}

/// Where an op that only moves elements has the one at `at` from.
fn moved<'c: 'a, 'a>(op: OperationRef<'c, 'a>, at: &[At]) -> Option<(Value<'c, 'a>, Vec<At>)> {
    let value = op.operands().next()?;
    let from = Tensor::new(value.r#type()).filter(Tensor::is_static)?;
    let fixed = |dim: usize| from.shape[dim] == 1;
    let at = match op_name(op) {
        "stablehlo.reshape" => {
            let to = Tensor::new(op.result(0).ok()?.r#type())?;
            let mut rest = (0..to.rank()).filter(|&dim| to.shape[dim] != 1);
            let found = (0..from.rank()).map(|dim| {
                if fixed(dim) {
                    return Some(At::Fixed(0));
                }
                rest.next().filter(|&other| to.shape[other] == from.shape[dim]).map(|other| at[other])
            });
            let found: Vec<At> = found.collect::<Option<_>>()?;
            rest.next().is_none().then_some(found)?
        }
        "stablehlo.broadcast_in_dim" => {
            let dims = ir::i64_array(op, "broadcast_dimensions")?;
            (0..from.rank())
                .map(|dim| if fixed(dim) { At::Fixed(0) } else { at[dims[dim] as usize] })
                .collect()
        }
        "stablehlo.transpose" => {
            let mut found = vec![At::Fixed(0); from.rank()];
            for (dim, &other) in ir::i64_array(op, "permutation")?.iter().enumerate() {
                found[other as usize] = at[dim];
            }
            found
        }
        "stablehlo.slice" => {
            let (starts, strides) = (ir::i64_array(op, "start_indices")?, ir::i64_array(op, "strides")?);
            let to = Tensor::new(op.result(0).ok()?.r#type())?;
            (0..from.rank())
                .map(|dim| match at[dim] {
                    At::Fixed(at) => Some(At::Fixed(starts[dim] + at * strides[dim])),
                    batch => (to.shape[dim] == from.shape[dim]).then_some(batch),
                })
                .collect::<Option<_>>()?
        }
        _ => return None,
    };
    Some((value, at))
}

/// The operand of a concatenation that the element at `at` is from.
fn piece<'c: 'a, 'a>(op: OperationRef<'c, 'a>, at: &[At]) -> Option<(Value<'c, 'a>, Vec<At>)> {
    if op_name(op) != "stablehlo.concatenate" || op.operand_count() > MOST_PIECES {
        return None;
    }
    let dim = usize::try_from(ir::constant_attribute(op, "dimension")?).ok()?;
    let At::Fixed(mut place) = *at.get(dim)? else { return None };
    for operand in op.operands() {
        let size = *Tensor::new(operand.r#type())?.shape.get(dim)?;
        if place < size {
            let mut at = at.to_vec();
            at[dim] = At::Fixed(place);
            return Some((operand, at));
        }
        place -= size;
    }
    None
}

/// The number that a value of an index array's shape holds for a column of all index vectors, which are along `vectors`, if that
/// is known.
pub fn number_of_column<'c: 'a, 'a>(value: Value<'c, 'a>, vectors: usize, column: usize) -> Option<i128> {
    let tensor = plain(value)?;
    let mut number = 0;
    let at = (0..tensor.rank()).map(|dim| match tensor.shape[dim] {
        _ if dim == vectors => At::Fixed(column as i64),
        1 => At::Fixed(0),
        _ => {
            number += 1;
            At::Batch(number - 1)
        }
    });
    number_at(value, &at.collect::<Vec<_>>())
}

/// The number that a value holds at `at`, wherever the index vector is, if that is known.
fn number_at<'c: 'a, 'a>(value: Value<'c, 'a>, at: &[At]) -> Option<i128> {
    let (mut value, mut at) = (value, at.to_vec());
    let mut converts = Vec::new();
    for _ in 0..LONGEST {
        let op = defining_op(value)?;
        match op_name(op) {
            "stablehlo.constant" => {
                let tensor = plain(value)?;
                let dense = Dense::small(ffi::attribute_of(op, "value")?, MOST_ELEMENTS)?;
                let index = if dense.is_splat() {
                    0
                } else {
                    let mut index = 0i64;
                    for (at, size) in at.iter().zip(tensor.shape) {
                        let At::Fixed(at) = at else { return None };
                        index = index * size + at;
                    }
                    usize::try_from(index).ok().filter(|&index| index < dense.len())?
                };
                let kind = Kind::of(tensor.element)?;
                let number = kind.wrap(i128::from(dense.bits(index)?));
                return Some(converts.into_iter().rev().fold(number, |number, kind: Kind| kind.wrap(number)));
            }
            "stablehlo.convert" => {
                converts.push(Kind::of(element_of(value.r#type()))?);
                value = op.operands().next()?;
            }
            "stablehlo.minimum" | "stablehlo.maximum" => {
                // Of constants: how bounds are put together. Not followed further.
                let numbers =
                    [op.operands().next()?, op.operands().nth(1)?].map(|side| splat_or_vector(side, &at));
                let [Some(left), Some(right)] = numbers else { return None };
                let lesser = op_name(op) == "stablehlo.minimum";
                let number = if lesser { left.min(right) } else { left.max(right) };
                return Some(converts.into_iter().rev().fold(number, |number, kind: Kind| kind.wrap(number)));
            }
            _ => (value, at) = moved(op, &at).or_else(|| piece(op, &at))?,
        }
    }
    None
}

/// The number that a constant, or a broadcast one, holds at `at`.
fn splat_or_vector<'c: 'a, 'a>(value: Value<'c, 'a>, at: &[At]) -> Option<i128> {
    let op = defining_op(value)?;
    if matches!(op_name(op), "stablehlo.minimum" | "stablehlo.maximum") { None } else { number_at(value, at) }
}

/// What an op does to a number, and whose.
fn arithmetic<'c: 'a, 'a>(op: OperationRef<'c, 'a>, at: &[At]) -> Option<(Value<'c, 'a>, Step)> {
    let operand = |index: usize| op.operands().nth(index);
    let with_number = |step: fn(i128) -> Step| {
        let (left, right) = (operand(0)?, operand(1)?);
        match (number_at(right, at), number_at(left, at)) {
            (Some(number), None) => Some((left, step(number))),
            (None, Some(number)) => Some((right, step(number))),
            _ => None,
        }
    };
    let kind = Kind::of(element_of(op.result(0).ok()?.r#type()))?;
    match op_name(op) {
        "stablehlo.convert" => Some((operand(0)?, Step::Wrap(kind))),
        "stablehlo.add" => with_number(Step::Add),
        "stablehlo.subtract" => {
            let number = number_at(operand(1)?, at)?;
            Some((operand(0)?, Step::Add(-number)))
        }
        "stablehlo.maximum" => {
            let (value, step) = with_number(|low| Step::Clamp(low, low))?;
            let Step::Clamp(low, _) = step else { return None };
            Some((value, Step::Clamp(low, kind.range().high)))
        }
        "stablehlo.minimum" => {
            let (value, step) = with_number(|high| Step::Clamp(high, high))?;
            let Step::Clamp(_, high) = step else { return None };
            Some((value, Step::Clamp(kind.range().low, high)))
        }
        "stablehlo.clamp" => {
            let bound = |index: usize| {
                let value = operand(index)?;
                number_at(value, if ir::is_rank_zero(value) { &[] } else { at })
            };
            Some((operand(1)?, Step::Clamp(bound(0)?, bound(2)?)))
        }
        "stablehlo.select" => {
            if ir::is_rank_zero(operand(0)?) && !at.is_empty() {
                return None;
            }
            let is_negative = defining_op(operand(0)?)?;
            let (fixed, kept) = (operand(1)?, operand(2)?);
            if op_name(is_negative) != "stablehlo.compare" {
                return None;
            }
            let direction = ffi::attribute_of(is_negative, "comparison_direction")?;
            let direction = ComparisonDirection::try_from(direction).ok()?;
            let (left, right) = (is_negative.operands().next()?, is_negative.operands().nth(1)?);
            let (compared, zero, fixed, kept) = match direction {
                ComparisonDirection::Lt => (left, right, fixed, kept),
                ComparisonDirection::Gt => (right, left, fixed, kept),
                ComparisonDirection::Ge => (left, right, kept, fixed),
                ComparisonDirection::Le => (right, left, kept, fixed),
                _ => return None,
            };
            let add = defining_op(fixed).filter(|op| op_name(*op) == "stablehlo.add")?;
            let (one, other) = (add.operands().next()?, add.operands().nth(1)?);
            let size = if one == kept {
                number_at(other, at)?
            } else {
                number_at(one, at).filter(|_| other == kept)?
            };
            let same = compared == kept || is_widened(kept, compared);
            (same && number_at(zero, at)? == 0).then_some((kept, Step::Fix(size)))
        }
        _ => None,
    }
}

/// Whether `value` is `narrow`, converted to a type that holds all its numbers.
fn is_widened<'c: 'a, 'a>(value: Value<'c, 'a>, narrow: Value<'c, 'a>) -> bool {
    let kinds = (Kind::of(element_of(value.r#type())), Kind::of(element_of(narrow.r#type())));
    let (Some(wide), Some(kind)) = kinds else { return false };
    wide.range().contains(kind.range())
        && defining_op(value).is_some_and(|op| {
            op_name(op) == "stablehlo.convert" && op.operand(0).is_ok_and(|operand| operand == narrow)
        })
}

/// Follows one number of the index vectors upwards; whether through a concatenation.
fn trace<'c: 'a, 'a>(value: Value<'c, 'a>, at: Vec<At>) -> Option<(Column<'c, 'a>, bool)> {
    let (mut value, mut at) = (value, at);
    // The steps with the value, and where in it, that is the step's result.
    let mut path: Vec<(Value<'c, 'a>, Vec<At>, Step)> = Vec::new();
    // How many steps come after the last concatenation.
    let mut join = None;
    for _ in 0..LONGEST {
        let Some(op) = defining_op(value).filter(|op| discardable_attributes(*op).is_empty()) else { break };
        if let Some((from, step)) = arithmetic(op, &at).filter(|(from, _)| plain(*from).is_some()) {
            path.push((value, at.clone(), step));
            value = from;
        } else if let Some(found) = moved(op, &at).filter(|(from, _)| plain(*from).is_some()) {
            (value, at) = found;
        } else if let Some(found) = piece(op, &at).filter(|(from, _)| plain(*from).is_some()) {
            (value, at) = found;
            join.get_or_insert(path.len());
        } else {
            break;
        }
    }
    let kind = Kind::of(element_of(value.r#type()))?;
    let start = match number_at(value, &at) {
        Some(number) => Range::only(number),
        None => counted(value).filter(|range| kind.range().contains(*range)).unwrap_or(kind.range()),
    };
    let mut column =
        Column { source: Source::Array(value), at, steps: Vec::new(), start, range: start, written: 0 };
    for (after, (result, at, step)) in path.into_iter().enumerate().rev() {
        let kind = Kind::of(element_of(result.r#type()))?;
        let range = step.range(column.range);
        if !kind.range().contains(range) {
            // It may wrap around, where that is not what a convert is for: the trace begins with what it is then.
            join = join.filter(|&join| join <= after);
            let start = kind.range();
            column = Column {
                source: Source::Array(result),
                at,
                steps: Vec::new(),
                start,
                range: start,
                written: 0,
            };
            continue;
        }
        column.written += usize::from(!matches!(step, Step::Wrap(_)));
        let plain = step.plain(column.range);
        match (column.steps.last().copied(), plain) {
            // A clamp after another is one.
            (Some(Step::Clamp(low, high)), Some(Step::Clamp(least, most)))
                if low <= high && least <= most =>
            {
                column.steps.pop();
                column.steps.push(Step::Clamp(low.clamp(least, most), high.clamp(least, most)));
            }
            _ => column.steps.extend(plain),
        }
        column.range = range;
    }
    if column.range.low == column.range.high {
        column.source = Source::Number(column.range.low);
        column.start = column.range;
        column.at.clear();
        column.steps.clear();
    }
    Some((column, join.is_some()))
}

/// The numbers of an iota.
fn counted(value: Value<'_, '_>) -> Option<Range> {
    let op = defining_op(value).filter(|op| op_name(*op) == "stablehlo.iota")?;
    let dim = usize::try_from(ir::constant_attribute(op, "iota_dimension")?).ok()?;
    let size = *Tensor::new(value.r#type())?.shape.get(dim)?;
    Some(Range { low: 0, high: i128::from(size) - 1 })
}
