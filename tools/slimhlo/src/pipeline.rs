// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Runs a pipeline one pass at a time, with the memory model asked after each.
//!
//! MLIR prints what a pipeline consists of, pipelines inside of it unfolded. That text is cut into one pipeline per pass:
//! `builtin.module(a,func.func(b,c))` becomes `a`, `func.func(b)` and `func.func(c)`. Passes on functions see nothing
//! outside of theirs, so it makes no difference that `b` has now run on all functions before `c` runs on the first.

use crate::ffi;
use crate::profile::Profile;
use crate::progress::Progress;
use anyhow::{Context as _, Result, anyhow, bail};
use melior::Context;
use melior::ir::Module;
use melior::ir::operation::{OperationLike, WalkOrder, WalkResult};
use melior::pass::PassManager;
use melior::utility::parse_pass_pipeline;
use serde::Serialize;
use slimhlo_passes::framework::statistic_total;
use std::collections::BTreeMap;
use std::time::Instant;

/// What `slimhlo optimize` runs unless told otherwise.
pub const DEFAULT: &str = "builtin.module(inline,canonicalize,cse,func.func(slimhlo-dus-to-pad))";

/// What one pass did.
#[derive(Clone, Debug, Serialize)]
pub struct PassRun {
    /// The pass's argument.
    pub pass: String,
    /// A pipeline that runs just this pass, with its options.
    pub pipeline: String,
    /// Modelled peak before the pass, in bytes; nothing if the module is beyond the model.
    pub peak_before: Option<u64>,
    /// And after it.
    pub peak_after: Option<u64>,
    /// What the pass took off the peak, in bytes; negative if it added to it.
    pub saved: Option<i64>,
    /// Ops in the module before the pass.
    pub ops_before: u64,
    /// And after it.
    pub ops_after: u64,
    /// Wall time of the pass alone.
    pub seconds: f64,
    /// The pass's counters, summed over all functions; those that are 0 are left out.
    pub statistics: BTreeMap<String, u64>,
}

impl PassRun {
    /// Whether anything that is measured differs.
    pub fn did_something(&self) -> bool {
        self.saved.unwrap_or(0) != 0 || self.ops_before != self.ops_after || !self.statistics.is_empty()
    }
}

/// Runs the passes of `text` on the module; returns what each did, and the profile at the end. `before` is that of the
/// module as it is.
pub fn run(
    context: &Context,
    module: &mut Module<'_>,
    text: &str,
    before: Option<Profile>,
    progress: &Progress,
) -> Result<(Vec<PassRun>, Option<Profile>)> {
    let passes = passes(context, text)?;
    let mut runs = Vec::with_capacity(passes.len());
    let mut profile = before;
    let mut ops = count_ops(module);
    progress.passes(passes.len());
    for pass in passes {
        progress.pass(&pass.name);
        let manager = PassManager::new(context);
        parse_pass_pipeline(manager.as_operation_pass_manager(), &pass.pipeline)
            .with_context(|| format!("cannot read '{}', as MLIR prints it", pass.pipeline))?;
        let counted = counters(&pass.name);
        let start = Instant::now();
        manager.run(module).map_err(|_| anyhow!("'{}' failed", pass.name))?;
        let seconds = start.elapsed().as_secs_f64();
        let statistics = counters(&pass.name)
            .into_iter()
            .map(|(name, total)| (name.clone(), total - counted.get(&name).copied().unwrap_or(0)))
            .filter(|(_, count)| *count > 0)
            .collect();
        let after = Profile::of(module).ok();
        let ops_after = count_ops(module);
        let peak_of = |profile: &Option<Profile>| profile.as_ref().map(|profile| profile.footprint.peak);
        let (peak_before, peak_after) = (peak_of(&profile), peak_of(&after));
        runs.push(PassRun {
            pass: pass.name,
            pipeline: pass.pipeline,
            peak_before,
            peak_after,
            saved: peak_before.zip(peak_after).map(|(before, after)| difference(before, after)),
            ops_before: ops,
            ops_after,
            seconds,
            statistics,
        });
        (profile, ops) = (after, ops_after);
    }
    Ok((runs, profile))
}

/// `from - to`, at the ends of the range if it is beyond them.
pub fn difference(from: u64, to: u64) -> i64 {
    i64::try_from(i128::from(from) - i128::from(to)).unwrap_or(if from > to { i64::MAX } else { i64::MIN })
}

/// Totals of a pass's counters in this process.
fn counters(argument: &str) -> BTreeMap<String, u64> {
    let Some(info) = slimhlo_passes::passes().iter().find(|info| info.argument == argument) else {
        return BTreeMap::new();
    };
    let total = |statistic| statistic_total(info.name, statistic);
    info.statistics.iter().map(|each| (each.name.to_string_lossy().into_owned(), total(each))).collect()
}

fn count_ops(module: &Module<'_>) -> u64 {
    let mut count = 0;
    module.as_operation().walk(WalkOrder::PreOrder, |_| {
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
