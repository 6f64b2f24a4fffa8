// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! How all build scripts compile C++: one place for the compiler, the language and MLIR's headers.

use std::collections::BTreeSet;
use std::env;
use std::error::Error;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::process;

/// Where LLVM and MLIR are installed.
pub fn prefix() -> PathBuf {
    PathBuf::from(env::var("MLIR_SYS_220_PREFIX").unwrap_or_else(|_| "/usr/lib/llvm-22".into()))
}

/// Whether this is for clippy, which links nothing and has build scripts run once more for it: then C++ need not be compiled.
pub fn is_only_linted() -> bool {
    let wrapper = env::var_os("RUSTC_WORKSPACE_WRAPPER").map(PathBuf::from);
    wrapper.is_some_and(|wrapper| wrapper.file_stem().is_some_and(|name| name == "clippy-driver"))
}

/// A compiler set up as LLVM's own is: without exceptions and run-time type information, which code that shares classes with
/// libMLIR must not have either.
pub fn compiler() -> cc::Build {
    let prefix = prefix();
    let mut build = cc::Build::new();
    build
        .cpp(true)
        // The glue is thin: what there is to debug is Rust. It is the same in all profiles, and so compiled once for all of them
        // (`compile`).
        .debug(false)
        .opt_level(2)
        .compiler(prefix.join("bin/clang++"))
        .std("c++17")
        .flag("-fno-rtti")
        .flag("-fno-exceptions")
        .flag("-fvisibility-inlines-hidden")
        .flag("-Wno-unused-parameter")
        .flag("-isystem")
        .flag(prefix.join("include"));
    build
}

/// Compiles sources that see the headers in `includes`, into a library that is linked statically.
///
/// Ops that ODS writes take the compiler minutes. Where the environment names a folder in SLIMHLO_CXX_STORE, as `cargo xtask` does,
/// libraries are kept there by what went into them, and a build of another profile or in another target directory takes them from it.
///
/// # Errors
/// What the compiler or the file system says.
#[allow(dead_code)] // what compiles one small file has no use for it
pub fn compile(name: &str, sources: &[PathBuf], includes: &[PathBuf]) -> Result<(), Box<dyn Error>> {
    let mut build = compiler();
    build.includes(includes).files(sources);
    let Some(store) = env::var_os("SLIMHLO_CXX_STORE").map(PathBuf::from) else {
        return Ok(build.try_compile(name)?);
    };
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let library = out.join(format!("lib{name}.a"));
    let kept = store.join(format!("{name}-{:016x}.a", fingerprint(&build, sources, includes)?));
    if fs::copy(&kept, &library).is_ok() {
        // What cc would have said.
        println!("cargo:rustc-link-lib=static={name}");
        println!("cargo:rustc-link-search=native={}", out.display());
        println!("cargo:rustc-link-lib=stdc++");
        return Ok(());
    }
    build.try_compile(name)?;
    // A store that cannot be written saves nothing, and does no harm.
    if let Err(error) = keep(&library, &kept, name) {
        println!("cargo:warning={} is not kept in {}: {error}", library.display(), store.display());
    }
    Ok(())
}

/// Of the compiler and its flags, and of all that it reads but the system's headers, whose version the compiler's stands for.
fn fingerprint(build: &cc::Build, sources: &[PathBuf], includes: &[PathBuf]) -> Result<u64, Box<dyn Error>> {
    let mut hasher = DefaultHasher::new();
    let tool = build.try_get_compiler()?;
    process::Command::new(tool.path()).arg("--version").output()?.stdout.hash(&mut hasher);
    // The libraries' own version: MLIR's headers come with them.
    fs::read(prefix().join("include/llvm/Config/llvm-config.h"))?.hash(&mut hasher);
    // Folders differ from build to build; what is in them counts.
    let flags = tool
        .args()
        .iter()
        .filter(|flag| !includes.iter().any(|folder| folder.as_os_str() == flag.as_os_str()));
    flags.for_each(|flag| flag.hash(&mut hasher));
    let mut files: BTreeSet<PathBuf> = sources.iter().cloned().collect();
    for folder in includes {
        collect(folder, &mut files)?;
    }
    for file in files {
        let text = fs::read(&file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        let included = includes.iter().find_map(|folder| file.strip_prefix(folder).ok());
        included.or(file.file_name().map(Path::new)).hash(&mut hasher);
        text.hash(&mut hasher);
    }
    Ok(hasher.finish())
}

/// All files below a folder.
///
/// # Errors
/// What the file system says.
pub fn collect(folder: &Path, into: &mut BTreeSet<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, into)?;
        } else {
            into.insert(path);
        }
    }
    Ok(())
}

/// Puts a library into the store, whole or not at all, in the place of those of the same name.
fn keep(library: &Path, kept: &Path, name: &str) -> io::Result<()> {
    let store = kept.parent().ok_or(io::ErrorKind::NotFound)?;
    fs::create_dir_all(store)?;
    let part = store.join(format!("{name}.{}.part", process::id()));
    fs::copy(library, &part)?;
    fs::rename(&part, kept)?;
    for entry in fs::read_dir(store)? {
        let path = entry?.path();
        let file = path.file_name().and_then(|file| file.to_str()).unwrap_or_default();
        let old = file.strip_prefix(name).is_some_and(|rest| rest.starts_with('-')) && path != kept;
        if old {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}
