// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What users are told: a line on standard error where a program goes on as it came because something went
//! wrong, and on demand what was done to each program, and the modules.

use crate::config::{Config, Summary};
use crate::decide::{Mode, Taken, Verdict};
use crate::optimizer::{Outcome, Report};
use serde::Serialize;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

/// A program that was compiled.
pub struct Program<'a> {
    /// What slimhlo did, if it was asked.
    pub rewrite: Option<(&'a Outcome, &'a Report)>,
    /// What came of it.
    pub verdict: &'a Verdict,
    /// When programs are optimized here.
    pub mode: Mode,
    /// Of the inner plugin: `cuda`.
    pub platform: &'a str,
    /// What it may take on a device, in bytes.
    pub limit: Option<u64>,
    /// What it takes as it came, by the plugin's count.
    pub before: Option<Taken>,
    /// And as slimhlo left it.
    pub after: Option<Taken>,
}

/// A line of the summary in a file. Bytes are on one device, and counted by the inner plugin, unless a name
/// says otherwise.
#[derive(Serialize)]
struct Line<'a> {
    program: &'a str,
    platform: &'a str,
    mode: &'a str,
    /// What was handed to the caller: `optimized`, or why not.
    outcome: &'a str,
    /// More about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
    limit: Option<u64>,
    before: Option<Bytes>,
    after: Option<Bytes>,
    /// The peak by slimhlo's model.
    modelled_before: Option<u64>,
    modelled_after: Option<u64>,
    /// What stages of the pipeline took off the modelled peak.
    stages: Vec<Stage<'a>>,
    /// What slimhlo took for it.
    seconds: Option<f64>,
}

#[derive(Serialize)]
struct Bytes {
    arguments: u64,
    results: u64,
    aliased: u64,
    temporaries: u64,
    total: u64,
}

#[derive(Serialize)]
struct Stage<'a> {
    stage: &'a str,
    saved: u64,
}

impl From<Taken> for Bytes {
    fn from(taken: Taken) -> Self {
        let Taken { arguments, results, aliased, temporaries } = taken;
        Self { arguments, results, aliased, temporaries, total: taken.total() }
    }
}

/// A program without a name.
const NAMELESS: &str = "a program";

impl Program<'_> {
    fn name(&self) -> &str {
        self.rewrite.and_then(|(_, report)| report.name.as_deref()).unwrap_or(NAMELESS)
    }

    /// A word for machines, and what there is to say beyond it.
    fn outcome(&self) -> (&'static str, Option<&str>) {
        match (self.verdict, self.rewrite) {
            (Verdict::Optimized, _) => ("optimized", None),
            (Verdict::Fits, _) => ("fits", None),
            (Verdict::Unknown, _) => ("unknown", Some("the plugin does not say what it takes, or may take")),
            (Verdict::NotSmaller, _) => ("not-smaller", None),
            (Verdict::Rejected(why), _) => ("rejected", Some(why)),
            (Verdict::NotCompiled(why), _) => ("not-compiled", Some(why)),
            (Verdict::Untouched, Some((Outcome::Failed(why), _))) => ("failed", Some(why)),
            (Verdict::Untouched, Some((Outcome::Small, _))) => ("small", None),
            (Verdict::Untouched, _) => ("unchanged", None),
        }
    }

    /// Tells the user.
    pub fn tell(&self, config: &Config) {
        if let ("failed" | "rejected", Some(why)) = self.outcome() {
            log(&format!("{} goes on as it came: {}", self.name(), one_line(why)));
        }
        match &config.summary {
            Summary::None => {}
            Summary::Stderr => log(&self.sentence()),
            Summary::File(path) => {
                if let Err(error) = self.append(path) {
                    log(&format!("cannot write the summary {}: {error}", path.display()));
                }
            }
        }
        if let (Some(folder), Some((_, report))) = (&config.dump, self.rewrite)
            && let Err(error) = dump(folder, self.name(), report)
        {
            log(&format!("cannot keep modules in {}: {error}", folder.display()));
        }
    }

    /// For people.
    fn sentence(&self) -> String {
        let total = |taken: Option<Taken>| taken.map_or_else(|| "?".into(), |taken| human(taken.total()));
        let mut text = format!("{} for {}: ", self.name(), self.platform);
        match (self.outcome(), self.before, self.after) {
            (("optimized", _), Some(before), after) => {
                text += &format!("{} -> {}", human(before.total()), total(after));
            }
            // Only the one was compiled.
            (("optimized", _), None, after) => text += &format!("optimized, {}", total(after)),
            (("not-smaller", _), before, after) => {
                text += &format!("{}, and {} optimized, so left as it came", total(before), total(after));
            }
            ((outcome, _), before, _) => text += &format!("{}, {outcome}", total(before)),
        }
        if let Some(limit) = self.limit {
            text += &format!(" of {}", human(limit));
        }
        if let Some((Outcome::Smaller(_), report)) = self.rewrite {
            let stages: Vec<String> =
                report.stages.iter().map(|(name, saved)| format!("{name} {}", human(*saved))).collect();
            let stages = if stages.is_empty() { "nothing at the peak".into() } else { stages.join(", ") };
            text += &format!("; saved by the model: {stages}; {:.2} s", report.seconds);
        }
        text
    }

    fn append(&self, path: &Path) -> io::Result<()> {
        let (outcome, why) = self.outcome();
        let report = self.rewrite.map(|(_, report)| report);
        let line = Line {
            program: self.name(),
            platform: self.platform,
            mode: self.mode.name(),
            outcome,
            why,
            limit: self.limit,
            before: self.before.map(Into::into),
            after: self.after.map(Into::into),
            modelled_before: report.and_then(|report| report.before),
            modelled_after: report.and_then(|report| report.after),
            stages: report
                .iter()
                .flat_map(|report| &report.stages)
                .map(|(stage, saved)| Stage { stage, saved: *saved })
                .collect(),
            seconds: report.map(|report| report.seconds),
        };
        let mut text = serde_json::to_string(&line)?;
        text.push('\n');
        // In one piece: several threads and processes may write to it.
        OpenOptions::new().create(true).append(true).open(path)?.write_all(text.as_bytes())
    }
}

/// Writes a line to standard error.
pub fn log(line: &str) {
    // Nobody is left to hear that nobody hears it.
    let _ = writeln!(io::stderr(), "slimhlo: {line}");
}

fn one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).take(2).collect::<Vec<_>>().join("; ")
}

/// `1.5 GiB`
fn human(bytes: u64) -> String {
    const UNITS: [(&str, u32); 3] = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    match UNITS.iter().find(|(_, shift)| bytes >> shift > 0) {
        Some((unit, shift)) => format!("{:.1} {unit}", bytes as f64 / (1u64 << shift) as f64),
        None => format!("{bytes} B"),
    }
}

/// Keeps the modules of a program: `<process>-<number>-<name>-before.mlir`, and `-after.mlir`.
fn dump(folder: &Path, name: &str, report: &Report) -> io::Result<()> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let Some((before, after)) = &report.text else { return Ok(()) };
    fs::create_dir_all(folder)?;
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let keep =
        |character: char| if character.is_ascii_alphanumeric() || character == '_' { character } else { '-' };
    let name: String = name.chars().take(100).map(keep).collect();
    let stem = format!("{}-{number:04}-{name}", process::id());
    let texts = [("before", Some(before)), ("after", after.as_ref())];
    for (which, text) in texts.into_iter().filter_map(|(which, text)| Some((which, text?))) {
        // Whole or not at all.
        let part = folder.join(format!("{stem}-{which}.part"));
        fs::write(&part, text)?;
        fs::rename(&part, folder.join(format!("{stem}-{which}.mlir")))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_for_people() {
        assert_eq!(human(1023), "1023 B");
        assert_eq!(human(1536), "1.5 KiB");
        assert_eq!(human(3 << 29), "1.5 GiB");
    }

    #[test]
    fn a_sentence_says_what_was_saved() {
        let taken = |temporaries| Some(Taken { temporaries, ..Taken::default() });
        let report = Report {
            name: Some("jit_f".into()),
            stages: vec![("chunks", 1 << 30)],
            seconds: 0.5,
            ..Report::default()
        };
        let outcome = Outcome::Smaller(Vec::new());
        let program = Program {
            rewrite: Some((&outcome, &report)),
            verdict: &Verdict::Optimized,
            mode: Mode::Needed,
            platform: "cuda",
            limit: Some(3 << 29),
            before: taken(2 << 30),
            after: taken(1 << 30),
        };
        assert_eq!(
            program.sentence(),
            "jit_f for cuda: 2.0 GiB -> 1.0 GiB of 1.5 GiB; saved by the model: chunks 1.0 GiB; 0.50 s"
        );
    }
}
