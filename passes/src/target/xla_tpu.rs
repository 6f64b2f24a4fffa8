// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! XLA for TPUs, of libtpu as jax 0.10.2 wants it: fuses elementwise ops like the others, products among them, but pads, gathers and
//! scatters are kernels of their own over stored operands, and the innermost two dimensions of every array are padded to tiles of 8 by 128.

use super::{Beside, Rates, Reductions, Schedule, Storage};

pub(super) static STORAGE: Storage = Storage {
    widens: false,
    reductions: Reductions::Kernels { few: 8, together: false },
    fuses_into_scatters: false,
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
    library_workspace: 0,
    pads_alone: true,
    copied_rows: i64::MAX,
    most_joined: usize::MAX,
    stages_running_sums: false,
    barriers_hold: true,
    host_memory: true,
    joins_kernels: false,
    shares_splats: false,
    takes_joined_apart: false,
    puts_off_updates: false,
    hides_collectives: false,
    orders_for_collectives: false,
    operations: None,
    divides_work: false,
    splits_products: None,
    slowness: None,
    numbers_places: false,
    one_waits: false,
    sorts_places: false,
    column_blocks: None,
    schedule: Schedule::OwnOrWalk,
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
    updates: 300e9,
    run: 1,
    place: f64::INFINITY,
    cache: 0,
    columns: None,
    multiprocessors: 1,
    cached: f64::INFINITY,
};
