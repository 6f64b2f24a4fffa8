// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `slimhlo report`: text and JSON.

mod common;

use common::{Folder, chain, data};
use serde_json::Value;
use std::io::Read;
use std::process::{Command, Stdio};

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is not a natural number"))
}

fn check_program(program: &Value) {
    let steps = program["steps"].as_array().expect("a list");
    let values = program["values"].as_array().expect("a list");
    let peak = number(&program["footprint"]["peak"]);
    let at = number(&program["peak_step"]) as usize;
    let highest = steps.iter().map(|step| number(&step["live"])).max().expect("steps");
    assert_eq!(number(&steps[at]["live"]), highest);
    // What packing leaves between values is no value's.
    assert!(highest <= peak && highest >= peak / 2, "{highest} of {peak}");
    let mut alive = 0;
    for value in values {
        let (from, to) = (number(&value["from"]) as usize, number(&value["to"]) as usize);
        assert!(from <= to && to < steps.len(), "{value}");
        assert!(
            ["argument", "result", "temporary"].contains(&value["kind"].as_str().expect("a kind")),
            "{value}"
        );
        if (from..=to).contains(&at) && value["reuses"] == false {
            alive += number(&value["bytes"]);
        }
    }
    assert!(alive <= highest && alive >= highest / 2, "{alive} alive of {highest}");
}

#[test]
fn text_says_what_there_is() {
    let folder = Folder::new();
    let run = folder.run(&["report", &data("attention_gradient.mlir")]).exits(0);
    for word in ["peak", "floor", "Memory over the program", "Largest values", "attention_gradient.py:", "█"]
    {
        assert!(run.text().contains(word), "no {word} in\n{}", run.text());
    }
    assert!(run.err.is_empty(), "{}", run.err);
    let as_is = folder.run(&["report", &data("attention_gradient.mlir"), "--as-is", "--top", "1"]).exits(0);
    assert!(
        !as_is.text().contains("fter optimization") && as_is.text().contains("more of"),
        "{}",
        as_is.text()
    );
    assert!(folder.names().is_empty());
}

#[test]
fn json_adds_up() {
    let folder = Folder::new();
    for module in ["attention_gradient.mlir", "ocean_tendency.mlir"].map(data) {
        let json = folder.run(&["report", &module, "--json"]).exits(0).json();
        assert_eq!(json["version"], 1);
        check_program(&json["program"]);
        check_program(&json["optimized"]["program"]);
        let as_is = folder.run(&["report", &module, "--json", "--as-is"]).exits(0).json();
        assert!(as_is["optimized"].is_null());
        assert_eq!(as_is["program"], json["program"]);
        let run = folder.run(&["report", &module, "--json=out.json"]).exits(0);
        assert!(run.text().contains("peak"));
        let file: Value = serde_json::from_str(&folder.read("out.json")).expect("JSON");
        assert_eq!(file["program"], json["program"]);
    }
}

#[test]
fn the_buffer_plan_is_that_of_compile() {
    let folder = Folder::new();
    // Compiling takes CUDA's functions where a module has any, and this is to pass where there are none: what an elementwise op
    // computes makes no difference to the plan.
    let text = std::fs::read_to_string(data("attention_gradient.mlir")).expect("test data");
    let text = ["exponential", "tanh"]
        .iter()
        .fold(text, |text, op| text.replace(&format!("stablehlo.{op}"), "stablehlo.abs"));
    folder.write("module.mlir", text);
    let module = "module.mlir";
    folder.run(&["compile", module, "-o", "package", "--quiet"]).exits(0);
    let manifest: Value = serde_json::from_str(&folder.read("package/manifest.json")).expect("JSON");
    let report = folder.run(&["report", module, "--json"]).exits(0).json();
    let plan = &report["plan"];
    assert!(report["no_plan"].is_null());
    assert_eq!(plan["planned"]["arena"], manifest["arena_bytes"]);
    assert_eq!(plan["values"], manifest["buffers"]);
    assert_eq!(plan["floor"], report["program"]["footprint"]["floor"]);
    let steps = plan["steps"].as_array().expect("a list");
    assert!(steps.iter().any(|step| step["do"] == "repeat" && step["kernel"].is_null()));
    assert!(steps.iter().any(|step| step["kernel"] == "dot_general_0" && step["source"].is_string()));

    let text = folder.run(&["report", module]).exits(0);
    assert!(text.text().contains("Buffer plan") && text.text().contains("smaller ones"), "{}", text.text());
    // The whole list is the one that compile prints.
    let all = folder.run(&["report", module, "--plan"]).exits(0);
    let compiled = folder.run(&["compile", module, "--plan"]).exits(0).err;
    let table = compiled.split("\n\n").next().expect("a table");
    let values = plan["values"].as_array().expect("a list").len();
    assert_eq!(table.lines().count(), 1 + values, "a heading and each value: {table}");
    assert!(all.text().contains(table), "{}", all.text());
    let as_is = folder.run(&["report", module, "--as-is"]).exits(0);
    assert!(!as_is.text().contains("Buffer plan"), "{}", as_is.text());
}

#[test]
fn what_has_no_buffer_plan_has_a_report() {
    let folder = Folder::new();
    folder.write(
        "foreign.mlir",
        "func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.sine %x : tensor<8xf32>
  %1 = stablehlo.custom_call @elsewhere(%0) : (tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
",
    );
    let run = folder.run(&["report", "foreign.mlir"]).exits(0);
    let why = run.text().lines().find(|line| line.contains("none: ")).expect("a reason");
    for part in ["foreign.mlir:3:8", "stablehlo.custom_call", "elsewhere"] {
        assert!(why.contains(part), "no {part} in {why}");
    }
    assert!(run.text().contains("Largest values") && run.err.is_empty(), "{}{}", run.text(), run.err);
    let json = folder.run(&["report", "foreign.mlir", "--json"]).exits(0).json();
    assert!(json["plan"].is_null());
    assert_eq!(json["no_plan"]["source"]["line"], 3);
    folder.run(&["report", "foreign.mlir", "--quiet", "--html", "page.html"]).exits(0);
    assert!(folder.read("page.html").contains("There is none: foreign.mlir:3:8"));
}

#[test]
fn whoever_stops_reading_gets_no_panic() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_slimhlo"))
        .args(["report", &data("attention_gradient.mlir"), "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("slimhlo runs");
    drop(child.stdout.take());
    let mut err = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut err).expect("text");
    assert_eq!(child.wait().expect("slimhlo ends").code(), Some(1));
    assert!(err.is_empty(), "{err}");
}

#[test]
fn the_page_needs_nothing_else() {
    let folder = Folder::new();
    let run = folder.run(&["report", &data("attention_gradient.mlir"), "--html", "out.html"]).exits(0);
    assert!(run.text().contains("peak"));
    // `url(#...)` is a part of the page itself.
    let page = folder.read("out.html");
    let foreign = page.replace("url(#", "");
    for reference in ["http:", "https:", "//www", "src=", "href=", "url(", "@import", "fetch(", "import("] {
        assert!(!foreign.contains(reference), "{reference} in the page");
    }
    assert!(page.contains("attention_gradient.py:"));
    let out = folder.run(&["report", &data("attention_gradient.mlir"), "--html", "-"]).exits(0);
    assert_eq!(out.text(), page);
}

#[test]
fn large_programs_make_small_pages() {
    let folder = Folder::new();
    folder.write("in.mlir", chain(100_000));
    folder.run(&["report", "in.mlir", "--html", "out.html", "--quiet", "--pass-pipeline", ""]).exits(0);
    let page = folder.read("out.html");
    assert!(page.len() < 1 << 20, "{} bytes", page.len());
}

/// What a sparse tensor takes is not known, and kernels are not made of it.
#[test]
fn sparse_tensors_are_not_counted_as_dense() {
    let folder = Folder::new();
    let ty = "tensor<8x8xf32, #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>>";
    folder.write(
        "sparse.mlir",
        format!(
            "func.func @main(%a: {ty}) -> {ty} {{\n  %0 = stablehlo.sine %a : {ty}\n  return %0 : {ty}\n}}\n"
        ),
    );
    let report = folder.run(&["report", "sparse.mlir"]).exits(1);
    assert!(report.err.contains(&format!("how many bytes a {ty} takes is not known, because it is sparse")));
    let optimized = folder.run(&["optimize", "sparse.mlir"]).exits(0);
    assert!(optimized.err.contains("no figures of memory") && optimized.text().contains("stablehlo.sine"));
    let compiled = folder.run(&["compile", "sparse.mlir", "-o", "package"]).exits(1);
    assert!(compiled.err.contains("which is sparse; kernels are made of dense tensors alone"));
    assert_eq!(folder.names(), ["sparse.mlir"]);
}

/// As the PJRT layer keeps modules.
#[test]
fn a_folder_is_a_line_for_each_program() {
    let folder = Folder::new();
    let module = |size: u32| {
        format!(
            "func.func @main(%a: tensor<{size}xf32>) -> tensor<{size}xf32> {{ return %a : tensor<{size}xf32> }}"
        )
    };
    folder.write("7-0000-jit_f-before.mlir", module(1 << 20));
    folder.write("7-0000-jit_f-after.mlir", module(1 << 18));
    folder.write("7-0001-jit_g-before.mlir", module(1 << 22));
    folder.write("notes.txt", "no module");
    let run = |args: &[&str]| folder.run(&[&["report", "."], args].concat());
    let text = run(&[]).exits(0);
    let lines: Vec<Vec<&str>> =
        text.text().lines().skip(2).map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["7-0001-jit_g", "32.0", "MiB"]);
    let shrunk = ["7-0000-jit_f", "8.00", "MiB", "2.00", "MiB", "6.00", "MiB", "saved,", "75", "%"];
    assert_eq!(lines[1], shrunk);
    let json = run(&["--json"]).exits(0).json();
    assert_eq!(json["programs"][1]["after"]["peak"], 2 << 20);
    assert_eq!(json["programs"][0]["after"], Value::Null);
    assert!(
        run(&["--html", "page.html"]).exits(1).err.contains("--html, --plan and --pareto are for one module")
    );

    folder.write("7-0002-broken-before.mlir", "func.func @main(");
    let broken = run(&[]).exits(1);
    assert!(broken.text().contains("7-0002-broken") && broken.err.contains("7-0002-broken-before.mlir:1:"));

    let empty = Folder::new();
    assert!(
        empty.run(&["report", "."]).exits(1).err.contains("there is no file in . whose name ends in .mlir")
    );
}

/// What a partitioner sends for an update is known wherever it begins by a constant, be it one as Reactant writes them.
#[test]
fn constants_of_shardings_say_where_updates_begin() {
    let folder = Folder::new();
    let module = |dialect: &str| {
        let cut = "<@mesh, [{}, {\"x\"}]>";
        let given = format!("{{sdy.sharding = #sdy.sharding{cut}}}");
        format!(
            "module attributes {{mhlo.num_partitions = 4 : i32}} {{\n  sdy.mesh @mesh = <[\"x\"=4]>\n  \
             func.func @main(%a: tensor<8x64xf32> {given}, %u: tensor<8x32xf32> {given}) -> (tensor<8x64xf32> {given}) {{\n    \
             %i = {dialect}.constant dense<0> : tensor<i32>\n    %j = {dialect}.constant dense<10> : tensor<i32>\n    \
             %r = stablehlo.dynamic_update_slice %a, %u, %i, %j {{sdy.sharding = #sdy.sharding_per_value<[{cut}]>}} \
             : (tensor<8x64xf32>, tensor<8x32xf32>, tensor<i32>, tensor<i32>) -> tensor<8x64xf32>\n    \
             return %r : tensor<8x64xf32>\n  }}\n}}\n"
        )
    };
    let [plain, said] = ["stablehlo", "sdy"].map(|dialect| {
        folder.write("in.mlir", module(dialect));
        let report = folder.run(&["report", "in.mlir", "--json"]).exits(0).json();
        let of = |field: &str| number(&report["program"]["footprint"][field]);
        (of("collectives"), of("received"))
    });
    assert!(plain.0 > 0 && plain.1 > 0, "{plain:?}");
    assert_eq!(plain, said);
}
