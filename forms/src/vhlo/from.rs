// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! From VHLO to StableHLO: each op becomes another where it is, whatever its version. What newer versions have more is what older ones took for
//! granted, so that nothing is to be done for it.

use super::attributes::Attributes;
use super::ops::OPS;
use super::rules::{self, Default, Form, Group, What};
use super::{kinds, types};
use crate::ir::{CAST, New, Op};
use crate::read::without_place;
use crate::wire::{self, Parts};
use melior::ContextRef;
use melior::ir::attribute::ArrayAttribute;
use melior::ir::{Attribute, Module};
use slimhlo_dialect::ffi as dialect;
use slimhlo_dialect::stablehlo::attrs::*;

type Named<'c> = Vec<(String, Attribute<'c>)>;

/// Whether there is an op of VHLO in a module, no deeper than in its functions.
pub fn is_vhlo(module: &Module<'_>) -> bool {
    Op::of(module).children().iter().any(|op| {
        op.name().starts_with("vhlo.") || op.children().iter().any(|op| op.name().starts_with("vhlo."))
    })
}

/// Makes a module of StableHLO of one of VHLO. `None`, after a diagnostic, if an op of VHLO is no op of StableHLO.
pub fn from_vhlo<'c>(context: ContextRef<'c>, module: &Module<'c>) -> Option<()> {
    let module = Op::of(module);
    let from = From { context, attributes: Attributes(context) };
    for op in module.inside() {
        if let Some(name) = op.name().strip_prefix("vhlo.") {
            // What is made of an op's parts has no place of its own.
            let (done, said) = without_place(wire::owner(&context), || from.op(op, name));
            if let Err(Wrong(what)) = done {
                op.error(&said.iter().fold(what, |all, why| format!("{all}: {why}")));
                return None;
            }
        }
    }
    for op in module.inside() {
        if op.name() == CAST {
            uncast(context, op);
        }
    }
    Some(())
}

/// Takes out a cast that no longer changes anything.
fn uncast<'c>(context: ContextRef<'c>, op: Op<'c>) {
    for result in op.results() {
        if let Some(ty) = types::to_builtin(context, result.ty()) {
            result.set_type(ty);
        }
    }
    if let ([operand], [result]) = (&op.operands()[..], &op.results()[..])
        && operand.ty() == result.ty()
    {
        result.replace_with(*operand);
        op.erase();
    }
}

/// What is wrong with an op.
struct Wrong(String);

struct From<'c> {
    context: ContextRef<'c>,
    attributes: Attributes<'c>,
}

impl<'c> From<'c> {
    fn op(&self, op: Op<'c>, versioned: &str) -> Result<(), Wrong> {
        let base = versioned.rsplit_once("_v").map_or(versioned, |(base, _)| base);
        if let Some(missing) = self.missing(op, versioned) {
            return Err(Wrong(format!("requires attribute '{missing}'")));
        }
        for argument in op.block_arguments() {
            let Some(ty) = types::to_builtin(self.context, argument.ty()) else {
                let ty = argument.ty();
                return Err(Wrong(format!("has a block argument of type {ty}, which StableHLO lacks")));
            };
            argument.set_type(ty);
        }
        let mut result_types = Vec::new();
        for result in op.results() {
            let Some(ty) = types::to_builtin(self.context, result.ty()) else {
                return Err(Wrong(format!("has a result of type {}, which StableHLO lacks", result.ty())));
            };
            result_types.push(ty);
        }
        let attributes = self.attributes(op, base)?;
        let new = New { name: name(op, base), attributes, types: result_types };
        op.become_(&new).map(drop).ok_or_else(|| Wrong(format!("is no {}", new.name)))
    }

    /// An attribute that is always there, and is not.
    fn missing(&self, op: Op<'c>, versioned: &str) -> Option<&'static str> {
        let kind = OPS.iter().find(|kind| kind.name == versioned)?;
        if kind.attributes.is_empty() {
            return None;
        }
        let all = op.attributes();
        kind.attributes.iter().copied().find(|name| all.iter().all(|(there, _)| there != name))
    }

    fn attributes(&self, op: Op<'c>, base: &str) -> Result<Named<'c>, Wrong> {
        let mut all = op.attributes();
        all.retain(|(name, _)| !(base == "dynamic_conv" && name == "padding"));
        let layouts = ["operand_layouts", "result_layouts"];
        let empty = self.attributes.array(vec![]);
        let no_layouts =
            all.iter().all(|(name, attribute)| !layouts.contains(&&name[..]) || *attribute == empty);
        let mut attributes = Vec::new();
        for group in rules::groups(base) {
            match self.group(group, &all) {
                Ok(Some(attribute)) => attributes.push((group.name.to_owned(), attribute)),
                Ok(None) => {}
                Err(part) => return Err(Wrong(format!("has no valid attribute '{part}'"))),
            }
        }
        let grouped = |name: &str| {
            rules::groups(base).iter().any(|group| group.parts.iter().any(|part| part.0 == name))
        };
        for (name, attribute) in all {
            if grouped(&name) {
                continue;
            }
            match rules::default(base, &name) {
                Some(Default::Layouts) if no_layouts => continue,
                Some(Default::Layouts) | None => {}
                Some(default) if self.attributes.is_default(default, attribute) => continue,
                Some(_) => {}
            }
            match self.spelled(rules::form(base, &name), attribute) {
                Some(attribute) => attributes.push((name, attribute)),
                // Not there.
                None if self.attributes.boolean_of(attribute) == Some(false) => {}
                None => {
                    return Err(Wrong(format!("has attribute '{name}' that is no attribute of StableHLO")));
                }
            }
        }
        Ok(attributes)
    }

    fn spelled(&self, form: Form, attribute: Attribute<'c>) -> Option<Attribute<'c>> {
        let context = wire::owner(&self.context);
        let make = self.attributes;
        match form {
            Form::Plain => make.to_builtin(attribute),
            Form::Numbers => Some(make.i64s(&make.numbers_of(attribute)?)),
            Form::Booleans => {
                let values: Vec<bool> = make.numbers_of(attribute)?.iter().map(|&value| value != 0).collect();
                Some(wire::bool_array(self.context, &values))
            }
            Form::Symbol => make.symbol(text(attribute)?),
            Form::Symbols => {
                let parts = Parts::of_attribute(attribute)?;
                let symbols = parts.attributes.iter().map(|&name| make.symbol(text(name)?));
                Some(ArrayAttribute::new(context, &symbols.collect::<Option<Vec<_>>>()?).into())
            }
            Form::Unit => make.boolean_of(attribute)?.then(|| Attribute::unit(context)),
        }
    }

    /// One attribute of several; `None` if they say that there is none; the name of one that is not as it should be.
    fn group(&self, group: &Group, all: &Named<'c>) -> Result<Option<Attribute<'c>>, &'static str> {
        let make = self.attributes;
        let find = |name: &str| all.iter().find(|entry| entry.0 == name).map(|entry| entry.1);
        let missing =
            |name: &str| find(name).is_none_or(|found| Some(found) == make.default(Default::NoType, 0));
        if group.what == What::Algorithm && group.parts.iter().all(|part| missing(part.0)) {
            return Ok(None);
        }
        let (mut numbers, mut lists, mut types) = (Vec::new(), Vec::new(), Vec::new());
        for &(name, kind) in group.parts {
            let found = find(name);
            let done = match kind {
                rules::PartKind::Number => {
                    found.and_then(|found| make.number_of(found)).map(|number| numbers.push(number))
                }
                rules::PartKind::Boolean => {
                    found.and_then(|found| make.boolean_of(found)).map(|value| numbers.push(i64::from(value)))
                }
                rules::PartKind::List => match found {
                    Some(found) => make.numbers_of(found).map(|list| lists.push(list)),
                    // Before there were any.
                    None => {
                        lists.push(Vec::new());
                        Some(())
                    }
                },
                rules::PartKind::Type => found
                    .and_then(Parts::of_attribute)
                    .and_then(|parts| types::to_builtin(self.context, *parts.types.first()?))
                    .map(|ty| types.push(ty)),
            };
            done.ok_or(name)?;
        }
        if group.what == What::Channel && group.parts.len() == 1 && numbers[0] == 0 {
            return Ok(None);
        }
        Ok(Some(self.build(group, &numbers, &lists, &types).ok_or(group.name)?))
    }

    fn build(
        &self,
        group: &Group,
        numbers: &[i64],
        lists: &[Vec<i64>],
        types: &[melior::ir::Type<'c>],
    ) -> Option<Attribute<'c>> {
        let context = self.context;
        Some(match group.what {
            What::Conv => {
                let tensor = |index: usize| ConvTensor {
                    batch: numbers[2 * index],
                    feature: numbers[2 * index + 1],
                    spatial: &lists[index],
                };
                ConvDimensionNumbers::new(context, tensor(0), tensor(1), tensor(2)).into()
            }
            What::Dot => DotDimensionNumbers::new(context, &lists[0], &lists[1], &lists[2], &lists[3]).into(),
            What::Gather => GatherDimensionNumbers::new(
                context, &lists[0], &lists[1], &lists[2], &lists[3], &lists[4], numbers[0],
            )
            .into(),
            What::Scatter => ScatterDimensionNumbers::new(
                context, &lists[0], &lists[1], &lists[2], &lists[3], &lists[4], numbers[0],
            )
            .into(),
            What::Channel => {
                ChannelHandle::new(context, numbers[0], numbers.get(1).copied().unwrap_or(0)).into()
            }
            What::Algorithm => {
                let parts = DotAlgorithmParts {
                    lhs_precision_type: types[0],
                    rhs_precision_type: types[1],
                    accumulation_type: types[2],
                    lhs_component_count: numbers[0],
                    rhs_component_count: numbers[1],
                    num_primitive_operations: numbers[2],
                    allow_imprecise_accumulation: numbers[3] != 0,
                };
                DotAlgorithm::new(dialect::unknown_location(context), parts)?.into()
            }
        })
    }
}

fn text(attribute: Attribute<'_>) -> Option<&[u8]> {
    let parts = Parts::of_attribute(attribute)?;
    (parts.kind == kinds::attribute("string_v1")).then_some(parts.text)
}

fn name(op: Op<'_>, base: &str) -> String {
    let in_function =
        || op.parent().is_some_and(|parent| matches!(parent.name(), "vhlo.func_v1" | "func.func"));
    match base {
        "func" | "call" => format!("func.{base}"),
        "return" if in_function() => "func.return".into(),
        _ => format!("stablehlo.{base}"),
    }
}
