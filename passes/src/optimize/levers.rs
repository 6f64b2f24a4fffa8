// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Levers: what the pipeline has to trade with, each a stage that people can switch off.

use super::stages::{STAGES, Stage};
use crate::framework::OptionValue;

/// Stages that are left out: `none`, or names of passes without `slimhlo-`, as in `rematerialize,offload`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Without(u128);

impl Without {
    /// Whether a stage, by its number, is left out as a whole.
    pub fn has(self, stage: usize) -> bool {
        self.has_form(stage, false) && (STAGES[stage].other.is_none() || self.has_form(stage, true))
    }

    /// Whether one form of a stage is left out: what is tried in its place, or else the stage itself.
    pub fn has_form(self, stage: usize, other: bool) -> bool {
        self.0 >> bit(stage, other) & 1 == 1
    }

    /// The same, and stages that use other memory than the device's.
    pub fn and_host(self) -> Self {
        self.and(|stage, _| stage.pipeline.contains("$room"))
    }

    /// The same, and stages that try something in their place, with that: all loops over chunks and slices of a batch.
    pub fn and_chunks(self) -> Self {
        self.and(|stage, _| stage.other.is_some() || stage.pipeline.contains("batch-slices"))
    }

    fn and(self, is_left_out: impl Fn(&Stage, bool) -> bool) -> Self {
        let left_out = forms().filter(|&(_, stage, other)| is_left_out(stage, other));
        Self(left_out.fold(self.0, |bits, (bit, ..)| bits | 1 << bit))
    }
}

/// The bit of a stage's form.
fn bit(stage: usize, other: bool) -> usize {
    const { assert!(2 * STAGES.len() <= u128::BITS as usize) };
    2 * stage + usize::from(other)
}

/// Each stage's form, and what is tried in its place: the bit, the stage, and whether it is the latter.
fn forms() -> impl Iterator<Item = (usize, &'static Stage, bool)> {
    STAGES.iter().enumerate().flat_map(|(number, stage)| {
        let other = stage.other.map(|_| true);
        [false].into_iter().chain(other).map(move |other| (bit(number, other), stage, other))
    })
}

/// What can be switched off: each stage's passes, and those that are tried in their place.
fn levers() -> impl Iterator<Item = (usize, &'static str)> {
    forms().filter_map(|(bit, stage, other)| {
        let pipeline = if other { stage.other? } else { stage.pipeline };
        Some((bit, lever_of(pipeline)?))
    })
}

/// What a pipeline is called when it is switched off: the last pass of ours that it runs, without `slimhlo-`.
fn lever_of(pipeline: &'static str) -> Option<&'static str> {
    let (_, name) = pipeline.rsplit_once("slimhlo-")?;
    let end = name.find(|letter: char| !letter.is_ascii_lowercase() && letter != '-');
    Some(&name[..end.unwrap_or(name.len())])
}

/// The names of all levers, each once.
fn names() -> Vec<&'static str> {
    let mut names: Vec<&str> = levers().map(|(_, name)| name).collect();
    names.sort_unstable();
    names.dedup();
    names
}

impl OptionValue for Without {
    fn value_name() -> String {
        "none|pass,...".into()
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut left_out = 0;
        for name in text.split(',').map(str::trim).filter(|name| !name.is_empty() && *name != "none") {
            if !names().contains(&name) {
                return Err(format!("'{name}' is none of {}", names().join(", ")));
            }
            for (bit, lever) in levers() {
                left_out |= u128::from(lever == name) << bit;
            }
        }
        Ok(Self(left_out))
    }

    fn print(&self) -> String {
        let left_out = levers().filter(|(bit, _)| self.0 >> bit & 1 == 1);
        let mut names: Vec<&str> = left_out.map(|(_, name)| name).collect();
        names.sort_unstable();
        names.dedup();
        if names.is_empty() { "none".into() } else { names.join(",") }
    }
}
