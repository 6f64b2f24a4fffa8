// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! docs/passes.md, from the same descriptions that the help is made of.

use crate::framework::OptionInfo;
use crate::{Anchor, PassInfo, PipelineInfo};
use std::fmt::Write;

/// The whole document for these passes and pipelines.
pub fn markdown(passes: &[PassInfo], pipelines: &[PipelineInfo]) -> String {
    let mut text = String::from(
        "<!-- Made by `cargo run -p slimhlo-nvptx --bin pass-docs`; change the passes' doc comments instead. -->\n\n\
         # Passes\n",
    );
    let mut sorted: Vec<_> = passes.iter().collect();
    sorted.sort_by_key(|pass| pass.argument);
    for pass in sorted {
        let anchor = match pass.anchor {
            Anchor::Any => "any op".to_owned(),
            Anchor::Module | Anchor::Function => format!("`{}`", pass.anchor.op_name()),
        };
        let _ = write!(text, "\n## `--{}`\n\n{}\n\nRuns on {anchor}.\n", pass.argument, pass.docs);
        options(&mut text, &pass.options);
        if !pass.statistics.is_empty() {
            text.push_str("\n| statistic | counts |\n|---|---|\n");
            for statistic in pass.statistics {
                let (name, description) =
                    (statistic.name.to_string_lossy(), statistic.description.to_string_lossy());
                let _ = writeln!(text, "| `{name}` | {} |", cell(&description));
            }
        }
    }
    if !pipelines.is_empty() {
        text.push_str("\n# Pipelines\n");
        for pipeline in pipelines {
            let _ = write!(text, "\n## `--{}`\n\n{}\n", pipeline.argument, pipeline.docs);
            options(&mut text, &pipeline.options);
            if let Ok(passes) = pipeline.default_passes() {
                let _ = write!(text, "\nWith its defaults it stands for:\n\n```\n{passes}\n```\n");
            }
        }
    }
    text
}

fn options(text: &mut String, options: &[OptionInfo]) {
    if options.is_empty() {
        return;
    }
    text.push_str("\n| option | value | default | |\n|---|---|---|---|\n");
    for option in options {
        let default = if option.default.is_empty() { "empty" } else { &format!("`{}`", option.default) };
        let _ = writeln!(
            text,
            "| `{}` | {} | {default} | {} |",
            option.name,
            cell(&option.value_name),
            cell(&option.docs)
        );
    }
}

/// Text as the cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
