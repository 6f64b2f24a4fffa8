// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Which values are one scalar everywhere, and which scalar that is.

use crate::ir::{self, Builder};
use crate::rewrite::defining_op;
use melior::ir::attribute::DenseElementsAttribute;
use melior::ir::operation::OperationLike;
use melior::ir::{Attribute, Location, Type, Value, ValueLike};
use rustc_hash::FxHashMap;
use slimhlo_dialect::dense::Dense;
use slimhlo_dialect::types::Tensor;

/// The one scalar that a value holds everywhere.
///
/// Two splats are equal only if their bits are known to be: the same SSA scalar or constants with the same bits, seen
/// through the same converts.
#[derive(Clone, PartialEq)]
pub struct Splat<'c, 'a> {
    root: Root<'c, 'a>,
    /// Element types the scalar is converted to on its way, in order.
    converts: Vec<Type<'c>>,
}

#[derive(Clone, Copy)]
enum Root<'c, 'a> {
    /// A splat constant: the value attribute, and the constant's result.
    Constant(DenseElementsAttribute<'c>, Value<'c, 'a>),
    /// A value of one element.
    Scalar(Value<'c, 'a>),
}

impl PartialEq for Root<'_, '_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Constant(left, _), Self::Constant(right, _)) => ir::same_splat_bits(*left, *right),
            (Self::Scalar(left), Self::Scalar(right)) => left == right,
            _ => false,
        }
    }
}

impl<'c: 'a, 'a> Splat<'c, 'a> {
    /// The scalar as a rank-0 value, made by `builder` where there is none yet.
    pub fn materialize(&self, builder: &Builder<'c, 'a>, location: Location<'c>) -> Value<'c, 'a> {
        let (mut scalar, mut element) = match self.root {
            Root::Constant(attribute, value) => {
                let tensor = ir::element_of(value.r#type());
                let scalar = if ir::is_rank_zero(value) {
                    value
                } else {
                    builder.scalar_constant(attribute, tensor, location)
                };
                (scalar, tensor)
            }
            Root::Scalar(value) if ir::is_rank_zero(value) => (value, ir::element_of(value.r#type())),
            Root::Scalar(value) => {
                let element = ir::element_of(value.r#type());
                (builder.reshape(value, Tensor::get(&[], element, None), location), element)
            }
        };
        for &converted in &self.converts {
            if converted != element {
                scalar = builder.convert(scalar, Tensor::get(&[], converted, None), location);
                element = converted;
            }
        }
        scalar
    }
}

impl<'c: 'a, 'a> Splat<'c, 'a> {
    /// Whether the scalar is a constant, or one converted.
    pub fn is_constant(&self) -> bool {
        matches!(self.root, Root::Constant(..))
    }

    /// The bytes of the scalar in the machine's order, if it is a constant as it stands.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        match self.root {
            Root::Constant(attribute, _) if self.converts.is_empty() => {
                Some(Dense::new(attribute.into())?.splat()?.to_vec())
            }
            _ => None,
        }
    }

    /// Whether a value repeats a constant without a bit that is set, looked up as in [`Splat::of`].
    pub fn is_zero(value: Value<'c, 'a>) -> bool {
        let bytes = Self::of(value).and_then(|splat| splat.bytes());
        bytes.is_some_and(|bytes| bytes.iter().all(|byte| *byte == 0))
    }

    /// What `value` repeats, looked up anew and not too far up; for where the IR changes between questions.
    pub fn of(value: Value<'c, 'a>) -> Option<Self> {
        const LONGEST: usize = 32;
        let mut converts = Vec::new();
        let mut current = value;
        for _ in 0..LONGEST {
            match step(current) {
                Step::Found(root) => {
                    converts.reverse();
                    return Some(Self { root, converts });
                }
                Step::Through(source, convert) => {
                    converts.extend(convert);
                    current = source;
                }
                Step::None => return None,
            }
        }
        None
    }
}

/// Finds splats and remembers what it found, so that a chain of broadcasts is followed once however many users it has.
#[derive(Default)]
pub struct Splats<'c, 'a> {
    known: FxHashMap<usize, Option<Splat<'c, 'a>>>,
}

impl<'c: 'a, 'a> Splats<'c, 'a> {
    /// The scalar that `value` holds everywhere, if it is known to be one.
    pub fn of(&mut self, value: Value<'c, 'a>) -> Option<Splat<'c, 'a>> {
        // Followed by hand rather than by recursion: the chain may be as long as the module.
        let mut path = Vec::new();
        let mut current = value;
        let found = loop {
            if let Some(known) = self.known.get(&ir::key(current)) {
                break known.clone();
            }
            match step(current) {
                Step::Found(root) => break Some(Splat { root, converts: Vec::new() }),
                Step::None => {
                    path.push((current, None));
                    break None;
                }
                Step::Through(source, convert) => {
                    path.push((current, convert));
                    current = source;
                }
            }
        };
        let mut result = found;
        for (value, convert) in path.into_iter().rev() {
            if let (Some(splat), Some(element)) = (&mut result, convert) {
                splat.converts.push(element);
            }
            self.known.insert(ir::key(value), result.clone());
        }
        result
    }

    /// Forgets a value whose op is about to be erased: another value may come to live at its address.
    pub fn forget(&mut self, value: Value<'c, 'a>) {
        self.known.remove(&ir::key(value));
    }
}

enum Step<'c, 'a> {
    Found(Root<'c, 'a>),
    Through(Value<'c, 'a>, Option<Type<'c>>),
    None,
}

/// One step from a value towards the scalar it repeats.
fn step<'c: 'a, 'a>(value: Value<'c, 'a>) -> Step<'c, 'a> {
    let single = Tensor::new(value.r#type()).is_some_and(|tensor| tensor.element_count() == Some(1));
    let scalar = || if single { Step::Found(Root::Scalar(value)) } else { Step::None };
    let Some(op) = defining_op(value) else { return scalar() };
    match slimhlo_dialect::ffi::op_name(op) {
        "stablehlo.constant" => match op.attribute("value").ok().and_then(splat_elements) {
            Some(attribute) => Step::Found(Root::Constant(attribute, value)),
            None => Step::None,
        },
        // A rank-0 convert is as good a scalar as any; a larger one is redone on the scalar.
        "stablehlo.convert" if !ir::is_rank_zero(value) => match op.operand(0) {
            Ok(source) => Step::Through(source, Some(ir::element_of(value.r#type()))),
            Err(_) => Step::None,
        },
        "stablehlo.broadcast_in_dim"
        | "stablehlo.broadcast"
        | "stablehlo.reshape"
        | "stablehlo.transpose" => {
            match op.operand(0) {
                // An empty source repeats nothing, so its scalar would be made up.
                Ok(source)
                    if Tensor::new(source.r#type())
                        .is_some_and(|t| t.element_count().is_some_and(|n| n > 0)) =>
                {
                    Step::Through(source, None)
                }
                _ => Step::None,
            }
        }
        _ => scalar(),
    }
}

fn splat_elements(attribute: Attribute<'_>) -> Option<DenseElementsAttribute<'_>> {
    DenseElementsAttribute::try_from(attribute).ok().filter(|dense| !dense.is_empty() && dense.is_splat())
}
