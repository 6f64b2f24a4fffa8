// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Views of element types: quantized ones (`!quant.uniform<...>`), and what kind and width a number has.
//!
//! One of the few modules with `unsafe`: melior has no wrappers for the quant dialect.

use crate::ffi;
use crate::types::is_static;
use melior::ContextRef;
use melior::ir::r#type::TupleType;
use melior::ir::{Type, TypeLike};
use mlir_sys::{
    mlirComplexTypeGet, mlirComplexTypeGetElementType, mlirFloatTypeGetWidth, mlirIntegerTypeGet,
    mlirIntegerTypeGetWidth, mlirIntegerTypeIsUnsigned, mlirIntegerTypeUnsignedGet,
    mlirQuantizedTypeGetExpressedType, mlirQuantizedTypeGetStorageType,
    mlirQuantizedTypeGetStorageTypeIntegralWidth, mlirQuantizedTypeGetStorageTypeMax,
    mlirQuantizedTypeGetStorageTypeMin, mlirQuantizedTypeIsSigned, mlirTypeIsAComplex, mlirTypeIsAFloat,
    mlirTypeIsAInteger, mlirTypeIsAQuantizedType, mlirTypeIsAUniformQuantizedPerAxisType,
    mlirTypeIsAUniformQuantizedType, mlirUniformQuantizedPerAxisTypeGet,
    mlirUniformQuantizedPerAxisTypeGetNumDims, mlirUniformQuantizedPerAxisTypeGetQuantizedDimension,
    mlirUniformQuantizedPerAxisTypeGetScale, mlirUniformQuantizedPerAxisTypeGetZeroPoint,
    mlirUniformQuantizedTypeGetScale, mlirUniformQuantizedTypeGetZeroPoint,
};

/// How finely a quantized type is scaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granularity {
    /// One scale and zero point for the whole tensor.
    PerTensor,
    /// One scale and zero point for each index of one dimension.
    PerAxis,
    /// Neither: a calibrated, an any or a blocked quantized type.
    Other,
}

/// A quantized element type of any granularity.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Quantized<'c> {
    /// The type itself.
    pub ty: Type<'c>,
}

impl<'c> Quantized<'c> {
    /// Views a quantized type; `None` for any other type.
    pub fn new(ty: Type<'c>) -> Option<Self> {
        // SAFETY: the type is alive.
        unsafe { mlirTypeIsAQuantizedType(ty.to_raw()) }.then_some(Self { ty })
    }

    /// How finely it is scaled.
    pub fn granularity(&self) -> Granularity {
        // SAFETY: the type is alive.
        unsafe {
            if mlirTypeIsAUniformQuantizedType(self.ty.to_raw()) {
                Granularity::PerTensor
            } else if mlirTypeIsAUniformQuantizedPerAxisType(self.ty.to_raw()) {
                Granularity::PerAxis
            } else {
                Granularity::Other
            }
        }
    }

    /// Whether there is one scale for each index of a dimension.
    pub fn is_per_axis(&self) -> bool {
        self.granularity() == Granularity::PerAxis
    }

    /// The integer type the numbers are stored in (signless).
    pub fn storage(&self) -> Type<'c> {
        // SAFETY: the type is a live quantized one.
        unsafe { Type::from_raw(mlirQuantizedTypeGetStorageType(self.ty.to_raw())) }
    }

    /// Width of the storage type in bits.
    pub fn storage_width(&self) -> u32 {
        // SAFETY: the type is a live quantized one.
        unsafe { mlirQuantizedTypeGetStorageTypeIntegralWidth(self.ty.to_raw()) }
    }

    /// Whether stored numbers are signed.
    pub fn is_signed(&self) -> bool {
        // SAFETY: the type is a live quantized one.
        unsafe { mlirQuantizedTypeIsSigned(self.ty.to_raw()) }
    }

    /// The floating point type the numbers stand for; `None` where the quantized type does not say.
    pub fn expressed(&self) -> Option<Type<'c>> {
        // SAFETY: the type is a live quantized one; one without expressed type gives null.
        unsafe {
            let raw = mlirQuantizedTypeGetExpressedType(self.ty.to_raw());
            (!raw.ptr.is_null()).then(|| Type::from_raw(raw))
        }
    }

    /// Smallest number that may be stored.
    pub fn storage_min(&self) -> i64 {
        // SAFETY: the type is a live quantized one.
        unsafe { mlirQuantizedTypeGetStorageTypeMin(self.ty.to_raw()) }
    }

    /// Largest number that may be stored.
    pub fn storage_max(&self) -> i64 {
        // SAFETY: the type is a live quantized one.
        unsafe { mlirQuantizedTypeGetStorageTypeMax(self.ty.to_raw()) }
    }

    /// The dimension a per-axis type has a scale for each index of.
    pub fn quantized_dimension(&self) -> Option<i64> {
        self.is_per_axis().then(|| {
            // SAFETY: asked of a per-axis type only.
            i64::from(unsafe { mlirUniformQuantizedPerAxisTypeGetQuantizedDimension(self.ty.to_raw()) })
        })
    }

    /// Scales: one for a per-tensor type, one per index for a per-axis type, none for others.
    pub fn scales(&self) -> Vec<f64> {
        self.parameters(
            // SAFETY: called for per-tensor types only.
            |ty| unsafe { mlirUniformQuantizedTypeGetScale(ty.to_raw()) },
            // SAFETY: called for per-axis types and valid positions only.
            |ty, index| unsafe { mlirUniformQuantizedPerAxisTypeGetScale(ty.to_raw(), index) },
        )
    }

    /// Zero points: one for a per-tensor type, one per index for a per-axis type, none for others.
    pub fn zero_points(&self) -> Vec<i64> {
        self.parameters(
            // SAFETY: called for per-tensor types only.
            |ty| unsafe { mlirUniformQuantizedTypeGetZeroPoint(ty.to_raw()) },
            // SAFETY: called for per-axis types and valid positions only.
            |ty, index| unsafe { mlirUniformQuantizedPerAxisTypeGetZeroPoint(ty.to_raw(), index) },
        )
    }

    fn parameters<T>(&self, whole: fn(Type<'c>) -> T, at: fn(Type<'c>, isize) -> T) -> Vec<T> {
        match self.granularity() {
            Granularity::PerTensor => vec![whole(self.ty)],
            Granularity::PerAxis => {
                // SAFETY: the type is a live per-axis one.
                let count = unsafe { mlirUniformQuantizedPerAxisTypeGetNumDims(self.ty.to_raw()) };
                (0..count).map(|index| at(self.ty, index)).collect()
            }
            Granularity::Other => Vec::new(),
        }
    }

    /// The per-axis type that has this one's scales along another dimension; `None` unless this one is per-axis.
    pub fn along(&self, axis: i32) -> Option<Type<'c>> {
        let expressed = self.expressed().filter(|_| self.is_per_axis() && axis >= 0)?;
        let (mut scales, mut zero_points) = (self.scales(), self.zero_points());
        // SAFETY: all types are alive and the arrays are copied; but for the axis, every value comes from a valid type.
        unsafe {
            Some(Type::from_raw(mlirUniformQuantizedPerAxisTypeGet(
                u32::from(self.is_signed()),
                self.storage().to_raw(),
                expressed.to_raw(),
                scales.len() as isize,
                scales.as_mut_ptr(),
                zero_points.as_mut_ptr(),
                axis,
                self.storage_min(),
                self.storage_max(),
            )))
        }
    }

    /// Whether two quantized types differ at most in scales and zero points.
    pub fn same_but_for_parameters(&self, other: &Self) -> bool {
        self.storage() == other.storage()
            && self.storage_min() == other.storage_min()
            && self.storage_max() == other.storage_max()
            && self.expressed() == other.expressed()
            && self.is_per_axis() == other.is_per_axis()
    }
}

/// Verifies what a quantized element type promises about the tensor it is in, tensors in tuples included: zero points
/// that can be stored, and for a per-axis type a dimension with as many indices as there are scales.
///
/// # Errors
/// The promise that the type breaks, with the numbers.
pub fn verify_quantized(ty: Type<'_>) -> Result<(), String> {
    // Asked first: this runs for every value of every op, and a conversion that fails prints the type into its error.
    if ty.is_tuple()
        && let Ok(tuple) = TupleType::try_from(ty)
    {
        return (0..tuple.type_count())
            .filter_map(|index| tuple.r#type(index).ok())
            .try_for_each(verify_quantized);
    }
    let Some(quantized) = ffi::element_type(ty).and_then(Quantized::new) else { return Ok(()) };
    let (low, high) = (quantized.storage_min(), quantized.storage_max());
    let zero_points = quantized.zero_points();
    if let Some(zero_point) = zero_points.iter().find(|&zero_point| !(low..=high).contains(zero_point)) {
        return Err(format!(
            "{ty} has zero point {zero_point}, which is not in the storage range {low} to {high}"
        ));
    }
    let (Some(axis), Some(shape)) = (quantized.quantized_dimension(), ffi::shape(ty)) else { return Ok(()) };
    let Some(&size) = usize::try_from(axis).ok().and_then(|axis| shape.get(axis)) else {
        return Err(format!("{ty} is quantized along dimension {axis}, but has rank {}", shape.len()));
    };
    if is_static(size) && usize::try_from(size) != Ok(zero_points.len()) {
        return Err(format!("{ty} has {} scales for dimension {axis} of size {size}", zero_points.len()));
    }
    Ok(())
}

/// What kind of number an element type is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Number<'c> {
    /// An integer, booleans included.
    Integer {
        /// Width in bits.
        width: u32,
        /// Whether it is `ui<width>`; signless and signed integers are not.
        unsigned: bool,
    },
    /// A floating point number.
    Float {
        /// Width in bits.
        width: u32,
    },
    /// A complex number.
    Complex {
        /// Type of the real and the imaginary part.
        part: Type<'c>,
    },
    /// A quantized number.
    Quantized(Quantized<'c>),
    /// No number that the dialect computes with.
    Other,
}

impl<'c> Number<'c> {
    /// Classifies an element type.
    pub fn of(element: Type<'c>) -> Self {
        let raw = element.to_raw();
        // SAFETY: the type is alive, and each getter is called for the kind of type it asserts.
        unsafe {
            if mlirTypeIsAInteger(raw) {
                Self::Integer {
                    width: mlirIntegerTypeGetWidth(raw),
                    unsigned: mlirIntegerTypeIsUnsigned(raw),
                }
            } else if mlirTypeIsAFloat(raw) {
                Self::Float { width: mlirFloatTypeGetWidth(raw) }
            } else if mlirTypeIsAComplex(raw) {
                Self::Complex { part: Type::from_raw(mlirComplexTypeGetElementType(raw)) }
            } else {
                Quantized::new(element).map_or(Self::Other, Self::Quantized)
            }
        }
    }

    /// Whether it is an integer, of any signedness, with this many bits.
    pub fn is_integer_of_width(&self, bits: u32) -> bool {
        matches!(self, Self::Integer { width, .. } if *width == bits)
    }

    /// Width in bits of one number; twice that of a part for complex ones, of the storage for quantized ones.
    pub fn width(&self) -> Option<u32> {
        match self {
            Self::Integer { width, .. } | Self::Float { width } => Some(*width),
            Self::Complex { part } => Self::of(*part).width().and_then(|width| width.checked_mul(2)),
            Self::Quantized(quantized) => Some(quantized.storage_width()),
            Self::Other => None,
        }
    }
}

/// Whether `ty` is an integer type, booleans included.
pub fn is_integer(ty: Type<'_>) -> bool {
    matches!(Number::of(ty), Number::Integer { .. })
}

/// Whether `ty` is a floating point type.
pub fn is_float(ty: Type<'_>) -> bool {
    matches!(Number::of(ty), Number::Float { .. })
}

/// The part type of a complex type, `None` for any other.
pub fn complex_part(ty: Type<'_>) -> Option<Type<'_>> {
    match Number::of(ty) {
        Number::Complex { part } => Some(part),
        _ => None,
    }
}

/// `complex<part>`.
pub fn complex_of(part: Type<'_>) -> Type<'_> {
    // SAFETY: the type is alive.
    unsafe { Type::from_raw(mlirComplexTypeGet(part.to_raw())) }
}

/// `i<width>`.
pub fn signless(context: ContextRef<'_>, width: u32) -> Type<'_> {
    // SAFETY: the context is alive.
    unsafe { Type::from_raw(mlirIntegerTypeGet(context.to_ref().to_raw(), width)) }
}

/// `ui<width>`.
pub fn unsigned(context: ContextRef<'_>, width: u32) -> Type<'_> {
    // SAFETY: the context is alive.
    unsafe { Type::from_raw(mlirIntegerTypeUnsignedGet(context.to_ref().to_raw(), width)) }
}
