// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `rng_bit_generator`: Threefry-2x32 and Philox-4x32, both of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3".
//! Which bits of the cipher go to which element, and how the state moves on, is as in XLA, so that bits are the same.
//!
//! A thread computes one block of the cipher and stores all elements that are made of it.
//!
//! * Threefry: the key is the state's first number, the counter starts at its second. 64-bit elements have a block each. Of
//!   narrower ones, two that are neighbours along the first dimension of even size (the first longest one if there is
//!   none) have one together; from what is narrower than 32 bits, high bits are cut.
//! * Philox, which "default" means as well: the key is the first number; the counter has 128 bits, of which the low ones
//!   start at the second number and the high ones at the third, or at the key if the state has two. Elements that follow
//!   each other share a block: four, or two of 64 bits.

use super::{Launch, Result, returned_as};
use crate::framework::PassError;
use crate::gpu::emit::code::{Code, Int, Scalar};
use crate::gpu::emit::element::{Kernel, count_of, tensor};
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Type, Value, ValueLike};
use slimhlo_dialect::ffi;
use slimhlo_dialect::quant::Number;
use slimhlo_dialect::stablehlo::attrs::RngAlgorithm;
use slimhlo_dialect::types::Tensor;

/// What is generated, and how.
struct Plan<'c> {
    philox: bool,
    bits: Tensor<'c>,
    width: u32,
    /// Threefry, narrower than 64 bits: the dimension along which neighbours share a block, none for scalars.
    pairs: Option<usize>,
    /// Blocks of the cipher.
    blocks: i64,
}

fn plan<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Result<'c, Plan<'c>> {
    let algorithm = ffi::attribute_of(op, "rng_algorithm")
        .and_then(|algorithm| RngAlgorithm::try_from(algorithm).ok())
        .unwrap_or(RngAlgorithm::Default);
    let bits = super::serial::result_tensor(op, 1)?;
    let width = Number::of(bits.element).width().filter(|width| matches!(width, 8 | 16 | 32 | 64));
    let width = width.ok_or_else(|| PassError::at(op, "generates elements that have no whole bytes"))?;
    let philox = algorithm != RngAlgorithm::ThreeFry;
    let count = count_of(bits.shape);
    let mut pairs = None;
    let blocks = if philox {
        (count + per_philox_block(width) - 1) / per_philox_block(width)
    } else if width == 64 {
        count
    } else {
        let even = bits.shape.iter().position(|size| size % 2 == 0);
        let longest = bits.shape.iter().max().copied();
        pairs = even.or_else(|| bits.shape.iter().position(|size| Some(*size) == longest));
        let of_dim = pairs.map_or(1, |dim| bits.shape[dim]);
        if of_dim == 0 { 0 } else { count / of_dim * ((of_dim + 1) / 2) }
    };
    Ok(Plan { philox, bits, width, pairs, blocks })
}

fn per_philox_block(width: u32) -> i64 {
    if width == 64 { 2 } else { 4 }
}

/// The launches: one.
pub fn launches<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Result<'c, Vec<Launch<'c>>> {
    Ok(vec![Launch::of_threads(plan(op)?.blocks)])
}

/// Writes the launch.
pub fn emit<'c: 'a, 'a>(kernel: &Kernel<'c, 'a>, op: OperationRef<'c, 'a>) -> Result<'c, ()> {
    let plan = plan(op)?;
    let code = &kernel.code;
    let [state_result, bits_result] = returned_as(op)[..] else {
        return Err(PassError::at(op, "has other than two results"));
    };
    let operand = op.operand(0)?;
    let state_type = tensor(operand)?;
    let state: Vec<Value> = (0..count_of(state_type.shape))
        .map(|number| Ok(kernel.element(operand, &[code.index(number)])?.real()))
        .collect::<Result<_>>()?;
    let ([key, counter], high) = match state[..] {
        [key, counter] => ([key, counter], key),
        [key, counter, high] => ([key, counter], high),
        _ => return Err(PassError::at(op, "has a state of other than two or three numbers")),
    };
    let i64 = code.int(64);
    if let Some(result) = state_result {
        let first = code.compare(Int::Eq, kernel.thread(), code.index(0));
        code.if_then(first, || {
            let blocks = code.integer(plan.blocks, i64);
            let low = code.binary("arith.addi", counter, blocks);
            let carry = code.compare(Int::Ult, low, counter);
            let mut next = vec![key, low];
            if state.len() == 3 {
                let carry = code.op("arith.extui", &[carry], i64);
                next.push(if plan.philox { code.binary("arith.addi", high, carry) } else { high });
            }
            for (number, value) in next.into_iter().enumerate() {
                let at = code.index(number as i64);
                kernel.store(kernel.result_pointer(result), state_type.element, at, Scalar::Real(value))?;
            }
            Ok(())
        })?;
    }
    let Some(result) = bits_result else { return Ok(()) };
    let pointer = kernel.result_pointer(result);
    let halves = |value: Value<'c, 'a>| -> [Value<'c, 'a>; 2] {
        let i32 = code.int(32);
        let high = code.binary("arith.shrui", value, code.integer(32, i64));
        [code.op("arith.trunci", &[value], i32), code.op("arith.trunci", &[high], i32)]
    };
    kernel.grid_stride(plan.blocks, |block| {
        let offset = code.resize(block, i64, false);
        let low = code.binary("arith.addi", counter, offset);
        let count = count_of(plan.bits.shape);
        if plan.philox {
            let carry = code.op("arith.extui", &[code.compare(Int::Ult, low, counter)], i64);
            let high = code.binary("arith.addi", high, carry);
            let [a, b] = halves(low);
            let [c, d] = halves(high);
            let words = philox(code, [a, b, c, d], halves(key));
            let per_block = per_philox_block(plan.width);
            let values: Vec<Value> = if plan.width == 64 {
                vec![join(code, words[0], words[1]), join(code, words[2], words[3])]
            } else {
                words.to_vec()
            };
            for (number, value) in values.into_iter().enumerate() {
                let at = code.add(code.mul(block, code.index(per_block)), code.index(number as i64));
                store(kernel, &plan, pointer, at, value, number > 0 && count % per_block != 0)?;
            }
            return Ok(());
        }
        let words = threefry(code, halves(low), halves(key));
        if plan.width == 64 {
            return store(kernel, &plan, pointer, block, join(code, words[0], words[1]), false);
        }
        let Some(dim) = plan.pairs else { return store(kernel, &plan, pointer, block, words[0], false) };
        let size = plan.bits.shape[dim];
        let mut half = plan.bits.shape.to_vec();
        half[dim] = (size + 1) / 2;
        let mut index = kernel.indices(&half, block);
        let first = code.mul(index[dim], code.index(2));
        for (number, word) in words.into_iter().enumerate() {
            index[dim] = code.add(first, code.index(number as i64));
            let at = kernel.linear(plan.bits.shape, &index);
            let write = || store(kernel, &plan, pointer, at, word, false);
            if number == 1 && size % 2 == 1 {
                code.if_then(code.compare(Int::Ult, index[dim], code.index(size)), write)?;
            } else {
                write()?;
            }
        }
        Ok(())
    })
}

/// Stores bits, cut to the element's width; if `checked`, only where there is such an element.
fn store<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    plan: &Plan<'c>,
    pointer: Value<'c, 'a>,
    at: Value<'c, 'a>,
    bits: Value<'c, 'a>,
    checked: bool,
) -> Result<'c, ()> {
    let code = &kernel.code;
    let write = || {
        let cut = code.resize(bits, code.int(plan.width), false);
        let register = super::arithmetic::register(code, plan.bits.element);
        let value = if register == cut.r#type() { cut } else { code.op("arith.bitcast", &[cut], register) };
        kernel.store(pointer, plan.bits.element, at, Scalar::Real(value))
    };
    if !checked {
        return write();
    }
    let within = code.compare(Int::Ult, at, code.index(count_of(plan.bits.shape)));
    code.if_then(within, write)
}

/// A 64-bit number of its low and high half.
fn join<'c: 'a, 'a>(code: &Code<'c, 'a>, low: Value<'c, 'a>, high: Value<'c, 'a>) -> Value<'c, 'a> {
    let i64 = code.int(64);
    let [low, high] = [low, high].map(|half| code.op("arith.extui", &[half], i64));
    code.binary("arith.ori", code.binary("arith.shli", high, code.integer(32, i64)), low)
}

/// A constant of 32 bits.
fn word<'c: 'a, 'a>(code: &Code<'c, 'a>, value: u32) -> Value<'c, 'a> {
    code.integer(i64::from(value as i32), code.int(32))
}

fn philox<'c: 'a, 'a>(
    code: &Code<'c, 'a>,
    mut counter: [Value<'c, 'a>; 4],
    mut key: [Value<'c, 'a>; 2],
) -> [Value<'c, 'a>; 4] {
    const ROUNDS: usize = 10;
    const FACTORS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
    const STEPS: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
    let xor = |left, right| code.binary("arith.xori", left, right);
    for _ in 0..ROUNDS {
        let [first, second] = [(counter[0], FACTORS[0]), (counter[2], FACTORS[1])].map(|(value, factor)| {
            let (i32, i64): (Type<'c>, Type<'c>) = (code.int(32), code.int(64));
            let wide = code.op("arith.extui", &[value], i64);
            let product = code.binary("arith.muli", wide, code.integer(i64::from(factor), i64));
            let high = code.binary("arith.shrui", product, code.integer(32, i64));
            [code.op("arith.trunci", &[product], i32), code.op("arith.trunci", &[high], i32)]
        });
        counter = [
            xor(xor(second[1], counter[1]), key[0]),
            second[0],
            xor(xor(first[1], counter[3]), key[1]),
            first[0],
        ];
        key = [0, 1].map(|half| code.binary("arith.addi", key[half], word(code, STEPS[half])));
    }
    counter
}

fn threefry<'c: 'a, 'a>(
    code: &Code<'c, 'a>,
    counter: [Value<'c, 'a>; 2],
    key: [Value<'c, 'a>; 2],
) -> [Value<'c, 'a>; 2] {
    const ROTATIONS: [[u32; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];
    const PARITY: u32 = 0x1BD1_1BDA;
    let add = |left, right| code.binary("arith.addi", left, right);
    let xor = |left, right| code.binary("arith.xori", left, right);
    let keys = [key[0], key[1], xor(xor(key[0], key[1]), word(code, PARITY))];
    let [mut left, mut right] = [add(counter[0], keys[0]), add(counter[1], keys[1])];
    for group in 0..5usize {
        for distance in ROTATIONS[group % 2] {
            left = add(left, right);
            let up = code.binary("arith.shli", right, word(code, distance));
            let down = code.binary("arith.shrui", right, word(code, 32 - distance));
            right = xor(code.binary("arith.ori", up, down), left);
        }
        left = add(left, keys[(group + 1) % 3]);
        right = add(add(right, keys[(group + 2) % 3]), word(code, group as u32 + 1));
    }
    [left, right]
}
