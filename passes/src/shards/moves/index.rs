// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Where the elements of a box are read from, and how they are computed.

use melior::ir::OperationRef;

/// A box of an array: a half-open range per dimension.
pub type Box_ = Vec<(i64, i64)>;

/// Where an element is found along one dimension of an array that is read, given the index of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Index {
    /// Always here.
    At(i64),
    /// At the result's index along `dim` plus this.
    Plus { dim: usize, offset: i64 },
    /// At this minus the result's index along `dim`.
    Minus { dim: usize, offset: i64 },
}

impl Index {
    pub(super) fn moved(self, by: i64) -> Self {
        match self {
            Self::At(at) => Self::At(at + by),
            Self::Plus { dim, offset } => Self::Plus { dim, offset: offset + by },
            Self::Minus { dim, offset } => Self::Minus { dim, offset: offset + by },
        }
    }

    /// `last` minus this.
    pub(super) fn reversed(self, last: i64) -> Self {
        match self {
            Self::At(at) => Self::At(last - at),
            Self::Plus { dim, offset } => Self::Minus { dim, offset: last - offset },
            Self::Minus { dim, offset } => Self::Plus { dim, offset: last - offset },
        }
    }

    /// Whether it goes the same way, wherever it begins.
    pub fn is_like(self, other: Self) -> bool {
        match (self, other) {
            (Self::At(_), Self::At(_)) => true,
            (Self::Plus { dim, .. }, Self::Plus { dim: other, .. })
            | (Self::Minus { dim, .. }, Self::Minus { dim: other, .. }) => dim == other,
            _ => false,
        }
    }

    /// The result's dimension it depends on.
    pub fn dim(self) -> Option<usize> {
        match self {
            Self::At(_) => None,
            Self::Plus { dim, .. } | Self::Minus { dim, .. } => Some(dim),
        }
    }

    /// The lowest index that results in `low..high` read.
    pub fn lowest(self, low: i64, high: i64) -> i64 {
        match self {
            Self::At(at) => at,
            Self::Plus { offset, .. } => low + offset,
            Self::Minus { offset, .. } => offset - (high - 1),
        }
    }

    /// Where results read from `low..high`; `None` if it depends on none of them.
    pub(super) fn preimage(self, low: i64, high: i64) -> Option<(usize, i64, i64)> {
        match self {
            Self::At(_) => None,
            Self::Plus { dim, offset } => Some((dim, low - offset, high - offset)),
            Self::Minus { dim, offset } => Some((dim, offset - high + 1, offset - low + 1)),
        }
    }

    /// The first result index on the upper side of the border before index `border`.
    pub fn border(self, border: i64) -> Option<i64> {
        match self {
            Self::At(_) => None,
            Self::Plus { offset, .. } => Some(border - offset),
            Self::Minus { offset, .. } => Some(offset - border + 1),
        }
    }
}

/// What is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// A value from outside, by number.
    Input(usize),
    /// The array being updated, after so many updates.
    Version(usize),
}

/// How the elements of a box come about.
#[derive(Clone)]
pub enum Expr<'c, 'a> {
    /// One scalar everywhere, by number.
    Fill(usize),
    /// Read from an array.
    Read(Source, Vec<Index>),
    /// Computed element by element.
    Apply(OperationRef<'c, 'a>, Vec<Expr<'c, 'a>>),
}

impl Expr<'_, '_> {
    /// Lets `change` change what is read, from left to right.
    pub fn for_each_read(&mut self, change: &mut impl FnMut(&mut Source, &[Index])) {
        match self {
            Self::Fill(_) => {}
            Self::Read(source, index) => change(source, index),
            Self::Apply(_, arguments) => {
                arguments.iter_mut().for_each(|argument| argument.for_each_read(change));
            }
        }
    }

    /// Whether `other` is the same but for where along each dimension it reads.
    pub fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Fill(left), Self::Fill(right)) => left == right,
            (Self::Read(left, at), Self::Read(right, other)) => {
                left == right
                    && at.len() == other.len()
                    && at.iter().zip(other).all(|(left, right)| left.is_like(*right))
            }
            (Self::Apply(left, arguments), Self::Apply(right, others)) => {
                left == right && arguments.iter().zip(others).all(|(left, right)| left.is_like(right))
            }
            _ => false,
        }
    }

    /// Whether some of it is one scalar everywhere.
    pub fn has_fill(&self) -> bool {
        match self {
            Self::Fill(_) => true,
            Self::Read(..) => false,
            Self::Apply(_, arguments) => arguments.iter().any(Self::has_fill),
        }
    }

    /// What is read, from left to right.
    pub fn reads<'e>(&'e self, into: &mut Vec<(Source, &'e [Index])>) {
        match self {
            Self::Fill(_) => {}
            Self::Read(source, index) => into.push((*source, index)),
            Self::Apply(_, arguments) => arguments.iter().for_each(|argument| argument.reads(into)),
        }
    }
}

/// A box and how its elements come about.
pub type Piece<'c, 'a> = (Box_, Expr<'c, 'a>);

/// The part of `window` whose elements are read from `within`, and boxes that make up the rest.
pub(super) fn cut(mut window: Box_, index: &[Index], within: &Box_) -> (Option<Box_>, Vec<Box_>) {
    let mut outside = Vec::new();
    for (index, &(low, high)) in index.iter().zip(within) {
        match (index.preimage(low, high), index) {
            (Some((dim, low, high)), _) => {
                let (from, to) = window[dim];
                if low >= to || high <= from || low >= high {
                    outside.push(window);
                    return (None, outside);
                }
                if from < low {
                    let mut rest = window.clone();
                    rest[dim] = (from, low);
                    outside.push(rest);
                }
                if high < to {
                    let mut rest = window.clone();
                    rest[dim] = (high, to);
                    outside.push(rest);
                }
                window[dim] = (from.max(low), to.min(high));
            }
            (None, Index::At(at)) if low <= *at && *at < high => {}
            _ => {
                outside.push(window);
                return (None, outside);
            }
        }
    }
    (Some(window), outside)
}
