// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-offload`: what is kept for long and needed late waits in the host's memory.
//!
//! # What it matches
//!
//! A function that needs more than it may, and at whose peak (by the [memory model](crate::memory)) values are alive
//! that were last used long before and are used again long after: the same as [`rematerialize`](crate::rematerialize)
//! looks for, where computing them again costs more than the bus, or is not to be done (what a loop or a custom call
//! leaves, what users have named to be saved).
//!
//! ```mlir
//! %h = stablehlo.dot_general %x, %w0
//! %y = stablehlo.dot_general %t, %w1                           // the last that needs %h, or what is made of it
//! ...                                                          // other layers, the loss: the peak
//! %g = stablehlo.dot_general ...
//! %d = ... %h, %g
//! ```
//!
//! becomes
//!
//! ```mlir
//! %h = stablehlo.dot_general %x, %w0
//! %away = stablehlo.custom_call @annotate_device_placement(%h) {.. _xla_buffer_placement = "pinned_host"}
//! %y = stablehlo.dot_general %t, %w1
//! %left:2 = stablehlo.optimization_barrier %away, %y           // nothing goes on before %h has left
//! ...
//! %g = stablehlo.dot_general ...
//! %late:2 = stablehlo.optimization_barrier %left#0, %g         // it does not come back before it is needed
//! %back = stablehlo.custom_call @annotate_device_placement(%late#0) {.. _xla_buffer_placement = "device"}
//! %d = ... %back, %late#1
//! ```
//!
//! The annotations are what `jax.checkpoint_policies.save_and_offload_only_these_names` writes. The first barrier is
//! not: without it XLA puts the copy to the host off until the value is needed there, which is when it is to come
//! back. Six layers of `x + sin(tanh(x @ w0) @ w1)`, 8,192 by 1,024 by 4,096, took 1,280 MiB of temporaries under XLA
//! for an H100, 1,888 with JAX's policy for what is before `tanh`, and 640 with both barriers
//! (`test/oracle/referee.py --target h100`).
//!
//! # Why it is right
//!
//! Bytes go there and come back.
//!
//! # Why it pays, and what it costs
//!
//! The value's memory is free between. Its bytes go over the bus twice (`Rates::host_link`): what takes no longer
//! than starting a kernel is left where it is. The longest unused come first, until the function fits.
//!
//! # When it must not fire
//!
//! * The function fits as it is, or nobody has said what it may need.
//! * Back ends without such memory (`Storage::host_memory`), or which drop barriers.
//! * Programs for more than one partition: what a device has of a value is the partitioner's to say.
//! * Arguments: they are their caller's. Results: they have to be on the device at the end.

use crate::cost::Cost;
use crate::framework::{Bytes, Changed, Pass, PassContext, PassResult, Statistic};
use crate::hold::barriers;
use crate::ir::{self, Builder};
use crate::memory;
use crate::ops::class::{self, is_elementwise};
use crate::rematerialize::{Kept, Late};
use crate::rewrite::{defining_op, uses};
use crate::shards::is_partitioned;
use crate::tables::{Keys, Table};
use crate::target::{Rates, Target};
use melior::ir::attribute::{BoolAttribute, DictionaryAttribute, StringAttribute};
use melior::ir::operation::OperationLike;
use melior::ir::{Attribute, Identifier, Location, OperationRef, Value, ValueLike};
use rustc_hash::FxHashSet;
use slimhlo_dialect::ffi::op_name;
use std::collections::BTreeMap;
use std::ops::Range;

crate::pass_options! {
    /// Keep in the host's memory what is used early and late, of a function that does not fit.
    ///
    /// Values that are alive at a function's peak, but used only before and after it, are copied to the host and
    /// back, the longest unused first, until the function needs no more than `room`. Barriers keep the copies where
    /// they are of use.
    ///
    /// ```mlir
    /// %away = stablehlo.custom_call @annotate_device_placement(%h) {.. _xla_buffer_placement = "pinned_host"}
    /// %left:2 = stablehlo.optimization_barrier %away, %y
    /// ... (the peak)
    /// %late:2 = stablehlo.optimization_barrier %left#0, %g
    /// %back = stablehlo.custom_call @annotate_device_placement(%late#0) {.. _xla_buffer_placement = "device"}
    /// ```
    pub struct Offload {
        /// What compiles the module.
        pub target: Target = Target::default(),
        /// What a function may need.
        pub room: Bytes = Bytes(0),
    }
}

const OFFLOADED: Statistic = Statistic::new(c"num-offloaded", c"values that wait on the host");
const MOVED: Statistic = Statistic::new(c"bytes-offloaded", c"bytes that go to the host and come back");

impl Pass for Offload {
    const ARGUMENT: &'static str = "slimhlo-offload";
    const STATISTICS: &'static [Statistic] = &[OFFLOADED, MOVED];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        let storage = self.target.storage();
        let able = storage.barriers_hold && storage.host_memory && !is_partitioned(root);
        let Some(rates) = self.target.rates().filter(|_| able) else { return Ok(Changed::No) };
        let needed = Cost::of(root, self.target).map_or(0, |cost| cost.peak().saturating_sub(self.room.0));
        if needed == 0 {
            return Ok(Changed::No);
        }
        let Some(kept) = memory::profiles(root, self.target)
            .into_iter()
            .next()
            .and_then(|(block, profile)| Kept::of(block, profile))
        else {
            return Ok(Changed::No);
        };
        let light = Light::of(&kept);
        let stays = choose(&kept, &light, needed, rates);
        let bytes = stays.iter().map(|stay| stay.bytes).sum();
        context.count(&OFFLOADED, stays.len() as u64);
        context.count(&MOVED, bytes);
        if stays.is_empty() {
            return Ok(Changed::No);
        }
        let build = Builder::new(root);
        kept.put_in_order(&build);
        emit(&kept, &light, &stays, &build);
        Ok(Changed::Yes)
    }
}

/// A value's time on the host. Places are those of the function's block.
struct Stay<'c, 'a> {
    value: Value<'c, 'a>,
    bytes: u64,
    /// What has to wait until it has left.
    left: Value<'c, 'a>,
    /// What has to be there before it comes back.
    comes: Value<'c, 'a>,
    /// The first that needs it again.
    back: usize,
}

/// What leaves: the longest unused, until what is left fits.
fn choose<'c: 'a, 'a>(kept: &Kept<'c, 'a>, light: &Light, needed: u64, rates: &Rates) -> Vec<Stay<'c, 'a>> {
    let peak = kept.after - 1;
    let stored: Keys = kept.profile.steps.iter().map(|(op, _)| ir::op_key(*op)).collect();
    let is_stored =
        |at: &usize| stored.contains(&ir::op_key(kept.body.ops[*at])) && is_array(kept.body.ops[*at]);
    let worth = |late: &&Late<'c, 'a>| late.alive as f64 / rates.host_link > rates.launch;
    let mut idle: Vec<(usize, Stay)> = Vec::new();
    for late in kept.values.iter().filter(worth) {
        let needs = light.first_need.get(&ir::key(late.value)).copied();
        let Some(back) = late.places.first().copied().into_iter().chain(needs).min() else { continue };
        let early = last_early_use(kept, late.value);
        let left = (early..peak).filter(is_stored);
        let left = left.filter_map(|at| Some((at, used_from(kept, at, at + 1)?))).next();
        let comes = (kept.after..back).rev().filter(is_stored);
        let comes = comes.filter_map(|at| used_from(kept, at, back)).next();
        if let (Some((at, left)), Some(comes)) = (left, comes) {
            let stay = Stay { value: late.value, bytes: late.alive, left, comes, back };
            idle.push((back - at, stay));
        }
    }
    idle.sort_by_key(|(unused, _)| std::cmp::Reverse(*unused));
    let mut gone = 0u64;
    let mut chosen = Vec::new();
    for (_, stay) in idle {
        if gone >= needed {
            break;
        }
        gone += stay.bytes;
        chosen.push(stay);
    }
    chosen
}

/// Whether an op makes an array: numbers are there before anything waits for them.
fn is_array(op: OperationRef<'_, '_>) -> bool {
    ir::first_result(op).is_some_and(|value| !ir::is_rank_zero(value))
}

/// The last place up to the peak that makes or uses a value.
fn last_early_use<'c: 'a, 'a>(kept: &Kept<'c, 'a>, value: Value<'c, 'a>) -> usize {
    let made = defining_op(value).and_then(|op| kept.body.place(op)).unwrap_or(0);
    let places = uses(value).filter_map(|used| kept.body.place(used.user));
    places.filter(|&place| place < kept.after).max().map_or(made, |last| last.max(made))
}

/// Late values that are computed on the fly, in what reads them, of what is stored.
#[derive(Default)]
struct Light {
    /// Their numbers among the late values, and the keys of the stored values that each is made of.
    made_of: Vec<(usize, Keys)>,
    /// By the key of a stored value: the first place after the peak that needs it for one of them.
    first_need: Table<usize, usize>,
}

impl Light {
    fn of(kept: &Kept<'_, '_>) -> Self {
        let mut light = Self::default();
        for (number, late) in kept.values.iter().enumerate().filter(|(_, late)| late.alive == 0) {
            let Some(made_of) = roots(kept, late.value) else { continue };
            for &root in &made_of {
                let first = light.first_need.entry(root).or_insert(late.places[0]);
                *first = late.places[0].min(*first);
            }
            light.made_of.push((number, made_of));
        }
        light
    }
}

/// Whether an op is done again by whoever reads its result.
fn is_light(kept: &Kept<'_, '_>, op: OperationRef<'_, '_>) -> bool {
    let name = op_name(op);
    let stored = kept.profile.alive.get(&ir::op_key(op)).is_some_and(|&bytes| bytes > 0);
    !stored
        && op.region_count() == 0
        && op.result_count() == 1
        && (is_elementwise(name) || class::is_fusible(name))
}

/// Keys of what a value is made of that is not light; `None` if it is not light itself, or made of much.
fn roots<'c: 'a, 'a>(kept: &Kept<'c, 'a>, value: Value<'c, 'a>) -> Option<Keys> {
    /// Ops that are done again for one value.
    const MOST: usize = 32;
    let (mut roots, mut seen) = (Keys::default(), Keys::default());
    defining_op(value).filter(|op| is_light(kept, *op))?;
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        match defining_op(value) {
            Some(op) if is_light(kept, op) => {
                if seen.insert(ir::op_key(op)) {
                    pending.extend(op.operands());
                }
            }
            _ => drop(roots.insert(ir::key(value))),
        }
        if seen.len() > MOST {
            return None;
        }
    }
    Some(roots)
}

/// A result of the op at a place that ops from another place on use.
fn used_from<'c: 'a, 'a>(kept: &Kept<'c, 'a>, at: usize, from: usize) -> Option<Value<'c, 'a>> {
    let is_used = |value: &Value<'c, 'a>| {
        uses(*value).any(|used| kept.body.place(used.user).is_some_and(|place| place >= from))
    };
    kept.body.ops[at].results().map(Value::from).find(is_used)
}

/// Values of one barrier: what waits, and those that it waits for.
type Waits<'c, 'a> = BTreeMap<(usize, usize), (Value<'c, 'a>, Vec<usize>)>;

/// Sends values to the host, and has them back where they are needed.
fn emit<'c: 'a, 'a>(kept: &Kept<'c, 'a>, light: &Light, stays: &[Stay<'c, 'a>], build: &Builder<'c, 'a>) {
    let place = |value: Value<'c, 'a>| defining_op(value).and_then(|op| kept.body.place(op));
    // Uses after the peak, before there are others.
    let late: Vec<_> = stays
        .iter()
        .map(|stay| {
            let used = uses(stay.value)
                .filter(|used| kept.body.place(used.user).is_some_and(|place| place >= kept.after));
            used.collect::<Vec<_>>()
        })
        .collect();
    let mut away = Vec::with_capacity(stays.len());
    let (mut lefts, mut comings) = (Waits::new(), Waits::new());
    for (number, stay) in stays.iter().enumerate() {
        let Some(made) = place(stay.value) else { continue };
        before(kept, made + 1, build);
        away.push(annotate(build, stay.value, "pinned_host"));
        let key = |value, at| (at, ir::key(value));
        let left = place(stay.left).unwrap_or(made) + 1;
        lefts.entry(key(stay.left, left)).or_insert((stay.left, Vec::new())).1.push(number);
        comings.entry(key(stay.comes, stay.back)).or_insert((stay.comes, Vec::new())).1.push(number);
    }
    // What is back from the host.
    let mut came: Table<usize, Value> = Table::default();
    // What a value that others wait with is called by now.
    let mut latest: Table<usize, Value> = Table::default();
    // What came back at the last place that something came back at, and that place.
    let mut last: (usize, Vec<usize>) = (kept.after, Vec::new());
    for (waits, is_left) in [(lefts, true), (comings, false)] {
        for ((at, _), (waiting, numbers)) in waits {
            before(kept, at, build);
            let mut values: Vec<Value> = numbers.iter().map(|&number| away[number]).collect();
            let mut waits = vec![waiting];
            if !is_left && at > last.0 {
                let used = last.1.drain(..).flat_map(|number| &late[number]).map(|used| used.user);
                let made = made_of(kept, light, used.collect(), last.0..at);
                waits.extend(made.into_iter().filter(|value| ir::key(*value) != ir::key(waiting)));
                last.0 = at;
            }
            values.extend(waits.iter().map(|value| latest.get(&ir::key(*value)).copied().unwrap_or(*value)));
            let held = hold(kept, &values, numbers.len(), at, build);
            latest
                .extend(waits.iter().map(|value| ir::key(*value)).zip(held[numbers.len()..].iter().copied()));
            for (&number, &value) in numbers.iter().zip(&held) {
                away[number] = value;
                if !is_left {
                    let back = annotate(build, value, "device");
                    late[number].iter().for_each(|used| build.set_operand(used.user, used.operand, back));
                    came.insert(ir::key(stays[number].value), back);
                    last.1.push(number);
                }
            }
        }
    }
    make_again(kept, light, &came, build);
}

/// Has late values that are computed on the fly made of what came back, or what they are made of had to stay for them.
fn make_again<'c: 'a, 'a>(
    kept: &Kept<'c, 'a>,
    light: &Light,
    came: &Table<usize, Value<'c, 'a>>,
    build: &Builder<'c, 'a>,
) {
    for (number, made_of) in &light.made_of {
        if !made_of.iter().any(|root| came.contains_key(root)) {
            continue;
        }
        let late = &kept.values[*number];
        let used = uses(late.value);
        let used = used.filter(|used| kept.body.place(used.user).is_some_and(|at| at >= kept.after));
        let used: Vec<_> = used.collect();
        before(kept, late.places[0], build);
        let mut made = came.clone();
        let mut pending = vec![(late.value, false)];
        while let Some((value, ready)) = pending.pop() {
            let Some(op) = defining_op(value).filter(|op| is_light(kept, *op)) else { continue };
            if made.contains_key(&ir::key(value)) {
                continue;
            }
            if !ready {
                pending.push((value, true));
                pending.extend(op.operands().map(|operand| (operand, false)));
                continue;
            }
            let operands = op.operands().map(|value| made.get(&ir::key(value)).copied().unwrap_or(value));
            let operands: Vec<Value> = operands.collect();
            let copy = build.copy_with(op, &operands, &[], &[value.r#type()]);
            made.insert(ir::key(value), copy.result(0).expect("it has one").into());
        }
        if let Some(&again) = made.get(&ir::key(late.value)) {
            used.iter().for_each(|used| build.set_operand(used.user, used.operand, again));
        }
    }
}

/// Ops are inserted before the one at a place, or before the end of the block.
fn before<'c: 'a, 'a>(kept: &Kept<'c, 'a>, at: usize, build: &Builder<'c, 'a>) {
    build.set_insertion_point_before(kept.body.ops.get(at).copied().unwrap_or(kept.body.end));
}

/// Values that are made, by ops at some places, of what some ops make, and that others need after these places: what comes back is done
/// with when they are there. A back end would put gradients of parameters off until the end, and keep all that they are made of.
fn made_of<'c: 'a, 'a>(
    kept: &Kept<'c, 'a>,
    light: &Light,
    users: Vec<OperationRef<'c, 'a>>,
    places: Range<usize>,
) -> Vec<Value<'c, 'a>> {
    // Light values are made again in these places; what uses them counts as well.
    let mut pending: Vec<usize> = users.iter().filter_map(|user| kept.body.place(*user)).collect();
    let lights = light.made_of.iter().map(|(number, _)| &kept.values[*number]);
    pending.extend(lights.flat_map(|late| &late.places).copied());
    let (mut seen, mut made) = (FxHashSet::default(), Vec::new());
    while let Some(place) = pending.pop() {
        if !places.contains(&place) || !seen.insert(place) {
            continue;
        }
        for value in kept.body.ops[place].results().map(Value::from) {
            let mut is_needed = false;
            for used in uses(value) {
                match kept.body.place(used.user) {
                    Some(at) if at < places.end => pending.push(at),
                    Some(_) => is_needed = true,
                    None => is_needed |= used.user == kept.body.end,
                }
            }
            if is_needed {
                made.push((place, value));
            }
        }
    }
    made.sort_by_key(|(place, _)| *place);
    made.into_iter().map(|(_, value)| value).collect()
}

/// Has values go through a barrier; what uses those from the number `first` on, from a place on, uses what comes out.
fn hold<'c: 'a, 'a>(
    kept: &Kept<'c, 'a>,
    values: &[Value<'c, 'a>],
    first: usize,
    from: usize,
    build: &Builder<'c, 'a>,
) -> Vec<Value<'c, 'a>> {
    let location = kept.body.ops[from.min(kept.body.ops.len() - 1)].location();
    let held = barriers(values, build, location);
    for (&waiting, &out) in values.iter().zip(&held).skip(first) {
        // What is not of the block as it was is the terminator, or was made here: barriers come in the order of their places.
        build.replace_uses(waiting, out, |user| {
            kept.body.place(user).map_or(user == kept.body.end, |at| at >= from)
        });
    }
    held
}

/// A value in memory of a kind.
fn annotate<'c: 'a, 'a>(build: &Builder<'c, 'a>, value: Value<'c, 'a>, kind: &str) -> Value<'c, 'a> {
    let context = build.context();
    let text = |text: &str| Attribute::from(StringAttribute::new(context, text));
    let placement = (Identifier::new(context, "_xla_buffer_placement"), text(kind));
    let placement = DictionaryAttribute::new(context, &[placement]).into();
    let attributes = [
        ("call_target_name", text("annotate_device_placement")),
        ("backend_config", text("")),
        ("has_side_effect", BoolAttribute::new(context, true).into()),
        ("mhlo.frontend_attributes", placement),
    ];
    let location = defining_op(value).map_or_else(|| Location::unknown(context), |op| op.location());
    build.insert("stablehlo.custom_call", &[value], &attributes, value.r#type(), location)
}
