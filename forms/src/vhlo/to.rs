// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! From StableHLO to VHLO of some version: each op becomes the one of its versions that the target has. What that lacks must say no more than
//! that there is none.

use super::attributes::Attributes;
use super::kinds::{ATTRIBUTES, TYPES};
use super::ops::{OPS, Op as Known, Since};
use super::rules::{self, Default, Group, PartKind, What};
use super::{types, version::Version};
use crate::ir::{CAST, New, Op, Value};
use crate::locations::Places;
use crate::wire::Parts;
use melior::ContextRef;
use melior::ir::attribute::TypeAttribute;
use melior::ir::r#type::FunctionType;
use melior::ir::{Attribute, AttributeLike, Module, Type};
use slimhlo_dialect::stablehlo::attrs::*;
use slimhlo_dialect::types::Tensor;
use std::collections::BTreeMap;

/// Makes a module of VHLO of one of StableHLO. `None`, after a diagnostic, if the version has no such op, attribute or type.
pub fn to_vhlo<'c>(context: ContextRef<'c>, module: &Module<'c>, version: Version) -> Option<()> {
    let module = Op::of(module);
    let to = To { attributes: Attributes(context), version };
    if version.since() < RANGES {
        let mut places = Places::default();
        module.set_places(&mut places);
        module.inside().into_iter().for_each(|op| op.set_places(&mut places));
    }
    let mut foreign = Vec::new();
    for op in module.inside() {
        match base(op.name()) {
            Some(base) => to.op(op, base)?,
            None => foreign.push(op),
        }
    }
    foreign.into_iter().try_for_each(|op| to.cast_around(op))
}

/// The first version whose locations may be ranges of a file.
const RANGES: Since = (1, 9);

/// The name of an op in VHLO, without its version.
fn base(name: &str) -> Option<&str> {
    match name {
        "func.func" | "func.call" | "func.return" => name.strip_prefix("func."),
        _ => name.strip_prefix("stablehlo."),
    }
}

struct To<'c> {
    attributes: Attributes<'c>,
    version: Version,
}

impl<'c> To<'c> {
    fn op(&self, op: Op<'c>, base: &str) -> Option<()> {
        let known = self.version_of(op, base)?;
        let window = window(op);
        let mut attributes = self.named(op, base)?;
        let mut kept = Vec::new();
        for &name in known.attributes {
            let attribute = match attributes.remove(name) {
                Some(attribute) => attribute,
                None => {
                    let default = rules::default(base, name).and_then(|default| {
                        self.attributes.default(self.backend_config(op, default), window)
                    });
                    let Some(default) = default else {
                        op.error(&format!("requires attribute '{name}'"));
                        return None;
                    };
                    default
                }
            };
            kept.push((name.to_owned(), attribute));
        }
        for (name, attribute) in attributes {
            // Newer ones that this version lacks, and what is no attribute of the op.
            let newer = OPS.iter().any(|other| same(other, base) && other.attributes.contains(&&name[..]));
            if !newer {
                kept.push((name, attribute));
            } else if !rules::default(base, &name)
                .is_some_and(|default| self.attributes.is_default(default, attribute))
            {
                op.error(&format!("has attribute '{name}', which StableHLO {} lacks", self.version));
                return None;
            }
        }
        for (name, attribute) in &kept {
            self.check(op, name, *attribute)?;
        }
        for argument in op.block_arguments() {
            argument.set_type(self.ty(op, argument.ty())?);
        }
        let mut types = Vec::new();
        for result in op.results() {
            types.push(self.ty(op, result.ty())?);
        }
        self.constraints(op, base, known)?;
        let made = op.become_(&New { name: format!("vhlo.{}", known.name), attributes: kept, types });
        made.map(drop)
    }

    fn version_of(&self, op: Op<'c>, base: &str) -> Option<&'static Known> {
        let target = self.version.since();
        let found =
            OPS.iter().find(|known| same(known, base) && (known.since..=known.until).contains(&target));
        if found.is_none() {
            op.error(&format!("is no op of StableHLO {}", self.version));
        }
        found
    }

    /// Attributes by their names in VHLO.
    fn named(&self, op: Op<'c>, base: &str) -> Option<BTreeMap<String, Attribute<'c>>> {
        let mut named = BTreeMap::new();
        for (name, attribute) in op.attributes() {
            if name == "operandSegmentSizes" || name == "resultSegmentSizes" {
                continue;
            }
            let group = rules::groups(base).iter().find(|group| group.name == name);
            let done = match group {
                Some(group) => self.parts(group, attribute, &mut named),
                None => match rules::form(base, &name) {
                    rules::Form::Unit => Some(self.attributes.boolean(true)),
                    _ => self.attributes.vhlo(attribute),
                }
                .map(|attribute| {
                    named.insert(name.clone(), attribute);
                }),
            };
            if done.is_none() {
                let unknown = self.unknown_of_function(attribute).map_or_else(
                    || format!("has attribute '{name}' that portable artifacts have no attribute for"),
                    |ty| format!("has a value of type {ty}, which StableHLO {} lacks", self.version),
                );
                op.error(&unknown);
                return None;
            }
        }
        Some(named)
    }

    /// The argument or result of a function type that there is no type for.
    fn unknown_of_function(&self, attribute: Attribute<'c>) -> Option<Type<'c>> {
        let function = FunctionType::try_from(TypeAttribute::try_from(attribute).ok()?.value()).ok()?;
        let inputs = (0..function.input_count()).filter_map(|index| function.input(index).ok());
        let results = (0..function.result_count()).filter_map(|index| function.result(index).ok());
        inputs.chain(results).find(|&ty| types::from_builtin(self.attributes.0, ty).is_none())
    }

    fn parts(
        &self,
        group: &Group,
        attribute: Attribute<'c>,
        into: &mut BTreeMap<String, Attribute<'c>>,
    ) -> Option<()> {
        let (numbers, lists, types) = taken_apart(group.what, attribute)?;
        let (mut numbers, mut lists, mut types) = (numbers.into_iter(), lists.into_iter(), types.into_iter());
        let make = self.attributes;
        for &(name, kind) in group.parts {
            let part = match kind {
                PartKind::Number => make.number(numbers.next()?),
                PartKind::Boolean => make.boolean(numbers.next()? != 0),
                PartKind::List => {
                    let list = lists.next()?;
                    make.tensor(&[list.len() as i64], list)?
                }
                PartKind::Type => make.r#type(types.next()?)?,
            };
            into.insert(name.to_owned(), part);
        }
        Some(())
    }

    /// Custom calls of the typed convention have a dictionary.
    fn backend_config(&self, op: Op<'c>, default: Default) -> Default {
        let typed = || {
            op.attributes().iter().any(|(name, attribute)| {
                name == "api_version"
                    && CustomCallApiVersion::try_from(*attribute) == Ok(CustomCallApiVersion::TypedFfi)
            })
        };
        if default == Default::TextOrDictionary && typed() { Default::Dictionary } else { default }
    }

    fn ty(&self, op: Op<'c>, ty: Type<'c>) -> Option<Type<'c>> {
        let made = types::from_builtin(self.attributes.0, ty);
        let Some(made) = made.filter(|&made| self.has_type(made)) else {
            op.error(&format!("has a value of type {ty}, which StableHLO {} lacks", self.version));
            return None;
        };
        Some(made)
    }

    fn check(&self, op: Op<'c>, name: &str, attribute: Attribute<'c>) -> Option<()> {
        if !self.has_attribute(attribute) {
            op.error(&format!(
                "has attribute '{name}' with a part that portable artifacts of StableHLO {} lack",
                self.version
            ));
            return None;
        }
        Some(())
    }

    fn has_attribute(&self, attribute: Attribute<'c>) -> bool {
        let Some(parts) = Parts::of_attribute(attribute) else {
            return true;
        };
        self.has(ATTRIBUTES[parts.kind].since, &parts)
    }

    fn has_type(&self, ty: Type<'c>) -> bool {
        match Parts::of_type(ty) {
            Some(parts) => self.has(TYPES[parts.kind].since, &parts),
            None => true,
        }
    }

    fn has(&self, since: Since, parts: &Parts<'c>) -> bool {
        since <= self.version.since()
            && parts.attributes.iter().all(|&part| self.has_attribute(part))
            && parts.types.iter().all(|&part| self.has_type(part))
    }

    /// What the versions of an op have in common in their attributes, but not in what they allow.
    fn constraints(&self, op: Op<'c>, base: &str, known: &Known) -> Option<()> {
        let version = self.version.since();
        let complain = |what: &str| {
            op.error(&format!("{what}, which StableHLO {} does not allow", self.version));
            None
        };
        let single = matches!(known.name, "all_gather_v1" | "all_reduce_v1" | "all_to_all_v1");
        if single && op.operands().len() != 1 {
            return complain("has several operands");
        }
        if known.name == "composite_v1" && op.region_count() != 0 {
            return complain("has regions");
        }
        let reduces = matches!(
            base,
            "all_reduce" | "reduce" | "reduce_scatter" | "reduce_window" | "scatter" | "select_and_scatter"
        );
        if reduces && version < (0, 17) {
            let element = |value: &Value<'c>| element_of(value.ty());
            let pairs = op.operands();
            let differs =
                pairs.iter().zip(&op.results()).any(|(operand, result)| element(operand) != element(result));
            if differs {
                return complain("accumulates in another type than that of its operands");
            }
        }
        if base == "custom_call" && version < (1, 3) {
            let typed = self.backend_config(op, Default::TextOrDictionary) == Default::Dictionary;
            let dictionary = op
                .attributes()
                .iter()
                .any(|(name, attribute)| name == "backend_config" && attribute.is_dictionary());
            if typed || dictionary {
                return complain("has a configuration that is a dictionary");
            }
        }
        Some(())
    }

    /// Puts casts between values of VHLO and an op of another dialect.
    fn cast_around(&self, op: Op<'c>) -> Option<()> {
        let context = self.attributes.0;
        if op.name() == CAST {
            return Some(());
        }
        if op.name().starts_with("chlo.") && op.region_count() > 0 {
            // jaxlib writes what such an op is made of; it reads none whose region is of VHLO.
            op.error("has a region, for which portable artifacts have no form");
            return None;
        }
        let mut casts = false;
        for (index, operand) in op.operands().into_iter().enumerate() {
            let ty = types::to_builtin(context, operand.ty())?;
            if ty != operand.ty() {
                op.set_operand(index, op.cast_before(operand, ty)?);
                casts = true;
            }
        }
        // Collectives of sdy ask for the sharding that their operand was made with, and jaxlib refuses them behind a
        // cast.
        if casts && op.name().starts_with("sdy.") && op.region_count() == 0 && !op.is_valid() {
            op.error("asks what made its operand, which in a portable artifact is a cast");
            return None;
        }
        for value in op.results() {
            self.cast_for_users(value, |value, ty| op.cast_after(value, ty), op)?;
        }
        for value in op.block_arguments() {
            self.cast_for_users(value, Op::cast_argument, op)?;
        }
        Some(())
    }

    /// Casts a value of another dialect's op for its users in VHLO.
    fn cast_for_users(
        &self,
        value: Value<'c>,
        cast: impl FnOnce(Value<'c>, Type<'c>) -> Option<Value<'c>>,
        op: Op<'c>,
    ) -> Option<()> {
        let users: Vec<_> =
            value.users().into_iter().filter(|user| user.name().starts_with("vhlo.")).collect();
        if users.is_empty() {
            return Some(());
        }
        let casted = cast(value, self.ty(op, value.ty())?)?;
        for user in users {
            for (index, operand) in user.operands().into_iter().enumerate() {
                if operand.is(value) {
                    user.set_operand(index, casted);
                }
            }
        }
        Some(())
    }
}

fn same(known: &Known, base: &str) -> bool {
    known.name.strip_prefix(base).is_some_and(|rest| {
        rest.strip_prefix("_v").is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

/// The type of elements of a tensor of VHLO or MLIR, as MLIR has it.
fn element_of(ty: Type<'_>) -> Option<Type<'_>> {
    match Parts::of_type(ty) {
        Some(parts) => types::to_builtin(melior::ir::TypeLike::context(&ty), *parts.types.first()?),
        None => Tensor::new(ty).map(|tensor| tensor.element),
    }
}

/// The number of dimensions of the window of an op that has one.
fn window(op: Op<'_>) -> usize {
    let found = op.attributes().into_iter().find_map(|(name, attribute)| match &name[..] {
        "window_dimensions" => slimhlo_dialect::ffi::dense_i64_array(attribute).map(<[i64]>::len),
        "dimension_numbers" if is_conv(op.name()) => {
            Some(ConvDimensionNumbers::try_from(attribute).ok()?.input().spatial.len())
        }
        _ => None,
    });
    found.unwrap_or(0)
}

fn is_conv(name: &str) -> bool {
    matches!(name, "stablehlo.convolution" | "stablehlo.dynamic_conv")
}

type Apart<'c> = (Vec<i64>, Vec<&'c [i64]>, Vec<Type<'c>>);

/// The numbers, lists and types of an attribute, each in the order of its group.
fn taken_apart<'c>(what: What, attribute: Attribute<'c>) -> Option<Apart<'c>> {
    Some(match what {
        What::Conv => {
            let conv = ConvDimensionNumbers::try_from(attribute).ok()?;
            let tensors = [conv.input(), conv.kernel(), conv.output()];
            let numbers = tensors.iter().flat_map(|tensor| [tensor.batch, tensor.feature]).collect();
            (numbers, tensors.iter().map(|tensor| tensor.spatial).collect(), vec![])
        }
        What::Dot => {
            let dot = DotDimensionNumbers::try_from(attribute).ok()?;
            let lists = vec![
                dot.lhs_batching_dimensions(),
                dot.rhs_batching_dimensions(),
                dot.lhs_contracting_dimensions(),
                dot.rhs_contracting_dimensions(),
            ];
            (vec![], lists, vec![])
        }
        What::Gather => {
            let gather = GatherDimensionNumbers::try_from(attribute).ok()?;
            let lists = vec![
                gather.offset_dims(),
                gather.collapsed_slice_dims(),
                gather.operand_batching_dims(),
                gather.start_indices_batching_dims(),
                gather.start_index_map(),
            ];
            (vec![gather.index_vector_dim()], lists, vec![])
        }
        What::Scatter => {
            let scatter = ScatterDimensionNumbers::try_from(attribute).ok()?;
            let lists = vec![
                scatter.update_window_dims(),
                scatter.inserted_window_dims(),
                scatter.input_batching_dims(),
                scatter.scatter_indices_batching_dims(),
                scatter.scatter_dims_to_operand_dims(),
            ];
            (vec![scatter.index_vector_dim()], lists, vec![])
        }
        What::Channel => {
            let channel = ChannelHandle::try_from(attribute).ok()?;
            (vec![channel.handle(), channel.channel_type()], vec![], vec![])
        }
        What::Algorithm => {
            let algorithm = DotAlgorithm::try_from(attribute).ok()?;
            let numbers = vec![
                algorithm.lhs_component_count(),
                algorithm.rhs_component_count(),
                algorithm.num_primitive_operations(),
                i64::from(algorithm.allow_imprecise_accumulation()),
            ];
            let types = [
                algorithm.lhs_precision_type(),
                algorithm.rhs_precision_type(),
                algorithm.accumulation_type(),
            ];
            (numbers, vec![], types.into_iter().collect::<Option<_>>()?)
        }
    })
}
