// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The page of `slimhlo report --html`, in a headless Chromium.

mod common;

use common::{Folder, chain, data};
use serde_json::Value;
use std::fs;
use std::process::Command;

/// Helpers that the probes below use, and where they leave what they found.
const PROBE: &str = r#"
const chart = document.getElementById("chart"), tooltip = document.getElementById("tooltip");
const box = () => chart.getBoundingClientRect();
const at = (x, y) => ({ bubbles: true, cancelable: true, button: 0, clientX: box().left + x * box().width, clientY: box().top + y * box().height });
const pointer = (type, x, y, more) => chart.dispatchEvent(new PointerEvent(type, { ...at(x, y), ...more }));
const hover = (path) => {
  const part = path.getBoundingClientRect();
  path.dispatchEvent(new PointerEvent("pointermove", { bubbles: true, clientX: part.left + part.width / 2, clientY: part.top + part.height / 2 }));
};
const key = (name) => chart.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true }));
const wide = () => chart.dataset.view.split(" ").map(Number).reduce((from, to) => to - from);
const found = {};
"#;

/// The page in a browser after `probe`, which leaves what it finds in `found`.
fn browse(folder: &Folder, page: &str, probe: &str) -> (Value, String) {
    let marker = format!("<script>{PROBE}{probe}
const left = document.createElement(\"pre\"); left.id = \"found\"; left.textContent = JSON.stringify(found); document.body.append(left);</script></body>");
    assert!(page.contains("</body>"));
    let file = folder.write("probed.html", page.replace("</body>", &marker));
    let profile = folder.path("profile");
    let out = Command::new(chromium())
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
        .args(["--window-size=1400,1000", "--virtual-time-budget=4000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}", file.display()))
        .output()
        .expect("chromium runs");
    let dom = String::from_utf8(out.stdout).expect("text");
    let text = dom
        .split_once("<pre id=\"found\">")
        .and_then(|(_, rest)| rest.split_once("</pre>"))
        .unwrap_or_else(|| {
            panic!("the probe did not finish: {dom}\n{}", String::from_utf8_lossy(&out.stderr))
        })
        .0;
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    (serde_json::from_str(&text).expect("JSON"), dom)
}

fn chromium() -> &'static str {
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    let works =
        |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|out| out.status.success());
    names
        .into_iter()
        .find(works)
        .expect("these tests need Debian's package chromium; `cargo xtask setup` installs it")
}

fn page(folder: &Folder, arguments: &[&str]) -> String {
    let mut all = vec!["report", "--quiet", "--html", "page.html"];
    all.extend(arguments);
    folder.run(&all).exits(0);
    fs::read_to_string(folder.path("page.html")).expect("a page")
}

#[test]
fn it_draws_hovers_and_zooms() {
    let folder = Folder::new();
    let page = page(&folder, &[&data("attention_gradient.mlir")]);
    let probe = r##"
const bands = [...document.querySelectorAll(".band[data-value]")];
found.bands = bands.length;
found.outlines = [...document.querySelectorAll(".outline")].map((line) => line.getAttribute("class"));
found.marks = [...document.querySelectorAll("#chart .peak")].map((mark) => mark.textContent);
found.hiddenAtFirst = tooltip.hidden;
const area = (path) => { const part = path.getBoundingClientRect(); return part.width * part.height; };
const largest = bands.sort((a, b) => area(b) - area(a))[0];
hover(largest);
found.tooltip = tooltip.hidden ? "" : tooltip.textContent;
found.marked = largest.classList.contains("hover");
pointer("pointerleave", 0.5, 0.5);
found.hiddenAfter = tooltip.hidden;
found.whole = wide();
chart.dispatchEvent(new WheelEvent("wheel", { ...at(0.5, 0.5), deltaY: -400 }));
found.zoomed = wide();
chart.dispatchEvent(new MouseEvent("dblclick", at(0.5, 0.5)));
found.reset = wide();
pointer("pointerdown", 0.4, 0.3); pointer("pointermove", 0.5, 0.7); pointer("pointermove", 0.6, 0.8); pointer("pointerup", 0.6, 0.8);
found.dragged = wide();
const before = chart.dataset.view;
pointer("pointerdown", 0.6, 0.5, { shiftKey: true }); pointer("pointermove", 0.5, 0.5, { shiftKey: true }); pointer("pointerup", 0.5, 0.5, { shiftKey: true });
found.panned = chart.dataset.view !== before && Math.abs(wide() - found.dragged) < 1e-3;
key("0");
found.keyReset = wide();
key("+");
found.keyZoom = wide();
key("ArrowRight");
found.announced = document.getElementById("announce").textContent;
key("0");
document.querySelector('input[name="program"][value="1"]').click();
found.program = chart.dataset.program;
const row = document.querySelector('tr[data-program="0"][data-value]');
row.click();
found.afterRow = [chart.dataset.program, row.classList.contains("kept"), document.querySelectorAll(".band.kept").length];
found.state = document.documentElement.dataset.state;
"##;
    let (found, dom) = browse(&folder, &page, probe);
    assert_eq!(found["state"], "ready", "{found}");
    assert!(dom.contains("data-state=\"ready\""));
    assert!(found["bands"].as_u64() > Some(5), "{found}");
    assert_eq!(found["outlines"], serde_json::json!(["outline before", "outline after"]));
    let marks = found["marks"].to_string();
    assert!(
        marks.contains("Before: peak") && marks.contains("After: peak") && marks.contains("Floor"),
        "{marks}"
    );
    assert_eq!(
        (&found["hiddenAtFirst"], &found["hiddenAfter"], &found["marked"]),
        (&true.into(), &true.into(), &true.into())
    );
    let tooltip = found["tooltip"].as_str().expect("text");
    for part in ["of the peak", "tensor<", "attention_gradient.py:", "alive", "Before: ", "After: "] {
        assert!(tooltip.contains(part), "no {part} in {tooltip}");
    }
    let number = |name: &str| found[name].as_f64().expect("a number");
    assert_eq!((number("whole"), number("reset"), number("keyReset")), (1.0, 1.0, 1.0));
    assert!(number("zoomed") < 0.9 && number("dragged") < 0.3 && number("keyZoom") == 0.5, "{found}");
    assert_eq!(found["panned"], true);
    assert!(found["announced"].as_str().is_some_and(|text| text.contains("Before: ")), "{found}");
    assert_eq!(found["program"], "after");
    assert_eq!(found["afterRow"], serde_json::json!(["before", true, 1]));
}

#[test]
fn it_is_coloured_searched_sorted_and_saved() {
    let folder = Folder::new();
    let page = page(&folder, &[&data("attention_gradient.mlir")]);
    let probe = r##"
const colours = () => new Set([...document.querySelectorAll("#chart .band[data-value]")].map((band) => getComputedStyle(band).fill)).size;
const choose = (name) => { const choice = document.getElementById("colour-by"); choice.value = name; choice.dispatchEvent(new Event("change")); };
found.colours = {};
for (const name of ["value", "op", "source", "scope"]) {
  choose(name);
  found.colours[name] = [colours(), [...document.querySelectorAll("#colours li")].map((entry) => entry.textContent)];
}
choose("op");
const legend = [...document.querySelectorAll("#colours i")].map((sample) => getComputedStyle(sample).backgroundColor);
found.legendIsRight = [...document.querySelectorAll("#chart .band[data-value]")].every((band) => legend.includes(getComputedStyle(band).fill) || band.classList.contains("rest"));
const words = document.getElementById("search");
const look = (text) => { words.value = text; words.dispatchEvent(new Event("input")); };
look("dot_general :29");
found.hits = document.getElementById("hits").textContent;
found.matching = [...document.querySelectorAll("#chart .band.found[data-value]")].length;
found.thin = [...document.querySelectorAll("#chart .band.thin.found")].every((band) => getComputedStyle(band).stroke === "none");
found.faded = getComputedStyle(document.querySelector("#chart .band:not(.found)")).opacity;
found.rows = [...document.querySelectorAll("table.values:not(.lines) tbody tr")].filter((row) => !row.hidden).every((row) => row.textContent.includes("dot_general"));
look("");
found.cleared = [document.querySelectorAll("#chart .band.found").length, document.getElementById("hits").textContent];
const head = (table, at) => document.querySelectorAll(`${table} thead button`)[at];
const sizes = (table, column) => [...document.querySelectorAll(`${table} tbody tr`)].map((row) => Number(row.cells[column].dataset.order));
head("section.before table", 0).click(); head("section.before table", 0).click();
found.ascending = sizes("section.before table", 0);
head("table.lines", 1).click();
found.lines = sizes("table.lines", 1);
head("table.lines", 0).click();
found.names = [...document.querySelectorAll("table.lines tbody tr")].map((row) => row.cells[0].textContent);
document.getElementById("jump").click();
const [from, to] = chart.dataset.view.split(" ").map(Number);
found.peak = [from, to, tooltip.textContent, document.querySelector(".card.before dd").firstChild.textContent];
const over = tooltip.getBoundingClientRect();
found.underTooltip = [...document.querySelectorAll("#chart .peak.before, #chart .peak.after")].map((label) => label.getBoundingClientRect())
  .filter((box) => box.left < over.right && over.left < box.right && box.top < over.bottom && over.top < box.bottom).length;
key("0");
const steps = [...document.querySelectorAll("#chart text.step")];
found.steps = steps.map((mark) => Number(mark.textContent.replaceAll(",", "")));
const cover = () => {
  const boxes = [...document.querySelectorAll("#chart text")].map((each) => ({ each, box: each.getBoundingClientRect() }));
  return boxes.flatMap(({ each, box }, at) => boxes.slice(at + 1)
    .filter(({ box: other }) => box.left + 1 < other.right && other.left + 1 < box.right && box.top + 3 < other.bottom && other.top + 3 < box.bottom)
    .map(({ each: other }) => `${each.textContent} / ${other.textContent}`));
};
found.covered = cover();
key("+"); key("+");
found.covered.push(...cover());
key("0");
const text = timeline.picture();
const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
found.saved = [parsed.documentElement.nodeName, parsed.querySelectorAll("path").length, document.querySelectorAll("#chart path").length, parsed.querySelector("path.band").style.fill];
// The line that makes the largest value before, in the program after.
const row = document.querySelector('tr[data-program="0"][data-value]');
row.click();
const source = row.cells[6].textContent;
document.querySelector('input[name="program"][value="1"]').click();
const program = timeline.programs[1];
const wanted = program.values.filter((value) => timeline.text(value[7]) === source).length;
found.linked = [wanted, document.querySelectorAll("#chart .band.kept").length];
found.state = document.documentElement.dataset.state;
"##;
    let (found, _) = browse(&folder, &page, probe);
    assert_eq!(found["state"], "ready", "{found}");
    for name in ["op", "source", "scope"] {
        let (count, legend) = (&found["colours"][name][0], &found["colours"][name][1]);
        assert!(
            count.as_u64() > Some(3) && legend.as_array().is_some_and(|all| all.len() > 3),
            "{name}: {found}"
        );
    }
    assert!(found["colours"]["op"][1].to_string().contains("stablehlo.dot_general"), "{found}");
    assert!(found["colours"]["source"][1].to_string().contains("attention_gradient.py:29"), "{found}");
    assert_eq!(found["legendIsRight"], true);
    assert_eq!((&found["thin"], &found["underTooltip"]), (&true.into(), &0.into()), "{found}");
    assert!(found["hits"].as_str().is_some_and(|hits| hits.ends_with("GiB")), "{found}");
    assert!(
        found["matching"].as_u64() > Some(0) && found["faded"] == "0.16" && found["rows"] == true,
        "{found}"
    );
    assert_eq!(found["cleared"], serde_json::json!([0, ""]));
    let numbers = |name: &str| -> Vec<u64> {
        found[name]
            .as_array()
            .expect("a list")
            .iter()
            .map(|value| value.as_u64().expect("a number"))
            .collect()
    };
    assert!(numbers("ascending").is_sorted() && numbers("ascending").len() > 3, "{found}");
    assert!(numbers("lines").is_sorted_by(|a, b| a >= b) && numbers("lines").len() > 2, "{found}");
    let names: Vec<&str> =
        found["names"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    assert!(names.is_sorted_by(|a, b| a >= b), "{names:?}");
    let peak = found["peak"][3].as_str().expect("a card");
    assert!(
        found["peak"][2].as_str().is_some_and(|text| text.starts_with(&format!("Before: {peak} "))),
        "{found}"
    );
    assert!(numbers("steps").is_sorted() && numbers("steps").len() > 2, "{found}");
    assert_eq!(found["covered"], serde_json::json!([]));
    assert_eq!((&found["saved"][0], &found["saved"][1]), (&"svg".into(), &found["saved"][2]), "{found}");
    assert!(found["saved"][3].as_str().is_some_and(|fill| fill.starts_with("rgb")), "{found}");
    assert_eq!(found["linked"][0], found["linked"][1], "{found}");
}

/// A program whose values are all in memory, each until a hundred others have come.
fn stored(values: usize) -> String {
    use std::fmt::Write;
    let mut text = String::from("func.func @main(%v0: tensor<1024xf32>) -> tensor<1024xf32> {\n");
    for at in 0..values {
        let other = at.saturating_sub(100);
        let ty = "tensor<1024xf32>";
        writeln!(
            text,
            "  %v{} = stablehlo.custom_call @f{}(%v{at}, %v{other}) : ({ty}, {ty}) -> {ty} loc(\"model.py\":{}:1)",
            at + 1,
            at % 7,
            at % 900 + 1
        )
        .expect("text");
    }
    write!(text, "  return %v{values} : tensor<1024xf32>\n}}\n").expect("text");
    text
}

/// What people do with a page of 50,000 values takes no time that they would notice.
#[test]
fn fifty_thousand_values_make_no_pause() {
    let folder = Folder::new();
    folder.write("long.mlir", stored(51_000));
    let page = page(&folder, &["long.mlir", "--as-is"]);
    let probe = r##"
const timed = (work) => { const start = performance.now(); work(); return performance.now() - start; };
found.times = {
  zoom: timed(() => key("+")), all: timed(() => key("0")), jump: timed(() => document.getElementById("jump").click()),
  move: timed(() => pointer("pointermove", 0.4, 0.5)),
  find: timed(() => { const words = document.getElementById("search"); words.value = "sine"; words.dispatchEvent(new Event("input")); }),
  colour: timed(() => { const choice = document.getElementById("colour-by"); choice.value = "op"; choice.dispatchEvent(new Event("change")); }),
};
found.loaded = performance.now();
found.values = timeline.programs[0].total;
found.state = document.documentElement.dataset.state;
"##;
    let (found, _) = browse(&folder, &page, probe);
    assert_eq!(found["state"], "ready", "{found}");
    assert!(found["values"].as_u64() >= Some(50_000), "{found}");
    for (what, time) in found["times"].as_object().expect("times") {
        assert!(time.as_f64().is_some_and(|time| time < 500.0), "{what}: {found}");
    }
}

#[test]
fn the_buffer_plan_is_drawn_and_hovered_over() {
    let folder = Folder::new();
    let page = page(&folder, &[&data("attention_gradient.mlir")]);
    let probe = r##"
const plan = document.getElementById("plan-chart"), tip = document.getElementById("plan-tooltip");
const boxes = () => [...plan.querySelectorAll(".band")];
const size = (box) => Number(box.getAttribute("width")) * Number(box.getAttribute("height"));
const press = (name) => plan.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true }));
const steps = () => { const [from, to] = plan.dataset.view.split(" ").map(Number); return to - from; };
found.region = plan.dataset.region;
found.boxes = boxes().length;
const data = JSON.parse(document.getElementById("plan-data").textContent);
const arena = data.regions.find((region) => region.name === "arena");
found.places = data.places.filter(([offset]) => arena.start <= offset && offset < arena.start + arena.bytes).length;
const largest = boxes().sort((a, b) => size(b) - size(a))[0];
hover(largest);
found.tooltip = tip.hidden ? "" : tip.textContent;
found.marked = largest.classList.contains("hover");
plan.dispatchEvent(new PointerEvent("pointerleave"));
found.hiddenAfter = tip.hidden;
found.whole = steps();
press("+");
found.zoomed = steps();
press("0");
found.reset = steps();
press("ArrowRight");
found.announced = document.getElementById("plan-announce").textContent;
document.querySelector('input[name="plan-region"][value="all"]').click();
found.all = [plan.dataset.region, plan.querySelectorAll(".band.k0").length, plan.querySelectorAll(".band.k1").length > 0];
const row = document.querySelector("tr[data-place]");
row.dispatchEvent(new PointerEvent("pointerenter"));
found.row = plan.querySelectorAll(".band.hover").length;
found.state = plan.dataset.state;
"##;
    let (found, _) = browse(&folder, &page, probe);
    assert_eq!((&found["state"], &found["region"]), (&"ready".into(), &"arena".into()), "{found}");
    // Each place of the arena is drawn.
    assert!(found["boxes"] == found["places"] && found["places"].as_u64() > Some(5), "{found}");
    let tooltip = found["tooltip"].as_str().expect("text");
    for part in ["of the arena", "steps ", "8x2048x1024xbf16", "attention_gradient.py:", " taken"] {
        assert!(tooltip.contains(part), "no {part} in {tooltip}");
    }
    assert_eq!((&found["marked"], &found["hiddenAfter"]), (&true.into(), &true.into()));
    let number = |name: &str| found[name].as_f64().expect("a number");
    assert!(number("zoomed") == number("whole") / 2.0 && number("reset") == number("whole"), "{found}");
    assert!(found["announced"].as_str().is_some_and(|text| text.contains("step 1")), "{found}");
    assert_eq!(found["all"], serde_json::json!(["all", 4, true]));
    assert_eq!(found["row"], 1);
}

#[test]
fn nothing_in_a_module_becomes_markup() {
    let folder = Folder::new();
    let nasty = r#"</script><script>document.title='taken'</script><img src=x onerror=document.title='taken'>{{data}}'\22&amp;"#;
    let text = format!(
        "func.func @main(%x: tensor<1024xf32> loc(\"{nasty}\")) -> tensor<1024xf32> {{\n  \
         %y = stablehlo.sine %x : tensor<1024xf32> loc(\"{nasty}\"(\"{nasty}.py\":3:4))\n  \
         return %y : tensor<1024xf32>\n}}\n"
    );
    let name = "<img src=x onerror=alert(1)>.mlir";
    folder.write(name, text);
    let page = page(&folder, &[name]);
    assert!(!page.contains("<img"));
    let probe = r##"
found.title = document.title;
found.images = document.images.length;
found.heading = document.querySelector("h1").textContent;
hover(document.querySelector(".band.k1") ?? document.querySelector(".band[data-value]"));
found.tooltip = tooltip.textContent;
found.images += document.images.length;
found.state = document.documentElement.dataset.state;
"##;
    let (found, _) = browse(&folder, &page, probe);
    assert_eq!((&found["state"], &found["images"]), (&"ready".into(), &0.into()), "{found}");
    assert_eq!(found["heading"], name);
    assert!(found["title"].as_str().is_some_and(|title| title.starts_with(name)), "{found}");
    assert!(found["tooltip"].as_str().is_some_and(|text| text.contains("</script><script>")), "{found}");
}

#[test]
fn programs_of_any_size() {
    let folder = Folder::new();
    let state = "found.state = document.documentElement.dataset.state; found.notes = [...document.querySelectorAll('.note')].map((note) => note.textContent).join(' '); found.bands = document.querySelectorAll('.band').length; found.outlines = document.querySelectorAll('.outline').length;";
    folder.write("one.mlir", "func.func @main() { return }");
    folder.write("empty.mlir", "func.func @main(%x: tensor<0xf32>) -> tensor<0xf32> { %y = stablehlo.sine %x : tensor<0xf32> return %y : tensor<0xf32> }");
    for module in ["one.mlir", "empty.mlir"] {
        let page = page(&folder, &[module]);
        let (found, _) = browse(&folder, &page, state);
        assert_eq!(found["state"], "ready", "{module}: {found}");
        assert!(page.contains("Buffer plan for a GPU"));
    }
    folder.write("long.mlir", chain(100_000));
    let page = page(&folder, &["long.mlir", "--as-is"]);
    let (found, _) = browse(&folder, &page, state);
    assert_eq!(found["state"], "ready", "{found}");
    assert_eq!(found["outlines"], 1);
    assert!(found["bands"].as_u64() < Some(1000), "{found}");
}

#[test]
fn a_point_of_the_frontier_can_be_chosen() {
    let folder = Folder::new();
    let module = data("attention_gradient.mlir");
    let page = page(&folder, &["--pareto", "--json=report.json", &module]);
    let probe = r##"
const choices = [...document.querySelectorAll("#frontier .choice")];
found.points = choices.length;
found.rows = document.querySelectorAll('table input[name="program"]').length;
const last = choices[choices.length - 1];
last.dispatchEvent(new MouseEvent("click", { bubbles: true }));
const shown = () => document.querySelector('input[name="program"]:checked').value;
found.shown = [shown(), last.dataset.program, last.classList.contains("chosen"), chart.dataset.program];
choices[0].dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
found.first = [shown(), choices[0].dataset.program, last.classList.contains("chosen")];
found.state = document.documentElement.dataset.state;
"##;
    let (found, _) = browse(&folder, &page, probe);
    let json: Value = serde_json::from_str(&folder.read("report.json")).expect("JSON");
    let points = json["frontier"].as_array().expect("a list");
    assert!(points.len() >= 3, "{json}");
    assert_eq!((&found["points"], &found["rows"]), (&points.len().into(), &points.len().into()), "{found}");
    assert_eq!((&found["shown"][0], &found["shown"][2]), (&found["shown"][1], &true.into()), "{found}");
    assert_eq!((&found["first"][0], &found["first"][2]), (&found["first"][1], &false.into()), "{found}");
    assert_eq!((&found["shown"][3], &found["state"]), (&"point".into(), &"ready".into()), "{found}");
    // Each needs less than the one before, and takes longer.
    let of = |point: &Value| (point["footprint"]["peak"].as_u64(), point["times"].as_f64());
    for pair in points.windows(2) {
        let ((more, fast), (less, slow)) = (of(&pair[0]), of(&pair[1]));
        assert!(more > less && fast <= slow, "{pair:?}");
    }
}
