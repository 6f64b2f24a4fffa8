// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The sections of a file, and what they say of strings, dialects and the names of ops.

use super::cursor::{Cursor, Section, within};
use super::{Damage, Result};
use crate::source::BYTECODE_MAGIC;

/// Numbers of sections.
pub mod id {
    pub const STRINGS: u8 = 0;
    pub const DIALECTS: u8 = 1;
    pub const ENTRIES: u8 = 2;
    pub const OFFSETS: u8 = 3;
    pub const OPS: u8 = 4;
    pub const RESOURCE_OFFSETS: u8 = 6;
    pub const PROPERTIES: u8 = 8;
    /// How many there are.
    pub const COUNT: usize = 9;
}

/// Versions of the format: since when dialects have versions, isolated regions are sections, uses have
/// orders, arguments may lack locations, and properties are apart from attributes.
pub const VERSIONED: u64 = 1;
pub const LAZY: u64 = 2;
pub const ORDERED: u64 = 3;
pub const ELIDED: u64 = 4;
pub const PROPERTIES: u64 = 5;
/// The newest.
const NEWEST: u64 = 6;

/// A file, taken apart.
pub struct File<'a> {
    pub version: u64,
    /// By their numbers.
    sections: [Option<Section<'a>>; id::COUNT],
    /// How many strings there are.
    pub strings: usize,
    /// Names of dialects.
    pub dialects: Vec<&'a [u8]>,
    /// How many names of ops there are.
    pub ops: usize,
    /// How many resources there are.
    pub resources: usize,
    /// How many properties there are.
    pub properties: usize,
}

impl<'a> File<'a> {
    /// Takes a file apart.
    pub fn read(bytes: &'a [u8]) -> Result<Self> {
        let (version, sections) = sections(bytes)?;
        let mut found = [None; id::COUNT];
        for section in sections {
            let place = found.get_mut(usize::from(section.id));
            let place = place.ok_or(Damage::Broken("a section has an unknown number"))?;
            if place.replace(section).is_some() {
                return Err(Damage::Broken("a section is there twice"));
            }
        }
        let mut file = Self {
            version,
            sections: found,
            strings: 0,
            dialects: Vec::new(),
            ops: 0,
            resources: 0,
            properties: 0,
        };
        let strings = file.strings()?;
        file.strings = strings.len();
        file.read_dialects(&strings)?;
        file.read_properties()?;
        file.read_resources()?;
        Ok(file)
    }

    /// What is in a section, if it is there.
    pub fn optional(&self, number: u8) -> Option<Cursor<'a>> {
        self.sections[usize::from(number)].map(|section| section.inside)
    }

    /// What is in a section that has to be there.
    pub fn section(&self, number: u8) -> Result<Cursor<'a>> {
        self.optional(number).ok_or(Damage::Broken("a section is missing"))
    }

    /// Lengths come first, that of the last string before all, and each string ends with a zero.
    fn strings(&self) -> Result<Vec<&'a [u8]>> {
        let mut lengths = self.section(id::STRINGS)?;
        let count = lengths.count()?;
        let mut all = Vec::with_capacity(count);
        let mut end = lengths.end;
        for _ in 0..count {
            let length = lengths.count()?;
            let start = end.checked_sub(length).filter(|&start| start >= lengths.at && length > 0);
            let start = start.ok_or(Damage::Broken("a string is longer than all are"))?;
            all.push(&lengths.bytes[start..end - 1]);
            end = start;
        }
        all.reverse();
        Ok(all)
    }

    fn read_dialects(&mut self, strings: &[&'a [u8]]) -> Result<()> {
        let mut at = self.section(id::DIALECTS)?;
        for _ in 0..at.count()? {
            let name = if self.version < VERSIONED {
                at.index(strings.len())?
            } else {
                let (name, versioned) = at.flagged()?;
                if versioned {
                    at.section()?;
                }
                within(name, strings.len())?
            };
            self.dialects.push(strings[name]);
        }
        if self.version >= ELIDED {
            at.count()?;
        }
        while at.left() > 0 {
            at.index(self.dialects.len())?;
            for _ in 0..at.count()? {
                let name = at.number()?;
                within(if self.version < PROPERTIES { name } else { name >> 1 }, strings.len())?;
                self.ops += 1;
            }
        }
        Ok(())
    }

    fn read_properties(&mut self) -> Result<()> {
        if let Some(mut at) = self.optional(id::PROPERTIES) {
            self.properties = at.count()?;
            for _ in 0..self.properties {
                let length = at.count()?;
                at.take(length)?;
            }
        }
        Ok(())
    }

    /// Resources of tools come first, then those of dialects, which alone are numbered.
    fn read_resources(&mut self) -> Result<()> {
        let Some(mut at) = self.optional(id::RESOURCE_OFFSETS) else { return Ok(()) };
        let tools = at.count()?;
        let mut group = 0;
        while at.left() > 0 {
            if group < tools {
                at.index(self.strings)?;
            } else {
                at.index(self.dialects.len())?;
            }
            let count = at.count()?;
            for _ in 0..count {
                at.index(self.strings)?;
                at.number()?;
                // What kind it is.
                at.byte()?;
            }
            self.resources += if group < tools { 0 } else { count };
            group += 1;
        }
        Ok(())
    }
}

/// The version of a file and its sections, in order.
pub fn sections(bytes: &[u8]) -> Result<(u64, Vec<Section<'_>>)> {
    let mut at = Cursor { at: BYTECODE_MAGIC.len(), ..Cursor::new(bytes) };
    let version = at.number()?;
    at.text()?;
    let mut all = Vec::new();
    while at.left() > 0 {
        all.push(at.section()?);
    }
    Ok((version, all))
}

/// Whether this is a version of the format that MLIR's reader does not know, which it says before it reads
/// anything else.
pub fn is_unknown(bytes: &[u8]) -> Result<bool> {
    Ok(Cursor { at: BYTECODE_MAGIC.len(), ..Cursor::new(bytes) }.number()? > NEWEST)
}
