// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Attributes and types of VHLO in bytecode: field after field, as the table of kinds says.

use super::kinds::{self, Field, Kind};
use super::types;
use crate::wire::{Parts, Reader, Writer, dense_bytes, dense_from_bytes};
use melior::ContextRef;
use melior::ir::{Attribute, Type};
use slimhlo_dialect::types::Tensor;
use std::borrow::Cow;

/// Reads an attribute.
pub fn read_attribute<'c>(context: ContextRef<'c>, reader: &Reader<'c>) -> Option<Attribute<'c>> {
    Some(read(context, reader, kinds::ATTRIBUTES, "attribute")?.attribute(context))
}

/// Reads a type.
pub fn read_type<'c>(context: ContextRef<'c>, reader: &Reader<'c>) -> Option<Type<'c>> {
    Some(read(context, reader, kinds::TYPES, "type")?.r#type(context))
}

/// Writes an attribute; false if it is of another dialect.
pub fn write_attribute(attribute: Attribute<'_>, writer: &Writer) -> bool {
    Parts::of_attribute(attribute).is_some_and(|parts| write(&parts, kinds::ATTRIBUTES, writer).is_some())
}

/// Writes a type; false if it is of another dialect.
pub fn write_type(ty: Type<'_>, writer: &Writer) -> bool {
    Parts::of_type(ty).is_some_and(|parts| write(&parts, kinds::TYPES, writer).is_some())
}

fn read<'c>(context: ContextRef<'c>, reader: &Reader<'c>, table: &[Kind], what: &str) -> Option<Parts<'c>> {
    let code = reader.unsigned()?;
    let Some(index) = table.iter().position(|kind| kind.code == code) else {
        reader.error(&format!("unknown vhlo {what} code {code}"));
        return None;
    };
    let mut parts = Parts { kind: index, ..Parts::default() };
    for field in table[index].fields {
        if read_field(context, reader, *field, &mut parts).is_none() {
            reader.error(&format!("invalid vhlo {what} '{}'", table[index].name));
            return None;
        }
    }
    Some(parts)
}

fn read_field<'c>(
    context: ContextRef<'c>,
    reader: &Reader<'c>,
    field: Field,
    parts: &mut Parts<'c>,
) -> Option<()> {
    let numbers = &mut parts.numbers;
    match field {
        Field::Enum(cases) => {
            let case = reader.unsigned()?;
            cases.get(usize::try_from(case).ok()?).filter(|name| !name.is_empty())?;
            numbers.push(case as i64);
        }
        Field::Bool => numbers.push(reader.unsigned().filter(|&value| value <= 1)? as i64),
        Field::Signed => numbers.push(reader.signed()?),
        Field::Unsigned => numbers.push(i64::try_from(reader.unsigned()?).ok()?),
        Field::List => push_list(numbers, reader.numbers()?),
        Field::Float => numbers.push(reader.bits(64)? as i64),
        Field::Floats => push_list(numbers, reader.list(|reader| Some(reader.bits(64)? as i64))?),
        Field::Text => parts.text = types::unique(context, reader.text()?),
        Field::Attribute => parts.attributes.push(reader.attribute()?),
        Field::Flagged => {
            let flag = reader.unsigned().filter(|&flag| flag <= 1)?;
            numbers.push(flag as i64);
            if flag == 1 {
                parts.attributes.push(reader.attribute()?);
            }
        }
        Field::Optional => {
            let attribute = reader.optional_attribute()?;
            numbers.push(i64::from(attribute.is_some()));
            parts.attributes.extend(attribute);
        }
        Field::Attributes => {
            let attributes = reader.list(Reader::attribute)?;
            numbers.push(attributes.len() as i64);
            parts.attributes.extend(attributes);
        }
        Field::Pairs => {
            let pairs = reader.list(|reader| Some([reader.attribute()?, reader.attribute()?]))?;
            numbers.push(pairs.len() as i64);
            parts.attributes.extend(pairs.into_iter().flatten());
        }
        Field::Type => parts.types.push(reader.r#type()?),
        Field::Types => {
            let types = reader.list(Reader::r#type)?;
            numbers.push(types.len() as i64);
            parts.types.extend(types);
        }
        Field::FloatOfType | Field::IntegerOfType => {
            let width = types::width(*parts.types.last()?)?;
            numbers.push(sign_extend(reader.bits(width)?, width));
        }
        Field::DenseOfType => {
            let ty = types::to_builtin(context, *parts.types.last()?)?;
            parts.attributes.push(dense(ty, reader.blob()?)?);
        }
    }
    Some(())
}

fn push_list(numbers: &mut Vec<i64>, list: Vec<i64>) {
    numbers.push(list.len() as i64);
    numbers.extend(list);
}

fn sign_extend(bits: u64, width: u32) -> i64 {
    slimhlo_dialect::dense::sign_extend(bits, width)
}

/// The elements of a tensor. Booleans are bits, except in artifacts of a time when they were written as bytes.
fn dense<'c>(ty: Type<'c>, blob: &[u8]) -> Option<Attribute<'c>> {
    let tensor = Tensor::new(ty).filter(Tensor::is_static)?;
    let count = usize::try_from(tensor.element_count()?).ok()?;
    let width = slimhlo_dialect::dense::element_bytes(tensor.element)?;
    let mut blob = Cow::Borrowed(blob);
    if slimhlo_dialect::quant::Number::of(tensor.element).is_integer_of_width(1) {
        if blob.len() == count && count > 1 {
            blob = Cow::Owned(pack(&blob));
        }
        if blob.len() != 1 && blob.len() != count.div_ceil(8) {
            return None;
        }
    } else if blob.len() != width && Some(blob.len()) != count.checked_mul(width) {
        return None;
    }
    dense_from_bytes(tensor, &blob)
}

fn pack(bytes: &[u8]) -> Vec<u8> {
    bytes
        .chunks(8)
        .map(|eight| eight.iter().enumerate().fold(0, |bits, (at, &byte)| bits | u8::from(byte != 0) << at))
        .collect()
}

fn write(parts: &Parts<'_>, table: &[Kind], writer: &Writer) -> Option<()> {
    let kind = table.get(parts.kind)?;
    let mut numbers = parts.numbers.iter().copied();
    let mut attributes = parts.attributes.iter().copied();
    let mut types = parts.types.iter().copied();
    let mut last_type = None;
    writer.unsigned(kind.code);
    for field in kind.fields {
        match field {
            Field::Enum(_) | Field::Bool | Field::Unsigned => writer.unsigned(numbers.next()? as u64),
            Field::Signed => writer.signed(numbers.next()?),
            Field::List => {
                let count = numbers.next()?;
                writer.unsigned(count as u64);
                numbers.by_ref().take(count as usize).for_each(|number| writer.signed(number));
            }
            Field::Float => writer.bits(64, numbers.next()? as u64),
            Field::Floats => {
                let count = numbers.next()?;
                writer.unsigned(count as u64);
                numbers.by_ref().take(count as usize).for_each(|number| writer.bits(64, number as u64));
            }
            Field::Text => writer.text(parts.text),
            Field::Attribute => writer.attribute(attributes.next()?),
            Field::Flagged => {
                let flag = numbers.next()?;
                writer.unsigned(flag as u64);
                attributes.by_ref().take(flag as usize).for_each(|attribute| writer.attribute(attribute));
            }
            Field::Optional => {
                let attribute = if numbers.next()? == 1 { attributes.next() } else { None };
                writer.optional_attribute(attribute);
            }
            Field::Attributes | Field::Pairs => {
                let count = numbers.next()?;
                writer.unsigned(count as u64);
                let each = if *field == Field::Pairs { 2 } else { 1 };
                let all = count as usize * each;
                attributes.by_ref().take(all).for_each(|attribute| writer.attribute(attribute));
            }
            Field::Type => {
                last_type = types.next();
                writer.r#type(last_type?);
            }
            Field::Types => {
                let count = numbers.next()?;
                writer.unsigned(count as u64);
                types.by_ref().take(count as usize).for_each(|ty| writer.r#type(ty));
            }
            Field::FloatOfType | Field::IntegerOfType => {
                writer.bits(types::width(last_type?)?, numbers.next()? as u64);
            }
            Field::DenseOfType => writer.blob(dense_bytes(attributes.next()?)?),
        }
    }
    Some(())
}
