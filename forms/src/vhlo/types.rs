// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Types of VHLO and of StableHLO, one for the other.

use super::kinds::{self, TYPES};
use crate::wire::{self, Parts};
use melior::ContextRef;
use melior::ir::r#type::{FunctionType, TupleType};
use melior::ir::{Attribute, Type, TypeLike};
use slimhlo_dialect::ffi as dialect;
use slimhlo_dialect::quant::{self, Granularity, Quantized};
use slimhlo_dialect::stablehlo::attrs::{FutureType, TokenType, TypeExtensions};
use slimhlo_dialect::types::Tensor;

/// Bytes that live as long as the context: those of a string attribute.
pub fn unique<'c>(context: ContextRef<'c>, bytes: &[u8]) -> &'c [u8] {
    wire::string_bytes(wire::string(context, bytes)).unwrap_or_default()
}

/// The width of numbers of a simple type in bits, at most 64; `None` for other types.
pub fn width(ty: Type<'_>) -> Option<u32> {
    width_of(TYPES.get(Parts::of_type(ty)?.kind)?.name)
}

/// The width of numbers of a simple type, by its name.
pub fn width_of(name: &str) -> Option<u32> {
    match name {
        // As MLIR holds it.
        "index_v1" => Some(64),
        "tf31_v1" => Some(19),
        "bf16_v1" => Some(16),
        _ => {
            let digits = name.strip_prefix("ui").or_else(|| name.strip_prefix(['i', 'f']))?;
            let end = digits.find(|c: char| !c.is_ascii_digit())?;
            digits[..end].parse().ok()
        }
    }
}

/// The name in MLIR's text of a type without parts; `None` for others.
fn simple(name: &str) -> Option<&str> {
    match name {
        "bool_v1" => Some("i1"),
        "tf31_v1" => Some("tf32"),
        "witness_v1" => Some("!shape.witness"),
        "token_v1" => Some("!stablehlo.token"),
        _ => name.strip_suffix("_v1"),
    }
}

/// A type of StableHLO programs for one of VHLO, or itself if it is another. `None` if there is none, after a diagnostic if it is MLIR
/// that thinks so.
pub fn to_builtin<'c>(context: ContextRef<'c>, ty: Type<'c>) -> Option<Type<'c>> {
    let Some(parts) = Parts::of_type(ty) else { return Some(ty) };
    let kind = TYPES.get(parts.kind)?;
    let types: Vec<Type<'c>> =
        parts.types.iter().map(|&ty| to_builtin(context, ty)).collect::<Option<_>>()?;
    let numbers = &parts.numbers;
    // What MLIR would not check when it is asked for a type, is asked for as text.
    let parse = |text: String| Type::parse(wire::owner(&context), &text);
    match kind.name {
        "tensor_v1" => {
            let encoding = match parts.attributes.first() {
                Some(&encoding) => Some(encoding_to_builtin(context, encoding)?),
                None => None,
            };
            wire::ranked_tensor(numbers.get(1..)?, *types.first()?, encoding)
        }
        "complex_v1" => parse(format!("complex<{}>", types.first()?)),
        "unranked_tensor_v1" => dialect::unranked_tensor(*types.first()?),
        "tuple_v1" => Some(dialect::tuple_of(context, &types)),
        "func_v1" => {
            let (inputs, results) = types.split_at_checked(usize::try_from(*numbers.first()?).ok()?)?;
            Some(FunctionType::new(wire::owner(&context), inputs, results).into())
        }
        "future_v1" => FutureType::new(dialect::unknown_location(context), &types).map(Type::from),
        "buffer_v1" => {
            let shape: String = numbers.get(1..)?.iter().map(|&size| dimension(size) + "x").collect();
            parse(format!("memref<{shape}{}>", types.first()?))
        }
        "quant_v1" => {
            let [flags, scale, zero_point, min, max] = numbers[..] else { return None };
            let scale = scale_text(scale, zero_point)?;
            parse(format!("!quant.uniform<{}, {scale}>", stored(flags, &types, min, max)?))
        }
        "quant_per_axis_v1" => {
            let [flags, dimension, min, max, ref lists @ ..] = numbers[..] else { return None };
            let (count, lists) = lists.split_first()?;
            let (scales, zero_points) = lists.split_at_checked(usize::try_from(*count).ok()?)?;
            let zero_points = zero_points.split_first()?.1;
            if scales.len() != zero_points.len() {
                return None;
            }
            let scales = scales.iter().zip(zero_points).map(|(&scale, &zero)| scale_text(scale, zero));
            let scales = scales.collect::<Option<Vec<_>>>()?.join(", ");
            let stored = stored(flags, &types, min, max)?;
            parse(format!("!quant.uniform<{stored}:{dimension}, {{{scales}}}>"))
        }
        "token_v1" => Some(TokenType::new(context).into()),
        name => parse(simple(name)?.into()),
    }
}

fn dimension(size: i64) -> String {
    if size == slimhlo_dialect::DYNAMIC { "?".into() } else { size.to_string() }
}

/// `u8<0:127>:f32`
fn stored(flags: i64, types: &[Type<'_>], min: i64, max: i64) -> Option<String> {
    let [storage, expressed] = types else { return None };
    let storage = storage.to_string();
    let storage = if flags & 1 == 0 { storage.replace('i', "u") } else { storage };
    Some(format!("{storage}<{min}:{max}>:{expressed}"))
}

fn scale_text(bits: i64, zero_point: i64) -> Option<String> {
    let scale = f64::from_bits(bits as u64);
    scale.is_finite().then(|| format!("{scale:.17e}:{zero_point}"))
}

fn encoding_to_builtin<'c>(context: ContextRef<'c>, encoding: Attribute<'c>) -> Option<Attribute<'c>> {
    let Some(parts) = Parts::of_attribute(encoding) else { return Some(encoding) };
    (parts.kind == kinds::attribute("type_extensions_v1"))
        .then(|| dialect::bounds_attribute(context, parts.numbers.get(1..).unwrap_or_default()))
}

/// A type of VHLO for one of StableHLO programs, or itself if it is of another dialect. `None` if there is none.
pub fn from_builtin<'c>(context: ContextRef<'c>, ty: Type<'c>) -> Option<Type<'c>> {
    let vhlo = |name: &str, numbers: Vec<i64>, types: &[Type<'c>]| {
        let types = types.iter().map(|&ty| from_builtin(context, ty)).collect::<Option<Vec<_>>>()?;
        let parts = Parts { kind: kinds::ty(name), numbers, types, ..Parts::default() };
        Some(parts.r#type(context))
    };
    if let Some(tensor) = Tensor::new(ty) {
        return tensor_from_builtin(context, &tensor);
    }
    if let Ok(tuple) = TupleType::try_from(ty) {
        let types: Vec<_> = (0..tuple.type_count()).map_while(|index| tuple.r#type(index).ok()).collect();
        return vhlo("tuple_v1", vec![types.len() as i64], &types);
    }
    if let Ok(function) = FunctionType::try_from(ty) {
        let inputs = (0..function.input_count()).map_while(|index| function.input(index).ok());
        let results = (0..function.result_count()).map_while(|index| function.result(index).ok());
        let types: Vec<_> = inputs.chain(results).collect();
        return vhlo("func_v1", vec![function.input_count() as i64, function.result_count() as i64], &types);
    }
    if let Some(part) = quant::complex_part(ty) {
        return vhlo("complex_v1", vec![], &[part]);
    }
    if let Some(quantized) = Quantized::new(ty) {
        return quantized_from_builtin(context, quantized);
    }
    match wire::dialect_of_type(ty) {
        "stablehlo" => match FutureType::try_from(ty) {
            Ok(future) => vhlo("future_v1", vec![future.types().len() as i64], &future.types()),
            Err(_) => vhlo("token_v1", vec![], &[]),
        },
        "shape" | "builtin" => {
            if ty.is_mem_ref() {
                let shape = dialect::shape(ty)?;
                let numbers = [&[shape.len() as i64], shape].concat();
                return vhlo("buffer_v1", numbers, &[dialect::element_type(ty)?]);
            }
            if ty.is_unranked_tensor() {
                return vhlo("unranked_tensor_v1", vec![], &[dialect::element_type(ty)?]);
            }
            let text = ty.to_string();
            let simple = TYPES.iter().find(|kind| kind.fields.is_empty() && simple(kind.name) == Some(&text));
            simple.and_then(|kind| vhlo(kind.name, vec![], &[]))
        }
        _ => Some(ty),
    }
}

fn tensor_from_builtin<'c>(context: ContextRef<'c>, tensor: &Tensor<'c>) -> Option<Type<'c>> {
    let mut parts = Parts {
        kind: kinds::ty("tensor_v1"),
        numbers: [&[tensor.rank() as i64], tensor.shape].concat(),
        types: vec![from_builtin(context, tensor.element)?],
        ..Parts::default()
    };
    if let Some(encoding) = tensor.encoding() {
        // The line after the one without.
        parts.kind += 1;
        parts.attributes.push(encoding_from_builtin(context, encoding)?);
    }
    Some(parts.r#type(context))
}

fn encoding_from_builtin<'c>(context: ContextRef<'c>, encoding: Attribute<'c>) -> Option<Attribute<'c>> {
    match wire::dialect_of_attribute(encoding) {
        "vhlo" => Some(encoding),
        "stablehlo" => {
            let bounds = TypeExtensions::try_from(encoding).ok()?.bounds();
            let numbers = [&[bounds.len() as i64], bounds].concat();
            let kind = kinds::attribute("type_extensions_v1");
            Some(Parts { kind, numbers, ..Parts::default() }.attribute(context))
        }
        _ => None,
    }
}

fn quantized_from_builtin<'c>(context: ContextRef<'c>, quantized: Quantized<'c>) -> Option<Type<'c>> {
    let types = [quantized.storage(), quantized.expressed()?];
    let types = types.into_iter().map(|ty| from_builtin(context, ty)).collect::<Option<Vec<_>>>()?;
    let scales: Vec<i64> = quantized.scales().iter().map(|scale| scale.to_bits() as i64).collect();
    let (zeros, flags) = (quantized.zero_points(), i64::from(quantized.is_signed()));
    let (min, max) = (quantized.storage_min(), quantized.storage_max());
    let (name, numbers) = match quantized.granularity() {
        Granularity::PerTensor => ("quant_v1", vec![flags, *scales.first()?, *zeros.first()?, min, max]),
        Granularity::PerAxis => {
            let mut numbers = vec![flags, quantized.quantized_dimension()?, min, max];
            numbers.push(scales.len() as i64);
            numbers.extend(&scales);
            numbers.push(zeros.len() as i64);
            numbers.extend(&zeros);
            ("quant_per_axis_v1", numbers)
        }
        Granularity::Other => return None,
    };
    Some(Parts { kind: kinds::ty(name), numbers, types, ..Parts::default() }.r#type(context))
}
