// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! How deeply text is nested. MLIR's parser is recursive, and ends the process where its stack ends.

/// How deeply regions may be nested, in any form, and attributes and types in bytecode. MLIR's parser, its reader
/// of bytecode and its verifier take time quadratic in the depth: at this one, seconds. So does what frees a
/// module, unless that is an [`OwnedModule`](crate::OwnedModule).
pub const MAX_DEPTH: usize = 10_000;

/// How deeply brackets may be. A region of generic form is in two, has those of types in it, and is in those
/// of a module and a function.
const MAX_BRACKETS: usize = 2 * MAX_DEPTH + 50;

/// Whether MLIR's parser has stack enough for a text.
///
/// # Errors
/// The depth that it is limited to, and the line where it gets deeper.
pub fn check(text: &[u8]) -> Result<(), String> {
    let (mut depth, mut at) = (0usize, 0);
    while let Some(&byte) = text.get(at) {
        at += 1;
        match byte {
            b'"' => at = end_of_string(text, at),
            b'/' if text.get(at) == Some(&b'/') => {
                at = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |length| at + length);
            }
            b'(' | b'[' | b'{' | b'<' => depth += 1,
            // No bracket, but an arrow or a comparison.
            b'>' if at > 1 && text[at - 2] == b'-' || text.get(at) == Some(&b'=') => {}
            b')' | b']' | b'}' | b'>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_BRACKETS {
            let line = 1 + memchr::memchr_iter(b'\n', &text[..at]).count();
            return Err(format!(
                "line {line}: brackets are nested {depth} deep; at most {MAX_BRACKETS} are read, \
                 which are those of {MAX_DEPTH} regions"
            ));
        }
    }
    Ok(())
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

    #[test]
    fn brackets_are_counted_outside_of_strings_and_comments() {
        let deep = |open: &str, close: &str, count: usize| {
            check(format!("\n{}{}", open.repeat(count), close.repeat(count)).as_bytes())
        };
        assert_eq!(deep("({", "})", MAX_DEPTH), Ok(()));
        assert!(
            deep("({", "})", MAX_DEPTH + 26)
                .unwrap_err()
                .starts_with("line 2: brackets are nested 20051 deep")
        );
        assert_eq!(deep("\"(\" //[\n", "", MAX_BRACKETS + 1), Ok(()));
        assert_eq!(deep("tensor<i1> -> ", "", MAX_BRACKETS + 1), Ok(()));
        assert!(deep("tuple<", ">", MAX_BRACKETS + 1).is_err());
    }
}
