// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! A block of threads on the CPU: what `--slimhlo-kernels-to-host=threads=N` asks of whoever runs its functions.
//!
//! One of the crate's modules with `unsafe` code: compiled kernels call these functions, and are called by one of them.
//!
//! Each thread of a block is one of the operating system's, so that what threads do together on a GPU (shared memory, barriers,
//! shuffles, atomics) is done together here, in whatever order they come. That is slow, and made for tests. Blocks run one
//! after the other.

use crate::ffi::HostFunction;
use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

/// Threads that a GPU runs in step.
const WARP: usize = 32;

/// Kernels are right for any number of blocks; a few show as much as many, sooner.
const MOST_BLOCKS: u64 = 4;

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

/// What the threads of a block share.
struct Block {
    all: Barrier,
    warps: Vec<Warp>,
}

struct Warp {
    meet: Barrier,
    /// What each thread hands to others.
    mail: Vec<AtomicU32>,
}

/// A thread's place in its block.
struct Member {
    block: Arc<Block>,
    thread: usize,
}

thread_local! {
    static SELF: RefCell<Option<Member>> = const { RefCell::new(None) };
}

/// What the calling thread is in its block; none if a kernel is not what runs.
fn with_self<T>(work: impl FnOnce(&Member) -> T) -> Option<T> {
    SELF.with_borrow(|member| member.as_ref().map(work))
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
    let count = usize::try_from(threads).unwrap_or(1);
    let warp = |from: usize| {
        let lanes = (count - from).min(WARP);
        Warp { meet: Barrier::new(lanes), mail: (0..lanes).map(|_| AtomicU32::new(0)).collect() }
    };
    let block =
        Arc::new(Block { all: Barrier::new(count), warps: (0..count).step_by(WARP).map(warp).collect() });
    let arguments = Arguments(arguments);
    thread::scope(|scope| {
        for thread in 0..count {
            let block = Arc::clone(&block);
            scope.spawn(move || {
                SELF.set(Some(Member { block: Arc::clone(&block), thread }));
                for number in first..end {
                    // SAFETY: the caller's promise.
                    unsafe { kernel(arguments.pointer(), number, number + 1, grid) };
                    // The next block has the same shared memory.
                    block.all.wait();
                }
            });
        }
    });
}

extern "C" fn thread() -> u64 {
    with_self(|member| member.thread as u64).unwrap_or(0)
}

extern "C" fn barrier() {
    with_self(|member| {
        member.block.all.wait();
    });
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
        let warp = &member.block.warps[member.thread / WARP];
        let lane = member.thread % WARP;
        warp.mail[lane].store(value, Ordering::Relaxed);
        warp.meet.wait();
        let handed = warp.mail.get(from(lane)).map_or(value, |mail| mail.load(Ordering::Relaxed));
        // Nobody writes the next one before all have read this one.
        warp.meet.wait();
        handed
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
}
