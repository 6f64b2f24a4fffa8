// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What a rule (a verifier, an inference, an effect query) sees of an op.
//!
//! Type inference runs before the op exists, verification after; both want operands, attributes and regions by the same
//! names. [`OpView`] is that common face, so that one function serves both.

use crate::ffi;
use crate::types::Tensor;
use melior::ContextRef;
use melior::ir::attribute::{BoolAttribute, DictionaryAttribute, IntegerAttribute, StringAttribute};
use melior::ir::operation::OperationLike;
use melior::ir::{Attribute, Location, OperationRef, RegionRef, Type, Value, ValueLike};
use std::fmt;
use std::ops::Range;

/// Why an op is not valid: the text after `'<op name>' op ` in the diagnostic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpError(pub String);

impl fmt::Display for OpError {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for OpError {}

/// What a verifier says.
pub type Verdict = Result<(), OpError>;

/// What an inference says: one type per result.
pub type Inferred<'c> = Result<Vec<Type<'c>>, OpError>;

/// Returns from the enclosing rule with a formatted [`OpError`].
#[macro_export]
macro_rules! reject {
    ($($argument:tt)*) => { return Err($crate::OpError(format!($($argument)*))) };
}

/// Returns from the enclosing rule with a formatted [`OpError`] unless the condition holds.
#[macro_export]
macro_rules! require {
    ($condition:expr, $($argument:tt)*) => { if !$condition { $crate::reject!($($argument)*) } };
}

/// An op, or the parts of one that does not exist yet.
#[derive(Clone, Copy)]
pub enum OpView<'c, 'a> {
    /// An op in the module, under verification.
    Op(OperationRef<'c, 'a>),
    /// What an op is about to be made of, under type inference.
    Parts(&'a Parts<'c, 'a>),
}

/// The parts of an op that does not exist yet.
pub struct Parts<'c, 'a> {
    /// Full name, dialect included.
    pub name: &'a str,
    /// The context everything lives in.
    pub context: ContextRef<'c>,
    /// Where failures are diagnosed; `None` asks for silence.
    pub location: Option<Location<'c>>,
    /// Operands in order, segments flattened.
    pub operands: Vec<Value<'c, 'a>>,
    /// Properties and discardable attributes together.
    pub attributes: Option<DictionaryAttribute<'c>>,
    /// Regions in order.
    pub regions: Vec<RegionRef<'c, 'a>>,
}

impl<'c: 'a, 'a> OpView<'c, 'a> {
    /// Full name, dialect included ("stablehlo.pad").
    pub fn name(&self) -> &'a str {
        match self {
            Self::Op(op) => ffi::op_name(*op),
            Self::Parts(parts) => parts.name,
        }
    }

    /// The context everything lives in.
    pub fn context(&self) -> ContextRef<'c> {
        match self {
            Self::Op(op) => op.context(),
            Self::Parts(parts) => parts.context,
        }
    }

    /// Where the op is, or an unknown location while its types are being inferred silently.
    pub fn location(&self) -> Location<'c> {
        match self {
            Self::Op(op) => op.location(),
            Self::Parts(parts) => parts.location.unwrap_or_else(|| ffi::unknown_location(parts.context)),
        }
    }

    /// The op itself, if it exists.
    pub fn operation(&self) -> Option<OperationRef<'c, 'a>> {
        match self {
            Self::Op(op) => Some(*op),
            Self::Parts(_) => None,
        }
    }

    /// Number of operands, segments flattened.
    pub fn operand_count(&self) -> usize {
        match self {
            Self::Op(op) => op.operand_count(),
            Self::Parts(parts) => parts.operands.len(),
        }
    }

    /// Operand `index`, or an error that names the missing one.
    ///
    /// # Errors
    /// There is no such operand; its number.
    pub fn operand(&self, index: usize) -> Result<Value<'c, 'a>, OpError> {
        let operand = match self {
            Self::Op(op) if index < op.operand_count() => op.operand(index).ok(),
            Self::Op(_) => None,
            Self::Parts(parts) => parts.operands.get(index).copied(),
        };
        operand.ok_or_else(|| {
            OpError(format!("operand #{index} is missing; there are {}", self.operand_count()))
        })
    }

    /// Type of operand `index`.
    ///
    /// # Errors
    /// There is no such operand; its number.
    pub fn operand_type(&self, index: usize) -> Result<Type<'c>, OpError> {
        Ok(self.operand(index)?.r#type())
    }

    /// Types of all operands, in order.
    pub fn operand_types(&self) -> Vec<Type<'c>> {
        (0..self.operand_count()).filter_map(|index| self.operand_type(index).ok()).collect()
    }

    /// Operand `index` as a ranked tensor.
    ///
    /// # Errors
    /// There is no such operand, or it is no ranked tensor, with its type.
    pub fn operand_tensor(&self, index: usize) -> Result<Tensor<'c>, OpError> {
        let ty = self.operand_type(index)?;
        Tensor::new(ty)
            .ok_or_else(|| OpError(format!("operand #{index} must be a ranked tensor, but is {ty}")))
    }

    /// The operands of segment `index` of an op with `operandSegmentSizes`, as a range of operand numbers.
    ///
    /// # Errors
    /// The attribute is missing, has no such segment, or does not add up to the operands.
    pub fn operand_segment(&self, index: usize) -> Result<Range<usize>, OpError> {
        let sizes = self.i32_array("operandSegmentSizes")?;
        let Some(&size) = sizes.get(index) else {
            reject!("operandSegmentSizes has {} entries, not {}", sizes.len(), index + 1)
        };
        let start: i64 = sizes[..index].iter().map(|&size| i64::from(size)).sum();
        let (Ok(start), Ok(size)) = (usize::try_from(start), usize::try_from(size)) else {
            reject!("operandSegmentSizes[{index}] = {size} is negative")
        };
        require!(
            start + size <= self.operand_count(),
            "operandSegmentSizes ask for {} operands, but there are {}",
            start + size,
            self.operand_count()
        );
        Ok(start..start + size)
    }

    /// Number of results; zero while they are being inferred.
    pub fn result_count(&self) -> usize {
        self.operation().map_or(0, |op| op.result_count())
    }

    /// Type of result `index`.
    ///
    /// # Errors
    /// There is no such result; its number.
    pub fn result_type(&self, index: usize) -> Result<Type<'c>, OpError> {
        match self.operation() {
            Some(op) if index < op.result_count() => {
                op.result(index).map(|result| result.r#type()).map_err(|error| OpError(error.to_string()))
            }
            _ => Err(OpError(format!("result #{index} is missing; there are {}", self.result_count()))),
        }
    }

    /// Result `index` as a ranked tensor.
    ///
    /// # Errors
    /// There is no such result, or it is no ranked tensor, with its type.
    pub fn result_tensor(&self, index: usize) -> Result<Tensor<'c>, OpError> {
        let ty = self.result_type(index)?;
        Tensor::new(ty)
            .ok_or_else(|| OpError(format!("result #{index} must be a ranked tensor, but is {ty}")))
    }

    /// The attribute of this name, inherent or discardable.
    pub fn attribute(&self, name: &str) -> Option<Attribute<'c>> {
        match self {
            Self::Op(op) => ffi::attribute_of(*op, name),
            Self::Parts(parts) => ffi::attribute_in(parts.attributes?, name),
        }
    }

    /// The attribute of this name, or an error that names it.
    ///
    /// # Errors
    /// It is missing; its name.
    pub fn required_attribute(&self, name: &str) -> Result<Attribute<'c>, OpError> {
        self.attribute(name).ok_or_else(|| OpError(format!("attribute '{name}' is missing")))
    }

    /// A required attribute of one kind.
    ///
    /// # Errors
    /// It is missing or of another kind; its name.
    pub fn required<T: TryFrom<Attribute<'c>>>(&self, name: &str) -> Result<T, OpError> {
        let attribute = self.required_attribute(name)?;
        T::try_from(attribute)
            .map_err(|_| OpError(format!("attribute '{name}' has the wrong kind: {attribute}")))
    }

    /// An optional attribute of one kind.
    ///
    /// # Errors
    /// It is there and of another kind; its name.
    pub fn optional<T: TryFrom<Attribute<'c>>>(&self, name: &str) -> Result<Option<T>, OpError> {
        if self.attribute(name).is_none() { Ok(None) } else { self.required(name).map(Some) }
    }

    /// A required `array<i64: ...>`.
    ///
    /// # Errors
    /// It is missing or of another kind; its name.
    pub fn i64_array(&self, name: &str) -> Result<&'c [i64], OpError> {
        ffi::dense_i64_array(self.required_attribute(name)?)
            .ok_or_else(|| OpError(format!("attribute '{name}' must be an array of i64")))
    }

    /// An optional `array<i64: ...>`.
    ///
    /// # Errors
    /// It is there and of another kind; its name.
    pub fn optional_i64_array(&self, name: &str) -> Result<Option<&'c [i64]>, OpError> {
        if self.attribute(name).is_none() { Ok(None) } else { self.i64_array(name).map(Some) }
    }

    /// A required `array<i32: ...>`.
    ///
    /// # Errors
    /// It is missing or of another kind; its name.
    pub fn i32_array(&self, name: &str) -> Result<&'c [i32], OpError> {
        ffi::dense_i32_array(self.required_attribute(name)?)
            .ok_or_else(|| OpError(format!("attribute '{name}' must be an array of i32")))
    }

    /// A required `array<i1: ...>`.
    ///
    /// # Errors
    /// It is missing or of another kind; its name.
    pub fn bool_array(&self, name: &str) -> Result<&'c [bool], OpError> {
        ffi::dense_bool_array(self.required_attribute(name)?)
            .ok_or_else(|| OpError(format!("attribute '{name}' must be an array of i1")))
    }

    /// An optional `array<i1: ...>`.
    ///
    /// # Errors
    /// It is there and of another kind; its name.
    pub fn optional_bool_array(&self, name: &str) -> Result<Option<&'c [bool]>, OpError> {
        if self.attribute(name).is_none() { Ok(None) } else { self.bool_array(name).map(Some) }
    }

    /// A required integer attribute, sign-extended to 64 bits.
    ///
    /// # Errors
    /// It is missing or of another kind; its name.
    pub fn integer(&self, name: &str) -> Result<i64, OpError> {
        let attribute = self.required_attribute(name)?;
        IntegerAttribute::try_from(attribute)
            .map(|integer| ffi::integer_value(integer))
            .map_err(|_| OpError(format!("attribute '{name}' must be an integer, but is {attribute}")))
    }

    /// An optional integer attribute, sign-extended to 64 bits.
    ///
    /// # Errors
    /// It is there and of another kind; its name.
    pub fn optional_integer(&self, name: &str) -> Result<Option<i64>, OpError> {
        if self.attribute(name).is_none() { Ok(None) } else { self.integer(name).map(Some) }
    }

    /// A boolean attribute, `default` where it is missing.
    ///
    /// # Errors
    /// It is there and of another kind; its name.
    pub fn boolean(&self, name: &str, default: bool) -> Result<bool, OpError> {
        let Some(attribute) = self.attribute(name) else { return Ok(default) };
        BoolAttribute::try_from(attribute)
            .map(|boolean| boolean.value())
            .map_err(|_| OpError(format!("attribute '{name}' must be a bool, but is {attribute}")))
    }

    /// A string attribute, `None` where it is missing.
    ///
    /// # Errors
    /// It is there and of another kind; its name.
    pub fn string(&self, name: &str) -> Result<Option<&'c str>, OpError> {
        let Some(attribute) = self.attribute(name) else { return Ok(None) };
        StringAttribute::try_from(attribute)
            .map(|string| Some(ffi::string_value(string)))
            .map_err(|_| OpError(format!("attribute '{name}' must be a string, but is {attribute}")))
    }

    /// Number of regions.
    pub fn region_count(&self) -> usize {
        match self {
            Self::Op(op) => op.region_count(),
            Self::Parts(parts) => parts.regions.len(),
        }
    }

    /// Region `index`, or an error that names the missing one.
    ///
    /// # Errors
    /// There is no such region; its number.
    pub fn region(&self, index: usize) -> Result<RegionRef<'c, 'a>, OpError> {
        let region = match self {
            Self::Op(op) if index < op.region_count() => op.region(index).ok(),
            Self::Op(_) => None,
            Self::Parts(parts) => parts.regions.get(index).copied(),
        };
        region
            .ok_or_else(|| OpError(format!("region #{index} is missing; there are {}", self.region_count())))
    }

    /// Reports `error` at the op, or nowhere if silence was asked for.
    pub(crate) fn report(&self, error: &OpError) {
        match self {
            Self::Op(op) => ffi::emit_op_error(*op, &error.0),
            Self::Parts(Parts { location: Some(location), name, .. }) => {
                ffi::emit_op_error_at(*location, name, &error.0)
            }
            Self::Parts(_) => {}
        }
    }
}
