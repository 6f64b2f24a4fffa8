// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What people read in a terminal: amounts, tables, and the memory over the program as a picture.

use crate::Findings;
use crate::pipeline::{PassRun, summary};
use crate::profile::Profile;
use crate::source::Source;
use console::{measure_text_width, pad_str, truncate_str};
use std::env;
use std::fmt::Write;
use std::path::Path;

/// An amount of memory with three significant digits, such as `1.25 GiB`.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if count < 1024 {
        return format!("{count} B");
    }
    let mut amount = count as f64 / 1024.0;
    let mut unit = 0;
    // What would be rounded to four digits belongs to the next unit.
    while amount >= 999.5 && unit + 1 < UNITS.len() {
        amount /= 1024.0;
        unit += 1;
    }
    let decimals = if amount < 9.995 {
        2
    } else if amount < 99.95 {
        1
    } else {
        0
    };
    format!("{amount:.decimals$} {}", UNITS[unit])
}

/// [`bytes`] with a sign where it is negative.
pub fn signed_bytes(count: i64) -> String {
    let sign = if count < 0 { "-" } else { "" };
    format!("{sign}{}", bytes(count.unsigned_abs()))
}

/// `part` of `whole`, such as `12 %`.
pub fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return String::new();
    }
    let percent = part as f64 * 100.0 / whole as f64;
    if percent > 0.0 && percent < 1.0 { "<1 %".into() } else { format!("{percent:.0} %") }
}

/// Peak over floor; a dash where the floor is nothing.
pub fn ratio(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "-".into(), |ratio| format!("{ratio:.3}"))
}

/// A number with its thousands apart.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A line of the user's source; the path is made shorter where it is below the current folder.
pub fn place(source: Option<&Source>) -> String {
    let Some(source) = source else { return String::new() };
    let here = env::current_dir().ok();
    let below = here.as_deref().and_then(|here| Path::new(&source.file).strip_prefix(here).ok());
    let file = below.map_or_else(|| source.file.clone(), |below| below.display().to_string());
    format!("{}:{}", printable(&file), source.line)
}

/// Without characters that could steer a terminal.
pub fn printable(text: &str) -> String {
    text.chars().map(|character| if character.is_control() { '\u{fffd}' } else { character }).collect()
}

/// A table with aligned columns. Those whose index is in `right` hold numbers.
pub fn table(rows: &[Vec<String>], right: &[usize]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| measure_text_width(cell)).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::from(" ");
        for (column, cell) in row.iter().enumerate().filter(|(column, _)| widths[*column] > 0) {
            let side =
                if right.contains(&column) { console::Alignment::Right } else { console::Alignment::Left };
            let _ = write!(line, " {} ", pad_str(cell, widths[column], side, None));
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// Totals, before and after where there is an after.
pub fn footprints(before: &Profile, after: Option<&Profile>) -> String {
    let (b, a) = (&before.footprint, after.map(|after| &after.footprint));
    let row = |name: &str, of: &dyn Fn(&crate::profile::Footprint) -> String| {
        let mut row = vec![name.to_owned(), of(b)];
        row.extend(a.map(of));
        row
    };
    let mut rows = vec![];
    if a.is_some() {
        rows.push(["", "before", "after"].map(String::from).to_vec());
    }
    rows.push(row("arguments", &|f| bytes(f.arguments)));
    rows.push(row("results", &|f| bytes(f.results)));
    if b.aliased > 0 || a.is_some_and(|a| a.aliased > 0) {
        rows.push(row("of these in donated arguments", &|f| bytes(f.aliased)));
    }
    rows.push(row("temporaries", &|f| bytes(f.temporaries)));
    rows.push(row("peak", &|f| bytes(f.peak)));
    rows.push(row("floor", &|f| bytes(f.floor)));
    rows.push(row("ratio, peak to floor", &|f| ratio(f.ratio)));
    if b.collectives.is_some() {
        rows.push(row("collectives of a device", &|f| f.collectives.map_or_else(String::new, count)));
        rows.push(row("received from other devices", &|f| f.received.map_or_else(String::new, bytes)));
    }
    if let (Some(row), Some(a)) = (rows.iter_mut().find(|row| row[0] == "peak"), a)
        && a.peak != b.peak
    {
        let saved = crate::pipeline::difference(b.peak, a.peak);
        let verb = if saved < 0 { "more" } else { "saved" };
        let percent = share(saved.unsigned_abs(), b.peak);
        row.push(format!("{} {verb}, {percent}", bytes(saved.unsigned_abs())));
    }
    table(&rows, &[1, 2])
}

/// What each pass did; those that changed nothing are only counted.
pub fn passes(runs: &[PassRun]) -> String {
    let (summary, idle) = summary(runs);
    let mut rows = vec![["pass", "saved", "ops", "what it did"].map(String::from).to_vec()];
    for run in &summary {
        rows.push(vec![
            run.pass.clone(),
            run.saved.map_or_else(String::new, signed_bytes),
            added(run.ops_added),
            run.did(),
        ]);
    }
    let mut text = if rows.len() > 1 { table(&rows, &[1, 2]) } else { String::new() };
    match (idle, rows.len()) {
        (0, _) => {}
        (_, 1) => text.push_str("  no pass changed anything\n"),
        (1, _) => text.push_str("  1 other pass changed nothing\n"),
        (idle, _) => {
            let _ = writeln!(text, "  {idle} other passes changed nothing");
        }
    }
    text
}

/// A difference with its sign; nothing if there is none.
pub fn added(number: i64) -> String {
    match number {
        0 => String::new(),
        1.. => format!("+{}", count(number.unsigned_abs())),
        _ => format!("-{}", count(number.unsigned_abs())),
    }
}

/// The largest of the values alive at the peak, with the lines they come from.
pub fn values(profile: &Profile, most: usize) -> String {
    let (values, peak, gaps) = (profile.at_peak(), profile.footprint.peak, profile.gaps());
    let mut rows = vec![["size", "of peak", "value", "made by", "type", "source"].map(String::from).to_vec()];
    for value in values.iter().take(most) {
        rows.push(vec![
            bytes(value.bytes),
            share(value.bytes, peak),
            truncate_str(&printable(&value.name), 24, "...").into_owned(),
            match value.kind {
                crate::profile::ValueKind::Argument => "(argument)".into(),
                crate::profile::ValueKind::Result => format!("{} (result)", printable(&value.op)),
                crate::profile::ValueKind::Temporary => printable(&value.op),
            },
            truncate_str(&printable(&value.ty), 44, "...").into_owned(),
            printable(&value.origin(|source| place(Some(source)))),
        ]);
    }
    let mut text = table(&rows, &[0, 1]);
    if values.len() > most {
        let rest: u64 = values[most..].iter().map(|value| value.bytes).fold(0, u64::saturating_add);
        let _ =
            writeln!(text, "  and {} more of {} together", count((values.len() - most) as u64), bytes(rest));
    }
    if gaps > 0 {
        let _ = writeln!(text, "  and {} that packing them leaves between them", bytes(gaps));
    }
    text
}

/// Bytes alive over the program, as columns of blocks. `top` is the value at the upper edge.
pub fn chart(profile: &Profile, top: u64, width: usize, height: usize) -> String {
    const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let steps = &profile.steps;
    if steps.is_empty() || top == 0 {
        return "  no step of this program takes memory\n".into();
    }
    let width = width.max(1);
    // In eighths of a row; of the steps behind a column the highest counts.
    let eighths = |column: usize| {
        let from = column * steps.len() / width;
        let to = ((column + 1) * steps.len() / width).max(from + 1).min(steps.len());
        let live = steps[from..to].iter().map(|step| step.live).max().unwrap_or_default();
        (live as f64 / top as f64 * (height * 8) as f64).ceil() as usize
    };
    let levels: Vec<usize> = (0..width).map(eighths).collect();
    let margin = 10;
    let floor_row = (profile.footprint.floor as f64 / top as f64 * height as f64).ceil() as usize;
    let mut text = String::new();
    for row in (1..=height).rev() {
        let label = if row == height {
            bytes(top)
        } else if row == floor_row {
            "floor".into()
        } else {
            String::new()
        };
        let line: String =
            levels.iter().map(|level| BLOCKS[level.saturating_sub((row - 1) * 8).min(8)]).collect();
        let _ = writeln!(text, "{}", format!("{label:>margin$} ┤{line}").trim_end());
    }
    let _ = writeln!(text, "{:>margin$} └{}", "0", "─".repeat(width));
    let last = format!("step {}", count(steps.len() as u64));
    let _ = writeln!(text, "{:>margin$}  step 1{last:>1$}", "", width.saturating_sub(6));
    text
}

/// All of a report: totals, the memory over the program, what each pass saves, and at most `most` of the largest
/// values. `width` is that of the terminal in columns, `heading` makes a heading of a text.
pub fn report(
    findings: &Findings<'_>,
    most: usize,
    width: usize,
    heading: &dyn Fn(String) -> String,
) -> String {
    let Findings { input, before, after, runs, .. } = findings;
    let width = width.saturating_sub(16);
    let top = before.footprint.peak.max(after.map_or(0, |after| after.footprint.peak));
    let mut text = String::new();
    let mut add = |title: String, part: &str| {
        let _ = writeln!(text, "{}\n{part}", heading(title));
    };
    add(input.clone(), &footprints(before, *after));
    add("Memory over the program".into(), &chart(before, top, width, 10));
    if let Some(after) = after.filter(|after| after.footprint.peak != before.footprint.peak) {
        add("After optimization".into(), &chart(after, top, width, 10));
    }
    if after.is_some() {
        add("What each pass saves".into(), &passes(runs));
    }
    add(format!("Largest values alive at the peak{}", before.peak_place()), &values(before, most));
    if let Some(after) = after.filter(|after| after.footprint.peak != before.footprint.peak) {
        add(format!("And after optimization{}", after.peak_place()), &values(after, most.min(5)));
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts() {
        let cases = [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.00 KiB"),
            (1536, "1.50 KiB"),
            (1 << 20, "1.00 MiB"),
            ((1 << 20) - 1, "1.00 MiB"),
            (999 << 20, "999 MiB"),
            (1000 << 20, "0.98 GiB"),
            (96 << 30, "96.0 GiB"),
            (u64::MAX, "16.0 EiB"),
        ];
        for (number, text) in cases {
            assert_eq!(bytes(number), text);
        }
        assert_eq!(signed_bytes(-2048), "-2.00 KiB");
        assert_eq!(signed_bytes(i64::MIN), "-8.00 EiB");
        assert_eq!(
            (share(1, 3), share(1, 3000), share(0, 5), share(1, 0)),
            ("33 %".into(), "<1 %".into(), "0 %".into(), String::new())
        );
        assert_eq!(
            (count(7), count(1234), count(1_234_567)),
            ("7".into(), "1,234".into(), "1,234,567".into())
        );
    }

    #[test]
    fn tables_are_aligned() {
        let rows = [vec!["a".to_owned(), "1".to_owned()], vec!["bcd".to_owned(), "22".to_owned()]];
        assert_eq!(table(&rows, &[1]), "  a     1\n  bcd  22\n");
    }
}
