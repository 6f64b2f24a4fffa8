// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Scatters into small targets: each block has a copy of the target in workgroup memory, changes that, and in the end each of its
//! elements that it has changed becomes one update of the target.
//!
//! Histograms, sums of segments and gradients of short tables have many updates of few places, which would wait for each
//! other in device memory. A copy starts with what changes nothing, so what a block comes to is one update like any other;
//! the order of updates is open. Bodies are one op that is associative and commutative: sums (in f32 where elements are
//! narrower, as those of reductions are), integers' bits, and largest and smallest values. Those of floats are found among
//! integers that are in the same order, with NaNs beyond all, so that memory can do it by itself.
//!
//! Where threads that follow each other may change the same element, a block has several copies, each for every few of them.

use super::Result;
use super::arithmetic::convert;
use super::atomic::{self, Update};
use super::group::{self, bits};
use crate::gpu::emit::code::{Code, Float, Int, Scalar};
use crate::gpu::emit::element::{Grids, Kernel};
use melior::ir::r#type::IntegerType;
use melior::ir::{OperationRef, Type, TypeLike, Value, ValueLike};
use slimhlo_dialect::quant::Number;

/// Bytes of workgroup memory for a copy, and for all copies of a block.
const MOST: i64 = 32 << 10;
const MOST_COPIED: i64 = 16 << 10;
/// Threads that run at the same time.
const WARP: i64 = 32;
/// Times the blocks that busy the chip among which updates are shared, at most.
const MOST_BLOCKS: i64 = 2;
/// Blocks below which there are too few updates for this.
const FEWEST_BLOCKS: i64 = 8;
/// Updates of a block: at least so many, and so many times the elements of the target.
const FEWEST_UPDATES: i64 = 4096;
const UPDATES_PER_ELEMENT: i64 = 16;

/// How elements of the target are held in the copies.
#[derive(Clone, Copy, Debug)]
enum Form<'c> {
    /// Integers, in a register of at least 32 bits.
    Integer { signed: bool },
    /// Floats, or the parts of a complex number, of this type.
    Float(Type<'c>),
    /// Floats as integers without a sign that are in the same order.
    Ordered { float: Type<'c>, largest: bool },
}

/// A scatter through copies of its target.
#[derive(Clone, Copy, Debug)]
pub struct Private<'c> {
    element: Type<'c>,
    form: Form<'c>,
    /// Type of the memory.
    register: Type<'c>,
    /// Number of LLVM's op on memory, and the bits of what it leaves elements as they are with.
    kind: i64,
    identity: i64,
    /// Values that an element is held as.
    parts: i64,
    /// Elements of the target.
    count: i64,
    /// Copies that a block has.
    copies: i64,
    /// Updates that follow each other and are in different places.
    apart: i64,
    /// Blocks worth starting.
    pub blocks: i64,
}

impl<'c> Private<'c> {
    /// For a target of `count` elements that `body`, one op on old value and update, changes by `updates` updates. Of these, each `apart`
    /// that follow each other are in different places. `None` where updates are better made in the target itself.
    pub fn plan<'a>(
        op: OperationRef<'c, 'a>,
        body: &str,
        element: Type<'c>,
        [count, updates, apart]: [i64; 3],
    ) -> Option<Self> {
        let context = crate::rewrite::context_of(op);
        let integer = |width: u32| -> Type<'c> { IntegerType::new(context, width).into() };
        let lowest = |width: u32| if width > 32 { i64::MIN } else { i64::from(i32::MIN) };
        let greatest = |width: u32| if width > 32 { i64::MAX } else { i64::from(i32::MAX) };
        let mut parts = 1;
        let (form, width, kind, identity) = match (Number::of(element), body) {
            (Number::Integer { width, unsigned }, _) => {
                let unsigned = unsigned || width == 1;
                let (kind, identity) = match (body, unsigned) {
                    ("add", _) if width > 1 => (1, 0),
                    ("and", _) => (3, -1),
                    ("minimum", _) if width == 1 => (3, -1),
                    ("or", _) => (5, 0),
                    ("maximum", _) if width == 1 => (5, 0),
                    ("xor", _) => (6, 0),
                    ("maximum", false) => (7, lowest(width)),
                    ("minimum", false) => (8, greatest(width)),
                    ("maximum", true) => (9, 0),
                    ("minimum", true) => (10, -1),
                    _ => return None,
                };
                (Form::Integer { signed: !unsigned }, width.max(32), kind, identity)
            }
            (Number::Float { width: 16 | 32 | 64 }, "maximum" | "minimum" | "add") => {
                let wide = matches!(Number::of(element), Number::Float { width: 64 });
                let float = if wide { element } else { Type::float32(context) };
                let width = if wide { 64 } else { 32 };
                match body {
                    "add" => (Form::Float(float), width, 11, lowest(width)),
                    "maximum" => (Form::Ordered { float, largest: true }, width, 9, 0),
                    _ => (Form::Ordered { float, largest: false }, width, 10, -1),
                }
            }
            (Number::Complex { part }, "add") => {
                parts = 2;
                let width = if part.is_f64() { 64 } else { 32 };
                (Form::Float(part), width, 11, lowest(width))
            }
            _ => return None,
        };
        if !matches!(width, 32 | 64) {
            return None;
        }
        let register = match form {
            Form::Float(ty) => ty,
            _ => integer(width),
        };
        let bytes =
            count.checked_mul(parts * i64::from(width / 8)).filter(|bytes| (1..=MOST).contains(bytes))?;
        let share = FEWEST_UPDATES.max(UPDATES_PER_ELEMENT * count);
        let blocks = (updates / share).min(MOST_BLOCKS * Grids::around(op).full());
        if blocks < FEWEST_BLOCKS {
            return None;
        }
        let mut copies = WARP;
        while copies > 1 && (copies * bytes > MOST_COPIED || copies * apart >= 2 * WARP) {
            copies /= 2;
        }
        Some(Self { element, form, register, kind, identity, parts, count, copies, apart, blocks })
    }

    /// The workgroup memory that a block needs.
    pub fn shared(&self) -> (Type<'c>, i64) {
        (self.register, self.count * self.parts * self.copies)
    }

    /// What changes nothing.
    fn nothing<'a>(&self, code: &Code<'c, 'a>) -> Value<'c, 'a> {
        match self.form {
            Form::Float(ty) => code.float(-0.0, ty),
            _ => code.integer(self.identity, self.register),
        }
    }

    /// Fills the copies; all threads of a block take part.
    pub fn begin<'a>(&self, kernel: &Kernel<'c, 'a>) -> Result<'c, ()> {
        let code = &kernel.code;
        let (_, count) = self.shared();
        let (thread, threads) = (code.gpu("gpu.thread_id"), code.gpu("gpu.block_dim"));
        let nothing = self.nothing(code);
        code.for_loop(thread, code.index(count), threads, &[], |place, _| {
            group::store(code, kernel.shared(0), place, nothing);
            Ok(vec![])
        })?;
        code.effect("gpu.barrier", &[]);
        Ok(())
    }

    /// Where a copy's element is.
    fn place<'a>(
        &self,
        code: &Code<'c, 'a>,
        element: Value<'c, 'a>,
        copy: Value<'c, 'a>,
        part: i64,
    ) -> Value<'c, 'a> {
        let first = code.mul(element, code.index(self.parts));
        let row = code.mul(code.add(first, code.index(part)), code.index(self.copies));
        code.add(row, copy)
    }

    /// Changes an element of the block's copy, by the update of this number.
    pub fn update<'a>(
        &self,
        kernel: &Kernel<'c, 'a>,
        op: OperationRef<'c, 'a>,
        number: Value<'c, 'a>,
        element: Value<'c, 'a>,
        value: Scalar<'c, 'a>,
    ) -> Result<'c, ()> {
        let code = &kernel.code;
        let copy = code.rem(code.div(number, self.apart), self.copies);
        let memory = pointer(code, kernel.shared(0));
        for (part, value) in self.hold(kernel, op, value)?.into_iter().enumerate() {
            let place = self.place(code, element, copy, part as i64);
            let address = kernel.offset(memory, self.register, &[place], i32::MIN);
            atomic::read_modify_write(code, self.kind, address, value, "block");
        }
        Ok(())
    }

    /// Makes an update of the target of each element that the block has changed; all threads of a block take part.
    pub fn end<'a>(
        &self,
        kernel: &Kernel<'c, 'a>,
        op: OperationRef<'c, 'a>,
        update: Update,
        target: Value<'c, 'a>,
        body: &dyn Fn(Scalar<'c, 'a>, Scalar<'c, 'a>) -> Result<'c, Scalar<'c, 'a>>,
    ) -> Result<'c, ()> {
        let code = &kernel.code;
        code.effect("gpu.barrier", &[]);
        let (thread, threads) = (code.gpu("gpu.thread_id"), code.gpu("gpu.block_dim"));
        code.for_loop(thread, code.index(self.count), threads, &[], |element, _| {
            let nothing = vec![self.nothing(code); self.parts as usize];
            let read = |copy: Value<'c, 'a>| -> Vec<Value<'c, 'a>> {
                (0..self.parts)
                    .map(|part| {
                        let place = self.place(code, element, copy, part);
                        group::load(code, kernel.shared(0), place, self.register)
                    })
                    .collect()
            };
            let (from, to, step) = (code.index(0), code.index(self.copies), code.index(1));
            let held = if self.copies == 1 {
                read(from)
            } else {
                // Threads that follow each other read different copies: memory has a bank for each.
                let own = code.rem(element, self.copies);
                code.for_loop(from, to, step, &nothing, |number, held| {
                    let copy = code.binary("arith.xori", own, number);
                    Ok(held
                        .iter()
                        .zip(read(copy))
                        .map(|(held, one)| self.combine(code, *held, one))
                        .collect())
                })?
            };
            let mut changed = None;
            for value in &held {
                let value = bits(code, *value);
                let one = code.compare(Int::Ne, value, code.integer(self.identity, value.r#type()));
                changed = Some(match changed {
                    Some(others) => code.binary("arith.ori", others, one),
                    None => one,
                });
            }
            let write = || {
                let value = self.release(kernel, op, &held)?;
                let body = |old: Scalar<'c, 'a>| body(old, value);
                atomic::apply(kernel, update, self.element, target, element, value, &body)
            };
            match changed {
                Some(changed) => code.if_then(changed, write)?,
                None => write()?,
            }
            Ok(vec![])
        })?;
        Ok(())
    }

    /// What elements of two copies come to.
    fn combine<'a>(&self, code: &Code<'c, 'a>, left: Value<'c, 'a>, right: Value<'c, 'a>) -> Value<'c, 'a> {
        let name = match self.kind {
            1 => "arith.addi",
            3 => "arith.andi",
            5 => "arith.ori",
            6 => "arith.xori",
            7 => "arith.maxsi",
            8 => "arith.minsi",
            9 => "arith.maxui",
            10 => "arith.minui",
            _ => "arith.addf",
        };
        code.binary(name, left, right)
    }

    /// An element as the copies have it.
    fn hold<'a>(
        &self,
        kernel: &Kernel<'c, 'a>,
        op: OperationRef<'c, 'a>,
        value: Scalar<'c, 'a>,
    ) -> Result<'c, Vec<Value<'c, 'a>>> {
        let code = &kernel.code;
        Ok(match self.form {
            Form::Integer { signed } => vec![code.resize(value.real(), self.register, signed)],
            Form::Float(_) if self.parts == 2 => value.parts(),
            Form::Float(ty) => vec![convert(kernel, op, value, self.element, ty)?.real()],
            Form::Ordered { float, largest } => {
                let value = convert(kernel, op, value, self.element, float)?.real();
                let nan = code.compare_floats(Float::Uno, value, value);
                let bits = bits(code, value);
                // Of negative numbers all bits are turned, of others the sign; 0 and -1 are left for NaNs, 0 for nothing at all.
                let width = if float.is_f64() { 63 } else { 31 };
                let sign = code.binary("arith.shrsi", bits, code.integer(width, self.register));
                let lowest = if width == 63 { i64::MIN } else { i64::from(i32::MIN) };
                let turn = code.binary("arith.ori", sign, code.integer(lowest, self.register));
                let ordered = code.binary("arith.xori", bits, turn);
                let beyond = code.integer(if largest { -1 } else { 0 }, self.register);
                vec![code.select(nan, beyond, ordered)]
            }
        })
    }

    /// The inverse of [`hold`](Self::hold).
    fn release<'a>(
        &self,
        kernel: &Kernel<'c, 'a>,
        op: OperationRef<'c, 'a>,
        held: &[Value<'c, 'a>],
    ) -> Result<'c, Scalar<'c, 'a>> {
        let code = &kernel.code;
        Ok(match self.form {
            Form::Integer { signed } => {
                let types = kernel.registers(self.element)?;
                Scalar::Real(code.resize(held[0], types[0], signed))
            }
            Form::Float(_) if self.parts == 2 => Scalar::from_parts(held),
            Form::Float(ty) => convert(kernel, op, Scalar::Real(held[0]), ty, self.element)?,
            Form::Ordered { float, .. } => {
                let width = if float.is_f64() { 63 } else { 31 };
                let sign = code.binary("arith.shrsi", held[0], code.integer(width, self.register));
                let other = code.binary("arith.xori", sign, code.integer(-1, self.register));
                let lowest = if width == 63 { i64::MIN } else { i64::from(i32::MIN) };
                let turn = code.binary("arith.ori", other, code.integer(lowest, self.register));
                let bits = code.binary("arith.xori", held[0], turn);
                let value = code.op("arith.bitcast", &[bits], float);
                convert(kernel, op, Scalar::Real(value), float, self.element)?
            }
        })
    }
}

/// The address of workgroup memory.
fn pointer<'c: 'a, 'a>(code: &Code<'c, 'a>, memory: Value<'c, 'a>) -> Value<'c, 'a> {
    let context = code.context();
    let address = code.op("memref.extract_aligned_pointer_as_index", &[memory], Type::index(context));
    let address = code.op("arith.index_cast", &[address], code.int(64));
    code.op("llvm.inttoptr", &[address], melior::dialect::llvm::r#type::pointer(context, 3))
}
