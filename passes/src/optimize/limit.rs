// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The fastest program within a memory limit: a bound of time is looked for by halves, and the best program found is
//! kept.
//!
//! Within one bound the pipeline makes a program as small as the limit asks for, and no smaller. A tighter bound may
//! find another one that fits as well and is faster, a wider one one that fits at all. So: the usual bound; if what
//! it makes does not fit, what it makes without a limit, since stages are greedy, and one that stops at enough may leave
//! others less to do; then the bound for half of the temporaries, with all stages, without slices of a batch and without
//! chunks; then no bound, which makes the smallest; and then halves between the fastest that fits and the original's time,
//! as ratios, until both are within a [`Limit::OTHERWISE`] of each other, which is what models and machines differ by
//! anyway. Each is a run of the pipeline: two where the usual bound does, a dozen at most.
//!
//! Back ends take more than the model says in some programs, less in others. So what is looked for leaves some of what the limit has for
//! temporaries ([`KEPT_BACK`]).
//!
//! Where nothing fits, what costs more than the usual bound is kept only if it saves more than the model errs by: a
//! program that is slower, does not fit either, and may not even be smaller is of no use.
//!
//! Without a limit there are six runs at most.
//!
//! The host's memory is for what does not fit otherwise: it takes part only where nothing fits without it. Stages are
//! greedy, and bytes that it takes off a peak early leave others no time to take off more.

use super::Optimize;
use crate::cost::{Cost, Limit};
use crate::framework::Bytes;
use crate::functions::functions;
use crate::gspmd;
use crate::memory::known::Remember;
use crate::rewrite::{borrowed, copy_of, move_body};
use melior::ir::{Operation, OperationRef};

/// Peaks that differ by less than this share of theirs are alike: four in five of the reference programs are modelled
/// as closely (`cargo xtask bench model`).
const ALIKE: u64 = 10;

/// Of the bytes that a limit leaves for temporaries this share is kept back for what the model does not see. Of programs of libraries that were made to
/// fit by the model alone those that XLA for an H100 did not fit took up to a twelfth too much, mostly (`cargo xtask bench corpus`).
const KEPT_BACK: u64 = 8;

/// Bytes that a function is to need where it may need `room`, and no compiler can do without `floor`.
fn wanted(room: u64, floor: u64) -> u64 {
    room - room.saturating_sub(floor) / KEPT_BACK
}

/// Without a memory limit: what the usual bound makes of `module`, or, where temporaries are most of its peak, the least of
/// what several attempts make, if it may take its time in the end. All of them have the bound for half of the temporaries:
/// a stage that saves not quite half is not refused then for the time that later ones take off; if what comes of it takes
/// longer than the usual bound allows, that is the bound. Stages are greedy, and what the first spends time on may save
/// less than what a later one would for it: so where temporaries are most of what is left, others have to do without
/// slices of a batch, and without any loops over chunks, and another one spends its time in steps: of the corpus's step of
/// Llama 3,942, 3,451 and 3,451 MiB of temporaries by the model, and 8,243 in steps, of GPT-2's 2,171, 2,171, 2,888 and 1,280
/// (`slimhlo-opt --slimhlo-optimize="target=h100 max-slowdown=1.25 without=..."`, or `in-steps`, then
/// `--slimhlo-print-memory=target=h100`).
fn usual<'c, T, E>(
    module: OperationRef<'c, '_>,
    options: &Optimize,
    mut attempt: impl FnMut(OperationRef<'c, '_>, &Optimize) -> Result<T, E>,
) -> Result<T, E> {
    // Others are called by it, mostly, and part of it.
    let largest = |module| {
        let costs = functions(module).filter_map(|function| Cost::of(function, options.target));
        costs.max_by_key(Cost::peak).unwrap_or_default()
    };
    let before = largest(module);
    if before.footprint.temporaries <= before.peak() / 2 {
        return attempt(module, options);
    }
    let original = copy_of(module);
    let within =
        |max_slowdown, without, in_steps| Optimize { max_slowdown, without, in_steps, ..options.clone() };
    let (halved, steps) = (Limit::Times(Limit::HALVED), options.in_steps);
    let (all, slices, chunks) = (options.without, options.without.and_slices(), options.without.and_chunks());
    let mut found = attempt(module, &within(halved, all, steps))?;
    let mut others = vec![(halved, slices, steps), (halved, chunks, steps), (halved, all, true)];
    if !Limit::Usual.allows(&before, &largest(module)) {
        move_body(module, copy_of(borrowed(&original)));
        found = attempt(module, options)?;
        others.push((options.max_slowdown, all, true));
    }
    let mut after = largest(module);
    let mut made = copy_of(module);
    for (bound, without, in_steps) in others {
        let same = without == all && in_steps == steps;
        if same || after.footprint.temporaries <= after.peak() / 2 {
            continue;
        }
        move_body(module, copy_of(borrowed(&original)));
        let other = attempt(module, &within(bound, without, in_steps))?;
        let again = largest(module);
        if Limit::Usual.allows(&before, &again) && again.peak() < after.peak() - after.peak() / ALIKE {
            (found, after, made) = (other, again, copy_of(module));
        }
    }
    move_body(module, made);
    Ok(found)
}

/// A program that an attempt made.
struct Made<'c, T> {
    body: Operation<'c>,
    found: T,
    /// How many times the original's time it takes.
    times: f64,
    /// Bytes of all functions together.
    peak: u64,
    fits: bool,
}

impl<T> Made<'_, T> {
    /// Whether it is what to keep where `other`, which is faster, does not fit.
    fn is_better(&self, other: &Self) -> bool {
        self.fits || self.peak < other.peak - other.peak / ALIKE
    }
}

/// Makes `module`, whichever partitioner its shardings are for, the fastest that fits, if `options` say what that is;
/// `attempt` optimizes it once, within the options it is given, and what it returned for the program that is kept is
/// returned.
///
/// # Errors
/// Those of `attempt`.
pub fn search<'c, T, E>(
    module: OperationRef<'c, '_>,
    options: &Optimize,
    mut attempt: impl FnMut(OperationRef<'c, '_>, &Optimize) -> Result<T, E>,
) -> Result<T, E> {
    let _remember = Remember::new();
    let Some(original) = gspmd::import(module) else {
        let found = fastest(module, options, attempt);
        gspmd::separate_constants(module);
        return found;
    };
    let found = fastest(module, options, &mut attempt);
    if found.is_ok() && gspmd::export(module) {
        // What several computations have in common is merged now that it is side by side.
        let found = fastest(module, options, attempt).and(found);
        gspmd::separate_constants(module);
        return found;
    }
    move_body(module, original);
    fastest(module, options, attempt)
}

/// [`search`] in a module whose shardings are Shardy's, or nobody's.
fn fastest<'c, T, E>(
    module: OperationRef<'c, '_>,
    options: &Optimize,
    mut attempt: impl FnMut(OperationRef<'c, '_>, &Optimize) -> Result<T, E>,
) -> Result<T, E> {
    if options.max_slowdown != Limit::Usual || options.target.rates().is_none() {
        return attempt(module, options);
    }
    let Some(room) = options.memory_limit else { return usual(module, options, attempt) };
    let costs = |module| functions(module).filter_map(|function| Cost::of(function, options.target));
    let original = copy_of(module);
    let as_it_came = costs(module).map(|cost| cost.seconds).sum::<f64>().max(f64::MIN_POSITIVE);
    let floor = costs(module).map(|cost| cost.footprint.floor()).max().unwrap_or(0);
    let room = Bytes(wanted(room.0, floor));
    let mut within = |max_slowdown, without, memory_limit| {
        let found = attempt(module, &Optimize { max_slowdown, without, memory_limit, ..options.clone() })?;
        let (mut peak, mut seconds, mut fits) = (0u64, 0.0, true);
        for cost in costs(module) {
            peak = peak.saturating_add(cost.peak());
            seconds += cost.seconds;
            fits &= cost.peak() <= room.0;
        }
        let made = Made { body: copy_of(module), found, times: seconds / as_it_came, peak, fits };
        move_body(module, copy_of(borrowed(&original)));
        Ok(made)
    };
    let (all, on_device) = (options.without, options.without.and_host());
    let mut levers = on_device;
    let mut best = within(Limit::Usual, levers, Some(room))?;
    let smallest = |levers| (Limit::Times(f64::INFINITY), levers, Some(room));
    let halved = |levers| (Limit::Times(Limit::HALVED), levers, Some(room));
    // Without slices, or without chunks, there is more time for what is computed again (`usual`).
    let (slices, chunks) = (on_device.and_slices(), on_device.and_chunks());
    let others = [
        (Limit::Usual, on_device, None),
        halved(on_device),
        halved(slices),
        halved(chunks),
        smallest(on_device),
        smallest(slices),
    ];
    for (bound, next, limit) in others.into_iter().chain((all != on_device).then(|| smallest(all))) {
        if best.fits {
            break;
        }
        let slower = within(bound, next, limit)?;
        if slower.is_better(&best) {
            (best, levers) = (slower, next);
        }
    }
    let mut too_fast = 1.0;
    while best.fits && best.times > too_fast * Limit::OTHERWISE {
        let bound = f64::sqrt(too_fast * best.times);
        let made = within(Limit::Times(bound), levers, Some(room))?;
        if made.fits && made.times < best.times {
            best = made;
        } else {
            too_fast = bound;
        }
    }
    move_body(module, best.body);
    Ok(best.found)
}
