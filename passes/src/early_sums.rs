// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-early-sums`: a loop that adds up what is summed over a dimension in the end adds up the sums.
//!
//! # What it matches
//!
//! What a `while` carries, starts from anything, gets additions in each turn (in loops and branches inside of it, too), and is summed
//! over some of its dimensions when the loop has ended: the gradient of a layer's weights in the adjoint of an ODE or SDE, which
//! `vmap` keeps for each member of the batch until the solver has gone all the way back.
//!
//! ```mlir
//! %w = stablehlo.while(%g = %zeros) ... {                     // tensor<4096x256x256xf32>: 1 GiB, and 1 GiB of what is added
//!   %of_each = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [] x []
//!   %next = stablehlo.add %g, %of_each
//!   stablehlo.return %next
//! }
//! %sum = stablehlo.reduce(%w init: %zero) applies stablehlo.add across dimensions = [0]
//! ```
//!
//! becomes
//!
//! ```mlir
//! %w = stablehlo.while(%g = %zeros) ... {                     // tensor<256x256xf32>
//!   %of_all = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST]
//!   %next = stablehlo.add %g, %of_all
//!   stablehlo.return %next
//! }
//! ```
//!
//! Sums go through additions, subtractions, negations, selects by one boolean for all, barriers, and what `while`, `if` and `case` hand through. What
//! is added is summed where it is added.
//!
//! # Why it is right
//!
//! Both are sums of the same numbers; only the order in which they are added up is another. A product of vectors that is summed is a product
//! of matrices; it is asked for in the highest precision, as back ends multiply the elements of the former as they are, but may round
//! those of the latter first.
//!
//! # What it costs
//!
//! Nothing: less is written, and no more is read. One walk; linear in the ops that sums go through.
//!
//! # When it must not fire
//!
//! * Something else needs what is carried, or sums over other dimensions: then all of it has to be there.
//! * No loop carries it: a sum of sums is as well computed at once, on the fly.
//! * Floats of fewer than 32 bits: each turn would round the sum where it rounded an addend.
//! * Programs for several partitions: what is summed over a dimension that is cut would be exchanged in each turn, not once.
//! * The sum is compared with itself (`ties.rs`); ops with discardable attributes (shardings).

use crate::counted::blocks;
use crate::framework::{Changed, Pass, PassContext, PassResult, Statistic};
use crate::ir::{self, Builder, discardable_attributes, element_bytes, plain};
use crate::ops::products::dot_numbers;
use crate::ops::reducers::combiner;
use crate::rewrite::{defining_op, ops_named, uses};
use crate::shards::is_partitioned;
use crate::simplify::number::is_float_zero;
use crate::splat::Splat;
use crate::tables::Table;
use crate::ties::Ties;
use melior::ir::attribute::ArrayAttribute;
use melior::ir::block::BlockLike;

use melior::ir::operation::OperationLike;
use melior::ir::{Attribute, Location, OperationRef, RegionLike, Type, TypeLike, Value, ValueLike};
use rustc_hash::FxHashSet;
use slimhlo_dialect::ffi::{self, attribute_of, op_name};
use slimhlo_dialect::stablehlo::attrs::{DotDimensionNumbers, Precision};
use slimhlo_dialect::types::Tensor;
use std::ops::Range;

crate::pass_options! {
    /// Sum over a dimension what a loop adds up before it does so, not when it has ended.
    ///
    /// The gradient of weights in the adjoint of a differential equation is carried for each member of a batch, and summed over
    /// the batch in the end. It is carried as one sum instead; only the order of additions changes.
    ///
    /// ```mlir
    /// %w = stablehlo.while(%g = %zeros) ...                   // tensor<4096x256x256xf32>
    /// %sum = stablehlo.reduce(%w init: %zero) applies stablehlo.add across dimensions = [0]
    /// // becomes
    /// %sum = stablehlo.while(%g = %zeros) ...                 // tensor<256x256xf32>
    /// ```
    pub struct EarlySums;
}

const SUMS: Statistic = Statistic::new(c"num-sums", c"sums that loops carry instead of what is summed");

impl Pass for EarlySums {
    const ARGUMENT: &'static str = "slimhlo-early-sums";
    const STATISTICS: &'static [Statistic] = &[SUMS];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        if is_partitioned(root) {
            return Ok(Changed::No);
        }
        let ties = Ties::new(root);
        let build = Builder::new(root);
        let mut count = 0;
        for op in ops_named(root, "stablehlo.while") {
            // One sum may be all that another one waits for: what it has read is gone then.
            for index in 0..op.result_count() {
                let Ok(result) = op.result(index) else { continue };
                let Some(sum) = Sum::over(result.into(), &ties) else { continue };
                sum.take(&build);
                ties.forget();
                count += 1;
            }
        }
        context.count(&SUMS, count);
        Ok(Changed::from(count > 0))
    }
}

/// What is summed in the end, and all that it goes through on the way.
struct Sum<'c, 'a> {
    /// The dimensions that are summed over.
    dims: Vec<i64>,
    /// The type of what is summed.
    of: Tensor<'c>,
    /// Values that become sums.
    members: Table<usize, Value<'c, 'a>>,
    /// Which place of which loop an argument is at, of those that were met.
    places: Table<usize, Operand<'c, 'a>>,
    /// Operands that are summed where they are used, by ops whose results become sums.
    leaves: Vec<Operand<'c, 'a>>,
    /// The sums that there are.
    reductions: Vec<OperationRef<'c, 'a>>,
    /// Operands that were found to be needed for more than their sum.
    needed: Vec<Operand<'c, 'a>>,
    /// Values that are still to be followed.
    pending: Vec<Pending<'c, 'a>>,
}

/// An op and the number of one of its operands.
type Operand<'c, 'a> = (OperationRef<'c, 'a>, usize);

/// A value to be followed, and the operand that need not have been, if there was one on the way to it.
type Pending<'c, 'a> = (Value<'c, 'a>, Option<Operand<'c, 'a>>);

/// Values that a sum may go through at most, and operands that may turn out to be needed as they are: the pass is to be linear.
const MOST: usize = 1 << 12;
const MOST_NEEDED: usize = 16;

impl<'c: 'a, 'a> Sum<'c, 'a> {
    /// What a loop hands out, if it is but summed, and so is all that it is made of.
    fn over(result: Value<'c, 'a>, ties: &Ties<'c, 'a>) -> Option<Self> {
        let of = plain(result)?;
        let dims = uses(result).find_map(|each| summed(each.user).filter(|_| each.operand == 0))?;
        let narrow = of.element.is_float() && element_bytes(of.element)? < 4;
        if narrow || dims.iter().all(|&dim| of.shape[dim as usize] < 2) {
            return None;
        }
        let mut sum = Self {
            dims,
            of,
            members: Table::default(),
            places: Table::default(),
            leaves: Vec::new(),
            reductions: Vec::new(),
            needed: Vec::new(),
            pending: Vec::new(),
        };
        while let Err(through) = sum.follow(result) {
            sum.needed.push(through.filter(|_| sum.needed.len() < MOST_NEEDED)?);
            sum.members.clear();
            sum.leaves.clear();
            sum.reductions.clear();
        }
        let tied = |op: &OperationRef<'c, 'a>| {
            op.result(0).is_ok_and(|result| ties.is_compared_with_itself(result.into()))
        };
        (!sum.reductions.iter().any(tied)).then_some(sum)
    }

    /// Finds all that a value is made of and that is made of it. Where something needs more than its sum: the operand by which it was
    /// come to, if that need not be a sum.
    fn follow(&mut self, value: Value<'c, 'a>) -> Result<(), Option<Operand<'c, 'a>>> {
        self.pending = vec![(value, None)];
        while let Some((value, through)) = self.pending.pop() {
            if self.members.insert(ir::key(value), value).is_some() {
                continue;
            }
            let found = (self.members.len() <= MOST).then_some(()).and_then(|()| {
                self.made_of(value, through)?;
                uses(value).try_for_each(|each| self.used(each.user, each.operand, through))
            });
            found.ok_or(through)?;
        }
        // Some were met more than once, or as operands before they were found to be members.
        let members = &self.members;
        let mut met: FxHashSet<(usize, usize)> = FxHashSet::default();
        self.leaves.retain(|(op, index)| {
            op.operand(*index).is_ok_and(|operand| !members.contains_key(&ir::key(operand)))
                && met.insert((ir::op_key(*op), *index))
        });
        Ok(())
    }

    /// Goes from a value to what it is made of.
    fn made_of(&mut self, value: Value<'c, 'a>, through: Option<Operand<'c, 'a>>) -> Option<()> {
        let Some(op) = defining_op(value) else {
            let &(op, index) = self.places.get(&ir::key(value))?;
            return self.place(op, index, through);
        };
        if !discardable_attributes(op).is_empty() {
            return None;
        }
        let index = ffi::as_result(value)?.result_number();
        match op_name(op) {
            "stablehlo.while" => return self.place(op, index, through),
            "stablehlo.if" | "stablehlo.case" => {
                for region in 0..op.region_count() {
                    let end = op.region(region).ok()?.first_block()?.terminator()?;
                    self.operand((end, index), through)?;
                }
            }
            _ => terms(op, index)?.try_for_each(|at| self.operand((op, at), through))?,
        }
        Some(())
    }

    /// Goes to all that is at one place of a loop.
    fn place(
        &mut self,
        op: OperationRef<'c, 'a>,
        index: usize,
        through: Option<Operand<'c, 'a>>,
    ) -> Option<()> {
        let (condition, body) = blocks(op).filter(|_| discardable_attributes(op).is_empty())?;
        let arguments = [condition.argument(index).ok()?, body.argument(index).ok()?];
        for argument in arguments.map(Value::from) {
            self.places.insert(ir::key(argument), (op, index));
            self.pending.push((argument, through));
        }
        self.pending.push((op.result(index).ok()?.into(), through));
        self.operand((op, index), through)?;
        self.operand((body.terminator()?, index), through)
    }

    /// Goes to what an op that sums go through has for an operand; what they do not go through is summed there.
    fn operand(&mut self, at: Operand<'c, 'a>, through: Option<Operand<'c, 'a>>) -> Option<()> {
        let value = ir::operand(at.0, at.1)?;
        let goes_on = match defining_op(value) {
            Some(op) => hands_through(op),
            None => {
                let place = carried(value, at.0);
                self.places.extend(place.map(|place| (ir::key(value), place)));
                place.is_some()
            }
        };
        if goes_on && !self.needed.contains(&at) {
            self.pending.push((value, through.or(Some(at))));
        } else {
            self.leaves.push(at);
        }
        Some(())
    }

    /// Goes from a value to what one of its users makes of it; `None` if that needs more than a sum.
    fn used(
        &mut self,
        op: OperationRef<'c, 'a>,
        operand: usize,
        through: Option<Operand<'c, 'a>>,
    ) -> Option<()> {
        let (maker, result) = match op_name(op) {
            "stablehlo.reduce" => {
                let sums = operand == 0 && summed(op).is_some_and(|dims| dims == self.dims);
                self.reductions.extend(sums.then_some(op));
                return sums.then_some(());
            }
            "stablehlo.while" => (op, operand),
            "stablehlo.return" => {
                let around = op.parent_operation()?;
                let hands_out = match op_name(around) {
                    "stablehlo.while" => blocks(around)?.1 == op.block()?,
                    name => matches!(name, "stablehlo.if" | "stablehlo.case"),
                };
                (hands_out.then_some(around)?, operand)
            }
            _ => {
                let result = if op.result_count() > 1 { operand } else { 0 };
                (op, terms(op, result)?.contains(&operand).then_some(result)?)
            }
        };
        self.pending.push((maker.result(result).ok()?.into(), through));
        Some(())
    }

    /// Has loops carry sums.
    fn take(self, build: &Builder<'c, 'a>) {
        let kept = (0..self.of.rank()).filter(|dim| !self.dims.contains(&(*dim as i64)));
        let shape: Vec<i64> = kept.map(|dim| self.of.shape[dim]).collect();
        let ty = Tensor::get(&shape, self.of.element, None);
        for (op, index) in &self.leaves {
            let Ok(operand) = op.operand(*index) else { continue };
            build.set_insertion_point_before(*op);
            build.set_operand(*op, *index, self.sum_of(operand, ty, op.location(), build));
        }
        self.members.values().for_each(|value| build.set_type(*value, ty));
        for op in self.reductions {
            if let (Ok(sum), Ok(of)) = (op.result(0), op.operand(0)) {
                build.replace_all_uses_with(sum.into(), of);
                build.erase(op);
            }
        }
    }

    /// The sum of a value that is there.
    fn sum_of(
        &self,
        value: Value<'c, 'a>,
        ty: Type<'c>,
        location: Location<'c>,
        build: &Builder<'c, 'a>,
    ) -> Value<'c, 'a> {
        if Splat::is_zero(value) {
            return build.zeros(ty, location);
        }
        if let Some(product) = defining_op(value).and_then(|op| self.product_of(op, ty, build)) {
            return product;
        }
        let zero = build.zeros(Tensor::get(&[], self.of.element, None), location);
        build.reduce("stablehlo.add", [value, zero], &self.dims, ty, location)
    }

    /// The product that contracts what is summed of another product's batch.
    fn product_of(
        &self,
        op: OperationRef<'c, 'a>,
        ty: Type<'c>,
        build: &Builder<'c, 'a>,
    ) -> Option<Value<'c, 'a>> {
        let numbers = dot_numbers(op)?;
        let batch = [numbers.lhs_batching_dimensions(), numbers.rhs_batching_dimensions()];
        let contracted = [numbers.lhs_contracting_dimensions(), numbers.rhs_contracting_dimensions()];
        let same = op.operands().all(|operand| ir::element_of(operand.r#type()) == self.of.element);
        // Dimensions of a batch come first in a result.
        if self.dims.iter().any(|&dim| dim >= batch[0].len() as i64)
            || !(self.of.element.is_float() && same)
            || !discardable_attributes(op).is_empty()
            || attribute_of(op, "algorithm").is_some()
        {
            return None;
        }
        let of_batch = |side: usize, summed: bool| {
            let places = 0..batch[side].len();
            places
                .filter(move |at| self.dims.contains(&(*at as i64)) == summed)
                .map(move |at| batch[side][at])
        };
        let left = |side: usize| of_batch(side, false).collect::<Vec<_>>();
        let over =
            |side: usize| of_batch(side, true).chain(contracted[side].iter().copied()).collect::<Vec<_>>();
        let context = build.context();
        let numbers = DotDimensionNumbers::new(context, &left(0), &left(1), &over(0), &over(1));
        let mut attributes: Vec<(&str, Attribute)> = vec![("dot_dimension_numbers", numbers.into())];
        if contracted[0].is_empty() {
            let highest = Precision::Highest.attribute(context);
            attributes.push(("precision_config", ArrayAttribute::new(context, &[highest, highest]).into()));
        }
        let operands: Vec<_> = op.operands().collect();
        ir::first_result(build.copy_with(op, &operands, &attributes, &[ty]))
    }
}

/// Whether what an op makes is a sum where all that it is made of is.
fn hands_through(op: OperationRef<'_, '_>) -> bool {
    matches!(op_name(op), "stablehlo.while" | "stablehlo.if" | "stablehlo.case") || terms(op, 0).is_some()
}

/// The operands of which an op adds up one of its results, or chooses it for all elements alike.
fn terms(op: OperationRef<'_, '_>, result: usize) -> Option<Range<usize>> {
    match op_name(op) {
        "stablehlo.add" | "stablehlo.subtract" => Some(0..2),
        "stablehlo.negate" => Some(0..1),
        "stablehlo.select" => op.operand(0).is_ok_and(ir::is_rank_zero).then_some(1..3),
        "stablehlo.optimization_barrier" => Some(result..result + 1),
        _ => None,
    }
}

/// The dimensions over which an op sums one value, starting from zero.
fn summed(op: OperationRef<'_, '_>) -> Option<Vec<i64>> {
    let sums = op_name(op) == "stablehlo.reduce"
        && op.operand_count() == 2
        && combiner(op) == Some("stablehlo.add")
        && discardable_attributes(op).is_empty();
    // Whoever is asked for an operand that there is not says so with the whole op, in words.
    let initial = sums.then(|| ir::operand(op, 1))??;
    let element = ir::element_of(initial.r#type());
    let is_either = |splat: Splat| splat.bytes().is_some_and(|bytes| is_float_zero(element, &bytes, true));
    let zero = Splat::is_zero(initial) || Splat::of(initial).is_some_and(is_either);
    let mut dims = ir::i64_array(op, "dimensions")?.to_vec();
    dims.sort_unstable();
    zero.then_some(dims)
}

/// The loop that carries an argument of its body or its condition that an op reads, and where.
fn carried<'c: 'a, 'a>(value: Value<'c, 'a>, reader: OperationRef<'c, 'a>) -> Option<Operand<'c, 'a>> {
    ir::owner(value, reader).filter(|(op, _)| op_name(*op) == "stablehlo.while")
}
