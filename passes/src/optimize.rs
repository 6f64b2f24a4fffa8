// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-optimize`: all passes in an order that works, and never more memory than before.
//!
//! # What it does
//!
//! Runs the [`STAGES`] in rounds until a round changes nothing, then once those that finish. After each stage the
//! [memory model](crate::memory) is asked about every function that the stage changed; a function that would need more is put back as it was, and the
//! stages that only trade time for memory have to save some, and loops over chunks and slabs no small part of what there is. So
//! a pass that helps one function and harms another is used for the one. On targets whose rates are known a function also has to keep within a
//! time ([`Limit`]), and loops over chunks and slabs are tried in several sizes, of which the one that costs least is kept ([`crate::cost`]).
//!
//! The first stages inline, canonicalize and merge common subexpressions: JAX hides producers behind private functions
//! (`jnp.clip`, `jnp.where`), and what the passes look for is then in one piece. XLA begins with the same steps. Should a function
//! end up with a peak larger by more than a [`SLACK`]th and [`SLACK_BYTES`] than it came with, for whatever reason, the module leaves as it came.
//! What a partitioner would store for its collectives is in no function as it came: where exchanges were written down, it is added.
//! Where they were written down for nothing, as far as that can be told (`optimize/exchanged.rs`), it does so, too.
//!
//! # Why it is right
//!
//! Each pass keeps the meaning. Calls and functions that carry annotations which inlining would lose (shardings on
//! arguments, frontend attributes on calls) are kept from the inliner.
//!
//! # Why it is idempotent
//!
//! Where bytes alone are judged: it ends when a whole round, the first stages included, has left every function's fingerprint as it was. A second run
//! does that same round on the same IR, and all stages are deterministic. For the same reason a stage is not run on what it
//! has left as it was before. The first stage alone is freer there: what it does as a run begins is not judged, so that a call
//! may be inlined that a later round kept for memory's sake. There are at most [`ROUNDS`] rounds; what keeps changing
//! for so long ends there (no program known does). A stage that is tried with several sizes is not tried again either on functions that
//! cost about what they did when none was of use: simplification has dropped a word since, no more.
//!
//! # What it costs
//!
//! The stages are linear; a fingerprint of the module per stage that changed something, and a copy and an estimate of each
//! function that it changed. What is the same as in the module's first copy is neither copied nor estimated again.
//! With `late-chunks` the rounds go on, with loops over chunks, when they have come to an end without.
//! Where several bounds of time are tried a stage meets much that it has met: what it then left as it was, or made
//! nothing of use of, is [noted](Tried), and what has been found out about a function [remembered](crate::memory).

mod annotated;
mod exchanged;
mod levers;
mod limit;
mod rule;
pub(crate) mod search;
mod stages;
mod stepper;
mod tried;

use crate::cost::{Cost, Limit};
use crate::data_parallel;
use crate::framework::{
    Anchor, Bytes, Changed, Pass, PassContext, PassError, PassResult, Statistic, fingerprint,
};
use crate::functions::{functions, name_of};
use crate::rewrite::{borrowed, copy_of, move_body};
use crate::shards::is_partitioned;
use crate::sparse;
use crate::split_sums;
use crate::target::Target;
use annotated::{mark, unmark};
use exchanged::Exchanged;
pub use levers::Without;
pub use limit::{ALIKE, search};
use melior::dialect::DialectRegistry;
use melior::ir::OperationRef;
use rule::{Costs, Rule, SLACK};
use search::{Form, Search};
pub use stages::{Judge, STAGES, Stage};
use stepper::{Snapshots, Stepper, first, is_near, settle, standing};
pub use tried::Tried;

crate::pass_options! {
    /// Rewrite a module so that it needs less memory: all passes, in order, function by function.
    ///
    /// Inlines and simplifies, then runs slimhlo's passes in rounds until nothing changes. After each pass the memory model
    /// compares every function with what it was before; what would need more is taken back, function by function.
    /// For XLA for CPU, running it on its own output changes nothing; where time is judged, a second run may trade it once more.
    ///
    /// ```sh
    /// slimhlo-opt --slimhlo-optimize in.mlir -o out.mlir
    /// ```
    pub struct Optimize {
        /// What compiles the module: a back end with its usual chip, or a chip by name.
        pub target: Target = Target::default(),
        /// How many times the original's time a function may take, by the target's rates; usual is 1.25 where temporaries at least halve, and
        /// else 1.05.
        pub max_slowdown: Limit = Limit::Usual,
        /// What a function may need: it is made the fastest that needs no more, or else the smallest. Time is then bounded only if `max-slowdown` says
        /// so.
        pub memory_limit: Option<Bytes> = None,
        /// What a function needs with a limit is counted by what compiles it, and asked for anew where that is too much: no bytes are kept back for
        /// what the model does not see.
        pub counted: bool = false,
        /// How much the temporaries of one chunk may take, about, where a value is computed in chunks; none tries several and keeps
        /// what costs least.
        pub chunk_bytes: Option<Bytes> = None,
        /// Stages that are left out, by the passes that they run: `rematerialize,offload`, say.
        pub without: Without = Without::default(),
        /// Compute nothing in chunks, nor a batch in slices, before no more is to be had by computing values again: what stages that
        /// come first take the time for may save less than what others would.
        pub late_chunks: bool = false,
        /// Take gradients of products with gathered rows beside others apart (`--slimhlo-late-gathers=gradients=true`): without a choice, both are tried.
        pub split_gradients: bool = false,
        /// Read slices of joined arrays from what they were joined of, in programs for several devices (`--slimhlo-exchange-shards=slices-of-joined=true`):
        /// without a choice, both are tried.
        pub slices_of_joined: bool = false,
    }
}

const ROUNDS_RUN: Statistic = Statistic::new(c"num-rounds", c"rounds until nothing changed");
const KEPT: Statistic = Statistic::new(c"num-kept", c"functions that a stage changed");
const TAKEN_BACK: Statistic =
    Statistic::new(c"num-taken-back", c"functions that a stage changed and that were put back");
const SAVED: Statistic =
    Statistic::new(c"bytes-saved", c"bytes less at the peaks of functions, by the model");

/// Rounds at most; as many again where chunks come late.
const ROUNDS: usize = 8;

/// What came of a stage for one function that it changed.
#[derive(Clone, Debug)]
pub struct Event<'e> {
    /// From 0.
    pub round: usize,
    /// The stage.
    pub stage: &'static Stage,
    /// Name of the function.
    pub function: &'e str,
    /// What it needed before, as far as the model can tell.
    pub before: Option<Cost>,
    /// What it would need after.
    pub after: Option<Cost>,
    /// Whether the change was kept.
    pub kept: bool,
}

/// A pipeline that is to be run on the module. One that follows another of its round and stage belongs to it.
#[derive(Clone, Copy, Debug)]
pub struct Step<'s> {
    /// From 0.
    pub round: usize,
    /// The number of the stage.
    pub stage: usize,
    /// The pipeline, in textual form.
    pub pipeline: &'s str,
}

/// Runs a step's pipeline on an op.
pub type Run<'r, 'c> = dyn Fn(OperationRef<'c, '_>, Step<'_>) -> Result<(), PassError<'c>> + 'r;

/// Optimizes `module`, a `builtin.module`. `run` runs pipelines on it; `observe` hears of each function that a stage
/// changed, and of whether that was kept.
///
/// A module with sparse tensors stays as it is: what it takes, and what a change of it would, is not known.
///
/// With a memory limit and no bound of time, several bounds are tried ([`search`]), and `observe` hears of all of them.
///
/// # Errors
/// What a pass of a stage fails with. That a limit is not met is no error: the program is then as small as it
/// gets.
pub fn optimize<'c>(
    module: OperationRef<'c, '_>,
    options: &Optimize,
    run: &Run<'_, 'c>,
    observe: &mut dyn FnMut(&Event<'_>),
) -> PassResult<'c> {
    if sparse::first(module, |_, _| ()).is_some() {
        return Ok(Changed::No);
    }
    let tried = Tried::default();
    // What may take no memory is not worth any time.
    let free = options.memory_limit.is_none()
        && options.max_slowdown == Limit::Usual
        && has_near(module, options.target);
    let free = free.then(|| Optimize { max_slowdown: Limit::Times(1.0), ..options.clone() });
    search(module, free.as_ref().unwrap_or(options), &tried, |module, options| {
        optimize_once(module, options, &tried, run, observe)
    })
}

/// Whether all temporaries of a program for one device may lie in memory that is nearer than the device's.
fn has_near(module: OperationRef<'_, '_>, target: Target) -> bool {
    let near = target.storage().near_memory;
    let temporaries = |function| Cost::of(function, target).map_or(0, |cost| cost.footprint.temporaries);
    near > 0 && !is_partitioned(module) && functions(module).all(|function| temporaries(function) <= near)
}

/// Optimizes within the bound of time that `options` have, where other runs on the same program have `tried` something.
///
/// # Errors
/// What a pass of a stage fails with.
pub fn optimize_once<'c>(
    module: OperationRef<'c, '_>,
    options: &Optimize,
    tried: &Tried,
    run: &Run<'_, 'c>,
    observe: &mut dyn FnMut(&Event<'_>),
) -> PassResult<'c> {
    let before = fingerprint(module);
    let target = options.target;
    let mut originals: Costs =
        functions(module).map(|function| (name_of(function), Cost::of(function, target))).collect();
    let marked = mark(module);
    let original = copy_of(module);
    let mut snapshots = Snapshots::new();
    // What each stage has been seen to leave as it was, or was made to.
    let mut settled = [None; STAGES.len()];
    // What functions cost when a search among forms of the stage found none of use.
    let mut searched = [None; STAGES.len()];
    let mut is_exchanged = false;
    let mut is_settled = false;
    let (mut without, mut later, rounds) = match options.late_chunks {
        true => (options.without.and_chunks(), Some(options.without), 2 * ROUNDS),
        false => (options.without, None, ROUNDS),
    };
    let mut now = if marked { fingerprint(module) } else { before };
    for round in 0..rounds {
        let start = now;
        for (index, stage) in STAGES.iter().enumerate() {
            let idle = stage.legalizes && !target.is_xla_cpu() || without.has(index);
            if idle || stage.finishes != is_settled || settled[index] == Some(now) {
                continue;
            }
            let rule = Rule {
                target,
                limit: options.max_slowdown,
                enough: options.memory_limit.map(|bytes| bytes.0),
                originals: &originals,
            };
            let stepper = Stepper { module, round, index, stage, run, options, without, tried };
            stepper.look();
            let unseen = if stage.judge == Judge::Unseen { costs_of(&snapshots) } else { Costs::new() };
            let forms = options.forms(stage, &snapshots);
            let standing = forms.single().is_none().then(|| standing(&snapshots));
            if standing.zip(searched[index]).is_some_and(|(now, then)| is_near(now, then)) {
                continue;
            }
            let (mut after, costs) = match forms.single() {
                Some(_) if without.has_form(index, 0) => (now, Costs::new()),
                Some(only) => (stepper.run(only, now)?, Costs::new()),
                None => stepper.best_of(forms, now, &snapshots, rule)?,
            };
            if snapshots.is_empty() {
                // The first stage, whose changes are always kept.
                let same = after == now;
                snapshots = first(module, same.then_some(borrowed(&original)), rule);
            } else if after != now && settle(&stepper, &mut snapshots, rule, &costs, observe) {
                after = fingerprint(module);
            }
            is_exchanged |= stage.judge == Judge::Partitioner && after != now;
            settled[index] = (after == now).then_some(now);
            searched[index] = standing.filter(|_| after == now);
            now = after;
            allow_for(&mut originals, &unseen, &snapshots);
            for (name, snapshot) in snapshots.iter().filter(|_| round == 0 && stage.is_original) {
                put_time(&mut originals, tried, name, snapshot.cost);
            }
        }
        if is_settled {
            break;
        }
        is_settled = now == start;
        if is_settled && let Some(all) = later.take() {
            (without, is_settled) = (all, false);
        }
    }
    // Where rounds have come to no end, nothing has finished: nobody else knows of one device's programs, nor of sums in parts to be.
    let open: Vec<_> = functions(module).collect();
    let end = |function: &_| split_sums::forget(*function) | data_parallel::close(*function);
    let closed = open.into_iter().filter(end).count() > 0;
    let unmarked = unmark(module);
    let exchanged = match is_exchanged {
        true => Exchanged::of(borrowed(&original), module),
        false => Exchanged::default(),
    };
    let of = |function| {
        let name = name_of(function);
        let known = snapshots.get(&name).and_then(|last| last.cost.as_ref()).map(Cost::peak);
        let after = known.or_else(|| Cost::of(function, target).map(|after| after.peak()))?;
        Some((originals.get(&name)?.as_ref()?.peak(), after))
    };
    let peaks: Vec<(u64, u64)> = functions(module).filter_map(of).collect();
    let back = exchanged.is_back(&peaks);
    drop(snapshots);
    if back {
        move_body(module, original);
        unmark(module);
    }
    let after = if back || marked || unmarked || closed { fingerprint(module) } else { now };
    Ok((after != before).into())
}

/// What functions cost.
fn costs_of(snapshots: &Snapshots<'_, '_>) -> Costs {
    snapshots.iter().map(|(name, snapshot)| (name.clone(), snapshot.cost)).collect()
}

/// What functions need more than they did before is not held against them.
fn allow_for(originals: &mut Costs, before: &Costs, now: &Snapshots<'_, '_>) {
    for (name, before) in before {
        let after = now.get(name).and_then(|snapshot| snapshot.cost);
        if let (Some(Some(original)), Some(before), Some(after)) = (originals.get_mut(name), before, after) {
            original.footprint.temporaries += after.peak().saturating_sub(before.peak());
        }
    }
}

/// Notes that this is how long a function takes as it came.
fn put_time(originals: &mut Costs, tried: &Tried, name: &str, now: Option<Cost>) {
    if let (Some(Some(original)), Some(now)) = (originals.get_mut(name), now) {
        original.seconds = now.seconds;
        tried.note_time(name, now.seconds);
    }
}

impl Optimize {
    /// What a stage is to be tried with: one form where that is given, or is no matter to it; none where there is next to nothing to save.
    fn forms(&self, stage: &Stage, snapshots: &Snapshots<'_, '_>) -> Search {
        if stage.pipeline.contains("$room") {
            // The host's memory is a bus away: it is for what does not fit otherwise.
            let needs = |enough: Bytes| {
                let mut costs = snapshots.values().filter_map(|snapshot| snapshot.cost);
                costs.any(|cost| cost.peak() > enough.0).then_some(Form::USUAL)
            };
            return Search::Only(self.memory_limit.and_then(needs));
        }
        if stage.timed && self.target.rates().is_none() {
            return Search::Only(self.memory_limit.map(|_| Form::USUAL));
        }
        let chunks = stage.pipeline.contains("$chunk");
        let again = stage.pipeline.contains("$moves");
        let shares = stage.pipeline.contains("$share");
        if !chunks && !again && !shares || self.target.rates().is_none() {
            return Search::only(Form {
                chunk: self.chunk_bytes.unwrap_or(Form::USUAL.chunk),
                ..Form::USUAL
            });
        }
        if let Some(chunk) = self.chunk_bytes.filter(|_| chunks) {
            return Search::only(Form { chunk, ..Form::USUAL });
        }
        let costs = snapshots.values().filter_map(|snapshot| snapshot.cost);
        let Some(largest) = costs.max_by_key(|cost| cost.footprint.temporaries) else {
            return Search::only(Form::USUAL);
        };
        let temporaries = largest.footprint.temporaries;
        let enough = self.memory_limit.is_some_and(|enough| largest.peak() <= enough.0);
        if enough || temporaries <= largest.peak() / SLACK {
            return Search::Only(None);
        }
        match () {
            () if again => Search::ladder(),
            () if shares => Search::shares(),
            // What small slabs leave as it is, larger ones do, too.
            () if stage.pipeline.contains("slab-bytes") => Search::chunks(temporaries).downwards(),
            () => Search::chunks(temporaries),
        }
    }
}

impl Pass for Optimize {
    const ARGUMENT: &'static str = "slimhlo-optimize";
    const ANCHOR: Anchor = Anchor::Module;
    const STATISTICS: &'static [Statistic] = &[ROUNDS_RUN, KEPT, TAKEN_BACK, SAVED];

    fn dependent_dialects(registry: &DialectRegistry) {
        for pass in crate::passes().iter().filter(|pass| pass.argument != Self::ARGUMENT) {
            (pass.dependent_dialects)(registry);
        }
    }

    fn run<'c>(&self, module: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        let mut rounds = 0;
        let changed =
            optimize(module, self, &|op, step| context.run_pipeline(op, step.pipeline), &mut |event| {
                rounds = rounds.max(event.round as u64 + 1);
                context.count(if event.kept { &KEPT } else { &TAKEN_BACK }, 1);
                if event.kept
                    && let (Some(before), Some(after)) = (&event.before, &event.after)
                {
                    context.count(&SAVED, before.peak().saturating_sub(after.peak()));
                }
            });
        context.count(&ROUNDS_RUN, rounds);
        changed
    }
}
