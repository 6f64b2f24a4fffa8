// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Groups of threads that share a task: single threads, warps, blocks; and how they combine what each of them has.

use super::serial::{flat, only_if, unflat};
use crate::framework::PassError;
use crate::gpu::emit::code::{Code, Int, Scalar};
use crate::gpu::emit::element::Kernel;
use crate::rewrite;
use melior::ir::operation::OperationLike;
use melior::ir::r#type::IntegerType;
use melior::ir::{Attribute, Type, TypeLike, Value, ValueLike};

type Result<'c, T> = std::result::Result<T, PassError<'c>>;

/// Combines what two threads have.
pub type Merge<'f, 'c, 'a> =
    dyn Fn(&[Scalar<'c, 'a>], &[Scalar<'c, 'a>]) -> Result<'c, Vec<Scalar<'c, 'a>>> + 'f;

/// Threads of a warp.
const WARP: i64 = 32;

/// How many threads share a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// One.
    Thread,
    /// A warp, or the block if that is smaller.
    Warp,
    /// All of a block.
    Block,
}

/// The group that the running thread belongs to.
pub struct Group<'c, 'a> {
    /// How many threads it has.
    pub size: Size,
    /// Their number, an index.
    pub threads: Value<'c, 'a>,
    /// The running thread's place among them.
    pub lane: Value<'c, 'a>,
    /// The group's number among all groups.
    number: Value<'c, 'a>,
    /// How many groups there are.
    groups: Value<'c, 'a>,
    thread: Value<'c, 'a>,
    block_threads: Value<'c, 'a>,
}

impl<'c: 'a, 'a> Group<'c, 'a> {
    /// Divides the launch into groups.
    pub fn new(code: &Code<'c, 'a>, size: Size) -> Self {
        let thread = code.gpu("gpu.thread_id");
        let block = code.gpu("gpu.block_id");
        let block_threads = code.gpu("gpu.block_dim");
        let blocks = code.gpu("gpu.grid_dim");
        let (threads, lane, number, groups) = match size {
            Size::Thread => {
                let number = code.add(code.mul(block, block_threads), thread);
                (code.index(1), code.index(0), number, code.mul(blocks, block_threads))
            }
            Size::Warp => {
                let threads = code.binary("arith.minui", block_threads, code.index(WARP));
                let lane = code.binary("arith.remui", thread, threads);
                let inside = code.binary("arith.divui", thread, threads);
                let per_block = code.binary("arith.divui", block_threads, threads);
                let number = code.add(code.mul(block, per_block), inside);
                (threads, lane, number, code.mul(blocks, per_block))
            }
            Size::Block => (block_threads, thread, block, blocks),
        };
        Self { size, threads, lane, number, groups, thread, block_threads }
    }

    /// Hands each of `count` tasks to one group. All threads of a group take part.
    ///
    /// # Errors
    /// What `body` fails with.
    pub fn tasks(
        &self,
        code: &Code<'c, 'a>,
        count: i64,
        body: impl FnOnce(Value<'c, 'a>) -> Result<'c, ()>,
    ) -> Result<'c, ()> {
        code.for_loop(self.number, code.index(count), self.groups, &[], |task, _| {
            body(task)?;
            Ok(vec![])
        })?;
        Ok(())
    }

    /// Does something in the first thread of the group.
    ///
    /// # Errors
    /// What `then` fails with.
    pub fn leader(&self, code: &Code<'c, 'a>, then: impl FnOnce() -> Result<'c, ()>) -> Result<'c, ()> {
        if self.size == Size::Thread {
            return then();
        }
        let first = code.compare(Int::Eq, self.lane, code.index(0));
        code.if_then(first, then)
    }

    /// Combines what the first `live` threads of the group have; the first thread comes to all of it. `shared` is
    /// workgroup memory for 32 times [`word_count`] words, needed for blocks only.
    ///
    /// # Errors
    /// What `merge` fails with.
    pub fn combine(
        &self,
        kernel: &Kernel<'c, 'a>,
        mine: Vec<Scalar<'c, 'a>>,
        live: Value<'c, 'a>,
        shared: Option<Value<'c, 'a>>,
        merge: &Merge<'_, 'c, 'a>,
    ) -> Result<'c, Vec<Scalar<'c, 'a>>> {
        let code = &kernel.code;
        if self.size == Size::Thread {
            return Ok(mine);
        }
        let several = code.compare(Int::Ugt, self.threads, code.index(1));
        only_if(kernel, Some(several), mine, |mine| {
            let Some(shared) = shared.filter(|_| self.size == Size::Block) else {
                return self.combine_warp(kernel, mine, self.lane, live, merge);
            };
            let lane = code.rem(self.thread, WARP);
            let warp = code.div(self.thread, WARP);
            let before = code.mul(warp, code.index(WARP));
            let rest = code.sub(live, before);
            // Warps without a live thread have nothing to combine.
            let rest = code.binary("arith.maxsi", rest, code.index(0));
            let mine = self.combine_warp(kernel, mine, lane, rest, merge)?;
            let larger = code.compare(Int::Ugt, self.block_threads, code.index(WARP));
            only_if(kernel, Some(larger), mine, |mine| {
                let words: Vec<_> = flat(&mine).iter().flat_map(|part| words(code, *part)).collect();
                let first = code.compare(Int::Eq, lane, code.index(0));
                code.if_then(first, || {
                    for (number, word) in words.iter().enumerate() {
                        let place = code.add(warp, code.index(number as i64 * WARP));
                        store(code, shared, place, *word);
                    }
                    Ok(())
                })?;
                code.effect("gpu.barrier", &[]);
                let read: Vec<_> = (0..words.len() as i64)
                    .map(|number| load(code, shared, code.add(lane, code.index(number * WARP)), code.int(32)))
                    .collect();
                code.effect("gpu.barrier", &[]);
                let theirs = unflat(&mine, &from_words(code, &flat(&mine), &read));
                let warps = code.div(code.add(live, code.index(WARP - 1)), WARP);
                self.combine_warp(kernel, theirs, lane, warps, merge)
            })
        })
    }

    fn combine_warp(
        &self,
        kernel: &Kernel<'c, 'a>,
        mut mine: Vec<Scalar<'c, 'a>>,
        lane: Value<'c, 'a>,
        live: Value<'c, 'a>,
        merge: &Merge<'_, 'c, 'a>,
    ) -> Result<'c, Vec<Scalar<'c, 'a>>> {
        let code = &kernel.code;
        let mut distance = WARP / 2;
        while distance > 0 {
            let parts = flat(&mine);
            let received: Vec<_> = parts
                .iter()
                .flat_map(|part| words(code, *part))
                .map(|word| shuffle_down(code, word, distance))
                .collect();
            let theirs = unflat(&mine, &from_words(code, &parts, &received));
            let partner = code.add(lane, code.index(distance));
            let alive = code.compare(Int::Ult, partner, live);
            mine = only_if(kernel, Some(alive), mine, |mine| merge(&mine, &theirs))?;
            distance /= 2;
        }
        Ok(mine)
    }
}

/// How many 32-bit words [`words`] makes of a value of a register type.
pub fn word_count(ty: Type<'_>) -> i64 {
    if width(ty) > 32 { 2 } else { 1 }
}

fn width(ty: Type<'_>) -> u32 {
    if let Ok(integer) = IntegerType::try_from(ty) {
        integer.width()
    } else if ty.is_f64() {
        64
    } else if ty.is_f32() {
        32
    } else {
        16
    }
}

/// The bits of a register as 32-bit words, the low one first.
fn words<'c: 'a, 'a>(code: &Code<'c, 'a>, value: Value<'c, 'a>) -> Vec<Value<'c, 'a>> {
    let ty = value.r#type();
    let bits = bits(code, value);
    let word = code.int(32);
    match width(ty) {
        64 => {
            let high = code.binary("arith.shrui", bits, code.integer(32, code.int(64)));
            vec![code.op("arith.trunci", &[bits], word), code.op("arith.trunci", &[high], word)]
        }
        32 => vec![bits],
        _ => vec![code.op("arith.extui", &[bits], word)],
    }
}

/// The bits of a register as an integer of its width.
pub fn bits<'c: 'a, 'a>(code: &Code<'c, 'a>, value: Value<'c, 'a>) -> Value<'c, 'a> {
    let ty = value.r#type();
    if ty.is_float() { code.op("arith.bitcast", &[value], code.int(width(ty))) } else { value }
}

/// The inverse of [`words`], for values of the types of `models`.
fn from_words<'c: 'a, 'a>(
    code: &Code<'c, 'a>,
    models: &[Value<'c, 'a>],
    words: &[Value<'c, 'a>],
) -> Vec<Value<'c, 'a>> {
    let mut words = words.iter().copied();
    let mut next = || words.next().expect("as many words as the models have");
    models
        .iter()
        .map(|model| {
            let ty = model.r#type();
            let bits = match width(ty) {
                64 => {
                    let wide = code.int(64);
                    let low = code.op("arith.extui", &[next()], wide);
                    let high = code.op("arith.extui", &[next()], wide);
                    let high = code.binary("arith.shli", high, code.integer(32, wide));
                    code.binary("arith.ori", high, low)
                }
                32 => next(),
                narrow => code.op("arith.trunci", &[next()], code.int(narrow)),
            };
            if ty.is_float() { code.op("arith.bitcast", &[bits], ty) } else { bits }
        })
        .collect()
}

fn shuffle_down<'c: 'a, 'a>(code: &Code<'c, 'a>, word: Value<'c, 'a>, distance: i64) -> Value<'c, 'a> {
    let (i32, i1) = (code.int(32), code.int(1));
    let operands = [word, code.integer(distance, i32), code.integer(WARP, i32)];
    let op = code.builder().op_with_blocks("gpu.shuffle", &operands, &[i32, i1], &[], code.location());
    let mode =
        Attribute::parse(code.context(), "#gpu<shuffle_mode down>").expect("the gpu dialect is loaded");
    rewrite::set_attribute(op, "mode", mode);
    op.results().next().map(Value::from).expect("a shuffle has two results")
}

/// An element of workgroup memory.
pub fn load<'c: 'a, 'a>(
    code: &Code<'c, 'a>,
    memory: Value<'c, 'a>,
    at: Value<'c, 'a>,
    ty: Type<'c>,
) -> Value<'c, 'a> {
    let at = code.op("arith.index_cast", &[at], Type::index(code.context()));
    code.op("memref.load", &[memory, at], ty)
}

/// Puts an element into workgroup memory.
pub fn store<'c: 'a, 'a>(
    code: &Code<'c, 'a>,
    memory: Value<'c, 'a>,
    at: Value<'c, 'a>,
    value: Value<'c, 'a>,
) {
    let at = code.op("arith.index_cast", &[at], Type::index(code.context()));
    code.effect("memref.store", &[value, memory, at]);
}
