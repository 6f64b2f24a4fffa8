// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Groups of threads that share a task: single threads, warps, blocks, columns of a block; and how they combine what
//! each of them has.

use super::serial::{flat, only_if, unflat};
use crate::framework::PassError;
use crate::gpu::emit::code::{Code, Int, Scalar};
use crate::gpu::emit::element::{BLOCK, Kernel};
use crate::rewrite;
use melior::ir::operation::OperationLike;
use melior::ir::r#type::IntegerType;
use melior::ir::{Attribute, Type, TypeLike, Value, ValueLike};
use std::cell::Cell;

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
    /// Those of a block that are `across` threads apart, so that threads which follow each other have tasks that do:
    /// a power of two up to [`ACROSS`]. All of the block where that is less.
    Column {
        /// How many groups a block has.
        across: i64,
    },
}

/// Columns of a block at most: what a warp reads at once is then in one piece.
pub const ACROSS: i64 = WARP;

impl Size {
    /// Columns for so many tasks that follow each other in memory.
    pub fn columns(tasks: i64) -> Self {
        Self::Column { across: (tasks.clamp(1, ACROSS) as u64).next_power_of_two() as i64 }
    }

    /// Threads of a group, in a block of [`BLOCK`].
    pub fn threads(self) -> i64 {
        match self {
            Self::Thread => 1,
            Self::Warp => WARP,
            Self::Block => BLOCK,
            Self::Column { across } => BLOCK / across,
        }
    }

    /// 32-bit words of workgroup memory that a group needs to combine values of so many words.
    pub fn shared_words(self, words: i64) -> i64 {
        match self {
            Self::Thread | Self::Warp => 0,
            Self::Block => WARP * words,
            Self::Column { .. } => BLOCK * words,
        }
    }
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
    /// How far apart threads of a column are.
    across: Value<'c, 'a>,
    /// Whether the group has a task of its own, where it might have none.
    has_task: Cell<Option<Value<'c, 'a>>>,
}

impl<'c: 'a, 'a> Group<'c, 'a> {
    /// Divides the launch into groups.
    pub fn new(code: &Code<'c, 'a>, size: Size) -> Self {
        let thread = code.gpu("gpu.thread_id");
        let block = code.gpu("gpu.block_id");
        let block_threads = code.gpu("gpu.block_dim");
        let blocks = code.gpu("gpu.grid_dim");
        let mut apart = code.index(1);
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
            Size::Column { across } => {
                let fewer = code.binary("arith.minui", block_threads, code.index(across));
                // Larger blocks than there is workgroup memory for have columns of one thread.
                let large = code.compare(Int::Ugt, block_threads, code.index(BLOCK));
                apart = code.select(large, block_threads, fewer);
                let threads = code.binary("arith.divui", block_threads, apart);
                let lane = code.binary("arith.divui", thread, apart);
                let inside = code.binary("arith.remui", thread, apart);
                (threads, lane, code.add(code.mul(block, apart), inside), code.mul(blocks, apart))
            }
        };
        let has_task = Cell::new(None);
        Self { size, threads, lane, number, groups, thread, block_threads, across: apart, has_task }
    }

    /// Hands each of `count` tasks to one group. All threads of a group take part; those of columns for which there
    /// is no task left do the last one again, and store nothing ([`leader`](Self::leader)), so that all of a block
    /// meet.
    ///
    /// # Errors
    /// What `body` fails with.
    pub fn tasks(
        &self,
        code: &Code<'c, 'a>,
        count: i64,
        body: impl FnOnce(Value<'c, 'a>) -> Result<'c, ()>,
    ) -> Result<'c, ()> {
        let is_column = matches!(self.size, Size::Column { .. });
        let inside =
            if is_column { code.binary("arith.remui", self.thread, self.across) } else { code.index(0) };
        let first = if is_column { code.sub(self.number, inside) } else { self.number };
        code.for_loop(first, code.index(count), self.groups, &[], |task, _| {
            if !is_column {
                return body(task).map(|()| vec![]);
            }
            let own = code.add(task, inside);
            self.has_task.set(Some(code.compare(Int::Ult, own, code.index(count))));
            body(code.binary("arith.minui", own, code.index(count - 1)))?;
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
        let first = super::window::both(code, Some(first), self.has_task.get()).unwrap_or(first);
        code.if_then(first, then)
    }

    /// Combines what the first `live` threads of the group have; the first thread comes to all of it. `shared` is
    /// workgroup memory for [`Size::shared_words`] of [`word_count`] words, needed for blocks and columns.
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
            let shared = match (shared, self.size) {
                (Some(shared), Size::Block) => shared,
                (Some(shared), Size::Column { across }) => {
                    return self.combine_column(kernel, mine, live, (shared, across), merge);
                }
                _ => return self.combine_warp(kernel, mine, self.lane, live, merge),
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

    /// Hands all threads of a warp's or a block's group what its first thread has come to by
    /// [`combine`](Self::combine): in a block the first thread of each warp has come to it, too.
    ///
    /// # Errors
    /// None: as of [`only_if`].
    pub fn hand_out(
        &self,
        kernel: &Kernel<'c, 'a>,
        mine: Vec<Scalar<'c, 'a>>,
    ) -> Result<'c, Vec<Scalar<'c, 'a>>> {
        let code = &kernel.code;
        let several = code.compare(Int::Ugt, self.threads, code.index(1));
        only_if(kernel, Some(several), mine, |mine| {
            let parts = flat(&mine);
            let own = parts.iter().flat_map(|part| words(code, *part));
            let handed: Vec<_> = own.map(|word| shuffle(code, word, 0, "idx")).collect();
            Ok(unflat(&mine, &from_words(code, &parts, &handed)))
        })
    }

    /// Half of the threads at a time take over what the other half has: by workgroup memory, as long as the two are in
    /// different warps or may be, then by shuffles.
    fn combine_column(
        &self,
        kernel: &Kernel<'c, 'a>,
        mut mine: Vec<Scalar<'c, 'a>>,
        live: Value<'c, 'a>,
        (shared, across): (Value<'c, 'a>, i64),
        merge: &Merge<'_, 'c, 'a>,
    ) -> Result<'c, Vec<Scalar<'c, 'a>>> {
        let code = &kernel.code;
        let mut distance = BLOCK / across / 2;
        while distance > 0 {
            // All threads of a block agree on this.
            let some = code.compare(Int::Ugt, self.threads, code.index(distance));
            mine = only_if(kernel, Some(some), mine, |mine| {
                self.take_over(kernel, mine, live, (shared, distance, across), merge)
            })?;
            distance /= 2;
        }
        Ok(mine)
    }

    /// The first `distance` threads of a column take over what as many others have, which are `across` times as far
    /// away.
    fn take_over(
        &self,
        kernel: &Kernel<'c, 'a>,
        mine: Vec<Scalar<'c, 'a>>,
        live: Value<'c, 'a>,
        (shared, distance, across): (Value<'c, 'a>, i64, i64),
        merge: &Merge<'_, 'c, 'a>,
    ) -> Result<'c, Vec<Scalar<'c, 'a>>> {
        let code = &kernel.code;
        let parts = flat(&mine);
        let own: Vec<_> = parts.iter().flat_map(|part| words(code, *part)).collect();
        let partner = code.add(self.lane, code.index(distance));
        let has_partner = code.compare(Int::Ult, partner, live);
        let takes = code.compare(Int::Ult, self.lane, code.index(distance));
        let takes = code.binary("arith.andi", takes, has_partner);
        if distance * across < WARP {
            let received: Vec<_> =
                own.iter().map(|word| shuffle_down(code, *word, distance * across)).collect();
            let theirs = unflat(&mine, &from_words(code, &parts, &received));
            return only_if(kernel, Some(takes), mine, |mine| merge(&mine, &theirs));
        }
        let place =
            |thread: Value<'c, 'a>, number: usize| code.add(thread, code.index(number as i64 * BLOCK));
        for (number, word) in own.iter().enumerate() {
            store(code, shared, place(self.thread, number), *word);
        }
        code.effect("gpu.barrier", &[]);
        let mine = only_if(kernel, Some(takes), mine, |mine| {
            let theirs = code.add(self.thread, code.index(distance * across));
            let read: Vec<_> = (0..own.len())
                .map(|number| load(code, shared, place(theirs, number), code.int(32)))
                .collect();
            merge(&mine, &unflat(&mine, &from_words(code, &flat(&mine), &read)))
        })?;
        code.effect("gpu.barrier", &[]);
        Ok(mine)
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
        let word = code.int(32);
        // Threads of a block are few, whatever places in memory are counted in. Partners' numbers are kept through all that
        // comes before, and take half of the registers.
        let [lane, live] = [lane, live].map(|number| code.resize(number, word, false));
        let mut distance = WARP / 2;
        while distance > 0 {
            let parts = flat(&mine);
            let received: Vec<_> = parts
                .iter()
                .flat_map(|part| words(code, *part))
                .map(|word| shuffle_down(code, word, distance))
                .collect();
            let theirs = unflat(&mine, &from_words(code, &parts, &received));
            let partner = code.binary("arith.addi", lane, code.integer(distance, word));
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
pub fn words<'c: 'a, 'a>(code: &Code<'c, 'a>, value: Value<'c, 'a>) -> Vec<Value<'c, 'a>> {
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
pub fn from_words<'c: 'a, 'a>(
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

/// The word of the thread so many further in the warp; the thread's own where there is none.
pub fn shuffle_down<'c: 'a, 'a>(code: &Code<'c, 'a>, word: Value<'c, 'a>, distance: i64) -> Value<'c, 'a> {
    shuffle(code, word, distance, "down")
}

/// The word of another thread of the warp: which it is, `number` says by `mode`.
fn shuffle<'c: 'a, 'a>(code: &Code<'c, 'a>, word: Value<'c, 'a>, number: i64, mode: &str) -> Value<'c, 'a> {
    let (i32, i1) = (code.int(32), code.int(1));
    let operands = [word, code.integer(number, i32), code.integer(WARP, i32)];
    let op = code.builder().op_with_blocks("gpu.shuffle", &operands, &[i32, i1], &[], code.location());
    let mode = Attribute::parse(code.context(), &format!("#gpu<shuffle_mode {mode}>"))
        .expect("the gpu dialect is loaded");
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
