// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//! `cargo xtask dist`: an archive that runs on a Debian 12 (or anything as new) without LLVM's packages.
//!
//! Programs, `libslimhlo.so` and the CMake package as `cmake --install` puts them, completions, manual pages and the wheel, and beside them the
//! shared libraries that they need, except for those that every system has. All find each other by where they lie ($ORIGIN), so the
//! folder can be put anywhere. A stock `mlir-opt` that loads the plugin has these libraries already, and takes its own.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::shell::Shell;
use crate::{setup, wheel};

/// What to make.
#[derive(clap::Args)]
pub struct Args {
    /// Only the folder, no archive of it
    #[arg(long)]
    no_archive: bool,
    /// Without the Python package, which takes an environment with JAX to build
    #[arg(long)]
    no_wheel: bool,
}

/// Libraries of every Debian, whose package manager needs them: glibc's, and those of the C++ compiler.
const EVERYWHERE: [&str; 10] = [
    "ld-linux",
    "libc.so",
    "libm.so",
    "libdl.so",
    "libpthread.so",
    "librt.so",
    "libresolv.so",
    "libutil.so",
    "libstdc++.so",
    "libgcc_s.so",
];

/// The programs that have to be in it, and the library.
const PARTS: [&str; 4] = ["bin/slimhlo", "bin/slimhlo-opt", "bin/slimhlo-run", "lib/libslimhlo.so"];

/// A program for the trial: an update that becomes a pad, with nothing of CUDA's mathematics.
const MODULE: &str = "func.func @main(%x: tensor<4xf32>) -> tensor<10xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<10xf32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %r = stablehlo.dynamic_update_slice %zeros, %x, %three : (tensor<10xf32>, tensor<4xf32>, tensor<i32>) -> tensor<10xf32>
  return %r : tensor<10xf32>
}
";

/// Builds, bundles, tries and packs.
pub fn main(shell: &Shell, args: &Args) -> Result<()> {
    setup::ensure(shell, !args.no_wheel)?;
    if which::which("patchelf").is_err() {
        setup::install(shell, &["patchelf"])?;
    }
    let name = format!("slimhlo-{}-{}-linux", env!("CARGO_PKG_VERSION"), std::env::consts::ARCH);
    let dist = shell.target.join("dist");
    let folder = dist.join(&name);
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())?;
    }
    fs::create_dir_all(&folder)?;
    install(shell, &dist.join("cmake"), &folder)?;
    let bundled = bundle(shell, &folder)?;
    licences(shell, &folder, &bundled)?;
    run(shell, folder.join("bin/slimhlo"), ["manual".into(), folder.join("share").into()])?;
    for file in ["README.md", "CHANGELOG.md"] {
        fs::copy(shell.root.join(file), folder.join("share/slimhlo").join(file))?;
    }
    if !args.no_wheel {
        wheel::tools(shell)?;
        shell.show(&wheel::command(shell))?;
        let wheel = wheel::find(shell)?;
        let name = wheel.file_name().unwrap_or_default();
        fs::copy(&wheel, folder.join("share/slimhlo").join(name))?;
    }
    attempt(shell, &folder, &dist.join("root"))?;
    println!("{}: {} libraries beside the programs", folder.display(), bundled.len());
    if !args.no_archive {
        let archive = dist.join(format!("{name}.tar.gz"));
        let words = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "-czf"].map(OsString::from);
        let rest = [archive.clone().into(), "-C".into(), dist.into(), name.into()];
        run(shell, "tar", words.into_iter().chain(rest))?;
        let size = fs::metadata(&archive)?.len();
        println!("{}: {:.0} MB", archive.display(), size as f64 / 1e6);
    }
    Ok(())
}

fn run(shell: &Shell, program: impl AsRef<Path>, words: impl IntoIterator<Item = OsString>) -> Result<()> {
    shell.show(&shell.command(program.as_ref(), words))
}

/// Puts what cargo builds where an installed package has it.
fn install(shell: &Shell, build: &Path, folder: &Path) -> Result<()> {
    let words = [
        OsString::from("-S"),
        "cmake".into(),
        "-B".into(),
        build.into(),
        // In one go, so that nothing is built twice with other features.
        "-DSLIMHLO_CARGO_FLAGS=--package=slimhlo --package=slimhlo-runner".into(),
    ];
    run(shell, "cmake", words)?;
    let words = [OsString::from("--install"), build.into(), "--prefix".into(), folder.into()];
    shell.must("cmake --install", &shell.command("cmake", words))?;
    for name in ["slimhlo", "slimhlo-run"] {
        fs::copy(shell.target.join("release").join(name), folder.join("bin").join(name))?;
    }
    for part in PARTS {
        ensure!(folder.join(part).is_file(), "{part} is missing");
    }
    Ok(())
}

/// The shared libraries that a program needs, all the way down: name and file.
fn needed(shell: &Shell, program: &Path) -> Result<BTreeMap<String, PathBuf>> {
    let listed = shell.command("ldd", [program]).read()?;
    let mut found = BTreeMap::new();
    for line in listed.lines() {
        let Some((name, rest)) = line.trim().split_once(" => ") else { continue };
        let file = rest.split(" (").next().unwrap_or_default();
        ensure!(file != "not found", "{} needs {name}, which is not there", program.display());
        if !EVERYWHERE.iter().any(|start| name.starts_with(start)) {
            found.insert(name.to_owned(), fs::canonicalize(file)?);
        }
    }
    Ok(found)
}

/// Copies the libraries that are needed, and makes all find each other. What was copied, and from where.
fn bundle(shell: &Shell, folder: &Path) -> Result<BTreeMap<String, PathBuf>> {
    let mut all = BTreeMap::new();
    for part in PARTS {
        all.extend(needed(shell, &folder.join(part))?);
    }
    let lib = folder.join("lib");
    for (name, file) in &all {
        let copy = lib.join(name);
        fs::copy(file, &copy).with_context(|| file.display().to_string())?;
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o755))?;
    }
    let bundled = all.keys().map(|name| lib.join(name));
    let (programs, own) = (PARTS[..3].iter().map(|part| folder.join(part)), folder.join(PARTS[3]));
    let libraries = bundled.chain([own]).map(|library| ("$ORIGIN", library));
    for (path, file) in libraries.chain(programs.map(|program| ("$ORIGIN/../lib", program))) {
        run(shell, "patchelf", ["--set-rpath".into(), path.into(), file.into()])?;
    }
    Ok(all)
}

/// The terms of what is bundled, as Debian's packages have them.
fn licences(shell: &Shell, folder: &Path, bundled: &BTreeMap<String, PathBuf>) -> Result<()> {
    let terms = folder.join("share/slimhlo/licences");
    fs::create_dir_all(&terms)?;
    for file in bundled.values() {
        // Debian's list of files may have the name that it had before /lib became /usr/lib.
        let short = file.strip_prefix("/usr").map_or(file.clone(), |rest| Path::new("/").join(rest));
        let owner = [file, &short].into_iter().find_map(|file| {
            let said = shell.command("dpkg-query", ["-S".into(), file.as_os_str().to_owned()]);
            let said = said.stderr_null().read().ok()?;
            said.split(':').next().map(str::to_owned)
        });
        let Some(package) = owner else { continue };
        let copyright = Path::new("/usr/share/doc").join(&package).join("copyright");
        if copyright.is_file() {
            fs::copy(copyright, terms.join(package))?;
        }
    }
    Ok(())
}

/// Runs the programs in a root folder that has nothing but them and the libraries that every Debian has.
fn attempt(shell: &Shell, folder: &Path, root: &Path) -> Result<()> {
    let mut inside: Vec<OsString> = ["unshare", "--mount", "--pid", "--fork"].map(OsString::from).into();
    if shell.command("id", ["-u"]).read()?.trim() != "0" {
        inside.extend(["--user", "--map-root-user"].map(OsString::from));
    }
    // Images are built where no namespace is to be had; there it is the next stage, which has no LLVM, that runs them.
    let alone = inside[1..].iter().cloned().chain(["true".into()]);
    if !shell.command(&inside[0], alone).stderr_null().unchecked().run()?.status.success() {
        println!("Not run without LLVM's libraries: no namespace is to be had here.");
        return Ok(());
    }
    if root.exists() {
        fs::remove_dir_all(root)?;
    }
    fs::create_dir_all(root.join("tmp"))?;
    // The library needs them all: it is C++.
    let listed = shell.command("ldd", [folder.join("lib/libslimhlo.so")]).read()?;
    for file in listed.split_whitespace().filter(|word| word.starts_with('/')).map(Path::new) {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        if EVERYWHERE.iter().any(|start| name.starts_with(start)) {
            let copy = root.join(file.strip_prefix("/")?);
            fs::create_dir_all(copy.parent().unwrap_or(root))?;
            fs::copy(file, copy).with_context(|| file.display().to_string())?;
        }
    }
    let words = [OsString::from("-a"), folder.into(), root.join("slimhlo").into()];
    run(shell, "cp", words)?;
    fs::write(root.join("tmp/in.mlir"), MODULE)?;
    // The loader asks /proc where a program is.
    fs::create_dir_all(root.join("proc"))?;
    let mut proc = OsString::from("--mount-proc=");
    proc.push(root.join("proc"));
    inside.extend([proc, "chroot".into(), root.into()]);
    let trials: [(&[&str], &str); 5] = [
        (&["slimhlo", "optimize", "/tmp/in.mlir"], "stablehlo.pad"),
        (&["slimhlo-opt", "--slimhlo-dus-to-pad", "/tmp/in.mlir"], "stablehlo.pad"),
        (&["slimhlo", "run", "/tmp/in.mlir"], "result 0"),
        (&["slimhlo", "compile", "/tmp/in.mlir", "--emit", "ptx"], ".target sm_90"),
        (&["slimhlo-run", "--version"], env!("CARGO_PKG_VERSION")),
    ];
    for (words, expected) in trials {
        let program = format!("/slimhlo/bin/{}", words[0]);
        let before = inside[1..].iter().cloned().chain([program.into()]);
        let words = before.chain(words[1..].iter().map(OsString::from));
        let done = shell.command(&inside[0], words).stderr_to_stdout().unchecked().read()?;
        ensure!(done.contains(expected), "in a folder without LLVM: no `{expected}` in\n{done}");
    }
    fs::remove_dir_all(root)?;
    println!("All programs run in a folder without LLVM's libraries.");
    Ok(())
}
