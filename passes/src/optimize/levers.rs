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
        (0..STAGES[stage].pipelines().count()).all(|pipeline| self.has_form(stage, pipeline))
    }

    /// Whether one of a stage's pipelines is left out.
    pub fn has_form(self, stage: usize, pipeline: usize) -> bool {
        self.0 >> (first_bit(stage) + pipeline) & 1 == 1
    }

    /// The same, and stages that use other memory than the device's.
    pub fn and_host(self) -> Self {
        self.and(|stage| stage.pipeline.contains("$room"))
    }

    /// The same, and stages that slice a batch, with all that is tried in their place: all loops over chunks are.
    pub fn and_chunks(self) -> Self {
        self.and(|stage| stage.pipelines().any(|pipeline| pipeline.contains("batch-slices")))
    }

    fn and(self, is_left_out: impl Fn(&Stage) -> bool) -> Self {
        let left_out = forms().enumerate().filter(|(_, (stage, _))| is_left_out(stage));
        Self(left_out.fold(self.0, |bits, (bit, _)| bits | 1 << bit))
    }
}

/// The bit of a stage's own pipeline; those that are tried in its place have the next ones.
fn first_bit(stage: usize) -> usize {
    const { assert!(count() <= u128::BITS as usize) };
    STAGES[..stage].iter().map(|stage| 1 + stage.others.len()).sum()
}

/// How many pipelines all stages have.
const fn count() -> usize {
    let (mut count, mut stage) = (0, 0);
    while stage < STAGES.len() {
        count += 1 + STAGES[stage].others.len();
        stage += 1;
    }
    count
}

/// Each stage's pipelines, in the order of their bits.
fn forms() -> impl Iterator<Item = (&'static Stage, &'static str)> {
    STAGES.iter().flat_map(|stage| stage.pipelines().map(move |pipeline| (stage, pipeline)))
}

/// What can be switched off: each stage's passes, and those that are tried in their place.
fn levers() -> impl Iterator<Item = (usize, &'static str)> {
    forms().enumerate().filter_map(|(bit, (_, pipeline))| Some((bit, lever_of(pipeline)?)))
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
