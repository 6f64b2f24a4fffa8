// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Attributes of sdy in bytecode, as jaxlib writes them. Ours are written as text, which jaxlib reads.

use crate::wire::{self, Reader};
use melior::ContextRef;
use melior::ir::Attribute;
use melior::ir::attribute::StringAttribute;
use slimhlo_dialect::ffi::unknown_location;
use slimhlo_dialect::sdy::attrs::*;

/// Reads an attribute.
pub fn read_attribute<'c>(context: ContextRef<'c>, reader: &Reader<'c>) -> Option<Attribute<'c>> {
    let code = reader.unsigned()?;
    let read = read_coded(context, code, reader);
    if read.is_none() {
        reader.error(&format!("invalid sdy attribute of code {code}"));
    }
    read
}

/// A list of attributes of one kind.
fn list<'c, T: TryFrom<Attribute<'c>>>(reader: &Reader<'c>) -> Option<Vec<T>> {
    reader.list(|reader| T::try_from(reader.attribute()?).ok())
}

fn read_coded<'c>(context: ContextRef<'c>, code: u64, reader: &Reader<'c>) -> Option<Attribute<'c>> {
    let location = unknown_location(context);
    let name = || std::str::from_utf8(reader.text()?).ok();
    Some(match code {
        0 => ManualAxes::new(context, &list::<StringAttribute<'c>>(reader)?)?.into(),
        1 => MeshAxis::new(location, name()?, reader.signed()?)?.into(),
        2 => Mesh::new(location, &list(reader)?, &reader.numbers()?)?.into(),
        3 => SubAxisInfo::new(context, reader.signed()?, reader.signed()?)?.into(),
        4 => {
            let name = name()?;
            let info = match reader.optional_attribute()? {
                Some(info) => Some(SubAxisInfo::try_from(info).ok()?),
                None => None,
            };
            AxisRef::new(context, name, info)?.into()
        }
        5 => {
            let (axes, closed, priority) = (list(reader)?, reader.bool()?, reader.unsigned()?);
            // The lowest bit says whether there is one.
            let priority = if priority & 1 == 1 { Some(i64::try_from(priority >> 1).ok()?) } else { None };
            DimensionSharding::new(context, &axes, closed, priority)?.into()
        }
        6 | 15 => {
            let (mesh, dimensions, replicated) = (reader.attribute()?, list(reader)?, list(reader)?);
            let unreduced = if code == 6 { Vec::new() } else { list(reader)? };
            TensorSharding::new(context, mesh, &dimensions, &replicated, &unreduced)?.into()
        }
        7 | 16 => TensorShardingPerValue::new(context, &list(reader)?)?.into(),
        11 => AxisRefList::new(context, &list(reader)?)?.into(),
        12 => ListOfAxisRefLists::new(context, &list(reader)?)?.into(),
        _ => {
            let text = text_of(code, reader)?;
            Attribute::parse(wire::owner(&context), &text)?
        }
    })
}

/// What there is no builder for, as text.
fn text_of(code: u64, reader: &Reader<'_>) -> Option<String> {
    Some(match code {
        8 => {
            let factors: String = reader.numbers()?.into_iter().map(factor).collect::<Option<_>>()?;
            format!("#sdy<dim_mapping {factors}>")
        }
        9 => format!("#sdy<tensor_mapping[{}]>", inner(reader, "#sdy<dim_mapping ", ">")?.join(", ")),
        10 => rule(reader)?,
        13 => {
            let axes = inner(reader, "#sdy<axis_ref", ">")?.join(", ");
            format!("#sdy<all_to_all_param {{{axes}}}: {}->{}>", reader.signed()?, reader.signed()?)
        }
        14 => {
            let all = inner(reader, "#sdy<all_to_all_param", ">")?;
            let all: Vec<&str> = all.iter().map(|one| one.trim()).collect();
            format!("#sdy<all_to_all_param_list[{}]>", all.join(", "))
        }
        _ => return None,
    })
}

/// The texts of a list of attributes, without what each begins and ends with.
fn inner(reader: &Reader<'_>, before: &str, after: &str) -> Option<Vec<String>> {
    reader.list(|reader| {
        let text = reader.attribute().filter(|part| wire::dialect_of_attribute(*part) == "sdy")?.to_string();
        Some(text.strip_prefix(before)?.strip_suffix(after)?.to_owned())
    })
}

/// The name of a factor: i to z, then z_1 and so on.
fn factor(index: i64) -> Option<String> {
    match index {
        0..=17 => Some(char::from(b'i' + index as u8).to_string()),
        18.. => Some(format!("z_{}", index - 17)),
        _ => None,
    }
}

fn rule(reader: &Reader<'_>) -> Option<String> {
    let sizes = reader.numbers()?;
    let mappings = || inner(reader, "#sdy<tensor_mapping", ">");
    let (operands, results) = (mappings()?.join(", "), mappings()?.join(", "));
    let names = |factors: Vec<i64>| factors.into_iter().map(factor).collect::<Option<Vec<_>>>();
    let sizes: Option<Vec<_>> =
        (0i64..).zip(&sizes).map(|(index, size)| Some(format!("{}={size}", factor(index)?))).collect();
    let mut text = format!("#sdy.op_sharding_rule<({operands})->({results}) {{{}}}", sizes?.join(", "));
    for special in ["reduction", "need_replication", "permutation", "blocked_propagation"] {
        let factors = names(reader.numbers()?)?;
        if !factors.is_empty() {
            text += &format!(" {special}={{{}}}", factors.join(", "));
        }
    }
    text += if reader.bool()? { ", custom>" } else { ">" };
    Some(text)
}
