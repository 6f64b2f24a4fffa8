// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-reuse-gather-indices`: gathers and scatters take the array that holds their indices, not a copy of it.
//!
//! # What it matches
//!
//! The indices of a gather or scatter that are put together from columns of other arrays: sliced, reshaped, broadcast,
//! converted, corrected by a dimension's size where they are negative, clamped, and concatenated.
//!
//! ```mlir
//! %c0 = stablehlo.slice %i [0:9, 0:1] : (tensor<9x2xi16>) -> tensor<9x1xi16>
//! %c1 = stablehlo.slice %i [0:9, 1:2] : (tensor<9x2xi16>) -> tensor<9x1xi16>
//! %f0 = ... // select(%c0 < 0, %c0 + 40, %c0)
//! %f1 = ... // select(%c1 < 0, %c1 + 50, %c1)
//! %w0 = stablehlo.convert %f0 : (tensor<9x1xi16>) -> tensor<9x1xi32>
//! %w1 = stablehlo.convert %f1 : (tensor<9x1xi16>) -> tensor<9x1xi32>
//! %at = stablehlo.concatenate %w0, %w1, dim = 1 : (tensor<9x1xi32>, tensor<9x1xi32>) -> tensor<9x2xi32>
//! ```
//!
//! becomes
//!
//! ```mlir
//! %at = ... // select(%i < 0, %i + [40, 50], %i) : tensor<9x2xi16>
//! ```
//!
//! and just `%i` where nothing is done to the numbers, or where the gather's own clamping does it. What else used `%at` uses
//! it converted. Columns that are a regular selection of one array's become a slice; an array that holds the vectors along
//! another dimension or in another order is used as it is, with `index_vector_dim` and `start_index_map` to say so. Columns of several arrays have to be concatenated,
//! but in the narrowest type that holds them. Equal indices that are spelled in different ways become one value, and a
//! gather takes the clamped indices of the scatter that goes with it, if clamping is what it would do. Comparisons of indices with
//! bounds that they are known to keep (a mask beside clamped indices) become what they come to.
//!
//! # Why it is right
//!
//! Each number of each index vector is followed to the element it comes from, with the range it can have. A convert whose
//! type holds that range changes nothing, nor does a clamp to more than it, nor a correction of what is never negative.
//! An addition or correction is only taken for one if it cannot wrap around; if it can, its result is where the numbers come
//! from. A convert that may cut numbers off is kept, as the last before what came after it. What was done to numbers is then
//! done again in a type that holds all numbers on the way, and the result is kept in one that holds it *and the sizes of
//! the dimensions that are indexed*, for back ends compare indices with those in the indices' type. No gather or scatter gets
//! other numbers than before, except where a gather clamps them to the same ones: out of bounds stays out of bounds.
//!
//! # Why it pays
//!
//! Scatters read their indices from memory, and where several ops read them, so do gathers: concatenated and widened, these
//! may be larger than the data. Every back end computes a correction on the fly, or in one pass over what is there.
//!
//! # What it costs
//!
//! A few rounds, as long as they change something, each of constant time per column of the indices of each gather and scatter: a trace is no longer than a fixed number of ops.
//! A slice, a comparison, an addition, a selection and a clamp per index array; what they replace is erased.
//!
//! # When it must not fire
//!
//! * Where it would not save a concatenation, a step or bytes per number: what is there then stays, but serves as the one
//!   value for equal indices that come later in its block.
//! * Indices that differ from one another in what was done to them, other than in sizes and bounds.
//! * Dynamic shapes, encodings, element types that are no integers; nothing is followed through an op with discardable
//!   attributes (shardings).

mod form;
mod indexer;
mod layout;

use crate::framework::{Changed, Pass, PassContext, PassResult, Statistic};
use crate::ir::{self, Builder};
use crate::rewrite::{defining_op, is_unused, users, uses, walk};
use form::{At, Bounds, Column, Form, Key, Kind, Range, Source, Step};
use indexer::Indexer;
use layout::{Layout, Work};
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::r#type::IntegerType;
use melior::ir::{Location, OperationRef, Type, TypeLike, Value, ValueLike};
use rustc_hash::{FxHashMap, FxHashSet};
use slimhlo_dialect::dense::{self, Dense};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::stablehlo::attrs::{ComparisonDirection, ComparisonType};
use slimhlo_dialect::types::Tensor;

crate::pass_options! {
    /// Let gathers and scatters take the array that holds their indices, not a copy of it.
    ///
    /// Slices, corrections of negative indices (compare, add, select), converts, broadcasts, reshapes, clamps and a
    /// concatenate that together only renormalise an index array are recognised, column by column. They become one
    /// elementwise value on that array in the narrowest type that holds the indices and the sizes of what they index, shared
    /// by forward gather and backward scatter, or the array itself where nothing is done to the numbers.
    ///
    /// ```mlir
    /// %at = stablehlo.concatenate %fixed_and_widened_column0, %fixed_and_widened_column1, dim = 1
    /// // becomes
    /// %added = stablehlo.add %indices, %sizes : tensor<9x2xi16>
    /// %at = stablehlo.select %is_negative, %added, %indices : tensor<9x2xi1>, tensor<9x2xi16>
    /// ```
    pub struct ReuseGatherIndices;
}

const REUSED: Statistic = Statistic::new(c"num-reused", c"index arrays made of the array they come from");
const NARROWED: Statistic = Statistic::new(c"num-narrowed", c"index arrays concatenated in a narrower type");
const SHARED: Statistic = Statistic::new(c"num-shared", c"index arrays that an equal one serves for");

/// How often a function is gone through: what dies with one round was a use until then, and may have kept an index array
/// from being taken as it is. What remains after the last round is right all the same.
const MOST_ROUNDS: usize = 4;

/// An index array and who takes it.
struct Item<'c, 'a> {
    value: Value<'c, 'a>,
    /// The op it is the result of.
    op: OperationRef<'c, 'a>,
    /// The dimension of the index vectors.
    vectors: usize,
    form: Form<'c, 'a>,
    takers: Vec<Indexer<'c, 'a>>,
    /// Whether the form is not the value's own but one that does as well.
    adopted: bool,
}

/// A value that holds index vectors.
#[derive(Clone, Copy)]
struct Made<'c, 'a> {
    value: Value<'c, 'a>,
    /// The dimension they are along; for vectors of one number, any or none.
    vectors: Option<usize>,
}

impl Pass for ReuseGatherIndices {
    const ARGUMENT: &'static str = "slimhlo-reuse-gather-indices";
    const STATISTICS: &'static [Statistic] = &[REUSED, NARROWED, SHARED];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        let mut changed = false;
        for _ in 0..MOST_ROUNDS {
            if !round(root, context) {
                break;
            }
            changed = true;
        }
        Ok(Changed::from(changed))
    }
}

/// Rewrites every index array once. Says whether anything changed.
fn round<'c>(root: OperationRef<'c, '_>, context: &PassContext<'_>) -> bool {
    let items = adopt(items(root));
    let mut rewrite = Rewrite {
        build: Builder::new(root),
        context,
        made: FxHashMap::default(),
        views: FxHashMap::default(),
        changed: false,
    };
    for item in &items {
        if !item.adopted {
            rewrite.compared(item);
        }
        rewrite.item(item);
    }
    if rewrite.changed {
        let mut gone = FxHashSet::default();
        for item in &items {
            if !gone.contains(&ir::op_key(item.op)) && is_unused(item.op) {
                gone.insert(ir::op_key(item.op));
                rewrite.build.erase_with_dead_producers(item.op, |value| {
                    gone.extend(defining_op(value).map(ir::op_key));
                });
            }
        }
    }
    rewrite.changed
}

/// All index arrays that are computed, in the order in which they are.
fn items<'c: 'a, 'a>(root: OperationRef<'c, 'a>) -> Vec<Item<'c, 'a>> {
    let mut items: Vec<Item> = Vec::new();
    let mut known: FxHashMap<(usize, usize), Option<usize>> = FxHashMap::default();
    walk(root, |op| {
        if let Some((indexer, value, vectors)) = Indexer::new(op)
            && let Some(producer) = defining_op(value)
        {
            let found = known.entry((ir::key(value), vectors)).or_insert_with(|| {
                let form = Form::of(value, vectors)?;
                items.push(Item { value, op: producer, vectors, form, takers: Vec::new(), adopted: false });
                Some(items.len() - 1)
            });
            if let Some(at) = *found {
                items[at].takers.push(indexer);
            }
        }
        WalkResult::Advance
    });
    if items.len() > 1 {
        let producers: FxHashSet<usize> = items.iter().map(|item| ir::op_key(item.op)).collect();
        let mut order = FxHashMap::with_capacity_and_hasher(producers.len(), Default::default());
        walk(root, |op| {
            if producers.contains(&ir::op_key(op)) {
                order.insert(ir::op_key(op), order.len());
            }
            WalkResult::Advance
        });
        items.sort_by_key(|item| order.get(&ir::op_key(item.op)).copied());
    }
    items
}

fn block_key(op: OperationRef<'_, '_>) -> usize {
    op.block().map_or(0, |block| block.to_raw().ptr as usize)
}

/// Lets gathers take what a scatter in the same block takes clamped, where they would clamp it themselves.
fn adopt<'c: 'a, 'a>(items: Vec<Item<'c, 'a>>) -> Vec<Item<'c, 'a>> {
    let mut clamped: FxHashMap<(usize, Key), (Form, Bounds)> = FxHashMap::default();
    for item in items.iter().filter(|item| item.takers.iter().any(|taker| taker.last.is_none())) {
        if let Some((plain, bounds)) = item.form.without_clamp() {
            clamped.entry((block_key(item.op), plain.key())).or_insert_with(|| (item.form.clone(), bounds));
        }
    }
    if clamped.is_empty() {
        return items;
    }
    let mut all = Vec::with_capacity(items.len());
    for mut item in items {
        if let Some((form, bounds)) =
            clamped.get(&(block_key(item.op), item.form.key())).filter(|_| !item.form.is_unchanged())
        {
            let (takers, rest) = item.takers.into_iter().partition(|taker| taker.clamps_to(bounds));
            item.takers = rest;
            let adopted = Item { form: form.clone(), takers, adopted: true, ..item };
            if !adopted.takers.is_empty() {
                all.push(adopted);
            }
            if item.takers.is_empty() {
                continue;
            }
        }
        all.push(item);
    }
    all
}

fn signed_kinds() -> impl Iterator<Item = Kind> {
    [8, 16, 32, 64].into_iter().map(|width| Kind { width, unsigned: false })
}

struct Rewrite<'c, 'a, 'r> {
    build: Builder<'c, 'a>,
    context: &'r PassContext<'r>,
    /// By block, form, type, and whether the numbers of each vector are in the order that their array has them in.
    made: FxHashMap<(usize, Key, Kind, bool), Made<'c, 'a>>,
    /// By block, value and type: values of the first, reshaped.
    views: FxHashMap<(usize, usize, usize), Value<'c, 'a>>,
    changed: bool,
}

impl<'c: 'a, 'a> Rewrite<'c, 'a, '_> {
    /// Comparisons of an index array with known numbers that come out the same for all its numbers, as those of clamped ones with
    /// their bounds do.
    fn compared(&mut self, item: &Item<'c, 'a>) {
        let comparisons: Vec<_> = users(item.value)
            .filter(|op| op_name(*op) == "stablehlo.compare" && ir::discardable_attributes(*op).is_empty())
            .collect();
        for op in comparisons {
            if let Some(outcome) = outcome(op, item) {
                let result: Value = op.result(0).expect("comparisons have a result").into();
                self.build.set_insertion_point_before(op);
                let flags = IntegerType::new(self.build.context(), 1).into();
                let flag = self.build.number(f64::from(u8::from(outcome)), flags, op.location());
                let all = self.build.broadcast_scalar(flag, result.r#type(), op.location());
                self.build.replace_all_uses_with(result, all);
                self.build.erase_with_dead_producers(op, |_| {});
                self.changed = true;
            }
        }
    }

    fn item(&mut self, item: &Item<'c, 'a>) -> Option<()> {
        let mut form = item.form.clone();
        let mut adopted = item.adopted;
        // The array itself, where clamping it is all that was done and the gathers do that.
        if let Some((plain, bounds)) = item.form.without_clamp()
            && plain.is_unchanged()
            && item.takers.iter().all(|taker| taker.clamps_to(&bounds))
        {
            form = plain;
            adopted = true;
        }
        let own = Kind::of(ir::element_of(item.value.r#type()))?;
        let largest = item.takers.iter().map(|taker| taker.largest).max().unwrap_or(0);
        let layout = Layout::of(&form).filter(|layout| !layout.is_permuted() || may_permute(item, adopted));
        let order = layout.as_ref().filter(|layout| layout.is_permuted()).map(|layout| layout.order.clone());
        let result = result_kind(&form, own, largest);
        let key = (block_key(item.op), form.key(), result, order.is_some());
        if let Some(made) = self.made.get(&key).copied() {
            if made.value != item.value {
                self.context.count(&SHARED, 1);
                self.rewire(item, made, adopted, order.as_deref());
            }
            return Some(());
        }
        let written = item.form.columns.iter().map(|column| column.written).max().unwrap_or(0);
        let steps = form
            .columns
            .iter()
            .map(|column| column.steps.iter().filter(|step| !matches!(step, Step::Wrap(_))).count());
        let narrower = result.width < own.width;
        let shorter = steps.max().unwrap_or(0) < written;
        self.build.set_insertion_point_before(item.op);
        let location = item.op.location();
        let mut made = None;
        let mut order = order;
        if let Some(layout) = layout
            && (adopted || item.form.joined || narrower || shorter)
        {
            made = self.in_one(&form, &layout, result, location);
            self.context.count(&REUSED, u64::from(made.is_some()));
        }
        if made.is_none() && narrower {
            order = None;
            made = self.concatenated(item, &form, result, location);
            self.context.count(&NARROWED, u64::from(made.is_some()));
        }
        if let Some(made) = made {
            self.made.insert((key.0, key.1, key.2, order.is_some()), made);
            self.rewire(item, made, adopted, order.as_deref());
        } else if !adopted {
            let key = (key.0, key.1, key.2, false);
            self.made.insert(key, Made { value: item.value, vectors: Some(item.vectors) });
        }
        Some(())
    }

    /// The index vectors as one value, elementwise from the array they are in.
    fn in_one(
        &self,
        form: &Form<'c, 'a>,
        layout: &Layout<'c, 'a>,
        result: Kind,
        location: Location<'c>,
    ) -> Option<Made<'c, 'a>> {
        let columns: Vec<&Column> = layout.order.iter().map(|&column| &form.columns[column]).collect();
        let from = Kind::of(ir::element_of(layout.source.r#type()))?;
        let work = Work::of(&columns, from, result)?;
        let part = layout.part(&self.build, location);
        Some(Made { value: self.work(part, layout.vectors, &work, location), vectors: layout.vectors })
    }

    /// The columns one by one, joined in the type given.
    fn concatenated(
        &self,
        item: &Item<'c, 'a>,
        form: &Form<'c, 'a>,
        result: Kind,
        location: Location<'c>,
    ) -> Option<Made<'c, 'a>> {
        let shape = Tensor::new(item.value.r#type())?.shape;
        let places: Vec<i64> = (0..shape.len())
            .filter(|&dim| dim != item.vectors && shape[dim] != 1)
            .map(|dim| dim as i64)
            .collect();
        let mut column_shape = shape.to_vec();
        if let Some(size) = column_shape.get_mut(item.vectors) {
            *size = 1;
        }
        /// What to do about a column, found out before anything is made.
        enum Part<'c, 'a> {
            Number(i128),
            Array(Layout<'c, 'a>, Vec<i64>, Vec<i64>, Work),
        }
        let parts = form.columns.iter().map(|column| {
            let source = match column.source {
                Source::Number(number) => return Some(Part::Number(number)),
                Source::Array(source) => source,
            };
            let tensor = form::plain(source)?;
            let work = Work::of(&[column], Kind::of(tensor.element)?, result)?;
            let (mut start, mut limit) = (vec![0; tensor.rank()], tensor.shape.to_vec());
            let (mut kept, mut batch) = (Vec::new(), Vec::new());
            for (dim, at) in column.at.iter().enumerate() {
                match *at {
                    At::Fixed(at) => (start[dim], limit[dim]) = (at, at + 1),
                    At::Batch(number) => {
                        kept.push(tensor.shape[dim]);
                        batch.push(*places.get(number)?);
                    }
                }
            }
            let stride = vec![1; tensor.rank()];
            let layout = Layout { source, start, limit, stride, vectors: None, order: vec![0] };
            batch.is_sorted().then_some(Part::Array(layout, kept, batch, work))
        });
        let parts: Vec<Part> = parts.collect::<Option<_>>()?;
        let build = &self.build;
        let ty = Tensor::get(&column_shape, self.element(result), None);
        let columns: Vec<Value> = parts
            .into_iter()
            .map(|part| match part {
                Part::Number(number) => {
                    build.broadcast_scalar(self.constant(&[number], result, None, location), ty, location)
                }
                Part::Array(layout, shape, batch, work) => {
                    let mut part = layout.part(build, location);
                    let packed = Tensor::get(&shape, ir::element_of(part.r#type()), None);
                    if packed != part.r#type() {
                        part = build.reshape(part, packed, location);
                    }
                    let part = self.work(part, None, &work, location);
                    self.broadcast(part, &batch, ty, location)
                }
            })
            .collect();
        let value = match columns[..] {
            [only] => only,
            _ => build.concatenate(&columns, item.vectors, location),
        };
        Some(Made { value, vectors: Some(item.vectors) })
    }

    fn element(&self, kind: Kind) -> Type<'c> {
        let context = self.build.context();
        if kind.unsigned {
            IntegerType::unsigned(context, kind.width).into()
        } else {
            IntegerType::new(context, kind.width).into()
        }
    }

    /// A constant of one number, or of several along its one dimension.
    fn constant(
        &self,
        numbers: &[i128],
        kind: Kind,
        count: Option<i64>,
        location: Location<'c>,
    ) -> Value<'c, 'a> {
        let element = self.element(kind);
        let shape: &[i64] = count.as_slice();
        let ty = Tensor::get(shape, element, None);
        let width = kind.width.div_ceil(8) as usize;
        let data = numbers.iter().flat_map(|&number| dense::bytes(number as u64, width)).collect();
        let value = Tensor::new(ty)
            .and_then(|tensor| Dense::from_elements(tensor, data)?.attribute())
            .expect("as many numbers as the type has, each of its width");
        self.build.insert("stablehlo.constant", &[], &[("value", value)], ty, location)
    }

    fn broadcast(
        &self,
        value: Value<'c, 'a>,
        dims: &[i64],
        ty: Type<'c>,
        location: Location<'c>,
    ) -> Value<'c, 'a> {
        if value.r#type() == ty {
            return value;
        }
        let dims = [("broadcast_dimensions", self.build.i64_array(dims))];
        self.build.insert("stablehlo.broadcast_in_dim", &[value], &dims, ty, location)
    }

    fn converted(&self, value: Value<'c, 'a>, kind: Kind, location: Location<'c>) -> Value<'c, 'a> {
        let tensor = Tensor::new(value.r#type()).expect("indices are tensors");
        if Kind::of(tensor.element) == Some(kind) {
            return value;
        }
        self.build.convert(value, Tensor::get(tensor.shape, self.element(kind), None), location)
    }

    /// Does what is to be done to all columns, which are along `vectors` if there are several.
    fn work(
        &self,
        value: Value<'c, 'a>,
        vectors: Option<usize>,
        work: &Work,
        location: Location<'c>,
    ) -> Value<'c, 'a> {
        let build = &self.build;
        debug_assert_eq!(Kind::of(ir::element_of(value.r#type())), Some(work.kind));
        let mut value = value;
        for (kind, row) in &work.steps {
            value = self.converted(value, *kind, location);
            let ty = value.r#type();
            let filled = |number: fn(&Step) -> i128| {
                let numbers: Vec<i128> = row.iter().map(number).collect();
                match vectors.filter(|_| numbers.iter().any(|other| *other != numbers[0])) {
                    None => build.broadcast_scalar(
                        self.constant(&numbers[..1], *kind, None, location),
                        ty,
                        location,
                    ),
                    Some(dim) => {
                        let count = Some(numbers.len() as i64);
                        self.broadcast(
                            self.constant(&numbers, *kind, count, location),
                            &[dim as i64],
                            ty,
                            location,
                        )
                    }
                }
            };
            let first = |step: &Step| match *step {
                Step::Fix(number) | Step::Add(number) | Step::Clamp(number, _) => number,
                Step::Wrap(_) => 0,
            };
            let second = |step: &Step| if let Step::Clamp(_, high) = *step { high } else { 0 };
            value = match row[0] {
                Step::Fix(_) => {
                    let zero = filled(|_| 0);
                    let context = build.context();
                    let attributes = [
                        ("comparison_direction", ComparisonDirection::Lt.attribute(context)),
                        ("compare_type", ComparisonType::Signed.attribute(context)),
                    ];
                    let shape = Tensor::new(ty).expect("indices are tensors").shape;
                    let flags = Tensor::get(shape, IntegerType::new(context, 1).into(), None);
                    let negative =
                        build.insert("stablehlo.compare", &[value, zero], &attributes, flags, location);
                    let sum = build.binary("stablehlo.add", value, filled(first), location);
                    build.insert("stablehlo.select", &[negative, sum, value], &[], ty, location)
                }
                Step::Add(_) => build.binary("stablehlo.add", value, filled(first), location),
                Step::Clamp(..) => {
                    let operands = [filled(first), value, filled(second)];
                    build.insert("stablehlo.clamp", &operands, &[], ty, location)
                }
                Step::Wrap(_) => value,
            };
        }
        self.converted(value, work.result, location)
    }

    /// Lets everyone who takes an index array take this.
    fn rewire(
        &mut self,
        item: &Item<'c, 'a>,
        made: Made<'c, 'a>,
        takers_only: bool,
        order: Option<&[usize]>,
    ) {
        let build = &self.build;
        build.set_insertion_point_before(item.op);
        let location = item.op.location();
        let (Some(from), Some(to)) = (Tensor::new(made.value.r#type()), Tensor::new(item.value.r#type()))
        else {
            return;
        };
        let mut reshaped = |shape: &[i64]| {
            let ty = Tensor::get(shape, from.element, None);
            if ty == made.value.r#type() {
                return made.value;
            }
            let key = (block_key(item.op), ir::key(made.value), ty.to_raw().ptr as usize);
            *self.views.entry(key).or_insert_with(|| build.reshape(made.value, ty, location))
        };
        let longer = |tensor: &Tensor, end: usize, but: usize| {
            (0..end).filter(|&dim| dim != but && tensor.shape.get(dim).is_some_and(|&size| size != 1)).count()
        };
        let several = item.form.columns.len() > 1;
        let before = made.vectors.filter(|_| several).map(|dim| longer(&from, dim, dim));
        let mut vectors = item.vectors;
        let mut value = None;
        if let Some(before) = before.filter(|&before| before != longer(&to, item.vectors, item.vectors)) {
            // The vectors lie along another dimension: among the others, where as many come before it.
            let mut shape: Vec<i64> = to.shape.to_vec();
            let count = shape.remove(item.vectors);
            vectors = (0..=shape.len())
                .find(|&end| shape[..end].iter().filter(|&&size| size != 1).count() == before)
                .unwrap_or(shape.len());
            shape.insert(vectors, count);
            value = Some(reshaped(&shape));
        }
        let value = value.unwrap_or_else(|| reshaped(to.shape));
        for taker in &item.takers {
            build.set_operand(taker.op, taker.operand, value);
            if vectors != item.vectors {
                taker.move_vectors(item.vectors, vectors);
            }
            if let Some(order) = order {
                taker.permute(order);
            }
        }
        self.changed = true;
        if takers_only || uses(item.value).next().is_none() {
            return;
        }
        let mut whole = value;
        if vectors != item.vectors {
            // Back to where they were: which dimension of `value` each one is.
            let mut dims: Vec<i64> =
                (0..to.rank()).filter(|&dim| dim != vectors).map(|dim| dim as i64).collect();
            dims.insert(item.vectors, vectors as i64);
            let permutation = [("permutation", build.i64_array(&dims))];
            let ty = Tensor::get(to.shape, from.element, None);
            whole = build.insert("stablehlo.transpose", &[value], &permutation, ty, location);
        }
        if whole.r#type() != item.value.r#type() {
            whole = build.convert(whole, item.value.r#type(), location);
        }
        build.replace_all_uses_with(item.value, whole);
    }
}

/// What a comparison of an index array with known numbers comes to, if that is the same for all.
fn outcome<'c: 'a, 'a>(op: OperationRef<'c, 'a>, item: &Item<'c, 'a>) -> Option<bool> {
    let (left, right) = (ir::operand(op, 0)?, ir::operand(op, 1)?);
    let direction = ComparisonDirection::try_from(ffi::attribute_of(op, "comparison_direction")?).ok()?;
    let (other, direction) = match (left == item.value, direction) {
        (true, direction) => (right, direction),
        (false, ComparisonDirection::Lt) => (left, ComparisonDirection::Gt),
        (false, ComparisonDirection::Le) => (left, ComparisonDirection::Ge),
        (false, ComparisonDirection::Gt) => (left, ComparisonDirection::Lt),
        (false, ComparisonDirection::Ge) => (left, ComparisonDirection::Le),
        (false, direction) => (left, direction),
    };
    let mut outcomes = item.form.columns.iter().enumerate().map(|(column, known)| {
        let number = form::number_of_column(other, item.vectors, column)?;
        let Range { low, high } = known.range;
        match direction {
            ComparisonDirection::Lt if high < number => Some(true),
            ComparisonDirection::Lt if low >= number => Some(false),
            ComparisonDirection::Le if high <= number => Some(true),
            ComparisonDirection::Le if low > number => Some(false),
            ComparisonDirection::Gt if low > number => Some(true),
            ComparisonDirection::Gt if high <= number => Some(false),
            ComparisonDirection::Ge if low >= number => Some(true),
            ComparisonDirection::Ge if high < number => Some(false),
            _ => None,
        }
    });
    let first = outcomes.next()??;
    outcomes.all(|outcome| outcome == Some(first)).then_some(first)
}

/// Whether those who take an index array may get the numbers of each vector in another order: nobody else has to be given
/// it as it is, and their tables are small beside it, should a back end rather transpose those.
fn may_permute(item: &Item<'_, '_>, takers_only: bool) -> bool {
    const SMALLER: i64 = 4;
    let bytes = bytes_of(item.value);
    (takers_only || item.takers.len() == uses(item.value).count())
        && item.takers.iter().all(|taker| {
            taker.op.operand(0).is_ok_and(|table| bytes_of(table).saturating_mul(SMALLER) <= bytes)
        })
}

fn bytes_of(value: Value<'_, '_>) -> i64 {
    Tensor::new(value.r#type())
        .and_then(|tensor| {
            tensor.element_count()?.checked_mul(i64::try_from(dense::element_bytes(tensor.element)?).ok()?)
        })
        .unwrap_or(i64::MAX)
}

/// The type to keep indices in: the narrowest that holds them and the sizes of what they index, no wider than their own.
fn result_kind(form: &Form<'_, '_>, own: Kind, largest: i128) -> Kind {
    let sources = form.columns.iter().filter_map(|column| match column.source {
        Source::Array(value) => Kind::of(ir::element_of(value.r#type())),
        Source::Number(_) => None,
    });
    let unsigned: Vec<Kind> = sources.filter(|kind| kind.unsigned).collect();
    let numbers =
        form.columns.iter().map(|column| column.range).fold(Range { low: 0, high: largest }, Range::hull);
    let narrower = signed_kinds()
        .flat_map(|kind| [Kind { unsigned: true, ..kind }, kind])
        .filter(|kind| kind.width < own.width && (!kind.unsigned || unsigned.contains(kind)))
        .find(|kind| kind.range().contains(numbers));
    narrower.unwrap_or(own)
}
