// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! A block of threads on the CPU: what `--slimhlo-kernels-to-host=threads=N` asks of whoever runs its functions.
//!
//! One of the crate's modules with `unsafe` code: compiled kernels call these functions, and are called by one of them.
//!
//! A thread of a block is a coroutine with a stack of its own, which runs until it meets others: at a barrier, or where the
//! threads of a warp hand each other values. A few threads of the operating system share the warps, so that what threads do
//! at once on a GPU is done at once here, too. Between two meetings they come in another order each time, and what relies on
//! an order that nothing keeps goes wrong. Blocks run one after the other.
//!
//! (256 threads of the operating system, one for each, do little but start and wake each other: `cargo xtask test kernels` took
//! 320 s with them, and takes 72.)

use crate::ffi::HostFunction;
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, Yielder};
use std::cell::Cell;
use std::mem;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::{Barrier, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Threads that a GPU runs in step.
const WARP: usize = 32;

/// Kernels are right for any number of blocks; a few show as much as many, sooner.
const MOST_BLOCKS: u64 = 4;

/// Bytes of a thread's stack: memory that a kernel has for each thread is there. Only what is touched is taken.
const STACK: usize = 1 << 20;

/// Threads of the operating system for a block: two are enough to do things at once.
const WORKERS: usize = 2;

/// Name and address of each function that compiled kernels call.
pub fn functions() -> [(&'static str, usize); 5] {
    [
        ("slimhlo_cooperate", cooperate as *const () as usize),
        ("slimhlo_thread", thread as *const () as usize),
        ("slimhlo_barrier", barrier as *const () as usize),
        ("slimhlo_shuffle_down", shuffle_down as *const () as usize),
        ("slimhlo_shuffle_idx", shuffle_idx as *const () as usize),
    ]
}

/// Where a thread waits for others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meeting {
    Warp,
    Block,
}

/// What the threads of a block share.
struct Block {
    /// What each thread hands to others of its warp, by turns: nobody writes a value before all have read the one before the
    /// last, since they have met in between.
    mail: [Vec<AtomicU32>; 2],
    /// What each worker has come to, by turns.
    votes: [[AtomicU8; WORKERS]; 2],
    workers: usize,
    meet: Barrier,
}

/// A thread's place in its block.
struct Member<'a> {
    block: &'a Block,
    thread: usize,
    /// By which it hands the worker back; once it has begun.
    yielder: Cell<Option<NonNull<Yielder<(), Meeting>>>>,
    /// How often it has handed over a value.
    turn: Cell<usize>,
}

impl Member<'_> {
    fn wait(&self, meeting: Meeting) {
        if let Some(yielder) = self.yielder.get() {
            // SAFETY: it is the running coroutine's own, and lives as long as that.
            unsafe { yielder.as_ref() }.suspend(meeting);
        }
    }
}

thread_local! {
    /// The thread that runs; none if a kernel is not what runs.
    static SELF: Cell<Option<NonNull<Member<'static>>>> = const { Cell::new(None) };
}

/// What the calling thread is in its block; none if a kernel is not what runs.
fn with_self<T>(work: impl FnOnce(&Member<'_>) -> T) -> Option<T> {
    // SAFETY: a worker sets the pointer for as long as it runs a thread, whose member it keeps.
    SELF.get().map(|member| work(unsafe { member.as_ref() }))
}

/// The arguments of a kernel, which all its threads are given.
#[derive(Clone, Copy)]
struct Arguments(*const *mut u8);

impl Arguments {
    fn pointer(self) -> *const *mut u8 {
        self.0
    }
}

// SAFETY: the pointers are only read, and what they point to is for the kernel to keep in order, as on a GPU.
unsafe impl Send for Arguments {}
// SAFETY: as above.
unsafe impl Sync for Arguments {}

/// Runs blocks `first` to below `end` of `grid`, each in so many threads.
///
/// # Safety
/// `kernel` must be one that may be called with these arguments, in as many threads at once.
unsafe extern "C" fn cooperate(
    kernel: HostFunction,
    arguments: *const *mut u8,
    first: u64,
    end: u64,
    grid: u64,
    threads: u64,
) {
    let (end, grid) =
        if (first, end) == (0, grid) { (end.min(MOST_BLOCKS), grid.min(MOST_BLOCKS)) } else { (end, grid) };
    let arguments = Arguments(arguments);
    let body = |member: &Member<'_>| {
        for number in first..end {
            // SAFETY: the caller's promise.
            unsafe { kernel(arguments.pointer(), number, number + 1, grid) };
            // The next block has the same shared memory.
            member.wait(Meeting::Block);
        }
    };
    let met = run(usize::try_from(threads).unwrap_or(1), &body);
    assert!(met, "threads of a block wait at a barrier that others never come to");
}

/// Runs `body` in so many threads of a block; whether nobody waits for others in vain.
fn run(threads: usize, body: &(dyn Fn(&Member<'_>) + Sync)) -> bool {
    let warps = threads.div_ceil(WARP);
    let workers = warps.min(WORKERS);
    let mail = || (0..threads).map(|_| AtomicU32::new(0)).collect();
    let block =
        Block { mail: [mail(), mail()], votes: Default::default(), workers, meet: Barrier::new(workers) };
    let mut stacks = take_stacks(threads);
    let left: Vec<Option<Vec<DefaultStack>>> = thread::scope(|scope| {
        let block = &block;
        let start = |worker: usize| {
            let warps = warps * worker / workers..warps * (worker + 1) / workers;
            let own = warps.start * WARP..(warps.end * WARP).min(threads);
            let stacks = stacks.split_off(stacks.len() - own.len());
            scope.spawn(move || work(block, worker, own, stacks, body))
        };
        let all: Vec<_> = (0..workers).map(start).collect();
        all.into_iter().map(|worker| worker.join().ok().flatten()).collect()
    });
    let met = left.iter().all(Option::is_some);
    free_stacks().extend(left.into_iter().flatten().flatten());
    met
}

/// What a worker has come to. All its threads wait at the block's barrier, or all are done; or some of them wait for others
/// that do neither.
const WAITS: u8 = 0;
const DONE: u8 = 1;
const STUCK: u8 = 2;

/// Stacks that are not in use.
static STACKS: Mutex<Vec<DefaultStack>> = Mutex::new(Vec::new());

fn free_stacks() -> MutexGuard<'static, Vec<DefaultStack>> {
    STACKS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn take_stacks(count: usize) -> Vec<DefaultStack> {
    let mut free = free_stacks();
    let kept = free.len().saturating_sub(count);
    let mut taken = free.split_off(kept);
    while taken.len() < count {
        let stack = DefaultStack::new(STACK);
        taken.push(stack.unwrap_or_else(|error| panic!("no stack for a thread of a block: {error}")));
    }
    taken
}

/// A thread of a block, and where it waits.
struct Fiber<'a> {
    member: &'a Member<'a>,
    thread: Coroutine<(), Meeting, (), DefaultStack>,
    waits: Option<Meeting>,
}

impl Fiber<'_> {
    /// Runs a thread on, if it can, to where it waits next.
    fn run(&mut self) {
        if self.waits.is_some() || self.thread.done() {
            return;
        }
        SELF.set(Some(NonNull::from(self.member).cast()));
        self.waits = self.thread.resume(()).as_yield();
        SELF.set(None);
    }
}

/// Runs some threads of a block, whole warps, to their end, and returns their stacks; `None` if some wait for others in vain.
fn work(
    block: &Block,
    worker: usize,
    threads: Range<usize>,
    stacks: Vec<DefaultStack>,
    body: &(dyn Fn(&Member<'_>) + Sync),
) -> Option<Vec<DefaultStack>> {
    let member = |thread| Member { block, thread, yielder: Cell::new(None), turn: Cell::new(0) };
    let members: Vec<Member<'_>> = threads.map(member).collect();
    let start = |(member, stack)| {
        let begin = move |yielder: &Yielder<(), Meeting>, ()| {
            let member: &Member<'_> = member;
            member.yielder.set(Some(NonNull::from(yielder)));
            body(member);
        };
        // SAFETY: coroutines borrow members and `body`. They are done or forgotten before this function returns.
        Fiber { member, thread: unsafe { Coroutine::with_stack_unchecked(stack, begin) }, waits: None }
    };
    let mut fibers: Vec<Fiber<'_>> = members.iter().zip(stacks).map(start).collect();
    for round in 0usize.. {
        // Any number in place of the order of a GPU, which nobody knows.
        let order = round.wrapping_mul(0x9E37_79B9) >> 7;
        let count = fibers.len().div_ceil(WARP);
        for warp in 0..count {
            let first = in_order(warp, count, order / WARP) * WARP;
            let end = (first + WARP).min(fibers.len());
            run_warp(&mut fibers[first..end], order);
        }
        let all = |met: &dyn Fn(&Fiber<'_>) -> bool| fibers.iter().all(met);
        let own = match () {
            () if all(&|fiber| fiber.thread.done()) => DONE,
            () if all(&|fiber| fiber.waits == Some(Meeting::Block)) => WAITS,
            () => STUCK,
        };
        // Who is slow reads the votes of this round while others write those of the next.
        let votes = &block.votes[round % 2][..block.workers];
        votes[worker].store(own, Ordering::Relaxed);
        block.meet.wait();
        if votes.iter().any(|vote| vote.load(Ordering::Relaxed) != own) || own == STUCK {
            // They are never run again; to unwind them would go through the kernel's frames.
            fibers.into_iter().for_each(|fiber| mem::forget(fiber.thread));
            return None;
        }
        if own == DONE {
            break;
        }
        fibers.iter_mut().for_each(|fiber| fiber.waits = None);
    }
    Some(fibers.into_iter().map(|fiber| fiber.thread.into_stack()).collect())
}

/// Runs a warp until its threads are done, wait at the block's barrier, or wait for each other in vain.
fn run_warp(fibers: &mut [Fiber<'_>], order: usize) {
    loop {
        for lane in 0..fibers.len() {
            let lane = in_order(lane, fibers.len(), order);
            fibers[lane].run();
        }
        if !fibers.iter().all(|fiber| fiber.waits == Some(Meeting::Warp)) {
            return;
        }
        fibers.iter_mut().for_each(|fiber| fiber.waits = None);
    }
}

/// The `index`th of so many things, in one of several orders.
fn in_order(index: usize, count: usize, order: usize) -> usize {
    if count.is_power_of_two() { index ^ (order & (count - 1)) } else { index }
}

extern "C" fn thread() -> u64 {
    with_self(|member| member.thread as u64).unwrap_or(0)
}

extern "C" fn barrier() {
    with_self(|member| member.wait(Meeting::Block));
}

/// What the thread `distance` further in the warp has called this with; the thread's own value where there is none. All threads
/// of a warp have to call it.
extern "C" fn shuffle_down(value: u32, distance: u32) -> u32 {
    shuffle(value, |lane| lane.saturating_add(distance as usize))
}

/// What the thread `from` of the warp has called this with. All threads of a warp have to call it.
extern "C" fn shuffle_idx(value: u32, from: u32) -> u32 {
    shuffle(value, |_| from as usize)
}

/// What another thread of the warp has called this with: the one that `from` says by the running thread's place in it; the
/// thread's own value where there is none.
fn shuffle(value: u32, from: impl FnOnce(usize) -> usize) -> u32 {
    with_self(|member| {
        let turn = member.turn.get();
        member.turn.set(turn + 1);
        let mail = &member.block.mail[turn % 2];
        mail[member.thread].store(value, Ordering::Relaxed);
        member.wait(Meeting::Warp);
        let first = member.thread / WARP * WARP;
        let warp = &mail[first..(first + WARP).min(mail.len())];
        let handed = warp.get(from(member.thread - first));
        handed.map_or(value, |mail| mail.load(Ordering::Relaxed))
    })
    .unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums the threads' numbers by shuffles within a warp, and each warp's sum into the first buffer.
    unsafe extern "C" fn sum_of_numbers(arguments: *const *mut u8, first: u64, _end: u64, _grid: u64) {
        let own = thread() as u32;
        let mut sum = own + first as u32;
        for distance in [16, 8, 4, 2, 1] {
            sum += shuffle_down(sum, distance);
        }
        barrier();
        if own.is_multiple_of(WARP as u32) {
            // SAFETY: the test gives one buffer of one word per warp, which its first thread writes.
            unsafe { (*arguments).cast::<u32>().add(own as usize / WARP).write(sum) };
        }
    }

    #[test]
    fn threads_of_a_warp_add_up() {
        let mut sums = [0u32; 2];
        let arguments = [sums.as_mut_ptr().cast::<u8>()];
        // SAFETY: the buffer is there for the length of the call.
        unsafe { cooperate(sum_of_numbers, arguments.as_ptr(), 0, 1, 1, 64) };
        assert_eq!(sums, [(0..32).sum(), (32..64).sum()]);
    }

    #[test]
    fn what_is_stored_before_a_barrier_is_there_behind_it() {
        let stored: Vec<AtomicU32> = (0..128).map(|_| AtomicU32::new(0)).collect();
        let other: Vec<AtomicU32> = (0..128).map(|_| AtomicU32::new(0)).collect();
        // Counted, for a thread that panics would leave the others waiting.
        let wrong = AtomicU32::new(0);
        let body = |member: &Member<'_>| {
            for turn in 1..5 {
                stored[member.thread].store(turn * member.thread as u32, Ordering::Relaxed);
                barrier();
                let far = (member.thread + 80) % 128;
                other[member.thread].store(stored[far].load(Ordering::Relaxed), Ordering::Relaxed);
                barrier();
                let expected = turn * ((far + 80) % 128) as u32;
                wrong.fetch_add((other[far].load(Ordering::Relaxed) != expected).into(), Ordering::Relaxed);
                barrier();
            }
        };
        assert!(run(128, &body));
        assert_eq!(wrong.into_inner(), 0);
    }

    #[test]
    fn who_waits_in_vain_is_told() {
        for alone in [0, 40, 100] {
            let at_barrier = |member: &Member<'_>| {
                if member.thread == alone {
                    barrier();
                }
            };
            let in_warp = |member: &Member<'_>| {
                if member.thread == alone {
                    shuffle_down(1, 1);
                } else {
                    barrier();
                }
            };
            assert!(!run(128, &at_barrier));
            assert!(!run(128, &in_warp));
            // A warp that is elsewhere is no less in vain than a thread.
            assert!(!run(128, &|member| if member.thread / WARP == alone / WARP {
                barrier()
            }));
        }
        assert!(run(128, &|_| barrier()));
    }
}
