// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Runs passes, with the memory model asked after each, so that it is known what each saves.
//!
//! By default that is what `--slimhlo-optimize` does, stage by stage, round by round. A pipeline that the user gives is run
//! one pass at a time: MLIR prints what it consists of, pipelines inside of it unfolded, and that text is cut into one
//! pipeline per pass: `builtin.module(a,func.func(b,c))` becomes `a`, `func.func(b)` and `func.func(c)`. Passes on functions
//! see nothing outside of theirs, so it makes no difference that `b` has run on all functions before `c` runs on the first.

use crate::ffi;
use crate::profile::Profile;
use crate::text;
use anyhow::{Context as _, Result, anyhow, bail};
use melior::Context;
use melior::ir::operation::{OperationLike, WalkOrder, WalkResult};
use melior::ir::{Module, OperationRef};
use melior::pass::PassManager;
use melior::utility::parse_pass_pipeline;
use serde::Serialize;
use slimhlo_passes::framework::statistic_total;
use slimhlo_passes::optimize::{Event, Optimize, STAGES, Step, Tried, optimize_once, search};
use slimhlo_passes::target::Target;
use slimhlo_passes::{PassError, PassInfo, Statistic};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Instant;

/// What `slimhlo optimize` runs unless told otherwise.
pub const DEFAULT: &str = "slimhlo-optimize";

/// Whoever wants to know how far passes are.
pub trait Progress {
    /// Pass `index` of `count` begins.
    fn pass(&self, index: usize, count: usize, name: &str);
    /// Stage `index` of `count` in a round begins; how many rounds there will be is not known.
    fn stage(&self, round: usize, index: usize, count: usize, name: &str);
}

/// Nobody does.
impl Progress for () {
    fn pass(&self, _: usize, _: usize, _: &str) {}
    fn stage(&self, _: usize, _: usize, _: usize, _: &str) {}
}

/// Counters that are not 0, by pass and name.
pub type Statistics = BTreeMap<String, BTreeMap<String, u64>>;

/// What one pass, or one stage of [`DEFAULT`], did.
#[derive(Clone, Debug, Serialize)]
pub struct PassRun {
    /// The pass's argument, or the stage's name.
    pub pass: String,
    /// What was run, with options.
    pub pipeline: String,
    /// Of a stage: how often all stages had run before, plus one.
    pub round: Option<usize>,
    /// Of a stage: how many functions it changed for the worse, and that were put back as they were.
    pub taken_back: u64,
    /// Modelled peak before the pass, in bytes; nothing if the module is beyond the model.
    pub peak_before: Option<u64>,
    /// And after it.
    pub peak_after: Option<u64>,
    /// What the pass took off the peak, in bytes; negative if it added to it.
    pub saved: Option<i64>,
    /// Ops that the module has more, or less, after the pass.
    pub ops_added: i64,
    /// Wall time without that of the model.
    pub seconds: f64,
    /// What was counted, over all functions.
    pub statistics: Statistics,
}

impl PassRun {
    /// Whether anything that is measured differs.
    pub fn did_something(&self) -> bool {
        self.saved.unwrap_or(0) != 0
            || self.ops_added != 0
            || self.taken_back > 0
            || !self.statistics.is_empty()
    }

    /// What was counted, for people: `7 pads, 2 functions put back`.
    pub fn did(&self) -> String {
        let counters = self.statistics.values().flatten().map(|(name, count)| {
            let name = name.trim_start_matches("num-").replace('-', " ");
            format!("{} {name}", text::count(*count))
        });
        let back = (self.taken_back > 0).then(|| format!("{} functions put back", self.taken_back));
        counters.chain(back).collect::<Vec<_>>().join(", ")
    }
}

/// What people want to know of the runs: those of one stage in all rounds added up, and those that did nothing left out.
/// Also returns how many did nothing.
pub fn summary(runs: &[PassRun]) -> (Vec<PassRun>, usize) {
    let mut rows: Vec<PassRun> = Vec::new();
    for run in runs {
        let same = |row: &&mut PassRun| run.round.is_some() && row.round.is_some() && row.pass == run.pass;
        let Some(row) = rows.iter_mut().find(same) else {
            rows.push(run.clone());
            continue;
        };
        row.taken_back += run.taken_back;
        row.saved = row.saved.zip(run.saved).map(|(all, more)| all.saturating_add(more));
        row.ops_added += run.ops_added;
        row.seconds += run.seconds;
        for (pass, counters) in &run.statistics {
            let all = row.statistics.entry(pass.clone()).or_default();
            for (name, count) in counters {
                *all.entry(name.clone()).or_default() += count;
            }
        }
    }
    let all = rows.len();
    rows.retain(PassRun::did_something);
    let idle = all - rows.len();
    (rows, idle)
}

/// Follows a module from pass to pass.
struct Watch {
    runs: Vec<PassRun>,
    target: Target,
    profile: Option<Profile>,
    ops: u64,
    /// What has run and is not in `runs` yet.
    open: Option<Open>,
}

struct Open {
    pass: String,
    pipeline: String,
    round: Option<usize>,
    taken_back: u64,
    seconds: f64,
    counted: Statistics,
    /// Whether the module may be another now.
    changed: bool,
}

impl Watch {
    fn new(module: OperationRef<'_, '_>, before: Option<Profile>, target: Target) -> Self {
        Self { runs: Vec::new(), target, profile: before, ops: count_ops(module), open: None }
    }

    /// Looks at what has come of the last pass.
    fn settle(&mut self, module: OperationRef<'_, '_>) {
        let Some(open) = self.open.take() else { return };
        let ops_after = count_ops(module);
        let after = if open.changed || ops_after != self.ops {
            Profile::of(module, self.target).ok()
        } else {
            self.profile.clone()
        };
        let peak_of = |profile: &Option<Profile>| profile.as_ref().map(|profile| profile.footprint.peak);
        let (peak_before, peak_after) = (peak_of(&self.profile), peak_of(&after));
        self.runs.push(PassRun {
            pass: open.pass,
            pipeline: open.pipeline,
            round: open.round,
            taken_back: open.taken_back,
            peak_before,
            peak_after,
            saved: peak_before.zip(peak_after).map(|(before, after)| difference(before, after)),
            ops_added: difference(ops_after, self.ops),
            seconds: open.seconds,
            statistics: since(&open.counted),
        });
        (self.profile, self.ops) = (after, ops_after);
    }
}

/// Runs the passes of `text`, or else [`DEFAULT`] with `options`, on the module; returns what each did, and the profile at the end.
/// `before` is that of the module as it is.
///
/// # Errors
/// A pass failed, or `text` is no pipeline of passes on a module.
pub fn run(
    context: &Context,
    module: &Module<'_>,
    text: Option<&str>,
    options: &Optimize,
    before: Option<Profile>,
    progress: &dyn Progress,
) -> Result<(Vec<PassRun>, Option<Profile>)> {
    let module = module.as_operation();
    let watch = match text {
        Some(text) => {
            let mut watch = Watch::new(module, before, options.target);
            run_each(context, module, text, &mut watch, progress)?;
            watch
        }
        // Of several attempts what the one that is kept did.
        None => {
            let tried = Tried::default();
            search(module, options, &tried, |module, options| {
                let watch = Watch::new(module, before.clone(), options.target);
                run_stages(context, module, (options, &tried), watch, progress)
            })?
        }
    };
    Ok((watch.runs, watch.profile))
}

/// [`DEFAULT`], once.
fn run_stages(
    context: &Context,
    module: OperationRef<'_, '_>,
    (options, tried): (&Optimize, &Tried),
    watch: Watch,
    progress: &dyn Progress,
) -> Result<Watch> {
    let watch = RefCell::new(watch);
    let run = |op: OperationRef<'_, '_>, step: Step<'_>| {
        let stage = &STAGES[step.stage];
        let mut watch = watch.borrow_mut();
        let round = Some(step.round + 1);
        let goes_on = |open: &Open| open.round == round && open.pass == stage.name;
        let first = !watch.open.as_ref().is_some_and(goes_on);
        if first {
            watch.settle(op);
            progress.stage(step.round + 1, step.stage, STAGES.len(), stage.name);
        }
        let counted = counters();
        let start = Instant::now();
        let passes = format!("builtin.module({})", step.pipeline);
        let manager = PassManager::new(context);
        parse_pass_pipeline(manager.as_operation_pass_manager(), &passes)?;
        if !ffi::run(&manager, op) {
            return Err(PassError::reported(format!("'{}' failed", step.pipeline)));
        }
        let seconds = start.elapsed().as_secs_f64();
        match watch.open.as_mut().filter(|_| !first) {
            Some(open) => {
                // Its last parenthesis closes the module's.
                open.pipeline.pop();
                open.pipeline += &format!(",{})", step.pipeline);
                open.seconds += seconds;
            }
            None => {
                watch.open = Some(Open {
                    pass: stage.name.to_owned(),
                    pipeline: passes,
                    round,
                    taken_back: 0,
                    seconds,
                    counted,
                    // What comes first is not observed.
                    changed: step.round + step.stage == 0,
                });
            }
        }
        Ok(())
    };
    let mut observe = |event: &Event<'_>| {
        if let Some(open) = watch.borrow_mut().open.as_mut() {
            open.taken_back += u64::from(!event.kept);
            open.changed |= event.kept;
        }
    };
    optimize_once(module, options, tried, &run, &mut observe).map_err(|error| anyhow!("{error}"))?;
    let mut watch = watch.into_inner();
    watch.settle(module);
    // What is done at the very end belongs to no stage; most often nothing.
    watch.open = Some(Open {
        pass: "the module as a whole".into(),
        pipeline: String::new(),
        round: None,
        taken_back: 0,
        seconds: 0.0,
        counted: counters(),
        changed: true,
    });
    watch.settle(module);
    if watch.runs.last().is_some_and(|run| !run.did_something()) {
        watch.runs.pop();
    }
    Ok(watch)
}

/// A pipeline that the user gives.
fn run_each(
    context: &Context,
    module: OperationRef<'_, '_>,
    text: &str,
    watch: &mut Watch,
    progress: &dyn Progress,
) -> Result<()> {
    let passes = passes(context, text)?;
    let count = passes.len();
    for (index, pass) in passes.into_iter().enumerate() {
        progress.pass(index, count, &pass.name);
        let manager = PassManager::new(context);
        parse_pass_pipeline(manager.as_operation_pass_manager(), &pass.pipeline)
            .with_context(|| format!("cannot read '{}', as MLIR prints it", pass.pipeline))?;
        let counted = counters();
        let start = Instant::now();
        if !ffi::run(&manager, module) {
            bail!("'{}' failed", pass.name);
        }
        watch.open = Some(Open {
            pass: pass.name,
            pipeline: pass.pipeline,
            round: None,
            taken_back: 0,
            seconds: start.elapsed().as_secs_f64(),
            counted,
            changed: true,
        });
        watch.settle(module);
    }
    Ok(())
}

/// `from - to`, at the ends of the range if it is beyond them.
pub fn difference(from: u64, to: u64) -> i64 {
    i64::try_from(i128::from(from) - i128::from(to)).unwrap_or(if from > to { i64::MAX } else { i64::MIN })
}

/// Totals of all counters in this process.
fn counters() -> Statistics {
    let of_pass = |info: &PassInfo| {
        let total = |statistic: &Statistic| statistic_total(info.name, statistic);
        info.statistics.iter().map(|each| (each.name.to_string_lossy().into_owned(), total(each))).collect()
    };
    slimhlo_passes::passes().iter().map(|info| (info.argument.to_owned(), of_pass(info))).collect()
}

/// What was counted after `before`.
fn since(before: &Statistics) -> Statistics {
    let mut counted = counters();
    for (pass, counters) in &mut counted {
        let before = before.get(pass);
        counters.retain(|name, total| {
            *total -= before.and_then(|before| before.get(name)).copied().unwrap_or(0);
            *total > 0
        });
    }
    counted.retain(|_, counters| !counters.is_empty());
    counted
}

fn count_ops(module: OperationRef<'_, '_>) -> u64 {
    let mut count = 0;
    module.walk(WalkOrder::PreOrder, |_| {
        count += 1;
        WalkResult::Advance
    });
    // The module itself is none of its ops.
    count - 1
}

/// One pass of a pipeline.
#[derive(Debug, PartialEq, Eq)]
struct Single {
    name: String,
    pipeline: String,
}

/// The passes of a pipeline in the order they run.
fn passes(context: &Context, text: &str) -> Result<Vec<Single>> {
    let manager = PassManager::new(context);
    let text = text.trim();
    // `cse,inline` for `builtin.module(cse,inline)`, as on mlir-opt's command line.
    let anchored = text.starts_with("builtin.module") || text.starts_with("any(");
    let whole = if anchored { text.to_owned() } else { format!("builtin.module({text})") };
    parse_pass_pipeline(manager.as_operation_pass_manager(), &whole).map_err(|error| match error {
        melior::Error::ParsePassPipeline(message) => anyhow!("{}", message.trim_end()),
        other => anyhow!(other),
    })?;
    let printed = ffi::pipeline(&manager.as_operation_pass_manager());
    if !printed.starts_with("builtin.module(") && !printed.starts_with("any(") {
        bail!("the pipeline must run on 'builtin.module', not '{printed}'");
    }
    let mut passes = Vec::new();
    cut(&printed, "", "", &mut passes)
        .map(|()| passes)
        .with_context(|| format!("cannot take '{printed}' apart"))
}

/// Appends the passes of a list of passes and nested pipelines; `open` and `close` are what is around it.
fn cut(list: &str, open: &str, close: &str, passes: &mut Vec<Single>) -> Result<()> {
    for element in elements(list)? {
        let name_end = element.find(['(', '{']).unwrap_or(element.len());
        match element[name_end..].chars().next() {
            Some('(') => {
                let inner = element[name_end + 1..].strip_suffix(')').context("a parenthesis is missing")?;
                let open = format!("{open}{}(", &element[..name_end]);
                cut(inner, &open, &format!("){close}"), passes)?;
            }
            _ => passes.push(Single {
                name: element[..name_end].trim().to_owned(),
                pipeline: format!("{open}{element}{close}"),
            }),
        }
    }
    Ok(())
}

/// Splits at the commas that are inside of nothing.
fn elements(list: &str) -> Result<Vec<&str>> {
    let mut elements = Vec::new();
    let (mut start, mut depth, mut quote) = (0usize, 0usize, None);
    for (at, character) in list.char_indices() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(character),
            (None, '(' | '{') => depth += 1,
            (None, ')' | '}') => {
                depth = depth.checked_sub(1).context("a bracket is closed that was not opened")?
            }
            (None, ',') if depth == 0 => {
                elements.push(list[start..at].trim());
                start = at + 1;
            }
            (None, _) => {}
        }
    }
    if depth > 0 {
        bail!("a bracket is not closed");
    }
    elements.push(list[start..].trim());
    elements.retain(|element| !element.is_empty());
    Ok(elements)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut_all(list: &str) -> Vec<(String, String)> {
        let mut passes = Vec::new();
        cut(list, "", "", &mut passes).expect("well-formed");
        passes.into_iter().map(|pass| (pass.name, pass.pipeline)).collect()
    }

    #[test]
    fn nested_pipelines_are_cut_into_passes() {
        let cut =
            cut_all("builtin.module(inline{default-pipeline=a(b),c x=2},func.func(cse,p{l=1,2}),any(q))");
        let expected = [
            ("inline", "builtin.module(inline{default-pipeline=a(b),c x=2})"),
            ("cse", "builtin.module(func.func(cse))"),
            ("p", "builtin.module(func.func(p{l=1,2}))"),
            ("q", "builtin.module(any(q))"),
        ];
        assert_eq!(cut, expected.map(|(name, pipeline)| (name.to_owned(), pipeline.to_owned())));
    }

    #[test]
    fn nothing_and_nonsense() {
        assert!(cut_all("builtin.module()").is_empty());
        assert!(elements("a(").is_err());
        assert!(elements("a)").is_err());
        assert_eq!(elements("a{s='x,}y'},b").expect("quoted"), ["a{s='x,}y'}", "b"]);
    }
}
