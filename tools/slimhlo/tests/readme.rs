// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! README shows what the command prints, and what it points to is there.

mod common;

use common::{Folder, data};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn readme() -> String {
    fs::read_to_string(root().join("README.md")).expect("README.md")
}

/// A line without its margin, and one blank for several.
fn plain(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn it_can_be_read_at_one_go() {
    assert!(readme().lines().count() <= 150);
}

/// Each command on a module of test/data, with the lines that README shows of its output.
#[test]
fn what_it_shows_is_printed() {
    let text = readme();
    let mut shown = 0;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(command) = line.strip_prefix("    $ slimhlo ") else { continue };
        let mut expected = Vec::new();
        while let Some(next) =
            lines.next_if(|next| !next.starts_with("    $") && (next.is_empty() || next.starts_with("    ")))
        {
            expected.push(plain(next));
        }
        expected.retain(|line| !line.is_empty() && line != "...");
        let words: Vec<_> = command.split_whitespace().map(str::to_owned).collect();
        let words: Vec<_> = words
            .into_iter()
            .map(|word| word.strip_prefix("test/data/").map_or(word.clone(), data))
            .collect();
        if expected.is_empty() || !command.contains("test/data/") {
            continue;
        }
        let folder = Folder::new();
        let run = folder.run(&words.iter().map(String::as_str).collect::<Vec<_>>()).exits(0);
        let printed: Vec<_> = run.text().lines().chain(run.err.lines()).map(plain).collect();
        for line in expected {
            assert!(
                printed.contains(&line),
                "`{command}` does not print\n{line}\nbut\n{}",
                printed.join("\n")
            );
            shown += 1;
        }
    }
    assert!(shown > 10, "{shown} lines are compared");
}

#[test]
fn what_it_points_to_is_there() {
    let mut links = 0;
    for file in ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/benchmarks.md", "docs/questions.md"] {
        let path = root().join(file);
        let text = fs::read_to_string(&path).expect("a page");
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if !link.starts_with("http") {
                assert!(path.with_file_name(link).exists(), "{file} points to {link}, which is not there");
                links += 1;
            }
        }
    }
    assert!(links > 10, "{links} links");
}
