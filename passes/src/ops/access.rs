// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! One map for all passes that compute values a part at a time: which parts of its operands a part of an op's result needs.

use super::{class, loops};
use crate::ir::{self, plain};
use melior::ir::attribute::DenseElementsAttribute;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::r#type::IntegerType;
use melior::ir::{OperationRef, RegionLike, Value, ValueLike};
use rustc_hash::FxHashSet;
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::stablehlo::attrs::{
    ConvDimensionNumbers, GatherDimensionNumbers, ScatterDimensionNumbers,
};
use slimhlo_dialect::types::Tensor;
use std::rc::Rc;

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
    pub(crate) fn of(self, dim: usize) -> Self {
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

/// Why there is no plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// With this many units there may be one.
    Retry(i64),
    /// There is none.
    No,
}

/// Whether an op of one operand has a result of the same shape.
pub fn keeps_shape(op: OperationRef<'_, '_>) -> bool {
    let Some(operand) = op.operands().next() else { return false };
    let shape = ffi::shape(operand.r#type());
    op.results().all(|result| ffi::shape(Value::from(result).r#type()) == shape)
}

/// Whether what `op`'s regions compute follows from their arguments alone.
pub fn is_closed(op: OperationRef<'_, '_>) -> bool {
    (0..op.region_count()).all(|index| {
        let Some(block) = op.region(index).ok().and_then(|region| region.first_block()) else { return false };
        let mut known: FxHashSet<usize> = (0..block.argument_count())
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

/// How operands are streamed, each along a dimension or used whole; none if what is wanted has to be there.
type Streamed = Option<Vec<Option<Along>>>;

/// What is asked: a chunk of `result`, which `op` returns, along a dimension.
struct Asked<'c, 'a, 'r> {
    op: OperationRef<'c, 'a>,
    result: &'r Tensor<'c>,
    along: Along,
}

/// How chunks of an op's result are computed: the result's number, and its tensor.
///
/// # Errors
///
/// [`Stop::Retry`] if fewer units would do, [`Stop::No`] if nothing does.
pub fn source_of<'c: 'a, 'a>(
    op: OperationRef<'c, 'a>,
    number: usize,
    result: &Tensor<'c>,
    along: Along,
    units: i64,
) -> Result<Source, Stop> {
    let asked = Asked { op, result, along };
    let streamed = match op_name(op) {
        "stablehlo.constant" => {
            let value = op.result(0).map_err(|_| Stop::No)?.into();
            return Ok(if ir::splat_constant(value).is_some() { Source::Splat } else { Source::Slice });
        }
        "stablehlo.iota" => {
            return Ok(match iota_dimension(op) {
                Some(counts) if counts == along.dim => Source::Iota,
                Some(_) => Source::Op(Rc::new([])),
                None => Source::Slice,
            });
        }
        "stablehlo.pad" => return Ok(asked.pad()),
        "stablehlo.reshape" => match asked.tensor(0) {
            Some(operand) => {
                reshaped(operand.shape, result.shape, along, units)?.map(|from| vec![Some(from)])
            }
            None => None,
        },
        "stablehlo.while" => loops::of(op, number, along, units).map(|turns| turns.carried),
        "stablehlo.gather" => asked.gather(),
        "stablehlo.scatter" if op.operand_count() % 2 == 1 && is_closed(op) => asked.scatter(),
        "stablehlo.reduce" if is_closed(op) => asked.reduce(),
        "stablehlo.reduce_window" if is_closed(op) => asked.reduce_window(),
        "stablehlo.convolution" => asked.convolution(),
        "stablehlo.dot_general" => asked.dot(),
        name if class::is_elementwise(name) => asked.elementwise(),
        _ => asked.moved(),
    };
    Ok(streamed.map_or(Source::Slice, |operands| Source::Op(operands.into())))
}

impl<'c: 'a, 'a> Asked<'c, 'a, '_> {
    fn tensor(&self, index: usize) -> Option<Tensor<'c>> {
        self.op.operands().nth(index).and_then(plain)
    }

    fn numbers(&self, name: &str) -> Option<&'c [i64]> {
        ir::i64_array(self.op, name)
    }

    /// The same units of another dimension.
    fn at(&self, dim: i64) -> Option<Along> {
        Some(self.along.of(dim as usize))
    }

    /// Every operand along the same dimension.
    fn all(&self) -> Vec<Option<Along>> {
        vec![Some(self.along); self.op.operand_count()]
    }

    /// The first half of the operands like this, the others whole: reductions of several arrays, and what they start from.
    fn reduced(&self, along: Along) -> Vec<Option<Along>> {
        let count = self.op.operand_count() / 2;
        let mut streamed = vec![Some(along); count];
        streamed.extend(vec![None; count]);
        streamed
    }

    /// Ops that move elements, or keep a dimension apart as a whole.
    fn moved(&self) -> Streamed {
        let Self { op, result, along } = *self;
        let dim = along.dim;
        let same = || Some(along);
        let apart = |name: &str| {
            ir::constant_attribute(op, name).filter(|&joined| joined != dim as i64).map(|_| self.all())
        };
        match op_name(op) {
            "stablehlo.broadcast_in_dim" => {
                let operand = self.tensor(0)?;
                let from = self.numbers("broadcast_dimensions")?.iter().position(|&to| to == dim as i64);
                let from = from.filter(|&from| operand.shape[from] != 1 || result.shape[dim] == 1);
                Some(vec![from.map(|from| along.of(from))])
            }
            "stablehlo.slice" => {
                let start = self.numbers("start_indices")?[dim];
                let whole = self.numbers("strides")?[dim] == 1;
                whole.then(|| vec![Some(Along { from: along.from + start, ..along })])
            }
            "stablehlo.reverse" => {
                self.numbers("dimensions").filter(|dims| !dims.contains(&(dim as i64))).map(|_| vec![same()])
            }
            // An update that fills the dimension: where it starts along it follows.
            "stablehlo.dynamic_update_slice" => {
                let fills = self.tensor(1).is_some_and(|update| update.shape[dim] == result.shape[dim]);
                let starts = (0..result.rank()).map(|_| None);
                fills.then(|| [same(), same()].into_iter().chain(starts).collect())
            }
            "stablehlo.bitcast_convert" => keeps_shape(op).then(|| vec![same()]),
            "stablehlo.transpose" => {
                self.numbers("permutation").map(|permutation| vec![self.at(permutation[dim])])
            }
            "stablehlo.concatenate" => apart("dimension"),
            "stablehlo.sort" if is_closed(op) => apart("dimension"),
            "chlo.top_k" => (dim + 1 < result.rank()).then(|| vec![same()]),
            _ => None,
        }
    }

    /// Operands of the result's shape, and scalars.
    fn elementwise(&self) -> Streamed {
        let like = |operand| {
            let operand = plain(operand)?;
            if operand.shape == self.result.shape {
                Some(Some(self.along))
            } else {
                (operand.rank() == 0).then_some(None)
            }
        };
        self.op.operands().map(like).collect()
    }

    fn pad(&self) -> Source {
        let along = self.along;
        let number = |name: &str| self.numbers(name).map(|numbers| numbers[along.dim]);
        match (number("edge_padding_low"), number("edge_padding_high"), number("interior_padding")) {
            (Some(0), Some(0), Some(0)) => Source::Op([Some(along), None].into()),
            (Some(low), Some(_), Some(0)) => {
                Source::Pad([Some(Along { from: along.from - low, ..along }), None].into())
            }
            _ => Source::Slice,
        }
    }

    fn gather(&self) -> Streamed {
        let dim = self.along.dim;
        let numbers =
            GatherDimensionNumbers::try_from(ffi::attribute_of(self.op, "dimension_numbers")?).ok()?;
        let offset = |dim: usize| numbers.offset_dims().contains(&(dim as i64));
        if offset(dim) {
            return None;
        }
        let batch = (0..dim).filter(|&dim| !offset(dim)).count();
        let from = batch + usize::from(batch as i64 >= numbers.index_vector_dim());
        let paired = numbers.start_indices_batching_dims().iter().position(|&to| to == from as i64);
        let operand = paired.and_then(|pair| self.at(numbers.operand_batching_dims()[pair]));
        Some(vec![operand, Some(self.along.of(from))])
    }

    /// Along a dimension that indices, updates and what they go into are paired along.
    fn scatter(&self) -> Streamed {
        let count = self.op.operand_count() / 2;
        let numbers =
            ScatterDimensionNumbers::try_from(ffi::attribute_of(self.op, "scatter_dimension_numbers")?)
                .ok()?;
        let pair = numbers.input_batching_dims().iter().position(|&to| to == self.along.dim as i64)?;
        let indices = numbers.scatter_indices_batching_dims()[pair];
        let batch = indices - i64::from(indices > numbers.index_vector_dim());
        let updates = (0..self.tensor(count + 1)?.rank())
            .filter(|&dim| !numbers.update_window_dims().contains(&(dim as i64)))
            .nth(usize::try_from(batch).ok()?)?;
        let mut streamed = vec![Some(self.along); count];
        streamed.push(self.at(indices));
        streamed.extend(vec![Some(self.along.of(updates)); count]);
        Some(streamed)
    }

    fn reduce(&self) -> Streamed {
        let reduced = self.numbers("dimensions")?;
        let kept = |dim: &usize| !reduced.contains(&(*dim as i64));
        let from = (0..self.tensor(0)?.rank()).filter(kept).nth(self.along.dim)?;
        Some(self.reduced(self.along.of(from)))
    }

    fn reduce_window(&self) -> Streamed {
        is_apart_in_windows(self.op, self.result.rank(), self.along.dim).then(|| self.reduced(self.along))
    }

    /// The batch of a convolution.
    fn convolution(&self) -> Streamed {
        let numbers =
            ConvDimensionNumbers::try_from(ffi::attribute_of(self.op, "dimension_numbers")?).ok()?;
        let groups = ir::constant_attribute(self.op, "batch_group_count")?;
        (groups == 1 && numbers.output_batch_dimension() == self.along.dim as i64)
            .then(|| vec![self.at(numbers.input_batch_dimension()), None])
    }

    /// Batches of both operands, or what is one operand's own.
    fn dot(&self) -> Streamed {
        let Self { along, .. } = *self;
        let numbers = super::products::dot_numbers(self.op)?;
        let (left, right) = (self.tensor(0)?, self.tensor(1)?);
        let batch = numbers.lhs_batching_dimensions();
        if let Some(&from) = batch.get(along.dim) {
            return Some(vec![self.at(from), self.at(numbers.rhs_batching_dimensions()[along.dim])]);
        }
        let free = |rank: usize, batch: &[i64], contracted: &[i64]| -> Vec<usize> {
            let own = |dim: &usize| !batch.contains(&(*dim as i64)) && !contracted.contains(&(*dim as i64));
            (0..rank).filter(own).collect()
        };
        let left = free(left.rank(), batch, numbers.lhs_contracting_dimensions());
        let right =
            free(right.rank(), numbers.rhs_batching_dimensions(), numbers.rhs_contracting_dimensions());
        let dim = along.dim - batch.len();
        if dim < left.len() {
            Some(vec![Some(along.of(left[dim])), None])
        } else {
            Some(vec![None, Some(along.of(*right.get(dim - left.len())?))])
        }
    }
}

/// Whether windows that slide over an array reach from one element of a dimension to no other.
pub fn is_apart_in_windows(op: OperationRef<'_, '_>, rank: usize, dim: usize) -> bool {
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

/// Where an op begins that cuts one element of a dimension out of a value, wherever that is.
pub fn start_of_one<'c: 'a, 'a>(
    op: OperationRef<'c, 'a>,
    value: Value<'c, 'a>,
    dim: usize,
) -> Option<Value<'c, 'a>> {
    let cuts = op_name(op) == "stablehlo.dynamic_slice" && ir::operand(op, 0) == Some(value);
    let start = ir::operand(op, 1 + dim).filter(|_| cuts)?;
    let integer = IntegerType::try_from(ir::element_of(start.r#type())).ok()?;
    let counts = integer.is_signless() && integer.width() >= 32 && ir::discardable_attributes(op).is_empty();
    (counts && ir::i64_array(op, "slice_sizes")?.get(dim) == Some(&1)).then_some(start)
}
