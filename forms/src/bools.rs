// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Large constants of booleans as text: one byte per element, or one bit.
//!
//! MLIR prints the elements of a large constant as the bytes that it holds in memory: `dense<"0x0100...">`. MLIR 22 holds eight booleans
//! in a byte, lowest bit first; MLIR 23, which is in jaxlib 0.10.2, one. Neither reads what the other wrote. So text is changed into
//! MLIR 22's form before it is parsed ([`pack`]) and into jaxlib's after it is printed ([`Unpacker`]). No other element type is affected: both
//! hold an `i2` or an `i4` in a byte of its own. Nor is bytecode, where both write bits.
//!
//! Packing is done in place. Bits take less room than bytes, and blanks between the literal and the `>` after it fill the rest, so that every
//! other token stays at its line and column, and diagnostics and locations are right. It is one pass over the text, which for a literal
//! of a GiB is the speed of the search for its closing quote, and no second copy of it.
//!
//! Which form a literal has follows from its length, but for two to eight elements in one byte: those could be one value for all, as
//! jaxlib understands it and nobody prints it, or bits, as MLIR 22 prints them when told to print small constants so. They are read as bits.

use memchr::memchr2;
use std::io::{self, Write};

/// What a literal in the text is.
struct Literal {
    /// Where its hexadecimal digits begin and end.
    digits: std::ops::Range<usize>,
    /// Number of booleans in its type.
    count: usize,
}

/// Where one quoted piece of the text is: from the opening quote to behind the closing one.
struct Quoted {
    open: usize,
    end: usize,
}

/// The next piece in quotes that begins at or behind `from`, outside of comments; `None` at the end of the text.
fn next_quoted(text: &[u8], mut from: usize) -> Option<Quoted> {
    loop {
        let open = from + memchr2(b'"', b'/', text.get(from..)?)?;
        if text[open] == b'/' {
            from = open + 1;
            if text.get(from) == Some(&b'/') {
                from += memchr::memchr(b'\n', &text[from..])?;
            }
            continue;
        }
        let mut end = open + 1;
        loop {
            // MLIR's strings end on their line; an unfinished one is its parser's to complain about.
            let stop = end + memchr::memchr3(b'"', b'\\', b'\n', text.get(end..)?)?;
            end = stop + 1;
            match text[stop] {
                b'\\' => end += 1,
                _ => break,
            }
        }
        return Some(Quoted { open, end });
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn skip_blanks(text: &[u8], mut at: usize) -> usize {
    while text.get(at).is_some_and(|&byte| is_blank(byte)) {
        at += 1;
    }
    at
}

/// Whether `dense <` comes right before `at`.
fn follows_dense(text: &[u8], at: usize) -> bool {
    let before =
        |end: usize| text[..end].iter().rposition(|&byte| !is_blank(byte)).map_or(0, |last| last + 1);
    let end = before(at);
    let Some(rest) = text[..end].strip_suffix(b"<") else { return false };
    text[..before(rest.len())].ends_with(b"dense")
}

/// The number of elements of a type of booleans with static sizes that the text begins with, after `>` and `:`; `None` if it is another, or
/// the text ends before it does.
fn count_of_booleans(text: &[u8], at: usize) -> Option<usize> {
    let mut at = skip_blanks(text, at);
    for punctuation in [b'>', b':'] {
        if *text.get(at)? != punctuation {
            return None;
        }
        at = skip_blanks(text, at + 1);
    }
    let shaped = [&b"tensor"[..], b"vector"].into_iter().find(|shaped| text[at..].starts_with(shaped))?;
    at = skip_blanks(text, at + shaped.len());
    if *text.get(at)? != b'<' {
        return None;
    }
    at = skip_blanks(text, at + 1);
    let mut count = 1usize;
    loop {
        let digits = text[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 {
            break;
        }
        let size: usize = std::str::from_utf8(&text[at..at + digits]).ok()?.parse().ok()?;
        count = count.checked_mul(size)?;
        at += digits;
        if *text.get(at)? != b'x' {
            return None;
        }
        at = skip_blanks(text, at + 1);
    }
    let rest = text[at..].strip_prefix(b"i1")?;
    let next = skip_blanks(rest, 0);
    matches!(rest.get(next)?, b'>' | b',').then_some(count)
}

/// The digits within a quoted piece, if it is a literal.
fn digits_of(text: &[u8], quoted: &Quoted) -> Option<std::ops::Range<usize>> {
    let inside = text.get(quoted.open + 1..quoted.end.checked_sub(1)?)?;
    let digits = inside.strip_prefix(b"0x").or_else(|| inside.strip_prefix(b"0X"))?;
    Some(quoted.end - 1 - digits.len()..quoted.end - 1)
}

fn literal(text: &[u8], quoted: &Quoted) -> Option<Literal> {
    let digits = digits_of(text, quoted)?;
    if !follows_dense(text, quoted.open) {
        return None;
    }
    let count = count_of_booleans(text, quoted.end)?;
    Some(Literal { digits, count })
}

fn digit(value: u8) -> u8 {
    b"0123456789ABCDEF"[usize::from(value & 15)]
}

fn value(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

fn byte(digits: &[u8]) -> Option<u8> {
    Some(value(digits[0])? << 4 | value(digits[1])?)
}

/// Brings all large constants of booleans into the form of MLIR 22, in place, and says how many had another. What is not a literal in one of
/// the two forms stays as it is, for MLIR to complain about.
pub fn pack(text: &mut [u8]) -> usize {
    let mut changed = 0;
    let mut from = 0;
    while let Some(quoted) = next_quoted(text, from) {
        from = quoted.end;
        if let Some(literal) = literal(text, &quoted) {
            changed += usize::from(pack_literal(text, &literal));
        }
    }
    changed
}

/// See [`pack`].
fn pack_literal(text: &mut [u8], literal: &Literal) -> bool {
    let Literal { digits, count } = literal;
    if digits.len() == 2 && (*count < 2 || *count > 8) {
        // One value for all, true unless it is zero; MLIR 22 knows no others than 00 and FF.
        let Some(value) = byte(&text[digits.clone()]) else { return false };
        if value == 0 || value == 0xff {
            return false;
        }
        text[digits.clone()].fill(b'F');
        return true;
    }
    if *count < 2 || Some(digits.len()) != count.checked_mul(2) {
        return false;
    }
    if !text[digits.clone()].iter().all(u8::is_ascii_hexdigit) {
        return false;
    }
    let mut to = digits.start;
    for first in (0..*count).step_by(8) {
        let last = (*count).min(first + 8);
        let bits = (first..last).fold(0, |bits, element| {
            let at = digits.start + 2 * element;
            let set = text[at] != b'0' || text[at + 1] != b'0';
            bits | u8::from(set) << (element - first)
        });
        text[to] = digit(bits >> 4);
        text[to + 1] = digit(bits);
        to += 2;
    }
    text[to] = b'"';
    text[to + 1..=digits.end].fill(b' ');
    true
}

/// Writes text that MLIR 22 has printed on to where it goes, with large constants of booleans in jaxlib's form. Text
/// may come in pieces of any size; no more of it is kept than its last line, as neither strings nor comments nor what is
/// printed of a constant go beyond one. Of constants that begin as [`OTHERS`] do not even that is kept.
pub struct Unpacker<W: Write> {
    to: W,
    line: Vec<u8>,
    /// How much of a long line was searched for [`OTHERS`].
    searched: usize,
    /// Whether the last of the text is a constant of no booleans, which goes on as it is.
    through: bool,
}

/// How constants of very many elements that are no booleans begin where our dialect prints them: the blank is what tells
/// them apart before their type comes.
const OTHERS: &[u8] = b"dense< \"0x";

/// Lines that are searched for them, and pieces that room is made for twice, so that many of them do not take time.
const LONG: usize = 1 << 20;

impl<W: Write> Unpacker<W> {
    /// One that writes to `to`.
    pub fn new(to: W) -> Self {
        Self { to, line: Vec::new(), searched: 0, through: false }
    }

    /// Takes the next piece.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn push(&mut self, mut piece: &[u8]) -> io::Result<()> {
        if self.through {
            let end = memchr::memchr(b'"', piece).map(|quote| quote + 1);
            self.through = end.is_none();
            let (digits, rest) = piece.split_at(end.unwrap_or(piece.len()));
            self.to.write_all(digits)?;
            piece = rest;
        }
        let lines = memchr::memrchr(b'\n', piece).map_or(0, |last| last + 1);
        if lines > 0 {
            if self.line.is_empty() {
                unpack(&piece[..lines], &mut self.to)?;
            } else {
                self.line.extend_from_slice(&piece[..lines]);
                unpack(&self.line, &mut self.to)?;
                self.line = Vec::new();
            }
            self.searched = 0;
        }
        let rest = &piece[lines..];
        if rest.len() > LONG {
            // Room for twice as much as a large constant would be as much again.
            self.line.reserve_exact(rest.len());
        }
        self.line.extend_from_slice(rest);
        if self.line.len() > LONG { self.others() } else { Ok(()) }
    }

    /// Looks for a constant of no booleans that the line ends in, and lets it go.
    fn others(&mut self) -> io::Result<()> {
        let from = self.searched.saturating_sub(OTHERS.len());
        self.searched = self.line.len();
        let found = memchr::memmem::rfind(&self.line[from..], OTHERS).map(|at| from + at + OTHERS.len());
        let Some(digits) = found.filter(|&digits| !self.line[digits..].contains(&b'"')) else {
            return Ok(());
        };
        unpack(&self.line[..digits - OTHERS.len()], &mut self.to)?;
        self.to.write_all(&self.line[digits - OTHERS.len()..])?;
        (self.line, self.searched, self.through) = (Vec::new(), 0, true);
        Ok(())
    }

    /// Writes what is left, and hands back the writer.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn finish(mut self) -> io::Result<W> {
        unpack(&self.line, &mut self.to)?;
        self.to.flush()?;
        Ok(self.to)
    }
}

/// Writes whole lines.
///
/// # Errors
/// Those of the writer.
pub fn unpack(text: &[u8], to: &mut impl Write) -> io::Result<()> {
    let (mut done, mut from) = (0, 0);
    while let Some(quoted) = next_quoted(text, from) {
        from = quoted.end;
        let Some(Literal { digits, count }) = literal(text, &quoted) else { continue };
        // A single byte that says all may be either form of one boolean, and is how neither prints several.
        if count > 1 && Some(digits.len()) == count.div_ceil(8).checked_mul(2) {
            to.write_all(&text[done..digits.start])?;
            unpack_digits(&text[digits.clone()], count, to)?;
            done = digits.end;
        }
    }
    to.write_all(&text[done..])
}

fn unpack_digits(digits: &[u8], count: usize, to: &mut impl Write) -> io::Result<()> {
    let mut buffer = Vec::with_capacity(16 * 4096);
    for first in (0..count).step_by(8) {
        // Printed digits are digits.
        let bits = byte(&digits[first / 4..first / 4 + 2]).unwrap_or_default();
        for element in 0..(count - first).min(8) {
            buffer.extend_from_slice(if bits >> element & 1 == 1 { b"01" } else { b"00" });
        }
        if buffer.len() + 16 > buffer.capacity() {
            to.write_all(&buffer)?;
            buffer.clear();
        }
    }
    to.write_all(&buffer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(text: &str) -> String {
        let mut bytes = text.as_bytes().to_vec();
        pack(&mut bytes);
        assert_eq!(bytes.len(), text.len(), "every other token stays where it is");
        String::from_utf8(bytes).unwrap()
    }

    fn unpacked(text: &str) -> String {
        let mut bytes = Vec::new();
        unpack(text.as_bytes(), &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn bytes_become_bits() {
        assert_eq!(packed(r#"dense<"0x0100"> : tensor<2xi1>"#), r#"dense<"0x01"  > : tensor<2xi1>"#);
        assert_eq!(
            packed(r#"dense<"0x010001000000000001"> : tensor<3x3xi1>"#),
            r#"dense<"0x0501"              > : tensor<3x3xi1>"#
        );
        assert_eq!(
            packed("dense <\n \"0x0100\" > : \n tensor < 2x i1 , #a>"),
            "dense <\n \"0x01\"   > : \n tensor < 2x i1 , #a>"
        );
    }

    #[test]
    fn other_literals_stay() {
        for text in [
            r#"dense<"0x05"> : tensor<3xi1>"#,
            r#"dense<"0x0100"> : tensor<2xi8>"#,
            r#"dense<"0x0100"> : tensor<2xi16>"#,
            r#"dense<"0x010G"> : tensor<2xi1>"#,
            r#"dense<"0x0100"> : tensor<3xi1>"#,
            r#"dense<"0x0100"> : tensor<?xi1>"#,
            r#"dense<"0x"> : tensor<0xi1>"#,
            r#"dense<"0x00"> : tensor<64xi1>"#,
            r#"// dense<"0x0100"> : tensor<2xi1>"#,
            r#""dense<\"0x0100\"> : tensor<2xi1>""#,
            r#"sparse<"0x0100"> : tensor<2xi1>"#,
            r#"dense<"0x0100""#,
            r#"dense<"0x01"#,
            "/",
            "\"",
        ] {
            assert_eq!(packed(text), text);
        }
    }

    #[test]
    fn one_value_for_all() {
        assert_eq!(packed(r#"dense<"0x01"> : tensor<64xi1>"#), r#"dense<"0xFF"> : tensor<64xi1>"#);
        assert_eq!(packed(r#"dense<"0x02"> : tensor<i1>"#), r#"dense<"0xFF"> : tensor<i1>"#);
    }

    #[test]
    fn a_literal_after_comments_and_strings() {
        let before = "// \"\n#loc = \"a\\\"//\" ";
        let text = format!("{before}{}", r#"dense<"0x0101"> : tensor<2xi1>"#);
        assert_eq!(packed(&text), format!("{before}{}", r#"dense<"0x03"  > : tensor<2xi1>"#));
    }

    #[test]
    fn bits_become_bytes_again() {
        for count in [2, 7, 8, 9, 15, 16, 17, 64, 1000] {
            let digits: String = (0..count).map(|at| if at * at % 3 == 1 { "01" } else { "00" }).collect();
            let text = format!(
                "a = \"x\" dense<\"0x{digits}\"> : tensor<{count}xi1> dense<\"0x0102\"> : tensor<2xi8>\n"
            );
            let bits: String = packed(&text).chars().filter(|&c| c != ' ').collect();
            let plain: String = text.chars().filter(|&c| c != ' ').collect();
            assert_ne!(bits, plain);
            assert_eq!(unpacked(&bits), plain);
        }
    }

    #[test]
    fn constants_of_others_are_let_go() {
        let digits = "0A".repeat(LONG);
        let text = format!(
            "dense<\"0x05\"> : tensor<4xi1>, dense< \"0x{digits}\"> : tensor<{LONG}xi8>, \
             dense<\"0x05\"> : tensor<4xi1>\n"
        );
        for size in [1000, 65536, 3 * LONG] {
            let mut unpacker = Unpacker::new(Vec::new());
            for piece in text.as_bytes().chunks(size) {
                unpacker.push(piece).unwrap();
                assert!(unpacker.line.len() <= LONG + size);
            }
            assert_eq!(String::from_utf8(unpacker.finish().unwrap()).unwrap(), unpacked(&text));
        }
    }

    #[test]
    fn pieces_of_any_size() {
        let text = "a \"0x1\"\ndense<\"0x05\"> : tensor<4xi1>\ndense<\"0x01\"> : tensor<2xi1>";
        for size in 1..=text.len() {
            let mut unpacker = Unpacker::new(Vec::new());
            text.as_bytes().chunks(size).for_each(|piece| unpacker.push(piece).unwrap());
            assert_eq!(String::from_utf8(unpacker.finish().unwrap()).unwrap(), unpacked(text));
        }
    }
}
