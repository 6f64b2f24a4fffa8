// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Which launches a transform takes whose lines a block of threads holds ([`block`](super::block)), and where complex
//! numbers lie from one launch to the next: in the result. No scratch memory is needed, but for a real result of
//! several dimensions a number for each of its rows.
//!
//! * **A dimension whose lines fit** is a launch, which transforms it where it lies.
//! * **Lines that are too long** for a block, of `a b` elements, are two launches, as if they were `a` rows of `b`: the
//!   first one transforms columns, turns element `j` of the one at frequency `k` by `j k / (a b)` of the circle, and
//!   stores `b` rows of `a`; the second one transforms the columns of those, in place. What is then at row `k2` and
//!   column `k1` is at frequency `k1 + a k2`, which is just where it lies. Since the first launch may not read what it
//!   writes, it reads the operand: there may be one such dimension, which comes first.
//! * **Long lines of reals** are read as half as many complex numbers, of two neighbours each. Whoever has their
//!   frequencies has those of the reals: one more launch ([`Step::Halves`]). For a real result it is the other way
//!   around, and the first launch does it where it reads.
//! * **A real result** of several dimensions has room for all frequencies of its last one but the last: `n` reals for
//!   `n / 2 + 1` complex numbers. That one lies apart, in scratch memory ([`Layout::Apart`]).

use super::super::reducer::bytes_of;
use super::{Dim, Plan, factors};
use crate::gpu::emit::element::count_of;
use melior::ir::Type;

/// Bytes of a block's memory.
const MOST_BYTES: i64 = 48 << 10;
/// The largest factor whose elements a thread holds.
const LARGEST: i64 = 31;
/// Lines that a block takes side by side, and elements of them that are enough for its threads.
const MOST_LINES: i64 = 16;
const ENOUGH: i64 = 2048;
/// Places to each of which one is added.
pub const BANKS: i64 = 32;

/// A launch.
#[derive(Clone, Debug)]
pub enum Step {
    Lines(Stage),
    /// What is in the result are frequencies of complex numbers, each made of two neighbours of `n` reals: makes those
    /// of the reals.
    Halves {
        n: i64,
    },
}

/// Lines that are transformed in one launch.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The dimension of `from` that lines are along, and how long they are.
    pub dim: usize,
    pub n: i64,
    /// How many a block takes.
    pub together: i64,
    /// Shape of what is read and of what is written. A dimension in two parts is two dimensions.
    pub from: Vec<i64>,
    pub to: Vec<i64>,
    /// The first of two dimensions that are one.
    pub split: Option<usize>,
    /// Whether the two are exchanged, and elements turned, before they are written.
    pub exchanges: bool,
    /// Whether the upper half of frequencies is to be made of the lower one.
    pub is_half: bool,
    /// Whether what is read are halves of frequencies of twice as many reals.
    pub is_packed: bool,
}

impl Stage {
    /// How many lines there are.
    pub fn lines(&self) -> i64 {
        self.from.iter().enumerate().filter(|(dim, _)| *dim != self.dim).map(|(_, size)| size).product()
    }

    /// How many tasks for blocks.
    pub fn tasks(&self) -> i64 {
        (self.lines() + self.together - 1) / self.together
    }

    /// A dimension whose lines fit; `None` if they do not.
    fn whole(dim: &Dim, part: Type<'_>) -> Option<Self> {
        let made = Self {
            dim: dim.dim,
            n: dim.n,
            together: 0,
            from: dim.from.clone(),
            to: dim.to.clone(),
            split: None,
            exchanges: false,
            is_half: dim.is_half,
            is_packed: false,
        };
        made.fitted(part)
    }

    /// The two launches of a dimension whose lines are of `n` complex numbers, each of other dimensions of `shape`.
    fn halves(dim: usize, n: i64, shape: &[i64], part: Type<'_>, is_packed: bool) -> Option<[Self; 2]> {
        let (first, second) = split(n)?;
        let parts = |sizes: [i64; 2]| {
            let mut shape = shape.to_vec();
            shape.splice(dim..=dim, sizes);
            shape
        };
        let (read, stored) = (parts([first, second]), parts([second, first]));
        let made = |n, from: &Vec<i64>, exchanges| Self {
            dim,
            n,
            together: 0,
            from: from.clone(),
            to: stored.clone(),
            split: Some(dim),
            exchanges,
            is_half: false,
            is_packed: is_packed && exchanges,
        };
        let [first, second] = [made(first, &read, true), made(second, &stored, false)];
        Some([first.fitted(part)?, second.fitted(part)?])
    }

    /// With as many lines for a block as are good for it; `None` if it holds none.
    fn fitted(mut self, part: Type<'_>) -> Option<Self> {
        let bytes = 2 * bytes_of(part) as i64;
        let fit = MOST_BYTES / spread(self.n).saturating_mul(bytes).max(1);
        if fit == 0 || factors(self.n).into_iter().any(|factor| factor > LARGEST) {
            return None;
        }
        let wanted = (ENOUGH / self.n.max(1)).clamp(4, MOST_LINES).min(fit);
        // A power of two.
        self.together = 1 << wanted.min(self.lines()).max(1).ilog2();
        Some(self)
    }
}

/// Places that a line of `n` takes.
pub fn spread(n: i64) -> i64 {
    n + n / BANKS + 1
}

/// The two factors of a number that are nearest to each other, the smaller one first; `None` if no block holds lines of
/// the other one.
fn split(n: i64) -> Option<(i64, i64)> {
    let first = (2..=n.isqrt().min(MOST_BYTES)).rev().find(|first| n % first == 0)?;
    Some((first, n / first))
}

/// The launches; `None` if not all lines fit.
pub fn steps(plan: &Plan<'_>) -> Option<Vec<Step>> {
    let whole: Vec<_> = plan.dims.iter().map(|dim| Stage::whole(dim, plan.part)).collect();
    let long: Vec<usize> = (0..whole.len()).filter(|&number| whole[number].is_none()).collect();
    let short = whole.into_iter().flatten().map(Step::Lines);
    let [long] = long[..] else {
        return long.is_empty().then(|| short.collect());
    };
    let Dim { dim, n, from, .. } = &plan.dims[long];
    if plan.is_of_complex() {
        let long = Stage::halves(*dim, *n, from, plan.part, false)?;
        return Some(long.map(Step::Lines).into_iter().chain(short).collect());
    }
    // That of the real numbers, of which the complex ones are pairs; none is before it.
    let is_real = dim + 1 == from.len() && long == 0 && n % 2 == 0;
    if !is_real || !plan.is_complex() && plan.dims.len() > 1 {
        return None;
    }
    let long = Stage::halves(*dim, n / 2, from, plan.part, true)?.map(Step::Lines);
    let joined = plan.is_complex().then_some(Step::Halves { n: *n });
    Some(long.into_iter().chain(joined).chain(short).collect())
}

/// Where complex numbers lie between launches.
#[derive(Clone, Debug)]
pub enum Layout {
    /// In the result, in row-major order of a shape.
    Result(Vec<i64>),
    /// So, but each row of the last dimension is as long as one of the result, which is of so many reals; the last
    /// number of each is in scratch memory.
    Apart { shape: Vec<i64>, row: i64 },
}

impl Layout {
    pub fn of(plan: &Plan<'_>) -> Self {
        let mut shape = plan.result.shape.to_vec();
        if plan.is_complex() {
            return Self::Result(shape);
        }
        let row = shape.last().copied().unwrap_or(1);
        if plan.dims.len() > 1 {
            return Self::Apart { shape: plan.dims[0].to.clone(), row };
        }
        if let Some(last) = shape.last_mut() {
            *last = row / 2;
        }
        Self::Result(shape)
    }

    /// Bytes of scratch memory.
    pub fn scratch(&self, part: Type<'_>) -> Vec<u64> {
        match self {
            Self::Result(_) => vec![],
            Self::Apart { shape, .. } => {
                let rows = shape.split_last().map_or(1, |(_, rows)| count_of(rows) as u64);
                vec![rows.saturating_mul(2 * bytes_of(part)).max(1)]
            }
        }
    }
}
