// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Attributes and types of stablehlo and chlo in bytecode, as jaxlib writes and reads them: a number for the kind, then its parts. What has
//! no number is written as text.

use crate::wire::{Reader, Writer, dialect_of_attribute};
use melior::ContextRef;
use melior::ir::attribute::ArrayAttribute;
use melior::ir::{Attribute, AttributeLike, Type};
use slimhlo_dialect::ffi::unknown_location;
use slimhlo_dialect::stablehlo::attrs::*;

fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

macro_rules! enums {
    ($($code:literal => $name:ident,)*) => {
        fn read_enum<'c>(context: ContextRef<'c>, code: u64, reader: &Reader<'c>) -> Option<Attribute<'c>> {
            let value = reader.unsigned()?;
            match code {
                $($code => {
                    let case = $name::ALL.iter().find(|&&case| case as i32 as u64 == value)?;
                    Some(case.attribute(context))
                })*
                _ => None,
            }
        }

        fn write_enum(attribute: Attribute<'_>, writer: &Writer) -> bool {
            $(if let Some(case) = is::<$name>(attribute) {
                writer.unsigned($code);
                writer.unsigned(case as i32 as u64);
                return true;
            })*
            false
        }
    };
}

enums! {
    2 => ComparisonDirection,
    3 => ComparisonType,
    6 => FftType,
    8 => Precision,
    9 => RngAlgorithm,
    10 => RngDistribution,
    12 => Transpose,
    16 => ResultAccuracyMode,
}

/// A view of an attribute that is known to be small: the error of a failed one quotes it.
fn is<'c, T: TryFrom<Attribute<'c>>>(attribute: Attribute<'c>) -> Option<T> {
    attribute.try_into().ok()
}

/// Reads an attribute of stablehlo.
pub fn read_attribute<'c>(context: ContextRef<'c>, reader: &Reader<'c>) -> Option<Attribute<'c>> {
    let code = reader.unsigned()?;
    let read = read_coded(context, code, reader);
    if read.is_none() {
        reader.error(&format!("invalid stablehlo attribute of code {code}"));
    }
    read
}

fn read_coded<'c>(context: ContextRef<'c>, code: u64, reader: &Reader<'c>) -> Option<Attribute<'c>> {
    let location = unknown_location(context);
    let number = || reader.signed();
    let list = || reader.numbers();
    Some(match code {
        1 => ChannelHandle::new(context, number()?, number()?).into(),
        4 => {
            let mut lists = Vec::new();
            for _ in 0..3 {
                lists.push((number()?, number()?, list()?));
            }
            let [input, kernel, output] = [0, 1, 2].map(|index: usize| {
                let (batch, feature, ref spatial) = lists[index];
                ConvTensor { batch, feature, spatial }
            });
            ConvDimensionNumbers::new(context, input, kernel, output).into()
        }
        5 => DotDimensionNumbers::new(context, &list()?, &list()?, &list()?, &list()?).into(),
        7 => {
            let lists = [list()?, list()?, list()?, list()?, list()?];
            let [offset, collapsed, operand, start, map] = &lists;
            GatherDimensionNumbers::new(context, offset, collapsed, operand, start, map, number()?).into()
        }
        11 => {
            let lists = [list()?, list()?, list()?, list()?, list()?];
            let [window, inserted, input, indices, map] = &lists;
            ScatterDimensionNumbers::new(context, window, inserted, input, indices, map, number()?).into()
        }
        13 => TypeExtensions::new(context, &list()?).into(),
        14 => OutputOperandAlias::new(context, &list()?, number()?, &list()?).into(),
        15 => {
            let parts = DotAlgorithmParts {
                lhs_precision_type: reader.r#type()?,
                rhs_precision_type: reader.r#type()?,
                accumulation_type: reader.r#type()?,
                lhs_component_count: number()?,
                rhs_component_count: number()?,
                num_primitive_operations: number()?,
                allow_imprecise_accumulation: reader.bool()?,
            };
            DotAlgorithm::new(location, parts)?.into()
        }
        17 => {
            let (atol, rtol, ulps) = (reader.float()?, reader.float()?, number()?);
            let mode = is(reader.attribute().filter(|&mode| dialect_of_attribute(mode) == "stablehlo")?)?;
            ResultAccuracy::new(location, atol, rtol, ulps, mode)?.into()
        }
        18 => {
            let mesh = reader.attribute()?;
            let axes = reader.list(Reader::attribute)?;
            let axes = ArrayAttribute::new(crate::wire::owner(&context), &axes);
            ReplicaGroupMeshAxes::new(location, mesh, axes.into())?.into()
        }
        19 => SubAxisInfo::new(context, number()?, number()?).into(),
        20 => {
            let name = text(reader.text()?)?;
            let info = if reader.bool()? { Some(is(reader.attribute()?)?) } else { None };
            AxisRef::new(context, name, info).into()
        }
        21 => MeshAxis::new(context, text(reader.text()?)?, number()?).into(),
        22 => {
            let axes = ArrayAttribute::try_from(reader.attribute()?).ok()?;
            let axes = (0..axes.len()).map(|index| is(axes.element(index).ok()?));
            let axes = axes.collect::<Option<Vec<MeshAxis<'c>>>>()?;
            let devices = if reader.bool()? { Some(reader.attribute()?) } else { None };
            Mesh::new(location, &axes, devices)?.into()
        }
        _ => read_enum(context, code, reader)?,
    })
}

/// Writes an attribute of stablehlo; false if it has no number.
pub fn write_attribute(attribute: Attribute<'_>, writer: &Writer) -> bool {
    write_enum(attribute, writer) || write_numbers(attribute, writer) || write_mesh(attribute, writer)
}

fn write_numbers(attribute: Attribute<'_>, writer: &Writer) -> bool {
    if let Some(channel) = is::<ChannelHandle<'_>>(attribute) {
        writer.unsigned(1);
        writer.signed(channel.handle());
        writer.signed(channel.channel_type());
    } else if let Some(conv) = is::<ConvDimensionNumbers<'_>>(attribute) {
        writer.unsigned(4);
        for tensor in [conv.input(), conv.kernel(), conv.output()] {
            writer.signed(tensor.batch);
            writer.signed(tensor.feature);
            writer.numbers(tensor.spatial);
        }
    } else if let Some(dot) = is::<DotDimensionNumbers<'_>>(attribute) {
        writer.unsigned(5);
        writer.numbers(dot.lhs_batching_dimensions());
        writer.numbers(dot.rhs_batching_dimensions());
        writer.numbers(dot.lhs_contracting_dimensions());
        writer.numbers(dot.rhs_contracting_dimensions());
    } else if let Some(gather) = is::<GatherDimensionNumbers<'_>>(attribute) {
        writer.unsigned(7);
        writer.numbers(gather.offset_dims());
        writer.numbers(gather.collapsed_slice_dims());
        writer.numbers(gather.operand_batching_dims());
        writer.numbers(gather.start_indices_batching_dims());
        writer.numbers(gather.start_index_map());
        writer.signed(gather.index_vector_dim());
    } else if let Some(scatter) = is::<ScatterDimensionNumbers<'_>>(attribute) {
        writer.unsigned(11);
        writer.numbers(scatter.update_window_dims());
        writer.numbers(scatter.inserted_window_dims());
        writer.numbers(scatter.input_batching_dims());
        writer.numbers(scatter.scatter_indices_batching_dims());
        writer.numbers(scatter.scatter_dims_to_operand_dims());
        writer.signed(scatter.index_vector_dim());
    } else if let Some(bounds) = is::<TypeExtensions<'_>>(attribute) {
        writer.unsigned(13);
        writer.numbers(bounds.bounds());
    } else if let Some(alias) = is::<OutputOperandAlias<'_>>(attribute) {
        writer.unsigned(14);
        writer.numbers(alias.output_tuple_indices());
        writer.signed(alias.operand_index());
        writer.numbers(alias.operand_tuple_indices());
    } else {
        return false;
    }
    true
}

fn write_mesh(attribute: Attribute<'_>, writer: &Writer) -> bool {
    if let Some(algorithm) = is::<DotAlgorithm<'_>>(attribute) {
        let (Some(lhs), Some(rhs), Some(accumulation)) =
            (algorithm.lhs_precision_type(), algorithm.rhs_precision_type(), algorithm.accumulation_type())
        else {
            return false;
        };
        writer.unsigned(15);
        [lhs, rhs, accumulation].into_iter().for_each(|ty| writer.r#type(ty));
        writer.signed(algorithm.lhs_component_count());
        writer.signed(algorithm.rhs_component_count());
        writer.signed(algorithm.num_primitive_operations());
        writer.bool(algorithm.allow_imprecise_accumulation());
    } else if let Some(accuracy) = is::<ResultAccuracy<'_>>(attribute) {
        writer.unsigned(17);
        writer.float(accuracy.atol());
        writer.float(accuracy.rtol());
        writer.signed(accuracy.ulps());
        // It is unique, so that it is the one MLIR has numbered.
        writer.attribute(accuracy.mode().attribute(attribute.context()));
    } else if let Some(groups) = is::<ReplicaGroupMeshAxes<'_>>(attribute) {
        let axes = groups.axes().and_then(|axes| ArrayAttribute::try_from(axes).ok());
        let (Some(mesh), Some(axes)) = (groups.mesh(), axes) else { return false };
        writer.unsigned(18);
        writer.attribute(mesh);
        writer.unsigned(axes.len() as u64);
        (0..axes.len()).filter_map(|index| axes.element(index).ok()).for_each(|axis| writer.attribute(axis));
    } else if let Some(info) = is::<SubAxisInfo<'_>>(attribute) {
        writer.unsigned(19);
        writer.signed(info.pre_size());
        writer.signed(info.size());
    } else if let Some(axis) = is::<AxisRef<'_>>(attribute) {
        writer.unsigned(20);
        writer.text(axis.name().as_bytes());
        writer.bool(axis.sub_axis_info().is_some());
        axis.sub_axis_info().into_iter().for_each(|info| writer.attribute(info.into()));
    } else if let Some(axis) = is::<MeshAxis<'_>>(attribute) {
        writer.unsigned(21);
        writer.text(axis.name().as_bytes());
        writer.signed(axis.size());
    } else if let Some(mesh) = is::<Mesh<'_>>(attribute) {
        let context = attribute.context();
        let axes: Vec<Attribute<'_>> = mesh.axes().into_iter().map(Into::into).collect();
        writer.unsigned(22);
        writer.attribute(ArrayAttribute::new(crate::wire::owner(&context), &axes).into());
        writer.bool(mesh.device_ids().is_some());
        mesh.device_ids().into_iter().for_each(|ids| writer.attribute(ids));
    } else {
        return false;
    }
    true
}

/// Reads a type of stablehlo.
pub fn read_type<'c>(context: ContextRef<'c>, reader: &Reader<'c>) -> Option<Type<'c>> {
    let code = reader.unsigned()?;
    match code {
        0 => Some(TokenType::new(context).into()),
        1 => FutureType::new(unknown_location(context), &reader.list(Reader::r#type)?).map(Into::into),
        _ => {
            reader.error(&format!("unknown stablehlo type code {code}"));
            None
        }
    }
}

/// Writes a type of stablehlo.
pub fn write_type(ty: Type<'_>, writer: &Writer) -> bool {
    match FutureType::try_from(ty) {
        Ok(future) => {
            let types = future.types();
            writer.unsigned(1);
            writer.unsigned(types.len() as u64);
            types.into_iter().for_each(|ty| writer.r#type(ty));
        }
        Err(_) => writer.unsigned(0),
    }
    true
}

/// The enums of chlo that have a number, by it: their names and cases.
const CHLO: &[(&str, &[&str])] = &[
    ("comparison_direction", &["EQ", "NE", "GE", "GT", "LE", "LT"]),
    ("comparison_type", &["NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"]),
];

/// Reads an attribute of chlo.
pub fn read_chlo_attribute<'c>(context: ContextRef<'c>, reader: &Reader<'c>) -> Option<Attribute<'c>> {
    let (code, case) = (reader.unsigned()?, reader.unsigned()?);
    let name = usize::try_from(code).ok().and_then(|code| CHLO.get(code)).and_then(|(name, cases)| {
        let case = cases.get(usize::try_from(case).ok()?)?;
        Some(format!("#chlo<{name} {case}>"))
    });
    let Some(name) = name else {
        reader.error(&format!("invalid chlo attribute of code {code}"));
        return None;
    };
    Attribute::parse(crate::wire::owner(&context), &name)
}

/// Writes an attribute of chlo; false if it has no number.
pub fn write_chlo_attribute(attribute: Attribute<'_>, writer: &Writer) -> bool {
    let text = attribute.to_string();
    let found = CHLO.iter().enumerate().find_map(|(code, (name, cases))| {
        let case = text.strip_prefix("#chlo<")?.strip_prefix(name)?.strip_prefix(' ')?.strip_suffix('>')?;
        Some((code, cases.iter().position(|&known| known == case)?))
    });
    let Some((code, case)) = found else { return false };
    writer.unsigned(code as u64);
    writer.unsigned(case as u64);
    true
}
