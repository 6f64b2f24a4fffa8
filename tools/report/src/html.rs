// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! One page with everything in it.
//!
//! Tables are plain HTML, and readable without scripts. The picture is drawn by page/page.js from [`Data`], which stands in
//! the page as JSON. Long programs are thinned out: at most [`COLUMNS`] points in time, each the highest of the steps it
//! stands for, and at most [`DRAWN`] values, the rest in a few groups; the page says so where it happens.

mod frontier;
mod lines;

use crate::Findings;
use crate::pipeline;
use crate::profile::{Profile, Value, ValueKind};
use crate::text;
use anyhow::Result;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;

/// The most points in time.
pub const COLUMNS: usize = 4000;

/// The most values that are drawn one by one.
pub const DRAWN: usize = 600;

/// A value whose part of the higher peak is less than one in this many is not drawn by itself.
pub const VISIBLE: u64 = 2000;

/// The most groups that values are drawn in which are not drawn one by one, and the most lines to group by.
const GROUPS: usize = 16;
const LINES: usize = 1000;

/// How many rows a table of values has.
pub const ROWS: usize = 40;

#[derive(Serialize)]
struct Data {
    programs: Vec<Program>,
    strings: Vec<String>,
    floor: u64,
}

/// What the script knows of a program. Texts are positions in `strings`, or -1.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Program {
    key: &'static str,
    label: &'static str,
    peak: u64,
    peak_column: usize,
    /// What of the peak no value has.
    gaps: u64,
    /// How many ops there are.
    steps: usize,
    /// How many values there are.
    total: usize,
    /// For each column: the step it shows, the bytes alive there, its op, its source.
    at: Vec<usize>,
    live: Vec<u64>,
    op: Vec<i64>,
    source: Vec<i64>,
    /// Those drawn as groups.
    rest: Vec<Group>,
    /// Those drawn one by one, the lowest of the pile first.
    values: Vec<Drawn>,
}

/// Small values that are drawn as one.
#[derive(Serialize)]
struct Group {
    /// What they have in common; -1 for those that have nothing.
    label: i64,
    /// How many there are.
    count: u64,
    /// Bytes alive, for each column.
    bytes: Vec<u64>,
}

/// name, op, type, bytes, kind, first and last column, source, scope, first and last step
type Drawn = (i64, i64, i64, u64, u8, usize, usize, i64, i64, usize, usize);

/// Each text once.
#[derive(Default)]
pub struct Strings {
    /// In the order of their positions.
    pub texts: Vec<String>,
    index: HashMap<String, i64>,
}

impl Strings {
    /// The position of a text.
    pub fn add(&mut self, text: &str) -> i64 {
        if let Some(index) = self.index.get(text) {
            return *index;
        }
        let index = self.texts.len() as i64;
        self.texts.push(text.to_owned());
        self.index.insert(text.to_owned(), index);
        index
    }

    /// The position of a text, or -1.
    pub fn add_some(&mut self, text: Option<String>) -> i64 {
        text.map_or(-1, |text| self.add(&text))
    }
}

/// A part of the page that `slimhlo compile` adds: its elements, and the script's data with the script element
/// around it.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// Elements.
    pub html: String,
    /// Data, or nothing if there is nothing to draw.
    pub data: String,
}

/// The page.
///
/// # Errors
/// What is reported cannot be written as JSON.
pub fn page(findings: &Findings<'_>, plan: &Section) -> Result<String> {
    let Findings { input, before, after, .. } = findings;
    let title = if input == "-" { "standard input" } else { input.as_str() };
    let highest = before.footprint.peak.max(after.map_or(0, |after| after.footprint.peak));
    let mut strings = Strings::default();
    let mut programs = Vec::new();
    let mut drawn = Vec::new();
    for (key, label, profile) in [
        ("before", if after.is_some() { "Before" } else { "Program" }, Some(*before)),
        ("after", "After", *after),
    ] {
        let Some(profile) = profile else { continue };
        let (program, positions) = thin_out(key, label, profile, highest, &mut strings);
        programs.push(program);
        drawn.push(positions);
    }
    let first_point = programs.len();
    for point in findings.frontier {
        let (program, _) = thin_out("point", "Chosen", &point.profile, highest, &mut strings);
        programs.push(program);
    }
    let notes = notes(&programs[..first_point]);
    let data = Data { programs, strings: strings.texts, floor: before.footprint.floor };
    let data = inline(&data)?;

    let mut tables = passes(findings);
    tables +=
        &values("before", if after.is_some() { "before optimization" } else { "" }, before, 0, &drawn[0]);
    if let (Some(after), Some(drawn)) = (after, drawn.get(1)) {
        tables += &values("after", "after optimization", after, 1, drawn);
    }
    tables += &lines::table(before, *after);
    Ok(fill_in(
        include_str!("page/page.html"),
        &[
            ("version", env!("CARGO_PKG_VERSION")),
            ("title", &escape(title)),
            ("css", include_str!("page/page.css").trim_end()),
            ("tools_js", include_str!("page/tools.js").trim_end()),
            ("js", include_str!("page/page.js").trim_end()),
            ("explore_js", include_str!("page/explore.js").trim_end()),
            ("cards", &cards(before, *after)),
            ("switch", if after.is_some() { SWITCH } else { "" }),
            ("legend", &legend(after.is_some())),
            ("summary", &escape(&summary(before, *after))),
            ("notes", &notes),
            ("frontier", &frontier::section(findings.frontier, first_point)),
            ("frontier_js", include_str!("page/frontier.js").trim_end()),
            ("tables", tables.trim_end()),
            ("data", &data),
            ("plan", plan.html.trim_end()),
            ("plan_data", &plan.data),
            ("plan_js", include_str!("page/plan.js").trim_end()),
        ],
    ))
}

/// Data as JSON in which nothing can end the script element, or begin a comment.
///
/// # Errors
/// It cannot be written as JSON.
pub fn inline(data: &impl Serialize) -> Result<String> {
    Ok(serde_json::to_string(data)?.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026"))
}

const SWITCH: &str = r#"<fieldset class="switch"><legend>Values of the program</legend>
<label><input type="radio" name="program" value="0" checked autocomplete="off">Before</label>
<label><input type="radio" name="program" value="1" autocomplete="off">After</label>
</fieldset>"#;

/// Replaces each `{{name}}` of the template once over; what is put in is not looked at again.
fn fill_in(template: &str, parts: &[(&str, &str)]) -> String {
    let mut page = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        page.push_str(before);
        let (name, after) = after.split_once("}}").unwrap_or((after, ""));
        if let Some((_, part)) = parts.iter().find(|(known, _)| *known == name) {
            page.push_str(part);
        }
        rest = after;
    }
    page + rest
}

/// Text as HTML, in elements and in quoted attributes.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\0' => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Brings a program down to what can be drawn; also returns which value, by its address, is drawn as which.
fn thin_out(
    key: &'static str,
    label: &'static str,
    profile: &Profile,
    highest: u64,
    strings: &mut Strings,
) -> (Program, HashMap<*const Value, usize>) {
    let steps = &profile.steps;
    let columns = steps.len().min(COLUMNS);
    let start = |column: usize| column * steps.len() / columns.max(1);
    // The highest step of each column, the first of several.
    let at: Vec<usize> = (0..columns)
        .map(|column| {
            let (from, to) = (start(column), start(column + 1));
            (from..to).fold(from, |best, step| if steps[step].live > steps[best].live { step } else { best })
        })
        .collect();
    let live: Vec<u64> = at.iter().map(|step| steps[*step].live).collect();

    // The columns that show a step at which the value is alive.
    let span = |value: &Value| {
        let from = at.partition_point(|step| *step < value.from);
        let to = at.partition_point(|step| *step <= value.to);
        (from < to).then(|| (from, to - 1))
    };
    let mut chosen: Vec<(usize, (usize, usize))> = profile
        .values
        .iter()
        .enumerate()
        .filter(|(_, value)| value.takes_memory() && value.bytes >= highest / VISIBLE)
        .filter_map(|(index, value)| Some((index, span(value)?)))
        .collect();
    if chosen.len() > DRAWN {
        chosen.sort_by_key(|(index, _)| std::cmp::Reverse(profile.values[*index].bytes));
        chosen.truncate(DRAWN);
    }
    // What lives long lies at the bottom, so that the pile above moves little.
    chosen.sort_by_key(|(index, (from, to))| {
        (profile.values[*index].kind as u8, *from, usize::MAX - to, *index)
    });

    let rest = pile_up(profile, highest, &live, &chosen, &span, strings);

    let positions =
        chosen.iter().enumerate().map(|(at, (index, _))| (&raw const profile.values[*index], at)).collect();
    let values = chosen
        .iter()
        .map(|(index, (from, to))| {
            let value = &profile.values[*index];
            (
                strings.add(&value.name),
                strings.add(&value.op),
                strings.add(&value.ty),
                value.bytes,
                value.kind as u8,
                *from,
                *to,
                strings.add_some(value.source.as_ref().map(ToString::to_string)),
                strings.add_some(value.scope.clone()),
                value.from,
                value.to,
            )
        })
        .collect();
    let program = Program {
        key,
        label,
        peak: profile.footprint.peak,
        gaps: profile.gaps(),
        peak_column: at.partition_point(|step| *step < profile.peak_step).min(columns.saturating_sub(1)),
        steps: steps.len(),
        total: profile.values.iter().filter(|value| value.takes_memory()).count(),
        op: at.iter().map(|step| strings.add(&steps[*step].op)).collect(),
        source: at
            .iter()
            .map(|step| strings.add_some(steps[*step].source.as_ref().map(|source| source.to_string())))
            .collect(),
        at,
        live,
        rest,
        values,
    };
    (program, positions)
}

/// What is not drawn one by one, as a few groups: values of one line of source, or of one op where there are no lines or
/// too many; what is then left, as one more.
fn pile_up(
    profile: &Profile,
    highest: u64,
    live: &[u64],
    drawn: &[(usize, (usize, usize))],
    span: &dyn Fn(&Value) -> Option<(usize, usize)>,
    strings: &mut Strings,
) -> Vec<Group> {
    let is_drawn: HashSet<usize> = drawn.iter().map(|(index, _)| *index).collect();
    let small = |index: &usize| !is_drawn.contains(index) && profile.values[*index].takes_memory();
    let small: Vec<(&Value, (usize, usize))> = (0..profile.values.len())
        .filter(small)
        .filter_map(|index| Some((&profile.values[index], span(&profile.values[index])?)))
        .collect();
    let lines: HashSet<_> = small.iter().filter_map(|(value, _)| value.source.as_ref()).collect();
    let by_line = !lines.is_empty() && lines.len() <= LINES;
    let key = |value: &Value| {
        let op = if value.op.is_empty() { value.kind.as_str() } else { value.op.as_str() };
        let line = value.source.as_ref().filter(|_| by_line);
        line.map_or_else(|| op.to_owned(), |line| format!("{op}, {}:{}", line.file, line.line))
    };
    // In the order of their labels: the page is the same each time.
    let mut groups: BTreeMap<String, (u64, Vec<i128>)> = BTreeMap::new();
    for (value, (from, to)) in &small {
        let (count, changes) = groups.entry(key(value)).or_insert_with(|| (0, vec![0; live.len() + 1]));
        *count += 1;
        changes[*from] += i128::from(value.bytes);
        changes[to + 1] -= i128::from(value.bytes);
    }
    let mut rest: Vec<i128> = live.iter().map(|live| i128::from(*live)).collect();
    let mut add = |live: usize, change: i128| rest[live] -= change;
    for (index, (from, to)) in drawn {
        (*from..=*to).for_each(|column| add(column, i128::from(profile.values[*index].bytes)));
    }
    let mut piles: Vec<Group> = groups
        .into_iter()
        .map(|(label, (count, changes))| {
            let heights = changes.iter().take(live.len()).scan(0i128, |sum, change| {
                *sum += change;
                Some(u64::try_from(*sum).unwrap_or_default())
            });
            (label, count, heights.collect::<Vec<u64>>())
        })
        .filter(|(_, _, heights)| heights.iter().any(|height| *height >= highest.div_ceil(VISIBLE)))
        .map(|(label, count, bytes)| Group { label: strings.add(&label), count, bytes })
        .collect();
    let height = |group: &Group| group.bytes.iter().copied().max().unwrap_or_default();
    piles.sort_by_key(|group| (std::cmp::Reverse(height(group)), group.label));
    piles.truncate(GROUPS);
    for group in &piles {
        for (rest, bytes) in rest.iter_mut().zip(&group.bytes) {
            *rest -= i128::from(*bytes);
        }
    }
    let bytes: Vec<u64> = rest.into_iter().map(|rest| u64::try_from(rest).unwrap_or_default()).collect();
    if bytes.iter().any(|bytes| *bytes > 0) {
        let grouped: u64 = piles.iter().map(|group| group.count).sum();
        piles.push(Group { label: -1, count: (small.len() as u64).saturating_sub(grouped), bytes });
    }
    piles
}

/// What the picture leaves out.
fn notes(programs: &[Program]) -> String {
    let mut text = String::new();
    for program in programs {
        let number = |number: usize| text::count(number as u64);
        let mut says = Vec::new();
        if program.steps > program.at.len() {
            says.push(format!(
                "its {} steps are drawn as {} points, each the highest of those it stands for",
                number(program.steps),
                number(program.at.len())
            ));
        }
        let merged = program.total - program.values.len();
        if merged > 0 {
            says.push(format!(
                "{} of its {} values are drawn one by one, the smaller ones in groups",
                number(program.values.len()),
                number(program.total)
            ));
        }
        if program.steps == 0 {
            says.push("it runs nothing that takes memory".into());
        }
        if !says.is_empty() {
            let _ = writeln!(text, "<p class=\"note\">{}: {}.</p>", program.label, says.join("; "));
        }
    }
    text.trim_end().to_owned()
}

fn summary(before: &Profile, after: Option<&Profile>) -> String {
    let peak = text::bytes(before.footprint.peak);
    let floor = text::bytes(before.footprint.floor);
    match after {
        Some(after) => {
            let after = text::bytes(after.footprint.peak);
            format!("Memory over the program: peak {peak} before optimization, {after} after; floor {floor}")
        }
        None => format!("Memory over the program: peak {peak}, floor {floor}"),
    }
}

fn legend(both: bool) -> String {
    let mut items = String::new();
    let lines = if both {
        &[("before", "memory before"), ("after", "memory after")][..]
    } else {
        &[("before", "memory")][..]
    };
    for (key, label) in lines {
        let _ =
            writeln!(items, "<li><i class=\"line\" style=\"border-color: var(--{key})\"></i>{label}</li>");
    }
    items += "<li><i class=\"line dash\" style=\"border-color: var(--floor)\"></i>floor</li>\n";
    for (color, label) in [("argument", "arguments"), ("result", "results")] {
        let _ = writeln!(items, "<li><i style=\"background: var(--{color})\"></i>{label}</li>");
    }
    items += "<li><i class=\"shades\"></i>temporaries</li>\n";
    items += "<li><i style=\"background: var(--rest)\"></i>small values</li>\n";
    items.trim_end().to_owned()
}

fn cards(before: &Profile, after: Option<&Profile>) -> String {
    let mut html = String::new();
    let mut card = |class: &str, name: &str, value: String, detail: String| {
        let detail = if detail.is_empty() { detail } else { format!("<small>{}</small>", escape(&detail)) };
        let (name, value) = (escape(name), escape(&value));
        let _ = writeln!(
            html,
            "<div class=\"card {class}\"><dl><dt>{name}</dt><dd>{value}{detail}</dd></dl></div>"
        );
    };
    let temporaries =
        |profile: &Profile| format!("temporaries {}", text::bytes(profile.footprint.temporaries));
    let name = if after.is_some() { "Peak before" } else { "Peak" };
    card("before", name, text::bytes(before.footprint.peak), temporaries(before));
    if let Some(after) = after {
        card("after", "Peak after", text::bytes(after.footprint.peak), temporaries(after));
        let saved = pipeline::difference(before.footprint.peak, after.footprint.peak);
        let part = text::share(saved.unsigned_abs(), before.footprint.peak);
        let class = if saved > 0 { "saved" } else { "" };
        let (name, class) = if saved < 0 { ("Added", "") } else { ("Saved", class) };
        card(class, name, text::bytes(saved.unsigned_abs()), format!("{part} of the peak"));
    }
    let footprint = &before.footprint;
    let mut floor =
        format!("arguments {}, results {}", text::bytes(footprint.arguments), text::bytes(footprint.results));
    if footprint.aliased > 0 {
        let _ = write!(floor, ", of these donated {}", text::bytes(footprint.aliased));
    }
    card("", "Floor", text::bytes(footprint.floor), floor);
    if let (Some(collectives), Some(received)) = (footprint.collectives, footprint.received) {
        let said = |collectives: u64, received: u64| {
            (text::bytes(received), format!("to a device, in {} collectives", text::count(collectives)))
        };
        let (bytes, how) = said(collectives, received);
        card("before", if after.is_some() { "Received before" } else { "Received" }, bytes, how);
        let after = after.map(|after| &after.footprint);
        if let Some((collectives, received)) = after.and_then(|a| Some((a.collectives?, a.received?))) {
            let (bytes, how) = said(collectives, received);
            card("after", "Received after", bytes, how);
        }
    }
    let ratio = match after {
        Some(after) => format!("{} → {}", text::ratio(footprint.ratio), text::ratio(after.footprint.ratio)),
        None => text::ratio(footprint.ratio),
    };
    card("", "Peak to floor", ratio, "1.000 is the least".into());
    html.trim_end().to_owned()
}

fn passes(findings: &Findings<'_>) -> String {
    if findings.after.is_none() {
        return String::new();
    }
    let mut rows = String::new();
    let (summary, idle) = pipeline::summary(findings.runs);
    for run in &summary {
        let _ = writeln!(
            rows,
            "<tr><th scope=\"row\">{}</th><td class=\"number\">{}</td><td class=\"number\">{}</td><td>{}</td></tr>",
            escape(&run.pass),
            run.saved.map_or_else(String::new, text::signed_bytes),
            text::added(run.ops_added),
            escape(&run.did()),
        );
    }
    let others = match (idle, rows.is_empty()) {
        (0, _) => String::new(),
        (_, true) => "No pass changed anything.".into(),
        (1, _) => "1 other pass changed nothing.".into(),
        (idle, _) => format!("{idle} other passes changed nothing."),
    };
    let table = if rows.is_empty() {
        String::new()
    } else {
        format!(
            "<div class=\"scroll\"><table class=\"passes\">\n<thead><tr><th scope=\"col\">Pass</th><th scope=\"col\" class=\"number\">Saved</th><th scope=\"col\" class=\"number\">Ops</th>\
             <th scope=\"col\">What it did</th></tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n"
        )
    };
    format!(
        "<section aria-labelledby=\"passes-heading\">\n<h2 id=\"passes-heading\">What each pass did</h2>\n\
         {table}<p class=\"note\">{others}</p>\n</section>\n"
    )
}

/// The values alive at the peak.
fn values(
    key: &str,
    when: &str,
    profile: &Profile,
    program: usize,
    drawn: &HashMap<*const Value, usize>,
) -> String {
    let values = profile.at_peak();
    let peak = profile.footprint.peak;
    let mut rows = String::new();
    for value in values.iter().take(ROWS) {
        let position = drawn.get(&std::ptr::from_ref(*value));
        let link =
            position.map(|at| format!(" data-program=\"{program}\" data-value=\"{at}\"")).unwrap_or_default();
        let width = (value.bytes as f64 / peak.max(1) as f64 * 120.0).min(120.0);
        let by = match value.kind {
            ValueKind::Argument => String::new(),
            ValueKind::Result | ValueKind::Temporary => value.op.clone(),
        };
        let _ = writeln!(
            rows,
            "<tr{link}><td class=\"number\" data-order=\"{}\">{}</td><td class=\"barcell\" data-order=\"{}\"><span class=\"bar\" \
             style=\"width: {width:.1}px\"></span> {}</td><td><code>{}</code></td><td>{}</td><td>{}</td>\
             <td><code>{}</code></td><td><code>{}</code></td></tr>",
            value.bytes,
            text::bytes(value.bytes),
            value.bytes,
            text::share(value.bytes, peak),
            escape(&value.name),
            value.kind.as_str(),
            escape(&by),
            escape(&value.ty),
            escape(&value.origin(ToString::to_string)),
        );
    }
    let mut also = Vec::new();
    if let Some(more) = values.get(ROWS..).filter(|more| !more.is_empty()) {
        let rest = more.iter().map(|value| value.bytes).fold(0, u64::saturating_add);
        also.push(format!("{} more of {} together", text::count(more.len() as u64), text::bytes(rest)));
    }
    if profile.gaps() > 0 {
        also.push(format!("{} that packing them leaves between them", text::bytes(profile.gaps())));
    }
    let more = if also.is_empty() {
        String::new()
    } else {
        format!("<p class=\"note\">And {}.</p>\n", also.join("; "))
    };
    let when = if when.is_empty() { String::new() } else { format!(" {when}") };
    let place = escape(&profile.peak_place());
    format!(
        "<section class=\"{key}\" aria-labelledby=\"{key}-heading\">\n\
         <h2 id=\"{key}-heading\">Values alive at the peak{when}{place}</h2>\n\
         <div class=\"scroll\"><table class=\"values sorts\">\n<thead><tr><th scope=\"col\" class=\"number\">Size</th>\
         <th scope=\"col\">Of peak</th><th scope=\"col\">Value</th><th scope=\"col\">Kind</th>\
         <th scope=\"col\">Made by</th><th scope=\"col\">Type</th><th scope=\"col\">Source</th></tr></thead>\n\
         <tbody>\n{rows}</tbody></table></div>\n{more}</section>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_filled_in_is_not_read_again() {
        assert_eq!(fill_in("a{{x}}b{{y}}c", &[("x", "{{y}}"), ("y", "1")]), "a{{y}}b1c");
        assert_eq!(fill_in("{{unknown}}-{{", &[]), "-");
    }

    #[test]
    fn markup_is_escaped() {
        assert_eq!(escape("<a href='x' b=\"y\">&"), "&lt;a href=&#39;x&#39; b=&quot;y&quot;&gt;&amp;");
    }
}
