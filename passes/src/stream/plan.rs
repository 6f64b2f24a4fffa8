// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Which values can be computed a chunk at a time, and from what.
//!
//! A value is *streamed* along a dimension when that dimension falls into `n` equal runs, the units, and a chunk of
//! units of the value can be had from the same units of other values. What cannot be taken apart like that is either a
//! value that is there and is sliced, or one that each chunk needs as a whole.

use super::fast::{self, Keys, Places, Table};
use crate::ir::{self, discardable_attributes};
use crate::rewrite::defining_op;
use melior::ir::attribute::DenseElementsAttribute;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::r#type::IntegerType;
use melior::ir::{OperationRef, RegionLike, Type, TypeLike, Value, ValueLike};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::stablehlo::attrs::{
    ConvDimensionNumbers, DotDimensionNumbers, GatherDimensionNumbers, ScatterDimensionNumbers,
};
use slimhlo_dialect::types::Tensor;
use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;

/// Values in one plan: past this, what is further up is taken as a value that is there. It keeps the pass linear.
const LONGEST: usize = 128;
/// Ops in a row that a plan follows upwards: what is above is taken as a value that is there, too.
const DEEPEST: usize = 256;

/// What a chunk of a value is: unit `i` holds the elements from `from + i * run` of a dimension, `run` of them. Where that
/// is beyond the dimension's ends, a chunk holds whatever: only a pad that replaces it asks for such.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Along {
    /// The dimension.
    pub dim: usize,
    /// Elements of a unit.
    pub run: i64,
    /// Where the first unit begins.
    pub from: i64,
}

impl Along {
    /// The same units of another dimension.
    fn of(self, dim: usize) -> Self {
        Self { dim, ..self }
    }
}

/// Where a chunk of a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The value is there: a chunk is a slice of it.
    Slice,
    /// A constant that repeats one element.
    Splat,
    /// An iota that counts along the streamed dimension.
    Iota,
    /// The value's own op on chunks: for each operand how it is streamed, or none if it is used whole.
    Op(Rc<[Option<Along>]>),
    /// The same for a pad along the streamed dimension: what is not from its operand is the padding.
    Pad(Rc<[Option<Along>]>),
}

impl Source {
    /// How the operands are streamed.
    pub fn operands(&self) -> &[Option<Along>] {
        match self {
            Self::Op(operands) | Self::Pad(operands) => operands,
            _ => &[],
        }
    }

    /// Whether it is the value's own op that computes a chunk.
    pub fn is_op(&self) -> bool {
        matches!(self, Self::Op(_) | Self::Pad(_))
    }
}

/// A value that is had chunk by chunk.
#[derive(Clone)]
pub struct Chunk<'c, 'a> {
    /// The value.
    pub value: Value<'c, 'a>,
    /// How it is streamed.
    pub along: Along,
    /// Where its chunks come from.
    pub source: Source,
    /// The op that defines the value.
    pub op: Option<OperationRef<'c, 'a>>,
    /// Its name.
    pub name: &'c str,
    /// Whether back ends fuse it, see [`ir::is_fusible`].
    pub fusible: bool,
    /// Bytes of the value.
    pub size: i64,
    /// Where in [`Plan::operands`] the chunks are that it is computed from.
    operands: (u32, u32),
}

/// Why there is no plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// With this many units there may be one.
    Retry(i64),
    /// There is none.
    No,
}

/// What was found out about values, for one plan after another. What is erased has to be forgotten.
#[derive(Default)]
pub struct Facts<'c, 'a>(RefCell<Table<usize, Fact<'c, 'a>>>);

struct Fact<'c, 'a> {
    tensor: Option<Tensor<'c>>,
    size: i64,
    op: Option<OperationRef<'c, 'a>>,
    name: &'c str,
    fusible: bool,
    annotated: bool,
    ways: Vec<Way>,
}

/// How a value can be streamed.
struct Way {
    along: Along,
    units: i64,
    source: Result<Source, Stop>,
    /// Whether chunks of it were found to be no larger than what they are computed from, see [`Plan::condense`].
    condensed: bool,
}

impl<'c: 'a, 'a> Facts<'c, 'a> {
    /// Forgets a value that goes.
    pub fn forget(&self, value: Value<'c, 'a>) {
        self.0.borrow_mut().remove(&ir::key(value));
    }

    /// Forgets all.
    pub fn clear(&self) {
        self.0.borrow_mut().clear();
    }

    /// Forgets what one round of plans told the next of its own.
    pub fn next_round(&self) {
        let mut facts = self.0.borrow_mut();
        facts.values_mut().flat_map(|fact| &mut fact.ways).for_each(|way| way.condensed = false);
    }

    fn with<T>(&self, value: Value<'c, 'a>, look: impl FnOnce(&mut Fact<'c, 'a>) -> T) -> T {
        let mut facts = self.0.borrow_mut();
        look(facts.entry(ir::key(value)).or_insert_with(|| {
            let op = defining_op(value);
            let tensor = plain(value);
            let name = op.map_or("", |op| op_name(op));
            Fact {
                tensor,
                size: tensor.map_or_else(|| bytes(value), tensor_bytes),
                op,
                name,
                fusible: ir::is_fusible(name),
                annotated: op.is_some_and(|op| !discardable_attributes(op).is_empty()),
                ways: Vec::new(),
            }
        }))
    }
}

fn hash(value: Value<'_, '_>, along: Along) -> u64 {
    let Along { dim, run, from } = along;
    fast::hash(&[ir::key(value) as u64, dim as u64, run.cast_unsigned(), from.cast_unsigned()])
}

/// A value whose operands are being planned.
struct Frame<'c, 'a> {
    chunk: Chunk<'c, 'a>,
    op: OperationRef<'c, 'a>,
    /// The operand that is next.
    next: usize,
}

/// How chunks of some values are computed.
#[derive(Clone, Default)]
pub struct Plan<'c, 'a> {
    /// Units along the streamed dimension.
    pub units: i64,
    /// All chunks, what they are computed from first.
    pub chunks: Vec<Chunk<'c, 'a>>,
    index: Places,
    /// Values that each chunk needs whole.
    pub wholes: Vec<Value<'c, 'a>>,
    operands: Vec<u32>,
    facts: Rc<Facts<'c, 'a>>,
    /// Ops whose results are computed in chunks even where they were found condensed.
    kept: Vec<usize>,
    /// Values that are sliced because they were found condensed in an earlier plan.
    pub condensed: Vec<Value<'c, 'a>>,
}

/// The tensor a value is, if chunks of it can be spoken of: static, no encoding, plain numbers.
pub fn plain<'c>(value: Value<'c, '_>) -> Option<Tensor<'c>> {
    let tensor = Tensor::new(value.r#type())?;
    (tensor.is_static() && tensor.encoding().is_none() && element_bytes(tensor.element).is_some())
        .then_some(tensor)
}

/// Bytes of one element; `None` for what is no plain number.
pub fn element_bytes(element: Type<'_>) -> Option<i64> {
    // Asked first, because a conversion that fails prints the type into its error.
    if element.is_integer()
        && let Ok(integer) = IntegerType::try_from(element)
    {
        return Some(i64::from(integer.width().div_ceil(8)));
    }
    if !element.is_float() {
        return None;
    }
    // It has neither a zero nor a sign.
    if element.is_float8e8m0fnu() {
        return None;
    }
    match element.float_width() {
        width @ (8 | 16 | 32 | 64) => Some(i64::from(width / 8)),
        _ => None,
    }
}

/// Bytes of a value, as far as they can be counted.
pub fn bytes(value: Value<'_, '_>) -> i64 {
    type_bytes(value.r#type())
}

/// Bytes of a tensor of this type, as far as they can be counted.
pub fn type_bytes(ty: Type<'_>) -> i64 {
    Tensor::new(ty).map_or(UNKNOWN, tensor_bytes)
}

/// What stands for bytes that cannot be counted.
const UNKNOWN: i64 = i64::MAX / 4;

fn tensor_bytes(tensor: Tensor<'_>) -> i64 {
    let bytes = || tensor.element_count()?.checked_mul(element_bytes(tensor.element)?);
    bytes().unwrap_or(UNKNOWN)
}

impl<'c: 'a, 'a> Plan<'c, 'a> {
    /// No chunks yet.
    pub fn new(units: i64) -> Self {
        Self { units, ..Self::default() }
    }

    /// The place of a value's chunks in the plan.
    pub fn position(&self, value: Value<'c, 'a>, along: Along) -> Option<usize> {
        let is = |at: usize| self.chunks[at].along == along && self.chunks[at].value == value;
        self.index.find(hash(value, along), is)
    }

    /// All of a dimension, in as many units as the plan has.
    pub fn all_of(&self, value: Value<'c, 'a>, dim: usize) -> Result<Along, Stop> {
        let tensor = plain(value).ok_or(Stop::No)?;
        let size = tensor.shape[dim];
        if self.units == 0 || size % self.units != 0 {
            return Err(Stop::No);
        }
        Ok(Along { dim, run: size / self.units, from: 0 })
    }

    /// The place of a value all of which is streamed along a dimension.
    pub fn position_of_all(&self, value: Value<'c, 'a>, dim: usize) -> Option<usize> {
        self.position(value, self.all_of(value, dim).ok()?)
    }

    /// No chunks yet, and what is known of values.
    pub fn with(units: i64, facts: &Rc<Facts<'c, 'a>>) -> Self {
        Self {
            units,
            facts: Rc::clone(facts),
            chunks: Vec::with_capacity(LONGEST / 4),
            operands: Vec::with_capacity(LONGEST / 2),
            ..Self::default()
        }
    }

    /// Computes the result of an op in chunks wherever it is met from now on, even if it is condensed.
    pub fn keep(&mut self, op: OperationRef<'c, 'a>) {
        self.kept.push(ir::op_key(op));
    }

    /// Notes for later plans that chunks of a value are no larger than what they are computed from: it is sliced there.
    pub fn condense(&self, value: Value<'c, 'a>) {
        self.facts.with(value, |fact| {
            let ways = fact.ways.iter_mut().filter(|way| way.units == self.units);
            ways.filter(|way| self.position(value, way.along).is_some()).for_each(|way| way.condensed = true);
        });
    }

    /// The places of the chunks that the one at `at` is computed from, once per operand.
    pub fn operands(&self, at: usize) -> impl Iterator<Item = usize> {
        let (from, to) = self.chunks[at].operands;
        self.operands[from as usize..to as usize].iter().map(|&at| at as usize)
    }

    /// Plans chunks of `value`. Values in `there` are sliced, not computed again.
    pub fn add(&mut self, value: Value<'c, 'a>, along: Along, there: &Keys) -> Result<(), Stop> {
        // As deep as programs are, the stack is not.
        let mut frames = Vec::new();
        self.enter(value, along, there, &mut frames)?;
        while let Some(frame) = frames.last_mut() {
            let next = frame.next;
            if let Some(&along) = frame.chunk.source.operands().get(next)
                && let Ok(operand) = frame.op.operand(next)
            {
                frame.next += 1;
                match along {
                    Some(along) => self.enter(operand, along, there, &mut frames)?,
                    None => self.add_whole(operand)?,
                }
            } else if let Some(frame) = frames.pop() {
                self.leave(frame);
            }
        }
        Ok(())
    }

    fn enter(
        &mut self,
        value: Value<'c, 'a>,
        along: Along,
        there: &Keys,
        frames: &mut Vec<Frame<'c, 'a>>,
    ) -> Result<(), Stop> {
        if self.position(value, along).is_some() {
            return Ok(());
        }
        let units = self.units;
        let far = self.chunks.len() >= LONGEST || frames.len() >= DEEPEST;
        let sliced = far || there.contains(&ir::key(value));
        let facts = Rc::clone(&self.facts);
        let mut condensed = false;
        let chunk = facts.with(value, |fact| {
            let tensor = fact.tensor.ok_or(Stop::No)?;
            let mut source = Source::Slice;
            if let (Some(op), false) = (fact.op, sliced) {
                let known = fact.ways.iter().find(|way| way.along == along && way.units == units);
                source = match known {
                    Some(way) if way.condensed && !self.kept.contains(&ir::op_key(op)) => {
                        condensed = true;
                        Source::Slice
                    }
                    Some(way) => way.source.clone()?,
                    None => {
                        let source = source_of(op, &tensor, along, units);
                        fact.ways.push(Way { along, units, source: source.clone(), condensed: false });
                        source?
                    }
                };
                if source.is_op() && fact.annotated {
                    return Err(Stop::No);
                }
            }
            let &mut Fact { op, name, size, fusible, .. } = fact;
            Ok(Chunk { value, along, source, op, name, fusible, size, operands: (0, 0) })
        })?;
        if condensed {
            self.condensed.push(value);
        }
        match chunk.op.filter(|_| chunk.source.is_op()) {
            Some(op) => frames.push(Frame { chunk, op, next: 0 }),
            None => self.push(chunk),
        }
        Ok(())
    }

    fn leave(&mut self, mut frame: Frame<'c, 'a>) {
        let from = self.operands.len();
        for (operand, along) in frame.op.operands().zip(frame.chunk.source.operands()) {
            let at = along.and_then(|along| self.position(operand, along));
            self.operands.extend(at.and_then(|at| u32::try_from(at).ok()));
        }
        frame.chunk.operands = (from as u32, self.operands.len() as u32);
        self.push(frame.chunk);
    }

    fn push(&mut self, chunk: Chunk<'c, 'a>) {
        let chunks = &self.chunks;
        self.index.push(hash(chunk.value, chunk.along), |at| hash(chunks[at].value, chunks[at].along));
        self.chunks.push(chunk);
    }

    /// How many elements before a value's first and after its last chunks of it reach.
    pub fn beyond(&self, chunk: &Chunk<'c, 'a>) -> (i64, i64) {
        let Along { dim, run, from } = chunk.along;
        let size = plain(chunk.value).map_or(0, |tensor| tensor.shape[dim]);
        ((-from).max(0), (from + run * self.units - size).max(0))
    }

    /// Notes a value that each chunk needs whole.
    pub fn add_whole(&mut self, value: Value<'c, 'a>) -> Result<(), Stop> {
        plain(value).ok_or(Stop::No)?;
        if !self.wholes.contains(&value) {
            self.wholes.push(value);
        }
        Ok(())
    }

    /// The type of `chunk` units of a value.
    pub fn chunk_type(&self, ty: Type<'c>, along: Along, chunk: i64) -> Type<'c> {
        let tensor = Tensor::new(ty).expect("planned values are tensors");
        let mut shape = tensor.shape.to_vec();
        shape[along.dim] = along.run * chunk;
        Tensor::get(&shape, tensor.element, None)
    }
}

/// Whether an op works on each element by itself.
pub fn is_elementwise(name: &str) -> bool {
    const NOT: &[&str] = &[
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
    ir::is_fusible(name) && name.strip_prefix("stablehlo.").is_some_and(|name| !NOT.contains(&name))
}

/// Whether what `op`'s regions compute follows from their arguments alone.
pub fn is_closed(op: OperationRef<'_, '_>) -> bool {
    (0..op.region_count()).all(|index| {
        let Some(block) = op.region(index).ok().and_then(|region| region.first_block()) else { return false };
        let mut known: HashSet<usize> = (0..block.argument_count())
            .filter_map(|i| block.argument(i).ok())
            .map(|a| ir::key(a.into()))
            .collect();
        let mut nested = block.first_operation();
        while let Some(op) = nested {
            if op.region_count() > 0 || !op.operands().all(|operand| known.contains(&ir::key(operand))) {
                return false;
            }
            known.extend(op.results().map(|result| ir::key(result.into())));
            nested = op.next_in_block();
        }
        block.next_in_region().is_none()
    })
}

/// How chunks of an op's result are computed.
fn source_of<'c: 'a, 'a>(
    op: OperationRef<'c, 'a>,
    result: &Tensor<'c>,
    along: Along,
    units: i64,
) -> Result<Source, Stop> {
    let dim = along.dim;
    let tensor = |index: usize| op.operands().nth(index).and_then(plain);
    let numbers = |name: &str| ir::i64_array(op, name);
    let at = |index: i64| Some(along.of(index as usize));
    let same = || Some(along);
    let streamed: Option<Vec<Option<Along>>> = match op_name(op) {
        "stablehlo.constant" => {
            let value = op.result(0).map_err(|_| Stop::No)?.into();
            return Ok(if ir::splat_constant(value).is_some() { Source::Splat } else { Source::Slice });
        }
        "stablehlo.iota" => {
            return Ok(match iota_dimension(op) {
                Some(counts) if counts == dim => Source::Iota,
                Some(_) => Source::Op(Rc::new([])),
                None => Source::Slice,
            });
        }
        "stablehlo.broadcast_in_dim" => (|| {
            let operand = tensor(0)?;
            let dims = numbers("broadcast_dimensions")?;
            let from = dims.iter().position(|&to| to == dim as i64);
            let from = from.filter(|&from| operand.shape[from] != 1 || result.shape[dim] == 1);
            Some(vec![from.map(|from| along.of(from))])
        })(),
        "stablehlo.slice" => (|| {
            let start = numbers("start_indices")?[dim];
            (numbers("strides")?[dim] == 1).then(|| vec![Some(Along { from: along.from + start, ..along })])
        })(),
        "stablehlo.pad" => {
            let number = |name: &str| numbers(name).map(|numbers| numbers[dim]);
            match (number("edge_padding_low"), number("edge_padding_high"), number("interior_padding")) {
                (Some(0), Some(0), Some(0)) => Some(vec![same(), None]),
                (Some(low), Some(_), Some(0)) => {
                    let operands = [Some(Along { from: along.from - low, ..along }), None];
                    return Ok(Source::Pad(operands.into()));
                }
                _ => None,
            }
        }
        "stablehlo.reverse" => {
            numbers("dimensions").filter(|dims| !dims.contains(&(dim as i64))).map(|_| vec![same()])
        }
        // An update that fills the dimension: where it starts along it follows.
        "stablehlo.dynamic_update_slice" => tensor(1)
            .filter(|update| update.shape[dim] == result.shape[dim])
            .map(|_| [same(), same()].into_iter().chain((0..result.rank()).map(|_| None)).collect()),
        "stablehlo.transpose" => numbers("permutation").map(|permutation| vec![at(permutation[dim])]),
        "stablehlo.concatenate" => ir::constant_attribute(op, "dimension")
            .filter(|&joined| joined != dim as i64)
            .map(|_| vec![same(); op.operand_count()]),
        "stablehlo.sort" if is_closed(op) => ir::constant_attribute(op, "dimension")
            .filter(|&sorted| sorted != dim as i64)
            .map(|_| vec![same(); op.operand_count()]),
        "stablehlo.reshape" => {
            let Some(operand) = tensor(0) else { return Ok(Source::Slice) };
            reshaped(operand.shape, result.shape, along, units)?.map(|from| vec![Some(from)])
        }
        "stablehlo.gather" => (|| {
            let numbers =
                GatherDimensionNumbers::try_from(ffi::attribute_of(op, "dimension_numbers")?).ok()?;
            let offset = |dim: usize| numbers.offset_dims().contains(&(dim as i64));
            if offset(dim) {
                return None;
            }
            let batch = (0..dim).filter(|&dim| !offset(dim)).count();
            let from = batch + usize::from(batch as i64 >= numbers.index_vector_dim());
            let paired = numbers.start_indices_batching_dims().iter().position(|&to| to == from as i64);
            let operand = paired.and_then(|pair| at(numbers.operand_batching_dims()[pair]));
            Some(vec![operand, Some(along.of(from))])
        })(),
        "stablehlo.scatter" if op.operand_count() % 2 == 1 && is_closed(op) => (|| {
            let count = op.operand_count() / 2;
            let numbers =
                ScatterDimensionNumbers::try_from(ffi::attribute_of(op, "scatter_dimension_numbers")?)
                    .ok()?;
            let pair = numbers.input_batching_dims().iter().position(|&to| to == dim as i64)?;
            let indices = numbers.scatter_indices_batching_dims()[pair];
            let batch = indices - i64::from(indices > numbers.index_vector_dim());
            let updates = (0..tensor(count + 1)?.rank())
                .filter(|&dim| !numbers.update_window_dims().contains(&(dim as i64)))
                .nth(usize::try_from(batch).ok()?)?;
            let mut streamed = vec![same(); count];
            streamed.push(at(indices));
            streamed.extend(vec![Some(along.of(updates)); count]);
            Some(streamed)
        })(),
        "stablehlo.reduce" if is_closed(op) => (|| {
            let reduced = numbers("dimensions")?;
            let from = (0..tensor(0)?.rank()).filter(|&dim| !reduced.contains(&(dim as i64))).nth(dim)?;
            let count = op.operand_count() / 2;
            let mut streamed = vec![Some(along.of(from)); count];
            streamed.extend(vec![None; count]);
            Some(streamed)
        })(),
        "stablehlo.reduce_window" if is_closed(op) => {
            let count = op.operand_count() / 2;
            is_apart_in_windows(op, result.rank(), dim).then(|| {
                let mut streamed = vec![same(); count];
                streamed.extend(vec![None; count]);
                streamed
            })
        }
        "stablehlo.convolution" => (|| {
            let numbers = ConvDimensionNumbers::try_from(ffi::attribute_of(op, "dimension_numbers")?).ok()?;
            let groups = ir::constant_attribute(op, "batch_group_count")?;
            (groups == 1 && numbers.output_batch_dimension() == dim as i64)
                .then(|| vec![at(numbers.input_batch_dimension()), None])
        })(),
        "stablehlo.dot_general" => (|| {
            let numbers =
                DotDimensionNumbers::try_from(ffi::attribute_of(op, "dot_dimension_numbers")?).ok()?;
            let (left, right) = (tensor(0)?, tensor(1)?);
            let batch = numbers.lhs_batching_dimensions();
            if let Some(&from) = batch.get(dim) {
                return Some(vec![at(from), at(numbers.rhs_batching_dimensions()[dim])]);
            }
            let free = |rank: usize, batch: &[i64], contracted: &[i64]| -> Vec<usize> {
                (0..rank)
                    .filter(|&dim| !batch.contains(&(dim as i64)) && !contracted.contains(&(dim as i64)))
                    .collect()
            };
            let left = free(left.rank(), batch, numbers.lhs_contracting_dimensions());
            let right =
                free(right.rank(), numbers.rhs_batching_dimensions(), numbers.rhs_contracting_dimensions());
            let dim = dim - batch.len();
            if dim < left.len() {
                Some(vec![Some(along.of(left[dim])), None])
            } else {
                Some(vec![None, Some(along.of(*right.get(dim - left.len())?))])
            }
        })(),
        name if is_elementwise(name) => op
            .operands()
            .map(|operand| {
                let operand = plain(operand)?;
                if operand.shape == result.shape {
                    Some(same())
                } else {
                    (operand.rank() == 0).then_some(None)
                }
            })
            .collect(),
        _ => None,
    };
    Ok(streamed.map_or(Source::Slice, |operands| Source::Op(operands.into())))
}

/// Whether windows that slide over an array reach from one element of a dimension to no other.
fn is_apart_in_windows(op: OperationRef<'_, '_>, rank: usize, dim: usize) -> bool {
    let is = |name: &str, wanted: i64| {
        ffi::attribute_of(op, name)
            .is_none_or(|attribute| ffi::dense_i64_array(attribute).is_some_and(|of| of[dim] == wanted))
    };
    let unpadded = || {
        let Some(padding) = ffi::attribute_of(op, "padding") else { return true };
        let Ok(padding) = DenseElementsAttribute::try_from(padding) else { return false };
        padding.len() == 2 * rank
            && [2 * dim, 2 * dim + 1]
                .iter()
                .all(|&index| padding.i64_element(index).is_ok_and(|pad| pad == 0))
    };
    is("window_dimensions", 1)
        && is("window_strides", 1)
        && is("base_dilations", 1)
        && is("window_dilations", 1)
        && unpadded()
}

/// The dimension an iota counts along.
pub fn iota_dimension(op: OperationRef<'_, '_>) -> Option<usize> {
    ir::constant_attribute(op, "iota_dimension").and_then(|dim| usize::try_from(dim).ok())
}

/// How an operand is streamed whose reshape is, if that keeps units apart.
fn reshaped(from: &[i64], to: &[i64], along: Along, units: i64) -> Result<Option<Along>, Stop> {
    let dim = along.dim;
    let before: i64 = to[..dim].iter().product();
    let mut product = 1;
    for (index, &size) in from.iter().enumerate() {
        if product == before && (size > 1 || to[dim] == 1) {
            if size == to[dim] {
                return Ok(Some(along.of(index)));
            }
            if along.from != 0 || along.run * units != to[dim] {
                return Ok(None);
            }
            return match size % units {
                0 => Ok(Some(Along { dim: index, run: size / units, from: 0 })),
                // Fewer, larger units: all of the source's dimension, which the result's has merged with the next.
                _ if units % size == 0 && to[dim] % size == 0 => Err(Stop::Retry(size)),
                _ => Ok(None),
            };
        }
        product *= size;
    }
    Ok(None)
}
