// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The table of the page that has one row per line of source: what it holds at the peak, before and after.

use super::escape;
use crate::profile::Profile;
use crate::text;
use std::collections::BTreeMap;
use std::fmt::Write;

/// How many lines are listed.
const ROWS: usize = 60;

/// Bytes and values alive at the peak, before and after.
type Line = [(u64, usize); 2];

/// The table; nothing where no value says what line it comes from.
pub fn table(before: &Profile, after: Option<&Profile>) -> String {
    let mut lines: BTreeMap<String, Line> = BTreeMap::new();
    for (program, profile) in [Some(before), after].into_iter().flatten().enumerate() {
        for value in profile.at_peak() {
            let Some(source) = &value.source else { continue };
            let (bytes, count) =
                &mut lines.entry(format!("{}:{}", source.file, source.line)).or_default()[program];
            *bytes = bytes.saturating_add(value.bytes);
            *count += 1;
        }
    }
    if lines.is_empty() {
        return String::new();
    }
    let mut sorted: Vec<(String, Line)> = lines.into_iter().collect();
    sorted.sort_by_key(|(_, [before, after])| std::cmp::Reverse(before.0.max(after.0)));
    let more = sorted.len().saturating_sub(ROWS);
    let mut rows = String::new();
    for (line, [before, held]) in sorted.into_iter().take(ROWS) {
        let _ = write!(rows, "<tr><td><code>{}</code></td>{}", escape(&line), cells(before));
        if after.is_some() {
            rows.push_str(&cells(held));
        }
        rows.push_str("</tr>\n");
    }
    let heads = |when: &str| {
        format!(
            "<th scope=\"col\" class=\"number\">Bytes{when}</th><th scope=\"col\" class=\"number\">Values{when}</th>"
        )
    };
    let heads = match after {
        Some(_) => heads(" before") + &heads(" after"),
        None => heads(""),
    };
    let note = match more {
        0 => String::new(),
        more => format!("<p class=\"note\">And {} more lines.</p>\n", text::count(more as u64)),
    };
    format!(
        "<section aria-labelledby=\"lines-heading\">\n<h2 id=\"lines-heading\">By line of source, at the peak</h2>\n\
         <div class=\"scroll\"><table class=\"values sorts lines\">\n<thead><tr><th scope=\"col\">Line</th>{heads}</tr></thead>\n\
         <tbody>\n{rows}</tbody></table></div>\n{note}</section>\n"
    )
}

fn cells((bytes, count): (u64, usize)) -> String {
    format!(
        "<td class=\"number\" data-order=\"{bytes}\">{}</td><td class=\"number\" data-order=\"{count}\">{}</td>",
        text::bytes(bytes),
        text::count(count as u64)
    )
}
