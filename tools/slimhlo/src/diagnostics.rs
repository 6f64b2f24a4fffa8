// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! MLIR's diagnostics, printed the way MLIR's own tools do: `file:line:column: error: ...`, with the line.

use console::style;
use melior::Context;
use melior::diagnostic::{Diagnostic, DiagnosticSeverity};
use slimhlo_report::source::{self, Source};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::sync::{Arc, Mutex, PoisonError};

/// How much of a line is shown; constants make lines of any length.
const WINDOW: usize = 160;

/// A diagnostic that has been taken from MLIR.
struct Message {
    severity: &'static str,
    source: Option<Source>,
    text: String,
    notes: Vec<Message>,
}

impl Message {
    fn new(diagnostic: &Diagnostic<'_>) -> Self {
        Self {
            severity: match diagnostic.severity() {
                DiagnosticSeverity::Error => "error",
                DiagnosticSeverity::Warning => "warning",
                DiagnosticSeverity::Remark => "remark",
                DiagnosticSeverity::Note => "note",
            },
            source: source::of(diagnostic.location()),
            text: slimhlo_forms::text_of(diagnostic),
            notes: (0..diagnostic.note_count())
                .filter_map(|index| diagnostic.note(index).ok())
                .map(|note| Self::new(&note))
                .collect(),
        }
    }
}

/// Collects what a context diagnoses until it is printed, so that it does not mix with a progress bar.
#[derive(Clone, Default)]
pub struct Diagnostics(Arc<Mutex<Vec<Message>>>);

impl Diagnostics {
    /// Takes all diagnostics of the context from now on.
    pub fn attach(context: &Context) -> Self {
        let all = Self::default();
        let sink = all.clone();
        context.attach_diagnostic_handler(move |diagnostic| {
            let message = Message::new(&diagnostic);
            sink.0.lock().unwrap_or_else(PoisonError::into_inner).push(message);
            true
        });
        all
    }

    /// Prints what has been collected to standard error. `stdin` is the text of a module that was read from there;
    /// with `quiet`, only errors are shown. Returns whether there was an error.
    pub fn print(&self, stdin: Option<&[u8]>, quiet: bool) -> bool {
        let messages = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for message in messages.iter().filter(|message| !quiet || message.severity == "error") {
            print(message, stdin);
        }
        messages.iter().any(|message| message.severity == "error")
    }
}

impl Diagnostics {
    /// Runs `work` and takes back what is diagnosed meanwhile. Also returns the text and the place of its first error.
    pub fn during<T>(&self, work: impl FnOnce() -> T) -> (T, Option<(String, Option<Source>)>) {
        let all = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = all().len();
        let done = work();
        let new = all().split_off(before);
        let error = new.into_iter().find(|message| message.severity == "error");
        (done, error.map(|message| (message.text, message.source)))
    }
}

fn print(message: &Message, stdin: Option<&[u8]>) {
    let severity = style(message.severity).for_stderr().bold();
    let severity = match message.severity {
        "error" => severity.red(),
        "warning" => severity.magenta(),
        _ => severity.cyan(),
    };
    match &message.source {
        Some(source) => {
            let place = if source.file == "-" {
                format!("<stdin>:{}:{}", source.line, source.column)
            } else {
                source.to_string()
            };
            eprintln!("{}: {severity}: {}", style(place).for_stderr().bold(), message.text);
            if let Some((line, column)) = excerpt(source, stdin) {
                eprintln!("  {line}\n  {}{}", " ".repeat(column), style("^").for_stderr().green().bold());
            }
        }
        None => eprintln!("{severity}: {}", message.text),
    }
    for note in &message.notes {
        print(note, stdin);
    }
}

/// The line of a place, and how many columns before its character. Nothing for bytecode, or a file that is not at hand.
fn excerpt(source: &Source, stdin: Option<&[u8]>) -> Option<(String, usize)> {
    let index = usize::try_from(source.line).ok()?.checked_sub(1)?;
    let line = match stdin {
        Some(text) if source.file == "-" => text.split(|byte| *byte == b'\n').nth(index)?.to_vec(),
        _ => BufReader::new(File::open(&source.file).ok()?).split(b'\n').nth(index)?.ok()?,
    };
    let line = String::from_utf8(line).ok()?;
    let line = line.trim_end();
    // MLIR counts bytes.
    let at = usize::try_from(source.column).ok()?.checked_sub(1)?.min(line.len());
    let before = line.get(..at)?.chars().count();
    let start = before.saturating_sub(WINDOW / 2);
    let shown: String = line
        .chars()
        .skip(start)
        .take(WINDOW)
        .map(|character| if character.is_control() { ' ' } else { character })
        .collect();
    Some((shown, before - start))
}
