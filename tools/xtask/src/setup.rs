// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//! Brings what building and testing need: Debian packages, and the Python environment of the oracle tests.
//!
//! What is there is used as it is, so with everything in place nothing is fetched and no network is needed.

use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::shell::{Shell, llvm_prefix};

/// What the C++ half, the crates and the tests are built with.
const PACKAGES: [&str; 14] = [
    "llvm-22-dev",
    "libmlir-22-dev",
    "mlir-22-tools",
    // The tblgen crate links LLVM's component list, which names Polly.
    "libpolly-22-dev",
    // Crates with C++ of their own look for `c++`; slimhlo's is compiled by clang.
    "g++",
    "clang-22",
    "libclang-22-dev",
    "lld-22",
    "clang-format-22",
    "cmake",
    "ninja-build",
    "libzstd-dev",
    "libxml2-dev",
    "zlib1g-dev",
];

/// What the tests of `slimhlo report --html` look at the page with; some 300 MB, so only where those tests will run.
const BROWSER: &str = "chromium";

/// Others that the tests find, too.
const BROWSERS: [&str; 4] = [BROWSER, "chromium-browser", "google-chrome", "google-chrome-stable"];

/// jaxlib has no release for older ones.
const OLDEST_PYTHON: (u32, u32) = (3, 11);

/// What to set up.
#[derive(clap::Args)]
pub struct Args {
    /// Leave out the Python environment, which only the oracle tests, the demo and the benchmarks need
    #[arg(long)]
    no_python: bool,
}

/// Packages are missing and nobody here may install them.
#[derive(Debug)]
pub struct NeedsRoot(String);

impl std::fmt::Display for NeedsRoot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "packages are missing, and installing them takes root. Run this, then try again:\n\n  {}",
            self.0
        )
    }
}

impl std::error::Error for NeedsRoot {}

/// `cargo xtask setup`
pub fn main(shell: &Shell, args: &Args) -> Result<()> {
    packages(shell, !args.no_python, true)?;
    ensure(shell, !args.no_python)?;
    if !args.no_python {
        assembler_environment(shell)?;
        device_compilers(shell)?;
        cpu_plugins(shell)?;
    }
    println!("All that slimhlo needs is in place.");
    Ok(())
}

/// Sets up what is not there yet; the Python environment when `python` asks for it.
pub fn ensure(shell: &Shell, python: bool) -> Result<()> {
    packages(shell, python, false)?;
    if python {
        environment(shell)?;
    }
    Ok(())
}

/// The Python of the oracle environment.
pub fn python(shell: &Shell) -> PathBuf {
    shell.target.join("venv/bin/python")
}

/// Installs the packages that are missing, with those for a Python environment if `python` asks for them, and a browser if
/// `browser` does.
pub fn packages(shell: &Shell, python: bool, browser: bool) -> Result<()> {
    let mut wanted: Vec<&str> = PACKAGES.to_vec();
    if browser && BROWSERS.iter().all(|name| which::which(name).is_err()) {
        wanted.push(BROWSER);
    }
    if python && !find_python(shell).makes_environments() {
        wanted.extend(["python3", "python3-venv"]);
    }
    if which::which("dpkg-query").is_err() {
        // Elsewhere than on Debian we cannot install, but what somebody installed by hand is as good.
        let probe = llvm_prefix().join("bin/mlir-tblgen");
        ensure!(
            probe.is_file(),
            "{} is missing and this is not a Debian; install LLVM and MLIR 22 and set MLIR_SYS_220_PREFIX and \
             TABLEGEN_220_PREFIX to where they are",
            probe.display()
        );
        return Ok(());
    }
    install(shell, &wanted)
}

/// Installs those of some Debian packages that are missing.
pub fn install(shell: &Shell, wanted: &[&str]) -> Result<()> {
    let missing = missing(shell, wanted)?;
    if missing.is_empty() {
        return Ok(());
    }
    let root = root(shell, &missing)?;
    println!("Installing Debian packages: {}", missing.join(" "));
    if !unknown(shell, &missing)?.is_empty() {
        shell.must("apt-get update", &apt(shell, &root, &["update"]))?;
        let unknown = unknown(shell, &missing)?;
        ensure!(
            unknown.is_empty(),
            "apt knows no {}. Debian 12 has LLVM 22 in its suite bookworm-security and the rest in bookworm: see that \
             /etc/apt/sources.list or a file of /etc/apt/sources.list.d names both",
            unknown.join(", no ")
        );
    }
    let mut install = vec!["install", "--yes", "--no-install-recommends"];
    install.extend(&missing);
    let install = apt(shell, &root, &install);
    // A package list that has aged names files which the mirror has replaced.
    if !shell.watch("apt-get install", &install)?.ok {
        shell.must("apt-get update", &apt(shell, &root, &["update"]))?;
        shell.must("apt-get install", &install)?;
    }
    Ok(())
}

fn missing<'a>(shell: &Shell, wanted: &[&'a str]) -> Result<Vec<&'a str>> {
    // dpkg-query fails when it does not know one of the packages, and still lists the others.
    let mut args = vec!["--show", "--showformat=${Package} ${db:Status-Status}\\n"];
    args.extend(wanted);
    let listed = shell.command("dpkg-query", args).stderr_null().unchecked().read()?;
    let installed: Vec<&str> = listed.lines().filter_map(|line| line.strip_suffix(" installed")).collect();
    Ok(wanted.iter().copied().filter(|package| !installed.contains(package)).collect())
}

/// Those of the packages that apt has not heard of.
fn unknown<'a>(shell: &Shell, packages: &[&'a str]) -> Result<Vec<&'a str>> {
    let mut args = vec!["show"];
    args.extend(packages);
    let shown = shell.command("apt-cache", args).stderr_null().unchecked().read()?;
    let known: Vec<&str> = shown.lines().filter_map(|line| line.strip_prefix("Package: ")).collect();
    Ok(packages.iter().copied().filter(|package| !known.contains(package)).collect())
}

/// The words before `apt-get` that make it run as root.
fn root(shell: &Shell, missing: &[&str]) -> Result<Vec<&'static str>> {
    if shell.command("id", ["-u"]).read()?.trim() == "0" {
        return Ok(vec![]);
    }
    if which::which("sudo").is_ok() {
        let free = shell.command("sudo", ["-n", "true"]).stdout_null().stderr_null().unchecked().run()?;
        if free.status.success() {
            return Ok(vec!["sudo", "-n"]);
        }
        if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
            // Asks for the password now, so that no progress line hides the question.
            if shell.command("sudo", ["-v"]).unchecked().run()?.status.success() {
                return Ok(vec!["sudo", "-n"]);
            }
        }
    }
    let line = format!("sudo sh -c 'apt-get update && apt-get install --yes {}'", missing.join(" "));
    Err(NeedsRoot(line).into())
}

fn apt(shell: &Shell, root: &[&'static str], args: &[&str]) -> duct::Expression {
    let mut words = root.to_vec();
    // Through env, because sudo does not pass variables on.
    words.extend(["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-o", "DPkg::Lock::Timeout=600"]);
    words.extend(args);
    shell.command(words[0], words[1..].iter().copied())
}

struct Python {
    path: PathBuf,
    version: (u32, u32),
    ensurepip: bool,
}

impl Python {
    fn makes_environments(&self) -> bool {
        self.ensurepip && self.version >= OLDEST_PYTHON
    }
}

/// The first Python that can make the environment; else Debian's, which `python3-venv` completes.
fn find_python(shell: &Shell) -> Python {
    let debian = Path::new("/usr/bin/python3");
    for path in [Path::new("python3"), debian, Path::new("python3.11"), Path::new("python3.12")] {
        if let Some(found) = probe_python(shell, path)
            && found.makes_environments()
        {
            return found;
        }
    }
    Python { path: debian.to_owned(), version: (0, 0), ensurepip: false }
}

fn probe_python(shell: &Shell, path: &Path) -> Option<Python> {
    const PROBE: &str = "import importlib.util as u, sys
print(*sys.version_info[:2], int(all(u.find_spec(m) for m in ('venv', 'ensurepip'))))";
    let said = shell.command(path, ["-c", PROBE]).stderr_null().read().ok()?;
    let mut words = said.split_whitespace().map(|word| word.parse::<u32>().ok());
    let (major, minor, ensurepip) = (words.next()??, words.next()??, words.next()??);
    Some(Python { path: path.to_owned(), version: (major, minor), ensurepip: ensurepip == 1 })
}

/// Makes target/venv from test/oracle/requirements.txt, once per state of that file.
pub fn environment(shell: &Shell) -> Result<()> {
    make_environment(shell, "venv", "test/oracle/requirements.txt", &[])
}

/// Makes an environment below the target directory of what a file lists, once per state of that file.
fn make_environment(shell: &Shell, name: &str, list: &str, flags: &[&str]) -> Result<()> {
    let file = shell.root.join(list);
    let requirements =
        fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let venv = shell.target.join(name);
    let (stamp, python) = (venv.join("requirements.txt"), venv.join("bin/python"));
    if fs::read_to_string(&stamp).is_ok_and(|made_from| made_from == requirements)
        && probe(shell, &python).is_ok()
    {
        return Ok(());
    }
    let found = find_python(shell);
    if !found.makes_environments() {
        bail!(
            "no Python from {}.{} on with venv and ensurepip is at hand; {} is too old or lacks them",
            OLDEST_PYTHON.0,
            OLDEST_PYTHON.1,
            found.path.display()
        );
    }
    println!("Making the Python environment {} from {}", venv.display(), file.display());
    let venv = venv.to_string_lossy().into_owned();
    let make = shell.command(&found.path, ["-m", "venv", "--clear", &venv]);
    shell.must("python -m venv", &make)?;
    let file = file.to_string_lossy().into_owned();
    let mut args = vec!["-m", "pip", "install", "--disable-pip-version-check", "--progress-bar=off"];
    args.extend(flags);
    args.extend(["-r", &file]);
    shell.must("pip install", &shell.command(&python, args))?;
    // Last, so that an environment that was not finished is made again.
    fs::write(&stamp, requirements)?;
    Ok(())
}

/// Adds to the environment what benchmarks compare with (test/oracle/bench-requirements.txt), where there is a release for
/// this Python and machine. The benchmarks themselves say what is missing, and why.
pub fn bench_environment(shell: &Shell) -> Result<()> {
    // Without dependencies: JAX is there already, in the release that all else is tested with.
    add_requirements(shell, "bench-requirements.txt", &["--no-deps"])
}

/// The Python of the corpus' environment.
pub fn corpus_python(shell: &Shell) -> PathBuf {
    shell.target.join("corpus-venv/bin/python")
}

/// Makes target/corpus-venv from test/corpus/requirements.txt, the libraries whose programs the corpus has: 150 packages, 1.5 GB.
pub fn corpus_environment(shell: &Shell) -> Result<()> {
    // The list is whole, and some of its packages ask for what they do without here.
    make_environment(shell, "corpus-venv", "test/corpus/requirements.txt", &["--no-deps"])
}

/// The Python of the environment for the tests' sample of the corpus.
pub fn sample_python(shell: &Shell) -> PathBuf {
    shell.target.join("sample-venv/bin/python")
}

/// Makes target/sample-venv from test/corpus/sample-requirements.txt: 47 packages, 800 MB.
pub fn sample_environment(shell: &Shell) -> Result<()> {
    make_environment(shell, "sample-venv", "test/corpus/sample-requirements.txt", &["--no-deps"])
}

/// Adds JAX for NVIDIA GPUs (test/oracle/gpu-requirements.txt); some gigabytes.
pub fn gpu_environment(shell: &Shell) -> Result<()> {
    add_requirements(shell, "gpu-requirements.txt", &[])
}

/// Adds XLA for NVIDIA GPUs and for TPUs (test/oracle/xla-{gpu,tpu}-requirements.txt), which compile without a device; some 450 MB.
/// Where a machine has no release of one, the scripts that would ask it say so.
pub fn device_compilers(shell: &Shell) -> Result<()> {
    // Without dependencies, which are what running takes: a driver's libraries, cuDNN and others, gigabytes of them.
    add_requirements(shell, "xla-gpu-requirements.txt", &["--no-deps"])?;
    add_requirements(shell, "xla-tpu-requirements.txt", &["--no-deps"])
}

/// Adds XLA's PJRT plugins for CPUs (test/oracle/xla-cpu-requirements.txt), which run what they compile; some 150 MB. They are for
/// programs that load such plugins: JAX's own XLA for CPUs is in jaxlib.
pub fn cpu_plugins(shell: &Shell) -> Result<()> {
    add_requirements(shell, "xla-cpu-requirements.txt", &["--no-deps"])
}

/// Adds NVIDIA's assembler and CUDA's math functions (test/oracle/assembler-requirements.txt).
pub fn assembler_environment(shell: &Shell) -> Result<()> {
    add_requirements(shell, "assembler-requirements.txt", &["--no-deps"])
}

/// Installs what a file of test/oracle lists, once per state of that file; where that fails, says so and goes on.
fn add_requirements(shell: &Shell, name: &str, flags: &[&str]) -> Result<()> {
    let file = shell.root.join("test/oracle").join(name);
    let requirements =
        fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let stamp = shell.target.join("venv").join(name);
    if fs::read_to_string(&stamp).is_ok_and(|made_from| made_from == requirements) {
        return Ok(());
    }
    println!("Adding {} to the Python environment", file.display());
    let file = file.to_string_lossy().into_owned();
    let mut args = vec!["-m", "pip", "install", "--disable-pip-version-check", "--progress-bar=off"];
    args.extend(flags);
    args.extend(["-r", &file]);
    if shell.watch("pip install", &shell.command(python(shell), args))?.ok {
        fs::write(&stamp, requirements)?;
    } else {
        eprintln!("They cannot be installed here; what needs them says so.");
    }
    Ok(())
}

/// An environment dies with the interpreter it was made from.
fn probe(shell: &Shell, python: &Path) -> Result<()> {
    shell.command(python, ["-c", ""]).stderr_null().run().map(drop).map_err(Into::into)
}
