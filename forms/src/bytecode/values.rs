// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Types as far as constants depend on them.

use super::{Damage, Result};

/// MLIR's widest integer, in bits.
const WIDEST: u64 = (1 << 24) - 1;
/// MLIR's size that is not known.
const DYNAMIC: i64 = i64::MIN;

/// A type, as far as constants depend on it.
pub enum TypeKind {
    /// So wide, in bits.
    Integer(u32),
    Index,
    /// So wide, in bits.
    Float(u32),
    /// Of a type, by its place.
    Complex(usize),
    /// A tensor or a vector.
    Shaped(Shaped),
    /// One that nothing is made of but tuples and functions.
    NoElement,
    /// Another of MLIR's own.
    Other,
    /// Of another dialect.
    Foreign,
}

/// A tensor or a vector.
pub struct Shaped {
    pub shape: Vec<i64>,
    /// By its place.
    pub element: usize,
    pub is_vector: bool,
}

impl TypeKind {
    /// An integer: its width above two bits of its sign.
    pub fn integer(both: u64) -> Result<Self> {
        match (both >> 2, both & 3) {
            (width @ 0..=WIDEST, 0..=2) => Ok(Self::Integer(width as u32)),
            _ => Err(Damage::Broken("an integer is of a width or sign that there is not")),
        }
    }

    /// A type of MLIR's own that is written as text: a float that has no number.
    pub fn of_text(text: &[u8]) -> Self {
        match text {
            b"tf32" => Self::Float(19),
            [b'f', digit @ (b'4' | b'6' | b'8'), b'E', ..] => Self::Float(u32::from(digit - b'0')),
            _ => Self::Other,
        }
    }

    /// The width of a number in bits; `None` if it is none.
    pub fn width(&self) -> Option<u32> {
        match *self {
            Self::Integer(width) | Self::Float(width) => Some(width),
            Self::Index => Some(64),
            _ => None,
        }
    }

    /// Whether complex numbers are made of it.
    pub fn is_number(&self) -> bool {
        matches!(self, Self::Integer(_) | Self::Float(_) | Self::Other)
    }

    /// Whether vectors are.
    pub fn is_vector_element(&self) -> bool {
        self.is_number() || matches!(self, Self::Index | Self::Foreign)
    }

    /// Whether tensors are.
    pub fn is_tensor_element(&self) -> bool {
        match self {
            Self::Shaped(shaped) => shaped.is_vector,
            Self::NoElement => false,
            _ => true,
        }
    }
}

impl Shaped {
    /// A tensor or a vector.
    pub fn new(shape: Vec<i64>, element: usize, is_vector: bool) -> Result<Self> {
        let least = i64::from(is_vector);
        if shape.iter().any(|&size| size < least && (is_vector || size != DYNAMIC)) {
            return Err(Damage::Broken("a tensor has a size that there is not"));
        }
        Ok(Self { shape, element, is_vector })
    }

    /// How many elements it has; `None` if that is not known, or not to be counted.
    pub fn count(&self) -> Option<u64> {
        self.shape.iter().try_fold(1u64, |count, &size| count.checked_mul(u64::try_from(size).ok()?))
    }

    /// Whether these are the bytes of its elements, or of one for all.
    pub fn check_elements(&self, bytes: &[u8], types: &[TypeKind]) -> Result<()> {
        const WRONG: Damage = Damage::Broken("a constant has other bytes than its type asks for");
        let count = self.count().ok_or(WRONG)?;
        let (parts, number) = match types.get(self.element) {
            Some(TypeKind::Complex(part)) => (2, types.get(*part)),
            other => (1, other),
        };
        let width = number.and_then(TypeKind::width).ok_or(WRONG)?;
        let length = bytes.len() as u64;
        let fits = if width == 1 && parts == 1 {
            // One for all is all ones, or all zeros; of fewer than eight, bits.
            length == count.div_ceil(8) || matches!(bytes, [0 | 0xff])
        } else {
            let each = parts * u64::from(width.div_ceil(8));
            length == each || count.checked_mul(each) == Some(length)
        };
        if fits { Ok(()) } else { Err(WRONG) }
    }
}
