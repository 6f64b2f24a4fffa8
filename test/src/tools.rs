// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//! The programs that RUN lines call: where they are, and the build that makes ours.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

/// Name under which this executable acts as FileCheck.
pub const FILECHECK: &str = "FileCheck";

/// Set to use what the target directory holds as it is; `cargo xtask test` has built it already.
const NO_BUILD: &str = "SLIMHLO_TEST_NO_BUILD";

/// LLVM's programs which tests use as they are.
const LLVM_TOOLS: [&str; 5] = ["mlir-opt", "mlir-translate", "not", "split-file", "count"];

/// The programs of one test run.
pub struct Tools {
    /// Folder with a link to each program, for the head of `PATH`.
    pub path: PathBuf,
    /// The plugin, for `mlir-opt --load-dialect-plugin=`.
    pub plugin: PathBuf,
}

impl Tools {
    /// Builds `slimhlo-opt` and the plugin in this executable's own profile and target directory, and collects
    /// them and LLVM's programs in one folder.
    pub fn prepare() -> Result<Self> {
        let this = env::current_exe().context("cannot find the path of the test executable")?;
        // Cargo puts a test executable in <target>/<profile>/deps.
        let profile_dir = this
            .parent()
            .filter(|deps| deps.ends_with("deps"))
            .and_then(Path::parent)
            .with_context(|| format!("{} is not in a deps folder of cargo's", this.display()))?;
        if env::var_os(NO_BUILD).is_none() {
            build(profile_dir)?;
        }

        let path = profile_dir.join("lit").join("bin");
        fs::create_dir_all(&path).with_context(|| format!("cannot create {}", path.display()))?;
        link(&this, &path.join(FILECHECK))?;
        link(&profile_dir.join("slimhlo-opt"), &path.join("slimhlo-opt"))?;
        let llvm = llvm_bin();
        for tool in LLVM_TOOLS {
            link(&llvm.join(tool), &path.join(tool))?;
        }
        let plugin = profile_dir.join("libslimhlo.so");
        ensure!(
            plugin.is_file(),
            "{} is missing; `cargo build -p slimhlo-plugin` makes it",
            plugin.display()
        );
        Ok(Self { path, plugin })
    }
}

/// LLVM's programs; the prefix is the one the crates are built with (.cargo/config.toml).
fn llvm_bin() -> PathBuf {
    let prefix = env::var_os("MLIR_SYS_220_PREFIX").unwrap_or_else(|| OsString::from("/usr/lib/llvm-22"));
    PathBuf::from(prefix).join("bin")
}

fn build(profile_dir: &Path) -> Result<()> {
    let profile = match profile_dir.file_name().and_then(|name| name.to_str()) {
        Some("debug") => "dev",
        Some(profile) => profile,
        None => bail!("{} names no cargo profile", profile_dir.display()),
    };
    let status = Command::new(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")))
        // The whole workspace, as `cargo build` does: a selection may unify the features of dependencies otherwise,
        // and cargo would build MLIR's bindings and our C++ once more.
        .args(["build", "--quiet", "--workspace", "--profile", profile])
        .arg("--target-dir")
        .arg(profile_dir.parent().unwrap_or(profile_dir))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .context("cannot start cargo")?;
    ensure!(status.success(), "slimhlo-opt and the plugin do not build, so no lit test can run");
    Ok(())
}

/// Points `link` at `program`. Another test process may do the same at the same time.
fn link(program: &Path, link: &Path) -> Result<()> {
    ensure!(
        program.is_file(),
        "{} is missing; `cargo xtask setup` and `cargo build` bring it",
        program.display()
    );
    if fs::read_link(link).is_ok_and(|old| old == program) {
        return Ok(());
    }
    let fresh = link.with_extension(std::process::id().to_string());
    symlink(program, &fresh)
        .and_then(|()| fs::rename(&fresh, link))
        .or_else(|error: io::Error| if link.is_symlink() { Ok(()) } else { Err(error) })
        .with_context(|| format!("cannot link {} to {}", link.display(), program.display()))
}
