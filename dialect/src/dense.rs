// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Reading and building `dense<...>` attributes bit by bit, whatever their element type.
//!
//! One of the few modules with `unsafe`: the C API hands out the elements of every type but a few as raw bytes only.

use crate::quant::{Number, Quantized};
use crate::types::Tensor;
use melior::ir::{Attribute, AttributeLike, Type, TypeLike};
use mlir_sys::{
    mlirAttributeGetType, mlirAttributeIsADenseElements, mlirAttributeIsADenseFPElements,
    mlirAttributeIsADenseIntElements, mlirDenseElementsAttrBoolGet, mlirDenseElementsAttrBoolSplatGet,
    mlirDenseElementsAttrGetBoolSplatValue, mlirDenseElementsAttrGetBoolValue,
    mlirDenseElementsAttrGetRawData, mlirDenseElementsAttrIsSplat, mlirDenseElementsAttrRawBufferGet,
    mlirTypeIsAIndex,
};
use std::borrow::Cow;
use std::slice;

/// The elements of a constant, as bytes in the machine's order.
#[derive(Clone, Debug, PartialEq)]
pub struct Dense<'c> {
    /// Its type, whose element type is never quantized: a constant of quantized type holds stored integers.
    pub tensor: Tensor<'c>,
    /// Bytes per element; bools and other sub-byte elements take a whole one.
    width: usize,
    /// One element if they are all the same, else all in row-major order.
    data: Cow<'c, [u8]>,
    count: usize,
}

/// Bytes per element in memory; `None` for element types that a dense constant cannot hold.
pub fn element_bytes(element: Type<'_>) -> Option<usize> {
    // SAFETY: the type is alive.
    if unsafe { mlirTypeIsAIndex(element.to_raw()) } {
        return Some(8);
    }
    match Number::of(element) {
        Number::Integer { width, .. } | Number::Float { width } => Some((width as usize).div_ceil(8)),
        Number::Complex { part } => element_bytes(part)?.checked_mul(2),
        Number::Quantized(_) | Number::Other => None,
    }
}

fn is_bool(element: Type<'_>) -> bool {
    matches!(Number::of(element), Number::Integer { width: 1, .. })
}

/// The type of the attribute that holds a constant of type `ty`: stored integers for quantized elements.
fn attribute_tensor<'c>(tensor: &Tensor<'c>) -> Tensor<'c> {
    let stored = Quantized::new(tensor.element)
        .and_then(|quantized| Tensor::new(Tensor::get(tensor.shape, quantized.storage(), None)));
    stored.unwrap_or(*tensor)
}

impl<'c> Dense<'c> {
    /// Reads a `dense` attribute of numbers on a ranked tensor type; `None` for any other attribute.
    pub fn new(attribute: Attribute<'c>) -> Option<Self> {
        let raw = attribute.to_raw();
        // SAFETY: the attribute is alive; each getter is called for the kind of attribute it asserts.
        unsafe {
            let numbers = mlirAttributeIsADenseElements(raw)
                && (mlirAttributeIsADenseIntElements(raw)
                    || mlirAttributeIsADenseFPElements(raw)
                    || Tensor::new(Type::from_raw(mlirAttributeGetType(raw)))
                        .is_some_and(|tensor| matches!(Number::of(tensor.element), Number::Complex { .. })));
            if !numbers {
                return None;
            }
            let tensor = Tensor::new(Type::from_raw(mlirAttributeGetType(raw)))?;
            let width = element_bytes(tensor.element)?;
            let count = usize::try_from(tensor.element_count()?).ok()?;
            let splat = mlirDenseElementsAttrIsSplat(raw);
            let stored = if splat { 1 } else { count };
            let data = if is_bool(tensor.element) {
                // How the context packs bools is its own business.
                let values = if splat {
                    vec![u8::from(mlirDenseElementsAttrGetBoolSplatValue(raw) != 0)]
                } else {
                    (0..count as isize)
                        .map(|index| u8::from(mlirDenseElementsAttrGetBoolValue(raw, index)))
                        .collect()
                };
                Cow::Owned(values)
            } else if stored == 0 {
                Cow::Borrowed(&[][..])
            } else {
                let data = mlirDenseElementsAttrGetRawData(raw).cast::<u8>();
                Cow::Borrowed(slice::from_raw_parts(data, stored.checked_mul(width)?))
            };
            Some(Self { tensor, width, data, count })
        }
    }

    /// Like [`Self::new`], but `None` for more than `limit` elements unless they are stored as one.
    pub fn small(attribute: Attribute<'c>, limit: usize) -> Option<Self> {
        let raw = attribute.to_raw();
        // SAFETY: the attribute is alive and known to be dense where it is asked whether it is a splat.
        let splat = unsafe { mlirAttributeIsADenseElements(raw) && mlirDenseElementsAttrIsSplat(raw) };
        let count = Tensor::new(crate::ffi::type_of(attribute))?.element_count()?;
        (splat || usize::try_from(count).is_ok_and(|count| count <= limit)).then(|| Self::new(attribute))?
    }

    /// Elements for a constant of type `ty`: one for all, or one each in row-major order. `None` if their number or
    /// width does not fit the type.
    pub fn from_elements(ty: Tensor<'c>, data: Vec<u8>) -> Option<Self> {
        let tensor = attribute_tensor(&ty);
        let width = element_bytes(tensor.element)?;
        let count = usize::try_from(tensor.element_count()?).ok()?;
        let fits = data.len() == width || Some(data.len()) == count.checked_mul(width);
        // One element for none is no splat.
        let data = if count == 0 { Vec::new() } else { data };
        fits.then_some(Self { tensor, width, data: Cow::Owned(data), count })
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether all elements are stored as one.
    pub fn is_splat(&self) -> bool {
        self.count != 0 && self.data.len() == self.width
    }

    /// Bytes of element `index` in row-major order.
    pub fn element(&self, index: usize) -> &[u8] {
        let start = if self.is_splat() { 0 } else { index * self.width };
        &self.data[start..start + self.width]
    }

    /// The one value of all elements, if they are stored as one.
    pub fn splat(&self) -> Option<&[u8]> {
        self.is_splat().then(|| self.element(0))
    }

    /// The bits of element `index`, zero-extended; `None` for elements of more than 64 bits.
    pub fn bits(&self, index: usize) -> Option<u64> {
        bits(self.element(index))
    }

    /// The value of integer element `index`, extended by its own signedness; `None` for other elements and for unsigned
    /// ones that do not fit.
    pub fn integer(&self, index: usize) -> Option<i64> {
        let bits = self.bits(index)?;
        match Number::of(self.tensor.element) {
            Number::Integer { unsigned: true, .. } => i64::try_from(bits).ok(),
            Number::Integer { width: 1, .. } => Some(bits as i64),
            Number::Integer { width, .. } => Some(sign_extend(bits, width)),
            Number::Other => Some(bits as i64),
            _ => None,
        }
    }

    /// Builds the attribute.
    pub fn attribute(&self) -> Option<Attribute<'c>> {
        let ty = self.tensor.ty.to_raw();
        // SAFETY: the type is a live static ranked tensor of numbers; the buffer holds one element, or as many as the
        // type says, each as wide as the element type; it is copied.
        unsafe {
            let raw = if is_bool(self.tensor.element) {
                if self.is_splat() {
                    mlirDenseElementsAttrBoolSplatGet(ty, self.data[0] != 0)
                } else {
                    let values: Vec<i32> = self.data.iter().map(|&value| i32::from(value)).collect();
                    mlirDenseElementsAttrBoolGet(ty, values.len() as isize, values.as_ptr())
                }
            } else {
                mlirDenseElementsAttrRawBufferGet(ty, self.data.len(), self.data.as_ptr().cast())
            };
            (!raw.ptr.is_null()).then(|| Attribute::from_raw(raw))
        }
    }
}

/// The bits of an element of at most 64 bits.
pub fn bits(element: &[u8]) -> Option<u64> {
    if element.len() > 8 {
        return None;
    }
    let mut bytes = [0; 8];
    if cfg!(target_endian = "little") {
        bytes[..element.len()].copy_from_slice(element);
        Some(u64::from_le_bytes(bytes))
    } else {
        bytes[8 - element.len()..].copy_from_slice(element);
        Some(u64::from_be_bytes(bytes))
    }
}

/// The low bytes of `bits`, in the machine's order.
pub fn bytes(bits: u64, width: usize) -> Vec<u8> {
    if cfg!(target_endian = "little") {
        bits.to_le_bytes()[..width].to_vec()
    } else {
        bits.to_be_bytes()[8 - width..].to_vec()
    }
}

/// Reads the low `width` bits as a two's complement number.
pub fn sign_extend(bits: u64, width: u32) -> i64 {
    let unused = 64 - width.clamp(1, 64);
    ((bits << unused) as i64) >> unused
}
