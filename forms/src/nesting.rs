// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What of a text would end MLIR's parser, and the process with it. It is recursive, and so ends where its stack ends;
//! and MLIR 22's ends at `array<index: 1>`, since it asks how wide an index is. It also takes pairs,
//! `dense<(1.0, 2.0)>`, for elements that are not complex, and then holds less than the type says.

use crate::source::Fault;
use std::collections::HashMap;

/// How deeply regions may be nested, in any form, and attributes and types in bytecode. MLIR's parser, its reader
/// of bytecode and its verifier take time quadratic in the depth: at this one, seconds. So does what frees a
/// module, unless that is an [`OwnedModule`](crate::OwnedModule).
pub const MAX_DEPTH: usize = 10_000;

/// How deeply brackets may be. A region of generic form is in two, has those of types in it, and is in those
/// of a module and a function.
const MAX_BRACKETS: usize = 2 * MAX_DEPTH + 50;

/// Whether MLIR's parser has stack enough for a text, and knows how wide elements of its arrays are.
///
/// # Errors
/// The depth that it is limited to or the type of elements that has no width, and the place of it.
pub fn check(text: &[u8]) -> Result<(), Fault> {
    let (mut depth, mut at) = (0usize, 0);
    let mut aliases = HashMap::new();
    while let Some(&byte) = text.get(at) {
        at += 1;
        match byte {
            b'"' => at = end_of_string(text, at),
            b'/' if text.get(at) == Some(&b'/') => {
                at = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |length| at + length);
            }
            b'<' => {
                if let Some(ty) = index_elements(text, at - 1, &mut aliases) {
                    let message = format!("elements of array<{ty}: ...> must be integers or floats");
                    return Err(fault(text, at, message));
                }
                if let Some(ty) = pairs_of(text, at - 1) {
                    let message = format!("elements of {ty} are not complex, and so are no pairs");
                    return Err(fault(text, at, message));
                }
                depth += 1;
            }
            b'(' | b'[' | b'{' => depth += 1,
            // No bracket, but an arrow or a comparison.
            b'>' if at > 1 && text[at - 2] == b'-' || text.get(at) == Some(&b'=') => {}
            b')' | b']' | b'}' | b'>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_BRACKETS {
            let message = format!(
                "brackets are nested {depth} deep; at most {MAX_BRACKETS} are read, which are those of \
                 {MAX_DEPTH} regions"
            );
            return Err(fault(text, at, message));
        }
    }
    Ok(())
}

/// The type, as far as it says so, of a constant whose literal opens with the `<` at `at`, has pairs for elements, and
/// is not of complex ones.
fn pairs_of(text: &[u8], at: usize) -> Option<&str> {
    let before = text[..at].trim_ascii_end().strip_suffix(b"dense")?;
    if before.last().is_some_and(|&byte| is_of_word(byte)) {
        return None;
    }
    let first = text[at + 1..].iter().find(|&&byte| byte != b'[' && !byte.is_ascii_whitespace());
    if first != Some(&b'(') {
        return None;
    }
    let rest = &text[at + 1..];
    let rest =
        rest[memchr::memchr(b'>', rest)? + 1..].trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
    let ty = &rest[..memchr::memchr(b'>', rest)?];
    // What an alias is of is for MLIR to say.
    let may_be_complex = ty.contains(&b'!') || memchr::memmem::find(ty, b"complex").is_some();
    (!may_be_complex).then(|| std::str::from_utf8(&rest[..=ty.len()]).ok())?
}

/// What is wrong with the byte before `end`.
fn fault(text: &[u8], end: usize, message: String) -> Fault {
    let line = 1 + memchr::memchr_iter(b'\n', &text[..end]).count();
    let column = end - memchr::memrchr(b'\n', &text[..end - 1]).map_or(0, |before| before + 1);
    Fault { place: Some((line, column)), message }
}

/// `index` or an alias of it, if the `<` at `at` opens an array of such elements. `aliases` says of those that have
/// been met whether they are `index`, so that each is looked up once.
fn index_elements<'t>(text: &'t [u8], at: usize, aliases: &mut HashMap<&'t [u8], bool>) -> Option<&'t str> {
    let before = text[..at].trim_ascii_end().strip_suffix(b"array")?;
    if before.last().is_some_and(|&byte| is_of_word(byte)) {
        return None;
    }
    let ty = word_at(text, at + 1);
    let is_index = match ty.first()? {
        b'!' => *aliases.entry(ty).or_insert_with(|| resolved(&text[..at], ty) == Some(b"index")),
        _ => ty == b"index",
    };
    is_index.then(|| std::str::from_utf8(ty).ok())?
}

/// The type that an alias is of, by the lines before it is used; an alias may be one of an alias.
fn resolved<'t>(text: &'t [u8], alias: &'t [u8]) -> Option<&'t [u8]> {
    let mut named = alias;
    for _ in 0..MAX_ALIASES {
        if !named.starts_with(b"!") {
            return Some(named);
        }
        named = memchr::memmem::find_iter(text, named)
            .map(|place| (place, text[place + named.len()..].trim_ascii_start()))
            .find(|(place, rest)| starts_line(text, *place) && rest.starts_with(b"="))
            .map(|(_, rest)| word_at(rest, 1))?;
    }
    None
}

/// How many aliases of each other are looked through.
const MAX_ALIASES: usize = 8;

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.' | b'!' | b'#' | b'%' | b'@')
}

/// The word that begins behind blanks; it may be empty.
fn word_at(text: &[u8], from: usize) -> &[u8] {
    let text = text[from..].trim_ascii_start();
    &text[..text.iter().take_while(|&&byte| is_of_word(byte)).count()]
}

fn starts_line(text: &[u8], at: usize) -> bool {
    text[..at].iter().rev().take_while(|&&byte| byte != b'\n').all(|byte| byte.is_ascii_whitespace())
}

/// Where a string ends that began before `from`.
fn end_of_string(text: &[u8], mut from: usize) -> usize {
    while let Some(stop) = memchr::memchr3(b'"', b'\\', b'\n', &text[from.min(text.len())..]) {
        from += stop + 1;
        match text[from - 1] {
            b'\\' => from += 1,
            _ => return from,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The place of what is wrong, and what that is; nothing if nothing is.
    fn said(text: &str) -> String {
        check(text.as_bytes()).err().map_or_else(String::new, |fault| {
            let (line, column) = fault.place.expect("text has places");
            format!("{line}:{column}: {fault}")
        })
    }

    #[test]
    fn brackets_are_counted_outside_of_strings_and_comments() {
        let deep = |open: &str, close: &str, count: usize| {
            check(format!("\n{}{}", open.repeat(count), close.repeat(count)).as_bytes())
        };
        let fault = deep("({", "})", MAX_DEPTH + 26).unwrap_err();
        assert_eq!(fault.place, Some((2, MAX_BRACKETS + 1)));
        assert!(fault.message.starts_with("brackets are nested 20051 deep"));
        assert_eq!(deep("({", "})", MAX_DEPTH), Ok(()));
        assert_eq!(deep("\"(\" //[\n", "", MAX_BRACKETS + 1), Ok(()));
        assert_eq!(deep("tensor<i1> -> ", "", MAX_BRACKETS + 1), Ok(()));
        assert!(deep("tuple<", ">", MAX_BRACKETS + 1).is_err());
    }

    #[test]
    fn pairs_are_for_complex_elements() {
        let wrong = "elements of tensor<4xf32> are not complex, and so are no pairs";
        assert_eq!(said("\ndense<(1.0, 2.0)> : tensor<4xf32>"), format!("2:6: {wrong}"));
        assert_eq!(said("\ndense < [ (1.0, 2.0)] >: tensor<4xf32>"), format!("2:7: {wrong}"));
        for fine in [
            "dense<(1, 2)> : tensor<4xcomplex<f32>>",
            "dense<[(1, 2)]> : tensor<1x!c>",
            "dense<1> : tensor<4xf32>",
            "dense<(",
        ] {
            assert_eq!(said(fine), "");
        }
    }

    #[test]
    fn arrays_of_indices_are_told_from_others() {
        assert_eq!(
            said("\na = array<index: 1>"),
            "2:10: elements of array<index: ...> must be integers or floats"
        );
        assert_eq!(
            said("!i = index\n!j = !i\na = array < !j: 1>"),
            "3:11: elements of array<!j: ...> must be integers or floats"
        );
        for fine in
            ["array<i64: 1>", "!index = i64\narray<!index: 1>", "my.array<index>", "array<!k: 1>", "array<"]
        {
            assert_eq!(said(fine), "");
        }
    }
}
