// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Calls out of the program, and of functions that define an op.

use super::attrs::{CustomCallApiVersion, OutputOperandAlias};
use crate::dense::Dense;
use crate::ffi;
use crate::rules::{Rules, Table};

use crate::view::{OpError, OpView, Verdict};
use crate::{reject, require};
use melior::ir::attribute::{ArrayAttribute, DictionaryAttribute, StringAttribute};
use melior::ir::r#type::TupleType;
use melior::ir::{Attribute, OperationRef, Type, TypeLike};

/// Rules of calls.
pub const TABLE: Table = &[
    (
        "stablehlo.composite",
        Rules::NONE.verify(verify_composite_name).verify_symbol_use(verify_decomposition),
    ),
    (
        "stablehlo.custom_call",
        Rules::NONE.verify(verify_custom_call).has_memory_effects(has_side_effect).is_speculatable(|_| false),
    ),
];

fn has_side_effect(op: &OpView<'_, '_>) -> bool {
    // An attribute of another kind says nothing, which is no reason to move the call.
    op.boolean("has_side_effect", false).unwrap_or(true)
}

fn verify_custom_call(op: &OpView<'_, '_>) -> Verdict {
    verify_backend_config(op)?;
    verify_layouts(op)?;
    verify_aliases(op)
}

/// The typed interface takes a dictionary, all others a string.
fn verify_backend_config(op: &OpView<'_, '_>) -> Verdict {
    let Some(config) = op.attribute("backend_config") else { return Ok(()) };
    let version = op
        .attribute("api_version")
        .and_then(|version| CustomCallApiVersion::try_from(version).ok())
        .unwrap_or(CustomCallApiVersion::Original);
    if version == CustomCallApiVersion::TypedFfi {
        require!(
            DictionaryAttribute::try_from(config).is_ok(),
            "backend_config must be a dictionary for api_version {version}, but is {config}"
        );
    } else {
        require!(
            StringAttribute::try_from(config).is_ok(),
            "backend_config must be a string for api_version {version}, but is {config}"
        );
    }
    Ok(())
}

/// All results, those in a sole tuple one by one.
fn result_types<'c>(op: &OpView<'c, '_>) -> Result<Vec<Type<'c>>, OpError> {
    let results = (0..op.result_count()).map(|index| op.result_type(index)).collect::<Result<Vec<_>, _>>()?;
    match results[..] {
        [result] => Ok(TupleType::try_from(result).map_or(results, elements)),
        _ => Ok(results),
    }
}

fn elements<'c>(tuple: TupleType<'c>) -> Vec<Type<'c>> {
    (0..tuple.type_count()).filter_map(|index| tuple.r#type(index).ok()).collect()
}

/// Layouts are given for all operands and results or for none, and each orders the dimensions of its type.
fn verify_layouts(op: &OpView<'_, '_>) -> Verdict {
    let (operands, results) = (op.attribute("operand_layouts"), op.attribute("result_layouts"));
    require!(
        operands.is_some() == results.is_some(),
        "operand_layouts and result_layouts must be given together or not at all"
    );
    let (Some(operands), Some(results)) = (operands, results) else { return Ok(()) };
    layouts_fit("operand", operands, &op.operand_types())?;
    layouts_fit("result", results, &result_types(op)?)
}

fn layouts_fit(name: &str, layouts: Attribute<'_>, types: &[Type<'_>]) -> Verdict {
    let Ok(layouts) = ArrayAttribute::try_from(layouts) else {
        reject!("{name}_layouts must be an array, but is {layouts}")
    };
    require!(
        layouts.len() == types.len(),
        "{name}_layouts has {} entries, but there are {} {name}s",
        layouts.len(),
        types.len()
    );
    for (index, &ty) in types.iter().enumerate() {
        require!(!ty.is_tuple(), "{name} #{index} is a tuple, which has no layout");
        let Some(layout) = layouts.element(index).ok().and_then(Dense::new) else {
            reject!("{name}_layouts[{index}] must list dimensions of {name} #{index}")
        };
        let rank = ffi::shape(ty).map(<[i64]>::len);
        if ty.is_shaped() && rank.is_none() {
            // The rank may be anything.
            continue;
        }
        let rank = rank.unwrap_or(0);
        // Before they are read: a splat may say that there are any number.
        require!(
            layout.len() == rank,
            "{name}_layouts[{index}] lists {} dimensions, but {ty} has {rank}",
            layout.len()
        );
        let order: Option<Vec<i64>> = (0..rank).map(|place| layout.integer(place)).collect();
        let Some(order) = order else {
            reject!("{name}_layouts[{index}] must list dimensions of {name} #{index}")
        };
        let mut sorted = order.clone();
        sorted.sort_unstable();
        require!(
            (0..).zip(&sorted).all(|(place, &dimension)| place == dimension),
            "{name}_layouts[{index}] = {order:?} does not order the {rank} dimensions of {ty}"
        );
    }
    Ok(())
}

/// What a path of tuple indices leads to.
fn part<'c>(ty: Type<'c>, path: &[i64], name: &str) -> Result<Type<'c>, OpError> {
    let mut ty = ty;
    for (place, &index) in path.iter().enumerate() {
        let element =
            TupleType::try_from(ty).ok().and_then(|tuple| tuple.r#type(usize::try_from(index).ok()?).ok());
        ty = element.ok_or_else(|| OpError(format!("{name}[{place}] = {index} leads out of {ty}")))?;
    }
    Ok(ty)
}

/// A result lies in the memory of an operand only if both have one type.
fn verify_aliases(op: &OpView<'_, '_>) -> Verdict {
    let Some(aliases) = op.attribute("output_operand_aliases") else { return Ok(()) };
    let Ok(aliases) = ArrayAttribute::try_from(aliases) else {
        reject!("output_operand_aliases must be an array, but is {aliases}")
    };
    for place in 0..aliases.len() {
        let alias = aliases.element(place).ok().and_then(|alias| OutputOperandAlias::try_from(alias).ok());
        let Some(alias) = alias else {
            reject!("output_operand_aliases[{place}] must be an output_operand_alias")
        };
        let index = alias.operand_index();
        let Some(operand) = usize::try_from(index).ok().filter(|&index| index < op.operand_count()) else {
            reject!("operand_index = {index} of alias #{place} exceeds {} operands", op.operand_count())
        };
        let operand =
            part(op.operand_type(operand)?, alias.operand_tuple_indices(), "operand_tuple_indices")?;
        // Several results are taken as a tuple.
        let results = if op.result_count() == 1 {
            op.result_type(0)?
        } else {
            let results =
                (0..op.result_count()).map(|index| op.result_type(index)).collect::<Result<Vec<_>, _>>()?;
            ffi::tuple_of(op.context(), &results)
        };
        let result = part(results, alias.output_tuple_indices(), "output_tuple_indices")?;
        require!(
            operand == result,
            "alias #{place} of operand part {operand} and result part {result}: types differ"
        );
    }
    Ok(())
}

/// The name is that of an op: a namespace, then names, all separated by dots (composite_c1).
fn verify_composite_name(op: &OpView<'_, '_>) -> Verdict {
    let name = op.string("name")?.unwrap_or_default();
    let is_word = |text: &str, extra: char| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == extra)
    };
    let valid = name.split_once('.').is_some_and(|(namespace, rest)| {
        is_word(namespace, '_')
            && namespace.starts_with(|c: char| c.is_ascii_alphabetic())
            && rest.split('.').all(|part| is_word(part, '$'))
    });
    require!(
        valid,
        "name \"{name}\" must be a namespace and an op name with a dot between, as \"my_dialect.my_op\""
    );
    Ok(())
}

/// The decomposition is a function of the same type (composite_c2 to composite_c4).
fn verify_decomposition(
    op: &OpView<'_, '_>,
    symbol: Attribute<'_>,
    target: Option<OperationRef<'_, '_>>,
) -> Verdict {
    // Attributes of the composite may name symbols too; those are nobody's business.
    if op.attribute("decomposition") != Some(symbol) {
        return Ok(());
    }
    let function = target.map(OpView::Op).filter(|target| target.name() == "func.func");
    let Some((inputs, results)) =
        function.and_then(|function| ffi::function_type(function.attribute("function_type")?))
    else {
        reject!("decomposition {symbol} is not a function in reach")
    };
    let op_results =
        (0..op.result_count()).map(|index| op.result_type(index)).collect::<Result<Vec<_>, _>>()?;
    for (name, have, want) in [("operand", op.operand_types(), inputs), ("result", op_results, results)] {
        require!(
            have.len() == want.len(),
            "has {} {name}s, but decomposition {symbol} has {}",
            have.len(),
            want.len()
        );
        for (index, (have, want)) in have.iter().zip(want).enumerate() {
            require!(
                *have == want,
                "{name} #{index} has type {have}, but in decomposition {symbol} it has {want}"
            );
        }
    }
    Ok(())
}
