// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Stores of fewer bits than their register has.
//!
//! LLVM's registers of PTX have sizes and no types, and where it stores the low half of one it says
//!
//! ```ptx
//! add.rn.f64     %rd3, %rd1, %rd2;
//! st.shared.b32  [%rd4], %rd3;
//! ```
//!
//! PTX's table of relaxed type checks has that cut to 32 bits. ptxas 12.9 and 13.0, and the compiler of driver 580, take
//! the register for the f64 that was last written to it, and convert, where nothing stands between the two: the code is
//! `F2I.U32.F64.TRUNC`. So parts of a row's sum in f64 lost 32 bits on an H100. The half gets a register of its own:
//!
//! ```ptx
//! {
//! .reg .b32      %part;
//! cvt.u32.u64    %part, %rd3;
//! st.shared.b32  [%rd4], %part;
//! }
//! ```

use std::borrow::Cow;

/// Of a text in PTX by LLVM, with one instruction to a line: the same with registers of their own for what is stored in part.
pub fn cut_before_stores(ptx: &str) -> String {
    ptx.split_inclusive('\n').map(|line| cut(line).map_or(Cow::Borrowed(line), Cow::Owned)).collect()
}

/// A store of a part of its register in a register of that size; None of all other lines.
fn cut(line: &str) -> Option<String> {
    let instruction = line.trim().strip_suffix(';')?;
    let after_guard = match instruction.strip_prefix('@') {
        Some(guarded) => guarded.split_once(char::is_whitespace)?.1.trim_start(),
        None => instruction,
    };
    let (store, operands) = after_guard.split_once(char::is_whitespace)?;
    // A vector's elements have the size of their registers: LLVM cuts what is shorter by itself.
    let bits: u32 = store.strip_prefix("st.")?.rsplit_once(".b")?.1.parse().ok()?;
    let value = operands.rsplit_once(',')?.1.trim();
    let register = width(value)?;
    // There are no registers of 8 bits.
    let size = bits.max(16);
    if size >= register {
        return None;
    }
    let stored = instruction.strip_suffix(value)?;
    Some(format!(
        "\t{{\n\t.reg .b{size} \t%part;\n\tcvt.u{size}.u{register} \t%part, {value};\n\t{stored}%part;\n\t}}\n"
    ))
}

/// Bits of a register by its name: LLVM's are %rd, %r and %rs and a number.
fn width(register: &str) -> Option<u32> {
    let name = register.strip_prefix('%')?.trim_end_matches(|character: char| character.is_ascii_digit());
    match name {
        "rd" => Some(64),
        "r" => Some(32),
        "rs" => Some(16),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_half_gets_its_register() {
        let line = "\tst.shared.b32 \t[%rd5+128], %rd618;\n";
        let wanted = "\t{\n\t.reg .b32 \t%part;\n\tcvt.u32.u64 \t%part, %rd618;\n\tst.shared.b32 \t[%rd5+128], %part;\n\t}\n";
        assert_eq!(cut_before_stores(line), wanted);
    }

    #[test]
    fn a_guard_stays_with_its_store() {
        let line = "\t@%p1 st.global.b16 \t[%rd5], %r6;\n";
        let wanted = "\t{\n\t.reg .b16 \t%part;\n\tcvt.u16.u32 \t%part, %r6;\n\t@%p1 st.global.b16 \t[%rd5], %part;\n\t}\n";
        assert_eq!(cut_before_stores(line), wanted);
    }

    #[test]
    fn a_byte_is_of_sixteen_bits() {
        assert!(cut_before_stores("\tst.global.b8 \t[%rd5], %r6;\n").contains("cvt.u16.u32 \t%part, %r6;"));
    }

    #[test]
    fn all_else_stays() {
        let text = "// st.shared.b32 [%rd5], %rd6;\n$L__BB0_1:\n\tst.shared.b64 \t[%rd5], %rd6;\n\tst.global.b8 \t[%rd5], %rs6;\n\
                    \tst.global.b16 \t[%rd5], 0x0000;\n\tst.global.v2.b16 \t[%rd5], {%rs1, %rs2};\n\tld.shared.b32 \t%r1, [%rd6];";
        assert_eq!(cut_before_stores(text), text);
    }
}
