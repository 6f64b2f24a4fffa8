// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Completions and manual pages.

mod common;

use common::Folder;
use std::fs;

#[test]
fn shells_complete_commands_and_flags() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let run = folder.run(&["completions", shell]).exits(0);
        for word in ["optimize", "report", "memory-limit", "block-order"] {
            assert!(run.text().contains(word), "{shell}: no {word}");
        }
    }
    assert!(folder.run(&["completions", "tcsh"]).exits(2).err.contains("possible values"));
}

/// bash itself, where there is one: it reads the file, and completes a word by it.
#[test]
fn bash_takes_its_completions() {
    let folder = Folder::new();
    let script = folder.run(&["completions", "bash"]).exits(0).out;
    folder.write("slimhlo.bash", script);
    let line = "source slimhlo.bash && COMP_WORDS=(slimhlo opt) COMP_CWORD=1 && _slimhlo slimhlo opt slimhlo && echo ${COMPREPLY[@]}";
    let Ok(done) =
        std::process::Command::new("bash").args(["-c", line]).current_dir(folder.path("")).output()
    else {
        return;
    };
    assert_eq!(
        String::from_utf8_lossy(&done.stdout).trim(),
        "optimize",
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
}

#[test]
fn a_package_has_a_page_for_each_command() {
    let folder = Folder::new();
    folder.run(&["manual", "share"]).exits(0);
    for page in ["slimhlo", "slimhlo-optimize", "slimhlo-report", "slimhlo-compile", "slimhlo-run"] {
        let text = folder.read(&format!("share/man/man1/{page}.1"));
        assert!(text.contains(".TH") && text.contains(".SH SYNOPSIS"), "{page}");
    }
    assert!(folder.read("share/man/man1/slimhlo-optimize.1").contains("memory"));
    // Of `help` and its subcommands there is nothing to say.
    assert!(!fs::exists(folder.path("share/man/man1/slimhlo-help.1")).expect("a folder"));
    for name in ["slimhlo", "slimhlo-run"] {
        for file in [
            format!("bash-completion/completions/{name}"),
            format!("zsh/site-functions/_{name}"),
            format!("fish/vendor_completions.d/{name}.fish"),
        ] {
            assert!(
                fs::metadata(folder.path("share").join(&file)).is_ok_and(|file| file.len() > 100),
                "{file}"
            );
        }
    }
}
