// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//! `cargo xtask docs`: the pages that are written from the sources.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::setup;
use crate::shell::{Shell, llvm_prefix};

/// Nothing to choose.
#[derive(clap::Args)]
pub struct Args {}

/// Dialects with a page each: name and ODS file.
const DIALECTS: [(&str, &str); 3] = [
    ("stablehlo", "slimhlo/stablehlo/StablehloOps.td"),
    ("chlo", "slimhlo/chlo/ChloOps.td"),
    ("sdy", "slimhlo/sdy/SdyOps.td"),
];

struct Page {
    /// Below the repository.
    path: PathBuf,
    text: String,
}

/// Writes the pages.
pub fn main(shell: &Shell, _: &Args) -> Result<()> {
    setup::ensure(shell, false)?;
    shell.show(&shell.cargo(["build", "--workspace", "--bins"]))?;
    for Page { path, text } in pages(shell)? {
        let file = shell.root.join(&path);
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
        println!("wrote {}", path.display());
    }
    Ok(())
}

/// The pages that do not say what the sources say. Needs a build.
pub fn stale(shell: &Shell) -> Result<Vec<String>> {
    let stale = pages(shell)?.into_iter().filter(|page| {
        fs::read_to_string(shell.root.join(&page.path)).map_or(true, |there| there != page.text)
    });
    Ok(stale.map(|page| page.path.display().to_string()).collect())
}

fn pages(shell: &Shell) -> Result<Vec<Page>> {
    let mut pages = vec![passes(shell)?];
    for (name, ods) in DIALECTS {
        pages.push(dialect(shell, name, ods)?);
    }
    Ok(pages)
}

fn dialect(shell: &Shell, name: &str, ods: &str) -> Result<Page> {
    let mlir = llvm_prefix().join("include").to_string_lossy().into_owned();
    let file = format!("dialect/include/{ods}");
    let flag = format!("--dialect={name}");
    let args = ["--gen-dialect-doc", &flag, "-I", "dialect/include", "-I", &mlir, &file];
    let text = shell
        .command(shell.llvm("mlir-tblgen"), args)
        .read()
        .with_context(|| format!("mlir-tblgen cannot document {file}"))?;
    Ok(Page { path: format!("docs/dialects/{name}.md").into(), text: tidy(&text) })
}

/// Trims what mlir-tblgen leaves for a site generator, and ends the file with one newline.
fn tidy(text: &str) -> String {
    let lines: Vec<&str> =
        text.lines().filter(|line| !line.trim().starts_with("[TOC]")).map(str::trim_end).collect();
    format!("{}\n", lines.join("\n").trim())
}

/// The passes describe themselves.
fn passes(shell: &Shell) -> Result<Page> {
    let program = shell.target.join("debug/pass-docs");
    let text = shell.command(&program, [] as [&str; 0]).read().context("pass-docs failed")?;
    Ok(Page { path: "docs/passes.md".into(), text: tidy(&text) })
}
