// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The fastest program within a memory limit: a bound of time is looked for by halves, and the best program found is
//! kept.
//!
//! Within one bound the pipeline makes a program as small as the limit asks for, and no smaller. A tighter bound may
//! find another one that fits as well and is faster, a wider one one that fits at all. So: the usual bound; if what
//! it makes does not fit, what it makes without a limit, since stages are greedy, and one that stops at enough may leave
//! others less to do; then the bound for half of the temporaries, with chunks early and late; then no bound, which makes the
//! smallest; and then halves between the fastest that fits and the original's time,
//! as ratios, until both are within a [`Limit::OTHERWISE`] of each other, which is what models and machines differ by
//! anyway. Each is a run of the pipeline: two where the usual bound does, a dozen at most for each of three rooms.
//!
//! Back ends take more than the model says in some programs, less in others. So what is looked for leaves some of what the limit has for
//! temporaries: where something has to be done to fit, there are other searches, for what fits into less, which are taken if they take little more time
//! ([`KEPT_BACK`]).
//!
//! Where nothing fits, what costs more than the usual bound is kept only if it saves more than the model errs by: a
//! program that is slower, does not fit either, and may not even be smaller is of no use.
//!
//! Without a limit there are three runs at most. Where gathered rows are put beside others for a product, all of this is done once more with its
//! gradients taken apart (`late_gathers/parts.rs`): later stages may do better with either.
//!
//! The host's memory is for what does not fit otherwise: it takes part only where nothing fits without it. Stages are
//! greedy, and bytes that it takes off a peak early leave others no time to take off more.

use super::rule::with_slack;
use super::{Optimize, Tried, Without};
use crate::cost::{Cost, Limit};
use crate::framework::Bytes;
use crate::functions::{functions, is_public, name_of};
use crate::gspmd;
use crate::memory::known::Remember;
use crate::rewrite::{borrowed, copy_of, move_body};
use crate::shards::{Traffic, has_slices_of_joined, is_partitioned, traffic};
use crate::target::Target;
use melior::ir::{Operation, OperationRef};

/// Peaks that differ by less than this share of theirs are alike: four in five of the reference programs are modelled
/// as closely (`cargo xtask bench model`).
pub const ALIKE: u64 = 10;

/// Of the bytes that a limit leaves for temporaries these shares are kept back for what the model does not see, as long as what comes of it takes no
/// more than so many times as long as without, or less than the program took as it came. Most programs of libraries that were made to fit by the model
/// alone took up to a twelfth too much under XLA for an H100, some up to a quarter (`cargo xtask bench corpus`); to miss the limit is worse than a
/// quarter more time, where that is likely, and than a seventh, where it is not: spline_flow_distrax fits into a half at 1.16 for that, and not at 1.08.
/// What is not likely takes no program beyond the usual bound for half of the temporaries either, the last of the three: navier_stokes_exponax
/// fits into a half at 1.25, a quarter below it, and would take 1.31. Who counts what comes of it (`counted`) does without, and is handed
/// what takes up to a tenth more by the model if what fits would take a quarter longer than that: he asks again where it does not fit. Chains of
/// blackjax fit a quarter at 1.17 so, and not at 2.21.
const KEPT_BACK: [(u64, f64, f64); 2] = [(8, Limit::HALVED, f64::INFINITY), (3, 1.15, Limit::HALVED)];

/// Which part of a program's temporaries another attempt has to save to be kept, and of its peak one with gradients taken apart: the model is off by as much. Of the corpus's spline flow it has
/// 489 MiB for what values computed again leave, for 492, where XLA for an H100 has 787 for 616 (`cargo xtask bench corpus`).
const MUCH: u64 = 20;

/// The function that needs most, and what it costs: others are called by it, mostly, and part of it.
fn largest(module: OperationRef<'_, '_>, target: Target) -> (String, Cost) {
    let cost_of = |function| Some((name_of(function), Cost::of(function, target)?));
    functions(module).filter_map(cost_of).max_by_key(|(_, cost)| cost.peak()).unwrap_or_default()
}

/// Without a memory limit: what the usual bound makes of `module`, or, where temporaries are most of its peak, the least of
/// what two attempts make, if it may take its time in the end. Both have the bound for half of the temporaries:
/// a stage that saves not quite half is not refused then for the time that later ones take off; if what comes of it takes
/// longer than the usual bound allows, that is the bound. Stages are greedy, and what the first spends time on may save
/// less than what a later one would for it: so the other attempt computes nothing in chunks before no more is to be had
/// by computing values again. Of the corpus's step of GPT-2 that is 1,270 MiB of temporaries by the model for 2,294, of ConvNeXt 1,280
/// for 1,710, of a Mixer 3,328 for 1,024 (`slimhlo-opt --slimhlo-optimize="target=h100 max-slowdown=1.25"`, also with
/// `late-chunks`, then `--slimhlo-print-memory=target=h100`).
fn usual<'c, T, E>(
    module: OperationRef<'c, '_>,
    options: &Optimize,
    tried: &Tried,
    mut attempt: impl FnMut(OperationRef<'c, '_>, &Optimize) -> Result<T, E>,
) -> Result<T, E> {
    let (name, mut before) = largest(module, options.target);
    let largest = |module| largest(module, options.target).1;
    if before.footprint.temporaries <= before.peak() / 2 {
        return attempt(module, options);
    }
    let original = copy_of(module);
    let halved = Optimize { max_slowdown: Limit::Times(Limit::HALVED), ..options.clone() };
    let late = Optimize { late_chunks: true, ..halved.clone() };
    let mut found = attempt(module, &halved)?;
    before.seconds = tried.time(&name, before.seconds);
    if !Limit::Usual.allows(&before, &largest(module)) {
        move_body(module, copy_of(borrowed(&original)));
        found = attempt(module, options)?;
    }
    let after = largest(module);
    let has_chunks = options.without != options.without.and_chunks();
    if !has_chunks || options.late_chunks || after.footprint.temporaries <= after.peak() / 2 {
        return Ok(found);
    }
    let is_better = |module| {
        let again = largest(module);
        let less = again.peak() + after.footprint.temporaries / MUCH < after.peak();
        Limit::Usual.allows(&before, &again) && less
    };
    or_else(module, (original, found), |module| attempt(module, &late), is_better)
}

/// What another attempt makes of the original of `module`, if that is better than what stands there, which an attempt returned `found` for.
fn or_else<'c, 'm, T, E>(
    module: OperationRef<'c, 'm>,
    (original, found): (Operation<'c>, T),
    attempt: impl FnOnce(OperationRef<'c, 'm>) -> Result<T, E>,
    is_better: impl FnOnce(OperationRef<'c, 'm>) -> bool,
) -> Result<T, E> {
    let made = copy_of(module);
    move_body(module, original);
    let other = attempt(module)?;
    if is_better(module) {
        return Ok(other);
    }
    move_body(module, made);
    Ok(found)
}

/// [`usual`], and once more with gradients beside gathered rows taken apart, if there are any: chunks, which come later, may do better with what is
/// put together or without.
fn usual_of_both<'c, T, E>(
    module: OperationRef<'c, '_>,
    options: &Optimize,
    tried: &Tried,
    mut attempt: impl FnMut(OperationRef<'c, '_>, &Optimize) -> Result<T, E>,
) -> Result<T, E> {
    let original = copy_of(module);
    let found = usual(module, options, tried, &mut attempt)?;
    // Of a program for several devices each gradient has an exchange.
    if options.split_gradients || is_partitioned(module) || !tried.has_joined_rows() {
        return Ok(found);
    }
    let peak = |module| largest(module, options.target).1.peak();
    let before = peak(module);
    let split = Optimize { split_gradients: true, ..options.clone() };
    // Either takes no more time than it may.
    let is_better = |module| {
        let after = peak(module);
        after > 0 && before.saturating_sub(after) > before / MUCH
    };
    or_else(module, (original, found), |module| usual(module, &split, tried, attempt), is_better)
}

/// A program that an attempt made.
struct Made<'c, T> {
    body: Operation<'c>,
    found: T,
    /// How many times the original's time it takes.
    times: f64,
    /// Bytes of all functions together.
    peak: u64,
    /// Bytes of the function that needs most.
    largest: u64,
    fits: bool,
    /// It does not fit by the model, but for all that the model knows it may.
    may_fit: bool,
    /// Whether gradients beside gathered rows are taken apart.
    split_gradients: bool,
}

impl<T> Made<'_, T> {
    /// Whether it is what to keep where `other`, which is faster, does not fit.
    fn is_better(&self, other: &Self) -> bool {
        self.fits || self.peak < other.peak - other.peak / ALIKE
    }
}

/// Makes `module`, whichever partitioner its shardings are for, the fastest that fits, if `options` say what that is;
/// `attempt` optimizes it once, within the options it is given, and notes in `tried` what it tries; what it returned for the program that is kept is
/// returned.
///
/// # Errors
/// Those of `attempt`.
pub fn search<'c, T, E>(
    module: OperationRef<'c, '_>,
    options: &Optimize,
    tried: &Tried,
    mut attempt: impl FnMut(OperationRef<'c, '_>, &Optimize) -> Result<T, E>,
) -> Result<T, E> {
    let _remember = Remember::new();
    let Some(original) = gspmd::import(module) else {
        let found = of_joined(module, options, tried, attempt);
        gspmd::separate_constants(module);
        return found;
    };
    let found = of_joined(module, options, tried, &mut attempt);
    if found.is_ok() && gspmd::export(module) {
        // What several computations have in common is merged now that it is side by side.
        let found = fastest(module, options, tried, attempt).and(found);
        gspmd::separate_constants(module);
        return found;
    }
    move_body(module, original);
    fastest(module, options, tried, attempt)
}

/// [`fastest`], and once more with slices of joined arrays read from what was joined, if a program for several devices has such: a slice that spans
/// two of them needs what was joined all the same, and that may have brought all that others need. What sends less, or less often, is kept, if it
/// needs no more, or next to nothing. Of 1,600 modules (`test/oracle/sharded_fields.py`, seeds 401, 402, 411 and 412) 64 send less by XLA for CPU, and none more; without
/// a choice 85 sent less, and 15 more.
fn of_joined<'c, T, E>(
    module: OperationRef<'c, '_>,
    options: &Optimize,
    tried: &Tried,
    mut attempt: impl FnMut(OperationRef<'c, '_>, &Optimize) -> Result<T, E>,
) -> Result<T, E> {
    if options.slices_of_joined || !is_partitioned(module) || !has_slices_of_joined(module) {
        return fastest(module, options, tried, attempt);
    }
    let needed = |module| largest(module, options.target).1.peak();
    let original = copy_of(module);
    let found = fastest(module, options, tried, &mut attempt)?;
    let (sent, peak) = (traffic(module), needed(module));
    let joined = Optimize { slices_of_joined: true, ..options.clone() };
    let is_less = |(now, then): (Traffic, Traffic)| {
        now.collectives <= then.collectives
            && now.bytes <= then.bytes
            && (now.collectives, now.bytes) != (then.collectives, then.bytes)
    };
    let is_better =
        |module| traffic(module).zip(sent).is_some_and(is_less) && needed(module) <= with_slack(peak);
    or_else(module, (original, found), |module| fastest(module, &joined, tried, attempt), is_better)
}

/// [`search`] in a module whose shardings are Shardy's, or nobody's.
fn fastest<'c, T, E>(
    module: OperationRef<'c, '_>,
    options: &Optimize,
    tried: &Tried,
    mut attempt: impl FnMut(OperationRef<'c, '_>, &Optimize) -> Result<T, E>,
) -> Result<T, E> {
    if options.max_slowdown != Limit::Usual || options.target.rates().is_none() {
        return attempt(module, options);
    }
    let Some(room) = options.memory_limit else { return usual_of_both(module, options, tried, attempt) };
    // What a private function does is part of whatever calls it, before and after it has been inlined; what it is called with, temporary there.
    let costs = |module| -> Vec<(String, Cost)> {
        let cost_of = |function| Some((name_of(function), Cost::of(function, options.target)?));
        functions(module).filter(|function| is_public(*function)).filter_map(cost_of).collect()
    };
    let original = copy_of(module);
    let came = costs(module);
    let as_it_came = || came.iter().map(|(name, cost)| tried.time(name, cost.seconds)).sum::<f64>();
    let floor = came.iter().map(|(_, cost)| cost.footprint.floor()).max().unwrap_or(0);
    let as_it_came_peak = came.iter().map(|(_, cost)| cost.peak()).fold(0, u64::saturating_add);
    let counted = options.counted;
    let mut within = |attempted: Attempt, room: Bytes| {
        let Attempt { max_slowdown, levers: (without, late_chunks), stops, split_gradients } = attempted;
        let memory_limit = stops.then_some(room);
        let options =
            Optimize { max_slowdown, without, late_chunks, memory_limit, split_gradients, ..options.clone() };
        let found = attempt(module, &options)?;
        let (mut peak, mut seconds, mut largest) = (0u64, 0.0, 0);
        for (_, cost) in costs(module) {
            peak = peak.saturating_add(cost.peak());
            seconds += cost.seconds;
            largest = largest.max(cost.peak());
        }
        let times = seconds / as_it_came().max(f64::MIN_POSITIVE);
        let fits = largest <= room.0;
        let may_fit = counted && !fits && largest - room.0 <= room.0.saturating_sub(floor) / ALIKE;
        let body = copy_of(module);
        let made = Made { body, found, times, peak, largest, fits, may_fit, split_gradients };
        move_body(module, copy_of(borrowed(&original)));
        Ok(made)
    };
    let mut best = fit(options, room, options.split_gradients, &mut within)?;
    // Of a program for several devices each gradient has an exchange: that is for what does not fit otherwise.
    let may_split = !(options.split_gradients || best.fits && is_partitioned(module));
    if may_split && tried.has_joined_rows() {
        let split = fit(options, room, true, &mut within)?;
        let faster = split.fits && (split.times < best.times || !best.fits);
        if faster || !best.fits && split.is_better(&best) {
            best = split;
        }
    }
    let split = best.split_gradients;
    for (share, slower, most) in KEPT_BACK.into_iter().filter(|_| !options.counted) {
        let safe = room.0 - room.0.saturating_sub(floor) / share;
        if !best.fits || best.peak >= as_it_came_peak || best.largest <= safe {
            continue;
        }
        let safer = fit(options, Bytes(safe), split, &mut within)?;
        let bound = f64::max(best.times * slower, 1.0).min(f64::max(best.times, most));
        if safer.fits && safer.times <= bound {
            best = safer;
        }
    }
    move_body(module, best.body);
    Ok(best.found)
}

/// What stages have to trade with, and whether chunks come late.
type Levers = (Without, bool);

/// One run of the pipeline.
#[derive(Clone, Copy)]
struct Attempt {
    max_slowdown: Limit,
    levers: Levers,
    /// Whether stages stop at what is enough.
    stops: bool,
    /// Whether gradients beside gathered rows are taken apart.
    split_gradients: bool,
}

/// The fastest program that fits into so many bytes, or else the smallest, of those that `within` makes.
fn fit<'c, T, E>(
    options: &Optimize,
    room: Bytes,
    split_gradients: bool,
    within: &mut impl FnMut(Attempt, Bytes) -> Result<Made<'c, T>, E>,
) -> Result<Made<'c, T>, E> {
    let on_device = options.without.and_host();
    // With chunks late there is more time for what is computed again (`usual`).
    let (early, late) = ((on_device, options.late_chunks), (on_device, true));
    let with_host = (options.without != on_device).then_some((options.without, options.late_chunks));
    let usual = Attempt { max_slowdown: Limit::Usual, levers: early, stops: true, split_gradients };
    let times = |times, levers| Attempt { max_slowdown: Limit::Times(times), levers, ..usual };
    let smallest = |levers| times(f64::INFINITY, levers);
    let halved = |levers| times(Limit::HALVED, levers);
    let others =
        [Attempt { stops: false, ..usual }, halved(early), halved(late), smallest(early), smallest(late)];
    let mut levers = usual.levers;
    let mut best = within(usual, room)?;
    let mut near: Option<Made<'c, T>> = None;
    let mut leave = |made: Made<'c, T>| {
        if made.may_fit && near.as_ref().is_none_or(|near| made.times < near.times) {
            near = Some(made);
        }
    };
    for next in others.into_iter().chain(with_host.map(smallest)) {
        if best.fits {
            break;
        }
        let slower = within(next, room)?;
        if slower.is_better(&best) {
            leave(std::mem::replace(&mut best, slower));
            levers = next.levers;
        } else {
            leave(slower);
        }
    }
    let mut too_fast = 1.0;
    while best.fits && best.times > too_fast * Limit::OTHERWISE {
        let bound = f64::sqrt(too_fast * best.times);
        let made = within(times(bound, levers), room)?;
        if made.fits && made.times < best.times {
            best = made;
        } else {
            leave(made);
            too_fast = bound;
        }
    }
    Ok(near.filter(|near| near.times * Limit::HALVED < best.times).unwrap_or(best))
}
