// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Runs a stage, in one form or in several, and keeps or takes back what it did to each function.

use super::levers::Without;
use super::rule::{Costs, Rule, SLACK};
use super::search::{Form, Outcome, Search};
use super::stages::{Judge, Stage, TIDY};
use super::tried::{Trial, Tried};
use super::{Event, Optimize, Run, Step};
use crate::cost::Cost;
use crate::framework::{PassError, changes, fingerprint};
use crate::functions::{functions, is_public, name_of};
use crate::late_gathers::joins_rows;
use crate::rewrite::{borrowed, copy_of, put_in_place, walk};
use crate::target::Target;
use melior::ir::operation::WalkResult;
use melior::ir::{Operation, OperationRef};
use slimhlo_dialect::ffi::op_name;
use std::cell::OnceCell;
use std::collections::HashMap;

/// A function as it is after the last stage that was kept.
pub(super) struct Snapshot<'c, 'o> {
    copy: Copied<'c, 'o>,
    /// Of the copy; most are never asked for.
    fingerprint: OnceCell<u64>,
    pub(super) cost: Option<Cost>,
}

/// A function's copy.
enum Copied<'c, 'o> {
    Own(Operation<'c>),
    /// In the copy of the module as it came.
    Original(OperationRef<'c, 'o>),
}

/// Functions of a module by name.
pub(super) type Snapshots<'c, 'o> = HashMap<String, Snapshot<'c, 'o>>;

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

/// Runs one stage.
pub(super) struct Stepper<'s, 'c, 'o> {
    pub(super) module: OperationRef<'c, 'o>,
    pub(super) round: usize,
    pub(super) index: usize,
    pub(super) stage: &'static Stage,
    pub(super) run: &'s Run<'s, 'c>,
    pub(super) options: &'s Optimize,
    /// What is left out.
    pub(super) without: Without,
    /// What has come of stages so far.
    pub(super) tried: &'s Tried,
}

impl<'c> Stepper<'_, 'c, '_> {
    /// Notes whether gradients beside gathered rows can be taken apart, where the stage does that.
    pub(super) fn look(&self) {
        if self.stage.pipeline.contains("$split") && functions(self.module).any(joins_rows) {
            self.tried.note_joined_rows();
        }
    }

    /// The stage in one form, on a module whose fingerprint is `now`.
    fn trial(&self, form: Form, now: u64) -> Trial {
        let Self { index, stage, .. } = *self;
        let pipeline = match index {
            0 if is_flat(self.module) => TIDY.to_owned(),
            _ => stage
                .pipelines()
                .nth(form.pipeline)
                .expect("forms are of the stage's pipelines")
                .replace("$chunk", &form.chunk.to_string())
                .replace("$moves", &form.moves.to_string())
                .replace("$sooner", &form.near_moves.to_string())
                .replace("$near", &form.near.to_string())
                .replace("$windows", &form.windows.to_string())
                .replace("$through", &form.through.to_string())
                .replace("$share", &form.share.to_string())
                .replace("$split", &self.options.split_gradients.to_string())
                .replace("$joined", &self.options.slices_of_joined.to_string())
                .replace("$room", &self.options.memory_limit.unwrap_or_default().to_string())
                .replace("$target", self.options.target.name()),
        };
        (index, pipeline, now)
    }

    /// Runs the stage, in one form, on a module whose fingerprint is `now`; returns that of what it leaves.
    pub(super) fn run(&self, form: Form, now: u64) -> Result<u64, PassError<'c>> {
        let trial = self.trial(form, now);
        if self.tried.is_idle(&trial) {
            return Ok(now);
        }
        let after = self.run_trial(&trial)?;
        if after == now {
            self.tried.note(trial, Vec::new());
        }
        Ok(after)
    }

    fn run_trial(&self, (_, pipeline, now): &Trial) -> Result<u64, PassError<'c>> {
        let Self { module, round, index, stage, .. } = *self;
        let changes_before = changes();
        (self.run)(module, Step { round, stage: index, pipeline })?;
        // Our own passes say whether they changed something.
        let unchanged = !stage.tidy.is_empty() && changes() == changes_before;
        debug_assert!(
            !unchanged || fingerprint(module) == *now,
            "{} changed what it did not say",
            stage.name
        );
        if unchanged {
            return Ok(*now);
        }
        if !stage.tidy.is_empty() {
            let tidy = stage.tidy.replace("$target", self.options.target.name());
            (self.run)(module, Step { round, stage: index, pipeline: &tidy })?;
        }
        Ok(fingerprint(module))
    }

    /// What the stage has to show for itself. The first one has nothing left to inline after the first round; what it then merges may be there
    /// for longer. It is judged as a whole run is: a second run starts with it, and is to change nothing.
    fn judge(&self) -> Judge {
        if self.index == 0 && self.round > 0 && is_flat(self.module) {
            Judge::Nearly
        } else {
            self.stage.judge
        }
    }

    /// Runs the stage in several forms, and leaves of each function the form that costs least: the fastest of those whose
    /// peak is the least, or nearly. Returns the fingerprint of what it leaves, and what functions that it changed cost.
    pub(super) fn best_of(
        &self,
        forms: Search,
        now: u64,
        snapshots: &Snapshots<'c, '_>,
        rule: Rule<'_>,
    ) -> Result<(u64, Costs), PassError<'c>> {
        let mut trials = Trials { stepper: self, now, snapshots, rule, found: HashMap::new() };
        for pipeline in 0..self.stage.pipelines().count() {
            if !self.without.has_form(self.index, pipeline) {
                trials.search(forms.clone(), pipeline)?;
            }
        }
        let mut found = trials.found;
        if found.is_empty() {
            return Ok((now, Costs::new()));
        }
        let mut costs = Costs::with_capacity(found.len());
        for function in functions(self.module).collect::<Vec<_>>() {
            if let Some((name, (best, cost))) = found.remove_entry(&name_of(function)) {
                put_in_place(function, best);
                costs.insert(name, Some(cost));
            }
        }
        Ok((fingerprint(self.module), costs))
    }
}

/// A stage's forms, as they are tried on a module.
struct Trials<'t, 'c, 'o> {
    stepper: &'t Stepper<'t, 'c, 'o>,
    /// The module's fingerprint.
    now: u64,
    snapshots: &'t Snapshots<'c, 'o>,
    rule: Rule<'t>,
    /// Of each function the form that costs least, if it is worth it.
    found: HashMap<String, (Operation<'c>, Cost)>,
}

impl<'c> Trials<'_, 'c, '_> {
    /// What is to be said of a form in which a function costs so much, and whether it is better than what was found
    /// before.
    fn judge(&self, name: &str, cost: &Cost) -> (Outcome, bool) {
        let Self { stepper, rule, .. } = self;
        let last = self.snapshots.get(name).and_then(|last| last.cost);
        let kept = rule.keeps(stepper.judge(), name, last.as_ref(), Some(cost));
        let outcome = match () {
            () if rule.is_too_dear(name, cost) => Outcome::TooDear,
            () if kept => Outcome::Allowed,
            () if last.is_some_and(|last| cost.peak() < last.peak()) => Outcome::Slow,
            () => Outcome::Useless,
        };
        (outcome, kept && self.found.get(name).is_none_or(|(_, best)| rule.prefers(cost, best)))
    }

    /// What is to be said of a form, if that is known and no function is to be had of it.
    fn foregone(&self, trial: &Trial) -> Option<Outcome> {
        let made = self.stepper.tried.of(trial)?;
        if made.is_empty() {
            return Some(Outcome::Unchanged);
        }
        let verdicts = made.iter().map(|(name, cost)| self.judge(name, cost));
        let mut came = Outcome::Useless;
        for (outcome, better) in verdicts {
            if better {
                return None;
            }
            came = came.max(outcome);
        }
        Some(came)
    }

    /// Runs one of the stage's pipelines in several forms, and notes of each function the form that costs least, if
    /// it is better than what was found before. Leaves all as it was.
    fn search(&mut self, mut forms: Search, pipeline: usize) -> Result<(), PassError<'c>> {
        let mut outcome = None;
        while let Some(form) = forms.next(outcome) {
            let trial = self.stepper.trial(Form { pipeline, ..form }, self.now);
            outcome = match self.foregone(&trial) {
                None => Some(self.run(trial)?),
                known => known,
            };
        }
        Ok(())
    }

    /// Runs the stage in one form.
    fn run(&mut self, trial: Trial) -> Result<Outcome, PassError<'c>> {
        let Stepper { module, options: &Optimize { target, .. }, tried, .. } = *self.stepper;
        if self.stepper.run_trial(&trial)? == self.now {
            tried.note(trial, Vec::new());
            return Ok(Outcome::Unchanged);
        }
        let mut came = Outcome::Useless;
        let (mut made, mut all_known) = (Vec::new(), true);
        let functions: Vec<OperationRef> = functions(module).collect();
        // Something has changed: where there is one function, that.
        let alone = functions.len() == 1;
        for function in functions {
            let name = name_of(function);
            let Some(last) = self.snapshots.get(&name) else {
                all_known = false;
                continue;
            };
            if !alone && last.fingerprint() == fingerprint(function) {
                continue;
            }
            match Cost::of(function, target) {
                Some(cost) => {
                    let (outcome, better) = self.judge(&name, &cost);
                    came = came.max(outcome);
                    made.push((name.clone(), cost));
                    if better {
                        self.found.insert(name, (copy_of(function), cost));
                    }
                }
                None => all_known = false,
            }
            put_in_place(function, copy_of(last.copy()));
        }
        if all_known && !made.is_empty() {
            tried.note(trial, made);
        }
        Ok(came)
    }
}

/// What all functions cost together: bytes and seconds.
pub(super) fn standing(snapshots: &Snapshots<'_, '_>) -> (u64, f64) {
    // In any order the same sum.
    let mut costs: Vec<_> = snapshots.values().filter_map(|snapshot| snapshot.cost).collect();
    costs.sort_by(|one, other| one.seconds.total_cmp(&other.seconds));
    let bytes = costs.iter().map(Cost::peak).fold(0, u64::saturating_add);
    (bytes, costs.iter().map(|cost| cost.seconds).sum())
}

/// Whether what all functions cost together differs by no more than a [`SLACK`]th.
pub(super) fn is_near((bytes, seconds): (u64, f64), (bytes_then, seconds_then): (u64, f64)) -> bool {
    bytes.abs_diff(bytes_then) <= bytes_then / SLACK
        && (seconds - seconds_then).abs() <= seconds_then / SLACK as f64
}

/// Functions after the first stage. If that changed nothing, they are as in `original`, the copy of the module as it came,
/// and cost as much as before.
pub(super) fn first<'c: 'o, 'o>(
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

/// Keeps or takes back what a stage did to each function, where `costs` already says what some cost; true if something was taken back.
pub(super) fn settle<'c, 'o>(
    stepper: &Stepper<'_, 'c, '_>,
    snapshots: &mut Snapshots<'c, 'o>,
    rule: Rule<'_>,
    costs: &Costs,
    observe: &mut dyn FnMut(&Event<'_>),
) -> bool {
    let Stepper { round, stage, options: &Optimize { target, .. }, .. } = *stepper;
    let judge = stepper.judge();
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
        let after = costs.get(&name).copied().unwrap_or_else(|| Cost::of(function, target));
        let kept = rule.keeps(judge, &name, last.cost.as_ref(), after.as_ref());
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
