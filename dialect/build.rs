// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Builds the C++ half: runs mlir-tblgen over the ODS files, compiles the glue in `lib/`, and merges MLIR's C API,
//! which Debian ships as one archive per component, into the one `libMLIR-C.a` that mlir-sys asks for.

use std::env;
use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// One mlir-tblgen run writes `<stem>.h.inc` and `<stem>.cpp.inc` from `<stem>.td` with these two generators.
struct Generated {
    stem: &'static str,
    declarations: &'static str,
    definitions: &'static str,
    /// Generators that need a dialect name get it by `--dialect` / `-attrdefs-dialect`.
    source: &'static str,
}

const fn generated(
    stem: &'static str,
    source: &'static str,
    declarations: &'static str,
    definitions: &'static str,
) -> Generated {
    Generated { stem, declarations, definitions, source }
}

const GENERATED: &[Generated] = &[
    generated(
        "stablehlo/StablehloDialect",
        "stablehlo/StablehloDialect",
        "-gen-dialect-decls",
        "-gen-dialect-defs",
    ),
    generated("stablehlo/StablehloEnums", "stablehlo/StablehloEnums", "-gen-enum-decls", "-gen-enum-defs"),
    generated(
        "stablehlo/StablehloAttrs",
        "stablehlo/StablehloAttrs",
        "-gen-attrdef-decls",
        "-gen-attrdef-defs",
    ),
    generated(
        "stablehlo/StablehloTypes",
        "stablehlo/StablehloTypes",
        "-gen-typedef-decls",
        "-gen-typedef-defs",
    ),
    generated("stablehlo/StablehloOps", "stablehlo/StablehloOps", "-gen-op-decls", "-gen-op-defs"),
    generated("chlo/ChloDialect", "chlo/ChloDialect", "-gen-dialect-decls", "-gen-dialect-defs"),
    generated("chlo/ChloEnums", "chlo/ChloEnums", "-gen-enum-decls", "-gen-enum-defs"),
    generated("chlo/ChloAttrs", "chlo/ChloAttrs", "-gen-attrdef-decls", "-gen-attrdef-defs"),
    generated("chlo/ChloOps", "chlo/ChloOps", "-gen-op-decls", "-gen-op-defs"),
    generated("sdy/SdyDialect", "sdy/SdyDialect", "-gen-dialect-decls", "-gen-dialect-defs"),
    generated("sdy/SdyEnums", "sdy/SdyEnums", "-gen-enum-decls", "-gen-enum-defs"),
    generated("sdy/SdyAttrs", "sdy/SdyAttrs", "-gen-attrdef-decls", "-gen-attrdef-defs"),
    generated("sdy/SdyOps", "sdy/SdyOps", "-gen-op-decls", "-gen-op-defs"),
];

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
    let prefix = PathBuf::from(env::var("MLIR_SYS_220_PREFIX").unwrap_or_else(|_| "/usr/lib/llvm-22".into()));
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    for watched in ["build.rs", "include", "lib"] {
        println!("cargo:rerun-if-changed={}", root.join(watched).display());
    }

    let generated = out.join("include");
    merge_mlir_c_api(&prefix, &out)?;
    // Until all dialects have landed there is nothing to link yet.
    if root.join("lib/sdy/SdyOps.cpp").exists() && root.join("lib/stablehlo/StablehloOps.cpp").exists() {
        run_tablegen(&prefix, &root.join("include"), &generated)?;
        compile(&prefix, &root, &generated)?;
    }

    println!("cargo:rustc-link-search=native={}", out.display());
    println!("cargo:include={}", root.join("include").display());
    println!("cargo:generated_include={}", generated.display());
    Ok(())
}

fn run_tablegen(prefix: &Path, include: &Path, out: &Path) -> Result<()> {
    for Generated { stem, declarations, definitions, source } in GENERATED {
        let td = include.join("slimhlo").join(format!("{source}.td"));
        if !td.exists() {
            return Err(format!("{} is missing", td.display()).into());
        }
        let dialect = stem.split('/').next().unwrap_or_default();
        for (generator, suffix) in [(declarations, "h.inc"), (definitions, "cpp.inc")] {
            let target = out.join("slimhlo").join(format!("{stem}.{suffix}"));
            fs::create_dir_all(target.parent().ok_or("generated file without a folder")?)?;
            let mut command = Command::new(prefix.join("bin/mlir-tblgen"));
            command.arg(generator).arg(&td).arg("-I").arg(include).arg("-I").arg(prefix.join("include"));
            match *generator {
                g if g.starts_with("-gen-dialect") => command.arg(format!("--dialect={dialect}")),
                g if g.starts_with("-gen-attrdef") => command.arg(format!("-attrdefs-dialect={dialect}")),
                g if g.starts_with("-gen-typedef") => command.arg(format!("-typedefs-dialect={dialect}")),
                _ => &mut command,
            };
            // mlir-tblgen leaves an unchanged file alone with this, which keeps C++ rebuilds small.
            command.arg("--write-if-changed").arg("-o").arg(&target);
            run(&mut command)?;
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

fn compile(prefix: &Path, root: &Path, generated: &Path) -> Result<()> {
    let mut sources = Vec::new();
    collect(&root.join("lib"), "cpp", &mut sources)?;
    sources.sort();
    cc::Build::new()
        .cpp(true)
        .compiler(prefix.join("bin/clang++"))
        .std("c++17")
        .flag("-fno-rtti")
        .flag("-fno-exceptions")
        .flag("-fvisibility-inlines-hidden")
        .flag("-Wno-unused-parameter")
        .flag("-isystem")
        .flag(prefix.join("include"))
        .include(root.join("include"))
        .include(generated)
        .files(sources)
        .try_compile("slimhlo_cxx")?;
    Ok(())
}

fn collect(folder: &Path, extension: &str, into: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, extension, into)?;
        } else if path.extension().is_some_and(|found| found == extension) {
            into.push(path);
        }
    }
    Ok(())
}

fn run(command: &mut Command) -> Result<()> {
    let status = command.status().map_err(|error| format!("cannot run {command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} failed: {status}").into()) }
}
