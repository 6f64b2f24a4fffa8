// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! XLA for TPUs, of libtpu as jax 0.10.2 wants it. What is said here is seen in what it compiles (`test/oracle/referee.py --target v5p`;
//! `test/print-memory/tpu-*.mlir` have small modules with XLA's figures):
//!
//! * Elementwise ops are fused as elsewhere, with the products and convolutions before and after them. Such a kernel also makes sums and
//!   extremes of what it makes, and reductions of the same elements along any dimensions are one kernel.
//! * Pads, gathers and scatters are kernels of their own, which read what is stored, and so is what is joined. What is put into an array
//!   is stored before if it is made of its neighbours there.
//! * What only products of f32 read is stored in bf16, which they multiply.
//! * Of each array the two dimensions that fit best are padded to tiles of 8 by 128; rows that are gathered or scattered lie as rows, and
//!   what is convolved has images and features in its tiles.
//! * Convolutions of few images are cut into parts of them, with copies around each. Read by hand off the referee's estimate of each kernel:
//!   of `unet_step` in slices of one image copies take 34.5 ms beside 28.3 of convolutions, of 32 images 26.0 beside 32.1, of its 64 at once
//!   2.1 beside 23.4.
//!
//! Not seen: vector memory, in which XLA keeps small arrays and slices of larger ones. With a cache of 32 MiB in its place estimates were
//! nearer to the referee's (by hand, over the reference programs), but what was then chosen took up to three times as long
//! (`bench_target.py --target v5p`): which arrays XLA keeps there changes with everything around them. 64-bit
//! types, too: they are halves in two arrays, which are made of arguments and put together for results.

use super::{Beside, Joins, Rates, Reductions, Schedule, Selects, Storage};

pub(super) static STORAGE: Storage = Storage {
    widens: false,
    reductions: Reductions::Kernels { few: 8, together: false },
    fuses_into_scatters: false,
    chooses_single: true,
    scatters_into_sums: false,
    beside_products: Beside::Anything,
    longest_row: 0,
    goes_on_after_sums: true,
    longest_column: u64::MAX,
    weighs_copies: true,
    computes_stored_once: true,
    launch_bytes: 3 << 20,
    work_per_byte: 20.0,
    reckoned: None,
    priorities: None,
    rereads: None,
    most_places: u32::MAX,
    orders_products: false,
    batches_first: false,
    library_convolves: false,
    fewest_images: 64,
    library_workspace: 0,
    stores_updates: true,
    narrows_products: true,
    numbers_free: true,
    pads_alone: true,
    gathers_alone: true,
    copied_rows: i64::MAX,
    most_joined: usize::MAX,
    stages_running_sums: false,
    barriers_hold: true,
    host_memory: true,
    joins_kernels: Some(Joins { products: true, alike: false }),
    shares_splats: false,
    takes_joined_apart: false,
    puts_off_updates: false,
    hides_collectives: false,
    orders_for_collectives: false,
    operations: Some(super::xla_gpu::operations),
    counts_steps: false,
    divides_work: false,
    splits_products: None,
    slowness: None,
    selects: Selects::AsOne,
    one_waits: false,
    sorts_places: false,
    column_blocks: None,
    schedule: Schedule::OwnOrWalk,
    // XLA has no temporaries for `triplet_loss_gradient`, which needs 4 MiB by the model; of a v5p's 95 GiB this is nothing in any case.
    near_memory: 8 << 20,
    tile: (8, 128),
};

/// v5p, by Google's page on the chip, as the referee has it (`test/oracle/targets.py`): 2,765 GB/s; half of 459 TFLOP/s
/// of bf16, in which products of f32 are multiplied, too, by default, and in six passes at the highest precision; 8 times
/// 128 lanes, two cores of 4 units each at 1.75 GHz. A program runs as one: filling a kernel's pipeline takes half a
/// microsecond, which is assumed, as there; a turn takes its kernels' time alone.
pub(super) const V5P: Rates = Rates {
    memory: 95 << 30,
    bytes: 2.765e12,
    narrow_products: 229e12,
    products: 229e12,
    exact_products: 229e12 / 6.0,
    wide_products: 14e12,
    elementwise: 14e12,
    operations: 14e12,
    overlap: 1.0,
    product: 0.0,
    product_overlap: 1.0,
    across: (1.0, 1.0),
    launch: 0.5e-6,
    launch_in_graph: 0.5e-6,
    iteration: 0.0,
    branch: 2e-6,
    link: 300e9,
    exchange: 2e-6,
    host_link: 32e9,
    // Rows are sorted by where they go, and written by tiles: the bytes decide.
    updates: f64::INFINITY,
    run: 1,
    place: f64::INFINITY,
    cache: 0,
    columns: None,
    multiprocessors: 1,
    cached: f64::INFINITY,
};
