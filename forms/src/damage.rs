// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Whether bytecode can be what it says it is: one walk over its sections and its ops, in which every count must leave room for what it counts.
//!
//! MLIR's reader makes room for values, blocks and strings before it has read any of them, and a number that a broken file has there ends the
//! process. What this walk does not look at (attributes, types, names) the reader checks itself.

use crate::source::BYTECODE_MAGIC;

/// The section of ops, and those whose first number or numbers count their entries.
const IR: u8 = 4;
const STRINGS: u8 = 0;
const DIALECTS: u8 = 1;
const OFFSETS: u8 = 3;

/// Parts that an op may have, as its mask says.
const ATTRIBUTES: u8 = 1;
const RESULTS: u8 = 2;
const OPERANDS: u8 = 4;
const SUCCESSORS: u8 = 8;
const REGIONS: u8 = 16;
const USE_LISTS: u8 = 32;
const PROPERTIES: u8 = 64;

/// Versions of the format: since when isolated regions are sections, uses have orders, and arguments may lack locations.
const LAZY: u64 = 2;
const ORDERED: u64 = 3;
const ELIDED: u64 = 4;

/// `None` if bytecode is cut off or damaged in a way that MLIR's reader would not survive.
pub fn check(bytes: &[u8]) -> Option<()> {
    let mut at = Cursor { bytes, at: BYTECODE_MAGIC.len(), end: bytes.len() };
    let version = at.number()?;
    while at.byte()? != 0 {}
    while at.at < at.end {
        let (id, mut section) = at.section()?;
        match id {
            STRINGS | DIALECTS => {
                section.count()?;
            }
            OFFSETS => {
                section.count()?;
                section.count()?;
            }
            IR => Walk { version, todo: Vec::new() }.ops(section)?,
            _ => {}
        }
    }
    Some(())
}

/// A place in the bytes, and where what it is in ends.
#[derive(Clone, Copy)]
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    end: usize,
}

impl Cursor<'_> {
    fn byte(&mut self) -> Option<u8> {
        if self.at >= self.end {
            return None;
        }
        self.at += 1;
        self.bytes.get(self.at - 1).copied()
    }

    /// A number: zeros at the low end of its first byte say how many more there are.
    fn number(&mut self) -> Option<u64> {
        let first = self.byte()?;
        let more = first.trailing_zeros().min(8);
        let mut all = u128::from(first);
        for place in 1..=more {
            all |= u128::from(self.byte()?) << (8 * place);
        }
        // Eight zeros are no part of the number, fewer and the one behind them are not.
        Some((all >> if more == 8 { 8 } else { more + 1 }) as u64)
    }

    /// How many of something there are, each of which takes a byte or more.
    fn count(&mut self) -> Option<u64> {
        let count = self.number()?;
        self.fits(count)
    }

    fn fits(&self, count: u64) -> Option<u64> {
        (count <= (self.end - self.at) as u64).then_some(count)
    }

    fn skip(&mut self, numbers: u64) -> Option<()> {
        (0..numbers).try_for_each(|_| self.number().map(drop))
    }

    /// A section and its number.
    fn section(&mut self) -> Option<(u8, Self)> {
        let id = self.byte()?;
        let length = usize::try_from(self.number()?).ok()?;
        if id & 0x80 != 0 {
            let alignment = usize::try_from(self.number()?).ok().filter(|size| size.is_power_of_two())?;
            // The bytes begin at a page.
            self.at = self.at.checked_next_multiple_of(alignment)?;
        }
        let end = self.at.checked_add(length).filter(|&end| end <= self.end)?;
        let section = Self { end, ..*self };
        self.at = end;
        Some((id & 0x7f, section))
    }
}

/// What is still to be read, innermost last.
enum Task<'a> {
    Ops(u64),
    Blocks(u64),
    Regions(u64),
    /// Back to what a section is in.
    Return(Cursor<'a>),
}

struct Walk<'a> {
    version: u64,
    todo: Vec<Task<'a>>,
}

impl<'a> Walk<'a> {
    /// The ops of a module. Not recursive: they may be nested deeply.
    fn ops(mut self, mut at: Cursor<'a>) -> Option<()> {
        self.block(&mut at)?;
        while let Some(task) = self.todo.pop() {
            match task {
                Task::Return(outside) => at = outside,
                Task::Ops(0) | Task::Blocks(0) | Task::Regions(0) => {}
                Task::Ops(left) => {
                    self.todo.push(Task::Ops(left - 1));
                    self.op(&mut at)?;
                }
                Task::Blocks(left) => {
                    self.todo.push(Task::Blocks(left - 1));
                    self.block(&mut at)?;
                }
                Task::Regions(left) => {
                    self.todo.push(Task::Regions(left - 1));
                    let blocks = at.count()?;
                    if blocks > 0 {
                        // Values of this region and of those in it, each of which has a type.
                        at.count()?;
                        self.todo.push(Task::Blocks(blocks));
                    }
                }
            }
        }
        Some(())
    }

    fn block(&mut self, at: &mut Cursor<'a>) -> Option<()> {
        let header = at.number()?;
        if header & 1 == 1 {
            let arguments = at.count()?;
            for _ in 0..arguments {
                let ty = at.number()?;
                if self.version < ELIDED || ty & 1 == 1 {
                    at.number()?;
                }
            }
            if self.version >= ORDERED && at.byte()? != 0 {
                orders(at, arguments)?;
            }
        }
        self.todo.push(Task::Ops(at.fits(header >> 1)?));
        Some(())
    }

    fn op(&mut self, at: &mut Cursor<'a>) -> Option<()> {
        at.number()?;
        let mask = at.byte()?;
        at.number()?;
        for part in [ATTRIBUTES, PROPERTIES] {
            if mask & part != 0 {
                at.number()?;
            }
        }
        let mut results = 0;
        for part in [RESULTS, OPERANDS, SUCCESSORS] {
            if mask & part != 0 {
                let count = at.count()?;
                at.skip(count)?;
                results = if part == RESULTS { count } else { results };
            }
        }
        if self.version >= ORDERED && mask & USE_LISTS != 0 {
            orders(at, results)?;
        }
        if mask & REGIONS != 0 {
            let header = at.number()?;
            if self.version >= LAZY && header & 1 == 1 {
                let (id, inside) = at.section()?;
                if id != IR {
                    return None;
                }
                self.todo.push(Task::Return(*at));
                *at = inside;
            }
            self.todo.push(Task::Regions(at.fits(header >> 1)?));
        }
        Some(())
    }
}

/// The orders of the uses of some of so many values.
fn orders(at: &mut Cursor<'_>, values: u64) -> Option<()> {
    let listed = if values > 1 { at.count()? } else { 1 };
    for _ in 0..listed {
        if values > 1 {
            at.number()?;
        }
        let count = at.number()? >> 1;
        at.fits(count)?;
        at.skip(count)?;
    }
    Some(())
}
