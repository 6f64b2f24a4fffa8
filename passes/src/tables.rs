// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Tables with addresses and small numbers for keys, and sets of small numbers: planning does little else than look these up.

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use std::hash::Hasher;

/// A table by addresses or small numbers.
pub type Table<K, V> = FxHashMap<K, V>;
/// Keys of ops or values.
pub type Keys = FxHashSet<usize>;

/// Keys that are mostly asked for what is not among them: a few bits of each say so at once.
#[derive(Default)]
pub struct Marked {
    keys: Keys,
    marks: [u64; Self::WORDS],
}

impl Marked {
    const WORDS: usize = 16;

    fn mark(key: usize) -> (usize, u64) {
        let mixed = hash(&[key as u64]) as usize;
        (mixed / 64 % Self::WORDS, 1 << (mixed % 64))
    }

    /// Adds a key; says whether it is a new one.
    pub fn insert(&mut self, key: usize) -> bool {
        let (word, bit) = Self::mark(key);
        self.marks[word] |= bit;
        self.keys.insert(key)
    }

    /// Whether a key is among them.
    pub fn contains(&self, key: usize) -> bool {
        let (word, bit) = Self::mark(key);
        self.marks[word] & bit != 0 && self.keys.contains(&key)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Whether one of them is among others.
    pub fn meets(&self, others: &Self) -> bool {
        if self.marks.iter().zip(&others.marks).all(|(mine, theirs)| mine & theirs == 0) {
            return false;
        }
        let (few, many) = if self.keys.len() < others.keys.len() { (self, others) } else { (others, self) };
        few.keys.iter().any(|&key| many.contains(key))
    }
}

impl FromIterator<usize> for Marked {
    fn from_iter<I: IntoIterator<Item = usize>>(keys: I) -> Self {
        let mut marked = Self::default();
        keys.into_iter().for_each(|key| {
            marked.insert(key);
        });
        marked
    }
}

/// A set of small numbers. Most are below [`NEAR`], for which nothing is allocated.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Bits {
    near: [u64; WORDS],
    /// What is further, its last word not zero.
    far: Vec<u64>,
}

const WORDS: usize = 4;
/// Numbers that are near.
const NEAR: usize = 64 * WORDS;

impl Bits {
    /// Just one.
    pub fn only(number: usize) -> Self {
        let mut bits = Self::default();
        bits.insert(number);
        bits
    }

    /// Adds a number.
    pub fn insert(&mut self, number: usize) {
        if number < NEAR {
            self.near[number / 64] |= 1 << (number % 64);
            return;
        }
        let word = (number - NEAR) / 64;
        if self.far.len() <= word {
            self.far.resize(word + 1, 0);
        }
        self.far[word] |= 1 << (number % 64);
    }

    /// Whether a number is in it.
    pub fn contains(&self, number: usize) -> bool {
        let bit = 1 << (number % 64);
        match number.checked_sub(NEAR) {
            None => self.near[number / 64] & bit != 0,
            Some(further) => self.far.get(further / 64).is_some_and(|word| word & bit != 0),
        }
    }

    /// Adds all of another's.
    pub fn extend(&mut self, other: &Self) {
        self.near.iter_mut().zip(&other.near).for_each(|(word, with)| *word |= with);
        if self.far.len() < other.far.len() {
            self.far.resize(other.far.len(), 0);
        }
        self.far.iter_mut().zip(&other.far).for_each(|(word, with)| *word |= with);
    }

    /// Takes all of another's away.
    pub fn remove(&mut self, other: &Self) {
        self.near.iter_mut().zip(&other.near).for_each(|(word, without)| *word &= !without);
        self.far.iter_mut().zip(&other.far).for_each(|(word, without)| *word &= !without);
        while self.far.last() == Some(&0) {
            self.far.pop();
        }
    }

    /// Whether all are in another, too.
    pub fn is_subset(&self, of: &Self) -> bool {
        let words = of.far.iter().copied().chain(std::iter::repeat(0));
        self.near.iter().zip(of.near).all(|(word, of)| word & !of == 0)
            && self.far.iter().zip(words).all(|(word, of)| word & !of == 0)
    }

    fn words(&self) -> impl Iterator<Item = u64> {
        self.near.iter().chain(&self.far).copied()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.words().map(|word| word.count_ones() as usize).sum()
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        self.words().enumerate().flat_map(|(at, word)| {
            std::iter::successors((word != 0).then_some(word), |rest| {
                let rest = rest & (rest - 1);
                (rest != 0).then_some(rest)
            })
            .map(move |rest| at * 64 + rest.trailing_zeros() as usize)
        })
    }
}

/// Mixes a few words.
pub fn hash(words: &[u64]) -> u64 {
    let mut mix = FxHasher::default();
    words.iter().for_each(|&word| mix.write_u64(word));
    mix.finish()
}
