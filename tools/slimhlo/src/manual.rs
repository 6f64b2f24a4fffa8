// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `slimhlo completions`, and the files that a package installs: manual pages and completions.

use crate::output::{self, Target};
use anyhow::{Context as _, Result};
use clap::{Command, CommandFactory, ValueEnum as _};
use clap_complete::{Shell, generate, generate_to};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Print what a shell completes of this command
#[derive(clap::Args)]
#[command(after_help = "Examples:
  slimhlo completions bash > ~/.local/share/bash-completion/completions/slimhlo
  slimhlo completions zsh > ~/.zfunc/_slimhlo
  slimhlo completions fish > ~/.config/fish/completions/slimhlo.fish")]
pub struct Completions {
    /// The shell
    shell: Shell,
}

/// Write manual pages and completions
#[derive(clap::Args)]
pub struct Manual {
    /// A folder like /usr/local/share
    folder: PathBuf,
}

/// `slimhlo completions`
pub fn completions(args: &Completions) -> Result<ExitCode> {
    let mut text = Vec::new();
    generate(args.shell, &mut crate::Cli::command(), "slimhlo", &mut text);
    output::write(&Target::Stdout, &text)?;
    Ok(ExitCode::SUCCESS)
}

/// `slimhlo manual`
pub fn manual(args: &Manual) -> Result<ExitCode> {
    for (name, command) in
        [("slimhlo", crate::Cli::command()), ("slimhlo-run", slimhlo_runner::Cli::command())]
    {
        write(&args.folder, name, command)
            .with_context(|| format!("cannot write to {}", args.folder.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Where shells and `man` look below a prefix's `share`.
fn write(share: &Path, name: &str, mut command: Command) -> std::io::Result<()> {
    // Taken before completions are made: that adds the subcommand `help`, whose pages nobody needs.
    let documented = command.clone().disable_help_subcommand(true);
    for shell in Shell::value_variants() {
        let folder = match shell {
            Shell::Bash => "bash-completion/completions",
            Shell::Zsh => "zsh/site-functions",
            Shell::Fish => "fish/vendor_completions.d",
            _ => continue,
        };
        let folder = share.join(folder);
        fs::create_dir_all(&folder)?;
        let path = generate_to(*shell, &mut command, name, &folder)?;
        if *shell == Shell::Bash {
            // Loaded by the name of the command.
            fs::rename(path, folder.join(name))?;
        }
    }
    // `slimhlo run` and `slimhlo-run` have one page by its name, that of the latter, which comes last; `slimhlo help run` says the rest.
    let pages = share.join("man/man1");
    fs::create_dir_all(&pages)?;
    clap_mangen::generate_to(documented, pages)
}
