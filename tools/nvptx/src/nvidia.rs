// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Where NVIDIA's files may be.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders that may hold what a CUDA installation holds (`bin/ptxas`, `nvvm/libdevice`), the likeliest first: CUDA_HOME and
/// CUDA_PATH, PyPI's packages in the Python environment (VIRTUAL_ENV, or `target/venv` of a checkout), the usual places.
pub fn roots() -> Vec<PathBuf> {
    let variable = |name| env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    let mut roots: Vec<PathBuf> = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(variable).collect();
    let mut environments: Vec<PathBuf> = variable("VIRTUAL_ENV").into_iter().collect();
    environments.push("target/venv".into());
    // A program of a checkout is in target/debug or target/release, a test one folder deeper.
    if let Ok(program) = env::current_exe() {
        environments.extend(program.ancestors().skip(2).take(2).map(|folder| folder.join("venv")));
    }
    for environment in environments {
        for library in subfolders(&environment.join("lib"), "python") {
            let packages = library.join("site-packages/nvidia");
            roots.push(packages.join("cuda_nvcc"));
            // Since CUDA 13 they are named by version.
            roots.extend(subfolders(&packages, "cu1"));
        }
    }
    roots.push("/usr/local/cuda".into());
    roots.push("/opt/cuda".into());
    roots
}

fn subfolders(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}

/// The first of the folders that has this file.
pub fn find(relative: &str) -> Option<PathBuf> {
    roots().into_iter().map(|root| root.join(relative)).find(|path| path.is_file())
}
