// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//! Plain tables for people.

use console::{Alignment, measure_text_width, pad_str};

/// Renders rows under a header; the first column and those named by `text` start at the left, numbers end at
/// the right. Cells may carry colours.
pub fn render(header: &[&str], text: &[usize], rows: &[Vec<String>]) -> String {
    let widths: Vec<usize> = header
        .iter()
        .enumerate()
        .map(|(column, title)| {
            let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| measure_text_width(cell));
            cells.chain([measure_text_width(title)]).max().unwrap_or(0)
        })
        .collect();
    let line = |cells: Vec<&str>| {
        let padded: Vec<_> = cells
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(column, (cell, &width))| {
                let left = column == 0 || text.contains(&column);
                pad_str(cell, width, if left { Alignment::Left } else { Alignment::Right }, None).into_owned()
            })
            .collect();
        format!("{}\n", padded.join("  ").trim_end())
    };
    let mut out = line(header.to_vec());
    out.push_str(&format!("{}\n", "-".repeat(widths.iter().sum::<usize>() + 2 * (widths.len().max(1) - 1))));
    for row in rows {
        out.push_str(&line(row.iter().map(String::as_str).collect()));
    }
    out
}
