// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Floating point formats, as far as they can be read and written without losing or flushing anything.

use melior::ir::{Type, TypeLike};

/// An IEEE-754 style format: one sign bit, an exponent, a fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    exponent: u32,
    fraction: u32,
}

impl Format {
    /// The format of a float type that every device computes with; `None` for any other type.
    pub fn of(ty: Type<'_>) -> Option<Self> {
        let (exponent, fraction) = if ty.is_f64() {
            (11, 52)
        } else if ty.is_f32() {
            (8, 23)
        } else if ty.is_bf16() {
            (8, 7)
        } else if ty.is_f16() {
            (5, 10)
        } else {
            return None;
        };
        Some(Self { exponent, fraction })
    }

    const fn bias(self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }

    const fn largest_exponent(self) -> u64 {
        (1 << self.exponent) - 1
    }

    /// The number these bits stand for. `None` for NaNs, which have payloads, and for denormal numbers, which some
    /// devices take for zero.
    pub fn read(self, bits: u64) -> Option<f64> {
        let fraction = bits & ((1 << self.fraction) - 1);
        let exponent = (bits >> self.fraction) & self.largest_exponent();
        let magnitude = match (exponent, fraction) {
            (0, 0) => 0.0,
            (0, _) => return None,
            (exponent, 0) if exponent == self.largest_exponent() => f64::INFINITY,
            (exponent, _) if exponent == self.largest_exponent() => return None,
            _ => {
                // A normal number of any of the formats is a normal f64.
                let exponent = (exponent as i32 - self.bias() + 1023) as u64;
                f64::from_bits(exponent << 52 | fraction << (52 - self.fraction))
            }
        };
        let negative = bits >> (self.exponent + self.fraction) & 1 != 0;
        Some(if negative { -magnitude } else { magnitude })
    }

    /// The bits of a number; `None` unless it is zero, infinite, or a normal number of this format.
    pub fn write(self, value: f64) -> Option<u64> {
        let bits = value.to_bits();
        let sign = bits >> 63 << (self.exponent + self.fraction);
        if value == 0.0 {
            return Some(sign);
        }
        if value.is_infinite() {
            return Some(sign | self.largest_exponent() << self.fraction);
        }
        let exponent = ((bits >> 52 & 0x7ff) as i32 - 1023).checked_add(self.bias())?;
        let exponent = u64::try_from(exponent).ok()?;
        let fraction = bits & ((1 << 52) - 1);
        let dropped = fraction & ((1 << (52 - self.fraction)) - 1);
        (value.is_normal() && dropped == 0 && exponent >= 1 && exponent < self.largest_exponent())
            .then(|| sign | exponent << self.fraction | fraction >> (52 - self.fraction))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const F64: Format = Format { exponent: 11, fraction: 52 };
    const F32: Format = Format { exponent: 8, fraction: 23 };
    const BF16: Format = Format { exponent: 8, fraction: 7 };
    const F16: Format = Format { exponent: 5, fraction: 10 };

    #[test]
    fn f32_agrees_with_the_machine() {
        for bits in (0..=u32::MAX).step_by(65_521) {
            let value = f32::from_bits(bits);
            let expected =
                (value == 0.0 || value.is_infinite() || value.is_normal()).then(|| f64::from(value));
            assert_eq!(F32.read(bits.into()).map(f64::to_bits), expected.map(f64::to_bits), "{bits:#x}");
            if let Some(value) = expected {
                assert_eq!(F32.write(value), Some(bits.into()));
            }
        }
    }

    #[test]
    fn every_number_read_is_written_back() {
        for format in [F16, BF16] {
            for bits in 0..=u64::from(u16::MAX) {
                if let Some(value) = format.read(bits) {
                    assert_eq!(format.write(value), Some(bits));
                    assert_eq!(F64.read(value.to_bits()), Some(value));
                }
            }
        }
    }

    #[test]
    fn nothing_is_rounded() {
        assert_eq!(F32.write(0.1), None);
        assert_eq!(F16.write(65_504.0), Some(0x7bff));
        assert_eq!(F16.write(65_536.0), None);
        assert_eq!(F16.write(2f64.powi(-15)), None, "denormal");
        assert_eq!(BF16.write(257.0), None);
        assert_eq!(BF16.write(-0.0), Some(0x8000));
        assert_eq!(F32.write(f64::NAN), None);
        assert_eq!(F32.read(0x7f80_0001), None, "NaN");
    }
}
