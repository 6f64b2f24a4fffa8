// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What each box of an array is made of: taken apart through slices, pads, updates, concatenations and the like down to
//! values with known layouts.

use super::layout::{Known, Layout, SHARDING};
use crate::ir::{self, discardable_attributes};
use crate::ops::class;
use crate::rewrite::{defining_op, users};
use crate::splat::{Splat, Splats};
use melior::ir::attribute::DenseElementsAttribute;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::r#type::IntegerType;
use melior::ir::{OperationRef, RegionLike, Type, TypeLike, Value, ValueLike};
use rustc_hash::FxHashMap;
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::stablehlo::attrs::ScatterDimensionNumbers;
use slimhlo_dialect::types::Tensor;

/// How many steps are taken to take one value apart.
const STEPS: usize = 512;
/// How deep they may go.
const DEPTH: usize = 64;
/// Of how many boxes a value may be made.
const BOXES: usize = 64;
/// Bytes of a constant that may be given to every device whole.
const CONSTANT: i64 = 1 << 20;

/// A box of an array: a half-open range per dimension.
pub type Box_ = Vec<(i64, i64)>;

/// Where an element is found along one dimension of an array that is read, given the index of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Index {
    /// Always here.
    At(i64),
    /// At the result's index along `dim` plus this.
    Plus { dim: usize, offset: i64 },
    /// At this minus the result's index along `dim`.
    Minus { dim: usize, offset: i64 },
}

impl Index {
    fn moved(self, by: i64) -> Self {
        match self {
            Self::At(at) => Self::At(at + by),
            Self::Plus { dim, offset } => Self::Plus { dim, offset: offset + by },
            Self::Minus { dim, offset } => Self::Minus { dim, offset: offset + by },
        }
    }

    /// `last` minus this.
    fn reversed(self, last: i64) -> Self {
        match self {
            Self::At(at) => Self::At(last - at),
            Self::Plus { dim, offset } => Self::Minus { dim, offset: last - offset },
            Self::Minus { dim, offset } => Self::Plus { dim, offset: last - offset },
        }
    }

    /// Whether it goes the same way, wherever it begins.
    pub fn is_like(self, other: Self) -> bool {
        match (self, other) {
            (Self::At(_), Self::At(_)) => true,
            (Self::Plus { dim, .. }, Self::Plus { dim: other, .. })
            | (Self::Minus { dim, .. }, Self::Minus { dim: other, .. }) => dim == other,
            _ => false,
        }
    }

    /// The result's dimension it depends on.
    pub fn dim(self) -> Option<usize> {
        match self {
            Self::At(_) => None,
            Self::Plus { dim, .. } | Self::Minus { dim, .. } => Some(dim),
        }
    }

    /// The lowest index that results in `low..high` read.
    pub fn lowest(self, low: i64, high: i64) -> i64 {
        match self {
            Self::At(at) => at,
            Self::Plus { offset, .. } => low + offset,
            Self::Minus { offset, .. } => offset - (high - 1),
        }
    }

    /// Where results read from `low..high`; `None` if it depends on none of them.
    fn preimage(self, low: i64, high: i64) -> Option<(usize, i64, i64)> {
        match self {
            Self::At(_) => None,
            Self::Plus { dim, offset } => Some((dim, low - offset, high - offset)),
            Self::Minus { dim, offset } => Some((dim, offset - high + 1, offset - low + 1)),
        }
    }

    /// The first result index on the upper side of the border before index `border`.
    pub fn border(self, border: i64) -> Option<i64> {
        match self {
            Self::At(_) => None,
            Self::Plus { offset, .. } => Some(border - offset),
            Self::Minus { offset, .. } => Some(offset - border + 1),
        }
    }
}

/// What is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// A value from outside, by number.
    Input(usize),
    /// The array being updated, after so many updates.
    Version(usize),
}

/// How the elements of a box come about.
#[derive(Clone)]
pub enum Expr<'c, 'a> {
    /// One scalar everywhere, by number.
    Fill(usize),
    /// Read from an array.
    Read(Source, Vec<Index>),
    /// Computed element by element.
    Apply(OperationRef<'c, 'a>, Vec<Expr<'c, 'a>>),
}

impl Expr<'_, '_> {
    /// Lets `change` change what is read, from left to right.
    pub fn for_each_read(&mut self, change: &mut impl FnMut(&mut Source, &[Index])) {
        match self {
            Self::Fill(_) => {}
            Self::Read(source, index) => change(source, index),
            Self::Apply(_, arguments) => {
                arguments.iter_mut().for_each(|argument| argument.for_each_read(change));
            }
        }
    }

    /// Whether `other` is the same but for where along each dimension it reads.
    pub fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Fill(left), Self::Fill(right)) => left == right,
            (Self::Read(left, at), Self::Read(right, other)) => {
                left == right
                    && at.len() == other.len()
                    && at.iter().zip(other).all(|(left, right)| left.is_like(*right))
            }
            (Self::Apply(left, arguments), Self::Apply(right, others)) => {
                left == right && arguments.iter().zip(others).all(|(left, right)| left.is_like(right))
            }
            _ => false,
        }
    }

    /// What is read, from left to right.
    pub fn reads<'e>(&'e self, into: &mut Vec<(Source, &'e [Index])>) {
        match self {
            Self::Fill(_) => {}
            Self::Read(source, index) => into.push((*source, index)),
            Self::Apply(_, arguments) => arguments.iter().for_each(|argument| argument.reads(into)),
        }
    }
}

/// A box and how its elements come about.
pub type Piece<'c, 'a> = (Box_, Expr<'c, 'a>);

/// Whether an op computes each element of its result from the elements in the same place, or from scalars.
pub fn is_elementwise(op: OperationRef<'_, '_>) -> bool {
    const OTHERS: &[&str] = &[
        "bitcast_convert",
        "broadcast",
        "broadcast_in_dim",
        "constant",
        "dynamic_slice",
        "iota",
        "pad",
        "reshape",
        "reverse",
        "slice",
        "transpose",
    ];
    let name = op_name(op);
    if !class::is_fusible(name)
        || name.strip_prefix("stablehlo.").is_none_or(|name| OTHERS.binary_search(&name).is_ok())
        || op.result_count() != 1
        || op.operand_count() == 0
    {
        return false;
    }
    let Some(shape) = op.results().next().and_then(|result| ffi::shape(result.r#type())) else {
        return false;
    };
    op.operands()
        .all(|operand| ffi::shape(operand.r#type()).is_some_and(|other| other == shape || other.is_empty()))
}

/// Whether an op only moves elements, or puts a scalar where none come from.
pub fn is_move(op: OperationRef<'_, '_>) -> bool {
    matches!(
        op_name(op),
        "stablehlo.slice"
            | "stablehlo.pad"
            | "stablehlo.dynamic_update_slice"
            | "stablehlo.concatenate"
            | "stablehlo.reverse"
    ) || is_update(op)
}

/// Whether an op puts one array into another, as far as the op itself tells: a `dynamic_update_slice`, or a `scatter` of a
/// single window that sets.
pub fn is_update(op: OperationRef<'_, '_>) -> bool {
    match op_name(op) {
        "stablehlo.dynamic_update_slice" => true,
        "stablehlo.scatter" => sets_one_window(op).is_some(),
        _ => false,
    }
}

/// The array that an update puts into another.
pub fn update_of<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Option<Value<'c, 'a>> {
    op.operand(if op_name(op) == "stablehlo.scatter" { 2 } else { 1 }).ok()
}

/// The dimension that each number of the only index vector of a scatter is about, if it sets a window as deep as the array.
fn sets_one_window<'c>(op: OperationRef<'c, '_>) -> Option<&'c [i64]> {
    let numbers = ffi::attribute_of(op, "scatter_dimension_numbers")?;
    let numbers = ScatterDimensionNumbers::try_from(numbers).ok()?;
    (op.operand_count() == 3 && op.result_count() == 1).then_some(())?;
    let indices = plain(op.operands().nth(1)?)?;
    let update = plain(op.operands().nth(2)?)?;
    let body = op.region(0).ok()?.first_block()?;
    let end = body.first_operation()?;
    let second: Value = body.argument(1).ok()?.into();
    let sets = op_name(end) == "stablehlo.return" && end.operands().next()? == second;
    let dims = numbers.scatter_dims_to_operand_dims();
    (sets
        && indices.shape == [dims.len() as i64]
        && numbers.index_vector_dim() == 0
        && numbers.update_window_dims().len() == update.rank()
        && numbers.inserted_window_dims().is_empty()
        && numbers.input_batching_dims().is_empty())
    .then_some(dims)
}

/// The numbers of a list that is known at compile time.
fn constant_integers(value: Value<'_, '_>) -> Option<Vec<i64>> {
    let count = usize::try_from(*plain(value)?.shape.first()?).ok()?;
    if let Some(all) = ir::constant_integer(value) {
        return Some(vec![i64::try_from(all).ok()?; count]);
    }
    let op = defining_op(value)?;
    match op_name(op) {
        "stablehlo.constant" => {
            let dense = DenseElementsAttribute::try_from(ffi::attribute_of(op, "value")?).ok()?;
            let element = IntegerType::try_from(ir::element_of(value.r#type())).ok()?;
            (0..count)
                .map(|index| match (element.width(), element.is_unsigned()) {
                    (32, false) => dense.i32_element(index).ok().map(i64::from),
                    (64, false) => dense.i64_element(index).ok(),
                    _ => None,
                })
                .collect()
        }
        "stablehlo.concatenate" => {
            let parts = op.operands().map(|part| {
                (plain(part)?.element_count() == Some(1)).then_some(())?;
                i64::try_from(ir::constant_integer(part)?).ok()
            });
            parts.collect()
        }
        _ => None,
    }
}

/// A static tensor whose elements mean the same in every place, and that has some.
pub fn plain<'c>(value: Value<'c, '_>) -> Option<Tensor<'c>> {
    let tensor = Tensor::new(value.r#type())?;
    let element = tensor.element;
    (tensor.is_static()
        && tensor.encoding().is_none()
        && (element.is_float() || element.is_integer() || element.is_complex())
        && tensor.element_count().is_some_and(|count| count > 0))
    .then_some(tensor)
}

/// Bytes that an element takes at most.
fn element_bytes(element: Type<'_>) -> i64 {
    match IntegerType::try_from(element) {
        Ok(integer) => i64::from(integer.width().div_ceil(8)),
        Err(_) => 16,
    }
}

/// Whether nothing but shardings hangs on an op, and those are about this program's mesh or an older one's.
pub fn is_bare(op: OperationRef<'_, '_>) -> bool {
    discardable_attributes(op).iter().all(|(name, _)| name.as_string_ref().as_str() == Ok(SHARDING))
}

/// Where an update goes, if that is known: its starts, clamped.
pub fn starts_of(op: OperationRef<'_, '_>) -> Option<Vec<i64>> {
    let array = plain(op.operands().next()?)?;
    let update = plain(update_of(op)?)?;
    if op_name(op) == "stablehlo.scatter" {
        let mut starts = vec![0; array.rank()];
        for (&dim, at) in sets_one_window(op)?.iter().zip(constant_integers(op.operands().nth(1)?)?) {
            *starts.get_mut(usize::try_from(dim).ok()?)? = at;
        }
        // What is out of bounds does not happen.
        let inside = |dim: usize| 0 <= starts[dim] && starts[dim] <= array.shape[dim] - update.shape[dim];
        return (0..array.rank()).all(inside).then_some(starts);
    }
    ir::window_starts(op, 2, update.shape, array.shape)
}

/// The value under sharding constraints.
pub fn unconstrained<'c: 'a, 'a>(mut value: Value<'c, 'a>) -> Value<'c, 'a> {
    for _ in 0..DEPTH {
        match defining_op(value).filter(|op| op_name(*op) == "sdy.sharding_constraint") {
            Some(op) => match op.operand(0) {
                Ok(operand) => value = operand,
                Err(_) => break,
            },
            None => break,
        }
    }
    value
}

/// Whether a splat repeats a constant or a scalar that is one by itself, rather than an element of an array: that is an
/// array like another, on some device.
fn repeats_scalar<'c: 'a, 'a>(mut value: Value<'c, 'a>) -> bool {
    for _ in 0..DEPTH {
        let Some(op) = defining_op(value) else { break };
        match op_name(op) {
            "stablehlo.constant" => return true,
            "stablehlo.broadcast_in_dim"
            | "stablehlo.broadcast"
            | "stablehlo.reshape"
            | "stablehlo.transpose"
            | "stablehlo.convert" => match op.operand(0) {
                Ok(operand) => value = operand,
                Err(_) => return false,
            },
            _ => break,
        }
    }
    ir::is_rank_zero(value)
}

/// Whether several ops read a value, constraints of it counted as one with it.
fn is_shared<'c: 'a, 'a>(value: Value<'c, 'a>) -> bool {
    is_shared_through(value, |op| op_name(op) == "sdy.sharding_constraint")
}

/// Whether several ops read a value, or what is computed from it alone, element by element: it is stored, or else computed
/// once for each. A manual computation reads its operands as often as it needs them.
pub fn is_computed_on_shared<'c: 'a, 'a>(value: Value<'c, 'a>) -> bool {
    let is_constraint = |op: OperationRef<'c, 'a>| op_name(op) == "sdy.sharding_constraint";
    let constrained = users(value).filter(|user| is_constraint(*user)).filter_map(ir::first_result);
    let all = std::iter::once(value).chain(constrained);
    all.flat_map(users).any(|user| op_name(user) == "sdy.manual_computation")
        || is_shared_through(value, |op| is_constraint(op) || is_elementwise(op))
}

fn is_shared_through<'c: 'a, 'a>(
    mut value: Value<'c, 'a>,
    is_one: impl Fn(OperationRef<'c, 'a>) -> bool,
) -> bool {
    for _ in 0..DEPTH {
        let mut all = users(value);
        let Some(first) = all.next() else { return false };
        if all.any(|other| other != first) {
            return true;
        }
        match ir::first_result(first) {
            Some(result) if is_one(first) => value = result,
            _ => return false,
        }
    }
    false
}

/// Takes values apart.
pub struct Moves<'c, 'a, 'r> {
    known: &'r Known<'c>,
    splats: &'r mut Splats<'c, 'a>,
    /// Versions of the array that is updated, by value.
    pub versions: FxHashMap<usize, usize>,
    /// Values read, with their layouts.
    pub inputs: Vec<(Value<'c, 'a>, Layout)>,
    /// Scalars.
    pub fills: Vec<Splat<'c, 'a>>,
    steps: usize,
}

impl<'c: 'a, 'a, 'r> Moves<'c, 'a, 'r> {
    /// Nothing taken apart yet.
    pub fn new(known: &'r Known<'c>, splats: &'r mut Splats<'c, 'a>) -> Self {
        Self {
            known,
            splats,
            versions: FxHashMap::default(),
            inputs: Vec::new(),
            fills: Vec::new(),
            steps: STEPS,
        }
    }

    /// Allows as many steps for the next value as for the first.
    pub fn rest(&mut self) {
        self.steps = STEPS;
    }

    /// Whether `value` is one scalar everywhere.
    pub fn is_splat(&mut self, value: Value<'c, 'a>) -> bool {
        self.splat(value).is_some()
    }

    fn splat(&mut self, value: Value<'c, 'a>) -> Option<Splat<'c, 'a>> {
        let value = unconstrained(value);
        plain(value)?;
        self.splats.of(value).filter(|_| repeats_scalar(value))
    }

    fn fill(&mut self, splat: Splat<'c, 'a>) -> Expr<'c, 'a> {
        let index = self.fills.iter().position(|fill| *fill == splat).unwrap_or_else(|| {
            self.fills.push(splat);
            self.fills.len() - 1
        });
        Expr::Fill(index)
    }

    /// What the result of `op`, a move, is made of.
    pub fn of_op(&mut self, op: OperationRef<'c, 'a>) -> Option<Vec<Piece<'c, 'a>>> {
        let shape = plain(op.result(0).ok()?.into())?.shape;
        let index: Vec<_> = (0..shape.len()).map(|dim| Index::Plus { dim, offset: 0 }).collect();
        let whole = shape.iter().map(|&size| (0, size)).collect();
        let mut pieces = Vec::new();
        self.expand(op, &index, whole, 0, &mut pieces)?;
        Some(pieces)
    }

    /// What an array put at `starts` is made of, in terms of the array that it is put into.
    pub fn of_update(&mut self, value: Value<'c, 'a>, starts: &[i64]) -> Option<Vec<Piece<'c, 'a>>> {
        let shape = plain(value)?.shape;
        let index: Vec<_> =
            starts.iter().enumerate().map(|(dim, start)| Index::Plus { dim, offset: -start }).collect();
        let window = starts.iter().zip(shape).map(|(start, size)| (*start, start + size)).collect();
        let mut pieces = Vec::new();
        self.value(value, &index, window, 0, &mut pieces)?;
        Some(pieces)
    }

    fn value(
        &mut self,
        value: Value<'c, 'a>,
        index: &[Index],
        window: Box_,
        depth: usize,
        into: &mut Vec<Piece<'c, 'a>>,
    ) -> Option<()> {
        self.steps = self.steps.checked_sub(1)?;
        if window.iter().any(|(low, high)| low >= high) {
            return Some(());
        }
        if depth > DEPTH || into.len() >= BOXES {
            return None;
        }
        if let Some(&version) = self.versions.get(&ir::key(value)) {
            into.push((window, Expr::Read(Source::Version(version), index.to_vec())));
            return Some(());
        }
        if let Some(splat) = self.splat(value) {
            let fill = self.fill(splat);
            into.push((window, fill));
            return Some(());
        }
        plain(value)?;
        if let Some(op) = defining_op(value).filter(|op| is_bare(*op)) {
            if self.is_seen_through(op, value) {
                return self.expand(op, index, window, depth, into);
            }
            if self.is_for_one(op, value) && self.expand_alone(op, index, &window, depth, into) {
                return Some(());
            }
        }
        let layout = self.layout_of(value)?;
        let number = self.inputs.iter().position(|(other, _)| *other == value).unwrap_or_else(|| {
            self.inputs.push((value, layout));
            self.inputs.len() - 1
        });
        into.push((window, Expr::Read(Source::Input(number), index.to_vec())));
        Some(())
    }

    /// Whether a value that could be read as it is is needed by one op only, and may be made there of what it is made of.
    fn is_for_one(&self, op: OperationRef<'c, 'a>, value: Value<'c, 'a>) -> bool {
        let name = op_name(op);
        !discardable_attributes(op).is_empty()
            && (is_elementwise(op)
                || matches!(name, "stablehlo.broadcast_in_dim" | "stablehlo.reshape" | "stablehlo.transpose"))
            && !is_shared(value)
    }

    /// Sees through an op if all of what it makes is then of one array: what several are made into is sent once.
    fn expand_alone(
        &mut self,
        op: OperationRef<'c, 'a>,
        index: &[Index],
        window: &Box_,
        depth: usize,
        into: &mut Vec<Piece<'c, 'a>>,
    ) -> bool {
        let (pieces, inputs, fills, steps) = (into.len(), self.inputs.len(), self.fills.len(), self.steps);
        let mut arrays: Vec<Source> = Vec::new();
        if self.expand(op, index, window.clone(), depth, into).is_some() {
            for (_, expr) in &into[pieces..] {
                let mut reads = Vec::new();
                expr.reads(&mut reads);
                arrays.extend(reads.into_iter().map(|(source, _)| source));
            }
            arrays.dedup();
            if arrays.len() == 1 {
                return true;
            }
        }
        into.truncate(pieces);
        self.inputs.truncate(inputs);
        self.fills.truncate(fills);
        self.steps = steps.saturating_sub(1);
        false
    }

    /// The layout in which `value` is to be had.
    fn layout_of(&self, value: Value<'c, 'a>) -> Option<Layout> {
        let tensor = plain(value)?;
        let layout = match self.known.layout(value) {
            Some(layout) => layout.clone(),
            None => {
                let bytes = tensor.element_count()?.checked_mul(element_bytes(tensor.element))?;
                let constant = defining_op(value).is_some_and(|op| op_name(op) == "stablehlo.constant")
                    && bytes <= CONSTANT;
                (constant || tensor.rank() == 0).then(|| Layout::whole(tensor.rank()))?
            }
        };
        self.known.tile(&layout, tensor.shape)?;
        Some(layout)
    }

    /// Whether what `op` makes is better read from where it comes from.
    fn is_seen_through(&mut self, op: OperationRef<'c, 'a>, value: Value<'c, 'a>) -> bool {
        match op_name(op) {
            "stablehlo.dynamic_update_slice" | "stablehlo.scatter" => {
                // An update of an array that is there happens in place: what it read from is no more.
                starts_of(op).is_some()
                    && (op.operand(0).is_ok_and(|operand| self.is_splat(operand))
                        || self.layout_of(value).is_none())
            }
            "sdy.sharding_constraint" => op
                .operand(0)
                .ok()
                .and_then(|operand| defining_op(unconstrained(operand)))
                .is_some_and(|inner| is_move(inner) && self.is_seen_through(inner, value)),
            "stablehlo.slice" => {
                ir::i64_array(op, "strides").is_some_and(|strides| strides.iter().all(|&s| s == 1))
            }
            "stablehlo.pad" => {
                ir::i64_array(op, "interior_padding").is_some_and(|interior| interior.iter().all(|&i| i == 0))
                    && op.operand(1).is_ok_and(|padding| self.is_splat(padding))
            }
            // One that several read is exchanged once, and they read what came of it.
            "stablehlo.concatenate" => !is_shared(value) || self.layout_of(value).is_none(),
            "stablehlo.reverse" => true,
            "stablehlo.broadcast_in_dim" | "stablehlo.reshape" | "stablehlo.transpose" => {
                self.layout_of(value).is_none()
            }
            _ => is_elementwise(op) && self.layout_of(value).is_none(),
        }
    }

    fn expand(
        &mut self,
        op: OperationRef<'c, 'a>,
        index: &[Index],
        window: Box_,
        depth: usize,
        into: &mut Vec<Piece<'c, 'a>>,
    ) -> Option<()> {
        let depth = depth + 1;
        let operand = op.operands().next()?;
        let shape = plain(operand)?.shape;
        match op_name(op) {
            "sdy.sharding_constraint" => self.value(operand, index, window, depth, into),
            "stablehlo.slice" => {
                let starts = ir::i64_array(op, "start_indices")?;
                ir::i64_array(op, "strides")?.iter().all(|&stride| stride == 1).then_some(())?;
                let index: Vec<_> =
                    index.iter().zip(starts).map(|(index, start)| index.moved(*start)).collect();
                self.value(operand, &index, window, depth, into)
            }
            "stablehlo.reverse" => {
                let dims = ir::i64_array(op, "dimensions")?;
                let mut index = index.to_vec();
                for &dim in dims {
                    let at = index.get_mut(usize::try_from(dim).ok()?)?;
                    *at = at.reversed(shape[dim as usize] - 1);
                }
                self.value(operand, &index, window, depth, into)
            }
            "stablehlo.pad" => {
                let low = ir::i64_array(op, "edge_padding_low")?;
                ir::i64_array(op, "interior_padding")?.iter().all(|&interior| interior == 0).then_some(())?;
                let splat = self.splat(op.operands().nth(1)?)?;
                let index: Vec<_> = index.iter().zip(low).map(|(index, low)| index.moved(-low)).collect();
                let within: Box_ = shape.iter().map(|&size| (0, size)).collect();
                let (inside, outside) = cut(window, &index, &within);
                let fill = self.fill(splat);
                into.extend(outside.into_iter().map(|window| (window, fill.clone())));
                match inside {
                    Some(window) => self.value(operand, &index, window, depth, into),
                    None => Some(()),
                }
            }
            "stablehlo.dynamic_update_slice" | "stablehlo.scatter" => {
                let starts = starts_of(op)?;
                let update = update_of(op)?;
                let within: Box_ = starts
                    .iter()
                    .zip(plain(update)?.shape)
                    .map(|(start, size)| (*start, start + size))
                    .collect();
                let (inside, outside) = cut(window, index, &within);
                for window in outside {
                    self.value(operand, index, window, depth, into)?;
                }
                let Some(window) = inside else { return Some(()) };
                let index: Vec<_> =
                    index.iter().zip(&starts).map(|(index, start)| index.moved(-start)).collect();
                self.value(update, &index, window, depth, into)
            }
            "stablehlo.concatenate" => {
                let dim = usize::try_from(ir::constant_attribute(op, "dimension")?).ok()?;
                let mut start = 0;
                for operand in op.operands() {
                    let size = *ffi::shape(operand.r#type())?.get(dim)?;
                    if size == 0 {
                        continue;
                    }
                    let mut within: Box_ = vec![(i64::MIN / 4, i64::MAX / 4); index.len()];
                    within[dim] = (start, start + size);
                    if let (Some(window), _) = cut(window.clone(), index, &within) {
                        let mut index = index.to_vec();
                        index[dim] = index[dim].moved(-start);
                        self.value(operand, &index, window, depth, into)?;
                    }
                    start += size;
                }
                Some(())
            }
            "stablehlo.broadcast_in_dim" => {
                let dims = ir::i64_array(op, "broadcast_dimensions")?;
                let result = plain(op.result(0).ok()?.into())?.shape;
                let inner = dims.iter().zip(shape).map(|(&dim, &size)| {
                    let dim = usize::try_from(dim).ok()?;
                    Some(if size == 1 && result[dim] != 1 { Index::At(0) } else { *index.get(dim)? })
                });
                let inner: Vec<_> = inner.collect::<Option<_>>()?;
                self.value(operand, &inner, window, depth, into)
            }
            "stablehlo.transpose" => {
                let permutation = ir::i64_array(op, "permutation")?;
                let mut inner = vec![Index::At(0); index.len()];
                for (at, &dim) in index.iter().zip(permutation) {
                    *inner.get_mut(usize::try_from(dim).ok()?)? = *at;
                }
                self.value(operand, &inner, window, depth, into)
            }
            "stablehlo.reshape" => {
                // Dimensions of one element may come and go.
                let result = plain(op.result(0).ok()?.into())?.shape;
                let mut outer = result.iter().zip(index).filter(|(size, _)| **size != 1);
                let mut inner = Vec::with_capacity(shape.len());
                for &size in shape {
                    inner.push(match size {
                        1 => Index::At(0),
                        _ => *outer.next().filter(|(other, _)| **other == size)?.1,
                    });
                }
                outer.next().is_none().then_some(())?;
                self.value(operand, &inner, window, depth, into)
            }
            _ if is_elementwise(op) => {
                // Each operand may cut the box further.
                let mut parts: Vec<(Box_, Vec<Expr<'c, 'a>>)> = vec![(window, Vec::new())];
                for operand in op.operands() {
                    let mut next = Vec::new();
                    let rank = ffi::shape(operand.r#type())?.len();
                    for (window, arguments) in parts {
                        let mut pieces = Vec::new();
                        let index = if rank == 0 { &[] } else { index };
                        self.value(operand, index, window, depth, &mut pieces)?;
                        for (window, argument) in pieces {
                            let mut arguments = arguments.clone();
                            arguments.push(argument);
                            next.push((window, arguments));
                        }
                    }
                    parts = next;
                    (parts.len() <= BOXES).then_some(())?;
                }
                into.extend(
                    parts.into_iter().map(|(window, arguments)| (window, Expr::Apply(op, arguments))),
                );
                Some(())
            }
            _ => None,
        }
    }
}

/// The part of `window` whose elements are read from `within`, and boxes that make up the rest.
fn cut(mut window: Box_, index: &[Index], within: &Box_) -> (Option<Box_>, Vec<Box_>) {
    let mut outside = Vec::new();
    for (index, &(low, high)) in index.iter().zip(within) {
        match (index.preimage(low, high), index) {
            (Some((dim, low, high)), _) => {
                let (from, to) = window[dim];
                if low >= to || high <= from || low >= high {
                    outside.push(window);
                    return (None, outside);
                }
                if from < low {
                    let mut rest = window.clone();
                    rest[dim] = (from, low);
                    outside.push(rest);
                }
                if high < to {
                    let mut rest = window.clone();
                    rest[dim] = (high, to);
                    outside.push(rest);
                }
                window[dim] = (from.max(low), to.min(high));
            }
            (None, Index::At(at)) if low <= *at && *at < high => {}
            _ => {
                outside.push(window);
                return (None, outside);
            }
        }
    }
    (Some(window), outside)
}
