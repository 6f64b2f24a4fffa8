// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-pool-gradients`: the gradient of max-pooling by comparing what lies at each place of a window.
//!
//! # What it matches
//!
//! A `select_and_scatter` that chooses by one comparison and adds up, as the gradient of pooling by maxima does:
//!
//! ```mlir
//! %r = "stablehlo.select_and_scatter"(%x, %g, %zero)
//!     <{window_dimensions = array<i64: 1, 3, 3, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({ GE }, { add })
//!     : (tensor<128x113x113x64xbf16>, tensor<128x56x56x64xbf16>, tensor<bf16>) -> tensor<128x113x113x64xbf16>
//! ```
//!
//! becomes, for each of the window's nine places,
//!
//! ```mlir
//! %x4 = stablehlo.slice %x [0:128, 1:112:2, 1:112:2, 0:64]       // what windows have at place 4
//! %stays = stablehlo.compare GE, %best3, %x4
//! %best4 = stablehlo.select %stays, %best3, %x4
//! %at4 = stablehlo.select %stays, %at3, 4                        // tensor<128x56x56x64xui8>
//! ...
//! %g4 = stablehlo.select (%at8 == 4), %g, 0
//! %r4 = stablehlo.pad %g4, low = [0, 1, 1, 0], high = [0, 1, 1, 0], interior = [0, 1, 1, 0]
//! %r = ... %r5 + %r4 ...
//! ```
//!
//! # Why it is right
//!
//! The comparison is the op's own, and goes over a window's places in the same order: what is chosen among equals, and beside NaN, is
//! the same. An element gets the same values as before; they are added up from the last place of a window to the first, which is from
//! the first window to the last, and begin with the initial value. What is not chosen adds -0.0, which changes no sum. Where they begin with 0.0
//! and windows are further apart than they could be, it adds 0.0 instead, and nothing is left of the initial value to add.
//!
//! # Why it pays
//!
//! XLA for GPUs finds what is chosen by numbering all places of the operand, an i32 for each of its dimensions, and
//! scatters to those numbers: 490 MiB of temporaries and 1,425 us for the above under XLA for an H100. A byte for each window, and
//! two kernels that read neighbours, are 25 MiB and 182 us (`referee.py --target h100`).
//!
//! # What it costs
//!
//! Seven ops for each place of a window. What reads the operand reads it once for all places, from a cache; so does what reads the source.
//!
//! # When it must not fire
//!
//! * Back ends that do not number places (`Storage::selects`).
//! * Windows of more than [`LARGEST`] places: each element of the result asks for all of them.
//! * Padding: what is outside of the operand is never chosen, whatever it is compared with.
//! * Floats of 8 bits, some of which have no -0.0, whose sums begin with something else than 0.0.
//! * Regions that do anything else; annotations; programs for more than one partition.

use crate::framework::{Changed, Pass, PassContext, PassResult, Statistic};
use crate::ir::{self, Builder, plain};
use crate::rewrite::walk;
use crate::shards::is_partitioned;
use crate::splat::Splat;
use crate::target::{Selects, Target};
use melior::ir::attribute::DenseElementsAttribute;
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::r#type::IntegerType;
use melior::ir::{BlockRef, Location, OperationRef, RegionLike, Type, TypeLike, Value, ValueLike};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::stablehlo::attrs::{ComparisonDirection, ComparisonType};
use slimhlo_dialect::types::Tensor;

crate::pass_options! {
    /// Compute gradients of max-pooling by comparisons within windows.
    ///
    /// XLA for GPUs numbers all elements that windows choose from, by an i32 for each dimension, and scatters to the numbers of those that
    /// are chosen. Which place of its window is chosen takes a byte for each window; with that, the gradient is a sum of
    /// padded selects, one for each place.
    ///
    /// ```mlir
    /// %r = "stablehlo.select_and_scatter"(%x, %g, %zero) ...
    /// // becomes
    /// %at = ... the place in each window, by comparing slices of %x
    /// %r = ... the sum, over places, of %g where %at is the place, spread out
    /// ```
    pub struct PoolGradients {
        /// What compiles the module.
        pub target: Target = Target::default(),
    }
}

const MADE: Statistic =
    Statistic::new(c"num-gradients", c"gradients of pooling that are made by comparisons");

/// Places of a window at most.
const LARGEST: i64 = 32;

impl Pass for PoolGradients {
    const ARGUMENT: &'static str = "slimhlo-pool-gradients";
    const STATISTICS: &'static [Statistic] = &[MADE];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        if self.target.storage().selects != Selects::Places || is_partitioned(root) {
            return Ok(Changed::No);
        }
        let mut found = Vec::new();
        walk(root, |op| {
            found.extend(Pooled::of(op));
            WalkResult::Advance
        });
        let build = Builder::new(root);
        for pooled in &found {
            pooled.rewrite(&build);
            context.count(&MADE, 1);
        }
        Ok(Changed::from(!found.is_empty()))
    }
}

/// A `select_and_scatter` that chooses by a comparison and adds up.
struct Pooled<'c, 'a> {
    op: OperationRef<'c, 'a>,
    operand: Value<'c, 'a>,
    source: Value<'c, 'a>,
    initial: Value<'c, 'a>,
    /// Shapes of the operand and of the source.
    shapes: [&'c [i64]; 2],
    window: &'c [i64],
    strides: Vec<i64>,
    /// What says whether the element so far stays.
    compare: OperationRef<'c, 'a>,
    /// Whether its first operand is the element so far.
    in_order: bool,
}

impl<'c: 'a, 'a> Pooled<'c, 'a> {
    fn of(op: OperationRef<'c, 'a>) -> Option<Self> {
        if op_name(op) != "stablehlo.select_and_scatter" || !ir::discardable_attributes(op).is_empty() {
            return None;
        }
        let [operand, source, initial]: [Value; 3] = op.operands().collect::<Vec<_>>().try_into().ok()?;
        let [first, second] = [plain(operand)?, plain(source)?];
        let element = second.element;
        let same = ir::element_of(initial.r#type()) == element
            && op.results().all(|result| ir::element_of(result.r#type()) == element);
        let is_real = |element: Type<'c>| element.is_float() || element.is_integer();
        let window = ir::i64_array(op, "window_dimensions")?;
        let strides =
            ir::i64_array(op, "window_strides").map_or_else(|| vec![1; window.len()], <[_]>::to_vec);
        let places: i64 = window.iter().product();
        let (compare, in_order) = comparison(block(op, 0)?)?;
        let fine = same
            && is_real(first.element)
            && is_real(element)
            && (2..=LARGEST).contains(&places)
            && second.shape.iter().all(|&size| size > 0)
            && is_unpadded(op)
            && adds(block(op, 1)?);
        let shapes = [first.shape, second.shape];
        let found = Self { op, operand, source, initial, shapes, window, strides, compare, in_order };
        (fine && found.nothing().is_some()).then_some(found)
    }

    fn rewrite(&self, build: &Builder<'c, 'a>) {
        build.set_insertion_point_before(self.op);
        let location = self.op.location();
        let at = self.chosen(build, location);
        let total = self.spread(at, build, location);
        let result: Value = self.op.result(0).expect("it has a result").into();
        build.replace_all_uses_with(result, total);
        build.erase(self.op);
    }

    /// Where a window's place of a number is in the window.
    fn place(&self, number: i64) -> Vec<i64> {
        let mut rest = number;
        let mut place: Vec<i64> = (self.window.iter().rev())
            .map(|size| {
                let at = rest % size;
                rest /= size;
                at
            })
            .collect();
        place.reverse();
        place
    }

    fn places(&self) -> i64 {
        self.window.iter().product()
    }

    /// One past the last element that windows have at a place.
    fn limit(&self, place: &[i64]) -> Vec<i64> {
        let windows =
            self.shapes[1].iter().zip(&self.strides).map(|(count, stride)| (count - 1) * stride + 1);
        place.iter().zip(windows).map(|(first, extent)| first + extent).collect()
    }

    /// The type of numbers of places, one for each window.
    fn numbers(&self) -> Type<'c> {
        let byte = IntegerType::unsigned(crate::rewrite::context_of(self.op), 8).into();
        Tensor::get(self.shapes[1], byte, None)
    }

    /// A number of a place, for each window.
    fn number(&self, number: i64, build: &Builder<'c, 'a>, location: Location<'c>) -> Value<'c, 'a> {
        let number = u8::try_from(number).expect("windows have few places");
        build.splat_of_bytes(&[number], self.numbers(), location).expect("a byte is one")
    }

    /// The number of the place that each window chooses.
    fn chosen(&self, build: &Builder<'c, 'a>, location: Location<'c>) -> Value<'c, 'a> {
        let ty = Tensor::get(self.shapes[1], ir::element_of(self.operand.r#type()), None);
        let there = |number: i64| {
            let place = self.place(number);
            build.strided_slice(self.operand, &place, &self.limit(&place), &self.strides, ty, location)
        };
        let truth = IntegerType::new(crate::rewrite::context_of(self.op), 1).into();
        let truths = Tensor::get(self.shapes[1], truth, None);
        let mut best = there(0);
        let mut at = self.number(0, build, location);
        for number in 1..self.places() {
            let next = there(number);
            let sides = if self.in_order { [best, next] } else { [next, best] };
            let stays = build.copy_with(self.compare, &sides, &[], &[truths]);
            let stays = stays.result(0).expect("a comparison has a result").into();
            if number + 1 < self.places() {
                best = build.select(stays, best, next, location);
            }
            at = build.select(stays, at, self.number(number, build, location), location);
        }
        at
    }

    /// The sum of what windows hand to each element, where they choose the places `at`.
    fn spread(&self, at: Value<'c, 'a>, build: &Builder<'c, 'a>, location: Location<'c>) -> Value<'c, 'a> {
        let element = ir::element_of(self.source.r#type());
        let nothing = self.nothing().expect("asked before");
        let fill = |ty: Type<'c>| build.splat_of_bytes(&nothing, ty, location).expect("a plain element");
        let (zero, zeros) = (fill(Tensor::get(&[], element, None)), fill(self.source.r#type()));
        let whole = Tensor::get(self.shapes[0], element, None);
        let interior: Vec<i64> = self.strides.iter().map(|stride| stride - 1).collect();
        let mut total =
            (!self.begins_with_nothing()).then(|| build.broadcast_scalar(self.initial, whole, location));
        for number in (0..self.places()).rev() {
            let place = self.place(number);
            let here = self.number(number, build, location);
            let is_here =
                build.compare_as(ComparisonDirection::Eq, ComparisonType::Unsigned, at, here, location);
            let part = build.select(is_here, self.source, zeros, location);
            let high: Vec<i64> =
                self.shapes[0].iter().zip(self.limit(&place)).map(|(size, limit)| size - limit).collect();
            let part = build.pad(part, zero, [&place, &high, &interior], whole, location);
            total = Some(match total {
                Some(total) => build.binary("stablehlo.add", total, part, location),
                None => part,
            });
        }
        total.expect("windows have places")
    }

    /// What is added where a window does not choose an element, as the bytes of one: -0.0, which changes no sum, or 0.0, where all sums
    /// have one of that anyway.
    fn nothing(&self) -> Option<Vec<u8>> {
        let element = ir::element_of(self.source.r#type());
        let width = usize::try_from(ir::element_bytes(element)?).ok()?;
        let mut bytes = vec![0; width];
        if element.is_float() && !self.begins_with_nothing() {
            // Of 8 bits there are types without a -0.0.
            (width > 1).then_some(())?;
            bytes[if cfg!(target_endian = "little") { width - 1 } else { 0 }] = 0x80;
        }
        Some(bytes)
    }

    /// Whether sums may begin with what the first place adds: the initial value is 0.0, and each sum has some 0.0 from a place at which no
    /// window has the element, so that it is not -0.0 in any case.
    fn begins_with_nothing(&self) -> bool {
        Splat::is_zero(self.initial)
            && self.window.iter().zip(&self.strides).any(|(window, stride)| *window > 1 && *stride > 1)
    }
}

/// A region's block, if it is the only one.
fn block<'c: 'a, 'a>(op: OperationRef<'c, 'a>, index: usize) -> Option<BlockRef<'c, 'a>> {
    op.regions().nth(index)?.first_block().filter(|block| block.next_in_region().is_none())
}

/// The one op of a block of two arguments whose result it returns; whether it takes them in order, or the other way round.
fn only_op<'c: 'a, 'a>(block: BlockRef<'c, 'a>) -> Option<(OperationRef<'c, 'a>, bool)> {
    let op = block.first_operation()?;
    let end = op.next_in_block()?;
    let arguments: Vec<Value> = (0..2).filter_map(|index| Some(block.argument(index).ok()?.into())).collect();
    let operands: Vec<Value> = op.operands().collect();
    let in_order = operands == arguments;
    let is_turned = || operands.iter().rev().eq(&arguments);
    let returned = end.operands().eq(op.results().map(Value::from));
    (block.terminator() == Some(end) && arguments.len() == 2 && returned && (in_order || is_turned()))
        .then_some((op, in_order))
}

/// The comparison that chooses, and whether the element so far is its first operand.
fn comparison<'c: 'a, 'a>(block: BlockRef<'c, 'a>) -> Option<(OperationRef<'c, 'a>, bool)> {
    only_op(block)
        .filter(|(op, _)| op_name(*op) == "stablehlo.compare" && ir::discardable_attributes(*op).is_empty())
}

fn adds(block: BlockRef<'_, '_>) -> bool {
    only_op(block).is_some_and(|(op, _)| op_name(op) == "stablehlo.add")
}

fn is_unpadded(op: OperationRef<'_, '_>) -> bool {
    ffi::attribute_of(op, "padding").is_none_or(|padding| {
        DenseElementsAttribute::try_from(padding)
            .is_ok_and(|padding| (0..padding.len()).all(|index| padding.i64_element(index) == Ok(0)))
    })
}
