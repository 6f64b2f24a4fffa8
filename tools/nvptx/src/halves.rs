// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Sums of 16-bit floats in memory.
//!
//! PTX has them from sm_70 (f16) and sm_90 (bf16) on, and LLVM says
//!
//! ```ptx
//! atom.global.add.noftz.bf16  %rs2, [%rd1], %rs1;
//! ```
//!
//! But no chip has an instruction for that: ptxas (12.9) makes it a loop that reads the word, adds, and swaps the word
//! until nobody was faster (`ATOMG.E.CAS`), and what waits for memory once becomes what waits twice and more. What there
//! is an instruction for is the sum of both halves of a word (`REDG.E.ADD.BF16x2`). The other half gets -0 added, which
//! leaves every number, zeros of both signs among them (a NaN may become another one):
//!
//! ```ptx
//! {
//! .reg .pred  %second;
//! .reg .b16   %none, %low, %high;
//! .reg .b32   %pair;
//! .reg .b64   %word, %half;
//! mov.b16     %none, 0x8000;
//! and.b64     %half, %rd1, 2;
//! and.b64     %word, %rd1, -4;
//! setp.ne.s64 %second, %half, 0;
//! selp.b16    %low, %none, %rs1, %second;
//! selp.b16    %high, %rs1, %none, %second;
//! mov.b32     %pair, {%low, %high};
//! red.global.add.noftz.bf16x2  [%word], %pair;
//! }
//! ```
//!
//! The word is the one that the loop swaps, so no more memory is touched. What was there before is lost: kernels do not
//! ask for it, and where one does, its instruction stays.

use std::borrow::Cow;

/// What is added to the other half: -0 in both types.
const NONE: &str = "0x8000";

/// Of a text in PTX by LLVM, with one instruction to a line: the same with sums of whole words in place of those of
/// halves.
pub fn add_words(ptx: &str) -> Cow<'_, str> {
    if !ptx.contains("atom.global.add.noftz.") {
        return Cow::Borrowed(ptx);
    }
    let lines: Vec<&str> = ptx.split_inclusive('\n').collect();
    let mut made = String::with_capacity(ptx.len());
    // A function's body is between lines that are a brace and nothing else.
    for body in lines.split_inclusive(|line| line.trim_end() == "}") {
        for line in body {
            match Sum::of(line).filter(|sum| !sum.is_read(body)) {
                Some(sum) => made.push_str(&sum.of_words()),
                None => made.push_str(line),
            }
        }
    }
    Cow::Owned(made)
}

/// A sum of a half in memory.
struct Sum<'t> {
    /// `@%p1 `, or nothing.
    guard: &'t str,
    /// `f16` or `bf16`.
    element: &'t str,
    /// Where what was there before goes.
    old: &'t str,
    address: &'t str,
    /// `0` where none is said.
    offset: &'t str,
    value: &'t str,
}

impl<'t> Sum<'t> {
    fn of(line: &'t str) -> Option<Self> {
        let instruction = line.trim().strip_suffix(';')?;
        let at = instruction.find("atom.global.add.noftz.")?;
        let (guard, sum) = instruction.split_at(at);
        let (name, operands) = sum.split_once(char::is_whitespace)?;
        let element =
            name.strip_prefix("atom.global.add.noftz.").filter(|each| matches!(*each, "f16" | "bf16"))?;
        let mut operands = operands.split(',').map(str::trim);
        let (old, memory, value) = (operands.next()?, operands.next()?, operands.next()?);
        let memory = memory.strip_prefix('[')?.strip_suffix(']')?;
        let (address, offset) = memory.split_once('+').unwrap_or((memory, "0"));
        let is_register = address.starts_with("%rd") && value.starts_with("%rs") && operands.next().is_none();
        is_register.then_some(Self { guard, element, old, address, offset, value })
    }

    /// Whether anything in the function has what was there before.
    fn is_read(&self, body: &[&str]) -> bool {
        let is_name = |character: char| character.is_ascii_alphanumeric() || "%_$".contains(character);
        let named = body.iter().flat_map(|line| line.split(|character| !is_name(character)));
        named.filter(|name| *name == self.old).count() > 1
    }

    fn of_words(&self) -> String {
        let Self { guard, element, address, offset, value, .. } = self;
        format!(
            "\t{{\n\t.reg .pred \t%second;\n\t.reg .b16 \t%none, %low, %high;\n\t.reg .b32 \t%pair;\n\
             \t.reg .b64 \t%place, %half, %word;\n\tadd.s64 \t%place, {address}, {offset};\n\
             \tand.b64 \t%half, %place, 2;\n\tand.b64 \t%word, %place, -4;\n\tsetp.ne.s64 \t%second, %half, 0;\n\
             \tmov.b16 \t%none, {NONE};\n\tselp.b16 \t%low, %none, {value}, %second;\n\
             \tselp.b16 \t%high, {value}, %none, %second;\n\tmov.b32 \t%pair, {{%low, %high}};\n\
             \t{guard}red.global.add.noftz.{element}x2 \t[%word], %pair;\n\t}}\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(body: &str) -> String {
        format!(".visible .entry k()\n{{\n\t.reg .b16 \t%rs<6>;\n{body}\tret;\n}}\n")
    }

    #[test]
    fn a_half_is_added_with_its_word() {
        let text = function("\tatom.global.add.noftz.bf16 \t%rs5, [%rd2+6], %rs4;\n");
        let made = add_words(&text);
        assert!(!made.contains("atom."), "{made}");
        assert!(made.contains("add.s64 \t%place, %rd2, 6;"));
        assert!(made.contains("selp.b16 \t%low, %none, %rs4, %second;"));
        assert!(made.contains("\tred.global.add.noftz.bf16x2 \t[%word], %pair;\n\t}\n\tret;\n}\n"));
    }

    #[test]
    fn a_guard_stays_with_its_sum() {
        let text = function("\t@%p1 atom.global.add.noftz.f16 \t%rs5, [%rd2], %rs4;\n");
        assert!(add_words(&text).contains("\t@%p1 red.global.add.noftz.f16x2 \t[%word], %pair;"));
    }

    #[test]
    fn what_is_read_stays() {
        let text =
            function("\tatom.global.add.noftz.f16 \t%rs5, [%rd2], %rs4;\n\tst.global.b16 \t[%rd1], %rs5;\n");
        assert_eq!(add_words(&text), text);
        // Another function's register of the same name is another one.
        let both = format!("{}{}", function("\tatom.global.add.noftz.f16 \t%rs5, [%rd2], %rs4;\n"), {
            function("\tst.global.b16 \t[%rd1], %rs5;\n")
        });
        assert!(add_words(&both).contains("red."));
    }

    #[test]
    fn all_else_stays() {
        let text = function(
            "\tatom.global.add.f32 \t%r5, [%rd2], %r4;\n\tatom.shared.add.noftz.f16 \t%rs1, [%rd2], %rs4;\n\
             \tatom.global.add.noftz.f16x2 \t%r1, [%rd2], %r4;\n\tatom.global.add.noftz.f16 \t%rs1, [%rd2], 0x3C00;\n",
        );
        assert_eq!(add_words(&text), text);
    }
}
