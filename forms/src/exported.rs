// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The files that `jax.export` writes: a flatbuffer around a portable artifact.
//!
//! Of all that is in it (trees, shapes, shardings, effects) the module is one field, whose place no version of the format changes. Nothing
//! is read that does not lie within the bytes.

use crate::source::BYTECODE_MAGIC;

/// Where tables of this format list the place of their version, a number of 16 bits.
const VERSION: usize = 4;
/// Where they list that of the module, a vector of bytes.
const MODULE: usize = 30;

/// The portable artifact in a file of `jax.export`; `None` if the bytes are no such file.
pub fn module_of(bytes: &[u8]) -> Option<&[u8]> {
    let table = Table::root(bytes)?;
    let version = table.field(VERSION)?;
    if table.u16(version)? == 0 {
        return None;
    }
    let vector = table.field(MODULE).and_then(|place| table.follow(place))?;
    let (start, length) = (vector.checked_add(4)?, table.u32(vector)?);
    let module = bytes.get(start..start.checked_add(length)?)?;
    module.starts_with(BYTECODE_MAGIC).then_some(module)
}

/// A table of a flatbuffer.
struct Table<'a> {
    bytes: &'a [u8],
    start: usize,
    /// Where the places of its fields are listed: the length of the list and of the table, then one place per field.
    list: usize,
}

impl<'a> Table<'a> {
    fn root(bytes: &'a [u8]) -> Option<Self> {
        let mut table = Self { bytes, start: 0, list: 0 };
        table.start = table.follow(0)?;
        // Back from the table by a signed number, which for lists before it is positive.
        let back = i64::from(table.u32(table.start)? as u32 as i32);
        table.list = usize::try_from(i64::try_from(table.start).ok()?.checked_sub(back)?).ok()?;
        Some(table)
    }

    /// Where a field is; `None` if the table lacks it.
    fn field(&self, slot: usize) -> Option<usize> {
        let length = self.u16(self.list)?;
        if slot + 2 > length {
            return None;
        }
        let place = self.u16(self.list.checked_add(slot)?)?;
        if place == 0 { None } else { self.start.checked_add(place) }
    }

    /// Where an offset leads.
    fn follow(&self, place: usize) -> Option<usize> {
        place.checked_add(self.u32(place)?)
    }

    fn u16(&self, place: usize) -> Option<usize> {
        let bytes = self.bytes.get(place..place.checked_add(2)?)?;
        Some(usize::from(u16::from_le_bytes(bytes.try_into().ok()?)))
    }

    fn u32(&self, place: usize) -> Option<usize> {
        let bytes = self.bytes.get(place..place.checked_add(4)?)?;
        usize::try_from(u32::from_le_bytes(bytes.try_into().ok()?)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::module_of;

    /// A table with a version and a module behind its list of fields.
    fn file(module: &[u8]) -> Vec<u8> {
        let mut list = [0u16; 16];
        (list[0], list[1]) = (32, 12);
        (list[2], list[15]) = (4, 8);
        let mut bytes = 36u32.to_le_bytes().to_vec();
        bytes.extend(list.iter().flat_map(|entry| entry.to_le_bytes()));
        // The table: back to its list, version 11, the module 4 bytes further on.
        bytes.extend([32, 0, 0, 0, 11, 0, 0, 0, 4, 0, 0, 0]);
        bytes.extend((module.len() as u32).to_le_bytes());
        bytes.extend(module);
        bytes
    }

    #[test]
    fn the_module_is_found() {
        let module = b"ML\xefR and more";
        assert_eq!(module_of(&file(module)), Some(&module[..]));
    }

    #[test]
    fn others_are_none() {
        assert_eq!(module_of(b""), None);
        assert_eq!(module_of(b"module {}"), None);
        assert_eq!(module_of(b"ML\xefR"), None);
        assert_eq!(module_of(&file(b"not bytecode")), None);
        let whole = file(b"ML\xefR and more");
        for end in 0..whole.len() {
            assert_eq!(module_of(&whole[..end]), None, "cut off at {end}");
        }
    }
}
