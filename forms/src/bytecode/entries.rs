// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The table of attributes and types, and what each is made of.

use super::cursor::{Cursor, within};
use super::schema::{self, Part, builtin};
use super::sections::{File, id};
use super::values::{Shaped, TypeKind};
use super::{Damage, MAX_DEPTH, Result};

/// One attribute or type.
#[derive(Clone, Copy)]
pub struct Entry<'a> {
    /// By its place among those of the file.
    pub dialect: usize,
    /// Whether it is in the encoding of its dialect; else it is text.
    pub encoded: bool,
    /// What it is made of.
    pub inside: Cursor<'a>,
}

/// The table.
pub struct Entries<'a> {
    pub attributes: Vec<Entry<'a>>,
    pub types: Vec<Entry<'a>>,
}

impl<'a> Entries<'a> {
    /// Reads the table, attributes before types, by dialect.
    pub fn read(file: &File<'a>) -> Result<Self> {
        let mut offsets = file.section(id::OFFSETS)?;
        let mut data = file.section(id::ENTRIES)?;
        let [attributes, types] = [offsets.count()?, offsets.count()?];
        let mut read = |count: usize| {
            let mut all = Vec::new();
            while all.len() < count {
                let dialect = offsets.index(file.dialects.len())?;
                for _ in 0..offsets.count()? {
                    let (size, encoded) = offsets.flagged()?;
                    let end = data.at + data.fits(size)?;
                    all.push(Entry { dialect, encoded, inside: Cursor { end, ..data } });
                    data.at = end;
                }
            }
            if all.len() > count {
                return Err(Damage::Broken("there are more attributes and types than it says"));
            }
            Ok(all)
        };
        Ok(Self { attributes: read(attributes)?, types: read(types)? })
    }

    /// How many there are, attributes and types.
    fn count(&self) -> usize {
        self.attributes.len() + self.types.len()
    }
}

/// Checks the table of a file.
pub fn check<'a>(file: &File<'a>) -> Result<Entries<'a>> {
    let entries = Entries::read(file)?;
    let mut checker = Checker {
        kinds: entries.types.iter().map(|ty| placed(kind(file, *ty), ty)).collect::<Result<_>>()?,
        file,
        entries: &entries,
        parts: Vec::with_capacity(entries.count() + 1),
        uses: Vec::new(),
        sparse: Vec::new(),
    };
    for (index, entry) in entries.attributes.iter().chain(&entries.types).enumerate() {
        checker.parts.push(checker.uses.len());
        placed(checker.entry(index, *entry), entry)?;
    }
    checker.parts.push(checker.uses.len());
    checker.nesting()?;
    checker.tensors()?;
    checker.sparse()?;
    Ok(entries)
}

/// What is wrong with an entry is wrong where it is.
fn placed<T>(result: Result<T>, entry: &Entry<'_>) -> Result<T> {
    result.map_err(|damage| damage.at(entry.inside.at))
}

/// What matters of a type to constants of it.
fn kind(file: &File<'_>, entry: Entry<'_>) -> Result<TypeKind> {
    let dialect = file.dialects[entry.dialect];
    let mut at = entry.inside;
    if !entry.encoded {
        return Ok(if dialect == b"builtin" { TypeKind::of_text(at.text()?) } else { TypeKind::Foreign });
    }
    let code = at.number()?;
    Ok(match dialect {
        b"vhlo" => schema::vhlo_width(code).map_or(TypeKind::Foreign, TypeKind::Float),
        b"builtin" => match code {
            builtin::INTEGER => TypeKind::integer(at.number()?)?,
            builtin::INDEX => TypeKind::Index,
            builtin::COMPLEX => TypeKind::Complex(at.index(usize::MAX)?),
            code if builtin::FLOATS.contains(&code) => {
                TypeKind::Float(builtin::WIDTHS[(code - builtin::FLOATS.start) as usize])
            }
            builtin::TENSOR | builtin::ENCODED_TENSOR | builtin::VECTOR | builtin::SCALABLE_VECTOR => {
                match code {
                    builtin::ENCODED_TENSOR => drop(at.number()?),
                    builtin::SCALABLE_VECTOR => {
                        let count = at.count()?;
                        at.take(count)?;
                    }
                    _ => {}
                }
                let shape = (0..at.count()?).map(|_| at.signed()).collect::<Result<Vec<_>>>()?;
                let vector = matches!(code, builtin::VECTOR | builtin::SCALABLE_VECTOR);
                TypeKind::Shaped(Shaped::new(shape, at.index(usize::MAX)?, vector)?)
            }
            builtin::FUNCTION | builtin::NONE | builtin::TUPLE | builtin::UNRANKED_TENSOR => {
                TypeKind::NoElement
            }
            _ => TypeKind::Other,
        },
        _ => TypeKind::Foreign,
    })
}

struct Checker<'f, 'a> {
    file: &'f File<'a>,
    entries: &'f Entries<'a>,
    kinds: Vec<TypeKind>,
    /// Where the uses of each entry begin, attributes before types.
    parts: Vec<usize>,
    /// What entries are made of, types after attributes.
    uses: Vec<usize>,
    /// Sparse constants: their types, and the attributes of places and of values.
    sparse: Vec<[usize; 3]>,
}

/// What has been read of an entry, for the parts that depend on others.
#[derive(Default)]
struct Read {
    ty: Option<usize>,
    number: u64,
    attributes: Vec<usize>,
}

impl Checker<'_, '_> {
    fn entry(&mut self, index: usize, entry: Entry<'_>) -> Result<()> {
        let mut at = entry.inside;
        if !entry.encoded {
            at.text()?;
            return if at.left() == 0 { Ok(()) } else { Err(TRAILING) };
        }
        let dialect = self.file.dialects[entry.dialect];
        let code = at.number()?;
        let is_type = index >= self.entries.attributes.len();
        let Some(layout) = schema::layout(dialect, code, is_type) else {
            // Of these MLIR or we say that they are not known; nothing in them is looked at.
            return Ok(());
        };
        let mut read = Read::default();
        for part in layout {
            self.part(&mut at, part, &mut read)?;
        }
        if at.left() == 0 { Ok(()) } else { Err(TRAILING) }
    }

    fn attribute(&mut self, index: u64, read: &mut Read) -> Result<()> {
        let index = within(index, self.entries.attributes.len())?;
        read.attributes.push(index);
        self.uses.push(index);
        Ok(())
    }

    fn attributes(&mut self, at: &mut Cursor<'_>, each: usize, read: &mut Read) -> Result<()> {
        for _ in 0..at.count()? {
            for _ in 0..each {
                let index = at.number()?;
                self.attribute(index, read)?;
            }
        }
        Ok(())
    }

    fn r#type(&mut self, at: &mut Cursor<'_>, read: &mut Read) -> Result<()> {
        let index = at.index(self.entries.types.len())?;
        read.ty = Some(index);
        self.uses.push(self.entries.attributes.len() + index);
        Ok(())
    }

    /// The width of numbers of the type before; none if it has none, which the reader says.
    fn width(&self, read: &Read) -> Option<u32> {
        self.kinds.get(read.ty?)?.width()
    }

    fn part(&mut self, at: &mut Cursor<'_>, part: Part, read: &mut Read) -> Result<()> {
        match part {
            Part::Number => read.number = at.number()?,
            Part::Signed => drop(at.signed()?),
            Part::Signeds | Part::Shape => skip(at, usize::MAX)?,
            Part::Few(most) => skip(at, most)?,
            Part::Bool => drop(at.byte()?),
            Part::Bools | Part::Blob => {
                let count = at.count()?;
                at.take(count)?;
            }
            Part::Bits(width) => bits(at, width)?,
            Part::BitsOfType => match self.width(read) {
                Some(width) => bits(at, width)?,
                None => return Err(Damage::Broken("a number is of a type that has none")),
            },
            Part::Doubles => {
                for _ in 0..at.count()? {
                    bits(at, 64)?;
                }
            }
            Part::Text => drop(at.index(self.file.strings)?),
            Part::Resource => drop(at.index(self.file.resources)?),
            Part::ElementsOfType => {
                let count = at.count()?;
                let elements = at.take(count)?;
                self.shaped(read)?.check_elements(elements, &self.kinds)?;
            }
            Part::CountedElements => self.counted(at, read)?,
            Part::StringsOfType => self.strings(at, read)?,
            Part::Sparse => {
                let [.., places, values] = read.attributes[..] else { return Err(SPARSE) };
                self.sparse.push([read.ty.ok_or(SPARSE)?, places, values]);
            }
            Part::Attribute => {
                let index = at.number()?;
                self.attribute(index, read)?;
            }
            Part::OptionalAttribute => {
                let (index, there) = at.flagged()?;
                if there {
                    self.attribute(index, read)?;
                }
            }
            Part::FlaggedAttribute | Part::BoolAttribute => {
                let there = if part == Part::BoolAttribute { at.byte()?.into() } else { at.number()? };
                if there != 0 {
                    let index = at.number()?;
                    self.attribute(index, read)?;
                }
            }
            Part::Attributes => self.attributes(at, 1, read)?,
            Part::Pairs => self.attributes(at, 2, read)?,
            Part::OptionalAttributes if at.byte()? != 0 => self.attributes(at, 1, read)?,
            Part::OptionalNumbers if at.byte()? != 0 => skip(at, usize::MAX)?,
            Part::OptionalNumber if at.byte()? != 0 => drop(at.number()?),
            Part::OptionalAttributes | Part::OptionalNumbers | Part::OptionalNumber => {}
            Part::Type => self.r#type(at, read)?,
            Part::Types => {
                for _ in 0..at.count()? {
                    self.r#type(at, read)?;
                }
            }
        }
        Ok(())
    }

    fn shaped(&self, read: &Read) -> Result<&Shaped> {
        match read.ty.and_then(|ty| self.kinds.get(ty)) {
            Some(TypeKind::Shaped(shaped)) => Ok(shaped),
            _ => Err(Damage::Broken("a constant is of no tensor")),
        }
    }

    fn counted(&self, at: &mut Cursor<'_>, read: &Read) -> Result<()> {
        let length = at.count()?;
        at.take(length)?;
        // Booleans are a byte each.
        let width = self.width(read).map(|width| u64::from(width.div_ceil(8)));
        match width.and_then(|width| width.checked_mul(read.number)) {
            Some(bytes) if bytes == length as u64 => Ok(()),
            _ => Err(Damage::Broken("an array has other bytes than its numbers take")),
        }
    }

    fn strings(&self, at: &mut Cursor<'_>, read: &Read) -> Result<()> {
        let splat = at.number()? != 0;
        let count = if splat { 1 } else { self.shaped(read)?.count().ok_or(ELEMENTS)? };
        for _ in 0..at.fits(count)? {
            at.index(self.file.strings)?;
        }
        Ok(())
    }

    /// Where an entry is, attributes before types.
    fn place(&self, index: usize) -> usize {
        let Entries { attributes, types } = self.entries;
        attributes.iter().chain(types).nth(index).map_or(0, |entry| entry.inside.at)
    }

    /// How deeply entries are nested: each comes after all that it is made of, or there is a circle.
    fn nesting(&self) -> Result<()> {
        const NEW: usize = 0;
        const OPEN: usize = usize::MAX;
        let mut depths = vec![NEW; self.entries.count()];
        let mut open: Vec<(usize, usize)> = Vec::new();
        for start in 0..depths.len() {
            if depths[start] == NEW {
                depths[start] = OPEN;
                open.push((start, self.parts[start]));
            }
            while let Some((entry, next)) = open.last_mut() {
                let entry = *entry;
                if *next < self.parts[entry + 1] {
                    let part = self.uses[*next];
                    *next += 1;
                    match depths[part] {
                        NEW => {
                            depths[part] = OPEN;
                            open.push((part, self.parts[part]));
                        }
                        OPEN => {
                            let what = Damage::Broken("an attribute or a type is a part of itself");
                            return Err(what.at(self.place(part)));
                        }
                        _ => {}
                    }
                } else {
                    let parts = &self.uses[self.parts[entry]..self.parts[entry + 1]];
                    depths[entry] = 1 + parts.iter().map(|&part| depths[part]).max().unwrap_or(0);
                    if depths[entry] > MAX_DEPTH {
                        return Err(Damage::Deep { what: "attributes", depth: depths[entry] });
                    }
                    open.pop();
                }
            }
        }
        Ok(())
    }

    /// Tensors and complex numbers are of what MLIR has them of.
    fn tensors(&self) -> Result<()> {
        let fits = |kind: &TypeKind| match kind {
            TypeKind::Complex(element) => self.kinds.get(*element).is_some_and(TypeKind::is_number),
            TypeKind::Shaped(shaped) if shaped.is_vector => {
                self.kinds.get(shaped.element).is_some_and(TypeKind::is_vector_element)
            }
            TypeKind::Shaped(shaped) => {
                self.kinds.get(shaped.element).is_some_and(TypeKind::is_tensor_element)
            }
            _ => true,
        };
        match self.kinds.iter().position(|kind| !fits(kind)) {
            None => Ok(()),
            Some(index) => {
                let what = Damage::Broken("a type is made of one that it cannot be made of");
                Err(what.at(self.entries.types[index].inside.at))
            }
        }
    }

    /// Places are a row of indices for each value.
    fn sparse(&self) -> Result<()> {
        let shape = |ty: usize| match &self.kinds[ty] {
            TypeKind::Shaped(shaped) => Ok(&shaped.shape[..]),
            _ => Err(SPARSE),
        };
        let of = |attribute: usize| {
            let entry = self.entries.attributes[attribute];
            let mut at = entry.inside;
            let dense = entry.encoded
                && self.file.dialects[entry.dialect] == b"builtin"
                && matches!(at.number()?, 18 | 19);
            if dense { at.index(self.kinds.len()) } else { Err(SPARSE) }
        };
        self.sparse.iter().try_for_each(|&[ty, places, values]| {
            let (whole, places, values) = (shape(ty)?, of(places)?, shape(of(values)?)?);
            let integers = match &self.kinds[places] {
                TypeKind::Shaped(shaped) => self.kinds[shaped.element].width() == Some(64),
                _ => false,
            };
            let fits = match (shape(places)?, values) {
                (&[rows, columns], &[count]) => rows == count && columns == whole.len() as i64,
                _ => false,
            };
            if integers && fits { Ok(()) } else { Err(SPARSE) }
        })
    }
}

const TRAILING: Damage = Damage::Broken("an attribute or a type has more bytes than parts");
const ELEMENTS: Damage = Damage::Broken("a constant is of a tensor without a number of elements");
const SPARSE: Damage = Damage::Broken("a sparse constant is not made of places and values");

/// Numbers, at most so many, after how many there are.
fn skip(at: &mut Cursor<'_>, most: usize) -> Result<()> {
    let count = at.count()?;
    if count > most {
        return Err(Damage::Broken("a list is too long"));
    }
    (0..count).try_for_each(|_| at.number().map(drop))
}

/// The bits of a number: a byte, or one number, or as many as it takes.
fn bits(at: &mut Cursor<'_>, width: u32) -> Result<()> {
    match width {
        0..=8 => at.byte().map(drop),
        9..=64 => at.number().map(drop),
        _ => skip(at, width.div_ceil(64) as usize),
    }
}
