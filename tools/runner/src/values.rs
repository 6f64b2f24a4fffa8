// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Elements: random ones, and ones as text.

use half::{bf16, f16};
use slimhlo_package::{ElementType, Tensor};

/// How a float type is stored.
struct Float {
    /// Whether the highest bit is a sign.
    signed: bool,
    exponent_bits: u32,
    mantissa_bits: u32,
    bias: i32,
}

/// The layout of a float type; of each part of a complex one.
fn float(element: ElementType) -> Option<Float> {
    use ElementType as E;
    let (signed, exponent_bits, mantissa_bits, bias) = match element {
        E::F4E2M1FN => (true, 2, 1, 1),
        E::F6E2M3FN => (true, 2, 3, 1),
        E::F6E3M2FN => (true, 3, 2, 3),
        E::F8E3M4 => (true, 3, 4, 3),
        E::F8E4M3 | E::F8E4M3FN => (true, 4, 3, 7),
        E::F8E4M3FNUZ => (true, 4, 3, 8),
        E::F8E4M3B11FNUZ => (true, 4, 3, 11),
        E::F8E5M2 => (true, 5, 2, 15),
        E::F8E5M2FNUZ => (true, 5, 2, 16),
        E::F8E8M0FNU => (false, 8, 0, 127),
        E::Bf16 => (true, 8, 7, 127),
        E::F16 => (true, 5, 10, 15),
        E::F32 | E::Complex64 => (true, 8, 23, 127),
        E::F64 | E::Complex128 => (true, 11, 52, 1023),
        _ => return None,
    };
    Some(Float { signed, exponent_bits, mantissa_bits, bias })
}

/// The generator SplitMix64: small, and good enough for inputs.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }
}

/// Random values of this type: the same for the same seed and `number`, that of the argument.
///
/// Floats are of either sign, with magnitudes from 1/4 up to 2; integers are at least 0 and less than `below` (as far as the type
/// goes), so that programs can take them as indices; booleans are either.
///
/// None if they are more than memory can hold.
#[must_use]
pub fn random(tensor: &Tensor, below: u32, seed: u64, number: usize) -> Option<Vec<u8>> {
    let length = usize::try_from(tensor.bytes()?).ok()?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length).ok()?;
    let mut random = Random(seed);
    // Another start for each argument, and not one that the seed next to it has.
    random.0 = random.next() ^ Random(number as u64).next();
    let element = tensor.element;
    let complex = matches!(element, ElementType::Complex64 | ElementType::Complex128);
    let size = element.bytes() as usize / if complex { 2 } else { 1 };
    let layout = float(element);
    let limit: u64 = match element {
        ElementType::I1 | ElementType::I2 => 2,
        ElementType::Ui2 => 4,
        ElementType::I4 => 8,
        ElementType::Ui4 => 16,
        ElementType::I8 => 128,
        ElementType::Ui8 => 256,
        ElementType::I16 => 1 << 15,
        ElementType::Ui16 => 1 << 16,
        ElementType::I32 => 1 << 31,
        _ => 1 << 32,
    };
    let below = if element == ElementType::I1 { limit } else { limit.min(below.into()) };
    while bytes.len() < length {
        let drawn = random.next();
        let value = match &layout {
            Some(layout) => layout.draw(drawn),
            // Below 2^32 times at most 2^32.
            None => ((drawn >> 32) * below) >> 32,
        };
        bytes.extend_from_slice(&value.to_le_bytes()[..size]);
    }
    Some(bytes)
}

impl Float {
    /// A value from random bits: either sign, exponent -2, -1 or 0, any mantissa.
    fn draw(&self, random: u64) -> u64 {
        let mantissa = random >> (63 - self.mantissa_bits) >> 1;
        // From the low half, so that nothing depends on the mantissa's bits but in the longest type.
        let exponent = (self.bias - (random & 0xff) as i32 % 3).max(0) as u64;
        let sign = if self.signed { (random >> 8) & 1 } else { 0 };
        (((sign << self.exponent_bits) | exponent) << self.mantissa_bits) | mantissa
    }

    /// The value of bits that are neither infinity nor NaN; types of at most eight bits.
    fn value(&self, bits: u8) -> f64 {
        let bits = u32::from(bits);
        let mantissa = f64::from(bits & ((1 << self.mantissa_bits) - 1)) / f64::from(1 << self.mantissa_bits);
        let exponent = ((bits >> self.mantissa_bits) & ((1 << self.exponent_bits) - 1)) as i32;
        let sign = if self.signed && bits >> (self.mantissa_bits + self.exponent_bits) & 1 == 1 {
            -1.0
        } else {
            1.0
        };
        let magnitude = if exponent == 0 && self.mantissa_bits > 0 {
            mantissa * 2_f64.powi(1 - self.bias)
        } else {
            (1.0 + mantissa) * 2_f64.powi(exponent - self.bias)
        };
        sign * magnitude
    }
}

/// What a short float stands for, with the type's own codes for NaN and infinity.
fn short_float(element: ElementType, bits: u8) -> String {
    use ElementType as E;
    let sign = if bits & 0x80 == 0 { "" } else { "-" };
    let special = match (element, bits) {
        (E::F8E4M3FNUZ | E::F8E4M3B11FNUZ | E::F8E5M2FNUZ, 0x80) | (E::F8E8M0FNU, 0xff) => Some("nan"),
        (E::F8E4M3FN, _) if bits & 0x7f == 0x7f => Some("nan"),
        (E::F8E4M3, _) if bits & 0x7f == 0x78 => Some("inf"),
        (E::F8E4M3, _) if bits & 0x7f > 0x78 => Some("nan"),
        (E::F8E3M4, _) if bits & 0x7f == 0x70 => Some("inf"),
        (E::F8E3M4, _) if bits & 0x7f > 0x70 => Some("nan"),
        (E::F8E5M2, _) if bits & 0x7f == 0x7c => Some("inf"),
        (E::F8E5M2, _) if bits & 0x7f > 0x7c => Some("nan"),
        _ => None,
    };
    match (special, float(element)) {
        (Some("inf"), _) => format!("{sign}inf"),
        (Some(special), _) => special.to_string(),
        (None, Some(layout)) => layout.value(bits).to_string(),
        (None, None) => format!("{bits:#04x}"),
    }
}

/// The element in these bytes, which are as many as the type has, as text.
fn element(element: ElementType, bytes: &[u8]) -> String {
    use ElementType as E;
    macro_rules! number {
        ($type:ty) => {
            bytes.try_into().map_or_else(|_| "?".into(), |bytes| <$type>::from_le_bytes(bytes).to_string())
        };
    }
    let low = bytes.first().copied().unwrap_or_default();
    let half = bytes.len() / 2;
    match element {
        E::I1 => (low != 0).to_string(),
        // Only the low bits count; as a signed number.
        E::I2 => (((low << 6) as i8) >> 6).to_string(),
        E::I4 => (((low << 4) as i8) >> 4).to_string(),
        E::Ui2 => (low & 3).to_string(),
        E::Ui4 => (low & 15).to_string(),
        E::I8 => number!(i8),
        E::I16 => number!(i16),
        E::I32 => number!(i32),
        E::I64 => number!(i64),
        E::Ui8 => number!(u8),
        E::Ui16 => number!(u16),
        E::Ui32 => number!(u32),
        E::Ui64 => number!(u64),
        E::Bf16 => number!(bf16),
        E::F16 => number!(f16),
        E::F32 => number!(f32),
        E::F64 => number!(f64),
        E::Complex64 => {
            format!("({}, {})", self::element(E::F32, &bytes[..half]), self::element(E::F32, &bytes[half..]))
        }
        E::Complex128 => {
            format!("({}, {})", self::element(E::F64, &bytes[..half]), self::element(E::F64, &bytes[half..]))
        }
        _ => short_float(element, low),
    }
}

/// The first elements of a buffer, as text: `[1, 2.5, ...]`; without brackets for a scalar.
#[must_use]
pub fn preview(tensor: &Tensor, bytes: &[u8], most: usize) -> String {
    let size = tensor.element.bytes() as usize;
    let mut shown: Vec<_> =
        bytes.chunks_exact(size).take(most).map(|bytes| element(tensor.element, bytes)).collect();
    if tensor.shape.is_empty() {
        return shown.pop().unwrap_or_default();
    }
    if bytes.len() / size > most {
        shown.push("...".into());
    }
    format!("[{}]", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(element: ElementType, shape: &[u64]) -> Tensor {
        Tensor { element, shape: shape.to_vec() }
    }

    #[test]
    fn random_floats_are_moderate() {
        let values = random(&tensor(ElementType::F32, &[1000]), 8, 1, 0).unwrap();
        let values: Vec<f32> =
            values.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
        assert!(values.iter().all(|value| (0.25..2.0).contains(&value.abs())));
        let mean = values.iter().sum::<f32>() / 1000.0;
        assert!(mean.abs() < 0.1, "{mean}");
        let values = random(&tensor(ElementType::F64, &[1000]), 8, 1, 0).unwrap();
        let values = values.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap()));
        assert!(values.into_iter().all(|value| (0.25..2.0).contains(&value.abs())));
        for &element in ElementType::ALL {
            let bytes = random(&tensor(element, &[100]), 8, 1, 0).unwrap();
            let text = preview(&tensor(element, &[100]), &bytes, 100);
            assert!(!text.contains("nan") && !text.contains("inf"), "{element}: {text}");
            if let Some(layout) = float(element).filter(|_| element.bytes() == 1) {
                assert!(bytes.iter().all(|&bits| layout.value(bits).abs() < 2.0), "{element}: {text}");
            }
        }
    }

    #[test]
    fn random_integers_are_small() {
        for (element, most) in [
            (ElementType::I1, 1),
            (ElementType::I2, 1),
            (ElementType::Ui2, 3),
            (ElementType::I4, 7),
            (ElementType::Ui8, 7),
        ] {
            let bytes = random(&tensor(element, &[1000]), 8, 7, 1).unwrap();
            assert_eq!(bytes.iter().max(), Some(&most), "{element}");
            assert_eq!(bytes.iter().min(), Some(&0), "{element}");
        }
        for (below, element, most) in
            [(128, ElementType::I32, 127), (u32::MAX, ElementType::I8, 127), (1, ElementType::Ui16, 0)]
        {
            let bytes = random(&tensor(element, &[10_000]), below, 7, 1).unwrap();
            let low = bytes.chunks_exact(element.bytes() as usize).map(|b| b[0]);
            assert_eq!(low.max(), Some(most), "{element} below {below}");
        }
        let bytes = random(&tensor(ElementType::I64, &[100]), 8, 7, 1).unwrap();
        assert!(bytes.chunks_exact(8).all(|b| (0..8).contains(&i64::from_le_bytes(b.try_into().unwrap()))));
    }

    #[test]
    fn the_seed_decides() {
        let tensor = tensor(ElementType::F32, &[16]);
        assert_eq!(random(&tensor, 8, 5, 2), random(&tensor, 8, 5, 2));
        assert_ne!(random(&tensor, 8, 5, 2), random(&tensor, 8, 5, 3));
        assert_ne!(random(&tensor, 8, 5, 2), random(&tensor, 8, 6, 2));
        assert_eq!(random(&Tensor { element: ElementType::F64, shape: vec![u64::MAX / 16] }, 8, 0, 0), None);
    }

    #[test]
    fn elements_read_as_what_they_are() {
        let show = |kind, bytes: &[u8]| preview(&tensor(kind, &[]), bytes, 8);
        assert_eq!(show(ElementType::I1, &[1]), "true");
        assert_eq!(show(ElementType::I4, &[0x0f]), "-1");
        assert_eq!(show(ElementType::I2, &[0x02]), "-2");
        assert_eq!(show(ElementType::Ui4, &[0xff]), "15");
        assert_eq!(show(ElementType::I16, &(-300_i16).to_le_bytes()), "-300");
        assert_eq!(show(ElementType::Bf16, &bf16::from_f32(1.5).to_le_bytes()), "1.5");
        assert_eq!(show(ElementType::F16, &f16::NAN.to_le_bytes()), "NaN");
        assert_eq!(show(ElementType::F8E4M3FN, &[0x38]), "1");
        assert_eq!(show(ElementType::F8E4M3FN, &[0x7f]), "nan");
        assert_eq!(show(ElementType::F8E5M2, &[0xfc]), "-inf");
        assert_eq!(show(ElementType::F8E8M0FNU, &[128]), "2");
        assert_eq!(show(ElementType::F4E2M1FN, &[0x0f]), "-6");
        let complex: Vec<u8> = [1.0_f32, -2.0].iter().flat_map(|value| value.to_le_bytes()).collect();
        assert_eq!(show(ElementType::Complex64, &complex), "(1, -2)");
        assert_eq!(preview(&tensor(ElementType::Ui8, &[4]), &[1, 2, 3, 4], 2), "[1, 2, ...]");
        assert_eq!(preview(&tensor(ElementType::Ui8, &[0]), &[], 2), "[]");
    }
}
