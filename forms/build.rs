// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Makes the ODS of the `vhlo` dialect's ops of the table in `src/vhlo/ops.rs`, runs mlir-tblgen, and compiles the glue in `lib/`.

mod cxx;
#[path = "src/vhlo/ops.rs"]
#[allow(dead_code)]
mod ops;

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// What is generated of which file: its name, the file, how declarations and definitions are asked for.
const GENERATED: &[(&str, &str, &str, &str)] = &[
    ("VhloDialect", "VhloDialect.td", "-gen-dialect-decls", "-gen-dialect-defs"),
    ("VhloAttrs", "VhloDialect.td", "-gen-attrdef-decls", "-gen-attrdef-defs"),
    ("VhloTypes", "VhloDialect.td", "-gen-typedef-decls", "-gen-typedef-defs"),
    ("VhloOps", "VhloOps.td", "-gen-op-decls", "-gen-op-defs"),
];

fn main() -> Result<()> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    for watched in ["build.rs", "include", "lib", "src/vhlo/ops.rs"] {
        println!("cargo:rerun-if-changed={}", root.join(watched).display());
    }
    if cxx::is_only_linted() {
        return Ok(());
    }
    let generated = PathBuf::from(env::var("OUT_DIR")?).join("include");
    let folder = generated.join("slimhlo/vhlo");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("VhloOps.td"), ods())?;
    for (name, source, declarations, definitions) in GENERATED {
        let own = root.join("include/slimhlo/vhlo").join(source);
        let source = if own.exists() { own } else { folder.join(source) };
        for (generator, suffix) in [(declarations, "h.inc"), (definitions, "cpp.inc")] {
            run_tablegen(generator, &source, &root, &folder.join(format!("{name}.{suffix}")))?;
        }
    }
    let sources = ["Bytecode.cpp", "Vhlo.cpp", "VhloOps.cpp"].map(|file| root.join("lib").join(file));
    let dialects = ["DEP_SLIMHLO_CXX_INCLUDE", "DEP_SLIMHLO_CXX_GENERATED_INCLUDE"];
    let mut includes = vec![root.join("include"), generated];
    for folder in dialects {
        includes.push(env::var(folder)?.into());
    }
    cxx::compile("slimhlo_forms_cxx", &sources, &includes)
}

fn run_tablegen(generator: &str, source: &Path, root: &Path, to: &Path) -> Result<()> {
    let prefix = cxx::prefix();
    let mut command = Command::new(prefix.join("bin/mlir-tblgen"));
    command.arg(generator).arg(source).arg("--write-if-changed").arg("-o").arg(to);
    for include in [root.join("include"), prefix.join("include")] {
        command.arg("-I").arg(include);
    }
    let status = command.status().map_err(|error| format!("cannot run {command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} failed: {status}").into()) }
}

/// One def per version of an op. Numbers of operands and results are for the ops that they become to check.
fn ods() -> String {
    let mut text = String::from("include \"slimhlo/vhlo/VhloDialect.td\"\n");
    for op in ops::OPS {
        let class = op.name.replace('-', "_");
        let traits = if class == "return_v1" { ", [Terminator]" } else { "" };
        let attributes: String =
            op.attributes.iter().map(|attribute| format!(", AnyAttr:${attribute}")).collect();
        let format = if class == "func_v1" { " let hasCustomAssemblyFormat = 1;" } else { "" };
        text += &format!(
            "def Vhlo_{class} : Vhlo_Op<\"{}\"{traits}> {{ let arguments = (ins Variadic<AnyType>:$ins{attributes});{format} }}\n",
            op.name
        );
    }
    text
}
