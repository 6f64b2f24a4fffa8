// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Levers: what the pipeline has to trade with, each a stage that people can switch off.

use super::stages::{STAGES, Stage};
use crate::framework::OptionValue;

/// Stages that are left out: `none`, or names of passes without `slimhlo-`, as in `rematerialize,offload`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Without(u32);

impl Without {
    /// Whether a stage, by its number, is left out.
    pub fn has(self, stage: usize) -> bool {
        self.0 >> stage & 1 == 1
    }

    /// The same, and stages that use other memory than the device's.
    pub(super) fn and_host(self) -> Self {
        let elsewhere = STAGES.iter().enumerate().filter(|(_, stage)| stage.pipeline.contains("$room"));
        Self(elsewhere.fold(self.0, |left_out, (number, _)| left_out | 1 << number))
    }
}

/// What a stage is called when it is switched off: the last pass of ours that it runs, without `slimhlo-`.
fn lever_of(stage: &Stage) -> Option<&'static str> {
    let (_, name) = stage.pipeline.rsplit_once("slimhlo-")?;
    let end = name.find(|letter: char| !letter.is_ascii_lowercase() && letter != '-');
    Some(&name[..end.unwrap_or(name.len())])
}

/// What can be switched off.
fn names() -> Vec<&'static str> {
    let mut names: Vec<&str> = STAGES.iter().filter_map(lever_of).collect();
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
            for (number, stage) in STAGES.iter().enumerate() {
                left_out |= u32::from(lever_of(stage) == Some(name)) << number;
            }
        }
        Ok(Self(left_out))
    }

    fn print(&self) -> String {
        let chosen = STAGES.iter().enumerate().filter(|(number, _)| self.has(*number));
        let mut names: Vec<&str> = chosen.filter_map(|(_, stage)| lever_of(stage)).collect();
        names.sort_unstable();
        names.dedup();
        if names.is_empty() { "none".into() } else { names.join(",") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lever_is_a_pass_and_all_stages_that_run_it() {
        let without = Without::parse("stream, rematerialize").expect("both are passes");
        assert_eq!(without.print(), "rematerialize,stream");
        let left_out = STAGES.iter().enumerate().filter(|(number, _)| without.has(*number));
        let names: Vec<_> = left_out.map(|(_, stage)| stage.name).collect();
        assert_eq!(names, ["chunks", "values again"]);
        // Both stages that order updates, with steps and without.
        let without = Without::parse("inplace-updates").expect("it is a pass");
        assert_eq!((0..STAGES.len()).filter(|number| without.has(*number)).count(), 2);
    }

    #[test]
    fn nothing_is_left_out_unless_it_is_named() {
        for text in ["", "none"] {
            assert_eq!(Without::parse(text), Ok(Without::default()));
        }
        assert_eq!(Without::default().print(), "none");
        let error = Without::parse("dus-to-pad,slab").unwrap_err();
        assert!(error.starts_with("'slab' is none of ") && error.contains("slabs"), "{error}");
    }
}
