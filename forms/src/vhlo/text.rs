// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Attributes and types of VHLO as text.

use super::kinds::{self, ATTRIBUTES, Field, Kind, TYPES};
use super::types;
use crate::wire::{self, Parser, Parts, Printer};
use melior::ContextRef;
use melior::ir::attribute::IntegerAttribute;
use melior::ir::{Attribute, AttributeLike, Type, TypeLike};
use slimhlo_dialect::DYNAMIC;

/// Prints what follows `#vhlo.`.
pub fn print_attribute(attribute: Attribute<'_>, printer: &Printer) {
    let Some(parts) = Parts::of_attribute(attribute) else { return };
    let Some(kind) = ATTRIBUTES.get(parts.kind) else { return };
    printer.text(kind.name);
    // Nothing that MLIR has made has parts that its kind lacks.
    let _ = print_fields(kind, &parts, printer);
}

fn print_fields(kind: &Kind, parts: &Parts<'_>, printer: &Printer) -> Option<()> {
    if let [Field::Enum(cases)] = kind.fields {
        printer.text(" ");
        printer.text(cases.get(*parts.numbers.first()? as usize)?);
        return Some(());
    }
    printer.text("<");
    match kind.name {
        "float_v1" => {
            let context = parts.types[0].context();
            let ty = types::to_builtin(context, parts.types[0])?;
            // As MLIR prints numbers of the type, which is then named again.
            let number = wire::float_from_bits(ty, parts.numbers[0] as u64)?.to_string();
            printer.text(number.split(" :").next()?);
            printer.text(" : ");
            printer.r#type(parts.types[0]);
        }
        "integer_v1" => {
            let ty = types::to_builtin(parts.types[0].context(), parts.types[0])?;
            printer.attribute(IntegerAttribute::new(ty, parts.numbers[0]).into());
        }
        "tensor_v1" => printer.attribute(parts.attributes[0]),
        "dict_v1" => {
            printer.text("{");
            for (index, pair) in parts.attributes.chunks_exact(2).enumerate() {
                printer.text(if index > 0 { ", " } else { "" });
                printer.attribute(pair[0]);
                printer.text(" = ");
                printer.attribute(pair[1]);
            }
            printer.text("}");
        }
        _ => print_named(kind, parts, printer)?,
    }
    printer.text(">");
    Some(())
}

fn print_named(kind: &Kind, parts: &Parts<'_>, printer: &Printer) -> Option<()> {
    let mut numbers = parts.numbers.iter().copied();
    let mut attributes = parts.attributes.iter().copied();
    let mut first = true;
    for (index, field) in kind.fields.iter().enumerate() {
        let number = match field {
            Field::Text | Field::Attribute | Field::Type => 0,
            _ => numbers.next()?,
        };
        if matches!(field, Field::Flagged | Field::Optional) && number == 0 {
            continue;
        }
        if !std::mem::take(&mut first) {
            printer.text(", ");
        }
        if let Some(name) = kind.names.get(index) {
            printer.text(name);
            printer.text(" = ");
        }
        match field {
            Field::Bool => printer.text(if number == 0 { "false" } else { "true" }),
            Field::Float => printer.float(f64::from_bits(number as u64)),
            Field::List => {
                let sizes: Vec<i64> = numbers.by_ref().take(number as usize).collect();
                printer.text(&dimensions(&sizes));
            }
            Field::Text => printer.string(parts.text),
            Field::Type => printer.r#type(*parts.types.first()?),
            Field::Attribute | Field::Flagged | Field::Optional => printer.attribute(attributes.next()?),
            Field::Attributes => {
                printer.text("[");
                for (index, attribute) in attributes.by_ref().take(number as usize).enumerate() {
                    printer.text(if index > 0 { ", " } else { "" });
                    printer.attribute(attribute);
                }
                printer.text("]");
            }
            _ => printer.text(&number.to_string()),
        }
    }
    Some(())
}

fn dimension(size: i64) -> String {
    if size == DYNAMIC { "?".into() } else { size.to_string() }
}

fn dimensions(sizes: &[i64]) -> String {
    format!("[{}]", sizes.iter().map(|&size| dimension(size)).collect::<Vec<_>>().join(", "))
}

/// Parses what follows `#vhlo.`.
pub fn parse_attribute<'c>(context: ContextRef<'c>, parser: &Parser<'c>) -> Option<Attribute<'c>> {
    let name = parser.keyword()?;
    let Some(index) = ATTRIBUTES.iter().position(|kind| kind.name == name) else {
        parser.error(&format!("unknown vhlo attribute '{name}'"));
        return None;
    };
    let kind = &ATTRIBUTES[index];
    let mut parts = Parts { kind: index, ..Parts::default() };
    if let [Field::Enum(cases)] = kind.fields {
        let bracket = parser.optional("<");
        let word = parser.keyword()?;
        let Some(case) = cases.iter().position(|&case| case == word) else {
            parser.error(&format!("'{word}' is no {name}; one of {} is", cases.join(", ")));
            return None;
        };
        parts.numbers.push(case as i64);
        if bracket {
            parser.expect(">")?;
        }
        return Some(parts.attribute(context));
    }
    parser.expect("<")?;
    match name {
        "float_v1" => parse_float(context, parser, &mut parts)?,
        "integer_v1" => {
            let integer = typed(parser, parser.attribute()?, "an integer")?;
            parts.types.push(types::from_builtin(context, slimhlo_dialect::ffi::type_of(integer))?);
            let integer = IntegerAttribute::try_from(integer).ok()?;
            parts.numbers.push(slimhlo_dialect::ffi::integer_value(integer));
        }
        "tensor_v1" => {
            let dense = parser.attribute()?;
            if wire::dense_bytes(dense).is_none() {
                parser.error("expected elements of a tensor");
                return None;
            }
            parts.types.push(types::from_builtin(context, slimhlo_dialect::ffi::type_of(dense))?);
            parts.attributes.push(dense);
        }
        "dict_v1" => {
            parser.expect("{")?;
            let mut count = 0;
            while !parser.optional("}") {
                if count > 0 {
                    parser.expect(",")?;
                }
                parts.attributes.push(parser.attribute()?);
                parser.expect("=")?;
                parts.attributes.push(parser.attribute()?);
                count += 1;
            }
            parts.numbers.push(count);
        }
        _ => parse_named(parser, kind, &mut parts)?,
    }
    parser.expect(">")?;
    Some(parts.attribute(context))
}

fn typed<'c>(parser: &Parser<'c>, attribute: Attribute<'c>, what: &str) -> Option<Attribute<'c>> {
    if !attribute.is_integer() {
        parser.error(&format!("expected {what}"));
        return None;
    }
    Some(attribute)
}

fn parse_float<'c>(context: ContextRef<'c>, parser: &Parser<'c>, parts: &mut Parts<'c>) -> Option<()> {
    let value = parser.float()?;
    parser.expect(":")?;
    let ty = parser.r#type()?;
    let own = types::to_builtin(context, ty)?;
    let Some(attribute) = wire::float(own, value) else {
        parser.error(&format!("'{own}' is no type of floats"));
        return None;
    };
    parts.numbers.push(wire::float_bits(attribute)? as i64);
    parts.types.push(ty);
    Some(())
}

fn parse_named<'c>(parser: &Parser<'c>, kind: &Kind, parts: &mut Parts<'c>) -> Option<()> {
    for (index, field) in kind.fields.iter().enumerate() {
        let optional = matches!(field, Field::Flagged | Field::Optional);
        if optional {
            let there = parser.optional(",");
            parts.numbers.push(i64::from(there));
            if !there {
                continue;
            }
        } else if index > 0 {
            parser.expect(",")?;
        }
        if let Some(name) = kind.names.get(index) {
            parser.expect_keyword(name)?;
            parser.expect("=")?;
        }
        match field {
            Field::Bool => match parser.keyword()? {
                "true" => parts.numbers.push(1),
                "false" => parts.numbers.push(0),
                word => {
                    parser.error(&format!("expected 'true' or 'false', but found '{word}'"));
                    return None;
                }
            },
            Field::Float => parts.numbers.push(parser.float()?.to_bits() as i64),
            Field::List => {
                let sizes = parse_dimensions(parser)?;
                parts.numbers.push(sizes.len() as i64);
                parts.numbers.extend(sizes);
            }
            Field::Text => parts.text = wire::string_bytes(parser.text()?.into())?,
            Field::Type => parts.types.push(parse_own(parser)?),
            Field::Attribute | Field::Flagged | Field::Optional => parts.attributes.push(parser.attribute()?),
            Field::Attributes => {
                parser.expect("[")?;
                let mut count = 0;
                while !parser.optional("]") {
                    if count > 0 {
                        parser.expect(",")?;
                    }
                    parts.attributes.push(parser.attribute()?);
                    count += 1;
                }
                parts.numbers.push(count);
            }
            _ => parts.numbers.push(parser.integer()?),
        }
    }
    Some(())
}

fn parse_dimensions(parser: &Parser<'_>) -> Option<Vec<i64>> {
    parser.expect("[")?;
    let mut sizes = Vec::new();
    while !parser.optional("]") {
        if !sizes.is_empty() {
            parser.expect(",")?;
        }
        sizes.push(if parser.optional("?") { DYNAMIC } else { parser.integer()? });
    }
    Some(sizes)
}

/// Prints what follows `!vhlo.`.
pub fn print_type(ty: Type<'_>, printer: &Printer) {
    let Some(parts) = Parts::of_type(ty) else { return };
    let Some(kind) = TYPES.get(parts.kind) else { return };
    printer.text(kind.name);
    if !kind.fields.is_empty() {
        printer.text("<");
        // Nothing that MLIR has made has parts that its kind lacks.
        let _ = print_type_parts(kind.name, &parts, printer);
        printer.text(">");
    }
}

fn print_types(types: &[Type<'_>], printer: &Printer) {
    for (index, ty) in types.iter().enumerate() {
        printer.text(if index > 0 { ", " } else { "" });
        printer.r#type(*ty);
    }
}

fn print_type_parts(name: &str, parts: &Parts<'_>, printer: &Printer) -> Option<()> {
    let (numbers, types) = (&parts.numbers, &parts.types);
    match name {
        "tensor_v1" | "buffer_v1" => {
            for &size in &numbers[1..] {
                printer.text(&(dimension(size) + "x"));
            }
            printer.r#type(types[0]);
            for &encoding in &parts.attributes {
                printer.text(", ");
                printer.attribute(encoding);
            }
        }
        "func_v1" => {
            let (inputs, results) = types.split_at_checked(numbers[0] as usize)?;
            // One pair of brackets more for none at all.
            for (before, types, after) in [("(", inputs, ") -> "), ("", results, "")] {
                printer.text(before);
                printer.text(if types.is_empty() { "()" } else { "" });
                print_types(types, printer);
                printer.text(after);
            }
        }
        "quant_v1" => {
            let [flags, scale, zero, min, max] = numbers[..] else { return None };
            print_stored(types, printer);
            printer.text(", ");
            printer.float(f64::from_bits(scale as u64));
            printer.text(&format!(":{zero}, {min}:{max}, {flags}"));
        }
        "quant_per_axis_v1" => {
            let [flags, dimension, min, max, count, ref lists @ ..] = numbers[..] else { return None };
            let (scales, zeros) = lists.split_at_checked(count as usize)?;
            print_stored(types, printer);
            printer.text(&format!(", {dimension}, ["));
            for (index, &scale) in scales.iter().enumerate() {
                printer.text(if index > 0 { ", " } else { "" });
                printer.float(f64::from_bits(scale as u64));
            }
            let zeros: Vec<String> = zeros.get(1..)?.iter().map(i64::to_string).collect();
            printer.text(&format!("], [{}], {min}:{max}, {flags}", zeros.join(", ")));
        }
        _ => print_types(types, printer),
    }
    Some(())
}

fn print_stored(types: &[Type<'_>], printer: &Printer) {
    printer.r#type(types[0]);
    printer.text(":");
    printer.r#type(types[1]);
}

/// Parses what follows `!vhlo.`.
pub fn parse_type<'c>(context: ContextRef<'c>, parser: &Parser<'c>) -> Option<Type<'c>> {
    let name = parser.keyword()?;
    let Some(index) = TYPES.iter().position(|kind| kind.name == name) else {
        parser.error(&format!("unknown vhlo type '{name}'"));
        return None;
    };
    let mut parts = Parts { kind: index, ..Parts::default() };
    if !TYPES[index].fields.is_empty() {
        parser.expect("<")?;
        parse_type_parts(name, parser, &mut parts)?;
        parser.expect(">")?;
    }
    Some(parts.r#type(context))
}

fn parse_type_parts<'c>(name: &str, parser: &Parser<'c>, parts: &mut Parts<'c>) -> Option<()> {
    let several = |parts: &mut Parts<'c>| {
        let before = parts.types.len();
        parts.types.push(parse_own(parser)?);
        while parser.optional(",") {
            parts.types.push(parse_own(parser)?);
        }
        parts.numbers.push((parts.types.len() - before) as i64);
        Some(())
    };
    match name {
        "tensor_v1" | "buffer_v1" => {
            let shape = parser.dimensions()?;
            parts.numbers.push(shape.len() as i64);
            parts.numbers.extend(shape);
            parts.types.push(parse_own(parser)?);
            if name == "tensor_v1" && parser.optional(",") {
                parts.attributes.push(parser.attribute()?);
                parts.kind = kinds::ty("tensor_v1") + 1;
            }
        }
        "func_v1" => {
            parser.expect("(")?;
            if parser.optional("(") {
                parser.expect(")")?;
                parts.numbers.push(0);
            } else {
                several(parts)?;
            }
            parser.expect(")")?;
            parser.expect("->")?;
            if parser.optional("(") {
                parser.expect(")")?;
                parts.numbers.push(0);
            } else {
                several(parts)?;
            }
        }
        "quant_v1" => {
            parse_stored(parser, parts)?;
            let scale = parser.float()?.to_bits() as i64;
            parser.expect(":")?;
            let zero = parser.integer()?;
            parser.expect(",")?;
            let (min, max, flags) = parse_limits(parser)?;
            parts.numbers = vec![flags, scale, zero, min, max];
        }
        "quant_per_axis_v1" => {
            parse_stored(parser, parts)?;
            let dimension = parser.integer()?;
            parser.expect(",")?;
            parser.expect("[")?;
            let mut scales = Vec::new();
            while !parser.optional("]") {
                if !scales.is_empty() {
                    parser.expect(",")?;
                }
                scales.push(parser.float()?.to_bits() as i64);
            }
            parser.expect(",")?;
            let zeros = parse_dimensions(parser)?;
            parser.expect(",")?;
            let (min, max, flags) = parse_limits(parser)?;
            parts.numbers = vec![flags, dimension, min, max, scales.len() as i64];
            parts.numbers.extend(scales);
            parts.numbers.push(zeros.len() as i64);
            parts.numbers.extend(zeros);
        }
        "tuple_v1" | "future_v1" => several(parts)?,
        _ => parts.types.push(parse_own(parser)?),
    }
    Some(())
}

/// A type of VHLO.
fn parse_own<'c>(parser: &Parser<'c>) -> Option<Type<'c>> {
    let ty = parser.r#type()?;
    if Parts::of_type(ty).is_none() {
        parser.error(&format!("'{ty}' is no type of VHLO"));
        return None;
    }
    Some(ty)
}

/// Storage and expressed type, and the comma after them.
fn parse_stored<'c>(parser: &Parser<'c>, parts: &mut Parts<'c>) -> Option<()> {
    parts.types.push(parse_own(parser)?);
    parser.expect(":")?;
    parts.types.push(parse_own(parser)?);
    parser.expect(",")
}

/// Smallest and largest stored value, and flags.
fn parse_limits(parser: &Parser<'_>) -> Option<(i64, i64, i64)> {
    let min = parser.integer()?;
    parser.expect(":")?;
    let max = parser.integer()?;
    parser.expect(",")?;
    Some((min, max, parser.integer()?))
}
