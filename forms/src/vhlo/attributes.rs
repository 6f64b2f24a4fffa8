// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Attributes of VHLO and of StableHLO, one for the other.

use super::kinds::{self, ATTRIBUTES, Field};
use super::rules::Default;
use super::types;
use crate::wire::{self, Parts, dense_bytes};
use melior::ContextRef;
use melior::ir::attribute::{
    ArrayAttribute, BoolAttribute, DenseI64ArrayAttribute, FlatSymbolRefAttribute, IntegerAttribute,
    TypeAttribute,
};
use melior::ir::{Attribute, AttributeLike, Type};
use slimhlo_dialect::dense::Dense;
use slimhlo_dialect::ffi as dialect;
use slimhlo_dialect::quant;
use slimhlo_dialect::stablehlo::attrs::*;
use slimhlo_dialect::types::Tensor;

/// More numbers than any attribute lists that is no tensor in StableHLO.
const MOST: usize = 1 << 16;

/// Makes attributes in a context.
#[derive(Clone, Copy)]
pub struct Attributes<'c>(pub ContextRef<'c>);

macro_rules! same_enums {
    ($($kind:literal => $name:ident,)*) => {
        /// The attribute of StableHLO for a case of an enum of VHLO.
        fn case_to_builtin<'c>(context: ContextRef<'c>, kind: &str, value: i64) -> Option<Attribute<'c>> {
            match kind {
                $($kind => $name::ALL.iter().find(|&&case| case as i32 as i64 == value)
                    .map(|case| case.attribute(context)),)*
                _ => None,
            }
        }

        /// The kind and the number of the case of an enum of StableHLO.
        fn case_from_builtin(attribute: Attribute<'_>) -> Option<(&'static str, i64)> {
            $(if let Ok(case) = $name::try_from(attribute) {
                return Some(($kind, case as i32 as i64));
            })*
            None
        }
    };
}

same_enums! {
    "comparison_direction_v1" => ComparisonDirection,
    "comparison_type_v1" => ComparisonType,
    "fft_type_v1" => FftType,
    "precision_v1" => Precision,
    "rng_algorithm_v1" => RngAlgorithm,
    "rng_distribution_v1" => RngDistribution,
    "transpose_v1" => Transpose,
    "result_accuracy_mode_v1" => ResultAccuracyMode,
    "api_version_v1" => CustomCallApiVersion,
}

impl<'c> Attributes<'c> {
    /// Of VHLO: one without anything but numbers.
    fn numbers(self, kind: &str, numbers: Vec<i64>) -> Attribute<'c> {
        Parts { kind: kinds::attribute(kind), numbers, ..Parts::default() }.attribute(self.0)
    }

    /// Of VHLO: a list of attributes.
    pub fn array(self, attributes: Vec<Attribute<'c>>) -> Attribute<'c> {
        let numbers = vec![attributes.len() as i64];
        Parts { kind: kinds::attribute("array_v1"), numbers, attributes, ..Parts::default() }
            .attribute(self.0)
    }

    /// Of VHLO: a string.
    pub fn text(self, text: &'c [u8]) -> Attribute<'c> {
        Parts { kind: kinds::attribute("string_v1"), text, ..Parts::default() }.attribute(self.0)
    }

    /// Of VHLO: a boolean.
    pub fn boolean(self, value: bool) -> Attribute<'c> {
        self.numbers("bool_v1", vec![i64::from(value)])
    }

    /// Of VHLO: a number of 64 bits.
    pub fn number(self, value: i64) -> Attribute<'c> {
        let types = vec![Parts { kind: kinds::ty("i64_v1"), ..Parts::default() }.r#type(self.0)];
        Parts { kind: kinds::attribute("integer_v1"), numbers: vec![value], types, ..Parts::default() }
            .attribute(self.0)
    }

    /// Of VHLO: a type.
    pub fn r#type(self, ty: Type<'c>) -> Option<Attribute<'c>> {
        let types = vec![types::from_builtin(self.0, ty)?];
        Some(Parts { kind: kinds::attribute("type_v1"), types, ..Parts::default() }.attribute(self.0))
    }

    /// Of VHLO: numbers of 64 bits, in a tensor of this shape.
    pub fn tensor(self, shape: &[i64], values: &[i64]) -> Option<Attribute<'c>> {
        let ty = Tensor::get(shape, quant::signless(self.0, 64), None);
        let bytes = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        self.dense(Dense::from_elements(Tensor::new(ty)?, bytes)?.attribute()?)
    }

    /// Of VHLO: booleans.
    pub fn booleans(self, values: &[bool]) -> Option<Attribute<'c>> {
        let ty = Tensor::get(&[values.len() as i64], quant::signless(self.0, 1), None);
        let bytes = values.iter().map(|&value| u8::from(value)).collect();
        self.dense(Dense::from_elements(Tensor::new(ty)?, bytes)?.attribute()?)
    }

    fn dense(self, dense: Attribute<'c>) -> Option<Attribute<'c>> {
        let types = vec![types::from_builtin(self.0, dialect::type_of(dense))?];
        let kind = kinds::attribute("tensor_v1");
        Some(Parts { kind, types, attributes: vec![dense], ..Parts::default() }.attribute(self.0))
    }

    /// Of VHLO, for one of StableHLO or of MLIR. One of another dialect is itself. `None` if there is none.
    pub fn vhlo(self, attribute: Attribute<'c>) -> Option<Attribute<'c>> {
        match wire::dialect_of_attribute(attribute) {
            "stablehlo" => self.vhlo_of_stablehlo(attribute),
            "builtin" => self.vhlo_of_mlir(attribute),
            _ => Some(attribute),
        }
    }

    fn vhlo_of_stablehlo(self, attribute: Attribute<'c>) -> Option<Attribute<'c>> {
        if let Some((kind, value)) = case_from_builtin(attribute) {
            return Some(self.numbers(kind, vec![value]));
        }
        let made = |kind: &str, numbers: Vec<i64>, attributes: Vec<Attribute<'c>>| {
            let kind = kinds::attribute(kind);
            Some(Parts { kind, numbers, attributes, ..Parts::default() }.attribute(self.0))
        };
        if let Ok(alias) = OutputOperandAlias::try_from(attribute) {
            let (outputs, operands) = (alias.output_tuple_indices(), alias.operand_tuple_indices());
            let numbers =
                [&[outputs.len() as i64], outputs, &[alias.operand_index(), operands.len() as i64], operands];
            return made("output_operand_alias_v1", numbers.concat(), vec![]);
        }
        if let Ok(accuracy) = ResultAccuracy::try_from(attribute) {
            let mode = self.numbers("result_accuracy_mode_v1", vec![accuracy.mode() as i32 as i64]);
            let [atol, rtol] = [accuracy.atol(), accuracy.rtol()].map(|value| value.to_bits() as i64);
            return made("result_accuracy_v1", vec![atol, rtol, accuracy.ulps()], vec![mode]);
        }
        if let Ok(info) = SubAxisInfo::try_from(attribute) {
            return made("sub_axis_info_v1", vec![info.pre_size(), info.size()], vec![]);
        }
        if let Ok(axis) = AxisRef::try_from(attribute) {
            let mut parts = vec![self.text(types::unique(self.0, axis.name().as_bytes()))];
            if let Some(info) = axis.sub_axis_info() {
                parts.push(self.vhlo_of_stablehlo(info.into())?);
            }
            return made("axis_ref_v1", vec![parts.len() as i64 - 1], parts);
        }
        if let Ok(axis) = MeshAxis::try_from(attribute) {
            let name = self.text(types::unique(self.0, axis.name().as_bytes()));
            return made("mesh_axis_v1", vec![axis.size()], vec![name]);
        }
        if let Ok(mesh) = Mesh::try_from(attribute) {
            let axes = mesh.axes().into_iter().map(|axis| self.vhlo_of_stablehlo(axis.into()));
            let mut parts = vec![self.array(axes.collect::<Option<_>>()?)];
            if let Some(devices) = mesh.device_ids() {
                parts.push(self.vhlo_of_mlir(devices)?);
            }
            return made("mesh_v1", vec![parts.len() as i64 - 1], parts);
        }
        if let Ok(groups) = ReplicaGroupMeshAxes::try_from(attribute) {
            let mesh = self.vhlo(groups.mesh()?)?;
            return made(
                "replica_group_mesh_axes_v1",
                vec![],
                vec![mesh, self.vhlo_of_mlir(groups.axes()?)?],
            );
        }
        None
    }

    fn vhlo_of_mlir(self, attribute: Attribute<'c>) -> Option<Attribute<'c>> {
        // Constants first: they may be large, and nothing that follows is to print them.
        if dense_bytes(attribute).is_some() {
            return self.dense(attribute);
        }
        if let Some(values) = dialect::dense_i64_array(attribute) {
            return self.tensor(&[values.len() as i64], values);
        }
        if let Some(values) = dialect::dense_bool_array(attribute) {
            return self.booleans(values);
        }
        if let Some(text) = wire::string_bytes(attribute) {
            return Some(self.text(text));
        }
        if attribute.is_bool() {
            return Some(self.boolean(BoolAttribute::try_from(attribute).ok()?.value()));
        }
        if attribute.is_integer() {
            let integer = IntegerAttribute::try_from(attribute).ok()?;
            let types = vec![types::from_builtin(self.0, dialect::type_of(attribute))?];
            // VHLO has no name for other widths.
            types::width(types[0])?;
            let numbers = vec![dialect::integer_value(integer)];
            return Some(
                Parts { kind: kinds::attribute("integer_v1"), numbers, types, ..Parts::default() }
                    .attribute(self.0),
            );
        }
        if let Some(bits) = wire::float_bits(attribute) {
            let types = vec![types::from_builtin(self.0, dialect::type_of(attribute))?];
            let numbers = vec![slimhlo_dialect::dense::sign_extend(bits, types::width(types[0])?)];
            return Some(
                Parts { kind: kinds::attribute("float_v1"), numbers, types, ..Parts::default() }
                    .attribute(self.0),
            );
        }
        if let Ok(array) = ArrayAttribute::try_from(attribute) {
            let items = (0..array.len()).map(|index| self.vhlo(array.element(index).ok()?));
            return Some(self.array(items.collect::<Option<_>>()?));
        }
        if attribute.is_dictionary() {
            let mut attributes = Vec::new();
            for (name, value) in wire::entries(attribute) {
                attributes.push(self.text(types::unique(self.0, name)));
                attributes.push(self.vhlo(value)?);
            }
            let numbers = vec![attributes.len() as i64 / 2];
            return Some(
                Parts { kind: kinds::attribute("dict_v1"), numbers, attributes, ..Parts::default() }
                    .attribute(self.0),
            );
        }
        if let Some(symbol) = wire::flat_symbol(attribute) {
            return Some(self.text(symbol));
        }
        if let Ok(ty) = TypeAttribute::try_from(attribute) {
            return self.r#type(ty.value());
        }
        // Numbers of operands and results in a dictionary, which jaxlib leaves as they are.
        dialect::dense_i32_array(attribute).map(|_| attribute)
    }

    /// Of StableHLO or of MLIR, for one of VHLO. One of another dialect is itself. `None` if there is none.
    pub fn to_builtin(self, attribute: Attribute<'c>) -> Option<Attribute<'c>> {
        let Some(parts) = Parts::of_attribute(attribute) else { return Some(attribute) };
        let kind = ATTRIBUTES.get(parts.kind)?;
        let context = wire::owner(&self.0);
        if let [Field::Enum(_)] = kind.fields {
            return case_to_builtin(self.0, kind.name, *parts.numbers.first()?);
        }
        let all = || parts.attributes.iter().map(|&part| self.to_builtin(part)).collect::<Option<Vec<_>>>();
        let ty = || types::to_builtin(self.0, *parts.types.first()?);
        Some(match kind.name {
            "array_v1" => ArrayAttribute::new(context, &all()?).into(),
            "bool_v1" => BoolAttribute::new(context, parts.numbers[0] != 0).into(),
            "dict_v1" => {
                let all = all()?;
                let pairs = all.chunks_exact(2).map(|pair| Some((wire::string_bytes(pair[0])?, pair[1])));
                wire::dictionary(self.0, &pairs.collect::<Option<Vec<_>>>()?)?
            }
            "float_v1" => wire::float_from_bits(ty()?, parts.numbers[0] as u64)?,
            "integer_v1" => IntegerAttribute::new(ty()?, parts.numbers[0]).into(),
            "string_v1" => wire::string(self.0, parts.text),
            "tensor_v1" => *parts.attributes.first()?,
            "type_v1" => TypeAttribute::new(ty()?).into(),
            "type_extensions_v1" => dialect::bounds_attribute(self.0, parts.numbers.get(1..)?),
            "output_operand_alias_v1" => {
                let (count, rest) = parts.numbers.split_first()?;
                let (outputs, rest) = rest.split_at_checked(usize::try_from(*count).ok()?)?;
                let [operand, _, operands @ ..] = rest else { return None };
                OutputOperandAlias::new(self.0, outputs, *operand, operands).into()
            }
            _ => self.to_stablehlo(kind.name, &parts, &all()?)?,
        })
    }

    fn to_stablehlo(self, kind: &str, parts: &Parts<'c>, all: &[Attribute<'c>]) -> Option<Attribute<'c>> {
        let location = dialect::unknown_location(self.0);
        let name = || std::str::from_utf8(wire::string_bytes(*all.first()?)?).ok();
        let view = |index: usize| all.get(index).copied();
        Some(match kind {
            "result_accuracy_v1" => {
                let [atol, rtol] =
                    [parts.numbers[0], parts.numbers[1]].map(|bits| f64::from_bits(bits as u64));
                let mode = ResultAccuracyMode::try_from(view(0)?).ok()?;
                ResultAccuracy::new(location, atol, rtol, parts.numbers[2], mode)?.into()
            }
            "sub_axis_info_v1" => SubAxisInfo::new(self.0, parts.numbers[0], parts.numbers[1]).into(),
            "axis_ref_v1" => {
                let info = view(1).map(|info| SubAxisInfo::try_from(info).ok());
                let info = if let Some(info) = info { Some(info?) } else { None };
                AxisRef::new(self.0, name()?, info).into()
            }
            "mesh_axis_v1" => MeshAxis::new(self.0, name()?, parts.numbers[0]).into(),
            "mesh_v1" => {
                let axes = ArrayAttribute::try_from(view(0)?).ok()?;
                let axes = (0..axes.len()).map(|index| MeshAxis::try_from(axes.element(index).ok()?).ok());
                Mesh::new(location, &axes.collect::<Option<Vec<_>>>()?, view(1))?.into()
            }
            "replica_group_mesh_axes_v1" => {
                let mesh = match wire::string_bytes(view(0)?) {
                    Some(symbol) => self.symbol(symbol)?,
                    None => view(0)?,
                };
                ReplicaGroupMeshAxes::new(location, mesh, view(1)?)?.into()
            }
            _ => return None,
        })
    }

    /// A symbol.
    pub fn symbol(self, name: &[u8]) -> Option<Attribute<'c>> {
        let name = std::str::from_utf8(name).ok()?;
        Some(FlatSymbolRefAttribute::new(wire::owner(&self.0), name).into())
    }

    /// The numbers of a tensor of VHLO.
    pub fn numbers_of(self, attribute: Attribute<'c>) -> Option<Vec<i64>> {
        // One per dimension, or two: a splat may say that there are any number.
        let dense = Dense::small(self.to_builtin(attribute)?, MOST).filter(|dense| dense.len() <= MOST)?;
        (0..dense.len()).map(|index| dense.integer(index)).collect()
    }

    /// A number of VHLO.
    pub fn number_of(self, attribute: Attribute<'c>) -> Option<i64> {
        let parts = Parts::of_attribute(attribute)?;
        (parts.kind == kinds::attribute("integer_v1")).then(|| parts.numbers[0])
    }

    /// A boolean of VHLO.
    pub fn boolean_of(self, attribute: Attribute<'c>) -> Option<bool> {
        let parts = Parts::of_attribute(attribute)?;
        (parts.kind == kinds::attribute("bool_v1")).then(|| parts.numbers[0] != 0)
    }

    /// `array<i64: ...>`.
    pub fn i64s(self, values: &[i64]) -> Attribute<'c> {
        DenseI64ArrayAttribute::new(wire::owner(&self.0), values).into()
    }

    /// What stands for an attribute of VHLO that is not there; `window` is the number of dimensions of the op's window.
    pub fn default(self, default: Default, window: usize) -> Option<Attribute<'c>> {
        let count = window as i64;
        Some(match default {
            Default::False => self.boolean(false),
            Default::Number(value) => self.number(value),
            Default::Text | Default::TextOrDictionary => self.text(b""),
            Default::Array | Default::Layouts => self.array(vec![]),
            Default::Dictionary => self.dictionary(),
            Default::NoNumbers => self.tensor(&[0], &[])?,
            Default::FirstCase(kind) => self.numbers(kind, vec![0]),
            Default::ApiOriginal => self.numbers("api_version_v1", vec![1]),
            Default::Precisions => self.array(vec![self.numbers("precision_v1", vec![0]); 2]),
            Default::Ones => self.tensor(&[count], &vec![1; window])?,
            Default::Zeros => self.tensor(&[count, 2], &vec![0; 2 * window])?,
            Default::Falses => self.booleans(&vec![false; window])?,
            Default::Accuracy => {
                let mode = self.numbers("result_accuracy_mode_v1", vec![0]);
                let kind = kinds::attribute("result_accuracy_v1");
                Parts { kind, numbers: vec![0; 3], attributes: vec![mode], ..Parts::default() }
                    .attribute(self.0)
            }
            Default::NoType => {
                let none = Parts { kind: kinds::ty("none_v1"), ..Parts::default() }.r#type(self.0);
                let kind = kinds::attribute("type_v1");
                Parts { kind, types: vec![none], ..Parts::default() }.attribute(self.0)
            }
        })
    }

    /// Of VHLO: a dictionary with nothing in it.
    pub fn dictionary(self) -> Attribute<'c> {
        self.numbers("dict_v1", vec![0])
    }

    /// Whether an attribute of VHLO says no more than that there is none.
    pub fn is_default(self, default: Default, attribute: Attribute<'c>) -> bool {
        let splat = |value: i64| {
            let numbers = self.numbers_of(attribute).unwrap_or_default();
            !numbers.is_empty() && numbers.iter().all(|&number| number == value)
        };
        match default {
            Default::Ones => splat(1),
            Default::Zeros | Default::Falses => splat(0),
            // Of any type.
            Default::NoNumbers => self.numbers_of(attribute).is_some_and(|numbers| numbers.is_empty()),
            Default::TextOrDictionary => attribute == self.text(b"") || attribute == self.dictionary(),
            Default::Precisions => Parts::of_attribute(attribute).is_some_and(|parts| {
                let usual = self.numbers("precision_v1", vec![0]);
                parts.kind == kinds::attribute("array_v1")
                    && parts.attributes.iter().all(|&precision| precision == usual)
            }),
            _ => Some(attribute) == self.default(default, 0),
        }
    }
}
