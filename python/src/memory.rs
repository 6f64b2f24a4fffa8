// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `slimhlo.report`: where a program's memory goes, by line of the user's source, and what rewriting saves.

use crate::{Error, Wanted};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use slimhlo_pjrt::optimizer::Source;
use slimhlo_pjrt::{mlir, optimizer};
use slimhlo_report::profile::Profile;
use slimhlo_report::{Findings, html, pipeline, text};
use std::collections::HashMap;

/// What a line of source holds at the peak; `slimhlo.Line` in Python.
#[pyclass(frozen, get_all, name = "Line", module = "slimhlo")]
#[derive(Clone)]
pub struct Line {
    /// The file as JAX has it; nothing for what has no line.
    file: Option<String>,
    /// From 1.
    line: Option<u64>,
    /// Bytes alive at the peak of the program as it came.
    before: u64,
    /// And at that of the program as slimhlo leaves it.
    after: u64,
}

#[pymethods]
impl Line {
    fn __repr__(&self) -> String {
        let place = match (&self.file, self.line) {
            (Some(file), Some(line)) => format!("{file}:{line}"),
            _ => "no line".into(),
        };
        format!("<{place}: {} -> {}>", text::bytes(self.before), text::bytes(self.after))
    }
}

/// Where a program's memory goes; `slimhlo.Memory` in Python. Figures are those of slimhlo's model of the target, in
/// bytes on one device. `str` is a table for a terminal, and notebooks show a page to explore.
#[pyclass(frozen, get_all, name = "Memory", module = "slimhlo")]
pub struct Memory {
    /// The module's name.
    name: String,
    /// The peak of the program as it came: arguments, results that do not lie in donated arguments, temporaries.
    before: u64,
    /// And as slimhlo leaves it.
    after: u64,
    /// What it was to need at most, in bytes.
    limit: Option<u64>,
    /// Whether that was reached.
    fits: Option<bool>,
    /// What any program with this signature takes.
    floor: u64,
    /// What each line of source holds at the peaks, the most first.
    lines: Vec<Line>,
    /// What each stage of the pipeline took off the peak, in bytes; negative if it added to it.
    stages: Vec<(String, i64)>,
    /// A table for a terminal.
    text: String,
    /// A page with everything in it.
    html: String,
}

#[pymethods]
impl Memory {
    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self) -> String {
        let Self { name, before, after, .. } = self;
        format!("<slimhlo.Memory {name}: {} -> {}>", text::bytes(*before), text::bytes(*after))
    }

    /// The page in a frame of its own: its styles and scripts are not the notebook's.
    fn _repr_html_(&self) -> String {
        let page = html::escape(&self.html);
        format!("<iframe srcdoc=\"{page}\" style=\"width: 100%; height: 45em; border: 0\"></iframe>")
    }
}

/// Looks at a program in any form that slimhlo reads, and at what the default pipeline makes of it. Other threads of
/// Python run meanwhile.
#[pyfunction]
pub fn report(py: Python<'_>, module: &[u8], options: Wanted, top: usize) -> PyResult<Memory> {
    let options = options.options()?.pipeline();
    let limit = options.memory_limit.map(|bytes| bytes.0);
    let module = Source::new(module);
    py.detach(|| {
        optimizer::with_module(module, move |context, module, said| {
            let name = mlir::name(module).unwrap_or_else(|| "a program".into());
            let before = Profile::of(module.as_operation(), options.target)
                .map_err(|why| format!("its memory cannot be modelled: {why}"))?;
            let done = pipeline::run(context, module, None, &options, Some(before.clone()), &());
            let (runs, after) = done.map_err(|error| said.first().unwrap_or_else(|| format!("{error:#}")))?;
            let after = after.ok_or("the memory of what came of it cannot be modelled")?;
            let findings = Findings {
                input: name.clone(),
                before: &before,
                after: Some(&after),
                runs: &runs,
                frontier: &[],
            };
            let page =
                html::page(&findings, &html::Section::default()).map_err(|error| format!("{error:#}"))?;
            let stages = pipeline::summary(&runs).0.into_iter();
            let stages = stages.filter_map(|run| Some((run.pass, run.saved.filter(|saved| *saved != 0)?)));
            Ok(Memory {
                before: before.footprint.peak,
                after: after.footprint.peak,
                limit,
                fits: limit.map(|limit| after.footprint.peak <= limit),
                floor: before.footprint.floor,
                lines: lines(&before, &after),
                stages: stages.collect(),
                text: text::report(&findings, top, 100, &|heading| heading),
                html: page,
                name,
            })
        })
    })
    .map_err(|why| if why.contains("panicked") { PyRuntimeError::new_err(why) } else { Error::new_err(why) })
}

/// What each line holds at the peaks, the most first.
fn lines(before: &Profile, after: &Profile) -> Vec<Line> {
    let mut lines: HashMap<Option<(String, u64)>, [u64; 2]> = HashMap::new();
    for (which, profile) in [before, after].into_iter().enumerate() {
        for value in profile.at_peak() {
            let place = value.source.as_ref().map(|source| (source.file.clone(), source.line));
            let bytes = &mut lines.entry(place).or_default()[which];
            *bytes = bytes.saturating_add(value.bytes);
        }
    }
    let line = |(place, [before, after]): (Option<(String, u64)>, [u64; 2])| {
        let (file, line) = place.unzip();
        Line { file, line, before, after }
    };
    let mut lines: Vec<Line> = lines.into_iter().map(line).collect();
    lines.sort_by(|a, b| {
        let most = |line: &Line| line.before.max(line.after);
        most(b).cmp(&most(a)).then_with(|| (&a.file, a.line).cmp(&(&b.file, b.line)))
    });
    lines
}
