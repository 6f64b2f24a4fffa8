// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Builds the C++ half: runs mlir-tblgen over the ODS files, compiles the glue in `lib/`, and merges MLIR's C API,
//! which Debian ships as one archive per component, into the one `libMLIR-C.a` that mlir-sys asks for.

mod cxx;

use std::collections::BTreeSet;
use std::env;
use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Each dialect's folder and the prefix of its files, and what is generated from each of them: `<stem>.h.inc` by the
/// first generator, `<stem>.cpp.inc` by the second.
const DIALECTS: &[(&str, &str, &[Generated])] = &[
    ("stablehlo", "Stablehlo", &[DIALECT, ENUMS, ATTRS, TYPES, OPS]),
    ("chlo", "Chlo", &[DIALECT, ENUMS, ATTRS, OPS]),
    ("sdy", "Sdy", &[DIALECT, ENUMS, ATTRS, OPS]),
];

struct Generated {
    file: &'static str,
    declarations: &'static str,
    definitions: &'static str,
    /// How these generators are told which dialect is meant, if they need it.
    dialect_flag: Option<&'static str>,
}

const DIALECT: Generated = Generated {
    file: "Dialect",
    declarations: "-gen-dialect-decls",
    definitions: "-gen-dialect-defs",
    dialect_flag: Some("-dialect"),
};
const ENUMS: Generated = Generated {
    file: "Enums",
    declarations: "-gen-enum-decls",
    definitions: "-gen-enum-defs",
    dialect_flag: None,
};
const ATTRS: Generated = Generated {
    file: "Attrs",
    declarations: "-gen-attrdef-decls",
    definitions: "-gen-attrdef-defs",
    dialect_flag: Some("-attrdefs-dialect"),
};
const TYPES: Generated = Generated {
    file: "Types",
    declarations: "-gen-typedef-decls",
    definitions: "-gen-typedef-defs",
    dialect_flag: Some("-typedefs-dialect"),
};
const OPS: Generated =
    Generated { file: "Ops", declarations: "-gen-op-decls", definitions: "-gen-op-defs", dialect_flag: None };

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() {
    if let Err(error) = build() {
        // A build script has no better channel than its exit message; say what to do next.
        eprintln!(
            "slimhlo-dialect: {error}\nhelp: `cargo xtask setup` installs the LLVM 22 packages this needs"
        );
        std::process::exit(1);
    }
}

fn build() -> Result<()> {
    let prefix = cxx::prefix();
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    for watched in ["build.rs", "include", "lib"] {
        println!("cargo:rerun-if-changed={}", root.join(watched).display());
    }

    let generated = out.join("include");
    println!("cargo:include={}", root.join("include").display());
    println!("cargo:generated_include={}", generated.display());
    if cxx::is_only_linted() {
        return Ok(());
    }
    merge_mlir_c_api(&prefix, &out)?;
    run_tablegen(&prefix, &root.join("include"), &generated)?;
    compile(&root, &generated)?;

    println!("cargo:rustc-link-search=native={}", out.display());
    Ok(())
}

fn run_tablegen(prefix: &Path, include: &Path, out: &Path) -> Result<()> {
    for (dialect, name, generated) in DIALECTS {
        let folder = out.join("slimhlo").join(dialect);
        fs::create_dir_all(&folder)?;
        for Generated { file, declarations, definitions, dialect_flag } in *generated {
            let source = include.join("slimhlo").join(dialect).join(format!("{name}{file}.td"));
            for (generator, suffix) in [(declarations, "h.inc"), (definitions, "cpp.inc")] {
                let mut command = Command::new(prefix.join("bin/mlir-tblgen"));
                command.arg(generator).arg(&source);
                command.arg("-I").arg(include).arg("-I").arg(prefix.join("include"));
                if let Some(flag) = dialect_flag {
                    command.arg(format!("{flag}={dialect}"));
                }
                // mlir-tblgen leaves an unchanged file alone with this, which keeps C++ rebuilds small.
                command
                    .arg("--write-if-changed")
                    .arg("-o")
                    .arg(folder.join(format!("{name}{file}.{suffix}")));
                run(&mut command)?;
            }
        }
    }
    Ok(())
}

fn merge_mlir_c_api(prefix: &Path, out: &Path) -> Result<()> {
    let merged = out.join("libMLIR-C.a");
    let mut archives: Vec<PathBuf> = fs::read_dir(prefix.join("lib"))?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            name.starts_with("libMLIRCAPI") && name.ends_with(".a")
        })
        .collect();
    if archives.is_empty() {
        return Err(format!("no libMLIRCAPI*.a under {}/lib", prefix.display()).into());
    }
    archives.sort();
    if merged.exists() {
        fs::remove_file(&merged)?;
    }
    let mut child = Command::new(prefix.join("bin/llvm-ar")).arg("-M").stdin(Stdio::piped()).spawn()?;
    let mut script = format!("create {}\n", merged.display());
    for archive in archives {
        script.push_str(&format!("addlib {}\n", archive.display()));
    }
    script.push_str("save\nend\n");
    child.stdin.take().ok_or("llvm-ar has no stdin")?.write_all(script.as_bytes())?;
    if child.wait()?.success() { Ok(()) } else { Err("llvm-ar could not merge the C API archives".into()) }
}

fn compile(root: &Path, generated: &Path) -> Result<()> {
    let mut files = BTreeSet::new();
    cxx::collect(&root.join("lib"), &mut files)?;
    let is_source = |file: &PathBuf| file.extension().is_some_and(|extension| extension == "cpp");
    let sources: Vec<PathBuf> = files.into_iter().filter(is_source).collect();
    cxx::compile("slimhlo_cxx", &sources, &[root.join("include"), generated.to_owned()])
}

fn run(command: &mut Command) -> Result<()> {
    let status = command.status().map_err(|error| format!("cannot run {command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} failed: {status}").into()) }
}
