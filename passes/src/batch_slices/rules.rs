// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What an op does to one dimension of what it is given: keep it apart, or add it up.

use crate::ir::{self, Builder};
use crate::ops::access::{self, Along, Source, is_apart_in_windows, is_closed};
use crate::ops::products::{self, accumulates_in};
use crate::ops::reducers::{combiner, fresh_identity, indices_dim, scatter_dims, scatter_numbers};
use crate::target::Storage;
use crate::ties::Ties;
use melior::ir::attribute::IntegerAttribute;
use melior::ir::operation::OperationLike;
use melior::ir::{Attribute, OperationRef, Type, TypeLike, Value, ValueLike};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::stablehlo::attrs::{ConvDimensionNumbers, GatherDimensionNumbers};
use slimhlo_dialect::types::Tensor;
use std::rc::Rc;

/// How an op takes slices.
#[derive(Clone, Debug)]
pub struct Role<'c> {
    /// For each operand the dimension that is sliced; none if it is taken whole.
    pub operands: Vec<Option<Along>>,
    /// What comes of it.
    pub results: Results<'c>,
}

/// What comes of an op on slices.
#[derive(Clone, Debug)]
pub enum Results<'c> {
    /// The same slices of each result.
    Kept(Vec<Along>),
    /// Parts of the one result, to be added up.
    Added(Sum<'c>),
}

/// How parts of a result are added up.
#[derive(Clone, Debug)]
pub enum Sum<'c> {
    /// A product or a convolution of slices along what it contracts, in elements of this type.
    Contract(Type<'c>),
    /// A reduction.
    Reduce {
        /// The op that joins two parts.
        combine: &'static str,
        /// What a part starts from, if not from the op's own initial value.
        identity: Option<f64>,
        /// The type to add up in.
        element: Type<'c>,
    },
    /// Into what the slices before have left.
    Scatter,
}

impl<'c> Role<'c> {
    /// What an op that keeps slices says of how many elements or groups it takes, said for `taken` of `units` slices.
    pub fn resized<'a>(
        &self,
        op: OperationRef<'c, 'a>,
        (taken, units): (i64, i64),
        build: &Builder<'c, 'a>,
    ) -> Option<(&'static str, Attribute<'c>)> {
        let Results::Kept(results) = &self.results else { return None };
        let (name, Along { dim, run, .. }) = match (op_name(op), &self.operands[..]) {
            ("stablehlo.slice", _) => ("limit_indices", results[0]),
            ("stablehlo.dynamic_slice", _) => ("slice_sizes", results[0]),
            // Rows are taken whole; what is paired with indices is taken one by one.
            ("stablehlo.gather", &[Some(table), None]) => ("slice_sizes", table),
            ("stablehlo.convolution", &[Some(_), Some(_)]) => {
                let (name, groups) = groups(op)?;
                let groups = IntegerAttribute::new(build.i64_type(), groups / units * taken);
                return Some((name, groups.into()));
            }
            _ => return None,
        };
        let mut sizes = ir::i64_array(op, name)?.to_vec();
        sizes[dim] = run * taken;
        Some((name, build.i64_array(&sizes)))
    }
}

/// What is asked of ops.
pub struct Rules<'c, 'a> {
    /// How many slices there are at most: elements of the dimension.
    pub units: i64,
    /// What the back end stores.
    pub storage: &'static Storage,
    /// What has to have the same bits again.
    pub ties: Rc<Ties<'c, 'a>>,
    /// Where what is narrow is added up.
    pub f32: Type<'c>,
}

impl<'c: 'a, 'a> Rules<'c, 'a> {
    /// All of a value's dimension, if it falls into as many units.
    pub fn all_of(&self, value: Value<'c, 'a>, dim: usize) -> Option<Along> {
        let size = *ir::plain(value)?.shape.get(dim)?;
        (size > 0 && size % self.units == 0).then(|| Along { dim, run: size / self.units, from: 0 })
    }

    /// How an op computes slices of its results of slices of an operand.
    pub fn of_operand(&self, op: OperationRef<'c, 'a>, index: usize, along: Along) -> Option<Role<'c>> {
        let result = op.results().next().map(Value::from)?;
        let rank = ir::plain(result)?.rank();
        let kept = (0..rank).filter_map(|dim| self.all_of(result, dim)).find_map(|to| {
            self.of_result(op, 0, to).filter(|role| role.operands.get(index) == Some(&Some(along)))
        });
        kept.or_else(|| self.added(op, index, along))
    }

    /// How an op computes slices of a result.
    pub fn of_result(&self, op: OperationRef<'c, 'a>, number: usize, along: Along) -> Option<Role<'c>> {
        if !can_be_copied(op) {
            return None;
        }
        let result = op.results().nth(number).map(Value::from)?;
        let tensor = ir::plain(result)?;
        let operands = match op_name(op) {
            // Turns are for `slimhlo-stream`; constants and iotas are made where they are needed.
            "stablehlo.while" | "stablehlo.constant" | "stablehlo.iota" => return None,
            name => match more(op, name, &tensor, (along, self.units)) {
                Some(operands) => operands,
                None => match access::source_of(op, number, &tensor, along, self.units) {
                    Ok(Source::Op(operands)) => operands.to_vec(),
                    _ => return None,
                },
            },
        };
        // All of a dimension, in the same units.
        let fits = op
            .operands()
            .zip(&operands)
            .all(|(operand, along)| along.is_none_or(|along| self.all_of(operand, along.dim) == Some(along)));
        let results = op.results().map(|result| self.all_of(result.into(), along.dim));
        let results: Vec<Along> = results.collect::<Option<_>>()?;
        (fits && operands.len() == op.operand_count() && results.iter().all(|result| *result == along))
            .then_some(Role { operands, results: Results::Kept(results) })
    }

    /// How an op adds slices of an operand up.
    fn added(&self, op: OperationRef<'c, 'a>, index: usize, along: Along) -> Option<Role<'c>> {
        if !can_be_copied(op) || op.result_count() != 1 {
            return None;
        }
        let result: Value<'c, 'a> = op.result(0).ok()?.into();
        let element = ir::element_of(result.r#type());
        let narrow = element.is_float() && ir::element_bytes(element)? < 4;
        let wide = if narrow { self.f32 } else { element };
        if self.ties.is_compared_with_itself(result) {
            return None;
        }
        let role = match op_name(op) {
            "stablehlo.dot_general" | "stablehlo.convolution" => {
                let algorithm = ffi::attribute_of(op, "algorithm");
                algorithm.is_none_or(|algorithm| accumulates_in(algorithm, wide)).then_some(())?;
                Role { operands: contracted(op, index, along)?, results: Results::Added(Sum::Contract(wide)) }
            }
            "stablehlo.reduce" if is_closed(op) && op.operand_count() == 2 => {
                let reduced = ir::i64_array(op, "dimensions")?;
                let combine = combiner(op)?;
                (index == 0 && reduced.contains(&(along.dim as i64))).then_some(())?;
                let rounds = narrow && matches!(combine, "stablehlo.add" | "stablehlo.multiply");
                let identity = match fresh_identity(op, combine, element)? {
                    // The op's own initial value is narrow.
                    _ if rounds => Some(if combine == "stablehlo.add" { -0.0 } else { 1.0 }),
                    identity => identity,
                };
                let element = if rounds { wide } else { element };
                let sum = Sum::Reduce { combine, identity, element };
                Role { operands: vec![Some(along), None], results: Results::Added(sum) }
            }
            "stablehlo.scatter" if is_closed(op) && op.operand_count() == 3 => {
                combiner(op)?;
                // Back ends without moves of narrow floats would widen and narrow all of it in each turn.
                (!narrow || !self.storage.widens).then_some(())?;
                let numbers = scatter_numbers(op)?;
                let dims = scatter_dims(op, true)?;
                let dim = match index {
                    2 => dims.into_iter().find(|dim| *dim == along.dim)?,
                    1 => dims.into_iter().find(|dim| indices_dim(numbers, *dim) == along.dim)?,
                    _ => return None,
                };
                let updates = Along { dim, ..along };
                let indices = Along { dim: indices_dim(numbers, dim), ..along };
                let whole = self.all_of(ir::operand(op, 2)?, dim) == Some(updates)
                    && self.all_of(ir::operand(op, 1)?, indices.dim) == Some(indices);
                let operands = vec![None, Some(indices), Some(updates)];
                whole.then_some(Role { operands, results: Results::Added(Sum::Scatter) })?
            }
            _ => return None,
        };
        Some(role)
    }
}

/// Whether an op may be done in a loop instead of where it is: nothing hangs on it, all that it takes are plain
/// tensors.
fn can_be_copied(op: OperationRef<'_, '_>) -> bool {
    let known = op_name(op).starts_with("stablehlo.") || op_name(op).starts_with("chlo.");
    known
        && !matches!(op_name(op), "stablehlo.optimization_barrier" | "stablehlo.custom_call")
        && ir::discardable_attributes(op).is_empty()
        && op.operands().all(|operand| ir::plain(operand).is_some())
        && op.results().all(|result| ir::plain(result.into()).is_some())
}

/// What [`access::source_of`] does not know: how the operands of an op are sliced for slices of its result, of `units` in all.
fn more<'c: 'a, 'a>(
    op: OperationRef<'c, 'a>,
    name: &str,
    result: &Tensor<'c>,
    (along, units): (Along, i64),
) -> Option<Vec<Option<Along>>> {
    let dim = along.dim;
    let tensor = |index: usize| op.operands().nth(index).and_then(ir::plain);
    match name {
        // Windows of one element, which slide by one.
        "stablehlo.select_and_scatter" => (is_closed(op) && is_apart_in_windows(op, result.rank(), dim))
            .then(|| vec![Some(along), Some(along), None]),
        "stablehlo.fft" => {
            let transformed = ir::i64_array(op, "fft_length")?.len();
            (dim + transformed < result.rank()).then(|| vec![Some(along)])
        }
        "stablehlo.convolution" => features(op, (along, units)),
        "stablehlo.cholesky" => (dim + 2 < result.rank()).then(|| vec![Some(along)]),
        "stablehlo.triangular_solve" => {
            let left = ffi::attribute_of(op, "left_side").is_none_or(|of| of.to_string() == "true");
            let free = if left { result.rank() - 1 } else { result.rank() - 2 };
            match dim {
                // One of several right sides.
                dim if dim == free => Some(vec![None, Some(along)]),
                dim if dim + 2 < result.rank() => Some(vec![Some(along), Some(along)]),
                _ => None,
            }
        }
        // All of the dimension, wherever the slice begins along others.
        "stablehlo.dynamic_slice" => (tensor(0)?.shape[dim] == result.shape[dim]).then(|| {
            let starts = vec![None; result.rank()];
            [Some(along)].into_iter().chain(starts).collect()
        }),
        "stablehlo.gather" => {
            let numbers =
                GatherDimensionNumbers::try_from(ffi::attribute_of(op, "dimension_numbers")?).ok()?;
            let place = numbers.offset_dims().iter().position(|&to| to == dim as i64)?;
            let table = tensor(0)?;
            let is_kept = |dim: &usize| {
                let dim = *dim as i64;
                !numbers.collapsed_slice_dims().contains(&dim)
                    && !numbers.operand_batching_dims().contains(&dim)
            };
            let from = (0..table.rank()).filter(is_kept).nth(place)?;
            let all = ir::i64_array(op, "slice_sizes")?[from] == table.shape[from];
            all.then(|| vec![Some(Along { dim: from, ..along }), None])
        }
        _ => None,
    }
}

/// The groups of a convolution that has more than one, of features or of a batch.
fn groups(op: OperationRef<'_, '_>) -> Option<(&'static str, i64)> {
    let of = |name| Some((name, ir::constant_attribute(op, name)?));
    let all = [of("feature_group_count")?, of("batch_group_count")?];
    all.into_iter().find(|(_, groups)| *groups > 1)
}

/// How the operands of a convolution are sliced for slices of its features: these are what filters have, group by group if there are
/// groups of what they read (what `vmap` makes of one network for each member of a population, and of its gradient).
fn features(op: OperationRef<'_, '_>, (along, units): (Along, i64)) -> Option<Vec<Option<Along>>> {
    let numbers = ConvDimensionNumbers::try_from(ffi::attribute_of(op, "dimension_numbers")?).ok()?;
    (numbers.output_feature_dimension() == along.dim as i64).then_some(())?;
    let filters = along.of(numbers.kernel_output_feature_dimension() as usize);
    let Some((name, groups)) = groups(op) else { return Some(vec![None, Some(filters)]) };
    let dim = match name {
        "feature_group_count" => numbers.input_feature_dimension(),
        _ => numbers.input_batch_dimension(),
    } as usize;
    let size = *ir::plain(op.operands().next()?)?.shape.get(dim)?;
    (groups % units == 0).then(|| vec![Some(Along { dim, run: size / units, from: 0 }), Some(filters)])
}

/// How the operands of a product or a convolution are sliced that adds up slices of one of them.
fn contracted(op: OperationRef<'_, '_>, index: usize, along: Along) -> Option<Vec<Option<Along>>> {
    let pair = match op_name(op) {
        "stablehlo.dot_general" => {
            let numbers = products::dot_numbers(op)?;
            let sides = [numbers.lhs_contracting_dimensions(), numbers.rhs_contracting_dimensions()];
            let place = sides.get(index)?.iter().position(|&dim| dim == along.dim as i64)?;
            [sides[0][place], sides[1][place]]
        }
        // The gradient of a kernel: what was the batch is what features are now.
        _ => {
            let numbers = ConvDimensionNumbers::try_from(ffi::attribute_of(op, "dimension_numbers")?).ok()?;
            (ir::constant_attribute(op, "feature_group_count")? == 1).then_some(())?;
            let pair = [numbers.input_feature_dimension(), numbers.kernel_input_feature_dimension()];
            (*pair.get(index)? == along.dim as i64).then_some(pair)?
        }
    };
    Some(pair.map(|dim| Some(Along { dim: dim as usize, ..along })).to_vec())
}
