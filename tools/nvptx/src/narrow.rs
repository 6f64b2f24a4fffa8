// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Conversions between floats of 16 bits and others, which code for the CPU calls where the CPU has no instruction for them. They are
//! usually in a compiler's own library, which a process need not have.
//!
//! A float of 16 bits is handed over in the low half of a register for an f32.

/// Name and address of each.
pub fn functions() -> [(&'static str, usize); 9] {
    [
        ("__truncsfbf2", truncate_f32_to_bf16 as *const () as usize),
        ("__truncdfbf2", truncate_f64_to_bf16 as *const () as usize),
        ("__truncsfhf2", truncate_f32_to_f16 as *const () as usize),
        ("__gnu_f2h_ieee", truncate_f32_to_f16 as *const () as usize),
        ("__truncdfhf2", truncate_f64_to_f16 as *const () as usize),
        ("__extendhfsf2", extend_f16_to_f32 as *const () as usize),
        ("__gnu_h2f_ieee", extend_f16_to_f32 as *const () as usize),
        ("__extendhfdf2", extend_f16_to_f64 as *const () as usize),
        ("__extendbfsf2", extend_bf16_to_f32 as *const () as usize),
    ]
}

/// Bits of the stored mantissa of f64.
const MANTISSA: u32 = 52;

/// The float of 16 bits, with `mantissa` bits of mantissa, that is nearest to `value`; of two, the even one.
fn nearest(value: f64, mantissa: u32) -> u16 {
    let exponents = 15 - mantissa;
    let bias = (1i32 << (exponents - 1)) - 1;
    let bits = value.to_bits();
    let sign = ((bits >> 48) & 0x8000) as u16;
    let infinity = ((1u16 << exponents) - 1) << mantissa;
    if value.is_nan() {
        // Quiet, with what there is room for of the payload.
        let payload = (bits >> (MANTISSA - mantissa)) as u16 & ((1 << mantissa) - 1);
        return sign | infinity | 1 << (mantissa - 1) | payload;
    }
    if value.is_infinite() {
        return sign | infinity;
    }
    let exponent = ((bits >> MANTISSA) & 0x7ff) as i32 - 1023;
    if exponent < -1022 {
        // Smaller than half of the smallest number.
        return sign;
    }
    let significand = (bits & ((1 << MANTISSA) - 1)) | 1 << MANTISSA;
    // Below the smallest normal number, steps no longer get smaller.
    let lost = (MANTISSA - mantissa) as i32 + (1 - bias - exponent).max(0);
    if lost > MANTISSA as i32 + 1 {
        return sign;
    }
    let kept = significand >> lost;
    let rest = significand & ((1 << lost) - 1);
    let half = 1u64 << (lost - 1);
    let rounded = kept + u64::from(rest > half || (rest == half && kept & 1 == 1));
    // The leading one of a normal number, or of one that has been rounded up to it, adds one to the exponent.
    let exponent = (exponent + bias - 1).max(0) as u64;
    let magnitude = (exponent << mantissa) + rounded;
    sign | magnitude.min(u64::from(infinity)) as u16
}

fn f16_value(bits: u16) -> f64 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let (exponent, mantissa) = (i32::from(bits >> 10 & 0x1f), u64::from(bits & 0x3ff));
    match exponent {
        0x1f if mantissa != 0 => {
            f64::from_bits(u64::from(bits & 0x8000) << 48 | 0x7ff8 << 48 | mantissa << (MANTISSA - 10))
        }
        0x1f => sign * f64::INFINITY,
        0 => sign * mantissa as f64 * 2f64.powi(-24),
        _ => sign * (1024 + mantissa) as f64 * 2f64.powi(exponent - 25),
    }
}

fn low_half(value: f32) -> u16 {
    value.to_bits() as u16
}

fn in_low_half(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits))
}

extern "C" fn truncate_f32_to_bf16(value: f32) -> f32 {
    in_low_half(nearest(f64::from(value), 7))
}

extern "C" fn truncate_f64_to_bf16(value: f64) -> f32 {
    in_low_half(nearest(value, 7))
}

extern "C" fn truncate_f32_to_f16(value: f32) -> f32 {
    in_low_half(nearest(f64::from(value), 10))
}

extern "C" fn truncate_f64_to_f16(value: f64) -> f32 {
    in_low_half(nearest(value, 10))
}

extern "C" fn extend_f16_to_f32(value: f32) -> f32 {
    f16_value(low_half(value)) as f32
}

extern "C" fn extend_f16_to_f64(value: f32) -> f64 {
    f16_value(low_half(value))
}

extern "C" fn extend_bf16_to_f32(value: f32) -> f32 {
    f32::from_bits(u32::from(low_half(value)) << 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_f16_survives_a_round_trip() {
        for bits in 0..=u16::MAX {
            let value = f16_value(bits);
            if value.is_nan() {
                assert_eq!(nearest(value, 10), bits | 0x200);
            } else {
                assert_eq!(nearest(value, 10), bits);
            }
        }
    }

    #[test]
    fn every_bf16_survives_a_round_trip() {
        for bits in 0..=u16::MAX {
            let value = f32::from_bits(u32::from(bits) << 16);
            if !value.is_nan() {
                assert_eq!(nearest(f64::from(value), 7), bits);
            }
        }
    }

    #[test]
    fn ties_go_to_even_and_what_is_too_large_to_infinity() {
        assert_eq!(nearest(1.0 + 2f64.powi(-11), 10), 0x3c00);
        assert_eq!(nearest(1.0 + 3.0 * 2f64.powi(-11), 10), 0x3c02);
        assert_eq!(nearest(1.0 + 2f64.powi(-11) + 2f64.powi(-40), 10), 0x3c01);
        assert_eq!(nearest(65519.0, 10), 0x7bff);
        assert_eq!(nearest(65520.0, 10), 0x7c00);
        assert_eq!(nearest(-1e300, 7), 0xff80);
        assert_eq!(nearest(2f64.powi(-25), 10), 0);
        assert_eq!(nearest(2f64.powi(-25) * 1.001, 10), 1);
        assert_eq!(nearest(-2f64.powi(-26), 10), 0x8000);
        assert_eq!(nearest(f64::MIN_POSITIVE / 2.0, 7), 0);
    }
}
