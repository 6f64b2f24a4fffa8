// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The page's part on the buffer plan: memory as boxes, offset against step, drawn by page/plan.js; and a table.

use crate::plan::{Place, Plan, Refusal, when};
use anyhow::Result;
use serde::Serialize;
use slimhlo_package::Slot;
use slimhlo_report::html::{COLUMNS, DRAWN, ROWS, Section, Strings, VISIBLE, escape, inline};
use slimhlo_report::text;
use std::collections::HashMap;
use std::fmt::Write;

/// What the script draws. All memory is piled up: arguments, results, constants, then the arena.
#[derive(Serialize)]
struct Data {
    strings: Vec<String>,
    regions: Vec<Region>,
    places: Vec<Box>,
    values: Vec<Value>,
    /// Steps whose names are known, and what they do.
    at: Vec<usize>,
    does: Vec<i64>,
    steps: u64,
}

/// Some of the memory.
#[derive(Serialize)]
struct Region {
    name: &'static str,
    start: u64,
    bytes: u64,
}

/// offset, bytes, kind (argument, result, constant, arena), first and last step, first of its values, how many
type Box = (u64, u64, u8, u64, u64, usize, usize);

/// name, type, slot, first and last step (or -1: always), source
type Value = (i64, i64, i64, i64, i64, i64);

/// Where everything lies in the pile.
struct Pile {
    arguments: Vec<u64>,
    results: Vec<u64>,
    regions: Vec<Region>,
}

impl Pile {
    fn new(plan: &Plan) -> Self {
        let (arguments, results) = plan.signature();
        let planned = plan.planned();
        let mut end = 0u64;
        let mut stack = |sizes: &[u64]| -> Vec<u64> {
            let start = |size: &u64| {
                let start = end;
                end = end.saturating_add(*size);
                start
            };
            sizes.iter().map(start).collect()
        };
        let arguments = stack(&arguments);
        let results = stack(&results);
        let rest = stack(&[planned.constants, planned.arena]);
        let region = |name, start, bytes| Region { name, start, bytes };
        let regions = vec![
            region("arguments", 0, planned.arguments),
            region("results", planned.arguments, planned.results),
            region("constants", rest[0], planned.constants),
            region("arena", rest[1], planned.arena),
        ];
        Self { arguments, results, regions }
    }

    /// The offset of a slot, and its kind.
    fn offset(&self, slot: Slot) -> (u64, u8) {
        match slot {
            Slot::Argument(index) => (self.arguments.get(index).copied().unwrap_or_default(), 0),
            Slot::Result(index) => (self.results.get(index).copied().unwrap_or_default(), 1),
            Slot::Constant(offset) => (self.regions[2].start.saturating_add(offset), 2),
            // What the schedule counts is no part of the plan.
            Slot::Arena(offset) => (self.regions[3].start.saturating_add(offset), 3),
            Slot::Counter(_) => (self.regions[3].start, 3),
        }
    }
}

/// The section of the page, empty if no plan was asked for; and the script's data, if there is something to draw.
pub fn section(plan: Option<&Result<Plan, Refusal>>) -> Result<Section> {
    const HEADING: &str = "<section class=\"plan\" aria-labelledby=\"plan-heading\">\n\
                           <h2 id=\"plan-heading\">Buffer plan for a GPU</h2>\n";
    match plan {
        None => Ok(Section::default()),
        Some(Err(refusal)) => {
            let why = escape(&crate::plan::refusal(refusal));
            let html = format!("{HEADING}<p class=\"note\">There is none: {why}</p>\n</section>\n");
            Ok(Section { html, data: String::new() })
        }
        Some(Ok(plan)) => {
            let planned = plan.planned();
            let floor = plan.floor();
            let ratio = (floor > 0).then(|| planned.total as f64 / floor as f64);
            let mut html = format!(
                "{HEADING}<p>slimhlo compile plans {}, floor {}, ratio {}.</p>\n",
                escape(&planned.describe()),
                text::bytes(floor),
                text::ratio(ratio)
            );
            let places = plan.places();
            if plan.steps.is_empty() || places.is_empty() {
                html += "<p class=\"note\">It runs nothing that takes memory.</p>\n</section>\n";
                return Ok(Section { html, data: String::new() });
            }
            let (data, drawn) = data(plan, &places);
            html += &picture(planned.arena > 0, places.len(), drawn.len());
            html += &rows(plan, &drawn);
            html += "</section>\n";
            let data = inline(&data)?;
            let data = format!("<script type=\"application/json\" id=\"plan-data\">{data}</script>\n");
            Ok(Section { html, data })
        }
    }
}

/// Which number a place is drawn under: by where it is, its bytes and its steps.
type Drawn = HashMap<(Slot, u64, Option<(u64, u64)>), usize>;

/// Brings the plan down to what can be drawn; also returns which place is drawn as which.
fn data(plan: &Plan, places: &[Place<'_>]) -> (Data, Drawn) {
    let pile = Pile::new(plan);
    let steps = plan.steps.len() as u64;
    let last = steps.saturating_sub(1);
    let mut strings = Strings::default();
    let arena = pile.regions[3].bytes;
    // In a picture of the arena as well as in one of everything.
    let seen = |place: &&Place<'_>| match place.slot {
        Slot::Arena(_) => place.bytes >= arena / VISIBLE,
        _ => place.bytes >= plan.planned().total / VISIBLE,
    };
    let mut chosen: Vec<&Place<'_>> = places.iter().filter(seen).collect();
    chosen.sort_by_key(|place| std::cmp::Reverse(place.bytes));
    chosen.truncate(DRAWN);
    // What is updated under another shape is drawn over what it was.
    chosen.sort_by_key(|place| (place.steps, place.slot));
    let mut values = Vec::new();
    let mut boxes = Vec::new();
    let mut drawn = HashMap::new();
    for place in chosen {
        let (offset, kind) = pile.offset(place.slot);
        let (from, to) = place.steps.unwrap_or((0, last));
        drawn.insert((place.slot, place.bytes, place.steps), boxes.len());
        boxes.push((
            offset,
            place.bytes,
            kind,
            from.min(last),
            to.min(last),
            values.len(),
            place.values.len(),
        ));
        let number = |step: u64| i64::try_from(step.min(last)).unwrap_or(i64::MAX);
        for value in &place.values {
            values.push((
                strings.add(&value.name),
                strings.add_some(value.tensor.as_ref().map(ToString::to_string)),
                strings.add(&value.slot.to_string()),
                value.live.map_or(-1, |live| number(live.from)),
                value.live.map_or(-1, |live| number(live.to)),
                strings.add_some(value.location.clone()),
            ));
        }
    }
    let stride = plan.steps.len().div_ceil(COLUMNS).max(1);
    let at: Vec<usize> = (0..plan.steps.len()).step_by(stride).collect();
    let does = at
        .iter()
        .map(|step| {
            let step = &plan.steps[*step];
            let source = step.source.as_ref().map_or_else(String::new, |source| format!(", {source}"));
            strings.add(&format!("{}{source}", step.name()))
        })
        .collect();
    let strings = strings.texts;
    (Data { strings, regions: pile.regions, places: boxes, values, at, does, steps }, drawn)
}

fn picture(arena: bool, places: usize, drawn: usize) -> String {
    let switch = if arena {
        "<fieldset class=\"switch\"><legend>Memory shown</legend>\n\
         <label><input type=\"radio\" name=\"plan-region\" value=\"arena\" checked autocomplete=\"off\">Arena</label>\n\
         <label><input type=\"radio\" name=\"plan-region\" value=\"all\" autocomplete=\"off\">All memory</label>\n\
         </fieldset>\n"
    } else {
        ""
    };
    let note = if drawn < places {
        format!(
            "<p class=\"note\">Drawn are {} of {} places in memory, the largest.</p>\n",
            text::count(drawn as u64),
            text::count(places as u64)
        )
    } else {
        String::new()
    };
    format!(
        "<div class=\"toolbar\">\n{switch}<ul class=\"legend\" aria-label=\"Legend\">\n\
         <li><i style=\"background: var(--argument)\"></i>arguments</li>\n\
         <li><i style=\"background: var(--result)\"></i>results</li>\n\
         <li><i style=\"background: var(--rest)\"></i>constants</li>\n\
         <li><i class=\"shades\"></i>arena</li>\n</ul>\n</div>\n\
         <div class=\"picture\">\n<svg class=\"chart\" id=\"plan-chart\" role=\"application\" \
         aria-roledescription=\"buffer plan\" tabindex=\"0\" aria-label=\"Where every value lies, by step\" \
         aria-describedby=\"plan-help\"></svg>\n<div class=\"tooltip\" id=\"plan-tooltip\" role=\"tooltip\" hidden></div>\n</div>\n\
         <p class=\"help\" id=\"plan-help\">Up is the offset in memory, across are the steps. Hover to see what lies there; wheel \
         zooms in time, double-click shows all. Keys: arrows move the cursor, + and - zoom, 0 shows all.</p>\n{note}\
         <p class=\"visually-hidden\" id=\"plan-announce\" aria-live=\"polite\"></p>\n"
    )
}

/// The largest of what takes memory besides arguments.
fn rows(plan: &Plan, drawn: &Drawn) -> String {
    let total = plan.planned().total;
    let largest = plan.largest();
    let mut rows = String::new();
    for place in largest.iter().take(ROWS) {
        let value = place.values[0];
        let link = drawn
            .get(&(place.slot, place.bytes, place.steps))
            .map(|index| format!(" data-place=\"{index}\""))
            .unwrap_or_default();
        let more = match place.values.len() {
            1 => String::new(),
            several => format!(" and {} more", several - 1),
        };
        let _ = writeln!(
            rows,
            "<tr{link}><td class=\"number\">{}</td><td>{}</td><td><code>{}</code></td><td>{}</td>\
             <td><code>{}</code>{more}</td><td><code>{}</code></td><td><code>{}</code></td></tr>",
            text::bytes(place.bytes),
            text::share(place.bytes, total),
            escape(&place.slot.to_string()),
            when(place.steps),
            escape(&value.name),
            escape(&value.tensor.as_ref().map(ToString::to_string).unwrap_or_default()),
            escape(value.location.as_deref().unwrap_or_default()),
        );
    }
    let more = match largest.len().saturating_sub(ROWS) {
        0 => String::new(),
        more => format!("<p class=\"note\">And {} smaller ones.</p>\n", text::count(more as u64)),
    };
    if rows.is_empty() {
        return rows;
    }
    format!(
        "<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\" class=\"number\">Size</th><th scope=\"col\">Of all</th>\
         <th scope=\"col\">Place</th><th scope=\"col\">Steps</th><th scope=\"col\">Value</th><th scope=\"col\">Type</th>\
         <th scope=\"col\">Source</th></tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n{more}"
    )
}
