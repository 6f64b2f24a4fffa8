// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Maps from values and other things that are told apart by their addresses.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map from addresses.
pub(crate) type AddressMap<V> = HashMap<usize, V, BuildHasherDefault<AddressHasher>>;

/// Hashes one address. Neighbours stay neighbours, as far as the bits go that choose a place in a table: a walk over ops, which
/// mostly lie in memory one after the other, then walks over the table rather than jumping about in it. Of modules
/// that do not fit into a processor's caches this is most of what a map costs.
#[derive(Clone, Copy, Default)]
pub(crate) struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_usize((self.0 as usize).rotate_left(8) ^ usize::from(byte));
        }
    }

    fn write_usize(&mut self, address: usize) {
        /// Any odd number with ones and zeros all over.
        const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
        /// Bytes within which neighbours stay neighbours, as a power of two. What is farther apart must not
        /// share places because of how an allocator divides memory.
        const NEAR: u32 = 20;
        // Nothing that has an address is smaller than 16 bytes.
        let place = (address >> 4) as u64;
        let far = (address >> NEAR) as u64;
        // The table tells entries of one place apart by the topmost bits.
        let tag = place.wrapping_mul(MIX) & (0x7f << 57);
        self.0 = (place.wrapping_add(far.wrapping_mul(MIX) >> 8) & !(0x7f << 57)) | tag;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
