// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! A place in bytecode, and the primitives of the format.

use super::{Damage, Result};

const CUT: Damage = Damage::Broken("it ends too early");
const COUNT: Damage = Damage::Broken("a count in it is larger than what follows");

/// A place in the bytes, and where what it is in ends.
#[derive(Clone, Copy)]
pub struct Cursor<'a> {
    pub bytes: &'a [u8],
    pub at: usize,
    pub end: usize,
}

/// A section of bytecode.
#[derive(Clone, Copy)]
pub struct Section<'a> {
    pub id: u8,
    /// To a multiple of which in the file it begins, if it asks for one.
    pub alignment: Option<usize>,
    pub inside: Cursor<'a>,
}

impl<'a> Cursor<'a> {
    /// At the beginning of bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, end: bytes.len() }
    }

    /// How many bytes are left.
    pub fn left(&self) -> usize {
        self.end - self.at
    }

    /// One byte.
    pub fn byte(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    /// So many bytes.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        if count > self.left() {
            return Err(CUT.at(self.at));
        }
        self.at += count;
        Ok(&self.bytes[self.at - count..self.at])
    }

    /// A number: zeros at the low end of its first byte say how many more there are.
    pub fn number(&mut self) -> Result<u64> {
        let first = self.byte()?;
        let more = first.trailing_zeros().min(8);
        let mut all = u128::from(first);
        for place in 1..=more {
            all |= u128::from(self.byte()?) << (8 * place);
        }
        // Eight zeros are no part of the number, fewer and the one behind them are not.
        Ok((all >> if more == 8 { 8 } else { more + 1 }) as u64)
    }

    /// A signed number: zero, minus one, one, minus two, and so on.
    pub fn signed(&mut self) -> Result<i64> {
        let folded = self.number()?;
        Ok((folded >> 1) as i64 ^ -((folded & 1) as i64))
    }

    /// A number, and what its lowest bit says beside it.
    pub fn flagged(&mut self) -> Result<(u64, bool)> {
        let both = self.number()?;
        Ok((both >> 1, both & 1 == 1))
    }

    /// How many of something there are, each of which takes a byte or more.
    pub fn count(&mut self) -> Result<usize> {
        let start = self.at;
        let count = self.number()?;
        self.room(count, start)
    }

    /// A count for which there is room.
    pub fn fits(&self, count: u64) -> Result<usize> {
        self.room(count, self.at)
    }

    fn room(&self, count: u64, at: usize) -> Result<usize> {
        let fits = usize::try_from(count).ok().filter(|&count| count <= self.left());
        fits.ok_or(COUNT.of(count, self.left()).at(at))
    }

    /// The place of something among so many.
    pub fn index(&mut self, of: usize) -> Result<usize> {
        let start = self.at;
        within(self.number()?, of).map_err(|damage| damage.at(start))
    }

    /// Text up to a zero byte, which is skipped.
    pub fn text(&mut self) -> Result<&'a [u8]> {
        let length = memchr::memchr(0, &self.bytes[self.at..self.end]).ok_or(CUT.at(self.at))?;
        let text = self.take(length)?;
        self.at += 1;
        Ok(text)
    }

    /// A section, which is skipped.
    pub fn section(&mut self) -> Result<Section<'a>> {
        let id = self.byte()?;
        let length = usize::try_from(self.number()?).map_err(|_| COUNT.at(self.at))?;
        let mut alignment = None;
        if id & 0x80 != 0 {
            let wanted = usize::try_from(self.number()?).ok().filter(|size| size.is_power_of_two());
            alignment =
                Some(wanted.ok_or(Damage::Broken("a section is aligned to no power of two").at(self.at))?);
            // The bytes begin at a page.
            let padded =
                alignment.and_then(|size| self.at.checked_next_multiple_of(size)).ok_or(CUT.at(self.at))?;
            self.at = padded;
        }
        let end = self.at.checked_add(length).filter(|&end| end <= self.end).ok_or(CUT.at(self.at))?;
        let inside = Self { end, ..*self };
        self.at = end;
        Ok(Section { id: id & 0x7f, alignment, inside })
    }
}

/// An index as one of so many.
pub fn within(index: u64, of: usize) -> Result<usize> {
    let there = usize::try_from(index).ok().filter(|&index| index < of);
    there.ok_or(Damage::Broken("an index in it is of nothing that is there").of(index, of))
}

/// Appends a number as [`Cursor::number`] reads it.
pub fn push_number(bytes: &mut Vec<u8>, number: u64) {
    let bits = 64 - number.leading_zeros();
    let more = bits.max(1).div_ceil(7) - 1;
    if more >= 8 {
        bytes.push(0);
        bytes.extend(number.to_le_bytes());
    } else {
        let all = (number << 1 | 1) << more;
        bytes.extend(&all.to_le_bytes()[..=more as usize]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for shift in 0..64 {
            for number in [1u64 << shift, (1 << shift) - 1, u64::MAX >> shift] {
                let mut bytes = Vec::new();
                push_number(&mut bytes, number);
                let mut cursor = Cursor::new(&bytes);
                assert_eq!(cursor.number(), Ok(number));
                assert_eq!(cursor.left(), 0);
            }
        }
    }

    #[test]
    fn signed_numbers_are_folded() {
        let signed = |number| {
            let mut bytes = Vec::new();
            push_number(&mut bytes, number);
            Cursor::new(&bytes).signed()
        };
        assert_eq!([0, 1, 2, 3].map(signed), [Ok(0), Ok(-1), Ok(1), Ok(-2)]);
        assert_eq!(signed(u64::MAX), Ok(i64::MIN));
    }
}
