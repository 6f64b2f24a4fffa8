// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! A progress bar on standard error, for work that takes long enough to wonder.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::Duration;

/// The bar. Nothing is drawn unless standard error is a terminal.
pub struct Progress(ProgressBar);

impl Progress {
    /// A bar that shows what is going on, before it is known how many passes there are.
    pub fn new(quiet: bool) -> Self {
        let visible = !quiet && std::io::stderr().is_terminal();
        let target = if visible { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(style("{spinner} {elapsed:>4} {msg}"));
        if visible {
            bar.enable_steady_tick(Duration::from_millis(250));
        }
        Self(bar)
    }

    /// Says what is going on.
    pub fn say(&self, message: impl Into<String>) {
        self.0.set_message(message.into());
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.0.finish_and_clear();
    }
}

impl slimhlo_report::pipeline::Progress for Progress {
    fn pass(&self, index: usize, count: usize, name: &str) {
        self.0.set_style(style("{spinner} {elapsed:>4} [{bar:30}] {pos}/{len} {msg}"));
        self.0.set_length(count as u64);
        self.0.set_position(index as u64);
        self.0.set_message(name.to_owned());
    }

    fn stage(&self, round: usize, index: usize, count: usize, name: &str) {
        self.pass(index, count, &if round == 1 { name.to_owned() } else { format!("{name}, round {round}") });
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ")
}
