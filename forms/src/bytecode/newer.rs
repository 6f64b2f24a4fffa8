// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Bytecode of a newer MLIR.
//!
//! MLIR 23, which is in jaxlib 0.10.2, has numbers for floats of eight bits and fewer, which MLIR 22 writes
//! and reads as text. Nothing in a file says where a type is but the table of offsets, so types become text
//! where they are, and the rest of the file moves.

use super::cursor::{Cursor, Section, push_number};
use super::entries::Entries;
use super::sections::{File, id, sections};
use super::{Result, is_bytecode};
use crate::source::BYTECODE_MAGIC;

/// The first number of a builtin type that MLIR 22 does not have, and the text of all from there on.
const FIRST: u64 = 21;
const NEWER: [&str; 12] = [
    "tf32",
    "f8E5M2",
    "f8E4M3",
    "f8E4M3FN",
    "f8E5M2FNUZ",
    "f8E4M3FNUZ",
    "f8E4M3B11FNUZ",
    "f8E3M4",
    "f4E2M1FN",
    "f6E2M3FN",
    "f6E3M2FN",
    "f8E8M0FNU",
];

/// Bytecode that MLIR 22 reads, made of bytecode with types that it has no numbers for; `None` if there are
/// none of them, or the file is damaged, which [`super::check`] tells.
pub fn translate(bytes: &[u8]) -> Option<Vec<u8>> {
    if !is_bytecode(bytes) {
        return None;
    }
    let file = File::read(bytes).ok()?;
    let entries = Entries::read(&file).ok()?;
    let newer: Vec<Option<&str>> = entries
        .types
        .iter()
        .map(|ty| {
            let mut at = ty.inside;
            let builtin = ty.encoded && file.dialects[ty.dialect] == b"builtin";
            let code = if builtin { at.number().ok()?.checked_sub(FIRST)? } else { return None };
            NEWER.get(usize::try_from(code).ok()?).copied().filter(|_| at.left() == 0)
        })
        .collect();
    if newer.iter().all(Option::is_none) {
        return None;
    }
    rewritten(bytes, &file, &entries, &newer).ok()
}

fn rewritten(
    bytes: &[u8],
    file: &File<'_>,
    entries: &Entries<'_>,
    newer: &[Option<&str>],
) -> Result<Vec<u8>> {
    let (data, offsets) = tables(file, entries, newer)?;
    let mut head = Cursor { at: BYTECODE_MAGIC.len(), ..Cursor::new(bytes) };
    head.number()?;
    head.text()?;
    let mut all = bytes[..head.at].to_vec();
    for section in sections(bytes)?.1 {
        match section.id {
            id::ENTRIES => push_section(&mut all, &section, &data),
            id::OFFSETS => push_section(&mut all, &section, &offsets),
            _ => push_section(&mut all, &section, &bytes[section.inside.at..section.inside.end]),
        }
    }
    Ok(all)
}

/// The data of all attributes and types, and the table of their sizes.
fn tables(file: &File<'_>, entries: &Entries<'_>, newer: &[Option<&str>]) -> Result<(Vec<u8>, Vec<u8>)> {
    let old = file.section(id::ENTRIES)?;
    let first = entries.types.first().map_or(old.end, |ty| ty.inside.at);
    let mut data = old.bytes[old.at..first].to_vec();
    for (ty, newer) in entries.types.iter().zip(newer) {
        match newer {
            Some(text) => {
                data.extend(text.as_bytes());
                data.push(0);
            }
            None => data.extend(&old.bytes[ty.inside.at..ty.inside.end]),
        }
    }
    let mut sizes = file.section(id::OFFSETS)?;
    let mut offsets = Vec::new();
    for _ in 0..2 {
        push_number(&mut offsets, sizes.number()?);
    }
    let (mut entry, mut copied) = (0usize, 0);
    let skipped = entries.attributes.len();
    while copied < skipped + newer.len() {
        push_number(&mut offsets, sizes.number()?);
        let group = sizes.count()?;
        push_number(&mut offsets, group as u64);
        for _ in 0..group {
            let (size, encoded) = sizes.flagged()?;
            let text = entry.checked_sub(skipped).and_then(|ty| newer.get(ty).copied().flatten());
            let (size, encoded) = text.map_or((size, encoded), |text| (text.len() as u64 + 1, false));
            push_number(&mut offsets, size << 1 | u64::from(encoded));
            entry += 1;
        }
        copied += group;
    }
    Ok((data, offsets))
}

/// Writes a section: its number, its size, and where its bytes have to begin at a multiple of something, so
/// many of these bytes before them.
fn push_section(all: &mut Vec<u8>, section: &Section<'_>, inside: &[u8]) {
    const PADDING: u8 = 0xcb;
    all.push(section.id | if section.alignment.is_some() { 0x80 } else { 0 });
    push_number(all, inside.len() as u64);
    if let Some(alignment) = section.alignment {
        push_number(all, alignment as u64);
        all.resize(all.len().next_multiple_of(alignment), PADDING);
    }
    all.extend(inside);
}
