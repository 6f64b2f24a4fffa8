// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! NumPy's file format, version 1 to 3.
//!
//! There are crates for it; they refuse `'<f1'`, which is what NumPy writes for some of ml_dtypes' eight-bit floats (and what it
//! does not read itself), or count elements without an eye on overflow. All that is needed is little: the header of one array.
//!
//! Types that NumPy lacks (`bf16`, the eight-bit and shorter floats, integers of fewer than eight bits) are written as void types
//! of their size, `'|V2'` and `'|V1'`, as NumPy itself writes them; `array.view(ml_dtypes.bfloat16)` gives them their meaning back.

use std::fmt;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use slimhlo_output::Target;
use slimhlo_package::{ElementType, Tensor};

const MAGIC: &[u8] = b"\x93NUMPY";
/// No header that NumPy writes is near this long.
const MAX_HEADER: u32 = 1 << 20;

/// What a file says about itself.
#[derive(Debug, PartialEq, Eq)]
struct Header {
    kind: Kind,
    fortran: bool,
    shape: Vec<u64>,
}

/// NumPy's name of an element type, such as `<f4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kind {
    big_endian: bool,
    letter: char,
    bytes: u64,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = match (self.bytes, self.big_endian) {
            (1, _) => '|',
            _ if self.letter == 'V' => '|',
            (_, true) => '>',
            (_, false) => '<',
        };
        write!(f, "{order}{}{}", self.letter, self.bytes)
    }
}

/// The letters that files with values of this type may have; the first is the one written.
fn letters(element: ElementType) -> &'static [char] {
    use ElementType as E;
    match element {
        E::I1 => &['b'],
        E::I8 | E::I16 | E::I32 | E::I64 => &['i'],
        E::Ui8 | E::Ui16 | E::Ui32 | E::Ui64 => &['u'],
        E::F16 | E::F32 | E::F64 => &['f'],
        E::Complex64 | E::Complex128 => &['c'],
        E::I2 | E::I4 => &['V', 'i'],
        E::Ui2 | E::Ui4 => &['V', 'u'],
        _ => &['V', 'f'],
    }
}

fn describe(shape: &[u64], what: impl fmt::Display) -> String {
    let extents: String = shape.iter().map(|extent| format!("{extent}x")).collect();
    format!("{extents}{what}")
}

/// Reads an array of this type and shape from a file: its bytes in row-major order, little-endian.
///
/// # Errors
/// If the file cannot be read, is no array, or one of another type, shape or length; the message names the file, and what was
/// expected and found.
pub fn read(path: &Path, tensor: &Tensor) -> Result<Vec<u8>> {
    let name = path.display();
    let file = File::open(path).with_context(|| name.to_string())?;
    let mut reader = BufReader::new(file);
    let header = read_header(&mut reader).with_context(|| name.to_string())?;
    let Header { kind, ref shape, fortran } = header;
    let found = describe(shape, kind);
    let expected = || {
        let kinds = letters(tensor.element)
            .iter()
            .map(|&letter| Kind { big_endian: false, letter, bytes: tensor.element.bytes() }.to_string());
        format!("{tensor} (in NumPy {})", kinds.collect::<Vec<_>>().join(" or "))
    };
    ensure!(
        letters(tensor.element).contains(&kind.letter) && kind.bytes == tensor.element.bytes(),
        "{name}: expected {}, found {found}: another element type",
        expected()
    );
    ensure!(*shape == tensor.shape, "{name}: expected {}, found {found}: another shape", expected());
    let length = tensor.bytes().and_then(|bytes| usize::try_from(bytes).ok()).context("too many bytes")?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length).with_context(|| format!("{name}: no memory for {found}"))?;
    // Not beyond what is there: a short file with a long shape is not to cost memory.
    reader.by_ref().take(length as u64).read_to_end(&mut bytes).with_context(|| name.to_string())?;
    ensure!(
        bytes.len() == length,
        "{name}: {found} has {length} bytes, but the file ends after {}",
        bytes.len()
    );
    ensure!(reader.read(&mut [0])? == 0, "{name}: there is more in the file than {found}");
    if kind.big_endian {
        let complex = matches!(tensor.element, ElementType::Complex64 | ElementType::Complex128);
        let part = kind.bytes as usize / if complex { 2 } else { 1 };
        bytes.chunks_exact_mut(part).for_each(<[u8]>::reverse);
    }
    // Of no elements there is no order, and products of the other extents may be beyond 64 bits.
    if fortran && shape.len() > 1 && !bytes.is_empty() {
        bytes = row_major(&bytes, shape, kind.bytes as usize);
    }
    if tensor.element == ElementType::I1 {
        bytes.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
    }
    Ok(bytes)
}

/// Brings elements stored with the first index running fastest into the order with the last running fastest.
fn row_major(bytes: &[u8], shape: &[u64], size: usize) -> Vec<u8> {
    let mut result = Vec::with_capacity(bytes.len());
    let strides: Vec<u64> =
        shape.iter().scan(1, |stride, &extent| Some(std::mem::replace(stride, *stride * extent))).collect();
    let mut index = vec![0_u64; shape.len()];
    for _ in 0..bytes.len() / size {
        let place: u64 = index.iter().zip(&strides).map(|(index, stride)| index * stride).sum();
        let place = place as usize * size;
        result.extend_from_slice(&bytes[place..place + size]);
        for (index, &extent) in index.iter_mut().zip(shape).rev() {
            *index += 1;
            if *index < extent {
                break;
            }
            *index = 0;
        }
    }
    result
}

/// Writes an array of this type and shape; whole or not at all.
///
/// # Errors
/// If the file cannot be written.
pub fn write(path: &Path, tensor: &Tensor, bytes: &[u8]) -> Result<()> {
    let kind = Kind { big_endian: false, letter: letters(tensor.element)[0], bytes: tensor.element.bytes() };
    // A tuple of one needs its comma.
    let shape: String = tensor.shape.iter().map(|extent| format!("{extent}, ")).collect();
    let mut text =
        format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({}), }}", shape.trim_end());
    // The data starts at a multiple of 64 bytes, after a line feed; version 1 has 10 bytes before the text.
    let padding =
        (MAGIC.len() + 4 + text.len() + 1).next_multiple_of(64) - (MAGIC.len() + 4 + text.len() + 1);
    text.push_str(&" ".repeat(padding));
    text.push('\n');
    let length = u16::try_from(text.len()).context("too many dimensions for a .npy file")?;
    let write = || -> std::io::Result<()> {
        let mut output = Target::File(path.to_owned()).open()?;
        let mut file = BufWriter::new(output.file());
        file.write_all(MAGIC)?;
        file.write_all(&[1, 0])?;
        file.write_all(&length.to_le_bytes())?;
        file.write_all(text.as_bytes())?;
        file.write_all(bytes)?;
        file.flush()?;
        drop(file);
        output.commit()
    };
    write().with_context(|| path.display().to_string())
}

fn read_header(reader: &mut impl Read) -> Result<Header> {
    let mut start = [0; 8];
    reader.read_exact(&mut start).context("not a .npy file: it is too short")?;
    ensure!(start.starts_with(MAGIC), "not a .npy file");
    let length = match start[6] {
        1 => {
            let mut bytes = [0; 2];
            reader.read_exact(&mut bytes)?;
            u32::from(u16::from_le_bytes(bytes))
        }
        2 | 3 => {
            let mut bytes = [0; 4];
            reader.read_exact(&mut bytes)?;
            u32::from_le_bytes(bytes)
        }
        version => bail!("a .npy file of version {version}, which is unknown"),
    };
    ensure!(length <= MAX_HEADER, "the header has {length} bytes");
    let mut text = String::new();
    reader.take(length.into()).read_to_string(&mut text).context("reading the header")?;
    ensure!(text.len() == length as usize, "the file ends in its header");
    parse(&text).with_context(|| format!("the header `{}` is not understood", text.trim().escape_debug()))
}

/// Parses the header: a Python dictionary with three known keys.
fn parse(text: &str) -> Result<Header> {
    let mut text = Scanner(text);
    let (mut kind, mut fortran, mut shape) = (None, None, None);
    text.expect('{')?;
    while !text.skip('}') {
        let key = text.string()?;
        text.expect(':')?;
        match key {
            "descr" => kind = Some(text.kind()?),
            "fortran_order" => fortran = Some(text.boolean()?),
            "shape" => shape = Some(text.tuple()?),
            _ => bail!("unknown key `{key}`"),
        }
        if !text.skip(',') {
            text.expect('}')?;
            break;
        }
    }
    ensure!(text.0.trim().is_empty(), "there is more after the dictionary");
    Ok(Header {
        kind: kind.context("there is no `descr`")?,
        fortran: fortran.context("there is no `fortran_order`")?,
        shape: shape.context("there is no `shape`")?,
    })
}

/// What is left to read.
struct Scanner<'t>(&'t str);

impl<'t> Scanner<'t> {
    /// Takes a character if it comes next, after blanks.
    fn skip(&mut self, expected: char) -> bool {
        match self.0.trim_start().strip_prefix(expected) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, expected: char) -> Result<()> {
        ensure!(self.skip(expected), "expected `{expected}`");
        Ok(())
    }

    fn string(&mut self) -> Result<&'t str> {
        let quote = if self.skip('\'') {
            '\''
        } else {
            self.expect('"')?;
            '"'
        };
        let (string, rest) = self.0.split_once(quote).context("a string without an end")?;
        self.0 = rest;
        Ok(string)
    }

    fn boolean(&mut self) -> Result<bool> {
        let text = self.0.trim_start();
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = text.strip_prefix(word) {
                self.0 = rest;
                return Ok(value);
            }
        }
        bail!("expected True or False")
    }

    fn kind(&mut self) -> Result<Kind> {
        ensure!(!self.0.trim_start().starts_with('['), "arrays of records are not supported");
        let text = self.string()?;
        let unknown = || format!("element type `{text}`");
        let mut rest = text.chars();
        let order = rest.next().with_context(unknown)?;
        ensure!(matches!(order, '<' | '>' | '|' | '='), "{}", unknown());
        let letter = rest.next().with_context(unknown)?;
        ensure!("biufcV".contains(letter), "{} is not supported", unknown());
        let digits = rest.as_str();
        ensure!(digits.bytes().all(|byte| byte.is_ascii_digit()), "{}", unknown());
        Ok(Kind { big_endian: order == '>', letter, bytes: digits.parse().with_context(unknown)? })
    }

    fn tuple(&mut self) -> Result<Vec<u64>> {
        self.expect('(')?;
        let mut numbers = Vec::new();
        while !self.skip(')') {
            let text = self.0.trim_start();
            let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
            numbers.push(text[..end].parse().context("expected a number")?);
            // Python 2 wrote long integers with this letter.
            self.0 = text[end..].strip_prefix('L').unwrap_or(&text[end..]);
            if !self.skip(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(element: ElementType, shape: &[u64]) -> Tensor {
        Tensor { element, shape: shape.to_vec() }
    }

    /// A file of version 1 with this header and these bytes.
    fn file(header: &str, bytes: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"\x93NUMPY\x01\x00").unwrap();
        file.write_all(&(header.len() as u16).to_le_bytes()).unwrap();
        file.write_all(header.as_bytes()).unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    fn text(kind: &str, fortran: &str, shape: &str) -> String {
        format!("{{'descr': '{kind}', 'fortran_order': {fortran}, 'shape': {shape}, }}   \n")
    }

    #[test]
    fn arrays_without_elements_may_be_as_long_as_they_like() {
        let shape = format!("({0}, {0}, 0)", u64::MAX);
        let file = file(&text("<f4", "True", &shape), &[]);
        let tensor = Tensor { element: ElementType::F32, shape: vec![u64::MAX, u64::MAX, 0] };
        assert!(read(file.path(), &tensor).unwrap().is_empty());
    }

    #[test]
    fn every_type_is_read_as_it_is_written() {
        for &element in ElementType::ALL {
            for shape in [&[][..], &[3], &[0, 4], &[2, 1, 3]] {
                let tensor = tensor(element, shape);
                let length = tensor.bytes().unwrap() as usize;
                let bytes: Vec<u8> = (0..length)
                    .map(|i| if element == ElementType::I1 { i as u8 % 2 } else { i as u8 })
                    .collect();
                let file = tempfile::NamedTempFile::new().unwrap();
                write(file.path(), &tensor, &bytes).unwrap();
                assert_eq!(read(file.path(), &tensor).unwrap(), bytes, "{tensor}");
                let written = std::fs::read(file.path()).unwrap();
                assert_eq!((written.len() - length) % 64, 0, "{tensor}");
            }
        }
    }

    #[test]
    fn other_orders_are_brought_into_ours() {
        let bytes = [0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6];
        let big = file(&text(">i2", "True", "(2, 3)"), &bytes);
        let read = read(big.path(), &tensor(ElementType::I16, &[2, 3])).unwrap();
        assert_eq!(read, [1, 0, 3, 0, 5, 0, 2, 0, 4, 0, 6, 0]);
        let bytes: Vec<u8> = (0..8).collect();
        let complex = file(&text(">c8", "False", "()"), &bytes);
        let read = super::read(complex.path(), &tensor(ElementType::Complex64, &[])).unwrap();
        assert_eq!(read, [3, 2, 1, 0, 7, 6, 5, 4]);
    }

    #[test]
    fn types_of_ml_dtypes_are_read() {
        for (kind, element) in [
            ("<V2", ElementType::Bf16),
            ("<f1", ElementType::F8E5M2),
            ("|V1", ElementType::F8E4M3FN),
            ("<V1", ElementType::I4),
            ("|i1", ElementType::I4),
        ] {
            let bytes = vec![5; 2 * element.bytes() as usize];
            assert_eq!(
                read(file(&text(kind, "False", "(2,)"), &bytes).path(), &tensor(element, &[2])).unwrap(),
                bytes
            );
        }
    }

    #[test]
    fn booleans_are_zero_or_one() {
        let odd = file(&text("|b1", "False", "(3,)"), &[0, 1, 7]);
        assert_eq!(read(odd.path(), &tensor(ElementType::I1, &[3])).unwrap(), [0, 1, 1]);
    }

    #[track_caller]
    fn refused(header: &str, bytes: &[u8], words: &[&str]) {
        let file = file(header, bytes);
        let message = format!("{:#}", read(file.path(), &tensor(ElementType::F32, &[2])).unwrap_err());
        assert!(message.contains(&*file.path().to_string_lossy()), "{message}");
        for word in words {
            assert!(message.contains(word), "`{word}` is not in: {message}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        refused(&text("<f4", "False", "(3,)"), &[0; 12], &["expected 2xf32", "found 3x<f4", "another shape"]);
        refused(&text("<f4", "False", "()"), &[0; 4], &["found <f4", "another shape"]);
        refused(
            &text("<f8", "False", "(2,)"),
            &[0; 16],
            &["in NumPy <f4", "found 2x<f8", "another element type"],
        );
        refused(&text("<i4", "False", "(2,)"), &[0; 8], &["another element type"]);
        refused(&text("<f4", "False", "(2,)"), &[0; 7], &["8 bytes", "ends after 7"]);
        refused(&text("<f4", "False", "(2,)"), &[0; 9], &["more in the file"]);
    }

    #[test]
    fn what_is_no_array_is_refused() {
        refused("", &[], &["not understood"]);
        refused("{'descr': '<f4'}", &[], &["no `fortran_order`"]);
        refused(&text("<U4", "False", "(2,)"), &[], &["`<U4` is not supported"]);
        refused(&text("|O", "False", "(2,)"), &[], &["not supported"]);
        refused(&text("<f99999999999999999999", "False", "(2,)"), &[], &["element type"]);
        refused("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", &[], &["records"]);
        refused(&text("<f4", "False", "(-2,)"), &[], &["expected a number"]);
        refused(&text("<f4", "False", "(2,")[..50], &[], &["not understood"]);
        refused(&text("<f4", "Maybe", "(2,)"), &[], &["True or False"]);
        let message = |bytes: &[u8]| {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), bytes).unwrap();
            format!("{:#}", read(file.path(), &tensor(ElementType::F32, &[2])).unwrap_err())
        };
        assert!(message(b"").contains("too short"));
        assert!(message(b"PK\x03\x04 not this").contains("not a .npy file"));
        assert!(message(b"\x93NUMPY\x09\x00    ").contains("version 9"));
        assert!(message(b"\x93NUMPY\x02\x00\xff\xff\xff\xff").contains("header"));
        assert!(message(b"\x93NUMPY\x01\x00\xff\x00{").contains("ends in its header"));
    }
}
