// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-narrow-updates`: updates of bf16 and of 8-bit floats stay in place in back ends that have no moves of such floats.
//!
//! Such a back end does them in a wider type: it converts all of an array, updates that, and converts it back, as one pass over the
//! array. That is in place only if the pass reads nothing of the array but the element it writes, and in a loop it is done in each turn.
//! XLA for CPU (jaxlib 0.10.2) is such a back end. Fields of bf16 that are given away need 3 times their memory while their
//! halos are filled, and a loop that puts rows of bf16 in their places takes time quadratic in its turns (measured by hand).
//!
//! # What it matches
//!
//! An update that is made of what it updates:
//!
//! ```mlir
//! %halo = stablehlo.slice %field [8:16, 0:4096] : (tensor<2048x4096xbf16>) -> tensor<8x4096xbf16>
//! %1 = stablehlo.dynamic_update_slice %field, %halo, %c2040, %c0
//! ```
//!
//! is held, which keeps it from being computed on the fly (see `hold.rs`):
//!
//! ```mlir
//! %halo = stablehlo.slice %field [8:16, 0:4096]
//! %held = "stablehlo.if"(%true) ({ %halo behind a barrier }, { zeros })
//! %1 = stablehlo.dynamic_update_slice %field, %held, %c2040, %c0
//! ```
//!
//! And an accumulator of a loop, which starts from a splat, and from which nothing is needed but what is computed with:
//!
//! ```mlir
//! %0:2 = stablehlo.while(%i = %c0, %rows = %zeros) : tensor<i64>, tensor<256x8000xbf16>
//!   do {
//!     %next = stablehlo.dynamic_update_slice %rows, %some, %i, %c0 : ... -> tensor<256x8000xbf16>
//!   }
//! %1 = stablehlo.convert %0#1 : (tensor<256x8000xbf16>) -> tensor<256x8000xf32>
//! ```
//!
//! holds bits as integers, which are moved as they are:
//!
//! ```mlir
//! %0:2 = stablehlo.while(%i = %c0, %rows = %zeros) : tensor<i64>, tensor<256x8000xi16>
//!   do {
//!     %bits = stablehlo.bitcast_convert %some : (tensor<256x500xbf16>) -> tensor<256x500xi16>
//!     %next = stablehlo.dynamic_update_slice %rows, %bits, %i, %c0 : ... -> tensor<256x8000xi16>
//!   }
//! %all = stablehlo.bitcast_convert %0#1 : (tensor<256x8000xi16>) -> tensor<256x8000xbf16>
//! %1 = stablehlo.convert %all : (tensor<256x8000xbf16>) -> tensor<256x8000xf32>
//! ```
//!
//! What is sliced, gathered, reshaped, transposed or reversed from it is bits, too, until something computes with it.
//!
//! # Why it is right
//!
//! A branch that is always taken hands on what it is given. To move an element is to move its bits, and a bitcast to an integer of as
//! many bits and back is the element, whatever NaN it is.
//!
//! # What it costs
//!
//! An update's own memory, a branch and a few scalar ops for each update that is held. A bitcast, which is elementwise, where an array of
//! bits is computed with. One walk; each array is looked at once, and each update not far up. Back ends that move such
//! floats as they are gain nothing, and those of them that ask their host for conditions do so once per update.
//!
//! # When it must not fire
//!
//! * A bitcast of all of an array is a copy for XLA, which has no buffer for two types: an array is no integers if it starts from
//!   what has memory of its own, or if all of it is needed as it is (as a result, by a dot, a sort, a call).
//! * A single update, outside of loops, of an array that is not given away: it is copied anyway, and not held.
//! * Other elements: integers and wider floats are moved as they are, and so is f16 by all back ends known to us.
//! * Arrays of fewer than `least-bytes` bytes.
//! * Nothing is held in programs for more than one partition: the condition is made of an element of the array, which is on one device.

use crate::framework::{Bytes, Changed, Pass, PassContext, PassResult, Statistic};
use crate::hold;
use crate::inplace_updates::is_donated;
use crate::ir::{self, Builder, element_of};
use crate::ops::class;
use crate::rewrite::{Use, defining_op, ops_named, uses};
use crate::shards::is_partitioned;
use crate::splat::Splat;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::r#type::IntegerType;
use melior::ir::{OperationRef, RegionLike, Type, TypeLike, Value, ValueLike};
use rustc_hash::{FxHashMap, FxHashSet};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::types::Tensor;

crate::pass_options! {
    /// Keep updates of bf16 and of 8-bit floats in place in back ends that have no moves of such floats (XLA for CPU), and do them
    /// in f32: all of an array is converted for each update.
    ///
    /// An update that is made of what it updates is held by a branch, so that the conversion reads nothing but what it
    /// writes. Accumulators of loops, from which nothing is needed but what is computed with, hold bits as integers.
    ///
    /// ```mlir
    /// %halo = stablehlo.slice %field [8:16, 0:4096]
    /// %1 = stablehlo.dynamic_update_slice %field, %halo, %c2040, %c0 : ... -> tensor<2048x4096xbf16>
    /// // becomes
    /// %halo = stablehlo.slice %field [8:16, 0:4096]
    /// %held = "stablehlo.if"(%true) ({ %halo behind a barrier }, { zeros })
    /// %1 = stablehlo.dynamic_update_slice %field, %held, %c2040, %c0 : ... -> tensor<2048x4096xbf16>
    /// ```
    pub struct NarrowUpdates {
        /// How large an array has to be.
        pub least_bytes: Bytes = Bytes(64 << 10),
    }
}

const ARRAYS: Statistic = Statistic::new(c"num-arrays", c"arrays that hold bits as integers now");
const HELD: Statistic = Statistic::new(c"num-held", c"updates that were held");

impl Pass for NarrowUpdates {
    const ARGUMENT: &'static str = "slimhlo-narrow-updates";
    const STATISTICS: &'static [Statistic] = &[ARRAYS, HELD];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        let least = i64::try_from(self.least_bytes.0).unwrap_or(i64::MAX);
        let is_taken = |update: &OperationRef<'c, '_>| {
            ir::first_result(*update)
                .is_some_and(|result| width(result).is_some() && ir::bytes(result) >= least)
        };
        let updates: Vec<_> = ops_named(root, UPDATE).into_iter().filter(is_taken).collect();
        if updates.is_empty() {
            return Ok(Changed::No);
        }
        let arguments = Arguments::of(root);
        let mut seen = FxHashSet::default();
        let mut arrays = Vec::new();
        let mut held = Vec::new();
        let partitioned = is_partitioned(root);
        for result in updates.into_iter().filter_map(ir::first_result) {
            if !seen.contains(&ir::key(result)) {
                let array = Array::around(result, &arguments, &mut seen);
                if array.may_be_integers() {
                    arrays.push(array);
                } else if array.may_be_in_place() && !partitioned {
                    held.extend(array.made_of_itself());
                }
            }
        }
        if arrays.is_empty() && held.is_empty() {
            return Ok(Changed::No);
        }
        let build = Builder::new(root);
        for update in &held {
            hold_update(*update, &build);
            context.count(&HELD, 1);
        }
        let mut rewrite = Rewrite { build, arguments, bits: FxHashMap::default(), taken: Vec::new() };
        for array in &arrays {
            rewrite.take(array);
            context.count(&ARRAYS, 1);
        }
        rewrite.settle(&arrays);
        Ok(Changed::Yes)
    }
}

const UPDATE: &str = "stablehlo.dynamic_update_slice";

/// How many bits an element has that not all back ends move as it is.
fn width(value: Value<'_, '_>) -> Option<u32> {
    let element = ir::plain(value)?.element;
    if !element.is_float() || element.is_f16() {
        return None;
    }
    match ir::element_bytes(element)? {
        1 => Some(8),
        2 => Some(16),
        _ => None,
    }
}

/// What an op does with an operand.
enum Does<'c, 'a> {
    /// It hands it on, or updates it: these values are the same array.
    Keeps(Vec<Value<'c, 'a>>),
    /// It writes it into an array.
    Writes(Value<'c, 'a>),
    /// It moves elements of it.
    Moves(Value<'c, 'a>),
    /// It computes with it, on the fly where that helps.
    Computes,
    /// It needs all of it as it is.
    Needs,
}

impl<'c: 'a, 'a> Does<'c, 'a> {
    fn of(Use { user, operand }: Use<'c, 'a>) -> Self {
        let first = |does: fn(Value<'c, 'a>) -> Self| ir::first_result(user).map_or(Does::Needs, does);
        match (op_name(user), operand) {
            (UPDATE, 0) => first(|result| Does::Keeps(vec![result])),
            (UPDATE, 1) => first(Does::Writes),
            ("stablehlo.while", index) => Does::Keeps(carried(user, index)),
            ("stablehlo.return", index) => match body_of(user) {
                Some(around) => Does::Keeps(carried(around, index)),
                None => Does::Needs,
            },
            (BARRIER, index) => Does::Keeps(result_of(user, index).into_iter().collect()),
            (
                "stablehlo.slice"
                | "stablehlo.dynamic_slice"
                | "stablehlo.gather"
                | "stablehlo.reshape"
                | "stablehlo.transpose"
                | "stablehlo.reverse",
                0,
            ) => first(Does::Moves),
            (name, _) if class::is_fusible(name) || name == "stablehlo.reduce" => Does::Computes,
            _ => Does::Needs,
        }
    }
}

const BARRIER: &str = "stablehlo.optimization_barrier";

fn result_of<'c: 'a, 'a>(op: OperationRef<'c, 'a>, index: usize) -> Option<Value<'c, 'a>> {
    op.result(index).ok().map(Value::from)
}

/// The loop of whose body an op is the end.
fn body_of<'c: 'a, 'a>(end: OperationRef<'c, 'a>) -> Option<OperationRef<'c, 'a>> {
    let around = end.parent_operation().filter(|op| op_name(*op) == "stablehlo.while")?;
    let body = around.region(1).ok()?.first_block()?;
    (body.terminator() == Some(end)).then_some(around)
}

/// The names of what a loop carries at a place: in its two regions, and after it.
fn carried<'c: 'a, 'a>(around: OperationRef<'c, 'a>, index: usize) -> Vec<Value<'c, 'a>> {
    let inside = (0..around.region_count()).filter_map(|region| {
        let block = around.region(region).ok()?.first_block()?;
        block.argument(index).ok().map(Value::from)
    });
    inside.chain(result_of(around, index)).collect()
}

/// What a loop ends a turn with at a place.
fn next_of<'c: 'a, 'a>(around: OperationRef<'c, 'a>, index: usize) -> Option<Use<'c, 'a>> {
    let user = around.region(1).ok()?.first_block()?.terminator()?;
    Some(Use { user, operand: index })
}

/// The arguments of loops' regions, by key: of which loop, and what it carries there.
struct Arguments<'c, 'a>(FxHashMap<usize, (OperationRef<'c, 'a>, usize)>);

impl<'c: 'a, 'a> Arguments<'c, 'a> {
    fn of(root: OperationRef<'c, 'a>) -> Self {
        let mut places = FxHashMap::default();
        for around in ops_named(root, "stablehlo.while") {
            for index in 0..around.result_count() {
                places.extend(carried(around, index).iter().map(|value| (ir::key(*value), (around, index))));
            }
        }
        Self(places)
    }

    /// The operands that a value is the same array as.
    fn sources(&self, value: Value<'c, 'a>) -> Vec<Use<'c, 'a>> {
        if let Some(&(user, operand)) = self.0.get(&ir::key(value)) {
            return [Some(Use { user, operand }), next_of(user, operand)].into_iter().flatten().collect();
        }
        let Some(user) = defining_op(value) else { return Vec::new() };
        match op_name(user) {
            UPDATE => vec![Use { user, operand: 0 }],
            BARRIER => {
                let operand = user.results().position(|result| Value::from(result) == value);
                operand.map(|operand| Use { user, operand }).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }
}

fn operand_of<'c: 'a, 'a>(used: Use<'c, 'a>) -> Option<Value<'c, 'a>> {
    used.user.operands().nth(used.operand)
}

/// Whether a value is an argument of a program that belongs to it.
fn is_given_away(value: Value<'_, '_>) -> bool {
    let Some(argument) = ffi::as_block_argument(value) else { return false };
    let function = argument.owner().parent_operation().filter(|op| op_name(*op) == "func.func");
    function.is_some_and(|function| is_donated(function, argument.argument_number()))
}

/// An array: all values that are it, between updates.
struct Array<'c, 'a> {
    /// Results of updates and barriers, and what loops carry.
    values: Vec<Value<'c, 'a>>,
    /// What it comes from.
    origins: Vec<Value<'c, 'a>>,
    updates: usize,
    in_loop: bool,
    /// Whether all of it is needed as it is.
    needed: bool,
}

impl<'c: 'a, 'a> Array<'c, 'a> {
    /// The one that `value` is of. What has been `seen` is of others.
    fn around(value: Value<'c, 'a>, arguments: &Arguments<'c, 'a>, seen: &mut FxHashSet<usize>) -> Self {
        let mut array =
            Self { values: Vec::new(), origins: Vec::new(), updates: 0, in_loop: false, needed: false };
        seen.insert(ir::key(value));
        let mut pending = vec![value];
        while let Some(value) = pending.pop() {
            array.values.push(value);
            let carried = arguments.0.contains_key(&ir::key(value));
            array.in_loop |= carried;
            array.updates += usize::from(!carried && defining_op(value).map(op_name) == Some(UPDATE));
            let mut same = Vec::new();
            for source in arguments.sources(value).into_iter().filter_map(operand_of) {
                if arguments.sources(source).is_empty() {
                    array.origins.push(source);
                } else {
                    same.push(source);
                }
            }
            for used in uses(value) {
                match Does::of(used) {
                    Does::Keeps(values) => same.extend(values),
                    Does::Needs => array.needed = true,
                    Does::Writes(_) | Does::Moves(_) | Does::Computes => {}
                }
            }
            pending.extend(same.into_iter().filter(|value| seen.insert(ir::key(*value))));
        }
        array
    }

    fn may_be_integers(&self) -> bool {
        let is_splat = |origin: &Value<'c, 'a>| Splat::of(*origin).is_some_and(|splat| splat.is_constant());
        self.in_loop && !self.needed && self.origins.iter().all(is_splat)
    }

    fn may_be_in_place(&self) -> bool {
        self.in_loop || self.updates > 1 || self.origins.iter().any(|origin| is_given_away(*origin))
    }

    /// The updates that are made of what they update, on the fly.
    fn made_of_itself(&self) -> Vec<OperationRef<'c, 'a>> {
        let own: FxHashSet<usize> =
            self.values.iter().chain(&self.origins).map(|value| ir::key(*value)).collect();
        let updates = self.values.iter().filter_map(|value| defining_op(*value));
        updates.filter(|op| op_name(*op) == UPDATE && is_made_of(*op, &own)).collect()
    }
}

/// Ops looked at for what an update is made of.
const NEAR: usize = 64;

/// Whether what an update writes is computed of one of these on the fly.
fn is_made_of(update: OperationRef<'_, '_>, own: &FxHashSet<usize>) -> bool {
    let mut pending: Vec<Value<'_, '_>> = update.operands().skip(1).take(1).collect();
    let mut seen = FxHashSet::default();
    while let Some(value) = pending.pop() {
        if own.contains(&ir::key(value)) {
            return true;
        }
        if let Some(op) = defining_op(value)
            && (class::is_fusible(op_name(op)) || op_name(op) == "stablehlo.concatenate")
            && seen.len() < NEAR
            && seen.insert(ir::op_key(op))
        {
            pending.extend(op.operands());
        }
    }
    false
}

/// Keeps what an update writes from being computed on the fly.
fn hold_update<'c: 'a, 'a>(update: OperationRef<'c, 'a>, build: &Builder<'c, 'a>) {
    let (Some(array), Some(written)) = (update.operands().next(), update.operands().nth(1)) else { return };
    let location = update.location();
    build.set_insertion_point_before(update);
    let always = hold::always(build, array, location);
    let held = hold::by_branch(build, always, &[written.r#type()], location, || vec![written]);
    build.set_operand(update, 1, held[0]);
}

struct Rewrite<'c, 'a> {
    build: Builder<'c, 'a>,
    arguments: Arguments<'c, 'a>,
    /// For values that are bits now what elements they had.
    bits: FxHashMap<usize, Type<'c>>,
    /// These values.
    taken: Vec<Value<'c, 'a>>,
}

impl<'c: 'a, 'a> Rewrite<'c, 'a> {
    fn is_bits(&self, value: Value<'c, 'a>) -> bool {
        self.bits.contains_key(&ir::key(value))
    }

    /// The type of a value's shape whose elements are its bits.
    fn type_of_bits(&self, value: Value<'c, 'a>) -> Type<'c> {
        let shape = ir::plain(value).expect("only plain tensors are taken").shape;
        let width = width(value).expect("only narrow floats are taken");
        Tensor::get(shape, IntegerType::new(self.build.context(), width).into(), None)
    }

    fn become_bits(&mut self, value: Value<'c, 'a>) {
        let element = element_of(value.r#type());
        self.build.set_type(value, self.type_of_bits(value));
        self.bits.insert(ir::key(value), element);
    }

    /// Makes an array bits, and what is moved from it.
    fn take(&mut self, array: &Array<'c, 'a>) {
        array.values.iter().for_each(|value| self.become_bits(*value));
        let mut pending = array.values.clone();
        while let Some(value) = pending.pop() {
            self.taken.push(value);
            for used in uses(value) {
                if let Does::Moves(result) = Does::of(used) {
                    self.become_bits(result);
                    pending.push(result);
                }
            }
        }
    }

    /// Gives all that an array is made of as bits, and what computes with it floats.
    fn settle(&self, arrays: &[Array<'c, 'a>]) {
        for value in arrays.iter().flat_map(|array| &array.values) {
            let update = defining_op(*value).filter(|op| op_name(*op) == UPDATE);
            let written = update.map(|user| Use { user, operand: 1 });
            for used in self.arguments.sources(*value).into_iter().chain(written) {
                self.give_bits(used);
            }
        }
        for value in &self.taken {
            for used in uses(*value).collect::<Vec<_>>() {
                let takes_bits = match Does::of(used) {
                    Does::Moves(_) => true,
                    Does::Keeps(same) => same.first().is_some_and(|value| self.is_bits(*value)),
                    Does::Writes(result) => self.is_bits(result),
                    Does::Computes | Does::Needs => op_name(used.user) == "stablehlo.bitcast_convert",
                };
                if !takes_bits {
                    self.give_float(used, *value);
                }
            }
        }
    }

    /// Makes an operand that is a float its bits.
    fn give_bits(&self, used: Use<'c, 'a>) {
        let Some(value) = operand_of(used).filter(|value| width(*value).is_some()) else { return };
        let (build, ty, location) = (&self.build, self.type_of_bits(value), used.user.location());
        build.set_insertion_point_before(used.user);
        let splat = Splat::of(value).and_then(|splat| splat.bytes());
        let bits = splat
            .and_then(|bytes| build.splat_of_bytes(&bytes, ty, location))
            .unwrap_or_else(|| build.insert("stablehlo.bitcast_convert", &[value], &[], ty, location));
        build.set_operand(used.user, used.operand, bits);
    }

    /// Makes an operand that is the bits of a float the float.
    fn give_float(&self, used: Use<'c, 'a>, value: Value<'c, 'a>) {
        let element = self.bits[&ir::key(value)];
        let shape = ir::plain(value).expect("integers are plain").shape;
        let (ty, location) = (Tensor::get(shape, element, None), used.user.location());
        self.build.set_insertion_point_before(used.user);
        let float = self.build.insert("stablehlo.bitcast_convert", &[value], &[], ty, location);
        self.build.set_operand(used.user, used.operand, float);
    }
}
