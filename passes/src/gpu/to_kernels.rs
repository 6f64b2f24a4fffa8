// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-to-kernels`: from a StableHLO module to kernels and planned memory, in one step.
//!
//! Runs [`prepare`], forms kernels and plans buffers. Kernels update in place by themselves; where the arena is
//! nevertheless more than a [`TIGHT`]th of all memory, it does so once more after [`in_place`], which orders updates
//! and runs steps of donated fields a slab at a time, and keeps what that gives if it is smaller by as much: what
//! orders updates costs copies. Slabs are tried in several sizes ([`SLABS`]), and those of least bytes times seconds
//! are kept.
//!
//! Kernels that read the same are joined, which saves time; where one of them could have written over what it reads, it
//! takes memory. And a cheap value that many places need is stored, rather than computed at each. So kernels are formed
//! once more without the one ([`APART`]) and the other ([`LEAN`]), and kept if that is smaller by as much and takes at
//! most as long as [`Limit::Usual`] allows.
//!
//! If the arena is still large, other forms of the program are planned, too: values in chunks of several sizes
//! ([`CHUNKS`]), and what the default pipeline makes of it for this target, in its usual time and in `max-slowdown`. Each costs the bytes of its plan and the
//! estimated time of its kernels (`estimate.rs`). Of those that are smaller than the plan without them and take at most
//! `max-slowdown` times as long, the one whose bytes times seconds are least is kept: a tenth less memory is not worth
//! twice the time and thousands of launches. If none does, it is the fastest that takes half of the bytes or less,
//! unless that takes [`FAR`] times as long: memory is what this compiler is for.
//!
//! Chunks are first tried small. The sizes are around what the chip's second cache holds (50 MB on an H100): smaller ones mean more
//! launches, and what is larger than it saves less than it could. There are two ways of choosing what to chunk: by a
//! target's costs, and by thresholds, which cut more. For each, larger sizes are tried until one is within the limit
//! and no better than the best before it.

use super::form_kernels::{entry, for_one_partition};
use super::{TARGET, checked_target, estimate, target_around};
use crate::cost::{Cost, Limit};
use crate::framework::{
    Anchor, Bytes, Changed, OptionValue, Pass, PassContext, PassError, PassResult, Statistic, fingerprint,
};
use crate::rewrite::{borrowed, context_of, copy_of, move_body, remove_attribute, set_discardable_attribute};
use crate::target::{Rates, Target};
use melior::dialect::DialectRegistry;
use melior::ir::OperationRef;
use melior::ir::attribute::StringAttribute;
use melior::ir::operation::Operation;
use slimhlo_dialect::ffi::attribute_of;

/// What runs before kernels are formed, in MLIR's textual form, on a module.
///
/// Indices of gathers are not shared: kernels compute them on the fly.
fn prepare(target: Target) -> String {
    format!(
        "inline,func.func(canonicalize,cse),symbol-dce,func.func(slimhlo-simplify,canonicalize,cse,\
         slimhlo-scatter-to-update,canonicalize,cse,slimhlo-dus-to-pad,canonicalize,cse,slimhlo-coalesce-pads,\
         canonicalize,cse,slimhlo-recompute-residuals{{target={target}}},canonicalize,cse)"
    )
}

/// What may make updates happen in place that do not otherwise, with slabs of so many bytes.
fn in_place(target: Target, slabs: Bytes) -> String {
    let slabs = slabs.to_string();
    format!("func.func(slimhlo-inplace-updates{{target={target} chunk-bytes={slabs}}},canonicalize,cse)")
}

/// Sixteenths of the chip's second cache that slabs of the sizes that are tried have: 4, 16, 64 and 256 MiB for an
/// H100. Smaller ones take less memory, larger ones fewer launches; `cargo xtask bench choices` shows both for each. A
/// slab is a whole row of the first dimension at least: of fields whose rows are 10 MiB, as `halo_step`'s, the cache
/// holds hardly more, and launches for each row are a third of the step's time.
const SLABS: [u64; 4] = [1, 4, 16, 64];

/// Sixteenths of a chip's second cache, which is rounded up to a power of two; an H100's 50 MB to 64 MiB.
fn of_cache(target: Target, sixteenths: u64) -> Bytes {
    let cache = target.rates().map_or(1 << 26, |rates| rates.cache);
    Bytes((cache.next_power_of_two() / 16 * sixteenths).max(LEAST_CHUNK))
}

/// Bytes of the smallest chunk: with less to move, a kernel takes no longer than it takes to start it.
const LEAST_CHUNK: u64 = 1 << 20;

/// The share of all memory that it has to save.
const TIGHT: u64 = 100;

/// The share of all memory above which an arena is large.
const LARGE: u64 = 5;
/// And its bytes: less is not worth another form of the program.
const LEAST: u64 = 4 << 20;

/// Of forms whose bytes times seconds differ by less than this factor the faster one is kept, which launches less: the
/// estimate knows no better.
const EVEN: f64 = 1.02;

/// How many times as long a program may take in any form, whatever it saves: a choice, as `max-slowdown` is.
const FAR: f64 = 8.0;

/// How chunks are chosen (by thresholds or by the target's costs), and sixteenths of the chip's second cache that the
/// temporaries of one have, about.
const CHUNKS: [(bool, [u64; 3]); 2] = [(false, [1, 4, 16]), (true, [2, 4, 8])];

/// The default pipeline, for our kernels, within a bound of time.
fn default_pipeline(target: Target, limit: Limit) -> String {
    let limit = limit.print();
    format!("slimhlo-optimize{{target={target} max-slowdown={limit}}},func.func(canonicalize,cse)")
}

crate::pass_options! {
    /// Lower a module to kernels with planned memory.
    ///
    /// Inlines and simplifies, lets updates happen in place, splits the program into kernels (`slimhlo-form-kernels`)
    /// and says where each value lies (`slimhlo-plan-buffers`). Where much of the memory is temporary, other forms of
    /// the program are planned as well, with large values in chunks or as the default pipeline has it, and of all whose
    /// time is near that of the first the one with least bytes times seconds is kept.
    ///
    /// ```sh
    /// slimhlo-opt --slimhlo-to-kernels in.mlir
    /// ```
    pub struct ToKernels {
        /// Plan other forms of the program, too, and keep what costs least: values in chunks, and what the default
        /// pipeline makes of it.
        stream: bool = true,
        /// Which of our own kernels' targets it is for: kernels is an H100, kernels-sm_80 an A100, and so on. The module
        /// says so from then on (`slimhlo.target`), if it is not the first.
        target: Target = Target::kernels(),
        /// How much the temporaries of one chunk may take, about; none tries several.
        chunk_bytes: Option<Bytes> = None,
        /// How many times as long as the plan without other forms the program may take, by an estimate; usual is 1.25
        /// where the arena at least halves, and else 1.05.
        max_slowdown: Limit = Limit::Times(2.0),
    }
}

const REFORMED: Statistic =
    Statistic::new(c"num-reformed", c"programs that run in another form, such as in chunks");

/// Forms kernels and plans their memory.
const LOWER: &str = "slimhlo-form-kernels,slimhlo-plan-buffers";
/// The same, with kernels left apart.
const APART: &str = "slimhlo-form-kernels{apart=true},slimhlo-plan-buffers";
/// And with as little stored as can be; `cargo xtask bench choices` shows what other prices of a byte give.
const LEAN: &str = "slimhlo-form-kernels{stored-byte=64},slimhlo-plan-buffers";

/// The cost of a planned module.
fn planned<'c>(module: OperationRef<'c, '_>) -> Result<Cost, PassError<'c>> {
    estimate::cost(module, target_around(module))
        .ok_or_else(|| PassError::new("cannot tell what memory is planned"))
}

/// What of two forms of a program the better one has less of: bytes times seconds.
fn weight(cost: &Cost) -> f64 {
    cost.peak() as f64 * cost.seconds
}

/// Whether enough of a program's memory is temporary to look for another plan.
fn is_tight(cost: &Cost) -> bool {
    cost.footprint.temporaries > cost.peak() / TIGHT
}

/// Whether a plan is smaller than another by what counts.
fn saves(now: &Cost, plain: &Cost) -> bool {
    now.peak().saturating_add(plain.peak() / TIGHT) < plain.peak()
}

/// A form of the program: what kernels are formed of, with its memory planned, and what that costs.
struct Form<'c> {
    made: Operation<'c>,
    planned: Operation<'c>,
    cost: Cost,
}

/// Forms kernels of what is `made` in the other ways. Leaves in the module what is best, and says what that costs.
fn form_again<'c>(
    module: OperationRef<'c, '_>,
    context: &PassContext<'_>,
    made: Operation<'c>,
    cost: Cost,
) -> Result<(Operation<'c>, Cost), PassError<'c>> {
    let mut found = (made, cost);
    for lower in [APART, LEAN] {
        let other = Other { lower, limit: Limit::Usual };
        if is_tight(&found.1)
            && let Some(better) = improve(module, context, &found.0, &found.1, &other)?
        {
            found = better;
        }
    }
    Ok(found)
}

/// Has what is `prepared` update in place, if the plan is smaller then. Leaves in the module what is best, and says
/// what that is made of and what it costs.
fn update_in_place<'c>(
    module: OperationRef<'c, '_>,
    context: &PassContext<'_>,
    prepared: Operation<'c>,
    plain: Cost,
) -> Result<(Operation<'c>, Cost), PassError<'c>> {
    let mut planned_now = copy_of(module);
    let mut found: Option<(Operation<'c>, Cost)> = None;
    let mut before = fingerprint(borrowed(&prepared));
    let target = target_around(module);
    for slabs in SLABS.map(|sixteenths| of_cache(target, sixteenths)) {
        move_body(module, copy_of(borrowed(&prepared)));
        context.run_pipeline(module, &in_place(target, slabs))?;
        // Nothing changes, or the same as with smaller ones.
        let after = fingerprint(module);
        if after == before {
            continue;
        }
        before = after;
        let made = copy_of(module);
        context.run_pipeline(module, LOWER)?;
        let now = planned(module)?;
        if saves(&now, &plain) && found.as_ref().is_none_or(|(_, best)| weight(&now) < weight(best)) {
            planned_now = copy_of(module);
            found = Some((made, now));
        }
    }
    move_body(module, planned_now);
    Ok(found.unwrap_or((prepared, plain)))
}

/// Another way to lower what is prepared.
struct Other {
    lower: &'static str,
    limit: Limit,
}

/// Lowers what is `prepared` in another way. If that is smaller than what is in the module, leaves it there, and says
/// what it was made of and what it costs.
fn improve<'c>(
    module: OperationRef<'c, '_>,
    context: &PassContext<'_>,
    prepared: &Operation<'c>,
    plain: &Cost,
    other: &Other,
) -> Result<Option<(Operation<'c>, Cost)>, PassError<'c>> {
    let formed = copy_of(module);
    move_body(module, copy_of(borrowed(prepared)));
    let made = copy_of(module);
    context.run_pipeline(module, other.lower)?;
    let now = planned(module)?;
    if saves(&now, plain) && other.limit.allows(plain, &now) {
        return Ok(Some((made, now)));
    }
    move_body(module, formed);
    Ok(None)
}

impl ToKernels {
    /// Says in the module which chip its kernels are for, unless it does or that is the usual one.
    fn note_target<'c>(&self, module: OperationRef<'c, '_>) -> Result<Target, PassError<'c>> {
        if !self.target.is_kernels() {
            return Err(PassError::at(module, format!("'{}' is no target of our own kernels", self.target)));
        }
        let is_usual =
            |rates: &Rates| Target::kernels().rates().is_some_and(|usual| std::ptr::eq(rates, usual));
        if !self.target.rates().is_some_and(is_usual) {
            let name = StringAttribute::new(context_of(module), self.target.name());
            set_discardable_attribute(module, TARGET, name.into());
        }
        checked_target(module)
    }

    /// Plans other forms of a program, of which `prepared` is what kernels are formed of, and the module what they
    /// are, at `plain` cost. Leaves in the module the one that costs least.
    fn reform<'c>(
        &self,
        module: OperationRef<'c, '_>,
        context: &PassContext<'_>,
        prepared: &Operation<'c>,
        plain: Cost,
    ) -> Result<(), PassError<'c>> {
        let formed = copy_of(module);
        let before = fingerprint(borrowed(prepared));
        let mut best: Option<Form<'c>> = None;
        let mut fastest: Option<Form<'c>> = None;
        // Whether larger chunks are of no use: it is within the time, and they have not been better.
        let mut attempt = |pipeline: &str| -> Result<bool, PassError<'c>> {
            move_body(module, copy_of(borrowed(prepared)));
            context.run_pipeline(module, pipeline)?;
            if fingerprint(module) == before {
                return Ok(false);
            }
            let made = copy_of(module);
            context.run_pipeline(module, LOWER)?;
            let cost = planned(module)?;
            let now = Form { made, planned: copy_of(module), cost };
            let allowed = self.max_slowdown.allows(&plain, &cost);
            let is_smaller = cost.peak().saturating_add(plain.peak() / TIGHT) < plain.peak();
            let is_better = best.as_ref().is_none_or(|best| {
                let faster = if cost.seconds < best.cost.seconds { EVEN } else { 1.0 };
                weight(&cost) < faster * weight(&best.cost)
            });
            let halves = cost.peak() <= plain.peak() / 2 && cost.seconds <= FAR * plain.seconds;
            if allowed && is_smaller && is_better {
                best = Some(now);
            } else if halves && fastest.as_ref().is_none_or(|fastest| cost.seconds < fastest.cost.seconds) {
                fastest = Some(now);
            }
            Ok(allowed && !(is_smaller && is_better))
        };
        let target = target_around(module);
        for (by_cost, sizes) in CHUNKS {
            let how = if by_cost { target } else { Target::xla_cpu() };
            let mut sizes = match self.chunk_bytes {
                Some(size) => vec![size],
                None => sizes.map(|sixteenths| of_cache(target, sixteenths)).to_vec(),
            };
            sizes.dedup();
            for size in sizes {
                let chunk = size.to_string();
                let stream = format!(
                    "func.func(slimhlo-stream{{target={how} chunk-bytes={chunk} settle=false}},canonicalize,cse)"
                );
                if attempt(&stream)? {
                    break;
                }
            }
        }
        // What takes longer may take much less: bytes times seconds tell.
        attempt(&default_pipeline(target, Limit::Usual))?;
        if self.max_slowdown.most() > Limit::Usual.most() {
            attempt(&default_pipeline(target, self.max_slowdown))?;
        }
        let chosen = best.or(fastest);
        context.count(&REFORMED, u64::from(chosen.is_some()));
        let Some(chosen) = chosen else {
            move_body(module, formed);
            return Ok(());
        };
        move_body(module, chosen.planned);
        form_again(module, context, chosen.made, chosen.cost).map(|_| ())
    }
}

impl Pass for ToKernels {
    const ARGUMENT: &'static str = "slimhlo-to-kernels";
    const ANCHOR: Anchor = Anchor::Module;
    const STATISTICS: &'static [Statistic] = &[REFORMED];

    fn dependent_dialects(registry: &DialectRegistry) {
        // The default pipeline asks this pass in turn.
        let others = [Self::ARGUMENT, crate::optimize::Optimize::ARGUMENT];
        for pass in crate::passes().iter().filter(|pass| !others.contains(&pass.argument)) {
            (pass.dependent_dialects)(registry);
        }
    }

    fn run<'c>(&self, module: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        let main = entry(module)?;
        if attribute_of(main, "slimhlo.arena").is_some() {
            return Ok(Changed::No);
        }
        // Before the work, too.
        for_one_partition(module)?;
        let target = self.note_target(module)?;
        // To MLIR a private function that nobody calls is dead.
        remove_attribute(main, "sym_visibility");
        context.run_pipeline(module, &prepare(target))?;
        let mut prepared = copy_of(module);
        context.run_pipeline(module, LOWER)?;
        let mut plain = planned(module)?;
        if is_tight(&plain) {
            (prepared, plain) = update_in_place(module, context, prepared, plain)?;
        }
        (prepared, plain) = form_again(module, context, prepared, plain)?;
        if self.stream && plain.footprint.temporaries > LEAST.max(plain.peak() / LARGE) {
            self.reform(module, context, &prepared, plain)?;
        }
        Ok(Changed::Yes)
    }
}
