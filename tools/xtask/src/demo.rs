// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//! `cargo xtask demo`: one program before and after, in its text and in its memory.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use console::style;
use serde::Deserialize;
use similar::{ChangeTag, TextDiff};

use crate::shell::Shell;
use crate::{setup, table};

const PROGRAM: &str = "test/data/ocean_tendency.mlir";
/// The demo measures under XLA for CPU, which is there anyway.
const PASS: &str = "--slimhlo-optimize=target=xla-cpu";
/// The packages whose programs README goes on to use.
const BUILT: [&str; 4] =
    ["--package=slimhlo-opt", "--package=slimhlo", "--package=slimhlo-plugin", "--package=slimhlo-runner"];
/// These programs.
pub const PROGRAMS: [(&str, &str); 4] = [
    ("slimhlo", "optimize, report on, compile and run a module"),
    ("slimhlo-opt", "mlir-opt with slimhlo's dialects and passes"),
    ("slimhlo-run", "runs what slimhlo compile writes; needs the NVIDIA driver only"),
    ("libslimhlo.so", "the same for any *-opt of MLIR 22, and for C++"),
];
/// Lines of the difference that are shown; both modules are kept for the rest.
const SHOWN: usize = 48;
const MIB: f64 = (1 << 20) as f64;

/// What to show.
#[derive(clap::Args)]
pub struct Args {
    /// A StableHLO module to use instead of the bundled ocean model
    program: Option<std::path::PathBuf>,
}

/// Memory of a compiled module by XLA's buffer assignment, in bytes.
#[derive(Deserialize)]
struct Memory {
    arguments: f64,
    results: f64,
    temporaries: f64,
    total: f64,
    ratio: f64,
    /// How many of each collective the compiled module has.
    collectives: BTreeMap<String, u64>,
}

/// Builds, rewrites, and prints the comparison.
pub fn main(shell: &Shell, args: &Args) -> Result<()> {
    let input = match &args.program {
        Some(program) => std::path::absolute(program)?,
        None => shell.root.join(PROGRAM),
    };
    ensure!(input.is_file(), "{} is missing", input.display());
    setup::ensure(shell, true)?;
    heading("Building slimhlo, slimhlo-opt, slimhlo-run and libslimhlo.so");
    shell.show(&shell.cargo(["build", "--release"].into_iter().chain(BUILT)))?;

    let folder = shell.target.join("demo");
    fs::create_dir_all(&folder)?;
    let name = input.file_stem().unwrap_or_default().to_string_lossy();
    // The driver prints both, so that the difference is what the pass did and not how each printer writes.
    let before = optimize(shell, &input, None, &folder.join(format!("{name}.before.mlir")))?;
    let after = optimize(shell, &input, Some(PASS), &folder.join(format!("{name}.after.mlir")))?;
    heading(&format!("slimhlo-opt {PASS} {}", input.strip_prefix(&shell.root).unwrap_or(&input).display()));
    print_difference(&before.text, &after.text);

    heading("Memory by XLA's buffer assignment, MiB");
    let rows = [("before", &before), ("after", &after)]
        .into_iter()
        .map(|(label, module)| {
            let memory = referee(shell, &module.path)?;
            let mib = |bytes: f64| format!("{:.1}", bytes / MIB);
            Ok(vec![
                label.to_owned(),
                mib(memory.arguments),
                mib(memory.results),
                mib(memory.temporaries),
                mib(memory.total),
                format!("{:.3}", memory.ratio),
                collectives(&memory.collectives),
            ])
        })
        .collect::<Result<Vec<_>>>()?;
    println!("{}", table::render(&["", "arg", "out", "temp", "total", "ratio", "collectives"], &[6], &rows));
    println!("ratio is total over what arguments and results take by themselves; 1.000 is the least.");
    println!("Both modules are in {}", folder.display());
    print_programs(shell)
}

/// Says where what was built is, and fails if some of it is not.
fn print_programs(shell: &Shell) -> Result<()> {
    let release = shell.target.join("release");
    heading(&format!("In {}", release.display()));
    for (name, what) in PROGRAMS {
        ensure!(release.join(name).is_file(), "{name} was not built");
        println!("  {name:<14}  {what}");
    }
    println!("\n  export PATH={}:$PATH", release.display());
    Ok(())
}

fn collectives(counts: &BTreeMap<String, u64>) -> String {
    counts.iter().map(|(name, count)| format!("{count} {name}")).collect::<Vec<_>>().join(", ")
}

fn heading(text: &str) {
    println!("\n{}", style(text).bold());
}

struct Module {
    path: String,
    text: String,
}

fn optimize(shell: &Shell, input: &Path, pass: Option<&str>, output: &Path) -> Result<Module> {
    let path = output.to_string_lossy().into_owned();
    let input = input.to_string_lossy().into_owned();
    let args = [Some(input.as_str()), pass, Some("-o"), Some(path.as_str())].into_iter().flatten();
    shell.show(&shell.command(shell.target.join("release/slimhlo-opt"), args))?;
    let text = fs::read_to_string(output).with_context(|| format!("cannot read {path}"))?;
    Ok(Module { path, text })
}

fn referee(shell: &Shell, module: &str) -> Result<Memory> {
    let script = "test/oracle/referee.py";
    let command =
        shell.command(setup::python(shell), [script, "--json", module]).stderr_capture().unchecked();
    let said = command.stdout_capture().run()?;
    ensure!(said.status.success(), "{script} failed:\n{}", String::from_utf8_lossy(&said.stderr));
    serde_json::from_slice(&said.stdout).with_context(|| format!("cannot read what {script} says"))
}

/// Prints the first of the lines that differ, some lines around them, and how many more there are.
fn print_difference(before: &str, after: &str) {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let (old_keys, new_keys): (Vec<String>, Vec<String>) = (
        old.iter().map(|line| unnumbered(line)).collect(),
        new.iter().map(|line| unnumbered(line)).collect(),
    );
    let old_refs: Vec<&str> = old_keys.iter().map(String::as_str).collect();
    let new_refs: Vec<&str> = new_keys.iter().map(String::as_str).collect();
    let difference = TextDiff::from_slices(&old_refs, &new_refs);
    let groups = difference.grouped_ops(1);
    if groups.is_empty() {
        println!("nothing to rewrite");
    }
    let (mut shown, mut hidden) = (0, 0);
    for (index, group) in groups.iter().enumerate() {
        if index > 0 && shown < SHOWN {
            println!("{}", style("  ...").dim());
        }
        for change in group.iter().flat_map(|op| difference.iter_changes(op)) {
            if shown == SHOWN {
                hidden += usize::from(change.tag() != ChangeTag::Equal);
                continue;
            }
            shown += 1;
            // The keys were compared; the lines are shown.
            let line = |lines: &[&'_ str], at: Option<usize>| {
                at.and_then(|at| lines.get(at).copied()).unwrap_or_default().to_owned()
            };
            match change.tag() {
                ChangeTag::Delete => {
                    println!("{}", style(format!("- {}", line(&old, change.old_index()))).red())
                }
                ChangeTag::Insert => {
                    println!("{}", style(format!("+ {}", line(&new, change.new_index()))).green())
                }
                ChangeTag::Equal => {
                    println!("{}", style(format!("  {}", line(&new, change.new_index()))).dim())
                }
            }
        }
    }
    if hidden > 0 {
        println!("{}", style(format!("  ... and {hidden} more lines that differ")).dim());
    }
}

/// A line without the numbers of its values: one op less renumbers all after it, which is no difference.
fn unnumbered(line: &str) -> String {
    let mut parts = line.split('%');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(part.len());
        let (name, rest) = part.split_at(end);
        // `%12` is nothing but a number; `%cst_3` is a name made unique by one.
        out.push('%');
        out.push_str(name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('_'));
        out.push_str(rest);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::unnumbered;

    #[test]
    fn numbers_of_values_do_not_count_but_others_do() {
        assert_eq!(unnumbered("%12 = add %3, %cst_4 : i32"), "% = add %, %cst : i32");
        assert_ne!(unnumbered("%1 = slice [0:12]"), unnumbered("%2 = slice [0:13]"));
    }
}
