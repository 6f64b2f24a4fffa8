// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Tables with addresses and small numbers for keys, and sets of small numbers: planning does little else than look these up.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// Mixes whole words. Keys are addresses of ops and values of one process: nobody chooses them to collide.
#[derive(Clone, Copy, Default)]
pub struct Mix(u64);

impl Mix {
    fn mix(&mut self, word: u64) {
        // An odd number near 2^64 divided by the golden ratio spreads what differs in the low bits over all of them.
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.mix(u64::from(byte)));
    }

    fn write_u64(&mut self, word: u64) {
        self.mix(word);
    }

    fn write_i64(&mut self, word: i64) {
        self.mix(word.cast_unsigned());
    }

    fn write_usize(&mut self, word: usize) {
        self.mix(word as u64);
    }
}

/// A table by addresses or small numbers.
pub type Table<K, V> = HashMap<K, V, BuildHasherDefault<Mix>>;
/// Keys of ops or values.
pub type Keys = HashSet<usize, BuildHasherDefault<Mix>>;

/// A set of small numbers.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Bits(Vec<u64>);

impl Bits {
    /// Just one.
    pub fn only(number: usize) -> Self {
        let mut bits = Self::default();
        bits.insert(number);
        bits
    }

    /// Adds a number.
    pub fn insert(&mut self, number: usize) {
        let word = number / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (number % 64);
    }

    /// Whether a number is in it.
    pub fn contains(&self, number: usize) -> bool {
        self.0.get(number / 64).is_some_and(|word| word & (1 << (number % 64)) != 0)
    }

    /// Adds all of another's.
    pub fn extend(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(word, with)| *word |= with);
    }

    /// Whether all are in another, too.
    pub fn is_subset(&self, of: &Self) -> bool {
        let words = of.0.iter().copied().chain(std::iter::repeat(0));
        self.0.iter().zip(words).all(|(word, of)| word & !of == 0)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(at, &word)| {
            std::iter::successors((word != 0).then_some(word), |rest| {
                let rest = rest & (rest - 1);
                (rest != 0).then_some(rest)
            })
            .map(move |rest| at * 64 + rest.trailing_zeros() as usize)
        })
    }
}
