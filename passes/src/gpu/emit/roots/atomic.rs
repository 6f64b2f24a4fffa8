// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Updates of an element in memory that other threads may update at the same time.

use super::Result;
use super::group::bits;
use super::reducer::bytes_of;
use crate::gpu::emit::code::{Code, Scalar};
use crate::gpu::emit::element::Kernel;
use crate::gpu::emit::numbers;
use melior::ir::attribute::StringAttribute;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{BlockRef, Type, TypeLike, Value, ValueLike};
use slimhlo_dialect::ffi;
use slimhlo_dialect::quant::Number;

/// How the body of a scatter changes an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// The update takes its place.
    Replace,
    /// One op that memory does by itself, by its number in LLVM.
    Native(i64),
    /// A sum of complex numbers: one of real and one of imaginary parts.
    AddParts,
    /// Anything else: computed anew until nobody was faster.
    Swap,
    /// Too wide to be swapped at once.
    Alone,
}

/// The update of a body on old value and update, both of this element type.
pub fn update_of<'c: 'a, 'a>(block: BlockRef<'c, 'a>, element: Type<'c>) -> Update {
    let number = Number::of(element);
    let wide = matches!(number, Number::Complex { part } if part.is_f64());
    let general = if wide { Update::Alone } else { Update::Swap };
    let Some(first) = block.first_operation() else { return general };
    if ffi::op_name(first) == "stablehlo.return" {
        let new = block.argument(1).ok().map(Value::from);
        return if first.operands().next() == new && !wide { Update::Replace } else { general };
    }
    let Some(name) = only_op(block) else { return general };
    let native = match (number, name) {
        // One byte each, but not all of it counts.
        (Number::Integer { width, .. }, _) if width < 8 => None,
        (Number::Integer { .. }, "add") => Some(1),
        (Number::Integer { .. }, "and") => Some(3),
        (Number::Integer { .. }, "or") => Some(5),
        (Number::Integer { .. }, "xor") => Some(6),
        (Number::Integer { unsigned: false, .. }, "maximum") => Some(7),
        (Number::Integer { unsigned: false, .. }, "minimum") => Some(8),
        (Number::Integer { unsigned: true, .. }, "maximum") => Some(9),
        (Number::Integer { unsigned: true, .. }, "minimum") => Some(10),
        // Of 16 bits where the chip has it, with what shares its word (f16 from sm_70 on, bf16 from sm_90:
        // tools/nvptx/src/halves.rs); LLVM swaps until nobody was faster elsewhere.
        (Number::Float { width: 16 | 32 | 64 }, "add") => Some(11),
        (Number::Complex { .. }, "add") => return Update::AddParts,
        _ => None,
    };
    native.map_or(general, Update::Native)
}

/// The name of the one op, on old value and update, that a body is.
pub fn only_op<'c: 'a, 'a>(block: BlockRef<'c, 'a>) -> Option<&'a str> {
    let first = block.first_operation()?;
    let (old, new): (Value, Value) = (block.argument(0).ok()?.into(), block.argument(1).ok()?.into());
    let operands: Vec<Value> = first.operands().collect();
    let both = operands.len() == 2 && operands.contains(&old) && operands.contains(&new);
    let last = first.next_in_block()?;
    let returned = ffi::op_name(last) == "stablehlo.return"
        && last.operands().next() == first.results().next().map(Value::from);
    (both && returned).then(|| ffi::op_name(first).trim_start_matches("stablehlo."))
}

/// Changes the element at an address by an update; `body` computes the new value from the old one.
pub fn apply<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    update: Update,
    element: Type<'c>,
    pointer: Value<'c, 'a>,
    linear: Value<'c, 'a>,
    value: Scalar<'c, 'a>,
    body: &dyn Fn(Scalar<'c, 'a>) -> Result<'c, Scalar<'c, 'a>>,
) -> Result<'c, ()> {
    let code = &kernel.code;
    match update {
        Update::Replace => kernel.store(pointer, element, linear, value),
        Update::Native(kind) => {
            let address = kernel.element_pointer(pointer, element, linear)?;
            read_modify_write(code, kind, address, value.real(), "device");
            Ok(())
        }
        Update::AddParts => {
            let Number::Complex { part } = Number::of(element) else { unreachable!("chosen for complex") };
            let first = code.mul(linear, code.index(2));
            for (number, value) in value.parts().into_iter().enumerate() {
                let address =
                    kernel.element_pointer(pointer, part, code.add(first, code.index(number as i64)))?;
                read_modify_write(code, 11, address, value, "device");
            }
            Ok(())
        }
        Update::Swap => {
            let address = kernel.element_pointer(pointer, element, linear)?;
            let width = 8 * bytes_of(element) as u32;
            let old = code.op("llvm.load", &[address], code.int(width));
            let begin = [old, code.integer(0, code.int(1))];
            code.while_loop(
                &begin,
                |carried| Ok(code.binary("arith.xori", carried[1], code.integer(1, code.int(1)))),
                |carried| {
                    let new = body(from_bits(kernel, carried[0], element)?)?;
                    let new = to_bits(kernel, new, element)?;
                    let (seen, done) = compare_and_swap(code, address, carried[0], new, width);
                    Ok(vec![seen, done])
                },
            )?;
            Ok(())
        }
        Update::Alone => {
            let old = kernel.load(pointer, element, linear)?;
            kernel.store(pointer, element, linear, body(old)?)
        }
    }
}

/// `llvm.atomicrmw`, by its number, without order between threads; `scope` are those that the memory is for.
pub fn read_modify_write<'c: 'a, 'a>(
    code: &Code<'c, 'a>,
    kind: i64,
    address: Value<'c, 'a>,
    value: Value<'c, 'a>,
    scope: &str,
) {
    let attributes = [
        ("bin_op", code.i64_attribute(kind)),
        ("ordering", code.i64_attribute(MONOTONIC)),
        ("syncscope", StringAttribute::new(code.context(), scope).into()),
    ];
    code.op_with("llvm.atomicrmw", &[address, value], &attributes, value.r#type());
}

/// LLVM's number of the order that orders one address only.
const MONOTONIC: i64 = 2;

/// What was at the address, and whether it was as expected and has been replaced.
fn compare_and_swap<'c: 'a, 'a>(
    code: &Code<'c, 'a>,
    address: Value<'c, 'a>,
    expected: Value<'c, 'a>,
    new: Value<'c, 'a>,
    width: u32,
) -> (Value<'c, 'a>, Value<'c, 'a>) {
    let device = StringAttribute::new(code.context(), "device").into();
    let attributes = [
        ("success_ordering", code.i64_attribute(MONOTONIC)),
        ("failure_ordering", code.i64_attribute(MONOTONIC)),
        ("syncscope", device),
    ];
    let pair = Type::parse(code.context(), &format!("!llvm.struct<(i{width}, i1)>")).expect("llvm is loaded");
    let pair = code.op_with("llvm.cmpxchg", &[address, expected, new], &attributes, pair);
    let part = |at: i64, bits: u32| {
        let position = code.builder().i64_array(&[at]);
        code.op_with("llvm.extractvalue", &[pair], &[("position", position)], code.int(bits))
    };
    (part(0, width), part(1, 1))
}

/// An element as the bits it has in memory, complex numbers with the real part low.
fn to_bits<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    value: Scalar<'c, 'a>,
    element: Type<'c>,
) -> Result<'c, Value<'c, 'a>> {
    let code = &kernel.code;
    let stored = numbers::to_storage(code, value, element);
    let parts: Vec<_> = stored.parts().into_iter().map(|part| bits(code, part)).collect();
    Ok(match parts[..] {
        [real, imaginary] => {
            let width = 4 * bytes_of(element) as u32;
            let ty = code.int(2 * width);
            let real = code.op("arith.extui", &[real], ty);
            let imaginary = code.op("arith.extui", &[imaginary], ty);
            let high = code.binary("arith.shli", imaginary, code.integer(i64::from(width), ty));
            code.binary("arith.ori", high, real)
        }
        _ => parts[0],
    })
}

/// The inverse of [`to_bits`].
fn from_bits<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    value: Value<'c, 'a>,
    element: Type<'c>,
) -> Result<'c, Scalar<'c, 'a>> {
    let code = &kernel.code;
    let as_float = |value: Value<'c, 'a>, ty: Type<'c>| {
        if ty.is_float() { code.op("arith.bitcast", &[value], ty) } else { value }
    };
    let stored = match Number::of(element) {
        Number::Complex { part } => {
            let width = 4 * bytes_of(element) as u32;
            let half = code.int(width);
            let shift = code.integer(i64::from(width), code.int(2 * width));
            let high = code.binary("arith.shrui", value, shift);
            let real = code.op("arith.trunci", &[value], half);
            let imaginary = code.op("arith.trunci", &[high], half);
            Scalar::Complex(as_float(real, part), as_float(imaginary, part))
        }
        _ => Scalar::Real(as_float(value, numbers::storage_type(code, element).unwrap_or(value.r#type()))),
    };
    Ok(numbers::from_storage(code, stored, element))
}
