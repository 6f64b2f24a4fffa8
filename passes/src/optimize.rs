// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-optimize`: all passes in an order that works, and never more memory than before.
//!
//! # What it does
//!
//! Runs the [`STAGES`] in rounds until a round changes nothing. After each stage the [memory model](crate::memory) is asked
//! about every function that the stage changed; a function that would need more is put back as it was, and the
//! stages that only trade time for memory have to save some, and loops over chunks and slabs no small part of what there is. So
//! a pass that helps one function and harms another is used for the one. On targets whose rates are known a function also has to keep within a
//! time ([`Limit`]), and loops over chunks and slabs are tried in several sizes, of which the one that costs least is kept ([`crate::cost`]).
//!
//! The first stages inline, canonicalize and merge common subexpressions: JAX hides producers behind private functions
//! (`jnp.clip`, `jnp.where`), and what the passes look for is then in one piece. XLA begins with the same steps. Should a function
//! end up with a peak larger by more than a [`SLACK`]th and [`SLACK_BYTES`] than it came with, for whatever reason, the module leaves as it came.
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
//! has left as it was before. There are at most [`ROUNDS`] rounds; what keeps changing
//! for so long ends there (no program known does).
//!
//! # What it costs
//!
//! The stages are linear; a fingerprint of the module per stage that changed something, and a copy and an estimate of each
//! function that it changed. What is the same as in the module's first copy is neither copied nor estimated again.

use crate::cost::{Cost, Limit};
use crate::framework::{
    Anchor, Bytes, Pass, PassContext, PassError, PassResult, Statistic, changes, fingerprint,
};
use crate::functions::{functions, is_public, name_of};
use crate::rewrite::{
    borrowed, context_of, copy_of, move_body, put_in_place, remove_attribute, set_attribute, walk,
};
use crate::target::Target;
use melior::dialect::DialectRegistry;
use melior::ir::attribute::{ArrayAttribute, DictionaryAttribute};
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{Attribute, Operation, OperationRef, RegionLike};
use slimhlo_dialect::ffi::{self, op_name};
use std::cell::OnceCell;
use std::collections::HashMap;
use std::ops::Range;

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
        /// How much the temporaries of one chunk may take, about, where a value is computed in chunks; none tries several and keeps
        /// what costs least.
        pub chunk_bytes: Option<Bytes> = None,
    }
}

const ROUNDS_RUN: Statistic = Statistic::new(c"num-rounds", c"rounds until nothing changed");
const KEPT: Statistic = Statistic::new(c"num-kept", c"functions that a stage changed");
const TAKEN_BACK: Statistic =
    Statistic::new(c"num-taken-back", c"functions that a stage changed and that were put back");
const SAVED: Statistic =
    Statistic::new(c"bytes-saved", c"bytes less at the peaks of functions, by the model");

/// The share of its peak that a function may grow by, all stages together. Those that judge for themselves trade a gathered
/// array, which the partitioner would add later, for a halo in a buffer of its own.
const SLACK: u64 = 100;
/// And so many bytes more: scalars and alignment.
const SLACK_BYTES: u64 = 4 << 10;
/// The share of a function's temporaries that is worth time,
const MATTERS: u64 = 8;
/// and so many bytes are in any case.
const MATTERS_BYTES: u64 = 64 << 20;
/// Rounds at most.
const ROUNDS: usize = 8;

/// What a stage has to show for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judge {
    /// The function must not need more.
    NotWorse,
    /// The function must not need more by more than a [`SLACK`]th: the pass takes little to guard against copies that the model
    /// does not always see.
    Nearly,
    /// The function must need less: the stage costs time.
    Better,
    /// The function must need less by a [`MATTERS`]th of its temporaries, or by [`MATTERS_BYTES`]: the stage costs as much time where it
    /// hardly helps.
    Much,
    /// What it gains or costs is not in one device's program as it stands (the partitioner decides), so the pass judges
    /// for itself.
    Pass,
}

/// A pass or a few, run and judged together.
#[derive(Clone, Copy, Debug)]
pub struct Stage {
    /// What people call it.
    pub name: &'static str,
    /// The passes, in MLIR's textual form, on a module. `$target` stands for the target's name, `$chunk` for the bytes of a chunk, `$moves`
    /// and `$windows` for what [`rematerialize`](crate::rematerialize) is asked for.
    pub pipeline: &'static str,
    /// What runs after them if they have changed something; nothing for MLIR's own passes, which do not say whether they
    /// have.
    pub tidy: &'static str,
    /// What it has to show for itself.
    pub judge: Judge,
    /// It legalizes for XLA for CPU, and is for no other target.
    pub legalizes: bool,
}

/// What [`TIDY`] is, for others to be made of.
macro_rules! tidy {
    () => {
        // Regions have one block each, and dead ops go anyway. What one go over a function leaves, if anything, the next stage or round
        // takes: a second go, which mostly finds nothing, takes as long as the first.
        "func.func(canonicalize{region-simplify=disabled max-iterations=1},cse)"
    };
}

/// What leaves the module simple after a stage, as the next one finds it.
const TIDY: &str = tidy!();

/// What is left to do after patterns and folds: they leave nothing dead.
const MERGE: &str = "func.func(cse)";

/// What loops over chunks leave is simplified at once: it would be in the next round, and all other stages then had to look at it again.
const SIMPLIFY: &str = "func.func(slimhlo-simplify{settle=false},cse)";

/// The stages of a round, in order.
pub const STAGES: &[Stage] = &[
    Stage {
        name: "inline and simplify",
        // Callees are simplified where they arrive.
        pipeline: concat!("inline{default-pipeline=},", tidy!(), ",symbol-dce"),
        tidy: "",
        judge: Judge::Pass,
        legalizes: false,
    },
    Stage {
        name: "known branches",
        pipeline: "func.func(slimhlo-known-branches)",
        tidy: TIDY,
        // Back ends take them as well: what is in a branch is as much there.
        judge: Judge::Pass,
        legalizes: false,
    },
    Stage {
        name: "simplify",
        pipeline: "func.func(slimhlo-simplify{settle=false})",
        tidy: MERGE,
        judge: Judge::NotWorse,
        legalizes: false,
    },
    Stage {
        name: "scatters to updates",
        pipeline: "func.func(slimhlo-scatter-to-update)",
        tidy: TIDY,
        judge: Judge::NotWorse,
        legalizes: false,
    },
    Stage {
        name: "exchanges of shards",
        // What a partitioner gathers for a scatter or a slice the model does not see either.
        pipeline: "func.func(slimhlo-simplify{partitioned-only=true settle=false},slimhlo-scatter-to-update{partitioned-only=true}),slimhlo-exchange-shards",
        tidy: TIDY,
        judge: Judge::Pass,
        legalizes: false,
    },
    Stage {
        name: "one computation of shards",
        pipeline: "slimhlo-merge-shards",
        tidy: TIDY,
        // Others gain by it.
        judge: Judge::Pass,
        legalizes: false,
    },
    Stage {
        name: "updates to pads",
        pipeline: "func.func(slimhlo-dus-to-pad)",
        tidy: TIDY,
        judge: Judge::NotWorse,
        legalizes: false,
    },
    Stage {
        name: "pads",
        pipeline: "func.func(slimhlo-coalesce-pads{settle=false})",
        tidy: MERGE,
        judge: Judge::NotWorse,
        legalizes: false,
    },
    Stage {
        name: "shared gather indices",
        pipeline: "func.func(slimhlo-reuse-gather-indices)",
        tidy: TIDY,
        judge: Judge::NotWorse,
        legalizes: false,
    },
    Stage {
        name: "residuals of loops",
        pipeline: "func.func(slimhlo-recompute-residuals{target=$target})",
        tidy: TIDY,
        judge: Judge::Better,
        legalizes: false,
    },
    Stage {
        name: "order of updates",
        // Whether an update is computed again inside of what reads it, the array copied for that, is a matter of what back ends fuse.
        pipeline: "func.func(slimhlo-inplace-updates{target=$target steps=false})",
        tidy: TIDY,
        judge: Judge::Nearly,
        legalizes: false,
    },
    Stage {
        name: "updates in place",
        pipeline: "func.func(slimhlo-inplace-updates{target=$target chunk-bytes=$chunk})",
        tidy: TIDY,
        judge: Judge::Better,
        legalizes: false,
    },
    Stage {
        name: "chunks",
        pipeline: "func.func(slimhlo-stream{target=$target chunk-bytes=$chunk settle=false})",
        tidy: SIMPLIFY,
        judge: Judge::Much,
        legalizes: false,
    },
    Stage {
        name: "slabs",
        pipeline: "func.func(slimhlo-slabs{target=$target slab-bytes=$chunk at-peak})",
        tidy: TIDY,
        judge: Judge::Much,
        legalizes: false,
    },
    Stage {
        name: "values again",
        pipeline: "func.func(slimhlo-rematerialize{target=$target moves=$moves windows=$windows})",
        tidy: SIMPLIFY,
        judge: Judge::Better,
        legalizes: false,
    },
    Stage {
        name: "updates of narrow floats",
        pipeline: "func.func(slimhlo-narrow-updates)",
        tidy: TIDY,
        // What it does not let be copied the model does not see.
        judge: Judge::Nearly,
        legalizes: true,
    },
    Stage {
        name: "late splats",
        pipeline: "func.func(slimhlo-late-splats)",
        tidy: TIDY,
        judge: Judge::NotWorse,
        legalizes: true,
    },
];

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

/// A function as it is after the last stage that was kept.
struct Snapshot<'c, 'o> {
    copy: Copied<'c, 'o>,
    /// Of the copy; most are never asked for.
    fingerprint: OnceCell<u64>,
    cost: Option<Cost>,
}

/// A function's copy.
enum Copied<'c, 'o> {
    Own(Operation<'c>),
    /// In the copy of the module as it came.
    Original(OperationRef<'c, 'o>),
}

/// Functions of a module by name.
type Snapshots<'c, 'o> = HashMap<String, Snapshot<'c, 'o>>;

/// What functions of a module cost, by name.
type Costs = HashMap<String, Option<Cost>>;

impl<'c, 'o> Snapshot<'c, 'o> {
    fn of(function: OperationRef<'c, '_>, target: Target) -> Self {
        Self {
            copy: Copied::Own(copy_of(function)),
            fingerprint: OnceCell::new(),
            cost: Cost::of(function, target),
        }
    }

    fn copy(&self) -> OperationRef<'c, '_> {
        match &self.copy {
            Copied::Own(copy) => borrowed(copy),
            Copied::Original(copy) => *copy,
        }
    }

    fn fingerprint(&self) -> u64 {
        *self.fingerprint.get_or_init(|| fingerprint(self.copy()))
    }
}

/// Optimizes `module`, a `builtin.module`. `run` runs pipelines on it; `observe` hears of each function that a stage
/// changed, and of whether that was kept.
///
/// With a memory limit and no bound of time, several bounds are tried: the fastest program is taken in which all functions fit.
pub fn optimize<'c>(
    module: OperationRef<'c, '_>,
    options: &Optimize,
    run: &Run<'_, 'c>,
    observe: &mut dyn FnMut(&Event<'_>),
) -> PassResult<'c> {
    let Optimize { target, chunk_bytes, memory_limit, max_slowdown } = *options;
    let (Some(room), Limit::Usual, Some(_)) = (memory_limit, max_slowdown, target.rates()) else {
        return optimize_within(module, options, run, observe);
    };
    let within = |limit| Optimize { target, chunk_bytes, memory_limit, max_slowdown: limit };
    let costs = |module| functions(module).filter_map(|function| Cost::of(function, target));
    let seconds = |module| costs(module).map(|cost| cost.seconds).sum::<f64>();
    let original = copy_of(module);
    let as_it_came = seconds(module);
    // The bound, and how long the program takes.
    let mut best = (Limit::Times(f64::INFINITY), f64::INFINITY);
    for limit in std::iter::once(Limit::Usual).chain(BOUNDS.map(Limit::Times)) {
        if matches!(limit, Limit::Times(times) if times * as_it_came >= best.1) {
            break;
        }
        optimize_within(module, &within(limit), run, &mut |_| ())?;
        let taken = seconds(module);
        if taken < best.1 && costs(module).all(|cost| cost.peak() <= room.0) {
            best = (limit, taken);
        }
        move_body(module, copy_of(borrowed(&original)));
    }
    optimize_within(module, &within(best.0), run, observe)
}

/// How many times the original's time a program may take that has to fit, from the least on: what people give for programs that run at
/// all, and without an end for those that would not otherwise.
const BOUNDS: [f64; 6] = [1.02, 1.1, 1.25, 1.5, 2.0, 4.0];

/// Optimizes within a bound of time.
fn optimize_within<'c>(
    module: OperationRef<'c, '_>,
    options: &Optimize,
    run: &Run<'_, 'c>,
    observe: &mut dyn FnMut(&Event<'_>),
) -> PassResult<'c> {
    let before = fingerprint(module);
    let target = options.target;
    let originals: Costs =
        functions(module).map(|function| (name_of(function), Cost::of(function, target))).collect();
    let rule = Rule {
        target,
        limit: options.max_slowdown,
        enough: options.memory_limit.map(|bytes| bytes.0),
        originals: &originals,
    };
    let marked = mark(module);
    let original = copy_of(module);
    let mut snapshots = Snapshots::new();
    // What each stage has been seen to leave as it was, or was made to.
    let mut settled = [None; STAGES.len()];
    let mut now = if marked { fingerprint(module) } else { before };
    for round in 0..ROUNDS {
        let start = now;
        for (index, stage) in STAGES.iter().enumerate() {
            if settled[index] == Some(now) || stage.legalizes && !target.is_xla_cpu() {
                continue;
            }
            let stepper = Stepper { module, round, index, stage, run, target };
            let forms = options.forms(stage, &snapshots);
            let mut after = match forms.single() {
                Some(only) => stepper.run(only, now)?,
                None => stepper.best_of(forms, now, &snapshots, rule)?,
            };
            if snapshots.is_empty() {
                // The first stage, whose changes are always kept.
                let same = after == now;
                snapshots = first(module, same.then_some(borrowed(&original)), rule);
            } else if after != now && settle(&stepper, &mut snapshots, rule, observe) {
                after = fingerprint(module);
            }
            settled[index] = (after == now).then_some(now);
            now = after;
        }
        if now == start {
            break;
        }
    }
    let unmarked = unmark(module);
    let grew = functions(module).any(|function| {
        let name = name_of(function);
        let known = snapshots.get(&name).and_then(|last| last.cost.as_ref()).map(Cost::peak);
        let after = known.or_else(|| Cost::of(function, target).map(|after| after.peak()));
        let before = originals.get(&name).and_then(|before| before.as_ref()).map(Cost::peak);
        before.zip(after).is_some_and(|(before, after)| after > with_slack(before))
    });
    drop(snapshots);
    if grew {
        move_body(module, original);
        unmark(module);
    }
    let after = if grew || marked || unmarked { fingerprint(module) } else { now };
    Ok((after != before).into())
}

/// By what stages are judged.
#[derive(Clone, Copy)]
struct Rule<'r> {
    target: Target,
    limit: Limit,
    /// Bytes that a function may need: nobody wants it smaller for its time.
    enough: Option<u64>,
    /// What functions cost as they came.
    originals: &'r Costs,
}

impl Rule<'_> {
    /// Whether what a stage made of a function is kept.
    fn keeps(&self, judge: Judge, function: &str, before: Option<&Cost>, after: Option<&Cost>) -> bool {
        let (Some(before), Some(after)) = (before, after) else {
            return !matches!(judge, Judge::Better | Judge::Much);
        };
        if matches!(judge, Judge::Better | Judge::Much) && self.is_enough(before) {
            return self.is_enough(after) && after.seconds < before.seconds;
        }
        let less_bytes = match judge {
            Judge::Pass => return true,
            Judge::NotWorse => after.peak() <= before.peak(),
            Judge::Nearly => after.peak() <= with_slack(before.peak()),
            Judge::Better => after.peak() < before.peak(),
            Judge::Much if self.target.rates().is_some() => {
                after.peak() < before.peak() - before.peak() / SLACK
            }
            Judge::Much => {
                let least = (before.footprint.temporaries / MATTERS).clamp(1, MATTERS_BYTES);
                after.peak() <= before.peak().saturating_sub(least)
            }
        };
        less_bytes && self.allows(function, before, after)
    }

    /// Whether what a function needs is no more than it may.
    fn is_enough(&self, cost: &Cost) -> bool {
        self.enough.is_some_and(|enough| cost.peak() <= enough)
    }

    /// Whether what saves less may do as well: because this is slower than it may be, or small enough.
    fn is_too_dear(&self, function: &str, after: &Cost) -> bool {
        self.is_enough(after) || self.is_too_slow(function, after)
    }

    /// Whether one form of a function is better than another: small enough, and then faster; else it needs less, or as good as no more and takes
    /// less time.
    fn prefers(&self, one: &Cost, other: &Cost) -> bool {
        match (self.is_enough(one), self.is_enough(other)) {
            (true, true) => one.seconds < other.seconds,
            (false, false) => costs_less(one, other),
            (fits, _) => fits,
        }
    }

    /// Whether a function takes longer than it may whatever it saves.
    fn is_too_slow(&self, function: &str, after: &Cost) -> bool {
        let original = self.originals.get(function).and_then(Option::as_ref);
        original.is_some_and(|original| after.seconds > original.seconds * self.limit.most())
    }

    /// Whether a function may take so long: no longer than it did, or than the limit of the original's time.
    fn allows(&self, function: &str, before: &Cost, after: &Cost) -> bool {
        let original = self.originals.get(function).and_then(Option::as_ref).unwrap_or(before);
        after.seconds <= before.seconds || self.limit.allows(original, after)
    }
}

impl Optimize {
    /// What a stage is to be tried with: one form where that is given, or is no matter to it; none where there is next to nothing to save.
    fn forms(&self, stage: &Stage, snapshots: &Snapshots<'_, '_>) -> Search {
        let chunks = stage.pipeline.contains("$chunk");
        let again = stage.pipeline.contains("$moves");
        if !chunks && !again || self.target.rates().is_none() {
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
            return Search::Each(Vec::new().into_iter());
        }
        if again { Search::ladder() } else { Search::Each(Form::chunks(temporaries).into_iter()) }
    }
}

/// What a stage's pipeline is run with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Form {
    /// Bytes of a chunk.
    chunk: Bytes,
    /// How many times a value's bytes may be moved in the time that it takes to compute it again.
    moves: u64,
    /// How many parts what comes after the peak falls into, about.
    windows: u64,
}

impl Form {
    /// XLA for CPU has hardly a cost of a turn; what was measured for it (`stream.rs`) is for this size.
    const USUAL: Self = Self { chunk: Bytes(4 << 20), moves: 8, windows: 8 };

    /// Chunks of shares of what temporaries there are.
    fn chunks(temporaries: u64) -> Vec<Self> {
        // The largest leaves just enough to halve temporaries; smaller ones mean more turns, each of which starts kernels;
        // where the times of turns begin to count no command measures by itself.
        const SHARES: [u64; 6] = [2, 4, 8, 16, 32, 64];
        const LEAST: u64 = 1 << 20;
        let chunk = |share: u64| Bytes((temporaries / share).next_power_of_two().max(LEAST));
        let mut forms: Vec<Self> =
            SHARES.iter().map(|share| Self { chunk: chunk(*share), ..Self::USUAL }).collect();
        forms.dedup();
        forms
    }
}

/// Which forms of a stage are tried.
enum Search {
    /// These.
    Each(std::vec::IntoIter<Form>),
    /// The most that the time allows of what is dearer from rung to rung: the rungs among which it is, the last that was tried, and
    /// whether the parts have been made larger since.
    Ladder { rungs: Range<usize>, tried: usize, wider: bool },
}

impl Search {
    /// How often a value may be moved in the time that it takes to compute it again. From the first on hardly anything costs too much that
    /// saves something, and the last computes nearly all again.
    const MOVES: [u64; 8] = [2, 4, 6, 8, 12, 16, 32, 96];
    /// Into how many parts what comes after the peak falls: small ones, which hold little at a time, and larger ones, which compute less twice.
    const WINDOWS: [u64; 2] = [16, 8];

    fn only(form: Form) -> Self {
        Self::Each(vec![form].into_iter())
    }

    /// The form, if there is just one.
    fn single(&self) -> Option<Form> {
        match self {
            Self::Each(forms) => forms.as_slice().first().copied().filter(|_| forms.len() == 1),
            Self::Ladder { .. } => None,
        }
    }

    fn ladder() -> Self {
        Self::Ladder { rungs: 0..Self::MOVES.len(), tried: 0, wider: false }
    }

    /// The next form, by what the last one took: more time than what saves most may take, or not.
    fn next(&mut self, too_slow: Option<bool>) -> Option<Form> {
        let form = |moves, windows| Form { moves: Self::MOVES[moves], windows, ..Form::USUAL };
        let [narrow, wide] = Self::WINDOWS;
        match self {
            Self::Each(forms) => forms.next(),
            Self::Ladder { wider: true, .. } => None,
            Self::Ladder { rungs, tried, wider } => {
                match too_slow {
                    Some(true) => rungs.end = *tried,
                    Some(false) => rungs.start = *tried + 1,
                    None => {}
                }
                *wider = rungs.start >= rungs.end;
                *tried = if *wider {
                    rungs.start.checked_sub(1)?
                } else {
                    usize::midpoint(rungs.start, rungs.end)
                };
                Some(form(*tried, if *wider { wide } else { narrow }))
            }
        }
    }
}

/// What a function that needed so many bytes may need.
fn with_slack(before: u64) -> u64 {
    before.saturating_add(before / SLACK + SLACK_BYTES)
}

/// Runs one stage.
struct Stepper<'s, 'c, 'o> {
    module: OperationRef<'c, 'o>,
    round: usize,
    index: usize,
    stage: &'static Stage,
    run: &'s Run<'s, 'c>,
    target: Target,
}

impl<'c> Stepper<'_, 'c, '_> {
    /// Runs the stage, in one form, on a module whose fingerprint is `now`; returns that of what it leaves.
    fn run(&self, form: Form, now: u64) -> Result<u64, PassError<'c>> {
        let Self { module, round, index, stage, .. } = *self;
        let pipeline = match index {
            0 if is_flat(module) => TIDY.to_owned(),
            _ => stage
                .pipeline
                .replace("$chunk", &form.chunk.to_string())
                .replace("$moves", &form.moves.to_string())
                .replace("$windows", &form.windows.to_string())
                .replace("$target", self.target.name()),
        };
        let changes_before = changes();
        (self.run)(module, Step { round, stage: index, pipeline: &pipeline })?;
        // Our own passes say whether they changed something.
        let unchanged = !stage.tidy.is_empty() && changes() == changes_before;
        debug_assert!(!unchanged || fingerprint(module) == now, "{} changed what it did not say", stage.name);
        if unchanged {
            return Ok(now);
        }
        if !stage.tidy.is_empty() {
            (self.run)(module, Step { round, stage: index, pipeline: stage.tidy })?;
        }
        Ok(fingerprint(module))
    }

    /// Runs the stage in several forms, and leaves of each function the form that costs least: the fastest of those whose
    /// peak is the least, or nearly.
    fn best_of(
        &self,
        mut forms: Search,
        now: u64,
        snapshots: &Snapshots<'c, '_>,
        rule: Rule<'_>,
    ) -> Result<u64, PassError<'c>> {
        let mut found: HashMap<String, (Operation<'c>, Cost)> = HashMap::new();
        let mut too_slow = None;
        while let Some(form) = forms.next(too_slow) {
            too_slow = Some(false);
            if self.run(form, now)? == now {
                continue;
            }
            for function in functions(self.module).collect::<Vec<_>>() {
                let name = name_of(function);
                let Some(last) = snapshots.get(&name) else { continue };
                if last.fingerprint() == fingerprint(function) {
                    continue;
                }
                let cost = Cost::of(function, self.target);
                if cost.is_some_and(|cost| rule.is_too_dear(&name, &cost)) {
                    too_slow = Some(true);
                }
                if let Some(cost) = cost
                    && rule.keeps(self.stage.judge, &name, last.cost.as_ref(), Some(&cost))
                    && found.get(&name).is_none_or(|(_, best)| rule.prefers(&cost, best))
                {
                    found.insert(name, (copy_of(function), cost));
                }
                put_in_place(function, copy_of(last.copy()));
            }
        }
        if found.is_empty() {
            return Ok(now);
        }
        for function in functions(self.module).collect::<Vec<_>>() {
            if let Some((best, _)) = found.remove(&name_of(function)) {
                put_in_place(function, best);
            }
        }
        Ok(fingerprint(self.module))
    }
}

/// Whether one form of a function is better than another: it needs less, or as good as no more and takes less time.
fn costs_less(one: &Cost, other: &Cost) -> bool {
    let (least, most) = (one.peak().min(other.peak()), one.peak().max(other.peak()));
    if most <= with_slack(least) { one.seconds < other.seconds } else { one.peak() < other.peak() }
}

/// Functions after the first stage. If that changed nothing, they are as in `original`, the copy of the module as it came,
/// and cost as much as before.
fn first<'c: 'o, 'o>(
    module: OperationRef<'c, '_>,
    original: Option<OperationRef<'c, 'o>>,
    rule: Rule<'_>,
) -> Snapshots<'c, 'o> {
    let Some(original) = original else {
        let snapshot = |function| (name_of(function), Snapshot::of(function, rule.target));
        return functions(module).map(snapshot).collect();
    };
    functions(original)
        .map(|function| {
            let name = name_of(function);
            let cost = rule.originals.get(&name).copied().flatten();
            let copy = Copied::Original(function);
            (name, Snapshot { copy, fingerprint: OnceCell::new(), cost })
        })
        .collect()
}

/// Keeps or takes back what a stage did to each function; true if something was taken back.
fn settle<'c, 'o>(
    stepper: &Stepper<'_, 'c, '_>,
    snapshots: &mut Snapshots<'c, 'o>,
    rule: Rule<'_>,
    observe: &mut dyn FnMut(&Event<'_>),
) -> bool {
    let Stepper { round, stage, target, .. } = *stepper;
    let mut now = Snapshots::with_capacity(snapshots.len());
    let mut taken_back = false;
    let functions: Vec<OperationRef> = functions(stepper.module).collect();
    // Something has changed: where there is one function, that.
    let alone = functions.len() == 1;
    for function in functions {
        let name = name_of(function);
        let Some(last) = snapshots.remove(&name) else {
            now.insert(name, Snapshot::of(function, target));
            continue;
        };
        let changed = OnceCell::new();
        if !alone && last.fingerprint() == *changed.get_or_init(|| fingerprint(function)) {
            now.insert(name, last);
            continue;
        }
        let after = Cost::of(function, target);
        let kept = rule.keeps(stage.judge, &name, last.cost.as_ref(), after.as_ref());
        observe(&Event { round, stage, function: &name, before: last.cost, after, kept });
        if kept {
            let copy = Copied::Own(copy_of(function));
            now.insert(name, Snapshot { copy, fingerprint: changed, cost: after });
        } else {
            put_in_place(function, copy_of(last.copy()));
            now.insert(name, last);
            taken_back = true;
        }
    }
    *snapshots = now;
    taken_back
}

/// Whether there is nothing to inline, and no function that only others of the module call.
fn is_flat(module: OperationRef<'_, '_>) -> bool {
    let mut flat = functions(module).all(is_public);
    walk(module, |op| {
        flat &= op_name(op) != "func.call";
        if flat { WalkResult::Advance } else { WalkResult::Interrupt }
    });
    flat
}

const NO_INLINE: &str = "no_inline";
/// Says that [`NO_INLINE`] was set here.
const MARK: &str = "slimhlo.annotated";
const VISIBILITY: &str = "sym_visibility";
/// Says that a function was private, and what else its visibility was.
const PRIVATE: &str = "slimhlo.private";

/// While the stages run, keeps functions and calls that carry annotations which inlining would lose from the inliner, and
/// an entry function from removal: to MLIR a private `@main` that nobody calls is dead, and some producers write it so. Where
/// nothing is public, nothing is known to be dead. False if nothing had to be marked.
fn mark(module: OperationRef<'_, '_>) -> bool {
    let mut marked = false;
    let unit = Attribute::unit(context_of(module));
    let none_public = !functions(module).any(is_public);
    for function in functions(module) {
        // What is only declared may not be public.
        let has_body = function.region(0).ok().and_then(|region| region.first_block()).is_some();
        if has_body
            && (none_public || name_of(function) == "main")
            && let Some(visibility) = ffi::attribute_of(function, VISIBILITY)
        {
            set_attribute(function, PRIVATE, visibility);
            remove_attribute(function, VISIBILITY);
            marked = true;
        }
    }
    walk(module, |op| {
        let lost = match op_name(op) {
            "func.func" => has_annotations(op, "arg_attrs") || has_annotations(op, "res_attrs"),
            "func.call" => op.discardable_attribute_count() > 0,
            _ => false,
        };
        if lost && ffi::attribute_of(op, NO_INLINE).is_none() {
            set_attribute(op, NO_INLINE, unit);
            set_attribute(op, MARK, unit);
            marked = true;
        }
        WalkResult::Advance
    });
    marked
}

/// Undoes [`mark`]; false if nothing was marked.
fn unmark(module: OperationRef<'_, '_>) -> bool {
    let mut unmarked = false;
    walk(module, |op| {
        if remove_attribute(op, MARK) {
            remove_attribute(op, NO_INLINE);
            unmarked = true;
        }
        if let Some(visibility) = ffi::attribute_of(op, PRIVATE) {
            set_attribute(op, VISIBILITY, visibility);
            remove_attribute(op, PRIVATE);
            unmarked = true;
        }
        WalkResult::Advance
    });
    unmarked
}

/// Whether an argument or result of a function says more than where it came from.
fn has_annotations(function: OperationRef<'_, '_>, name: &str) -> bool {
    const NAMES_ONLY: [&str; 2] = ["jax.arg_info", "jax.result_info"];
    let Some(all) = ffi::attribute_of(function, name).and_then(|all| ArrayAttribute::try_from(all).ok())
    else {
        return false;
    };
    (0..all.len()).filter_map(|index| DictionaryAttribute::try_from(all.element(index).ok()?).ok()).any(
        |attributes| {
            let names_only = NAMES_ONLY.iter().filter(|name| ffi::attribute_in(attributes, name).is_some());
            attributes.len() > names_only.count()
        },
    )
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
