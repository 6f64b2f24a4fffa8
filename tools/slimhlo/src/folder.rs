// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `slimhlo report FOLDER`: the modules that the PJRT layer has kept (`SLIMHLO_DUMP`), or any others, one line each.
//!
//! `NAME-before.mlir` and `NAME-after.mlir` are one program.

use crate::diagnostics::Diagnostics;
use crate::module::{self, Input};
use crate::output::{self, Target};
use crate::{InputArgs, json};
use anyhow::{Context, Result, ensure};
use console::style;
use serde::Serialize;
use slimhlo_report::profile::{Footprint, Profile};
use slimhlo_report::text;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A program of the folder; figures are nothing where there is no such module, or none that can be read and modelled.
#[derive(Default, Serialize)]
struct Program {
    /// The file's name, without what tells before from after.
    name: String,
    /// The module as it came.
    before: Option<Footprint>,
    /// What slimhlo made of it.
    after: Option<Footprint>,
    /// Why a figure is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Listing<'a> {
    /// [`json::VERSION`]
    version: u32,
    /// The folder.
    input: String,
    /// The largest first.
    programs: &'a [Program],
}

/// Reports of each module in `folder` whose name ends in `.mlir`. Fails after the list if there is one without figures.
pub fn report(folder: &Path, args: &InputArgs, json: Option<&Target>, quiet: bool) -> Result<ExitCode> {
    let programs = programs(folder, args, quiet)?;
    if let Some(json) = json {
        let input = folder.display().to_string();
        let listing = Listing { version: json::VERSION, input, programs: &programs };
        output::write(json, &json::print(&listing)?)?;
    }
    if !quiet && json != Some(&Target::Stdout) {
        output::write(&Target::Stdout, table(&programs).as_bytes())?;
    }
    let failed = programs.iter().any(|program| program.why.is_some());
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn programs(folder: &Path, args: &InputArgs, quiet: bool) -> Result<Vec<Program>> {
    let what = || format!("cannot read {}", folder.display());
    let entries: Vec<PathBuf> = fs::read_dir(folder)
        .with_context(what)?
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<_>>()
        .with_context(what)?;
    let mut found: BTreeMap<String, Program> = BTreeMap::new();
    for path in entries.iter().filter(|path| path.extension().is_some_and(|end| end == "mlir")) {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let (name, is_after) = match (stem.strip_suffix("-before"), stem.strip_suffix("-after")) {
            (None, Some(name)) => (name, true),
            (name, _) => (name.unwrap_or(&stem), false),
        };
        let program = found.entry(name.to_owned()).or_default();
        program.name = name.to_owned();
        match footprint(path, args, quiet) {
            Ok(footprint) if is_after => program.after = Some(footprint),
            Ok(footprint) => program.before = Some(footprint),
            Err(error) => program.why = Some(format!("{error:#}")),
        }
    }
    ensure!(!found.is_empty(), "there is no file in {} whose name ends in .mlir", folder.display());
    let mut programs: Vec<Program> = found.into_values().collect();
    programs
        .sort_by_key(|program| std::cmp::Reverse(peak(program.before.as_ref().or(program.after.as_ref()))));
    Ok(programs)
}

fn footprint(path: &Path, args: &InputArgs, quiet: bool) -> Result<Footprint> {
    let input = Input::open(Some(path))?;
    let context = module::context(args.allow_unregistered_dialect);
    let diagnostics = Diagnostics::attach(&context);
    let module = input.parse(&context, &diagnostics, quiet)?;
    let profile = Profile::of(module.as_operation(), args.target);
    diagnostics.print(input.text(), quiet);
    Ok(profile?.footprint)
}

fn peak(footprint: Option<&Footprint>) -> Option<u64> {
    footprint.map(|footprint| footprint.peak)
}

fn table(programs: &[Program]) -> String {
    let bytes = |peak: Option<u64>| peak.map_or_else(String::new, text::bytes);
    let row = |program: &Program| {
        let (before, after) = (peak(program.before.as_ref()), peak(program.after.as_ref()));
        let saved = match (before, after, &program.why) {
            (_, _, Some(why)) => text::printable(why),
            (Some(before), Some(after), None) => match before.checked_sub(after) {
                Some(saved) => format!("{} saved, {}", text::bytes(saved), text::share(saved, before)),
                None => format!("{} more", text::bytes(after - before)),
            },
            _ => String::new(),
        };
        vec![text::printable(&program.name), bytes(before), bytes(after), saved]
    };
    let mut rows = vec![["program", "peak before", "after", ""].map(String::from).to_vec()];
    rows.extend(programs.iter().map(row));
    format!("{}\n{}", style("Peaks, by the model of one device").bold(), text::table(&rows, &[1, 2]))
}
